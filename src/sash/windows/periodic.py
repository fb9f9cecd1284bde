"""Windows of time that begin at multiples of a period: sliding, tumbling and cumulative ones.

    period          ├─────┤
    time(9, slide=6)      ├────────┤   ├── …      sliding windows overlap if the range is longer than the slide
    time(4, slide=6)      ├───┤ ├───┤             rows in the gaps between windows belong to none
    cumulative(6, 2)      ├─┤├───┤├─────┤         a window ends after each step
    closed="right"        (start, end]            the same windows of the times one tick earlier

Times are whole ticks, so `(start, end]` holds the rows of `[start + 1, end + 1)`. So right-closed windows are computed one tick later than
they are shown: their edges, their slices and the watermark at which they are final follow from their `cycle`.

A clock numbers times (`clocks.py`), and windows are found among these numbers: ticks, or days or months of a calendar.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

import numpy as np

from sash.durations import Duration, TimeUnit, quote
from sash.windows.arrays import ranges, search_in_keys
from sash.windows.base import FOREVER, NEVER, Bounds, Cycle, Interval, Ints, Items, LoopCompiler, Memory, Points, Reach
from sash.windows.calendars import UTC_NAMES
from sash.windows.capabilities import Cuts, Lateness, LocalCycle, TimeAxis, TimeSplit, WindowMemory
from sash.windows.clocks import Clock, first_day_of
from sash.windows.time_loops import find_periodic, find_places, first_needed, starts_of_rows
from sash.windows.window import TimeWindow, Window

SMALL = 1 << 16
"""Room for this many windows is allocated without counting them first."""
MAX_WINDOWS = 100_000_000
"""The default limit of the number of windows: their bounds alone take 3.2 GB."""
UNLIMITED = 2**63 - 1
FEW_STARTS = 32
"""Up to this many windows that overlap, a time range is cut at each of their starts."""


@dataclass(frozen=True, repr=False)
class Periodic(TimeWindow):
    """Windows of time that begin at multiples of `period` since the epoch, plus `offset`.

    A sliding window has one end, `step` being its whole range; a cumulative one has an end after each `step`.
    """

    needs_time: ClassVar[bool] = True
    range: Duration
    period: Duration
    step: Duration
    offset: Duration
    """Of a calendar, months, or a length of local time."""
    max_windows: int = MAX_WINDOWS
    """More windows than this are refused. It is not in `text`, which identifies the window in a checkpoint."""

    @property
    def length(self) -> Duration:
        """The range."""
        return self.range

    @property
    def durations(self) -> tuple[Duration, Duration, Duration, Duration]:
        """The range, the period, the step and the offset."""
        return self.range, self.period, self.step, self.offset

    @property
    def shift(self) -> int:
        """How many ticks before the rows that it holds a window starts and ends: one if it is `(start, end]`."""
        return int(self.closed == "right")

    def check(self, unit: TimeUnit) -> None:
        """Raise ValueError if the window does not fit a time column of this unit."""
        self.clock.check(self, self.durations, unit)

    def cycle(self, unit: TimeUnit) -> Cycle:
        """Return where windows repeat, in numbers of the clock."""
        cycle = self._cycles.get(unit)
        if cycle is None:
            cycle = self._cycles[unit] = self.clock.cycle(self, unit)
        return cycle

    @cached_property
    def _cycles(self) -> dict[TimeUnit, Cycle]:
        """The cycles by the time columns of queries."""
        return {}

    def extent(self, unit: TimeUnit) -> int:
        """Return how far from a row its windows begin or end, at most."""
        return self.clock.extent(self, unit)

    @property
    def by_calendar(self) -> bool:
        """Whether "1d" differs from "24h" here, or "1w" from "7d", because weeks begin on Mondays."""
        return self.clock.by_calendar or first_day_of(self.period) != 0

    def in_zone(self, zone: str) -> Window:
        """Return the window for a time column in this zone: days, weeks and months follow it, unless `tz` was given.

        If windows begin every few hours, days have 24 hours. Raise ValueError if windows begin every few days, but count hours.
        """
        if self.clock.zone or not zone or self.clock.by_calendar or not self.period.calendar:
            return super().in_zone(zone)
        if zone in UTC_NAMES:
            return replace(self, clock=Clock(zone))
        for duration in (self.range, self.step):
            if not duration.calendar:
                raise ValueError(
                    f"{self}: the time column is in {zone}, so {quote(self.period)} counts days of that zone, which may have 23 or 25 "
                    f'hours, but {quote(duration)} counts hours. Use whole days for both, or hours for both, as in "24h"; windows of '
                    "hours count from midnight in UTC, plus offset=."
                )
        return self._following(zone)

    # -- bounds ------------------------------------------------------------------------------------------------------

    def bounds(self, items: Items, memory: Memory, compiler: LoopCompiler) -> Bounds:
        """Return the windows that ended by now and hold at least one row."""
        ruler = self.clock.ruler(self, items.times, items.unit)
        bounds = self._find(ruler.numbered(items), memory, compiler)
        assert bounds.starts is not None
        assert bounds.stops is not None
        return replace(bounds, starts=ruler.shown(bounds.starts), stops=ruler.shown(bounds.stops))

    def _find(self, items: Items, memory: Memory, compiler: LoopCompiler) -> Bounds:  # noqa: ARG002 — it remembers nothing
        """Return the windows among items with numbers."""
        span = items.span
        keep = np.zeros(items.keys, np.int64)
        arguments = (items.times, items.firsts, (span.after, span.now, span.closed), tuple(self.cycle(items.unit)))
        loop = compiler(find_periodic)
        count = self._check_limit(items)
        if count > 2 * len(items.times) + SMALL:  # perhaps long gaps without windows: count first
            count = loop(*arguments, (np.empty(0, np.int64),) * 4, keep)
        bounds = tuple(np.empty(count, np.int64) for _ in range(4))
        count = loop(*arguments, bounds, keep)
        begins, ends, starts, stops = (column[:count] for column in bounds)
        return Bounds(begins, ends, starts, stops, keep)

    def check_limit(self, items: Items) -> int:
        """Return an upper bound of the number of windows. Raise ValueError if there are more than `max_windows`."""
        return self._check_limit(self.clock.ruler(self, items.times, items.unit).numbered(items))

    def _check_limit(self, items: Items) -> int:
        length, period, step, _ = self.cycle(items.unit)
        firsts, lasts = items.firsts[:-1], items.firsts[1:] - 1
        held = lasts >= firsts
        spans = items.times[lasts[held]] - items.times[firsts[held]]
        per_key = (spans / period + length / period + 1) * (length // step)  # floats: it may need more than 64 bits
        at_most = int(np.ceil(per_key).sum())  # the number of windows if none were empty
        if at_most <= self.max_windows:
            return at_most  # counting them takes time linear in the number of items
        count = self.count_windows(items)
        if count > self.max_windows:
            which = "lie between the first and the last row of a key" if self.emits_empty else "hold rows of the data"
            raise ValueError(
                f"{self}: {count:,} windows {which}, which is more than max_windows={self.max_windows:,}. "
                "Give a longer slide or step, or a larger max_windows."
            )
        return at_most

    def count_windows(self, items: Items) -> int:
        """Return the number of windows to emit that hold an item; of cumulative ones, with ends before their first item.

        In time linear in the number of items, however many windows there are.
        """
        cycle, times = self.cycle(items.unit), items.times
        after = np.maximum(items.span.after, int(times.min(initial=0)) - 1)  # NEVER - length does not fit in 64 bits
        _, held = starts_of_rows(times, items.firsts, after, items.span.now, cycle)
        return int(held.sum(dtype=np.float64)) * (cycle.length // cycle.step)

    # -- as of points ------------------------------------------------------------------------------------------------

    def last_closed(self, items: Items, points: Points, compiler: LoopCompiler) -> Bounds:
        """Return for each point the last window of the schedule that has ended by then. It may hold no row."""
        ruler = self.clock.ruler(self, np.concatenate([items.times, points.times]), items.unit)
        length, period, step, offset = self.cycle(items.unit)
        # A window `(start, end]` has ended at `end`, as a label comes after rows of its own time; its number is that of the next tick.
        now = ruler.numbers(points.times + self.shift) - offset
        if step < length:
            stops = now // step * step
            starts = (stops - step) // period * period
        else:
            starts = (now - length) // period * period
            stops = starts + length
        starts, stops = starts + offset, stops + offset
        times = ruler.numbers(items.times)
        first, after = (np.empty(len(starts), np.int64) for _ in range(2))
        for limits, places in ((starts, first), (stops, after)):
            compiler(find_places)(times, items.firsts, limits, points.counts, 0, places)
        return Bounds(first, after, ruler.shown(starts), ruler.shown(stops), items.firsts[:-1])

    @property
    def closed_split(self) -> TimeSplit | None:
        """The last window that has ended begins at most its length and the distance of two ends ago."""
        if self.clock.by_calendar:
            return None
        return TimeSplit(lambda unit: Reach(ticks=self.cycle(unit).length + self.cycle(unit).every + self.shift))

    # -- streams -----------------------------------------------------------------------------------------------------

    def due(self, items: Items) -> int:
        """Return when the first window ends that may hold one of the rows."""
        if not len(items.times):
            return FOREVER
        length, period, step, offset = self.cycle(items.unit)
        ruler = self.clock.ruler(self, items.times, items.unit)
        numbered = ruler.numbered(items)
        by = max(int(numbered.times.min()), int(numbered.span.now.min()))
        last = (by - offset - length) // period * period + length if step == length else (by - offset) // step * step
        due = last + (period if step == length else step) + offset
        if due > int(numbered.times.max()) + length:
            return FOREVER  # other windows may need the rows longer
        return int(ruler.final(np.array([due]))[0])

    @cached_property
    def lateness(self) -> Lateness:
        """A row is late once all its windows are closed."""
        return Lateness("ends", self._first_end, self._last_end, self._first_end, half_open=self.closed == "left")

    def _first_end(self, times: Ints, unit: TimeUnit) -> Ints:
        """Return where the first window ends that holds rows at these times; FOREVER in a gap between windows."""
        length, period, step, offset = self.cycle(unit)
        ruler = self.clock.ruler(self, times, unit)
        numbers = ruler.numbers(times)
        if step < length:
            return ruler.final((numbers - offset) // step * step + step + offset)
        ends = (numbers - offset - length) // period * period + period + length + offset
        return ruler.final(ends) if period <= length else np.where(ends - length <= numbers, ruler.final(ends), FOREVER)

    def _last_end(self, times: Ints, unit: TimeUnit) -> Ints:
        """Return where the last window ends that holds rows at these times; NEVER in a gap between windows."""
        length, period, _, offset = self.cycle(unit)
        ruler = self.clock.ruler(self, times, unit)
        numbers = ruler.numbers(times)
        ends = (numbers - offset) // period * period + length + offset
        return ruler.final(ends) if period <= length else np.where(numbers < ends, ruler.final(ends), NEVER)

    # -- slices and time ranges --------------------------------------------------------------------------------------

    @cached_property
    def cuts(self) -> Cuts:
        """Where windows begin and end."""
        if self.clock.by_calendar:
            return Cuts(local_cycle=self._local_cycle)
        return Cuts(cycle=self.cycle, shift=self.shift)

    def _local_cycle(self, unit: TimeUnit) -> LocalCycle:
        return LocalCycle(self.cycle(unit), lambda times: self.clock.ruler(self, times, unit))

    @property
    def time_split(self) -> TimeSplit | None:
        """Windows reach back from their end."""
        if self.clock.by_calendar:
            return None
        return TimeSplit(lambda unit: Reach(ticks=self.range.in_ticks(unit)), self._begin_zones)

    def _begin_zones(self, begin: int, end: int, axis: TimeAxis) -> list[Interval]:
        """Return where windows begin that end in a time range: at each start if they are few, or else in one interval."""
        length, period, step, offset = self.cycle(axis.unit)
        last = min(begin, end - step)
        if length // period > FEW_STARTS:
            return [(begin - length, last)]
        first = (begin - length - offset) // period * period + period + offset
        return [(start, start) for start in range(first, last + 1, period)]


@dataclass(frozen=True, repr=False)
class FilledPeriodic(Periodic):
    """Periodic windows, also those without rows between the first and the last window of a key that has rows.

    Windows are numbered in the order of their starts and ends, so that those of a key are the numbers from one to another. An empty
    window is emitted as soon as a later row has arrived. So the memory of a key is the number of the next window.
    """

    emits_empty: ClassVar[bool] = True

    @property
    def memory(self) -> WindowMemory:
        """The number of the next window."""
        return WindowMemory({"next": "int64"}, fresh=NEVER)

    @property
    def time_split(self) -> None:
        """None: an empty window may lie anywhere after a row."""

    def _find(self, items: Items, memory: Memory, compiler: LoopCompiler) -> Bounds:  # noqa: ARG002 — NumPy is as fast as a compiled loop
        """Return the windows that ended by now, up to the last one that holds a row."""
        cycle, times, firsts = self.cycle(items.unit), items.times, items.firsts
        self._check_limit(items)
        keep = first_needed(times, firsts, items.span.closed, cycle) if len(times) else firsts[:-1].copy()
        begins, counts = self._numbers(items, memory["next"])
        following = np.where(counts > 0, begins + counts, memory["next"])
        numbers = ranges(begins, counts)
        per_period = cycle.length // cycle.step
        starts = numbers // per_period * cycle.period + cycle.offset
        stops = starts + (numbers % per_period + 1) * cycle.step
        first, after = (search_in_keys(times, firsts, limits, counts) for limits in (starts, stops))
        return Bounds(first, after, starts, stops, keep, {"next": following})

    def _numbers(self, items: Items, following: Ints) -> tuple[Ints, Ints]:
        """Return the number of the first window of each key to emit, and how many there are."""
        length, period, step, offset = self.cycle(items.unit)
        per_period = length // step
        times, keys = items.times, items.keys
        begins, counts = np.zeros(keys, np.int64), np.zeros(keys, np.int64)
        since = times - offset
        is_held = np.ones(len(times), np.bool_) if period <= length else since % period < length
        places = np.flatnonzero(is_held)
        if not len(places):
            return begins, counts
        # The first and the last row of each key that a window holds.
        of_key = np.searchsorted(places, items.firsts)
        has_rows = of_key[1:] > of_key[:-1]
        first, last = (since[places[rows]] for rows in (of_key[:-1][has_rows], of_key[1:][has_rows] - 1))
        lowest = ((first - length) // period + 1) * per_period
        if per_period > 1:
            lowest += first % period // step
        highest = last // period * per_period + per_period - 1
        # No window that holds a row ends later, so FOREVER may be replaced by a time that leaves room for sums.
        now = np.clip(items.span.now[has_rows], int(times.min()) - 1, int(times.max()) + length) - offset
        ended = now // period * per_period + now % period // step - 1 if per_period > 1 else (now - length) // period
        next_numbers = following[has_rows]
        begins[has_rows] = np.where(next_numbers == NEVER, lowest, next_numbers)
        counts[has_rows] = np.maximum(np.minimum(highest, ended) - begins[has_rows] + 1, 0)
        return begins, counts

    def count_windows(self, items: Items) -> int:
        """Return the number of windows to emit of keys that emitted none before."""
        return int(self._numbers(items, np.full(items.keys, NEVER))[1].sum(dtype=np.float64))
