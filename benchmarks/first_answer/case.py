"""A case: one query that fresh processes answer, each in its own way."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from benchmarks.case import SECONDS, Case, Contestant

SMALL, MEDIUM, LARGE = "≤ 10 K rows", "100 K rows", "1 M rows"
LIMITS = {SMALL: 10_000, MEDIUM: 100_000, LARGE: 1_000_000}
"""The columns of the table of targets, and the most rows that a case in them has."""


@dataclass(frozen=True)
class Answer:
    """How long one contestant took for its result, and what the result comes to."""

    seconds: float
    digest: Mapping[str, float]
    """The number of rows of the result, and of each column the number of its values and their sum."""


Round: TypeAlias = Callable[[str, int, Sequence[str]], Mapping[str, Answer]]
"""From the name of a query, a number of rows and the names of the contestants to the answer of each, in fresh processes."""


@dataclass(frozen=True, kw_only=True)
class FirstCase(Case):
    """The first result of a query. Each round starts new processes for all contestants."""

    query: str
    """The name of the query in `ask_sash.py`, and of the same query in the other libraries."""
    contestants: tuple[Contestant, ...]
    round: Round
    aggregate: str = ""
    tolerance: float = 1e-6
    """Between the sums of contestants: they add floats in different orders."""
    rows: int = 1_000
    repeats: int = 3
    measure: str = SECONDS
    is_compared: bool = True
    """Whether the digests are those of all results of the query: then they are compared with the right ones."""
    at_any_rows: bool = False
    """Whether the case is run with fewer rows instead of being left out."""

    @property
    def range(self) -> str:
        """The number of rows.

        >>> FirstCase(name="", query="", contestants=(), round=lambda *_: {}, rows=100_000).range
        '100 K rows'
        """
        return say_rows(self.rows)

    @property
    def column(self) -> str:
        """The column of the table of targets."""
        return next(name for name, limit in LIMITS.items() if self.rows <= limit)

    def runs_with(self, rows: int) -> bool:
        """Tell whether the case is run with at most this many rows: of the same query on several numbers of rows, those that fit."""
        return self.at_any_rows or self.rows <= rows


def say_rows(rows: int) -> str:
    """Write a number of rows in K and M of 1,000.

    >>> say_rows(10_000), say_rows(1_000_000), say_rows(120)
    ('10 K rows', '1 M rows', '120 rows')
    """
    for unit, size in (("M", 1_000_000), ("K", 1_000)):
        if rows >= size and rows % size == 0:
            return f"{rows // size} {unit} rows"
    return f"{rows:,} rows"
