"""A real Redis server for tests: a process of its own, on a free port of this machine, with nothing on disk."""

from __future__ import annotations

import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager

LONGEST_START = 30.0


@contextmanager
def redis_server() -> Iterator[str]:
    """Start a server and yield its URL. If none is installed, tests fail with a hint: they must not be left out in silence."""
    command = shutil.which("redis-server")
    assert command is not None, "These tests need redis-server. Run make test, or apt-get install redis-server."
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    options = ["--port", str(port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"]
    process = subprocess.Popen([command, *options], stdout=subprocess.DEVNULL)
    try:
        _wait_for(port, process)
        yield f"redis://127.0.0.1:{port}/0"
    finally:
        process.kill()
        process.wait()


def _wait_for(port: int, process: subprocess.Popen[bytes]) -> None:
    end = time.monotonic() + LONGEST_START
    while True:
        assert process.poll() is None, "redis-server has ended"
        try:
            with socket.create_connection(("127.0.0.1", port), timeout=1):
                return
        except OSError:
            assert time.monotonic() < end, "redis-server does not answer"
            time.sleep(0.02)
