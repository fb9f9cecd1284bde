"""A case: one quantity grows, all others stay; time or memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from benchmarks.case import MEMORY, SECONDS, Case, Contestant

TIME_SHOWN, MEMORY_SHOWN = "time", "memory"
MEASURES: Mapping[str, str] = {TIME_SHOWN: SECONDS, MEMORY_SHOWN: MEMORY}
LIBRARIES = {"Sash": "sash", "DuckDB": "duckdb", "Polars": "polars", "pandas": "pandas"}
"""The contestants and their packages."""


@dataclass(frozen=True)
class SweepPoint:
    """What is asked at one place of a sweep."""

    rows: int = 1_000_000
    keys: int = 10
    windows: int = 1
    """The i-th of n windows has i / n of the range, so that the longest is the same."""
    aggregates: int = 1
    range: int = 1_000
    """Rows of the longest window."""
    first: str = "max"
    """The function of the first aggregate."""
    threads: int = 0
    """The number of threads; 0 for what each library takes by itself."""

    @property
    def lengths(self) -> tuple[int, ...]:
        """The rows of each window.

        >>> SweepPoint(windows=4).lengths
        (250, 500, 750, 1000)
        """
        return tuple(self.range * number // self.windows for number in range(1, self.windows + 1))


BASE = SweepPoint()


@dataclass(frozen=True, kw_only=True)
class SweepContestant(Contestant):
    """One library at one point."""

    library: str
    point: SweepPoint


@dataclass(frozen=True, kw_only=True)
class SweepCase(Case):
    """One sweep and one measure. Both measures of a sweep come from the same processes."""

    sweep: str
    """The field of `SweepPoint` that grows."""
    shown: str
    """One of MEASURES."""
    contestants: Sequence[SweepContestant]
    aggregate: str = "max, then min, mean and stddev"
    tolerance: float = 1e-9
    repeats: int = 3
    rows: int = BASE.rows

    @property
    def range(self) -> str:
        """What grows."""
        return self.sweep

    def at_most(self, rows: int) -> SweepCase:
        """Return the case with fewer rows, at its first point alone."""
        first = getattr(self.contestants[0].point, self.sweep)
        few = [
            replace(one, point=replace(one.point, rows=min(rows, one.point.rows)))
            for one in self.contestants
            if getattr(one.point, self.sweep) == first
        ]
        return replace(self, rows=min(rows, self.rows), contestants=few)


def say_number(number: int) -> str:
    """Write a number in K and M of 1,000.

    >>> say_number(10), say_number(30_000), say_number(10_000_000)
    ('10', '30 K', '10 M')
    """
    for unit, size in (("M", 1_000_000), ("K", 1_000)):
        if number >= size and number % size == 0:
            return f"{number // size} {unit}"
    return str(number)
