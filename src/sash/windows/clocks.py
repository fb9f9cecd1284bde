"""Clocks: how long durations are. Periodic windows and frames of time use them.

    Clock            counts ticks: a day has 24 hours, and the number of a time is the time itself
    TailClock        counts ticks, and begins frames at multiples of a tail
    CalendarClock    counts days or months of a time zone, which differ in length

Periodic windows are computed over numbers, whatever the clock:

    instants      │ 31 Jan 23:30   1 Feb 0:10   29 Feb │ 1 Mar …
    months        │ 648           649          649    │ 650           tumbling("1mo") is tumbling(1) over them
    windows       ├──────────────┤├────────────────────┤├────

A window [start, stop) is final when the watermark has reached the instant of stop, that is, when its number is at least stop.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from sash.durations import Duration, TimeUnit
from sash.windows.arrays import ranges, search_in_keys
from sash.windows.base import FOREVER, NEVER, Cycle, Ints, Items, LoopCompiler, Points, new_bounds
from sash.windows.calendars import DAY, UTC_NAMES, Calendar, local_time_of, months_after
from sash.windows.time_loops import find_places, find_time_frames, first_later

if TYPE_CHECKING:
    from sash.windows.periodic import Periodic
    from sash.windows.time_frame import TimeFrame

LONGEST_MONTH = 31
EARLY = -(2**60)
"""The number of a day or month before all others, which leaves room for sums."""
FIRST_MONDAY = 4
"""The day from which weeks count, as in Polars: 5 January 1970."""
CLOSED = {"right": (False, True), "both": (True, True), "left": (True, False), "neither": (False, False)}
"""Whether a window holds the rows exactly at its begin, and those exactly at its end."""


# -- ticks -------------------------------------------------------------------------------------------------------------


class Ruler(NamedTuple):
    """The numbers of times, and the times of numbers: of ticks, the ticks themselves.

    Right-closed windows of ticks are computed one tick later than they are shown (see `Clock.cycle`).
    """

    shift: int
    extent: int = 0
    """Of a calendar: how far from a row its windows begin or end, in ticks, at most."""
    calendar: Calendar | None = None

    def numbers(self, times: Ints) -> Ints:
        """Return the numbers of rows at some times. The instants in `(start, end]` are those one tick later than those in `[start, end)`."""
        return times if self.calendar is None else self.calendar.numbers(times - self.shift)

    def shown(self, numbers: Ints) -> Ints:
        """Return the times that results show for the starts or ends of windows."""
        if self.calendar is not None:
            return self.calendar.instants(numbers)
        return numbers - self.shift if self.shift else numbers

    def final(self, numbers: Ints) -> Ints:
        """Return the watermarks at which windows with these ends are final."""
        return numbers if self.calendar is None else self.calendar.instants(numbers) + self.shift

    def numbered(self, items: Items) -> Items:
        """Return items with numbers in place of times."""
        times, span = items.times, items.span
        if self.calendar is None or not len(times):
            return items
        # All windows that hold a row end between these times, so others need no translation.
        low, high = int(times.min()) - self.extent, int(times.max()) + 2 * self.extent

        def limits(instants: Ints) -> Ints:
            numbers = self.numbers(np.clip(instants, low, high))
            return np.where(instants == FOREVER, FOREVER, np.where(instants == NEVER, EARLY, numbers))

        now = limits(span.now)
        closed = now if span.closed is span.now else limits(span.closed)
        numbered = replace(span, after=limits(span.after), now=now, closed=closed, ended=span.has_ended)
        return replace(items, times=self.numbers(times), span=numbered)


@dataclass(frozen=True)
class Clock:
    """Counts ticks: all days have 24 hours."""

    by_calendar: ClassVar[bool] = False
    has_fixed_lengths: ClassVar[bool] = True
    """Whether all frames of a window begin equally long before their rows."""
    zone: str = ""
    """The time zone that days and months follow; empty until that of the time column is known."""

    @property
    def durations(self) -> Sequence[Duration]:
        """The durations that the clock itself has."""
        return ()

    def check(self, window: Any, durations: Sequence[Duration], unit: TimeUnit) -> None:  # noqa: ARG002 — for calendars
        """Raise ValueError if the durations of a window do not fit a time column of this unit."""
        for duration in durations:
            self.longest(duration, unit)

    def longest(self, duration: Duration, unit: TimeUnit) -> int:
        """Return how many ticks a duration has at most. Zero fits every unit."""
        return duration.in_ticks(unit) if duration.amount else 0

    def edges(self, unit: TimeUnit) -> int | None:  # noqa: ARG002 — for tails
        """Return the number of ticks that all begins of frames are multiples of; None if they begin anywhere."""
        return None

    # -- periodic windows --------------------------------------------------------------------------------------------

    def cycle(self, window: Periodic, unit: TimeUnit) -> Cycle:
        """Return where windows repeat, in numbers of this clock: half-open intervals of rows."""
        length, period, step, offset = (self.longest(duration, unit) for duration in window.durations)
        if unit.tick is not None:
            offset += first_day_of(window.period) * DAY // unit.tick
        return Cycle(length, period, step, (offset + window.shift) % period)

    def extent(self, window: Periodic, unit: TimeUnit) -> int:
        """Return how far from a row its windows begin or end, in ticks, at most."""
        return max(abs(self.longest(duration, unit)) for duration in window.durations) + window.shift

    def ruler(self, window: Periodic, times: Ints, unit: TimeUnit) -> Ruler:  # noqa: ARG002 — for calendars
        """Return the numbers of times near some times."""
        return Ruler(window.shift)

    # -- frames ------------------------------------------------------------------------------------------------------

    def frames(self, window: TimeFrame, items: Items, compiler: LoopCompiler) -> tuple[Ints, Ints, Ints]:
        """Return the begins and ends of the frames of rows, and for each key the first row that later frames may hold."""
        span = items.span
        bounds = (*new_bounds(int((span.final - span.done).sum())), np.empty(items.keys, np.int64))
        marks, distances = (span.done, span.final, span.now), window.distances(items.unit)
        compiler(find_time_frames)(items.times, items.firsts, marks, *distances, bounds)
        return bounds

    def begins_at(self, window: TimeFrame, items: Items, points: Points, compiler: LoopCompiler) -> Ints:
        """Return the begins of the frames of points."""
        before, _ = window.distances(items.unit)
        begins = np.empty(len(points.times), np.int64)
        compiler(find_places)(items.times, items.firsts, points.times, points.counts, -before, begins)
        return begins

    def out_of_reach(self, window: TimeFrame, times: Ints, unit: TimeUnit) -> Ints:
        """Return the watermarks from which on no frame can reach rows at some times."""
        return times + (window.distances(unit)[0] + 2)


TICKS = Clock()


@dataclass(frozen=True)
class TailClock(Clock):
    """Counts ticks, and begins frames at multiples of `tail` since the epoch: earlier than asked for, by less than a tail.

    rows      ·  · · ·  ··   ·  · ·  ·   · ·
    slices  ├──────┼──────┼──────┼──────┼──       tail
    frames  ├──────────────────────────┤
            ├────────────────────────────┤        frames begin where slices do
    """

    has_fixed_lengths: ClassVar[bool] = False
    tail: Duration = field(kw_only=True)

    @property
    def durations(self) -> Sequence[Duration]:
        """The tail."""
        return (self.tail,)

    def check(self, window: Any, durations: Sequence[Duration], unit: TimeUnit) -> None:
        """Raise ValueError if the durations of a window do not fit a time column of this unit."""
        super().check(window, [*durations, self.tail], unit)

    def longest(self, duration: Duration, unit: TimeUnit) -> int:
        """Return how many ticks a frame reaches back at most."""
        return super().longest(duration, unit) + self.tail.in_ticks(unit) - 1

    def edges(self, unit: TimeUnit) -> int:
        """Return the ticks of a tail."""
        return self.tail.in_ticks(unit)

    # -- frames ------------------------------------------------------------------------------------------------------

    def frames(self, window: TimeFrame, items: Items, compiler: LoopCompiler) -> tuple[Ints, Ints, Ints]:
        """Return the begins and ends of the frames of rows, and for each key the first row that later frames may hold."""
        times, firsts, span = items.times, items.firsts, items.span
        counts = span.final - span.done
        row_times = times[ranges(firsts[:-1] + span.done, counts)]
        begins, ends = new_bounds(len(row_times))
        self._find_begins(window, items, (row_times, counts), compiler, begins)
        _, after = window.distances(items.unit)
        if after == FOREVER:
            ends[:] = np.repeat(firsts[1:], counts)
        else:
            compiler(find_places)(times, firsts, row_times, counts, after + 1, ends)
        return np.minimum(begins, ends), ends, self._keep(window, items)

    def _keep(self, window: TimeFrame, items: Items) -> Ints:
        """Return the first row of each key that frames of later rows may hold: they are not before `now`."""
        times, firsts, span = items.times, items.firsts, items.span
        next_rows = firsts[:-1] + span.final
        if not len(times):
            return next_rows
        # Before the first time or after the last, nothing changes; so NEVER and FOREVER leave room for differences.
        # One tick after the extent, a row at an edge is out of reach, too.
        low, high = int(times.min()), int(times.max()) + window.extent(items.unit) + 1
        reached = np.clip(first_later(times, firsts, span.final, span.now), low, high)
        oldest = search_in_keys(times, firsts, self._begin_times(window, reached, items.unit), np.ones_like(reached))
        keep: Ints = np.minimum(np.where(span.now == FOREVER, next_rows, oldest), next_rows)
        return keep

    def begins_at(self, window: TimeFrame, items: Items, points: Points, compiler: LoopCompiler) -> Ints:
        """Return the begins of the frames of points."""
        begins = np.empty(len(points.times), np.int64)
        self._find_begins(window, items, (points.times, points.counts), compiler, begins)
        return begins

    def _find_begins(
        self, window: TimeFrame, items: Items, of: tuple[Ints, Ints], compiler: LoopCompiler, begins: Ints
    ) -> None:
        """Write the begins of the frames of some times, which are given with their numbers by key."""
        since = self._begin_times(window, of[0], items.unit)
        compiler(find_places)(items.times, items.firsts, since, of[1], 0, begins)

    def _begin_times(self, window: TimeFrame, times: Ints, unit: TimeUnit) -> Ints:
        """Return the first times that the frames at some times hold."""
        assert window.before is not None  # without limit, there is no begin to round
        since = times - TICKS.longest(window.before, unit)
        return since - since % self.edges(unit)


# -- calendars ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class CalendarClock(Clock):
    """Counts days or months of a time zone."""

    by_calendar: ClassVar[bool] = True
    has_fixed_lengths: ClassVar[bool] = False

    def check(self, window: Any, durations: Sequence[Duration], unit: TimeUnit) -> None:
        """Raise ValueError if a time column has no calendar, no zone although the window has one, or too long ticks."""
        if unit.tick is None:
            durations[0].in_ticks(unit)  # raises: the column holds integers
        if self.zone not in UTC_NAMES and not unit.zone:
            raise ValueError(
                f"{window}: column {unit.column!r} has no time zone, so its days and months are local already. Leave tz out. If the "
                "column holds times in UTC, cast it to a timestamp with that zone."
            )
        for duration in durations:
            in_local_ticks(duration, unit)

    def longest(self, duration: Duration, unit: TimeUnit) -> int:
        """Return an upper bound in ticks: two days more than the longest months, as zones may skip days."""
        assert unit.tick is not None
        return (LONGEST_MONTH * abs(duration.months) + abs(duration.days) + 2) * (DAY // unit.tick)

    def cycle(self, window: Periodic, unit: TimeUnit) -> Cycle:  # noqa: ARG002 — numbers have no unit
        """Return where windows repeat, in days or months."""
        length, period, step = (_count(duration) for duration in window.durations[:3])
        return Cycle(length, period, step, (window.offset.months + first_day_of(window.period)) % period)

    def extent(self, window: Periodic, unit: TimeUnit) -> int:
        """Return how far from a row its windows begin or end, in ticks, at most."""
        longest = max(self.longest(window.range, unit), self.longest(window.period, unit))
        return longest + self.longest(window.offset, unit) + abs(in_local_ticks(window.offset, unit))

    def ruler(self, window: Periodic, times: Ints, unit: TimeUnit) -> Ruler:
        """Return the numbers of days or months near some times."""
        extent = self.extent(window, unit)
        calendar = self._calendar(window.range, extent, times, unit)
        return Ruler(window.shift, extent, replace(calendar, shift=in_local_ticks(window.offset, unit)))

    # -- frames ------------------------------------------------------------------------------------------------------

    def frames(self, window: TimeFrame, items: Items, compiler: LoopCompiler) -> tuple[Ints, Ints, Ints]:  # noqa: ARG002 — NumPy is as fast
        """Return the begins and ends of the frames of rows, and for each key the first row that later frames may hold.

        On the last days of a month their begins may go back, as a month before 30 March 5:00 is 28 February 5:00, and a month before
        29 March 10:00 is 28 February 10:00. Frames never do: the frame of a row begins no earlier than those of the rows before it.
        Polars and pandas do the same.
        """
        times, firsts, span = items.times, items.firsts, items.span
        _, with_end = CLOSED[window.closed]
        calendar = self._near(window, times, items.unit)
        # Positions ascend from key to key, so one running maximum serves all keys. Rows of the context take part in it: a row that
        # later frames cannot reach any more began earlier than they do.
        since = _begin_times(window, calendar, times)
        begins = np.maximum.accumulate(search_in_keys(times, firsts, since, np.diff(firsts)))
        counts = span.final - span.done
        rows = ranges(firsts[:-1] + span.done, counts)
        ends = search_in_keys(times, firsts, times[rows] + with_end, counts)
        return np.minimum(begins[rows], ends), ends, self._keep(window, items, calendar)

    def _keep(self, window: TimeFrame, items: Items, calendar: Calendar) -> Ints:
        """Return the first row of each key that frames of later rows may reach: they are not before `now`."""
        times, firsts, span = items.times, items.firsts, items.span
        next_rows = firsts[:-1] + span.final
        now = np.clip(span.now, times.min(), times.max() + 2 * window.extent(items.unit))
        reached = first_later(times, firsts, span.final, now)
        # Later on the same day, or on a later day that has the same day a month before, frames may begin at midnight.
        days = calendar.local.local(reached) // calendar.day - _spare(calendar)
        wanted = calendar.local.instants(calendar.days_before(days, _count(window.before)) * calendar.day)
        oldest = search_in_keys(times, firsts, wanted, np.ones(items.keys, np.int64))
        keep: Ints = np.minimum(np.where(span.now == FOREVER, next_rows, oldest), next_rows)
        return keep

    def begins_at(self, window: TimeFrame, items: Items, points: Points, compiler: LoopCompiler) -> Ints:  # noqa: ARG002 — NumPy is as fast
        """Return the begins of the frames of points. Each begins at its own time, also where that goes back: no point depends on another."""
        since = _begin_times(window, self._near(window, points.times, items.unit), points.times)
        return search_in_keys(items.times, items.firsts, since, points.counts)

    def out_of_reach(self, window: TimeFrame, times: Ints, unit: TimeUnit) -> Ints:
        """Return the watermarks from which on no frame can reach rows at some times."""
        calendar, count = self._near(window, times, unit), _count(window.before)
        following = calendar.local.latest(times) // calendar.day + 1
        days = following + count if calendar.unit == "day" else months_after(following, count)
        return calendar.local.instants((days + _spare(calendar)) * calendar.day)

    def _near(self, window: TimeFrame, times: Ints, unit: TimeUnit) -> Calendar:
        return self._calendar(window.before, window.extent(unit), times, unit)

    def _calendar(self, length: Duration | None, extent: int, times: Ints, unit: TimeUnit) -> Calendar:
        """Return the calendar for the windows of rows at some times."""
        assert length is not None
        assert unit.tick is not None
        least, most = (int(times.min()), int(times.max())) if len(times) else (0, 0)
        local = local_time_of(self.zone, unit.tick, least - 3 * extent, most + 3 * extent)
        return Calendar("month" if length.months else "day", local, DAY // unit.tick)


def in_local_ticks(duration: Duration, unit: TimeUnit) -> int:
    """Return the ticks of a duration of local time; none if it counts months."""
    return 0 if duration.months or not duration.amount else duration.in_ticks(unit)


def first_day_of(period: Duration) -> int:
    """Return the first day since the epoch on which windows begin: weeks begin on Mondays."""
    return FIRST_MONDAY if period.calendar == "week" else 0


def _count(duration: Duration | None) -> int:
    assert duration is not None  # without limit, a window has no calendar
    return duration.months or duration.days


def _begin_times(window: TimeFrame, calendar: Calendar, times: Ints) -> Ints:
    """Return the first times that the frames at some times hold."""
    with_begin, _ = CLOSED[window.closed]
    return calendar.earlier(times, _count(window.before)) + (not with_begin)


def _spare(calendar: Calendar) -> int:
    """Return for how many days more rows are kept: a clock that is set back after midnight shows the day before again."""
    return int(len(calendar.local.changes) > 0)
