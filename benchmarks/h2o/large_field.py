"""Measures a question of many rows: each library answers in a process of its own, and the answers must agree."""

from __future__ import annotations

import sys
from functools import cache
from typing import Any

from benchmarks.case import Contestant
from benchmarks.first_answer.processes import kernel_cache, start
from benchmarks.h2o.large import LargeCase
from benchmarks.workloads.field import MODULE, check


class LargeField:
    """The contestants of a case."""

    def __init__(self, case: LargeCase) -> None:
        self.case = case
        self.compiled: dict[str, float] = {}

    def counted(self, contestant: Contestant) -> int:  # noqa: ARG002 — all have the same rows
        """Return the rows."""
        return self.case.rows

    def measure(self, repeats: int) -> dict[str, list[float]]:  # noqa: ARG002 — once: it takes long
        """Return the seconds or the megabytes of each contestant, after the answers were compared."""
        case, told = self.case, dict[str, dict[str, Any]]()
        for one in case.contestants:
            told[one.name] = run(one.name, case.place, case.question.name, case.rows)
            right = next(iter(told.values()))["digest"]
            check(case.name, one.name, told[one.name]["digest"], right)
        key = {"time": "seconds", "memory": "megabytes"}[case.shown]
        return {name: [one[key]] for name, one in told.items()}


@cache
def run(library: str, place: str, question: str, rows: int) -> dict[str, Any]:
    """Ask a library in a process of its own. Both measures come from one process."""
    with kernel_cache() as kernels:
        told = start(MODULE, kernels, library, place, question, str(rows))
    text = f"{library:7} {question}, {rows:,} rows: {told['seconds']:8.3f} s, {told['megabytes']:8,.0f} MB"
    print(text, file=sys.stderr, flush=True)  # noqa: T201
    return told
