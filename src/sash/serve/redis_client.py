"""The client of Redis whose errors name the store."""

from __future__ import annotations

from typing import Any

from redis import Redis, exceptions

TIMEOUT = 10.0
"""Seconds to wait for an answer."""


class StoreClient(Redis):
    """A client of the store at a URL, which messages show as `shown`."""

    shown: str

    @classmethod
    def of(cls, url: str, shown: str) -> StoreClient:
        """Return a client. It connects when it is used."""
        client = cls.from_url(url, socket_timeout=TIMEOUT, socket_connect_timeout=TIMEOUT)
        assert isinstance(client, StoreClient)
        client.shown = shown
        return client

    def execute_command(self, *arguments: Any, **options: Any) -> Any:
        """Run a command. Raise ConnectionError if the server does not answer, or refuses the password."""
        try:
            return super().execute_command(*arguments, **options)  # type: ignore[no-untyped-call]
        except (exceptions.ConnectionError, exceptions.TimeoutError) as error:
            raise ConnectionError(f"The store {self.shown} does not answer: {str(error).rstrip('.')}.") from error
