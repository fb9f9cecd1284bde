"""The socket of a server: answers leave at once."""

from __future__ import annotations

import asyncio
import socket

import pytest

from sash.web.listening import bind


def test_small_answers_are_not_delayed() -> None:
    found: list[int] = []

    async def answer(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        accepted = writer.get_extra_info("socket")
        found.append(accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
        writer.close()
        await writer.wait_closed()

    async def serve_one() -> None:
        with bind("127.0.0.1", 0) as listening:
            server = await asyncio.start_server(answer, sock=listening)
            reader, writer = await asyncio.open_connection("127.0.0.1", listening.getsockname()[1])
            await reader.read()
            writer.close()
            await writer.wait_closed()
            server.close()
            await server.wait_closed()

    asyncio.run(serve_one())
    assert found == [1]


def test_a_port_in_use_is_an_error_that_says_so() -> None:
    with bind("127.0.0.1", 0) as first:
        port = first.getsockname()[1]
        with pytest.raises(OSError, match=f"Cannot listen on 127.0.0.1, port {port}: .* Choose another port"):
            bind("127.0.0.1", port)
