"""The server: pages and pictures over HTTP, messages over a WebSocket, and the end when nobody is connected."""

from __future__ import annotations

import asyncio
import contextlib
import secrets
import socket
import sys
import threading
import time
import webbrowser
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import uvicorn
from rich.console import Console
from rich.table import Table
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import FileResponse, PlainTextResponse, Response
from starlette.routing import Mount, Route, WebSocketRoute
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp
from starlette.websockets import WebSocket

from sash.live.client import STATUS_SECONDS, Client, Shared
from sash.live.feed import Feed, Layout
from sash.live.page_guard import PageGuard
from sash.live.source import Source
from sash.web.listening import NO_TERMINAL, Server, address, bind
from sash.web.security import Access, check_access

STATIC = Path(__file__).with_name("static")
MOST_CLIENTS = 32
MOST_BYTES = 1 << 16
"""Of a message from a browser."""
TRY_LATER = 1013
LONGEST_START = 120.0
"""Seconds: without a result by then, a server that ends by itself when idle ends."""
SCHEME = "@media (prefers-color-scheme: dark)"
PICTURE_POLICY = "default-src 'none'; style-src 'unsafe-inline'"
"""The picture of the plan is its own document; its style element switches colours, and nothing in it can run."""


def make_app(shared: Shared, access: Access) -> ASGIApp:
    """Return the application."""
    explanation = shared.source.explain()
    picture = explanation._repr_svg_()

    async def index(_: Request) -> Response:
        return FileResponse(STATIC / "index.html")

    async def plan_picture(request: Request) -> Response:
        scheme = {"dark": "@media all", "light": "@media not all"}.get(request.query_params.get("theme", ""), SCHEME)
        headers = {"content-security-policy": PICTURE_POLICY}
        return Response(picture.replace(SCHEME, scheme), media_type="image/svg+xml", headers=headers)

    async def plan_text(_: Request) -> Response:
        return PlainTextResponse(str(explanation))

    async def connect(browser: WebSocket) -> None:
        if len(shared.clients) >= MOST_CLIENTS:
            await browser.close(TRY_LATER)
            return
        await browser.accept()
        client = Client(browser, shared)
        shared.clients.add(client)
        shared.ever_connected = True
        try:
            await client.run()
        finally:
            shared.clients.discard(client)
            shared.left = time.monotonic()

    routes = [
        Route("/", index),
        Route("/plan.svg", plan_picture),
        Route("/plan.txt", plan_text),
        WebSocketRoute("/socket", connect),
        Mount("/static", StaticFiles(directory=STATIC)),
    ]
    return PageGuard(Starlette(routes=routes), access)


class Runner:
    """The thread of a source, and its error if it fails."""

    def __init__(self, source: Source, feed: Feed, server: Server) -> None:
        self.source, self.feed, self.server = source, feed, server
        self.error: BaseException | None = None
        self.thread = threading.Thread(target=self._run, name="sash live: source", daemon=True)

    def _run(self) -> None:
        try:
            self.source.run(self.feed)
        except Exception as error:  # noqa: BLE001 — the server reports it and ends
            if not self.server.should_exit:  # a signal to all processes may end Spark before this one
                self.error = error

    def stop(self, timeout: float = 20.0) -> None:
        """Stop the source, and wait for it."""
        self.source.stop()
        self.thread.join(timeout)


def serve_source(
    source: Source,
    *,
    host: str = "127.0.0.1",
    port: int = 0,
    token: str | None = None,
    open_browser: bool = False,
    idle_exit: float | None = None,
    console: Console | None = None,
) -> int:
    """Serve a source until Ctrl-C, until its stream fails, or until nobody has been connected for `idle_exit` seconds."""
    check_access(host, token)
    console = console or Console(highlight=False, width=None if sys.stdout.isatty() else NO_TERMINAL)
    with bind(host, port) as listening:
        port = listening.getsockname()[1]
        shared = Shared(source, Feed(), secrets.token_hex(8))
        app = make_app(shared, Access(host, port, token))
        # messages change little, but compressing them costs more than sending them
        sockets: dict[str, Any] = {"ws_max_size": MOST_BYTES, "ws_per_message_deflate": False}
        quiet: dict[str, Any] = {"log_level": "warning", "lifespan": "off", "server_header": False}
        config = uvicorn.Config(app, timeout_graceful_shutdown=2, **sockets, **quiet)
        runner = Runner(source, shared.feed, Server(config))
        url = address(host, port, token)
        console.print(f"Live page: {url}  (Ctrl-C ends it)", markup=False, soft_wrap=True)
        runner.thread.start()
        if open_browser:
            threading.Thread(target=webbrowser.open, args=(url,), daemon=True).start()
        try:
            with contextlib.suppress(KeyboardInterrupt):
                asyncio.run(_serve(listening, shared, runner, idle_exit))
        finally:
            runner.stop()
    if not shared.ever_connected and shared.feed.layout is not None and shared.feed.results:
        console.print(newest_table(shared.feed, shared.feed.layout))
    if runner.error is not None:
        failed = f"The stream has failed: {runner.error}"
        Console(stderr=True, highlight=False).print(failed, markup=False, soft_wrap=True)
        return 1
    return 0


async def _serve(listening: socket.socket, shared: Shared, runner: Runner, idle_exit: float | None) -> None:
    watching = asyncio.create_task(_watch(shared, runner, idle_exit))
    try:
        await runner.server.serve(sockets=[listening])
    finally:
        watching.cancel()


async def _watch(shared: Shared, runner: Runner, idle_exit: float | None) -> None:
    """Measure rates. End the server if the stream has failed, or if nobody has been connected for long enough."""
    began = time.monotonic()
    while True:
        await asyncio.sleep(STATUS_SECONDS)
        shared.measure()
        if runner.error is not None:
            runner.server.should_exit = True
        if idle_exit is None or shared.clients:
            continue
        now, first = time.monotonic(), shared.feed.first_result
        waited = now - max(shared.left, first) if first is not None else 0.0
        if waited >= idle_exit or (first is None and now - began >= max(LONGEST_START, idle_exit)):
            runner.server.should_exit = True


MOST_ROWS = 12


def newest_table(feed: Feed, layout: Layout) -> Table:
    """Return the newest complete window of each key and zoom, as a table."""
    title = f"The newest of {feed.results:,} results; {feed.corrections:,} corrected a window of the past"
    table = Table("key", "window", "end", title=title, title_justify="left")
    for name in layout.values:
        table.add_column(name, justify="right")
    with feed.lock:
        filled = [(key, feed.zooms.index(zoom), series) for (zoom, key), series in feed.series.items() if series.count]
        for key, zoom, series in sorted(filled, key=lambda item: item[:2])[:MOST_ROWS]:
            # the newest window that has ended, or else the oldest one
            row = max(int(np.searchsorted(series.ends, feed.newest or 0, side="right")) - 1, 0)
            end = float(layout.seconds(series.ends[row]))
            shown = f"{datetime.fromtimestamp(end, UTC):%Y-%m-%d %H:%M}" if layout.unit > 0 else f"{end:,.6g}"
            table.add_row(key, feed.zooms[zoom], shown, *(f"{value:,.6g}" for value in series.values[row].tolist()))
    return table
