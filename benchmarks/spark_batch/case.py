"""A case on Spark: every contestant makes a frame of a frame, and the question says what must be in it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Self, TypeAlias

from pyspark.sql import DataFrame

from benchmarks.case import Case, Contestant

ResultColumn: TypeAlias = Callable[[Any], DataFrame]
"""Makes the results of a frame; where a suite has several tables, of all of them."""


@dataclass(frozen=True)
class Question:
    """What is asked of the readings."""

    range: str
    right: ResultColumn
    """Spark's own way, whatever it takes: on few rows."""
    identify: tuple[str, ...]
    """The columns that tell one answer from another."""
    values: tuple[str, ...] = ("peak", "mean", "sd")


@dataclass(frozen=True, kw_only=True)
class SparkContestant(Contestant):
    """One way to answer a question; `rows` are fewer for the slow. What is "beside" answers another and is not checked."""

    question: Question
    readings: str
    """The name of the data in `data.py`."""
    answer: ResultColumn
    conf: Mapping[str, str] = field(default_factory=dict)
    """Spark's settings for it."""


@dataclass(frozen=True, kw_only=True)
class SparkCase(Case):
    """A question on Spark."""

    contestants: tuple[SparkContestant, ...]
    aggregate: str = "max, mean, stddev"
    tolerance: float = 1e-9
    rows: int = 4_000_000
    repeats: int = 3
    checked: int = 4_000
    """On so many rows each answer is compared with the right one."""

    @property
    def range(self) -> str:
        """The window."""
        return self.contestants[0].question.range

    def at_most(self, rows: int) -> Self:
        """Return the case with fewer rows, and fewer keys."""
        return replace(self, rows=min(rows, self.rows), checked=min(rows, self.checked))
