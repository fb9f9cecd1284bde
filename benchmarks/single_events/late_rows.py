"""Rows that arrive up to 1,000 positions late, each with its time: FiBA over a whole column, and row by row."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

import sash
from benchmarks.case import Call, Case, Contestant, Target
from benchmarks.references import REFERENCES, relative_error, sample
from benchmarks.single_events.field import CHECKED, EventField
from sash import agg

LATE = 1_000
AGGREGATES = {"max": agg.max("x"), "sum": agg.sum("x")}
ONE_BY_ONE = 20_000
MOST = 1_000
"""Nanoseconds a row."""


@dataclass(frozen=True, kw_only=True)
class LateContestant(Contestant):
    """One way to keep the window."""

    prepare: Callable[[Any, Any, int], Call]
    """From values, times and the length of the window to the call that is timed."""


@dataclass(frozen=True, kw_only=True)
class LateCase(Case):
    """After each row, a window of the times up to `length` before the newest one."""

    contestants: tuple[LateContestant, ...]
    length: int = 10_000
    tolerance: float = 1e-9
    rows: int = 1_000_000

    @property
    def range(self) -> str:
        """The length of the window."""
        return f"{self.length:,} of time"


@lru_cache(maxsize=2)
def late_rows(rows: int) -> tuple[Any, Any]:
    """Return values, and times in order of arrival.

    >>> sorted(late_rows(3)[1].tolist())
    [0, 1, 2]
    """
    chooser = np.random.default_rng(rows)
    arrivals = np.arange(rows) + chooser.uniform(0, LATE, rows)
    return chooser.normal(50, 10, rows), np.argsort(arrivals).astype(np.int64)


class LateField(EventField):
    """Contestants that take rows with times."""

    case: LateCase  # type: ignore[assignment]

    def prepare(self, contestant: Any) -> Call:
        """Return the call over the contestant's rows."""
        prepared: Call = contestant.prepare(*late_rows(self.counted(contestant)), self.case.length)
        return prepared

    def prepare_few(self, contestant: Any) -> Call:
        """Return a call over few rows."""
        prepared: Call = contestant.prepare(*late_rows(10), self.case.length)
        return prepared

    def check_answers(self, contestant: Any, given: Any) -> None:
        """Compare a sample of the results with those recomputed from the rows that had arrived."""
        rows = self.counted(contestant)
        values, times = late_rows(rows)
        for row in sample(rows, CHECKED):
            arrived = times[: row + 1]
            held = values[: row + 1][arrived > arrived.max() - self.case.length]
            expected = float(REFERENCES[self.case.aggregate](held))
            if relative_error(given[row], expected) > self.case.tolerance:
                message = f"{self.case.name}: {contestant.name} answers {given[row]} at {row}, which is {expected}."
                raise AssertionError(message)


def by_column(aggregate: str) -> Callable[[Any, Any, int], Call]:
    """Return the slide over a whole column."""

    def prepare(values: Any, times: Any, length: int) -> Call:
        return lambda: sash.Aggregator(AGGREGATES[aggregate], "fiba").slide(values, length, times=times).to_numpy()

    return prepare


def by_rows(aggregate: str) -> Callable[[Any, Any, int], Call]:
    """Return the run row by row."""

    def prepare(values: Any, times: Any, length: int) -> Call:
        def run() -> list[Any]:
            window, newest, results = sash.Aggregator(AGGREGATES[aggregate], "fiba"), 0, []
            for value, time in zip(values.tolist(), times.tolist(), strict=True):
                newest = max(newest, time)
                window.insert(value, time=time)
                window.evict(before=newest - length + 1)
                results.append(window.query())
            return results

        return run

    return prepare


CASES: tuple[LateCase, ...] = tuple(
    LateCase(
        name=f"{name}, rows up to {LATE:,} positions late",
        aggregate=name,
        contestants=(
            LateContestant(name="Sash", role="sash", algorithm="fiba", prepare=by_column(name)),
            LateContestant(
                name="Sash, row by row", role="sash", algorithm="fiba", prepare=by_rows(name), rows=ONE_BY_ONE
            ),
        ),
        targets=(Target(at_most=MOST),),
    )
    for name in AGGREGATES
)
