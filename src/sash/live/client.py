"""Client: one browser. It tells what it shows, and gets the newest state of that, never old messages.

A browser acknowledges each message when it has drawn it. While two messages wait for that, no more are sent, so a slow browser gets
fewer messages, and each of them is new.
"""

from __future__ import annotations

import asyncio
import json
import time
from dataclasses import asdict, dataclass, field
from typing import Any

from starlette.websockets import WebSocket, WebSocketDisconnect

from sash.live.feed import Feed
from sash.live.messages import PanelView, encode, panels_message
from sash.live.query_process import QueryProcess
from sash.live.source import Rate, Source

MESSAGES_PER_SECOND = 15
STATUS_SECONDS = 0.5
MOST_IN_FLIGHT = 2
MOST_PANELS = 16


@dataclass
class Shared:
    """What all browsers of a server share."""

    source: Source
    feed: Feed
    run: str
    """Tells one run of the server from the next, so that the page notices a restart."""
    clients: set[Client] = field(default_factory=set)
    ever_connected: bool = False
    left: float = field(default_factory=time.monotonic)
    """When the last browser has left."""
    querying: asyncio.Lock = field(default_factory=asyncio.Lock)
    rows: Rate = field(default_factory=Rate)
    results: Rate = field(default_factory=Rate)
    rates: tuple[float, float] = (0.0, 0.0)

    def measure(self) -> None:
        """Update the rates."""
        self.rates = self.rows.add(self.source.status.rows), self.results.add(self.feed.results)

    def page(self) -> bytes:
        """Return the message that describes the page."""
        source, feed = self.source, self.feed
        header = {"run": self.run, "title": source.title, "engine": source.engine, "canBurst": source.can_burst}
        header |= {"query": source.query_text, "example": source.example}
        with feed.lock:
            layout = feed.layout
            header |= {"zooms": list(feed.zooms), "keys": sorted(feed.keys.values())}
            header["keyNames"] = [] if layout is None else list(layout.keys)
            header["lines"] = [] if layout is None else [asdict(line) for line in layout.lines]
            header["isTime"] = layout is not None and layout.unit > 0
        return encode("page", header)

    def status(self) -> bytes:
        """Return the message with the numbers about the stream."""
        status = asdict(self.source.status) | {"clients": len(self.clients)}
        status |= {"results": self.feed.results, "corrections": self.feed.corrections}
        status["rowsPerSecond"], status["resultsPerSecond"] = self.rates
        return encode("status", status)


class Client:
    """One browser."""

    def __init__(self, socket: WebSocket, shared: Shared) -> None:
        self.socket, self.shared = socket, shared
        self.key = self.line = ""
        self.views: dict[str, PanelView] = {}
        self.view_revision = self.sent = self.acknowledged = 0
        self.drawn: dict[str, tuple[int, int]] = {}
        """By zoom: the revisions of the series and of the view in the last message."""
        self.answers: set[asyncio.Task[None]] = set()
        self.query: QueryProcess | None = None
        """The query of the box that runs now, or is about to."""

    async def run(self) -> None:
        """Serve the browser until it leaves."""
        sending = asyncio.create_task(self._send_messages())
        try:
            while True:
                self._read(await self.socket.receive_text())
        except (WebSocketDisconnect, RuntimeError):  # RuntimeError: it left while a message was sent
            pass
        finally:
            for task in (sending, *self.answers):
                task.cancel()
            await asyncio.gather(sending, *self.answers, return_exceptions=True)

    def _read(self, text: str) -> None:
        """Act on a message. Ignore messages that make no sense: the page does not send them."""
        try:
            message = json.loads(text)
        except ValueError:
            return
        action = message.get("type") if isinstance(message, dict) else None
        if action == "ack" and isinstance(message.get("seq"), int):
            self.acknowledged = max(self.acknowledged, min(message["seq"], self.sent))
        elif action == "view":
            self._view(message)
        elif action == "burst" and self.shared.source.can_burst:
            self._answer(self._burst())
        elif action == "query" and isinstance(message.get("text"), str):
            number = message.get("id")
            query = QueryProcess(message["text"], number if isinstance(number, int) else 0)
            self.query = self.query or query  # at once: the next message may already be its cancellation
            self._answer(self._query(query))
        elif action == "cancel" and self.query is not None:
            self.query.cancel()

    def _view(self, message: dict[str, Any]) -> None:
        self.key, self.line = str(message.get("key", "")), str(message.get("line", ""))
        panels = message.get("panels")
        views = list(panels.items())[:MOST_PANELS] if isinstance(panels, dict) else []
        self.views = {zoom: PanelView.read(view) for zoom, view in views}
        self.view_revision += 1

    def _answer(self, work: Any) -> None:
        task = asyncio.create_task(work)
        self.answers.add(task)
        task.add_done_callback(self.answers.discard)

    async def _burst(self) -> None:
        text = await asyncio.to_thread(self.shared.source.burst, self.key)
        await self.socket.send_bytes(encode("note", {"text": text}))

    async def _query(self, query: QueryProcess) -> None:
        try:
            if self.shared.querying.locked():
                error = "Another query is still running. Try again when it has finished."
                message = encode("answer", {"id": query.number, "error": error})
            else:
                async with self.shared.querying:
                    message = await query.run(await asyncio.to_thread(self.shared.source.recent.table))
        finally:
            if self.query is query:
                self.query = None
        await self.socket.send_bytes(message)

    async def _send_messages(self) -> None:
        """Send what has changed, at most `MESSAGES_PER_SECOND`."""
        shared, page_revision, next_status = self.shared, -1, 0.0
        while True:
            began = time.monotonic()
            if shared.feed.revision != page_revision:
                page_revision = shared.feed.revision
                await self.socket.send_bytes(shared.page())
            if began >= next_status:
                next_status = began + STATUS_SECONDS
                await self.socket.send_bytes(shared.status())
            message = self._panels() if self.sent - self.acknowledged < MOST_IN_FLIGHT else None
            if message is not None:
                await self.socket.send_bytes(message)
            await asyncio.sleep(max(0.001, 1 / MESSAGES_PER_SECOND - (time.monotonic() - began)))

    def _panels(self) -> bytes | None:
        """Return a message of the panels that have changed since the last one, None if none has."""
        feed = self.shared.feed
        series = {zoom: feed.series.get((zoom, self.key)) for zoom in self.views}
        revisions = {zoom: (-1 if one is None else one.revision, self.view_revision) for zoom, one in series.items()}
        changed = {zoom: pair for zoom, pair in revisions.items() if pair != self.drawn.get(zoom)}
        if not changed:
            return None
        views = {zoom: self.views[zoom] for zoom in changed}
        message = panels_message(feed, self.key, self.line, views, self.sent + 1)
        if message is not None:
            self.sent += 1
            self.drawn |= changed
        return message
