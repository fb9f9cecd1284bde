"""TimeFrame: for each row, the rows of some time before and after it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sash.durations import Duration, TimeUnit, quote
from sash.windows.arguments import exclude_text, min_rows_text
from sash.windows.arrays import ranges, search_in_keys
from sash.windows.base import (
    FOREVER,
    Bounds,
    Interval,
    Ints,
    Items,
    LoopCompiler,
    Memory,
    Points,
    Reach,
    TimeAxis,
    Window,
    first_after,
    is_waiting,
    new_bounds,
    newest_times,
)
from sash.windows.exclude import without
from sash.windows.time_loops import find_places, find_time_frames

CLOSED = {"right": (False, True), "both": (True, True), "left": (True, False), "neither": (False, False)}
"""Whether a window holds the rows exactly at its begin, and those exactly at its end."""


@dataclass(frozen=True)
class TimeFrame(Window):
    """For each row, the rows from `before` before its time to `after` after it; None for all rows on that side."""

    kind: ClassVar[str] = "time"
    per_row: ClassVar[bool] = True
    sliced: ClassVar[bool] = False
    before: Duration | None
    after: Duration | None
    closed: str
    least: int
    text: str
    exclude: str = ""

    @property
    def looks_ahead(self) -> bool:  # type: ignore[override]
        """Whether the window of a row holds later rows."""
        return self.after is None or self.after.amount > 0

    @property
    def grows(self) -> bool:  # type: ignore[override]
        """Whether its windows begin with the first row of the key, and end with the row or before it."""
        return self.before is None and not self.looks_ahead and not self.exclude

    def held(self, items: Items) -> Ints:
        """Return for each key the first row that the window of the next row may not hold: later rows are not before `now`."""
        _, after = self._frame(items.unit)
        next_rows = items.firsts[:-1] + items.span.final
        if not len(items.times):
            return next_rows
        reached = items.span.now.copy()
        waiting = next_rows < items.firsts[1:]
        reached[waiting] = np.minimum(reached[waiting], items.times[next_rows[waiting]])
        reached = np.clip(reached, items.times.min(), items.times.max() + 1 - after)  # room for sums
        each = np.ones(items.keys, np.int64)
        first: Ints = np.minimum(search_in_keys(items.times, items.firsts, reached + after + 1, each), next_rows)
        return first

    @property
    def needs_end(self) -> bool:  # type: ignore[override]
        """Whether its windows hold all later rows of the key."""
        return self.after is None

    @property
    def in_runs(self) -> bool:
        """Whether a window may consist of several runs of rows."""
        return bool(self.exclude)

    @property
    def min_rows(self) -> int:
        """How many values a window must hold to have a result."""
        return self.least

    @property
    def needs_time(self) -> bool:  # type: ignore[override]
        """Whether it needs a time column: all rows up to a row are known without one."""
        return self.before is not None or self.after is None or self.after.amount != 0

    def check(self, unit: TimeUnit) -> None:
        """Raise ValueError if the window does not fit a time column of this unit."""
        self._frame(unit)

    def _frame(self, unit: TimeUnit) -> tuple[int, int]:
        """Return how many ticks before and after the time of a row its window reaches; FOREVER if there is no limit."""
        with_begin, with_end = CLOSED[self.closed]
        before = FOREVER if self.before is None else ticks_of(self.before, unit) - (not with_begin)
        after = FOREVER if self.after is None else ticks_of(self.after, unit) - (not with_end)
        return before, after

    def bounds(self, items: Items, memory: Memory, run: LoopCompiler) -> Bounds:  # noqa: ARG002 — it remembers nothing
        """Return a window for each row."""
        if items.points is not None:
            return self._bounds_at(items, items.points, run)
        span = items.span
        if not len(items.times):
            return self._bounds_without_times(items)
        begins, ends = new_bounds(int((span.final - span.done).sum()))
        keep = np.empty(items.keys, np.int64)
        frame = self._frame(items.unit)
        run(find_time_frames)(items.times, items.firsts, span.done, span.final, span.now, *frame, begins, ends, keep)
        return without(Bounds(begins, ends, None, None, keep), items, self.exclude)

    def _bounds_at(self, items: Items, points: Points, run: LoopCompiler) -> Bounds:
        """Return a window for each point."""
        before, after = self._frame(items.unit)
        begins, ends = new_bounds(len(points.times))
        if before == FOREVER:
            begins = np.repeat(items.firsts[:-1], points.counts)
        else:
            run(find_places)(items.times, items.firsts, points.times, points.counts, -before, begins)
        if after:
            run(find_places)(items.times, items.firsts, points.times, points.counts, after + 1, ends)
            begins = np.minimum(begins, ends)
        else:
            ends = points.places
        return Bounds(begins, ends, None, None, items.firsts[:-1])

    def needed_from(self, items: Items) -> Ints:
        """Return by key the first row that the window of a point at or after the newest row may hold."""
        before, _ = self._frame(items.unit)
        if before == FOREVER or not len(items.times):
            return items.firsts[:-1]
        return search_in_keys(items.times, items.firsts, newest_times(items) - before, np.ones(items.keys, np.int64))

    @property
    def no_labels(self) -> str:
        """Why it cannot be evaluated as of any time; empty if it can."""
        if self.looks_ahead:
            return "looks ahead, so that it would use rows after the label"
        return "excludes rows, but a label is no row" if self.exclude else ""

    def _bounds_without_times(self, items: Items) -> Bounds:
        """Return all rows up to each row: without a time column, rows have no peers."""
        counts = items.span.final - items.span.done
        firsts = items.firsts[:-1]
        ends = ranges(firsts + items.span.done, counts) + CLOSED[self.closed][1]
        keep = np.where(items.span.has_ended, firsts + items.span.final, firsts)
        return without(Bounds(np.repeat(firsts, counts), ends, None, None, keep), items, self.exclude)

    def ready(self, items: Items) -> Ints:
        """Return how many rows of each key have all rows of their window."""
        span = items.span
        _, after = self._frame(items.unit)
        if after <= 0:
            return span.final
        if after == FOREVER:
            return np.where(span.has_ended, span.final, span.done)
        settled = np.zeros(len(items.times) + 1, np.int64)
        np.cumsum(items.times < np.repeat(span.now, np.diff(items.firsts)) - after, out=settled[1:])
        ready = np.minimum(settled[items.firsts[1:]] - settled[items.firsts[:-1]], span.final)
        return np.where(span.has_ended, span.final, np.maximum(ready, span.done))

    def due(self, items: Items) -> int:
        """Return when the first row has all rows of its window, or when no window can reach the last row of a key any more."""
        before, after = self._frame(items.unit)
        dues = [super().due(items)]
        if 0 < after < FOREVER:
            dues.append(first_after(items.times[is_waiting(items)] + after + 1, items.span.now))
        if before < FOREVER:
            dues.append(first_after(items.times[items.firsts[1:] - 1] + before + 2, items.span.now))
        return min(dues)

    @property
    def length(self) -> Duration | None:
        """How far a window reaches back."""
        return self.before

    @property
    def around(self) -> tuple[int | None, int | None]:
        """How far the window of a row reaches before and after it."""
        before, after = (None if side is None else side.amount for side in (self.before, self.after))
        return before, after

    def extent(self, unit: TimeUnit) -> int:
        """Return how far a window reaches from its row."""
        return max(abs(ticks_of(one, unit)) for one in (self.before, self.after, ZERO) if one is not None)

    def needed_for(self, unit: TimeUnit) -> int | None:
        """Return how far apart rows of one window may be; None if there is no limit."""
        longest = max(*self._frame(unit), 0)
        return None if longest == FOREVER else longest

    def reach(self, unit: TimeUnit) -> Reach | None:
        """Return how far windows reach back; None if they look ahead, or back without limit."""
        return None if self.looks_ahead else self.frame_reach(unit)

    def frame_reach(self, unit: TimeUnit) -> Reach | None:
        """Return how far the window of a row reaches back at most."""
        return None if self.before is None else Reach(ticks=max(ticks_of(self.before, unit), 0))

    def begin_zones(self, begin: int, end: int, axis: TimeAxis) -> list[Interval] | None:
        """Return where the windows of rows in a time range begin: the same range, earlier by the length of a window."""
        if self.before is None or self.after is None or self.after.amount != 0 or self.exclude:
            return None
        length = ticks_of(self.before, axis.unit)
        return [(begin - length, min(begin, end - length, axis.newest + 1 - length))]

    def __repr__(self) -> str:
        """Return the call that makes the window."""
        return self.text


ZERO = Duration(0, is_time=True, text="0s")


def ticks_of(duration: Duration, unit: TimeUnit) -> int:
    """Return a duration in ticks; zero fits every unit."""
    return duration.in_ticks(unit) if duration.amount else 0


def text_of_frame(before: Duration | None, after: Duration | None, closed: str, exclude: str, least: int) -> str:
    """Return the call that makes a frame with `before` and `after`."""
    sides = {"before": before, "after": after}
    given = [f"{name}={'None' if side is None else quote(side)}" for name, side in sides.items()]
    if closed != "both":
        given.append(f'closed="{closed}"')
    return f"time({', '.join(given)}{exclude_text(exclude)}{min_rows_text(least)})"
