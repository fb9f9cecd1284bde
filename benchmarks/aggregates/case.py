"""A case over rows of 50 keys in order of time, about 30 days: one aggregate, compiled and with NumPy, beside max."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import pyarrow as pa

from benchmarks.case import Call, Case, Contestant
from sash import window
from sash.windows import Window

KEYS, WORDS, NUMBERS, DAYS = 50, 40, 1_000, 30
SECOND = 1_000_000
ROWS_OF_FRAME = 200
FRAME, HOPS = window.rows(ROWS_OF_FRAME), window.time("1d", slide="1h")


@dataclass(frozen=True, kw_only=True)
class AggregateContestant(Contestant):
    """One way to answer the case."""

    prepare: Callable[[pa.Table], Call]
    """From the table to the call that is timed. It returns a table with the column `answer`."""
    asked: str
    """The aggregate that it answers; "" for the max of numbers beside it."""


@dataclass(frozen=True, kw_only=True)
class AggregateCase(Case):
    """An aggregate over a frame of each row, or over windows of time."""

    contestants: tuple[AggregateContestant, ...]
    windows: Window
    tolerance: float = 1e-9
    rows: int = 300_000
    repeats: int = 5

    @property
    def range(self) -> str:
        """The window as users write it."""
        return repr(self.windows)


@lru_cache(maxsize=2)
def rows_of_keys(rows: int) -> pa.Table:
    """Return the rows.

    >>> rows_of_keys(3).column_names
    ['k', 'ts', 'x', 'y', 'z', 'i', 'w', 'b']
    """
    chooser = np.random.default_rng(28)
    words = pa.array([f"w{number}" for number in range(WORDS)])
    times = np.linspace(0, DAYS * 86_400 * SECOND, rows, dtype=np.int64)  # no two rows at the same time
    return pa.table(
        {
            "k": chooser.integers(0, KEYS, rows),
            "ts": pa.array(times).cast(pa.timestamp("us")),
            "x": chooser.normal(size=rows),
            "y": chooser.normal(size=rows),
            "z": chooser.uniform(0.9, 1.1, rows),
            "i": chooser.integers(0, NUMBERS, rows),
            "w": words.take(pa.array(chooser.integers(0, WORDS, rows))),
            "b": chooser.random(rows) < 0.9,  # noqa: PLR2004
        }
    )
