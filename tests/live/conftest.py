"""Servers for the tests of the live page: in a process of their own, because the tests kill them."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from helpers.chromium import Tab, chromium

TESTS = Path(__file__).parent.parent


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
        found = re.search(r"http://127\.0\.0\.1:(\d+)/\S*", line)
        assert found, line + self.process.stdout.read()
        self.url, self.port = found[0], int(found[1])
        threading.Thread(target=self.process.stdout.read, daemon=True).start()

    def kill(self) -> None:
        """End it at once, as a crash would."""
        self.process.kill()
        self.process.wait()
        if self.process.stdout is not None:
            self.process.stdout.close()


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
