"""A case over rows of one key, in order of time: a load and an amount about every 3.6 seconds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa

from benchmarks.case import Call, Case, Contestant

MEAN_GAP = 3_600_000
"""Microseconds: an hour has about 1,000 rows."""
MOST_READ = 20_000
"""Of windows that hold all rows, the first so many and the last are checked."""


@dataclass(frozen=True)
class Frame:
    """The window of each row: the last rows, the time before it, or all rows up to it."""

    rows: int | None = None
    microseconds: int | None = None


Answer = Callable[[Any, Any, Any], float]
"""From the times, loads and amounts of a window to its answer."""


@dataclass(frozen=True, kw_only=True)
class WeightContestant(Contestant):
    """One way to answer the case."""

    prepare: Callable[[pa.Table], Call]
    """From the table to the call that is timed. It returns the answers in the order of the rows."""
    right: Answer


@dataclass(frozen=True, kw_only=True)
class WeightCase(Case):
    """A window of each row; contestants may answer different questions about it."""

    contestants: tuple[WeightContestant, ...]
    frame: Frame
    shown_range: str
    tolerance: float = 1e-9

    @property
    def range(self) -> str:
        """The window as users write it."""
        return self.shown_range


@lru_cache(maxsize=2)
def rows_in_time(rows: int) -> pa.Table:
    """Return the rows.

    >>> rows_in_time(3).column_names
    ['ts', 'load', 'amount']
    """
    chooser = np.random.default_rng(rows)
    times = 1_600_000_000_000_000 + np.cumsum(chooser.integers(0, 2 * MEAN_GAP, rows))
    return pa.table(
        {
            "ts": pa.array(times).cast(pa.timestamp("us")),
            "load": 50 + chooser.normal(size=rows),
            "amount": chooser.random(rows) * 100,
        }
    )
