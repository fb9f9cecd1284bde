"""Stores with the states of all cards, and the servers that belong to them."""

from __future__ import annotations

import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.serving.cards import BLOCK, states_of
from sash.serve import open_store

NAME, RUN = "CARDS", "benchmark"
TOKEN = "the-token-of-the-benchmark"  # noqa: S105 — of a server of this process
LONGEST_START = 60.0
ROOT = Path(__file__).parents[2]


@contextmanager
def store_url(kind: str, folder: Path) -> Iterator[str]:
    """Yield the URL of an empty store: in SQLite, or in a Redis server that ends with the benchmark."""
    if kind == "SQLite":
        yield f"sqlite:///{folder / 'features.db'}"
        return
    command = shutil.which("redis-server")
    if command is None:
        raise RuntimeError("The benchmark needs redis-server. Install it: apt-get install redis-server.")
    port = free_port()
    options = ["--port", str(port), "--bind", "127.0.0.1", "--save", "", "--dir", str(folder)]
    with running([command, *options], port):
        yield f"redis://127.0.0.1:{port}/0"


def fill(url: str, keys: int) -> list[float]:
    """Write the states of all cards, a block each micro-batch. Return the nanoseconds per key of each write."""
    times = []
    with open_store(url) as store:
        for number, begin in enumerate(range(0, keys, BLOCK)):
            states = states_of(begin, min(begin + BLOCK, keys))
            start = time.perf_counter_ns()
            store.write(states, NAME, run=RUN, number=number)
            times.append((time.perf_counter_ns() - start) / states.num_rows)
    return times


@contextmanager
def serving(url: str) -> Iterator[int]:
    """Yield the port of `sash serve` over a store."""
    port = free_port()
    query = "benchmarks.serving.cards:CARDS"
    options = ["--store", url, "--port", str(port), "--token", TOKEN]
    with running([sys.executable, "-m", "sash", "serve", query, *options], port):
        yield port


@contextmanager
def running(command: list[str], port: int) -> Iterator[None]:
    """Run a server, and wait until it listens."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, cwd=ROOT)
    try:
        end = time.monotonic() + LONGEST_START
        while True:
            if process.poll() is not None or time.monotonic() > end:
                raise RuntimeError(f"{command[0]} does not listen on port {port}.")
            try:
                socket.create_connection(("127.0.0.1", port), timeout=1).close()
                break
            except OSError:
                time.sleep(0.05)
        yield
    finally:
        process.terminate()
        process.wait()


def free_port() -> int:
    """Return a port that nobody uses."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return int(probe.getsockname()[1])
