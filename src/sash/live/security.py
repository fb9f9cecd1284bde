"""Who may use the page: the addresses that it answers to, the pages that may call it, and the token of remote access.

    request ──► Host is ours? ──► Origin is ours? ──► token or cookie? ──► page, with a strict Content-Security-Policy
                403               403                 401

A page of another site can make a browser call this server: by its address (then Origin tells), or by a name that it makes point
here (then Host tells). Both are checked for HTTP and for WebSockets.
"""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import socket
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import parse_qs

Message = MutableMapping[str, Any]
App = Callable[[Message, Callable[[], Awaitable[Message]], Callable[[Message], Awaitable[None]]], Awaitable[None]]

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
"""Nothing inline, nothing from elsewhere."""
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}
LOCAL_NAMES = ("localhost", "127.0.0.1", "::1")
ANY_ADDRESS = ("0.0.0.0", "::", "")  # noqa: S104 — compared with, not bound
SHORTEST_TOKEN = 16
FORBIDDEN, UNAUTHORIZED = 403, 401
REFUSED = 1008
"""WebSocket: policy violation."""


def is_loopback(host: str) -> bool:
    """Return whether only this machine can reach a host.

    >>> is_loopback("127.0.0.1"), is_loopback("localhost"), is_loopback("0.0.0.0"), is_loopback("example.org")
    (True, True, False, False)
    """
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def check_access(host: str, token: str | None) -> None:
    """Raise ValueError if other machines could use the page without a token."""
    if token is not None and len(token) < SHORTEST_TOKEN:
        message = f"The token has {len(token)} characters, but at least {SHORTEST_TOKEN} are needed. Use secrets.token_urlsafe()."
        raise ValueError(message)
    if token is None and not is_loopback(host):
        message = (
            f"host={host!r} lets other machines use the page, so it needs a token. Pass token=secrets.token_urlsafe(), or leave "
            "host out to listen on this machine only."
        )
        raise ValueError(message)


@dataclass(frozen=True)
class Access:
    """Which requests are allowed."""

    host: str
    port: int
    token: str | None = None

    @property
    def cookie(self) -> str:
        """The name of the cookie: browsers send cookies to all ports of a host."""
        return f"sash_live_{self.port}"

    @property
    def secret(self) -> str:
        """The value of the cookie. It follows from the token, so that a restart with the same token needs no new login."""
        return hmac.new((self.token or "").encode(), b"sash live cookie", hashlib.sha256).hexdigest()

    def allows_host(self, header: str) -> bool:
        """Return whether a Host header names this server.

        >>> access = Access("127.0.0.1", 8000)
        >>> [access.allows_host(one) for one in ("127.0.0.1:8000", "localhost:8000", "[::1]:8000", "evil.example:8000", "localhost")]
        [True, True, True, False, False]
        """
        name, port = _split_host(header)
        if port != self.port:
            return False
        if is_loopback(self.host):
            return name in LOCAL_NAMES
        if self.host in ANY_ADDRESS:
            return name in LOCAL_NAMES or _is_address(name) or name == socket.gethostname().lower()
        return name == self.host.lower()

    def allows_origin(self, origin: str | None, host: str, *, required: bool) -> bool:
        """Return whether an Origin header names the page itself. Browsers always send it with a WebSocket."""
        if origin is None:
            return not required
        return origin.lower() == f"http://{host.lower()}"

    def knows(self, token: str | None, cookies: str) -> bool:
        """Return whether a request has the token, or the cookie that it got for the token."""
        if self.token is None:
            return True
        if token is not None:
            return hmac.compare_digest(token.encode(), self.token.encode())
        try:
            found = SimpleCookie(cookies).get(self.cookie)
        except CookieError:
            return False
        return found is not None and hmac.compare_digest(found.value.encode(), self.secret.encode())


def _split_host(header: str) -> tuple[str, int]:
    name, _, port = header.lower().rpartition(":")
    if not name or not port.isascii() or not port.isdigit():
        return header.lower().strip("[]"), 80
    return name.strip("[]"), int(port)


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


class Guard:
    """ASGI middleware: refuses requests that `Access` does not allow, and adds the headers to all answers."""

    def __init__(self, app: App, access: Access) -> None:
        self.app = app
        self.access = access

    async def __call__(self, scope: Message, receive: Any, send: Any) -> None:
        """Answer a request."""
        if scope["type"] not in ("http", "websocket"):
            await self.app(scope, receive, send)
            return
        is_socket = scope["type"] == "websocket"
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        host, origin = headers.get("host", ""), headers.get("origin")
        tokens = parse_qs(scope.get("query_string", b"").decode("latin-1")).get("token")
        token = tokens[0] if tokens else None
        if not self.access.allows_host(host):
            await self._refuse(send, FORBIDDEN, "This server does not answer to that host name.", is_socket=is_socket)
        elif not self.access.allows_origin(origin, host, required=is_socket):
            await self._refuse(send, FORBIDDEN, "Pages of other sites may not use this server.", is_socket=is_socket)
        elif not self.access.knows(token, headers.get("cookie", "")):
            text = "This page needs a token: open the address that the server printed."
            await self._refuse(send, UNAUTHORIZED, text, is_socket=is_socket)
        elif token is not None and not is_socket and self.access.token is not None:
            await self._log_in(send)
        else:
            await self.app(scope, receive, send if is_socket else _with_headers(send))

    async def _log_in(self, send: Any) -> None:
        """Exchange the token in the address for a cookie, so that it does not stay in the history."""
        cookie = f"{self.access.cookie}={self.access.secret}; HttpOnly; SameSite=Strict; Path=/"
        await _answer(send, 303, "", {"location": "/", "set-cookie": cookie})

    async def _refuse(self, send: Any, status: int, text: str, *, is_socket: bool) -> None:
        if is_socket:  # before it is accepted, so the browser sees status 403
            await send({"type": "websocket.close", "code": REFUSED, "reason": text})
        else:
            await _answer(send, status, text)


async def _answer(send: Any, status: int, text: str, headers: dict[str, str] | None = None) -> None:
    found = {"content-type": "text/plain; charset=utf-8", **HEADERS, **(headers or {})}
    encoded = [(name.encode(), value.encode("latin-1")) for name, value in found.items()]
    await send({"type": "http.response.start", "status": status, "headers": encoded})
    await send({"type": "http.response.body", "body": text.encode()})


def _with_headers(send: Any) -> Any:
    """Return `send` with the headers of `HEADERS`; those of the answer win."""

    async def wrapped(message: Message) -> None:
        if message["type"] == "http.response.start":
            own = {name.lower() for name, _ in message["headers"]}
            more = [(name.encode(), value.encode()) for name, value in HEADERS.items() if name.encode() not in own]
            message = {**message, "headers": [*message["headers"], *more]}
        await send(message)

    return wrapped
