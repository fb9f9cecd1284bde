"""Windows of the calendar: days and weeks of a time zone, months, quarters and years.

Days and months are numbered (`calendars.py`), and windows are periodic over these numbers:

    instants      │ 31 Jan 23:30   1 Feb 0:10   29 Feb │ 1 Mar …
    months        │ 648           649          649    │ 650           tumbling("1mo") is tumbling(1) over them
    windows       ├──────────────┤├────────────────────┤├────

So a `CalendarWindow` translates instants to numbers, lets a periodic window over integers do the work, and translates back. A
window [start, stop) is final when the watermark has reached the instant of stop, that is, when its number is at least stop.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np

from sash.durations import Duration, TimeUnit
from sash.windows.arrays import ranges, search_in_keys
from sash.windows.base import (
    FOREVER,
    NEVER,
    NO_UNIT,
    Bounds,
    Flags,
    Ints,
    Items,
    LoopCompiler,
    Memory,
    Points,
    Reach,
    Window,
    first_after,
    newest_times,
)
from sash.windows.calendars import DAY, Calendar, calendar_of, check_zone, months_after
from sash.windows.exclude import without
from sash.windows.periodic import FilledPeriodic
from sash.windows.time_frame import CLOSED

LONGEST_MONTH = 31
EARLY = -(2**60)
"""The number of a day or month before all others, which leaves room for sums."""


@dataclass(frozen=True)
class CalendarWindow(Window):
    """Windows of days, weeks or months, like `Periodic`, over the numbers of days or months."""

    kind: ClassVar[str] = "time"
    needs_time: ClassVar[bool] = True
    by_calendar: ClassVar[bool] = True
    is_time: ClassVar[bool] = True
    range: Duration
    period: Duration
    step: Duration
    offset: Duration
    """Months, or a length of local time."""
    text: str
    numbered: Window
    """The same windows over numbers of days or months."""
    tz: str = ""
    """The time zone; empty for that of the time column."""
    closed: str = "left"
    """Which end a window includes. The instants in `(start, end]` are those one tick later than those in `[start, end)`."""

    @property
    def min_rows(self) -> int:
        """How many values a window must hold to have a result."""
        return self.numbered.min_rows

    @property
    def half_open(self) -> bool:
        """Whether a row at the end of a window is outside it."""
        return not self.shift

    @property
    def shift(self) -> int:
        """How many ticks before the rows that it holds a window starts and ends."""
        return int(self.closed == "right")

    @property
    def zone(self) -> str:
        """The time zone that it was given."""
        return self.tz

    def in_zone(self, zone: str) -> Self:
        """Return the window with this time zone, unless it has one."""
        return self if self.tz else replace(self, tz=zone, text=text_in_zone(self.text, zone))

    def check(self, unit: TimeUnit) -> None:
        """Raise ValueError if the window does not fit a time column of this unit."""
        check_column(self, self.range, unit)
        self.offset.months or self.offset.in_ticks(unit)

    def bounds(self, items: Items, memory: Memory, run: LoopCompiler) -> Bounds:
        """Return the windows that ended by now and hold at least one row."""
        if not len(items.times):
            nothing = np.empty(0, np.int64)
            return Bounds(nothing, nothing, nothing, nothing, items.firsts[:-1].copy(), dict(memory))
        calendar, numbered = self._translate(items)
        found = self.numbered.bounds(numbered, memory, run)
        assert found.starts is not None
        assert found.stops is not None
        return replace(found, starts=calendar.instants(found.starts), stops=calendar.instants(found.stops))

    def check_limit(self, items: Items) -> int:
        """Return an upper bound of the number of windows. Raise ValueError if they are too many."""
        return self.numbered.check_limit(self._translate(items)[1]) if len(items.times) else 0

    def due(self, items: Items) -> int:
        """Return when the first window ends that may hold one of the rows."""
        if not len(items.times):
            return FOREVER
        calendar, numbered = self._translate(items)
        due = self.numbered.due(numbered)
        return due if due == FOREVER else int(calendar.instants(np.array([due]))[0]) + self.shift

    def first_end(self, times: Ints, unit: TimeUnit) -> Ints:
        """Return where the first window ends that holds rows at these times; FOREVER in a gap between windows."""
        calendar = self._calendar(times, unit)
        ends = self.numbered.first_end(calendar.numbers(times - self.shift), NO_UNIT)
        return self._instants(calendar, ends, FOREVER)

    def last_end(self, times: Ints, unit: TimeUnit) -> Ints:
        """Return where the last window ends that holds rows at these times; NEVER in a gap between windows."""
        calendar = self._calendar(times, unit)
        ends = self.numbered.last_end(calendar.numbers(times - self.shift), NO_UNIT)
        return self._instants(calendar, ends, NEVER)

    def _instants(self, calendar: Calendar, ends: Ints, no_end: int) -> Ints:
        """Return the watermarks at which windows with these ends are final."""
        is_end = ends != no_end
        instants: Ints = np.where(is_end, calendar.instants(np.where(is_end, ends, 0)) + self.shift, no_end)
        return instants

    def missed_from(self, times: Ints, unit: TimeUnit) -> Ints:
        """Return where the first window ends that holds rows at these times."""
        return self.first_end(times, unit)

    def late_rule(self, unit: TimeUnit) -> Hashable:  # noqa: ARG002 — the same for all
        """Return that closed windows decide: a row may join the open ones, whatever else it joins."""
        return "ends"

    @property
    def length(self) -> Duration:
        """The range."""
        return self.range

    def extent(self, unit: TimeUnit) -> int:
        """Return how far from a row its windows begin or end, at most."""
        shift = 0 if self.offset.months else abs(self.offset.in_ticks(unit))
        return max(longest(self.range, unit), longest(self.period, unit)) + longest(self.offset, unit) + shift

    def _calendar(self, times: Ints, unit: TimeUnit) -> Calendar:
        shift = 0 if self.offset.months else self.offset.in_ticks(unit)
        return calendar_around(self, self.range, times, unit, shift)

    def _translate(self, items: Items) -> tuple[Calendar, Items]:
        """Return the calendar, and the items with numbers of days or months in place of times."""
        times, span, extent = items.times, items.span, self.extent(items.unit)
        calendar = self._calendar(times, items.unit)
        # All windows that hold a row end between these times, so others need no translation.
        low, high = int(times.min()) - extent, int(times.max()) + 2 * extent

        def numbers(limits: Ints) -> Ints:
            found = calendar.numbers(np.clip(limits, low, high) - self.shift)
            return np.where(limits == FOREVER, FOREVER, np.where(limits == NEVER, EARLY, found))

        now = numbers(span.now)
        closed = now if span.closed is span.now else numbers(span.closed)
        numbered = replace(span, after=numbers(span.after), now=now, closed=closed, ended=span.has_ended)
        return calendar, replace(items, times=calendar.numbers(times - self.shift), span=numbered, unit=NO_UNIT)

    def __repr__(self) -> str:
        """Return the call that makes the window."""
        return self.text


@dataclass(frozen=True, repr=False)
class FilledCalendarWindow(CalendarWindow):
    """Windows of the calendar, also those without rows between the first and the last window of a key that has rows."""

    emits_empty: ClassVar[bool] = True
    memory: ClassVar[Mapping[str, str]] = FilledPeriodic.memory

    def new_memory(self, keys: int, rows_before: int = 0) -> Memory:
        """Return the memory of new keys."""
        return self.numbered.new_memory(keys, rows_before)

    def remembers(self, memory: Memory) -> Flags:
        """Return which keys have emitted windows."""
        return self.numbered.remembers(memory)


@dataclass(frozen=True)
class CalendarFrame(Window):
    """For each row, the rows since the same local time some days, weeks or months earlier.

    On the last days of a month these times may go back, as a month before 30 March 5:00 is 28 February 5:00, and a month before 29 March
    10:00 is 28 February 10:00. Windows never do: the window of a row begins no earlier than those of the rows before it. Polars and
    pandas do the same.
    """

    kind: ClassVar[str] = "time"
    per_row: ClassVar[bool] = True
    sliced: ClassVar[bool] = False
    needs_time: ClassVar[bool] = True
    by_calendar: ClassVar[bool] = True
    goes_back: ClassVar[bool] = True
    range: Duration
    closed: str
    least: int
    text: str
    exclude: str = ""
    tz: str = ""
    """The time zone; empty for that of the time column."""

    @property
    def in_runs(self) -> bool:
        """Whether a window may consist of several runs of rows."""
        return bool(self.exclude)

    @property
    def min_rows(self) -> int:
        """How many values a window must hold to have a result."""
        return self.least

    @property
    def zone(self) -> str:
        """The time zone that it was given."""
        return self.tz

    def in_zone(self, zone: str) -> Self:
        """Return the window with this time zone, unless it has one."""
        return self if self.tz else replace(self, tz=zone, text=text_in_zone(self.text, zone))

    def check(self, unit: TimeUnit) -> None:
        """Raise ValueError if the window does not fit a time column of this unit."""
        check_column(self, self.range, unit)

    def bounds(self, items: Items, memory: Memory, run: LoopCompiler) -> Bounds:  # noqa: ARG002 — it remembers nothing
        """Return a window for each row."""
        times, firsts, span = items.times, items.firsts, items.span
        if items.points is not None:
            return self._bounds_at(items, items.points)
        if not len(times):
            nothing = np.empty(0, np.int64)
            return Bounds(nothing, nothing, None, None, firsts[:-1].copy())
        calendar = calendar_around(self, self.range, times, items.unit)
        with_begin, with_end = CLOSED[self.closed]
        since = calendar.earlier(times, self._count) + (not with_begin)
        # Positions ascend from key to key, so one running maximum serves all keys. Rows of the context take part in it: a row that
        # later windows cannot reach any more began earlier than they do.
        begins = np.maximum.accumulate(search_in_keys(times, firsts, since, np.diff(firsts)))
        counts = span.final - span.done
        rows = ranges(firsts[:-1] + span.done, counts)
        ends = search_in_keys(times, firsts, times[rows] + with_end, counts)
        begins = np.minimum(begins[rows], ends)
        return without(Bounds(begins, ends, None, None, self._keep(items, calendar)), items, self.exclude)

    def _bounds_at(self, items: Items, points: Points) -> Bounds:
        """Return a window for each point. Each begins at its own time, also where that goes back: no point depends on another."""
        calendar = calendar_around(self, self.range, points.times, items.unit)
        with_begin, with_end = CLOSED[self.closed]
        since = calendar.earlier(points.times, self._count) + (not with_begin)
        begins = search_in_keys(items.times, items.firsts, since, points.counts)
        ends = points.places
        if not with_end:
            ends = search_in_keys(items.times, items.firsts, points.times, points.counts)
        return Bounds(np.minimum(begins, ends), ends, None, None, items.firsts[:-1])

    def needed_from(self, items: Items) -> Ints:
        """Return by key the first row that the window of a point at or after the newest row may hold."""
        if not len(items.times):
            return items.firsts[:-1]
        oldest = newest_times(items) - self.extent(items.unit)
        return search_in_keys(items.times, items.firsts, oldest, np.ones(items.keys, np.int64))

    @property
    def no_labels(self) -> str:
        """Why it cannot be evaluated as of any time; empty if it can."""
        return "excludes rows, but a label is no row" if self.exclude else ""

    def _keep(self, items: Items, calendar: Calendar) -> Ints:
        """Return the first row of each key that windows of later rows may reach: they are not before `now`."""
        times, firsts, span = items.times, items.firsts, items.span
        next_rows = firsts[:-1] + span.final
        reached = np.clip(span.now, times.min(), times.max() + 2 * self.extent(items.unit))
        waiting = next_rows < firsts[1:]
        reached[waiting] = np.minimum(reached[waiting], times[next_rows[waiting]])
        # Later on the same day, or on a later day that has the same day a month before, windows may begin at midnight.
        days = calendar.clock.local(reached) // calendar.day - self._spare(calendar)
        days = calendar.days_before(days, self._count)
        wanted = calendar.clock.instants(days * calendar.day)
        oldest = search_in_keys(times, firsts, wanted, np.ones(items.keys, np.int64))
        keep: Ints = np.minimum(np.where(span.now == FOREVER, next_rows, oldest), next_rows)
        return keep

    def _spare(self, calendar: Calendar) -> int:
        """Return for how many days more rows are kept: a clock that is set back after midnight shows the day before again."""
        return int(len(calendar.clock.changes) > 0)

    def due(self, items: Items) -> int:
        """Return when the first row has a result, or when no window can reach the last row of a key any more."""
        if not len(items.times):
            return FOREVER
        calendar = calendar_around(self, self.range, items.times, items.unit)
        lasts = items.times[items.firsts[1:] - 1]
        following = calendar.clock.latest(lasts) // calendar.day + 1
        days = following + self._count if calendar.unit == "day" else months_after(following, self._count)
        dropped = calendar.clock.instants((days + self._spare(calendar)) * calendar.day)
        return min(super().due(items), first_after(dropped, items.span.now))

    @property
    def _count(self) -> int:
        return self.range.months or self.range.days

    @property
    def length(self) -> Duration:
        """How far a window reaches back."""
        return self.range

    def frame_reach(self, unit: TimeUnit) -> Reach | None:
        """Return how far the window of a row reaches back at most."""
        return Reach(ticks=self.extent(unit))

    def extent(self, unit: TimeUnit) -> int:
        """Return how far a window reaches from its row, at most."""
        return longest(self.range, unit)

    def needed_for(self, unit: TimeUnit) -> int:
        """Return how far apart rows of one window may be, at most."""
        with_begin, _ = CLOSED[self.closed]
        return self.extent(unit) - (not with_begin)

    def __repr__(self) -> str:
        """Return the call that makes the window."""
        return self.text


# -- what both share ---------------------------------------------------------------------------------------------------


def longest(duration: Duration, unit: TimeUnit) -> int:
    """Return an upper bound of a duration of the calendar, in ticks: two days more than its longest months, as zones may skip days."""
    assert unit.tick is not None
    return (LONGEST_MONTH * abs(duration.months) + abs(duration.days) + 2) * (DAY // unit.tick)


def calendar_around(window: Window, length: Duration, times: Ints, unit: TimeUnit, shift: int = 0) -> Calendar:
    """Return the calendar of a window for the windows of rows at these times."""
    extent = 3 * window.extent(unit)
    least, most = (int(times.min()), int(times.max())) if len(times) else (0, 0)
    counted = "month" if length.months else "day"
    return calendar_of(counted, window.zone or unit.zone, unit, least - extent, most + extent, shift)


def check_column(window: Window, length: Duration, unit: TimeUnit) -> None:
    """Raise ValueError if a time column has no calendar, or no zone although the window has one."""
    if unit.tick is None:
        length.in_ticks(unit)  # raises: the column holds integers
    if window.zone not in ("", "UTC") and not unit.zone:
        message = (
            f"{window}: column {unit.column!r} has no time zone, so its days and months are local already. Leave tz out, or use "
            'tz="UTC" for weeks that begin on Monday. If the column holds times in UTC, cast it to a timestamp with that zone.'
        )
        raise ValueError(message)
    if not window.zone and unit.zone:
        check_zone(unit.zone, window.kind)


def text_in_zone(text: str, zone: str) -> str:
    """Return a call with a time zone as its last argument.

    >>> text_in_zone('tumbling("1mo")', "UTC")
    'tumbling("1mo", tz="UTC")'
    """
    return f'{text[:-1]}, tz="{zone}")'
