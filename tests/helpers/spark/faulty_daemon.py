"""Spark's Python daemon with faults, which a test arms while the cluster runs: spark.python.daemon.module=faulty_daemon.

A fault is a file in $SASH_FAULTS. Some happen once: the worker that removes the file has it. Others last as long as the file.
"""

from __future__ import annotations

import os
import signal
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

KILL, SLOW, LOSE = "kill the executor", "be slow", "lose shuffle files"
"""Happen once: in a micro-batch when the second state of a bucket is stored, in a batch query when a group is evaluated."""
FULL, LITTLE = "full disk", "little memory"
"""Last: writes of copies of state and of sorted runs fail; all rows are sorted on disk."""
FOLDER = "SASH_FAULTS"
SECONDS = 8.0
"""How long a slow task waits."""
BYTES = 1 << 14
EXECUTOR = os.getppid()
"""The JVM that starts this process. Workers are forks of it."""


def arm(folder: Path, *faults: str) -> None:
    """Let faults happen, and end those that last."""
    for path in [*folder.glob("*"), *folder.glob("seen/*")]:
        if path.is_file():
            path.unlink()
    (folder / "seen").mkdir(parents=True, exist_ok=True)
    for fault in faults:
        (folder / fault).touch()


def lasts(fault: str) -> bool:
    """Return whether a fault lasts."""
    return (Path(os.environ[FOLDER]) / fault).exists()


def claim(fault: str) -> bool:
    """Return whether a fault happens here and now, which it does once."""
    try:
        (Path(os.environ[FOLDER]) / fault).unlink()
    except FileNotFoundError:
        return False
    return True


def is_second(place: str) -> bool:
    """Return whether the state of a bucket was stored before, on any executor."""
    try:
        (Path(os.environ[FOLDER]) / "seen" / place).touch(exist_ok=False)
    except FileExistsError:
        return True
    return False


def strike() -> None:
    """Let a fault happen that is armed."""
    if claim(KILL):
        os.kill(EXECUTOR, signal.SIGKILL)
        time.sleep(SECONDS)  # the daemon ends with its executor, and this process with the daemon
        os._exit(1)
    if claim(SLOW):
        time.sleep(SECONDS)
    if claim(LOSE):
        local = os.environ["SPARK_LOCAL_DIRS"].split(",")[0]
        lost = [*Path(local).parents[2].glob("**/shuffle_*")]  # of all executors: spark-…/executor-…/blockmgr-…
        assert lost
        for path in lost:
            path.unlink(missing_ok=True)
        raise RuntimeError("the shuffle files are gone")  # so that the task reads them again


def install() -> None:
    """Put the faults in place."""
    from sash.spark.streaming import state_cache  # noqa: PLC0415 — as above
    from sash.workers import bucket_worker, range_worker  # noqa: PLC0415 — only executors need it

    write = state_cache.write

    def faulty_write(place: str, token: str, state: bytes) -> None:
        write(place, token, state)
        if is_second(place):
            strike()

    def evaluating(evaluate: Callable[..., Iterator[Any]]) -> Callable[..., Iterator[Any]]:
        def faulty_evaluate(own: Any, group: int, batches: Any) -> Iterator[Any]:
            strike()
            if lasts(LITTLE) and hasattr(own, "most_bytes"):
                own = replace(own, most_bytes=BYTES)
            yield from evaluate(own, group, batches)

        return faulty_evaluate

    state_cache.write = faulty_write
    for one in (bucket_worker.BucketWorker, range_worker.RangeWorker):
        one.evaluate_group = evaluating(one.evaluate_group)  # type: ignore[method-assign]


def fill_disks() -> None:
    """Let the kernel say that the disk is full, while the fault lasts: /dev/full says so at each write."""
    from sash.workers import spill  # noqa: PLC0415 — only executors need it

    begin, make = spill.Sorter.__init__, tempfile.mkstemp

    def faulty_begin(sorter: spill.Sorter, declared: Any, folder: Path) -> None:
        begin(sorter, declared, folder)
        if lasts(FULL):
            (folder / "0.arrow").symlink_to("/dev/full")

    def faulty_make(*arguments: Any, **options: Any) -> tuple[int, str]:
        handle, name = make(*arguments, **options)
        if lasts(FULL):
            os.close(handle)
            handle = os.open("/dev/full", os.O_WRONLY)
        return handle, name

    spill.Sorter.__init__ = faulty_begin  # type: ignore[method-assign,assignment]
    tempfile.mkstemp = faulty_make  # type: ignore[assignment]


if __name__ == "__main__":
    from pyspark import daemon

    install()
    fill_disks()
    daemon.manager()
