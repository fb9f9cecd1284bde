"""Who may use a server: the addresses that it answers to, the pages that may call it, and its token.

    request ──► Host is ours? ──► Origin is ours? ──► token? ──► answer, with a strict Content-Security-Policy
                403               403                 401

A page of another site can make a browser call this server: by its address (then Origin tells), or by a name that it makes point
here (then Host tells). Both are checked for HTTP and for WebSockets.
"""

from __future__ import annotations

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
FORBIDDEN, UNAUTHORIZED = 403, 401
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
    """Return a token: other users of this machine must not read the answers either."""
    return secrets.token_urlsafe(24)


def check_access(host: str, token: str | None) -> None:
    """Raise ValueError if other machines could use the server without a token, or with a short one."""
    if token is not None and len(token) < SHORTEST_TOKEN:
        problem = f"The token has {len(token)} characters, but at least {SHORTEST_TOKEN} are needed."
        raise ValueError(f"{problem} Use secrets.token_urlsafe().")
    if token is None and not is_loopback(host):
        problem = f"host={host!r} lets other machines use the server, so it needs a token."
        advice = "Pass token=secrets.token_urlsafe(), or leave host out to listen on this machine only."
        raise ValueError(f"{problem} {advice}")


@dataclass(frozen=True)
class Access:
    """Which requests are allowed."""

    host: str
    port: int
    token: str | None = None
    names: tuple[str, ...] = ()
    """Other values of the Host header, such as those of a proxy, in lower case."""

    def allows_host(self, header: str) -> bool:
        """Return whether a Host header names this server.

        >>> access = Access("127.0.0.1", 8000)
        >>> [access.allows_host(header) for header in ("127.0.0.1:8000", "localhost:8000", "[::1]:8000", "evil.example:8000", "localhost")]
        [True, True, True, False, False]
        """
        if header.lower() in self.names:
            return True
        name, port = _split_host(header)
        if port != self.port:
            return False
        if is_loopback(self.host):
            return name in LOCAL_NAMES
        if self.host in ANY_ADDRESS:
            return name in LOCAL_NAMES or _address(name) is not None or name == socket.gethostname().lower()
        return name == self.host.lower()

    def allows_origin(self, origin: str | None, host: str, *, required: bool) -> bool:
        """Return whether an Origin header names this server itself. Browsers always send it with a WebSocket."""
        return not required if origin is None else origin.lower() == f"http://{host.lower()}"

    def is_token(self, presented: str) -> bool:
        """Return whether a text is the token; without a token, every text is."""
        return self.token is None or hmac.compare_digest(presented.encode(), self.token.encode())


def _split_host(header: str) -> tuple[str, int]:
    name, _, port = header.lower().rpartition(":")
    if not name or not port.isascii() or not port.isdigit():
        return header.lower().strip("[]"), 80
    return name.strip("[]"), int(port)


class Guard:
    """ASGI middleware: refuses requests that `Access` does not allow, and adds the headers to all answers.

    A program presents the token in a header, `Authorization: Bearer TOKEN`.
    """

    unauthorized_text = "This server needs its token in a header, Authorization: Bearer TOKEN."

    def __init__(self, app: ASGIApp, access: Access) -> None:
        self.app, self.access = app, access

    def is_authorized(self, request: HTTPConnection) -> bool:
        """Return whether a request has the token."""
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        return self.access.is_token(token.strip() if scheme.lower() == "bearer" else "")

    def answer(self, request: HTTPConnection) -> ASGIApp:  # noqa: ARG002 — for guards of pages
        """Return what answers a request that is allowed."""
        return self.app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] not in ("http", "websocket"):
            await self.app(scope, receive, send)
            return
        request = HTTPConnection(scope)
        is_socket = scope["type"] == "websocket"
        refusal = self._refusal(request, is_socket=is_socket)
        if refusal is None:
            answer = self.answer(request)
        else:
            status, text = refusal
            # a socket that is closed before it is accepted is status 403 for the browser
            answer = WebSocketClose(POLICY_VIOLATION, text) if is_socket else PlainTextResponse(text, status)
        await answer(scope, receive, send if is_socket else _with_headers(send))

    def _refusal(self, request: HTTPConnection, *, is_socket: bool) -> tuple[int, str] | None:
        """Return the status and the text that refuse a request; None if it is allowed."""
        host = request.headers.get("host", "")
        if not self.access.allows_host(host):
            return FORBIDDEN, "This server does not answer to that host name."
        if not self.access.allows_origin(request.headers.get("origin"), host, required=is_socket):
            return FORBIDDEN, "Pages of other sites may not use this server."
        if not self.is_authorized(request):
            return UNAUTHORIZED, self.unauthorized_text
        return None


def _with_headers(send: Send) -> Send:
    """Return `send` with the headers of `HEADERS`; those of the answer win."""

    async def send_with_headers(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in HEADERS.items():
                headers.setdefault(name, value)
        await send(message)

    return send_with_headers
