"""Stores of states, and the lookup service: the features of a key over HTTP. The command `sash serve` starts it."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from sash.hints import did_you_mean

if TYPE_CHECKING:
    from sash.serve.store import Store

# The clients of stores and the HTTP server are optional, so that each function imports what it needs.
# ruff: noqa: PLC0415

__all__ = ["open_store"]

SCHEMES = ("sqlite", "redis", "rediss", "unix")
"""How a URL begins; the last three are Redis: plain, with TLS, and over a socket of this machine."""


def open_store(url: str) -> Store:
    """Return the store at a URL.

    `sqlite:///features.db` is a file in the current folder, `sqlite:////var/lib/features.db` one with an absolute path. The first write makes it.
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


def _path_of(url: str) -> str:
    """Return the path in a URL of SQLite."""
    parts = urlsplit(url)
    path = unquote(parts.path).removeprefix("/")
    if parts.netloc or not path or parts.query or parts.fragment:
        advice = "Use sqlite:///features.db for a file in this folder, and sqlite:////var/lib/features.db for an absolute path."
        raise ValueError(f"{url!r} names no file. {advice}")
    return path
