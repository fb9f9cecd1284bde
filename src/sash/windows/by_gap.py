"""Session windows: rows that follow each other closely."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from sash.durations import Duration, DurationLike, TimeUnit, quote, read_duration
from sash.windows.arguments import check_count, hints_names, options_text
from sash.windows.arrays import all_set, count_before, neighbours, sums_before
from sash.windows.base import Bounds, Ints, Items, LoopCompiler, Memory, Reach, first_after
from sash.windows.capabilities import Cuts, Lateness, TimeSplit
from sash.windows.window import Window


@dataclass(frozen=True)
class Session(Window):
    """Rows with no more than `gap` between neighbours: `[first, last + gap)`."""

    kind: ClassVar[str] = "session"
    needs_time: ClassVar[bool] = True
    gap: Duration

    @property
    def length(self) -> Duration:
        """The gap."""
        return self.gap

    def check(self, unit: TimeUnit) -> None:
        """Raise ValueError if the window does not fit a time column of this unit."""
        self.gap.in_ticks(unit)

    def bounds(self, items: Items, memory: Memory, compiler: LoopCompiler) -> Bounds:  # noqa: ARG002 — NumPy is as fast as a compiled loop
        """Return the sessions that no row can extend any more: a row at `now` still extends a session that ends at `now`."""
        span, firsts, gap = items.span, items.firsts, self.gap.in_ticks(items.unit)
        times, lasts = items.times, self._lasts(items)
        is_last = np.zeros(len(times), np.bool_)
        for older, newer in neighbours(len(times)):
            np.greater(times[newer], lasts[older] + gap, out=is_last[older])
        is_last[firsts[1:][firsts[1:] > firsts[:-1]] - 1] = True
        last = is_last.nonzero()[0]
        ends = last + 1
        begins = np.zeros_like(ends)
        begins[1:] = ends[:-1]
        starts, stops = times[begins], lasts[last] + gap
        before = count_before(is_last, last, firsts)
        counts = before[1:] - before[:-1]
        is_due = by_session(span.after, counts) <= stops
        is_due &= stops < by_session(span.now, counts)
        # Of each key, the first sessions are closed, as the ends of its sessions ascend.
        closed = sums_before(stops < by_session(span.closed, counts))[before]
        first_rows = np.zeros(len(ends) + 1, np.int64)
        first_rows[1:] = ends
        keep = first_rows[before[:-1] + (closed[1:] - closed[:-1])]
        if not all_set(is_due):
            begins, ends, starts, stops = (column[is_due] for column in (begins, ends, starts, stops))
        return Bounds(begins, ends, starts, stops, keep)

    def due(self, items: Items) -> int:
        """Return when the first open session ends."""
        gap, lasts = self.gap.in_ticks(items.unit), self._lasts(items)
        closes = np.ones(len(lasts), np.bool_)
        closes[:-1] = items.times[1:] > lasts[:-1] + gap
        closes[items.firsts[1:] - 1] = True  # every key in the state has items
        return first_after(lasts[closes] + gap + 1, items.span.now)

    def _lasts(self, items: Items) -> Ints:
        return items.times if items.last_times is None else items.last_times

    def extent(self, unit: TimeUnit) -> int:
        """Return how far after its last row a session ends."""
        return self.gap.in_ticks(unit)

    @cached_property
    def cuts(self) -> Cuts:
        """The gap between rows that ends a session."""
        return Cuts(per_window=1, gap=self.gap.in_ticks)

    @cached_property
    def lateness(self) -> Lateness:
        """A row that is late for a short gap must not join two sessions of it, but may join a longer one."""
        return Lateness(("gap", self.gap.amount), self._final, self._final)

    def _final(self, times: Ints, unit: TimeUnit) -> Ints:
        """Return when sessions of single rows at these times are final: a row at the end of a session still extends it."""
        return times + self.gap.in_ticks(unit) + 1

    @property
    def time_split(self) -> TimeSplit:
        """No session continues across a longer gap."""
        return TimeSplit(lambda unit: Reach(gap=self.gap.in_ticks(unit)))

    def __repr__(self) -> str:
        """Return the call that makes the window."""
        return f"session({quote(self.gap)}{options_text(min_rows=self.min_rows)})"


@hints_names
def session(gap: DurationLike, *, min_rows: int = 1) -> Window:
    """Return sessions: rows with at most `gap` between neighbours, as in Spark's `session_window`.

    `gap` is a string such as "30m", a timedelta, or a number in the unit of an integer time column. A session is
    `[first, last + gap)`. A row exactly `gap` after the last row still belongs to the session. If fewer than `min_rows` rows of a
    session have a value, the result is null.

    Nulls and NaN: a null in the time column is an error. A row whose value is null still extends a session; `min_rows` counts non-null
    values.
    Result: one per session.
    Errors: TypeError or ValueError if `gap` is not a duration, or not positive, or if `min_rows` is not a positive integer.

    >>> import pyarrow as pa
    >>> import sash
    >>> from sash import agg, window
    >>> rows = pa.table({"minute": [1, 4, 9], "load": [3, 9, 4]})
    >>> sash.Query({"peak": agg.max("load")}, window.session(3), time="minute").run(rows).to_pylist()
    [{'window_start': 1, 'window_end': 7, 'peak': 9}, {'window_start': 9, 'window_end': 12, 'peak': 4}]
    """
    return Session(read_duration(gap, "gap"), min_rows=check_count(min_rows, "min_rows", "session"))


def by_session(limits: Ints, counts: Ints) -> Ints:
    """Return the limit of each session from those of keys; often all keys have the same."""
    return limits[:1] if len(limits) and all_set(limits == limits[0]) else np.repeat(limits, counts)
