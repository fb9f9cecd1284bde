"""TimeFrame: for each row, the rows of some time before and after it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from sash.durations import Duration, TimeUnit
from sash.windows.arrays import search_in_keys
from sash.windows.base import FOREVER, Bounds, Interval, Ints, Items, LoopCompiler, Memory, Points, Reach, first_after
from sash.windows.capabilities import Frame, TimeAxis, frame_around
from sash.windows.clocks import CLOSED, TICKS
from sash.windows.row_frame import RowFrame, without
from sash.windows.time_loops import find_places, first_later
from sash.windows.window import TimeWindow

ZERO = Duration(0, is_time=True, text="0s")


@dataclass(frozen=True, repr=False)
class TimeFrame(TimeWindow):
    """For each row, the rows from `before` before its time to `after` after it; None for all rows on that side.

    The clock says where a window begins: some ticks earlier, at the edge of a tail before that, or at the same local time some days or
    months earlier.
    """

    before: Duration | None
    after: Duration | None = ZERO
    exclude: str = ""

    @property
    def needs_time(self) -> bool:  # type: ignore[override]
        """Whether it needs a time column: all rows up to a row are known without one."""
        return self.before is not None or self._ahead != 0

    @property
    def length(self) -> Duration | None:
        """How far a window reaches back."""
        return self.before

    def distances(self, unit: TimeUnit) -> tuple[int, int]:
        """Return how many ticks before and after the time of a row its window reaches, at most; FOREVER if there is no limit."""
        with_begin, with_end = CLOSED[self.closed]
        before = FOREVER if self.before is None else self.clock.longest(self.before, unit) - (not with_begin)
        after = FOREVER if self.after is None else TICKS.longest(self.after, unit) - (not with_end)
        return before, after

    def check(self, unit: TimeUnit) -> None:
        """Raise ValueError if the window does not fit a time column of this unit."""
        self.clock.check(self, [side for side in (self.before, self.after) if side is not None], unit)

    def extent(self, unit: TimeUnit) -> int:
        """Return how far a window reaches from its row, at most."""
        before = 0 if self.before is None else self.clock.longest(self.before, unit)
        after = 0 if self.after is None else TICKS.longest(self.after, unit)
        return max(abs(before), abs(after))

    # -- bounds ------------------------------------------------------------------------------------------------------

    def bounds(self, items: Items, memory: Memory, compiler: LoopCompiler) -> Bounds:
        """Return a window for each row; without a time column, all rows up to it."""
        if items.points is not None:
            return self._bounds_at(items, items.points, compiler)
        if not len(items.times):
            return RowFrame(None, CLOSED[self.closed][1] - 1, self.exclude).bounds(items, memory, compiler)
        begins, ends, keep = self.clock.frames(self, items, compiler)
        return without(Bounds(begins, ends, None, None, keep), items, self.exclude)

    def _bounds_at(self, items: Items, points: Points, compiler: LoopCompiler) -> Bounds:
        """Return a window for each point."""
        if self.before is None:
            begins = np.repeat(items.firsts[:-1], points.counts)
        else:
            begins = self.clock.begins_at(self, items, points, compiler)
        _, after = self.distances(items.unit)
        ends = points.places
        if after == FOREVER:
            ends = np.repeat(items.firsts[1:], points.counts)
        elif after:
            ends = np.empty(len(points.times), np.int64)
            compiler(find_places)(items.times, items.firsts, points.times, points.counts, after + 1, ends)
        begins = np.minimum(begins, ends)
        return Bounds(begins, ends, None, None, items.firsts[:-1])

    def due(self, items: Items) -> int:
        """Return when the first row has all rows of its window, or when no window can reach the last row of a key any more."""
        _, after = self.distances(items.unit)
        dues = [super().due(items)]
        if 0 < after < FOREVER:
            dues.append(first_after(items.times[items.is_waiting] + after + 1, items.span.now))
        if self.before is not None:
            dropped = self.clock.out_of_reach(self, items.newest_times, items.unit)
            dues.append(first_after(dropped, items.span.now))
        return min(dues)

    # -- the frame ---------------------------------------------------------------------------------------------------

    @cached_property
    def frame(self) -> Frame:
        """The window of a row."""
        before, ahead, by_calendar = self.before, self._ahead, self.clock.by_calendar
        more: dict[str, Any] = {"ready": self._ready, "held": self._held, "needed_from": self._needed_from}
        more |= {"goes_back": by_calendar, "width": self._width}
        more["begin_edges"] = self.clock.edges
        if self.clock.has_fixed_lengths:
            more |= {"around": (None if before is None else before.amount, ahead), "ticks": self.distances}
        if before is None and ahead == 0 and self.closed == "both" and not self.exclude:
            more["sql"] = "RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW"
        return frame_around(before, ahead, self.exclude, self._reach, self._begin_zones, **more)

    @property
    def _ahead(self) -> int | None:
        return None if self.after is None else self.after.amount

    def _ready(self, items: Items) -> Ints:
        """Return how many rows of each key have all rows of their window."""
        span = items.span
        _, after = self.distances(items.unit)
        if after <= 0:
            return span.final
        if after == FOREVER:
            return np.where(span.has_ended, span.final, span.done)
        settled = np.zeros(len(items.times) + 1, np.int64)
        np.cumsum(items.times < np.repeat(span.now, np.diff(items.firsts)) - after, out=settled[1:])
        ready = np.minimum(settled[items.firsts[1:]] - settled[items.firsts[:-1]], span.final)
        return np.where(span.has_ended, span.final, np.maximum(ready, span.done))

    def _held(self, items: Items) -> Ints:
        """Return for each key the first row that the window of the next row may not hold: later rows are not before `now`."""
        _, after = self.distances(items.unit)
        next_rows = items.firsts[:-1] + items.span.final
        if not len(items.times):
            return next_rows
        reached = first_later(items.times, items.firsts, items.span.final, items.span.now)
        reached = np.clip(reached, items.times.min(), items.times.max() + 1 - after)  # room for sums
        one_each = np.ones(items.keys, np.int64)
        first: Ints = np.minimum(search_in_keys(items.times, items.firsts, reached + after + 1, one_each), next_rows)
        return first

    def _needed_from(self, items: Items) -> Ints:
        """Return by key the first row that the window of a point at or after the newest row may hold."""
        before, _ = self.distances(items.unit)
        if before == FOREVER or not len(items.times):
            return items.firsts[:-1]
        return search_in_keys(items.times, items.firsts, items.newest_times - before, np.ones(items.keys, np.int64))

    def _reach(self, unit: TimeUnit) -> Reach | None:
        """Return how far it reaches back at most; None without limit."""
        return None if self.before is None else Reach(ticks=max(self.clock.longest(self.before, unit), 0))

    def _width(self, unit: TimeUnit) -> int | None:
        """Return how far apart its rows may be; None without limit."""
        longest = max(*self.distances(unit), 0)
        return None if longest == FOREVER else longest

    def _begin_zones(self, begin: int, end: int, axis: TimeAxis) -> list[Interval] | None:
        """Return where the windows of rows in a time range begin: the same range, earlier by the length of a window."""
        if self.before is None or self._ahead != 0 or self.exclude:
            return None
        longest, shortest = self.clock.longest(self.before, axis.unit), TICKS.longest(self.before, axis.unit)
        return [(begin - longest, min(begin, end - shortest, axis.newest + 1 - shortest))]
