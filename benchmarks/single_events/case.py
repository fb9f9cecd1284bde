"""A case over events: a window of the last rows is moved on row by row, with a result after each row."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np

from benchmarks.case import Call, Case, Contestant

Prepare = Callable[[list[float], int], Call]
"""From the values of the events and the length of the window to the call that is timed. The window holds the last values before the call,
and so after it. The call returns the results after each event, and how many nanoseconds each took, if it was asked for."""


@dataclass(frozen=True, kw_only=True)
class EventContestant(Contestant):
    """One way to keep the window."""

    prepare: Prepare


@dataclass(frozen=True, kw_only=True)
class EventCase(Case):
    """A window of the last `length` rows."""

    contestants: tuple[EventContestant, ...]
    length: int = 1_000
    tolerance: float = 1e-9
    rows: int = 200_000

    @property
    def range(self) -> str:
        """The length of the window."""
        return f"{self.length:,} rows"

    def at_most(self, rows: int) -> EventCase:
        """Return the case with fewer events, and with a window that is no longer."""
        return replace(self, rows=min(rows, self.rows), length=min(self.length, rows // 4))


@dataclass(frozen=True, kw_only=True)
class StepCase(EventCase):
    """A window whose every event is timed."""


@lru_cache(maxsize=2)
def events(rows: int) -> list[float]:
    """Return the values of events.

    >>> len(events(3))
    3
    """
    return np.random.default_rng(rows).normal(50, 10, rows).tolist()  # type: ignore[no-any-return]


def held_at(values: list[float], row: int, length: int) -> Any:
    """Return the values in the window after an event; the first windows also hold the last values, which were there before.

    >>> held_at([1.0, 2.0, 3.0, 4.0], 1, 3).tolist()
    [4.0, 1.0, 2.0]
    """
    begin = row + 1 - length
    return np.array(values[begin : row + 1] if begin >= 0 else values[begin:] + values[: row + 1])
