"""Stores of states, and the lookup service: the features of a key over HTTP. The command `sash serve` starts it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from sash.hints import did_you_mean

if TYPE_CHECKING:
    from sash.query import Query
    from sash.serve.store import Store

# The clients of stores and the HTTP server are optional, so that each function imports what it needs.
# ruff: noqa: PLC0415

__all__ = ["open_store", "serve"]

SCHEMES = ("sqlite", "redis", "rediss", "unix")
"""How a URL begins; the last three are Redis: plain, with TLS, and over a socket of this machine."""


def open_store(url: str) -> Store:
    """Return the store at a URL.

    `url` says where it is: `sqlite:///features.db` is a file in the current folder, `sqlite:////var/lib/features.db` one with an absolute path. The first write makes it.
    `redis://host:6379/0` is a database of Redis, with `redis://:password@host…` for a password and `rediss://…` for TLS.

    Errors: ValueError for any other URL. ImportError if the client of Redis is missing.

    >>> from sash.serve import open_store
    >>> open_store("sqlite:///features.db").names()
    []
    >>> open_store("features.db")
    Traceback (most recent call last):
    ValueError: 'features.db' is no URL of a store. Use one as in sqlite:///features.db or redis://localhost:6379/0.
    """
    scheme = urlsplit(url).scheme
    if scheme == "sqlite":
        from sash.serve.sqlite_store import SqliteStore

        return SqliteStore(_path_of(url), url)
    if scheme in SCHEMES:
        from sash.serve.redis_store import RedisStore

        return RedisStore(url)
    hint = did_you_mean(scheme, SCHEMES) if "://" in url else ""
    advice = "Use one as in sqlite:///features.db or redis://localhost:6379/0."
    raise ValueError(f"{url!r} is no URL of a store.{hint} {advice}")


def serve(
    queries: Mapping[str, Query],
    store: str | Store,
    *,
    host: str = "127.0.0.1",
    port: int = 8000,
    token: str | None = None,
    allowed_hosts: Sequence[str] = (),
) -> None:
    """Serve the features of keys over HTTP, and block until Ctrl-C.

    `queries` are the queries by the names under which their states were written to the `store`, which is a store or its URL.

    The server listens on `host` and `port`; 0 is any free port. Other machines reach it only with another `host`, such as "0.0.0.0".
    A request must present the `token`, of at least 16 characters, in the header `Authorization: Bearer TOKEN`. Default: a new one, which the printed
    command contains. `allowed_hosts` are other values of the header `Host`, such as `features.example:80` for a proxy.

    Errors: LookupError if the store has no states of a query. RuntimeError if they belong to another query. ValueError if an argument
    is wrong. ImportError if a package is missing. OSError if the port is in use.

    >>> import sash
    >>> from sash import agg, serve, window
    >>> query = sash.Query({"n": agg.count()}, window.time("1h"), by="card", time="ts")
    >>> serve.serve({"card_features": query}, "sqlite:///no-such.db")
    Traceback (most recent call last):
    LookupError: sqlite:///no-such.db has no states of 'card_features'. Nothing has been written to it yet.
    """
    try:
        from sash.serve import feature_server
        from sash.web import security
    except ImportError as error:
        raise ImportError(
            f"The lookup service needs {error.name}. Install it: pip install 'sash[serve]'.", name=error.name
        ) from error
    from sash.serve.feature_service import FeatureService

    token = token or security.new_token()
    security.check_access(host, token)
    if not queries:
        raise ValueError("There is no query to serve. Name at least one.")
    opened = open_store(store) if isinstance(store, str) else store
    service = FeatureService(queries, opened)
    feature_server.serve_features(service, host=host, port=port, token=token, names=allowed_hosts)


def _path_of(url: str) -> str:
    """Return the path in a URL of SQLite."""
    parts = urlsplit(url)
    path = unquote(parts.path).removeprefix("/")
    if parts.netloc or not path or parts.query or parts.fragment:
        advice = "Use sqlite:///features.db for a file in this folder, and sqlite:////var/lib/features.db for an absolute path."
        raise ValueError(f"{url!r} names no file. {advice}")
    return path
