"""Stores of both kinds, and states that look like those of a query."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from helpers.redis_server import redis_server

from sash.serve import open_store
from sash.serve.store import Store


@pytest.fixture(scope="session")
def redis_url() -> Iterator[str]:
    """A Redis server of this test process."""
    with redis_server() as url:
        yield url


@pytest.fixture(params=["sqlite", "redis"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """The URL of an empty store, of each kind."""
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path / 'features.db'}"
        return
    url: str = request.getfixturevalue("redis_url")
    yield url
    with open_store(url) as used:
        for name in used.names():
            used.drop(name)


@pytest.fixture
def store(url: str) -> Iterator[Store]:
    """An empty store, of each kind."""
    with open_store(url) as opened:
        yield opened
