"""A case: a question that engines answer on a stream of the same events."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

from benchmarks.case import Case, Contestant
from benchmarks.engines.events import Events
from benchmarks.engines.questions import SECOND, StreamQuestion

FILLED = 400_000
"""Events of an hour, and some: after them windows of an hour are full."""


@dataclass(frozen=True, kw_only=True)
class EngineContestant(Contestant):
    """An engine, in a process of its own."""

    worker: str
    """The module that runs in the process."""
    way: str = ""
    """Which of its ways, if it has several."""


@dataclass(frozen=True, kw_only=True)
class EngineCase(Case):
    """The time per event that more events take: start-up and the events that fill the windows are subtracted."""

    question: StreamQuestion
    contestants: Sequence[EngineContestant]
    tolerance: float = 1e-9
    rows: int = 2_400_000
    repeats: int = 2

    @property
    def range(self) -> str:
        """The windows."""
        return self.question.name

    @property
    def checked(self) -> Events:
        """The events whose answers are checked: few, over 100 minutes, so that windows of an hour are full."""
        every_second = self.question.slide == SECOND  # has many windows, which the oracle recomputes one by one
        return Events(100, keys=2, step=60_000) if every_second else Events(1_200, keys=10, step=5_000)

    def sizes_of(self, contestant: EngineContestant) -> tuple[int, int]:
        """Return the numbers of events of the two runs whose difference is reported."""
        many = min(contestant.rows or self.rows, self.rows)
        return min(FILLED, many // 2), many

    def at_most(self, rows: int) -> Self:
        """Return the case with fewer events."""
        return replace(self, rows=min(rows, self.rows), repeats=1)
