"""Measures memory: each library answers in a process of its own, and the answers must agree."""

from __future__ import annotations

import math

from benchmarks.case import Contestant
from benchmarks.first_answer.processes import kernel_cache, start
from benchmarks.workloads.case import MemoryCase

MODULE = "benchmarks.workloads.one_answer"
PLACE = "benchmarks.workloads.asked:QUESTIONS"


class MemoryField:
    """The contestants of a case, each in a process of its own."""

    def __init__(self, case: MemoryCase) -> None:
        self.case = case
        self.compiled: dict[str, float] = {}

    def counted(self, contestant: Contestant) -> int:
        """Return how many rows a contestant answers."""
        return min(contestant.rows or self.case.rows, self.case.rows)

    def measure(self, repeats: int) -> dict[str, list[float]]:  # noqa: ARG002 — memory is the same each time
        """Return the megabytes of each contestant, after the answers to the same rows were compared."""
        megabytes: dict[str, list[float]] = {}
        first: dict[int, dict[str, float]] = {}
        with kernel_cache() as kernels:
            for one in self.case.contestants:
                rows = self.counted(one)
                told = start(MODULE, kernels, one.name, PLACE, self.case.question.name, str(rows))
                check(self.case.name, one.name, told["digest"], first.setdefault(rows, told["digest"]))
                megabytes[one.name] = [told["megabytes"]]
        return megabytes


def check(case: str, name: str, given: dict[str, float], right: dict[str, float]) -> None:
    """Raise if the answers of a contestant do not come to the same.

    >>> check("hours", "Polars", {"rows": 3.0}, {"rows": 2.0})
    Traceback (most recent call last):
        ...
    AssertionError: hours: Polars has 3.0 rows, where 2.0 is right.
    """
    for what, value in right.items():
        if not math.isclose(given.get(what, math.nan), value, rel_tol=1e-6):
            message = f"{case}: {name} has {given.get(what)} {what}, where {value} is right."
            raise AssertionError(message)
