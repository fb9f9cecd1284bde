"""Session windows: rows that follow each other closely."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sash.windows.base import Bounds, Ints, Items, Memory, Reach, Run, Window, first_after
from sash.windows.by_time import quote
from sash.windows.durations import Duration, DurationLike, TimeUnit, read_duration
from sash.windows.numpy_forms import numpy_form_of


@dataclass(frozen=True)
class Session(Window):
    """Rows with no more than `gap` between neighbours: `[first, last + gap)`."""

    kind: ClassVar[str] = "session"
    needs_time: ClassVar[bool] = True
    is_time: ClassVar[bool] = True
    is_replaced: ClassVar[bool] = True
    slices_per_window: ClassVar[int | None] = 1
    gap: Duration

    def check(self, unit: TimeUnit) -> None:
        """Raise ValueError if the window does not fit a time column of this unit."""
        self.gap.in_ticks(unit)

    def bounds(self, items: Items, memory: Memory, run: Run) -> Bounds:  # noqa: ARG002 — it remembers nothing
        """Return the sessions that no row can extend any more."""
        span = items.span
        room = [np.empty(len(items.times), np.int64) for _ in range(4)]
        keep = np.empty(items.keys, np.int64)
        limits = (span.after, span.now, span.closed, self.gap.in_ticks(items.unit))
        count = run(find_sessions)(items.times, self._lasts(items), items.firsts, *limits, *room, keep)
        begins, ends, starts, stops = (column[:count].copy() for column in room)
        return Bounds(begins, ends, starts, stops, keep)

    def due(self, items: Items) -> int:
        """Return when the first open session ends."""
        gap, lasts = self.gap.in_ticks(items.unit), self._lasts(items)
        closes = np.ones(len(lasts), np.bool_)
        closes[:-1] = items.times[1:] > lasts[:-1] + gap
        closes[items.firsts[1:] - 1] = True  # every key in the state has items
        return first_after(lasts[closes] + gap + 1, items.span.now)

    def first_end(self, times: Ints, unit: TimeUnit) -> Ints:
        """Return when sessions of single rows at these times are final: a row at the end of a session still extends it."""
        return times + self.gap.in_ticks(unit) + 1

    def late_rule(self, unit: TimeUnit) -> Hashable:
        """Return the gap: a row that is late for a short gap must not join two sessions of it, but may join a longer one."""
        return "gap", self.gap.in_ticks(unit)

    def _lasts(self, items: Items) -> Ints:
        return items.times if items.last_times is None else items.last_times

    def gap_ticks(self, unit: TimeUnit) -> int:
        """Return the gap between rows that ends a session."""
        return self.gap.in_ticks(unit)

    @property
    def length(self) -> Duration:
        """The gap."""
        return self.gap

    def extent(self, unit: TimeUnit) -> int:
        """Return how far after its last row a session ends."""
        return self.gap.in_ticks(unit)

    def reach(self, unit: TimeUnit) -> Reach:
        """Return the gap across which no session continues."""
        return Reach(gap=self.gap.in_ticks(unit))

    def __repr__(self) -> str:
        """Return the call that makes the window."""
        return f"session({quote(self.gap)})"


def session(gap: DurationLike) -> Window:
    """Return sessions: rows with at most `gap` between neighbours, as in Spark's `session_window`.

    `gap` is a string such as "30m", a timedelta, or a number in the unit of an integer time column. A session is
    `[first, last + gap)`. A row exactly `gap` after the last row still belongs to the session.

    Nulls and NaN: a null in the time column is an error. A row whose value is null still extends a session.
    Result: one per session.
    Errors: TypeError or ValueError if `gap` is not a duration, or not positive.

    >>> import pyarrow as pa
    >>> import sash
    >>> from sash import agg, window
    >>> rows = pa.table({"minute": [1, 4, 9], "load": [3, 9, 4]})
    >>> sash.Query({"peak": agg.max("load")}, window.session(3), time="minute").run(rows).to_pylist()
    [{'window_start': 1, 'window_end': 7, 'peak': 9}, {'window_start': 9, 'window_end': 12, 'peak': 4}]
    """
    return Session(read_duration(gap, "gap"))


def find_sessions(
    times: Ints,
    lasts: Ints,
    firsts: Ints,
    after: Ints,
    now: Ints,
    closed: Ints,
    gap: int,
    begins: Ints,
    ends: Ints,
    starts: Ints,
    stops: Ints,
    keep: Ints,
) -> int:
    """Write the sessions, and return their number. A row at `now` could still extend a session that ends at `now`."""
    count = 0
    for key in range(len(firsts) - 1):
        begin = firsts[key]
        last = firsts[key + 1]
        keep[key] = begin
        for row in range(firsts[key], last):
            if row + 1 == last or times[row + 1] > lasts[row] + gap:
                stop = lasts[row] + gap
                if after[key] <= stop < now[key]:
                    begins[count] = begin
                    ends[count] = row + 1
                    starts[count] = times[begin]
                    stops[count] = stop
                    count += 1
                begin = row + 1
                if stop < closed[key]:
                    keep[key] = begin
    return count


@numpy_form_of(find_sessions)
def sessions_in_numpy(
    times: Ints,
    lasts: Ints,
    firsts: Ints,
    after: Ints,
    now: Ints,
    closed: Ints,
    gap: int,
    begins: Ints,
    ends: Ints,
    starts: Ints,
    stops: Ints,
    keep: Ints,
) -> int:
    """Write the sessions, and return their number."""
    is_last = np.ones(len(times), np.bool_)
    np.greater(times[1:], lasts[:-1] + gap, out=is_last[:-1])
    is_last[firsts[1:][np.diff(firsts) > 0] - 1] = True
    last = np.flatnonzero(is_last)
    begin = np.append(0, last + 1)[:-1]
    stop = lasts[last] + gap
    counts = np.diff(np.searchsorted(last, firsts))
    keep[:] = firsts[:-1]
    is_closed = np.flatnonzero(stop < np.repeat(closed, counts))
    owners = np.searchsorted(firsts, last[is_closed], side="right") - 1
    keep[owners] = last[is_closed] + 1  # of several sessions of a key, the last one stays
    is_due = np.repeat(after, counts) <= stop
    is_due &= stop < np.repeat(now, counts)
    if not is_due.all():
        last, begin, stop = last[is_due], begin[is_due], stop[is_due]
    count = len(last)
    begins[:count] = begin
    np.add(last, 1, out=ends[:count])
    times.take(begin, out=starts[:count], mode="clip")
    stops[:count] = stop
    return count
