"""A case: one question and one measure, of several numbers of rows, ways and cores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from benchmarks.case import MEMORY, SECONDS, Case, Contestant

TIME, MOST_MEMORY = "time", "memory"
ONE_CORE = ", one core"
"""How the names of contestants on one core end."""
MEASURES: Mapping[str, str] = {TIME: SECONDS, MOST_MEMORY: MEMORY}
"""Memory is that of Java and of all Python workers together."""


@dataclass(frozen=True)
class LargeRun:
    """What is asked in one session."""

    question: str
    """A name of `asked.QUESTIONS`."""
    way: str
    rows: int
    cores: int = 2


@dataclass(frozen=True, kw_only=True)
class LargeContestant(Contestant):
    """One way to answer, with some rows and cores."""

    run: LargeRun


@dataclass(frozen=True, kw_only=True)
class SparkLargeCase(Case):
    """One question and one measure. Both measures come from the same sessions."""

    question: str
    shown: str
    """One of MEASURES."""
    window: str
    contestants: Sequence[LargeContestant]
    tolerance: float = 1e-6
    repeats: int = 1

    @property
    def range(self) -> str:
        """The windows."""
        return self.window

    def at_most(self, rows: int) -> SparkLargeCase:
        """Return the case with fewer rows: each way once, on two cores."""
        first = {one.run.way: one for one in reversed(self.contestants) if one.run.cores > 1}
        few = [
            replace(one, rows=min(rows, one.run.rows), run=replace(one.run, rows=min(rows, one.run.rows)))
            for one in self.contestants
            if one in first.values()
        ]
        names = {one.name for one in few}
        kept = tuple(one for one in self.targets if {one.contestant, one.against} <= names)
        return replace(self, rows=min(rows, self.rows), contestants=few, targets=kept)
