"""The time axis of a key split into ranges, so that several tasks share its rows.

    time    ────────────────────────────────────────────────►
    range          │  own rows of 1   │  own rows of 2   │
    task 1   ░░░░░░█████████████████████                        ░ context: rows that its windows reach back to
    task 2                      ░░░░░░░████████████████████

A task emits the windows that its range owns: those of its rows, or those that end in it. All here is arithmetic on ticks.

Windows wider than a range would bring the rows of many ranges to each task. A task needs rows one by one only where a window
of its own begins (`Zones`). All rows between are in each of its windows, or in none, and arrive as slices.

    task 2   ░░░░░░░▪▪▪▪▪▪▪▪▪▪▪▪▪▪▪▪▪▪▪████████████████████     ▪ one slice for many rows
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import pairwise

import numpy as np

from sash.durations import TimeUnit
from sash.engine.prepare import Prepared
from sash.plan.sharing import form_for
from sash.windows import Window
from sash.windows.base import FOREVER, NEVER, NO_UNIT, Interval, Ints, Reach

STEPS = 12
"""Of the binary search for bounds: the largest task is found to about a thousandth."""
TOO_MANY = 1.1
"""Times twice its share: a task with more rows than that is sent slices."""
EXACT = 2.0**53
"""Up to here floats hold all integers, so that bounds are times of rows."""


def reach_of(windows: Iterable[Window], unit: TimeUnit) -> Reach | str:
    """Return how far windows reach back together, or why that is not known.

    >>> from sash import window
    >>> reach_of([window.time(10), window.rows(3)], TimeUnit("t"))
    Reach(ticks=10, rows=2, gap=-1)
    """
    reaches = []
    for window in windows:
        if window.time_split is not None:
            reaches.append(window.time_split.reach(unit))
        elif window.frame and window.frame.looks_ahead:
            return f"{window} looks ahead, and ranges hold no rows after their own"
        else:
            return f"how far {window} reaches back is not known before its rows are read"
    return Reach(*map(max, zip(*reaches, strict=True)))


def no_partials(prepared: Prepared) -> str:
    """Return why slices cannot be sent in place of rows; empty if they can."""
    nothing = KeyAxis(np.empty(0, np.int64), np.empty(0, np.int64), 0, prepared.unit)
    for window in prepared.plan.windows.values():
        if window.time_split is None or window.time_split.begin_zones(0, 0, nothing) is None:
            return f"where {window} begins is not known before its rows are read"
    for one in prepared.plan.passes:
        for name, aggregate in one.aggregates.items():
            if form_for(aggregate, prepared.kinds).laws.suit_rows:
                return f"{name} has no small partial"
            if one.over_objects:
                return f"{name} is interpreted"
            if not all(column in prepared.kinds for column in aggregate.columns):
                return f"{name} is not of numbers"
    return ""


@dataclass(frozen=True)
class TimeRange:
    """A range of a key's time."""

    begin: int
    end: int
    """It owns the rows with begin ≤ time < end."""
    since: int
    """Its windows need rows from this time on: those before `begin` are context."""
    rows_before: int = 0
    """How many rows of the key come before these; counted only if windows count rows."""
    zones: tuple[Interval, ...] | None = None
    """Where its windows begin, before its own rows; None if all rows since then are sent."""

    @property
    def row_intervals(self) -> list[Interval]:
        """Where rows are sent one by one."""
        return [(self.since, self.end)] if self.zones is None else join_intervals([*self.zones, (self.begin, self.end)])

    @property
    def slice_intervals(self) -> list[Interval]:
        """Where slices are sent in place of rows.

        >>> TimeRange(50, 60, 10, zones=((10, 20), (30, 30))).slice_intervals
        [(20, 50)]
        """
        edges = [(self.since, self.since), *self.row_intervals]
        return [(end, begin) for (_, end), (begin, _) in pairwise(edges) if end < begin]


def join_intervals(intervals: Iterable[Interval]) -> list[Interval]:
    """Return intervals in order; adjacent ones are joined, empty ones left out.

    >>> join_intervals([(5, 7), (1, 2), (2, 4), (6, 9), (3, 3)])
    [(1, 4), (5, 9)]
    """
    joined: list[Interval] = []
    for begin, end in sorted(intervals):
        if joined and begin <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        elif begin < end:
            joined.append((begin, end))
    return joined


@dataclass(frozen=True)
class KeyAxis:
    """How many rows of a key lie before some edges on its time axis (a `TimeAxis` of windows)."""

    edges: Ints
    before: Ints
    total: int
    unit: TimeUnit = NO_UNIT
    newest: int = FOREVER
    """No row is later."""

    def rows_before(self, time: int) -> int:
        """Return how many rows lie before a time, or before the next edge after it."""
        place = int(np.searchsorted(self.edges, time))
        if place == len(self.edges):
            return self.total
        return 0 if place == 0 and time < self.edges[0] else int(self.before[place])

    def rows_sent(self, time_range: TimeRange) -> int:
        """Return about how many rows a range is sent one by one."""
        return sum(self.rows_before(end) - self.rows_before(begin) for begin, end in time_range.row_intervals)

    def edge_after(self, rows: int) -> int:
        """Return the first edge with at least `rows` rows before it; FOREVER if there is none."""
        if rows <= 0:
            return NEVER
        place = int(np.searchsorted(self.before, rows))
        return int(self.edges[place]) if place < len(self.edges) else FOREVER

    def edge_with(self, rows: int, until: int) -> tuple[int, int]:
        """Return the last edge with at least `rows` rows between it and a time, and the number of rows before it."""
        place = int(np.searchsorted(self.edges, until, side="right")) - 1  # rows until this edge come before the time
        if place < 0:
            return NEVER, 0
        place = int(np.searchsorted(self.before, self.before[place] - rows, side="right")) - 1
        return (NEVER, 0) if place < 0 else (int(self.edges[place]), int(self.before[place]))


def make_ranges(bounds: Sequence[int], reach: Reach, axis: KeyAxis | None) -> list[TimeRange]:
    """Return the ranges between bounds, with their context.

    >>> make_ranges([10, 20], Reach(4, 0, -1), None)[1].since
    6
    """
    ranges = []
    for begin, end in pairwise([NEVER, *bounds, FOREVER]):
        since, before = begin, 0
        if begin != NEVER:
            since = max(begin - reach.ticks, NEVER)
            if axis is not None:
                edge, before = axis.edge_with(reach.rows, begin)
                if edge > since:  # a window of time reaches further: count from the next edge before
                    edge, before = axis.edge_with(0, since)
                since = edge
        ranges.append(TimeRange(begin, end, since, before))
    return ranges


def as_ticks(quantiles: Iterable[float]) -> list[int]:
    """Return times from a sketch as integers; one near the largest time is rounded beyond 64 bits.

    >>> as_ticks([-(2.0**63), 7.0, 2.0**63]) == [NEVER + 1, 7, FOREVER - 1]
    True
    """
    return [min(max(int(quantile), NEVER + 1), FOREVER - 1) for quantile in quantiles]


def sample_axis(quantiles: Sequence[int], rows: int) -> KeyAxis:
    """Return the axis of `rows` rows with these quantiles."""
    edges, firsts = np.unique(np.array(quantiles, np.int64), return_index=True)
    return KeyAxis(edges, (firsts + 1) * rows // (len(quantiles) + 1), rows)


def even_bounds(quantiles: Sequence[int], ranges: int) -> list[int]:
    """Return bounds of ranges with about equally many rows; a very frequent time gets a range of its own."""
    picks = [quantiles[len(quantiles) * number // ranges] for number in range(1, ranges)] if len(quantiles) else []
    return sorted(set(picks))


def move_to_gaps(times: Mapping[int, tuple[int, int, int | None]], gap: int) -> list[int]:
    """Return bounds of ranges, moved to where a session begins.

    `found` has for each range with rows: the first and the last time, and the first time that begins a session.

    >>> move_to_gaps({0: (1, 9, None), 1: (11, 19, 15), 2: (26, 30, None)}, 3)
    [15, 26]
    """
    moved = []
    last: int | None = None
    for number in sorted(times):
        first, newest, start = times[number]
        if last is not None:
            if first - last > gap:
                moved.append(first)
            elif start is not None:
                moved.append(start)
        last = newest
    return moved


@dataclass(frozen=True)
class Zones:
    """Where the windows of ranges begin before them, for a key whose times are known approximately: the rows that a task needs one by one.

        time     ──────────────────────────────────────────────────►
        own                                   begin├────────┤end
        zone          ├────────┤                                       of time(r): begin - r … end - r
        starts        │    │    │                                      of time(r, slide=s), if they are few

    Rows between are in all windows of the range, or in none. So a task holds the rows that enter its range and those that leave
    its windows meanwhile. Bounds are chosen such that all tasks hold about equally many.
    """

    windows: tuple[Window, ...]
    axis: KeyAxis

    def of_range(self, begin: int, end: int) -> tuple[Interval, ...]:
        """Return where the windows of a range begin before it.

        >>> from sash import window
        >>> import numpy as np
        >>> axis = KeyAxis(np.arange(0, 100, 10), np.arange(0, 100, 10), 100, newest=99)
        >>> Zones((window.time(50), window.rows(30)), axis).of_range(80, 90)
        ((30, 40), (50, 60))
        """
        if begin == NEVER:
            return ()
        splits = [window.time_split for window in self.windows if window.time_split is not None]
        return tuple(zone for split in splits for zone in split.begin_zones(begin, end, self.axis) or ())

    def ranges(self, bounds: Iterable[int]) -> list[TimeRange]:
        """Return the ranges between bounds, with their zones."""
        ranges = []
        for begin, end in pairwise([NEVER, *bounds, FOREVER]):
            zones = self.of_range(begin, end)
            ranges.append(TimeRange(begin, end, min([begin, *(first for first, _ in zones)]), zones=zones))
        return ranges

    def bounds(self, ranges: int) -> list[int]:
        """Return bounds of ranges such that the largest task holds as few rows as possible."""
        share = self.axis.total / ranges
        low, high = share, 2 * share
        while (best := self._within(high, ranges)) is None:
            low, high = high, 2 * high
        for _ in range(STEPS):
            middle = (low + high) / 2
            bounds = self._within(middle, ranges)
            if bounds is None:
                low = middle
            else:
                best, high = bounds, middle
        return best

    def _within(self, most: float, ranges: int) -> list[int] | None:
        """Return bounds of ranges with at most `most` rows each, or None if there would be too many ranges."""
        places = self._places
        bounds: list[int] = []
        begin, first = NEVER, 0
        while self._rows(begin, FOREVER) > most and first < len(places):
            if len(bounds) + 1 == ranges:
                return None
            place = bisect_right(places, most, first + 1, key=partial(self._rows, begin)) - 1
            begin, first = places[place], place + 1
            bounds.append(begin)
        return None if self._rows(begin, FOREVER) > most else bounds

    def _rows(self, begin: int, end: int) -> int:
        """Return about how many rows the task of a range would hold."""
        return self.axis.rows_sent(TimeRange(begin, end, begin, zones=self.of_range(begin, end)))

    @cached_property
    def _places(self) -> list[int]:
        """Where bounds may be: at times that rows have, and after the last row where rows leave windows that are still open.

        So a range always has a row, its own or of a zone. Without one Spark would not start its task, which may own windows.
        """
        edges, newest = self.axis.edges.tolist(), self.axis.newest
        places = set(edges)
        for window in self.windows:
            split = window.time_split
            zones = split.begin_zones(0, 1 << 61, self.axis) if window.is_time and split is not None else None
            # Windows begin anywhere in a wide zone, rather than at a few places.
            if split is not None and any(begin != end for begin, end in zones or ()):
                ticks = split.reach(self.axis.unit).ticks
                places |= {edge + ticks for edge in edges if newest < edge + ticks < FOREVER}
        return sorted(places)


def most_rows(ranges: Iterable[TimeRange], axis: KeyAxis) -> int:
    """Return about how many rows the largest task is sent."""
    return max(map(axis.rows_sent, ranges))


@dataclass(frozen=True)
class RangeWindows:
    """The windows of a query, as time ranges are made for them."""

    every: tuple[Window, ...]
    reach: Reach
    has_partials: bool
    """Whether slices can be sent in place of rows."""

    def ranges(self, bounds: Sequence[int], count: int, axis: KeyAxis) -> list[TimeRange]:
        """Return the ranges of a key: between bounds, unless some task would be sent too many rows."""
        copied = make_ranges(bounds, self.reach, axis if self.reach.rows else None)
        is_crowded = most_rows(copied, axis) * count > 2 * TOO_MANY * axis.total
        is_exact = abs(axis.newest) < EXACT or not any(window.is_time for window in self.every)
        if not (self.has_partials and is_crowded and is_exact):
            return copied
        zones = Zones(self.every, axis)
        wide = zones.ranges(zones.bounds(count))
        return min(wide, copied, key=lambda ranges: most_rows(ranges, axis))
