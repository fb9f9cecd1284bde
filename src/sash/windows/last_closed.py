"""LastClosed: windows with a result per window, as of points in time such as labels: the last one that has ended by then.

tumbling(10)    ├─────────┤├─────────┤├─────────┤
label at 25                          │             [10, 20)
label at 30                               │        [20, 30): a window that ends at the time of the label has ended
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from sash.durations import Duration, TimeUnit
from sash.windows.arrays import search_in_keys
from sash.windows.base import Bounds, Ints, Items, LoopCompiler, Memory, Points, Reach
from sash.windows.capabilities import ColumnRule, Frame
from sash.windows.clocks import Clock
from sash.windows.window import Window


def at_points(window: Window) -> Window:
    """Return what a window is as of points: itself if every row has a result, or else the last one that has ended.

    >>> from sash import window
    >>> at_points(window.time(3)), at_points(window.tumbling(3)).per_row
    (time(3), True)
    """
    return window if window.per_row else LastClosed(window, min_rows=window.min_rows)


@dataclass(frozen=True, repr=False)
class LastClosed(Window):
    """For each point, the last window that has ended by then; without points, for each row."""

    window: Window

    @property
    def kind(self) -> str:  # type: ignore[override]
        """The kind of the window."""
        return self.window.kind

    @property
    def needs_time(self) -> bool:  # type: ignore[override]
        """True: points are times."""
        return True

    @property
    def columns(self) -> Mapping[str, ColumnRule]:
        """The columns that the window reads."""
        return self.window.columns

    @property
    def length(self) -> Duration | int | None:
        """The length of the window."""
        return self.window.length

    @property
    def clock(self) -> Clock:
        """The clock of the window."""
        return self.window.clock

    @property
    def by_calendar(self) -> bool:
        """Whether "1d" differs from "24h" in the window."""
        return self.window.by_calendar

    def check(self, unit: TimeUnit) -> None:
        """Raise ValueError if the window does not fit a time column of this unit."""
        self.window.check(unit)

    def extent(self, unit: TimeUnit) -> int:
        """Return how far from a point its window begins, if that is known; else how far from a row its windows end."""
        split = self.window.closed_split
        return self.window.extent(unit) if split is None else max(self.window.extent(unit), split.reach(unit).ticks)

    def in_zone(self, zone: str) -> Window:
        """Return the window with this time zone, if it follows the zone of the time column."""
        return replace(self, window=self.window.in_zone(zone))

    def bounds(self, items: Items, memory: Memory, compiler: LoopCompiler) -> Bounds:  # noqa: ARG002 — of the whole data at once
        """Return a window for each point; empty, without a start and an end, if none has ended."""
        points = items.points
        if points is None:
            points = Points(items.times, np.arange(len(items.times)), np.diff(items.firsts))
        return self.window.last_closed(replace(items, points=None), points, compiler)

    @cached_property
    def frame(self) -> Frame:
        """The window of a point."""
        split, reason = self.window.closed_split, self.window.no_points
        return Frame(
            no_labels=reason, time_split=split, has_bounds=True, reach=self._reach, needed_from=self._needed_from
        )

    def _reach(self, unit: TimeUnit) -> Reach | None:
        split = self.window.closed_split
        return None if split is None else split.reach(unit)

    def _needed_from(self, items: Items) -> Ints:
        """Return by key the first item that the window of a point at or after the newest item may hold."""
        reach = self._reach(items.unit)
        if reach is None or not len(items.times):
            return items.firsts[:-1]
        since = items.newest_times - reach.ticks
        return search_in_keys(items.times, items.firsts, since, np.ones(items.keys, np.int64))

    def __repr__(self) -> str:
        """Return the call that makes the window."""
        return repr(self.window)
