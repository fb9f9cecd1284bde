"""A case over a table of events: every contestant answers windows of time, key by key."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy.typing as npt
import pyarrow as pa

from benchmarks.case import Call, Case, Contestant

Instants: TypeAlias = npt.NDArray[Any]
"""Microseconds since the epoch."""

MICROSECONDS = {"m": 60_000_000, "h": 3_600_000_000}
AGGREGATES = {"peak": "max", "mean": "mean", "sd": "stddev"}
"""The columns of the answers, all of `load`, and the names of their references."""


def microseconds(duration: str) -> int:
    """Return how long a duration is.

    >>> microseconds("7m")
    420000000
    """
    return int(duration[:-1]) * MICROSECONDS[duration[-1]]


@dataclass(frozen=True)
class TimeWindow:
    """A window of time as Sash has it: every `slide`, `[start, start + range)`; or per row, `(ts - range, ts]`."""

    range: str
    slide: str | None = None

    def __str__(self) -> str:
        """Say it in short.

        >>> print(TimeWindow("24h", "1m"), TimeWindow("1h"), sep=", ")
        24h every 1m, 1h per row
        """
        return f"{self.range} every {self.slide}" if self.slide else f"{self.range} per row"

    @property
    def length(self) -> int:
        """The range in microseconds."""
        return microseconds(self.range)

    @property
    def step(self) -> int:
        """The slide in microseconds."""
        if self.slide is None:
            message = f"{self} has an answer per row and no slide."
            raise ValueError(message)
        return microseconds(self.slide)

    def interval(self, at: Instants) -> tuple[Instants, Instants]:
        """Return from which instant on, and before which, rows are in the windows of the answers at these instants."""
        return (at, at + self.length) if self.slide else (at - self.length + 1, at + 1)


Windows: TypeAlias = Mapping[str, TimeWindow]


@dataclass(frozen=True, kw_only=True)
class TableContestant(Contestant):
    """One way to answer windows over a table. With fewer rows it has fewer keys: each key's rows are as many."""

    prepare: Callable[[pa.Table, Windows], Call]
    """From the table to the call that is timed: what comes before the call, such as making a DataFrame, is not."""
    windows: Windows
    events: str
    """The name of the data in `events.py`."""


@dataclass(frozen=True, kw_only=True)
class TableCase(Case):
    """Windows of time over a table, for max, mean and stddev together."""

    contestants: tuple[TableContestant, ...]
    aggregate: str = ", ".join(AGGREGATES.values())
    tolerance: float = 1e-11
    repeats: int = 3

    @property
    def range(self) -> str:
        """The window; for several at once, how many."""
        windows = self.contestants[0].windows
        return str(*windows.values()) if len(windows) == 1 else f"{len(windows)} windows"
