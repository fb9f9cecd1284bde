"""The token of the page: a browser presents it once, in the address, and then has a cookie."""

from __future__ import annotations

import hashlib
import hmac

from starlette.requests import HTTPConnection
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp

from sash.web.security import Access, Guard

SEE_OTHER = 303


def cookie_name(access: Access) -> str:
    """Return the name of the cookie: browsers send cookies to all ports of a host."""
    return f"sash_live_{access.port}"


def cookie_secret(access: Access) -> str:
    """Return the value of the cookie. It follows from the token, so that a restart with the same token needs no new login."""
    return hmac.new((access.token or "").encode(), b"sash live cookie", hashlib.sha256).hexdigest()


class PageGuard(Guard):
    """A guard that knows browsers by a cookie."""

    unauthorized_text = "This page needs a token: open the address that the server printed."

    def is_authorized(self, request: HTTPConnection) -> bool:
        """Return whether a request has the token in its address, or the cookie that a browser got for it."""
        token = _token_of(request)
        if self.access.token is None or token is not None:
            return self.access.is_token(token or "")
        cookie = request.cookies.get(cookie_name(self.access), "")
        return hmac.compare_digest(cookie.encode(), cookie_secret(self.access).encode())

    def answer(self, request: HTTPConnection) -> ASGIApp:
        """Return what answers a request: it exchanges a token for a cookie, so that the token does not stay in the history."""
        if self.access.token is None or _token_of(request) is None or request.scope["type"] == "websocket":
            return self.app
        cookie = f"{cookie_name(self.access)}={cookie_secret(self.access)}; HttpOnly; SameSite=Strict; Path=/"
        return PlainTextResponse("", SEE_OTHER, {"location": "/", "set-cookie": cookie})


def _token_of(request: HTTPConnection) -> str | None:
    return request.query_params.get("token") or None
