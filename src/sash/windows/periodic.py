"""Windows of time that begin at multiples of a period: sliding, tumbling and cumulative ones.

    period          ├─────┤
    time(9, slide=6)      ├────────┤   ├── …      sliding windows overlap if the range is longer than the slide
    time(4, slide=6)      ├───┤ ├───┤             rows in the gaps between windows belong to none
    cumulative(6, 2)      ├─┤├───┤├─────┤         a window ends after each step
    closed="right"        (start, end]            the same windows of the times one tick earlier

Times are whole ticks, so `(start, end]` holds the rows of `[start + 1, end + 1)`. So right-closed windows are computed one tick later than
they are shown: their edges, their slices and the watermark at which they are final follow from their `cycle`.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

import numpy as np

from sash.durations import Duration, TimeUnit
from sash.windows.arrays import ranges, search_in_keys
from sash.windows.base import (
    FOREVER,
    NEVER,
    Bounds,
    Cycle,
    Flags,
    Interval,
    Ints,
    Items,
    LoopCompiler,
    Memory,
    Reach,
    TimeAxis,
    Window,
    new_bounds,
)
from sash.windows.time_loops import find_periodic, first_needed

SMALL = 1 << 16
"""Room for this many windows is allocated without counting them first."""
MAX_WINDOWS = 100_000_000
"""The default limit of the number of windows: their bounds alone take 3.2 GB."""
UNLIMITED = 2**63 - 1
FEW_STARTS = 32
"""Up to this many windows that overlap, a time range is cut at each of their starts."""


@dataclass(frozen=True)
class Periodic(Window):
    """Windows of time that begin at multiples of `period` since the epoch, plus `offset`.

    A sliding window has one end, `step` being its whole range; a cumulative one has an end after each `step`.
    """

    kind: ClassVar[str] = "time"
    needs_time: ClassVar[bool] = True
    is_time: ClassVar[bool] = True
    range: Duration
    period: Duration
    step: Duration
    offset: Duration
    text: str
    least: int = 1
    max_windows: int = MAX_WINDOWS
    """More windows than this are refused. It is not in `text`, which identifies the window in a checkpoint."""
    closed: str = "left"
    """Which end a window includes."""

    @property
    def min_rows(self) -> int:
        """How many values a window must hold to have a result."""
        return self.least

    @property
    def half_open(self) -> bool:
        """Whether a row at the end of a window is outside it."""
        return not self.shift

    @property
    def shift(self) -> int:
        """How many ticks before the rows that it holds a window starts and ends."""
        return int(self.closed == "right")

    def check(self, unit: TimeUnit) -> None:
        """Raise ValueError if the window does not fit a time column of this unit."""
        self.cycle(unit)

    def cycle(self, unit: TimeUnit) -> Cycle:
        """Return the windows in ticks of a time column, as half-open intervals of rows."""
        known = self._cycles.get(unit)
        if known is None:
            length, period, step, offset = (
                duration.in_ticks(unit) for duration in (self.range, self.period, self.step, self.offset)
            )
            known = self._cycles[unit] = Cycle(length, period, step, (offset + self.shift) % period)
        return known

    @cached_property
    def _cycles(self) -> dict[TimeUnit, Cycle]:
        """The windows in ticks, by the time columns of queries."""
        return {}

    def bounds(self, items: Items, memory: Memory, run: LoopCompiler) -> Bounds:  # noqa: ARG002 — it remembers nothing
        """Return the windows that ended by now and hold at least one row."""
        span = items.span
        keep = np.zeros(items.keys, np.int64)
        given = (items.times, items.firsts, span.after, span.now, span.closed, *self.cycle(items.unit))
        loop = run(find_periodic)
        count = self.check_limit(items)
        if count > 2 * len(items.times) + SMALL:  # perhaps long gaps without windows: count first
            count = loop(*given, *new_bounds(0), *new_bounds(0), keep)
        begins, ends = new_bounds(count)
        starts, stops = new_bounds(count)
        count = loop(*given, begins, ends, starts, stops, keep)
        return self.shown(Bounds(begins[:count], ends[:count], starts[:count], stops[:count], keep))

    def shown(self, found: Bounds) -> Bounds:
        """Return windows with the times that results show."""
        if not self.shift:
            return found
        assert found.starts is not None
        assert found.stops is not None
        return replace(found, starts=found.starts - self.shift, stops=found.stops - self.shift)

    def due(self, items: Items) -> int:
        """Return when the first window ends that may hold one of the rows."""
        if not len(items.times):
            return FOREVER
        length, period, step, offset = self.cycle(items.unit)
        by = max(int(items.times.min()), int(items.span.now.min()))
        last = (by - offset - length) // period * period + length if step == length else (by - offset) // step * step
        due = last + (period if step == length else step) + offset
        return due if due <= int(items.times.max()) + length else FOREVER  # other windows may need the rows longer

    def first_end(self, times: Ints, unit: TimeUnit) -> Ints:
        """Return where the first window ends that holds rows at these times; FOREVER in a gap between windows."""
        length, period, step, offset = self.cycle(unit)
        if step < length:
            return (times - offset) // step * step + step + offset
        ends = (times - offset - length) // period * period + period + length + offset
        return ends if period <= length else np.where(ends - length <= times, ends, FOREVER)

    def last_end(self, times: Ints, unit: TimeUnit) -> Ints:
        """Return where the last window ends that holds rows at these times; NEVER in a gap between windows."""
        length, period, _, offset = self.cycle(unit)
        ends = (times - offset) // period * period + length + offset
        return ends if period <= length else np.where(times < ends, ends, NEVER)

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
        """Return how far from a row its windows begin or end."""
        return max(abs(duration.in_ticks(unit)) for duration in (self.range, self.period, self.offset)) + self.shift

    def reach(self, unit: TimeUnit) -> Reach | None:
        """Return how far windows reach back from their end."""
        return Reach(ticks=self.range.in_ticks(unit))

    def begin_zones(self, begin: int, end: int, axis: TimeAxis) -> list[Interval] | None:
        """Return where windows begin that end in a time range: at each start if they are few, or else in one interval."""
        length, period, step, offset = self.cycle(axis.unit)
        last = min(begin, end - step)
        if length // period > FEW_STARTS:
            return [(begin - length, last)]
        first = (begin - length - offset) // period * period + period + offset
        return [(start, start) for start in range(first, last + 1, period)]

    def count_windows(self, items: Items) -> int:
        """Return the number of windows to emit that hold an item; of cumulative ones, with ends before their first item.

        In time linear in the number of items, however many windows there are.
        """
        length, period, step, offset = self.cycle(items.unit)
        times, span, lengths = items.times, items.span, np.diff(items.firsts)
        # An item is the first one of the windows that start after the item before it, and less than `length` before itself.
        starts_after = times - length
        starts_after[1:] = np.maximum(starts_after[1:], times[:-1])
        begins = items.firsts[:-1][lengths > 0]
        starts_after[begins] = times[begins] - length
        earliest = int(times.min(initial=0)) - 1  # NEVER - length does not fit in 64 bits
        starts_after = np.maximum(starts_after, np.repeat(np.maximum(span.after, earliest) - length, lengths))
        starts_by = np.minimum(times, np.repeat(span.now - step, lengths))
        starts = (starts_by - offset) // period - (starts_after - offset) // period
        return int(np.maximum(starts, 0).sum(dtype=np.float64)) * (length // step)

    def check_limit(self, items: Items) -> int:
        """Return an upper bound of the number of windows. Raise ValueError if there are more than `max_windows`."""
        at_most = self._at_most(items)
        if at_most <= self.max_windows:
            return at_most  # counting them takes time linear in the number of items
        count = self.count_windows(items)
        if count > self.max_windows:
            which = "lie between the first and the last row of a key" if self.emits_empty else "hold rows of the data"
            message = (
                f"{self}: {count:,} windows {which}, which is more than max_windows={self.max_windows:,}. "
                "Give a longer slide or step, or a larger max_windows."
            )
            raise ValueError(message)
        return at_most

    def _at_most(self, items: Items) -> int:
        """Return an upper bound of the number of windows: their number if none were empty."""
        length, period, step, _ = self.cycle(items.unit)
        firsts, lasts = items.firsts[:-1], items.firsts[1:] - 1
        held = lasts >= firsts
        spans = items.times[lasts[held]] - items.times[firsts[held]]
        each = (spans / period + length / period + 1) * (length // step)  # floats: it may need more than 64 bits
        return int(np.ceil(each).sum())

    def __repr__(self) -> str:
        """Return the call that makes the window."""
        return self.text


@dataclass(frozen=True, repr=False)
class FilledPeriodic(Periodic):
    """Periodic windows, also those without rows between the first and the last window of a key that has rows.

    Windows are numbered in the order of their starts and ends, so that those of a key are the numbers from one to another. An empty
    window is emitted as soon as a later row has arrived. So the memory of a key is the number of the next window.
    """

    emits_empty: ClassVar[bool] = True
    memory: ClassVar[Mapping[str, str]] = {"next": "int64"}

    def bounds(self, items: Items, memory: Memory, run: LoopCompiler) -> Bounds:  # noqa: ARG002 — NumPy is as fast as a compiled loop
        """Return the windows that ended by now, up to the last one that holds a row."""
        cycle, times, firsts = self.cycle(items.unit), items.times, items.firsts
        self.check_limit(items)
        keep = first_needed(times, firsts, items.span.closed, *cycle) if len(times) else firsts[:-1].copy()
        begins, counts = self._numbers(items, memory["next"])
        following = np.where(counts > 0, begins + counts, memory["next"])
        numbers = ranges(begins, counts)
        per_period = cycle.length // cycle.step
        starts = numbers // per_period * cycle.period + cycle.offset
        stops = starts + (numbers % per_period + 1) * cycle.step
        first, after = (search_in_keys(times, firsts, limits, counts) for limits in (starts, stops))
        return self.shown(Bounds(first, after, starts, stops, keep, {"next": following}))

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
        known = following[has_rows]
        begins[has_rows] = np.where(known == NEVER, lowest, known)
        counts[has_rows] = np.maximum(np.minimum(highest, ended) - begins[has_rows] + 1, 0)
        return begins, counts

    def count_windows(self, items: Items) -> int:
        """Return the number of windows to emit of keys that emitted none before."""
        return int(self._numbers(items, np.full(items.keys, NEVER))[1].sum(dtype=np.float64))

    def reach(self, unit: TimeUnit) -> Reach | None:  # noqa: ARG002 — an empty window may be any time after the row before it
        """Return that how far windows reach back is not known."""
        return None

    def begin_zones(self, begin: int, end: int, axis: TimeAxis) -> list[Interval] | None:  # noqa: ARG002
        """Return that it is not known in which time ranges there are empty windows."""
        return None

    def new_memory(self, keys: int, rows_before: int = 0) -> Memory:  # noqa: ARG002 — it counts no rows
        """Return the memory of new keys."""
        return {"next": np.full(keys, NEVER, np.int64)}

    def remembers(self, memory: Memory) -> Flags:
        """Return which keys have emitted windows."""
        known: Flags = memory["next"] != NEVER
        return known
