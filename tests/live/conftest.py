"""Servers for the tests of the live page: in a process of their own, because the tests kill them."""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from helpers.chromium import Tab, chromium
from rich.console import Console

from live.generated import GeneratedSource
from sash.live.feed import Feed
from sash.live.server import serve_source

TESTS = Path(__file__).parent.parent
ADDRESS = re.compile(r"http://127\.0\.0\.1:(\d+)/\S*")
LONGEST_START = 30.0


class ServerProcess:
    """A server of generated results."""

    def __init__(self, port: int = 0, per_second: float = 200, keys: int = 2, token: str | None = None) -> None:
        arguments = [str(port), str(per_second), str(keys), *([token] if token else [])]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(TESTS), str(TESTS.parent / "src")])}
        command = [sys.executable, "-m", "live.generated", *arguments]
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment
        )
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        found = ADDRESS.search(line)
        assert found, line + self.process.stdout.read()
        self.url, self.port = found[0], int(found[1])
        threading.Thread(target=self.process.stdout.read, daemon=True).start()

    def kill(self) -> None:
        """End it at once, as a crash would."""
        self.process.kill()
        self.process.wait()
        if self.process.stdout is not None:
            self.process.stdout.close()


class EndedSource(GeneratedSource):
    """A source that can fail on demand: that ends its server."""

    def __init__(self) -> None:
        super().__init__()
        self.ended = threading.Event()

    def run(self, feed: Feed) -> None:
        """Add results until the test has ended."""
        super().run(feed)
        if self.ended.is_set():
            raise RuntimeError("the test has ended")


class ServerThread:
    """A server of generated results in a thread of the tests, so that coverage sees it."""

    def __init__(self, token: str | None = None) -> None:
        self.source = EndedSource()
        self.output = io.StringIO()
        options = {"token": token, "console": Console(file=self.output, width=200)}
        self.thread = threading.Thread(target=serve_source, args=(self.source,), kwargs=options, daemon=True)
        self.thread.start()
        end = time.monotonic() + LONGEST_START
        while not (found := ADDRESS.search(self.output.getvalue())):
            assert self.thread.is_alive()
            assert time.monotonic() < end
            time.sleep(0.01)
        self.url, self.port = found[0], int(found[1])

    def kill(self) -> None:
        """End it, and wait for that."""
        self.source.ended.set()
        self.source.stop()
        self.thread.join(LONGEST_START)
        assert not self.thread.is_alive()


@pytest.fixture(scope="module")
def server_thread() -> Iterator[ServerThread]:
    """A server in this process."""
    one = ServerThread()
    yield one
    one.kill()


@pytest.fixture(scope="module")
def server() -> Iterator[ServerProcess]:
    """A server of generated results, for all tests of a file: it takes two seconds to start."""
    one = ServerProcess()
    yield one
    one.kill()


@pytest.fixture(scope="session")
def browser() -> Iterator[Tab]:
    """A tab of Chromium. If there is none, tests fail with a hint: they must not be left out in silence."""
    with chromium() as tab:
        yield tab
