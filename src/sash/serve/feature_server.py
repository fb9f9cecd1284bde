"""The lookup service over HTTP.

GET  /features?card=42&now=…   the features of one key
POST /features                 those of several: {"keys": [{"card": 42}], "now": …, "queries": […]}
GET  /health                   whether the store answers
GET  /                         the queries, their keys and types
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import json
import logging
import shlex
import sqlite3
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import uvicorn
from rich.console import Console
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp

from sash.serve.feature_service import FeatureService, StatesError
from sash.web.listening import NO_TERMINAL, Server, address, bind
from sash.web.security import Access, Guard, check_access

LOG = logging.getLogger("sash.serve")
NOW, QUERY = "now", "query"
"""Parameters that are no key columns."""
KEYS, QUERIES = "keys", "queries"
"""With NOW, the members of a POST."""
KEEP_ALIVE = 75
"""Seconds for which a connection stays open without requests: clients reuse connections, and fail if one closes as they do."""
MOST_BYTES, MOST_KEYS = 1 << 20, 1_000
"""Of a request with several keys."""
BAD_REQUEST, TOO_LARGE, FAILED, UNAVAILABLE = 400, 413, 500, 503


def make_app(service: FeatureService, access: Access) -> ASGIApp:
    """Return the application.

    Lookups of several keys, and of a store that may not answer, run in threads, so that they hold up nobody else. For one key of a file, a
    thread would take a fifth of the time of the request.
    """

    async def run(compute: Callable[[], dict[str, Any]]) -> Response:
        return await run_in_threadpool(answer, compute) if service.store.may_wait else answer(compute)

    async def get_features(request: Request) -> Response:
        return await run(lambda: _one(service, request))

    async def post_features(request: Request) -> Response:
        body = b""
        async for part in request.stream():
            body += part
            if len(body) > MOST_BYTES:
                return _json({"error": f"The request has more than {MOST_BYTES:,} bytes. Split it."}, TOO_LARGE)
        return await run_in_threadpool(answer, lambda: _several(service, body))

    async def health(_: Request) -> Response:
        return await run(lambda: {"status": "ok", "queries": service.check()})

    async def index(_: Request) -> Response:
        return await run(lambda: {"queries": service.describe()})

    routes = [
        Route("/", index),
        Route("/health", health),
        Route("/features", get_features, methods=["GET"]),
        Route("/features", post_features, methods=["POST"]),
    ]
    return Guard(Starlette(routes=routes), access)


def answer(compute: Callable[[], dict[str, Any]]) -> Response:
    """Return an answer, or what is wrong with the request or with the store."""
    try:
        return _json(compute())
    except ValueError as error:
        return _json({"error": str(error)}, BAD_REQUEST)
    except (LookupError, StatesError, OSError, sqlite3.Error) as error:
        return _json({"error": str(error)}, UNAVAILABLE)
    except Exception:  # a client gets JSON for every error, and nothing of the inside
        LOG.exception("A request has failed.")
        return _json({"error": "The request has failed. The output of the service says why."}, FAILED)


def _json(content: Mapping[str, Any], status: int = 200) -> Response:
    text = json.dumps(content, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return Response(text, status, media_type="application/json")


def _one(service: FeatureService, request: Request) -> dict[str, Any]:
    """Answer a request for one key."""
    key: dict[str, Any] = {}
    names, now = [], None
    for name, value in request.query_params.multi_items():
        if name == QUERY:
            names.append(value)
        elif name in key or (name == NOW and now is not None):
            raise ValueError(f"{name!r} is given twice. For several keys, send them with POST.")
        elif name == NOW:
            now = value
        else:
            key[name] = value
    return {"results": service.answer([key], now, names)[0]}


def _several(service: FeatureService, body: bytes) -> dict[str, Any]:
    """Answer a request for several keys."""
    expected = 'Send {"keys": [{"card": 42}, …]}, and if you like "now" and "queries".'
    try:
        request = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"The request is not JSON that this service reads: {error}. {expected}") from error
    if not isinstance(request, dict) or not isinstance(request.get(KEYS), list):
        raise ValueError(f"The request has no list of keys. {expected}")
    keys, now, names = request[KEYS], request.get(NOW), request.get(QUERIES) or []
    for name in request:
        if name not in (KEYS, NOW, QUERIES):
            raise ValueError(f"The request has {name!r}. {expected}")
    if not all(isinstance(key, dict) for key in keys):
        raise ValueError(f"A key is an object with a value for each key column. {expected}")
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise ValueError(f"queries is a list of names. {expected}")
    if len(keys) > MOST_KEYS:
        raise ValueError(f"The request has {len(keys):,} keys, and {MOST_KEYS:,} are allowed. Split it.")
    return {"results": service.answer(keys, now, names)}


def serve_features(
    service: FeatureService,
    *,
    host: str,
    port: int,
    token: str,
    names: Sequence[str] = (),
    console: Console | None = None,
) -> None:
    """Serve until Ctrl-C."""
    check_access(host, token)
    console = console or Console(highlight=False, width=None if sys.stdout.isatty() else NO_TERMINAL)
    with bind(host, port) as listening:
        access = Access(host, listening.getsockname()[1], token, tuple(name.lower() for name in names))
        quiet: dict[str, Any] = {"log_level": "warning", "lifespan": "off", "server_header": False, "access_log": False}
        server = Server(
            uvicorn.Config(
                make_app(service, access), timeout_graceful_shutdown=2, timeout_keep_alive=KEEP_ALIVE, **quiet
            )
        )
        where = address(host, access.port, None)
        console.print(f"Features: {where}  (Ctrl-C ends it)", markup=False, soft_wrap=True)
        console.print(f"  {_example(service, where, token)}", markup=False, soft_wrap=True)
        gc.freeze()  # the collector does not look at modules and queries again, which would take some 20 ms
        with contextlib.suppress(KeyboardInterrupt):
            asyncio.run(server.serve(sockets=[listening]))


def _example(service: FeatureService, where: str, token: str) -> str:
    """Return a command that asks for a key of the first query."""
    first = next(iter(service.queries.values()))
    asked = "&".join(f"{name}=…" for name in first.key_names)
    return f"curl -H {shlex.quote(f'Authorization: Bearer {token}')} {shlex.quote(f'{where}features?{asked}')}"
