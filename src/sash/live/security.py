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
import secrets
import socket
from dataclasses import dataclass

from starlette.datastructures import MutableHeaders
from starlette.requests import HTTPConnection
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from starlette.websockets import WebSocketClose

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
FORBIDDEN, UNAUTHORIZED, SEE_OTHER = 403, 401, 303
POLICY_VIOLATION = 1008
"""The code of a WebSocket that is refused."""


def is_loopback(host: str) -> bool:
    """Return whether only this machine can reach a host.

    >>> is_loopback("127.0.0.1"), is_loopback("localhost"), is_loopback("0.0.0.0"), is_loopback("example.org")
    (True, True, False, False)
    """
    address = _address(host)
    return host == "localhost" or (address is not None and address.is_loopback)


def _address(name: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(name)
    except ValueError:
        return None


def new_token() -> str:
    """Return a token: other users of this machine must not read the page either."""
    return secrets.token_urlsafe(24)


def check_access(host: str, token: str | None) -> None:
    """Raise ValueError if other machines could use the page without a token."""
    if token is not None and len(token) < SHORTEST_TOKEN:
        problem = f"The token has {len(token)} characters, but at least {SHORTEST_TOKEN} are needed."
        raise ValueError(f"{problem} Use secrets.token_urlsafe().")
    if token is None and not is_loopback(host):
        problem = f"host={host!r} lets other machines use the page, so it needs a token."
        advice = "Pass token=secrets.token_urlsafe(), or leave host out to listen on this machine only."
        raise ValueError(f"{problem} {advice}")


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
        >>> [access.allows_host(header) for header in ("127.0.0.1:8000", "localhost:8000", "[::1]:8000", "evil.example:8000", "localhost")]
        [True, True, True, False, False]
        """
        name, port = _split_host(header)
        if port != self.port:
            return False
        if is_loopback(self.host):
            return name in LOCAL_NAMES
        if self.host in ANY_ADDRESS:
            return name in LOCAL_NAMES or _address(name) is not None or name == socket.gethostname().lower()
        return name == self.host.lower()

    def allows_origin(self, origin: str | None, host: str, *, required: bool) -> bool:
        """Return whether an Origin header names the page itself. Browsers always send it with a WebSocket."""
        return not required if origin is None else origin.lower() == f"http://{host.lower()}"

    def knows(self, token: str | None, cookie: str) -> bool:
        """Return whether a request has the token, or the cookie that it got for the token."""
        if self.token is None:
            return True
        presented, expected = (cookie, self.secret) if token is None else (token, self.token)
        return hmac.compare_digest(presented.encode(), expected.encode())


def _split_host(header: str) -> tuple[str, int]:
    name, _, port = header.lower().rpartition(":")
    if not name or not port.isascii() or not port.isdigit():
        return header.lower().strip("[]"), 80
    return name.strip("[]"), int(port)


class Guard:
    """ASGI middleware: refuses requests that `Access` does not allow, and adds the headers to all answers."""

    def __init__(self, app: ASGIApp, access: Access) -> None:
        self.app, self.access = app, access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] not in ("http", "websocket"):
            await self.app(scope, receive, send)
            return
        request, access = HTTPConnection(scope), self.access
        is_socket = scope["type"] == "websocket"
        host, token = request.headers.get("host", ""), request.query_params.get("token") or None
        refusal = None
        if not access.allows_host(host):
            refusal = FORBIDDEN, "This server does not answer to that host name."
        elif not access.allows_origin(request.headers.get("origin"), host, required=is_socket):
            refusal = FORBIDDEN, "Pages of other sites may not use this server."
        elif not access.knows(token, request.cookies.get(access.cookie, "")):
            refusal = UNAUTHORIZED, "This page needs a token: open the address that the server printed."
        answer: ASGIApp = self.app
        if refusal is not None:
            status, text = refusal
            # a socket that is closed before it is accepted is status 403 for the browser
            answer = WebSocketClose(POLICY_VIOLATION, text) if is_socket else PlainTextResponse(text, status)
        elif token is not None and not is_socket and access.token is not None:
            # exchange the token in the address for a cookie, so that it does not stay in the history
            cookie = f"{access.cookie}={access.secret}; HttpOnly; SameSite=Strict; Path=/"
            answer = PlainTextResponse("", SEE_OTHER, {"location": "/", "set-cookie": cookie})
        await answer(scope, receive, send if is_socket else _with_headers(send))


def _with_headers(send: Send) -> Send:
    """Return `send` with the headers of `HEADERS`; those of the answer win."""

    async def send_with_headers(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in HEADERS.items():
                headers.setdefault(name, value)
        await send(message)

    return send_with_headers
