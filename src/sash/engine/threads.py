"""Work in threads."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import TypeVar

CORES = os.cpu_count() or 1
"""It is not asked again for each table: that takes as long as sorting a thousand rows."""
S = TypeVar("S")
T = TypeVar("T")
SEVERAL = 2


def in_threads(threads: int, work: Callable[[S], T], tasks: Sequence[S]) -> list[T]:
    """Return the result of each task, in order; threads run them."""
    if len(tasks) < SEVERAL or threads < SEVERAL:
        return [work(task) for task in tasks]
    from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415 — small tables need no threads, and it takes 4 ms to import

    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(work, tasks))
