"""Measures a case: each contestant at each point in a new process, whose results must agree with those of the others."""

from __future__ import annotations

import json
import math
import sys
from dataclasses import asdict, dataclass
from functools import cache

from benchmarks.first_answer.processes import kernel_cache, start
from benchmarks.growth.case import TIME_SHOWN, SweepCase, SweepContestant, SweepPoint
from benchmarks.growth.data import written

MODULE = "benchmarks.growth.one_point"
RELATIVE = 1e-9


@dataclass(frozen=True)
class PointRun:
    """What one contestant took at one point."""

    seconds: list[float]
    megabytes: float
    digest: dict[str, float]

    def shown(self, measure: str) -> list[float]:
        """Return the values of a measure."""
        return self.seconds if measure == TIME_SHOWN else [self.megabytes]


class SweepField:
    """The contestants of a case, each in a process of its own."""

    def __init__(self, case: SweepCase) -> None:
        self.case = case
        self.compiled: dict[str, float] = {}

    def counted(self, contestant: SweepContestant) -> int:
        """Return how many rows a contestant answers."""
        return contestant.point.rows

    def measure(self, repeats: int) -> dict[str, list[float]]:
        """Return what was measured, after the results at each point were compared."""
        runs: dict[str, PointRun] = {}
        first: dict[SweepPoint, str] = {}
        for one in self.case.contestants:
            runs[one.name] = run(one.library, one.point, repeats)
            right = first.setdefault(one.point, one.name)
            check(one.name, runs[one.name].digest, right, runs[right].digest)
        return {name: done.shown(self.case.shown) for name, done in runs.items()}


@cache
def _kernels() -> str:
    """Return a kernel cache that all processes share: compiling is not measured here."""
    folder = kernel_cache()
    _held.append(folder)
    return str(folder.name)


_held: list[object] = []
"""Folders that live as long as this process."""


@cache
def run(library: str, point: SweepPoint, repeats: int) -> PointRun:
    """Measure an library at a point once: sweeps meet at the base, and both measures come from one process."""
    arguments = (library, json.dumps(asdict(point)), str(written(point.rows, point.keys)))
    if library == "Sash":
        start(MODULE, _kernels(), *arguments, "0")  # many rows need other kernels than few; the next process finds them
    told = start(MODULE, _kernels(), *arguments, str(repeats))
    done = PointRun(told["seconds"], told["megabytes"], told["digest"])
    middle = sorted(done.seconds)[len(done.seconds) // 2]
    print(f"{library:7} {point}: {middle:7.3f} s, {done.megabytes:7,.0f} MB", file=sys.stderr, flush=True)  # noqa: T201
    return done


def check(name: str, given: dict[str, float], other: str, right: dict[str, float]) -> None:
    """Raise if the results do not come to the same.

    >>> check("Polars, 10", {"rows": 3}, "Sash, 10", {"rows": 2})
    Traceback (most recent call last):
        ...
    AssertionError: Polars, 10 has 3 rows, Sash, 10 has 2.
    """
    for what, value in right.items():
        if not math.isclose(given.get(what, math.nan), value, rel_tol=RELATIVE):
            message = f"{name} has {given.get(what)} {what}, {other} has {value}."
            raise AssertionError(message)
