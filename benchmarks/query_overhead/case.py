"""A case over a table sorted by key and time, or over its column of loads alone: every row has a window."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeAlias

import pyarrow as pa

from benchmarks.case import Call, Case, Contestant

Loads: TypeAlias = Literal["all", "with nulls"]


@dataclass(frozen=True)
class RowWindow:
    """The window of each row: the last rows, or the time before it; of its key, or of all rows."""

    rows: int | None = None
    microseconds: int | None = None
    closed: str = "right"
    keyed: bool = True
    least: int = 1
    """The number of values below which there is no answer."""
    ahead: int = 0
    """How many of the rows are after the row."""
    exclude: str | None = None


@dataclass(frozen=True, kw_only=True)
class OverheadContestant(Contestant):
    """One way to answer the case."""

    prepare: Callable[[pa.Table], Call]
    """From the table to the call that is timed. It returns the answers as an Arrow array, in the order of the rows."""
    window: RowWindow
    loads: Loads = "all"
    """Whether a tenth of the loads are null."""


@dataclass(frozen=True, kw_only=True)
class OverheadCase(Case):
    """A window of each row, by `Query` and by `Aggregator.slide`, or by `Query` in two ways."""

    contestants: tuple[OverheadContestant, ...]
    tolerance: float = 1e-11
    shown_range: str = "rows(1000)"

    @property
    def range(self) -> str:
        """The window as users write it."""
        return self.shown_range
