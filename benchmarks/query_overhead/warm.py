"""Few rows, queried again and again: what a call costs whatever rows it has."""

from __future__ import annotations

import gc
import time
from dataclasses import dataclass

from benchmarks.case import SECONDS, Case, Contestant
from benchmarks.first_answer.answer import digest_of
from benchmarks.first_answer.ask_sash import QUESTIONS, columns, query_of
from benchmarks.first_answer.data import rows_of
from benchmarks.first_answer.field import recomputed
from benchmarks.references import relative_error

WARM_UP = 3
"""Calls before the clock starts: whatever is compiled is compiled then."""


@dataclass(frozen=True, kw_only=True)
class WarmCase(Case):
    """The queries of benchmarks/first_answer, each declared once; the contestants have their names."""

    aggregate: str = ""
    contestants: tuple[Contestant, ...] = tuple(
        Contestant(name=name, role="sash", algorithm="auto") for name in QUESTIONS
    )
    tolerance: float = 1e-9
    rows: int = 1_000
    repeats: int = 50
    measure: str = SECONDS

    @property
    def range(self) -> str:
        """The windows differ."""
        return ""


class WarmField:
    """The queries, each checked, and run until nothing is compiled any more."""

    def __init__(self, case: WarmCase) -> None:
        self.case = case
        self.table = rows_of(case.rows)
        self.compiled: dict[str, float] = {}
        self.queries = {one.name: query_of(one.name) for one in case.contestants}

    def counted(self, contestant: Contestant) -> int:  # noqa: ARG002 — all have the same rows
        """Return how many rows a contestant answers."""
        return self.case.rows

    def measure(self, repeats: int) -> dict[str, list[float]]:
        """Check every query, then return the seconds of each call."""
        for name in self.queries:
            self.check(name)
        seconds: dict[str, list[float]] = {name: [] for name in self.queries}
        gc.collect()
        gc.disable()
        try:
            for _ in range(repeats):
                for name, query in self.queries.items():
                    start = time.perf_counter()
                    query.run(self.table)
                    seconds[name].append(time.perf_counter() - start)
        finally:
            gc.enable()
        return seconds

    def check(self, name: str) -> None:
        """Compare the results of each of the first calls with those recomputed from raw rows."""
        right = recomputed(name, self.case.rows)
        for _ in range(WARM_UP):
            given = digest_of(
                columns(self.queries[name].run(self.table, compiled=True))
            )  # later runs use the machine code
            if given.keys() != right.keys() or any(
                relative_error(given[key], right[key]) > self.case.tolerance for key in right
            ):
                message = f"{self.case.name}: {name} comes to {given}, which is {right}."
                raise AssertionError(message)
