"""A case: one window and one measure, for several numbers of keys, by Sash and by Spark."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from benchmarks.case import MEGABYTES, SECONDS, Case, Contestant

FIRST, TIME, BYTES = "first micro-batch", "time per micro-batch", "bytes per micro-batch"
MEASURES: Mapping[str, str] = {TIME: SECONDS, FIRST: SECONDS, BYTES: MEGABYTES}
SASH, TUMBLING, SLIDING = "Sash", "Spark, tumbling", "Spark, sliding"
WAYS: Mapping[str, Literal["sash", "tumbling", "sliding"]] = {SASH: "sash", TUMBLING: "tumbling", SLIDING: "sliding"}
FEWEST_BATCHES = 4


@dataclass(frozen=True, kw_only=True)
class GrowthContestant(Contestant):
    """One way to aggregate a stream with a number of keys."""

    keys: int
    way: str
    """One of WAYS."""
    batches: int
    """The number of micro-batches."""


@dataclass(frozen=True, kw_only=True)
class GrowthCase(Case):
    """One window and one measure. Cases of the same window share their streams."""

    length: str
    """The length of the window, in Sash's form; windows begin each minute."""
    slices: int
    shown: str
    """One of MEASURES."""
    contestants: Sequence[GrowthContestant]
    aggregate: str = "sum, count"
    tolerance: float = 1e-9
    repeats: int = 1
    rows: int = 100_000
    """Those of a micro-batch."""

    @property
    def range(self) -> str:
        """The window."""
        return f"{self.length} every 1m"

    def at_most(self, rows: int) -> GrowthCase:
        """Return the case with fewer rows, the first number of keys alone, and fewer micro-batches."""
        first = min(one.keys for one in self.contestants)
        few = [replace(one, batches=min(FEWEST_BATCHES, one.batches)) for one in self.contestants if one.keys == first]
        names = {one.name for one in few}
        targets = tuple(one for one in self.targets if {one.contestant, one.against} <= names)
        return replace(self, rows=min(rows, self.rows), contestants=few, targets=targets)

    def runs_with(self, rows: int) -> bool:
        """Tell whether the case is run with at most this many rows: of three windows, one is enough to see that all runs."""
        return rows >= self.rows or self.slices == 10  # noqa: PLR2004
