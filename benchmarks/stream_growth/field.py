"""Checks and measures a case: each stream in a new process, whose results must come to what the raw rows come to."""

from __future__ import annotations

import math
import sys
import tempfile
from dataclasses import dataclass
from functools import cache

from benchmarks.first_answer.data import folder
from benchmarks.first_answer.processes import kernel_cache, start
from benchmarks.stream_growth.case import BYTES, FIRST, TIME, GrowthCase, GrowthContestant
from benchmarks.stream_growth.data import arrivals, rows_of
from benchmarks.stream_growth.digest import expected

MODULE = "benchmarks.stream_growth.one_stream"


@dataclass(frozen=True)
class StreamRun:
    """What one stream took."""

    seconds: list[float]
    """By micro-batch."""
    megabytes: float
    """Those of a micro-batch, on average."""

    def shown(self, measure: str) -> list[float]:
        """Return the values of a measure."""
        return {TIME: self.later, FIRST: self.seconds[:1], BYTES: [self.megabytes]}[measure]

    @property
    def later(self) -> list[float]:
        """By minute: the mean of its two micro-batches, of which one emits windows. The first minute is left out."""
        return [(one + two) / 2 for one, two in zip(self.seconds[2::2], self.seconds[3::2], strict=True)]


class GrowthField:
    """The contestants of a case, each in a process of its own."""

    def __init__(self, case: GrowthCase) -> None:
        self.case = case
        self.compiled: dict[str, float] = {}

    def counted(self, contestant: GrowthContestant) -> int:  # noqa: ARG002 — all have the same rows
        """Return the rows of a micro-batch."""
        return self.case.rows

    def measure(self, repeats: int) -> dict[str, list[float]]:  # noqa: ARG002 — a stream has many micro-batches
        """Return what was measured, after the results of each stream were checked."""
        case = self.case
        return {one.name: run(one, case.length, case.slices, case.rows).shown(case.shown) for one in case.contestants}


@cache
def run(contestant: GrowthContestant, length: str, slices: int, rows: int) -> StreamRun:
    """Run a stream to its end in a process of its own, whose kernel cache is empty, and check its results."""
    keys, batches, way = contestant.keys, contestant.batches, contestant.way
    right = expected(keys, rows, batches, slices, slices if way == "tumbling" else 1)
    parquet = str(arrivals(keys, rows, batches))
    rows_of.cache_clear()
    with kernel_cache() as cache_folder, tempfile.TemporaryDirectory(dir=folder()) as checkpoint:
        told = start(MODULE, cache_folder, way, length, parquet, checkpoint)
    check(f"{contestant.name}, {slices} slices", told["digest"], right)
    measured = StreamRun(told["seconds"], told["bytes"] / 1e6 / batches)
    _show(f"{slices:5,} slices, {contestant.name}", measured)
    return measured


def check(name: str, given: dict[str, float], right: dict[str, float]) -> None:
    """Raise if the results do not come to the same.

    >>> check("Sash", {"n": 3}, {"n": 2})
    Traceback (most recent call last):
        ...
    AssertionError: Sash has 3 of n, the raw rows come to 2.
    """
    for sum_of, value in right.items():
        if not math.isclose(given[sum_of], value, rel_tol=1e-9):
            message = f"{name} has {given[sum_of]} of {sum_of}, the raw rows come to {value}."
            raise AssertionError(message)


def _show(name: str, measured: StreamRun) -> None:
    """Print a stream as soon as it is done: a case has many."""
    rest = sorted(measured.later)
    print(  # noqa: T201
        f"{name:32} first {measured.seconds[0]:5.1f} s, then {rest[len(rest) // 2]:5.2f} s and {measured.megabytes:6.2f} MB"
        " per micro-batch",
        file=sys.stderr,
        flush=True,
    )
