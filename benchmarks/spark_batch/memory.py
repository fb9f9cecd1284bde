"""How much memory Spark's Python workers take at most, as Linux counts it."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

PROCESSES = Path("/proc")
EVERY = 0.02
"""Seconds."""
FORGET_THE_MOST = "5"
WORKER = b"pyspark.daemon"


def most_of_a_worker(run: Callable[[], object]) -> float:
    """Run, and return the megabytes of the worker that took the most: resident, its libraries included."""
    for worker in workers():
        with suppress(OSError):
            (worker / "clear_refs").write_text(FORGET_THE_MOST, encoding="ascii")
    found = [0.0]
    done = threading.Event()

    def watch() -> None:
        while True:
            is_done = done.wait(EVERY)
            found.extend(map(_most, workers()))
            if is_done:
                return

    watching = threading.Thread(target=watch, daemon=True)
    watching.start()
    try:
        run()
    finally:
        done.set()
        watching.join()
    return max(found)


def workers() -> list[Path]:
    """Return the Python workers that this process has brought about."""
    parents = {}
    for process in PROCESSES.glob("[0-9]*"):
        with suppress(OSError, IndexError):  # it may be gone
            parents[int(process.name)] = int(_after_name(process).split()[1])
    return [PROCESSES / str(one) for one in parents if _is_ours(one, parents) and _is_worker(PROCESSES / str(one))]


def _after_name(process: Path) -> str:
    return (process / "stat").read_text(encoding="utf-8", errors="replace").rsplit(")", 1)[1]


def _is_ours(process: int, parents: dict[int, int]) -> bool:
    while process in parents:
        process = parents[process]
        if process == os.getpid():
            return True
    return False


def _is_worker(process: Path) -> bool:
    with suppress(OSError):
        return WORKER in (process / "cmdline").read_bytes()
    return False


def _most(process: Path) -> float:
    with suppress(OSError):
        for line in (process / "status").read_text(encoding="utf-8").splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) / 1024
    return 0.0
