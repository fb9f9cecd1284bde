"""Where the windows of a time range begin before it: the rows that a task needs one by one, however wide its windows are.

    time     ──────────────────────────────────────────────────►
    own                                   begin├────────┤end
    zone          ├────────┤                                       of time(r): begin - r … end - r
    starts        │    │    │                                      of time(r, slide=s), if they are few

Rows between are in all windows of the range, or in none. So a task holds the rows that enter its range and those that leave
its windows meanwhile. Bounds are chosen such that all tasks hold about equally many.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import pairwise

from sash.windows import Window
from sash.windows.base import FOREVER, NEVER, Interval, Reach
from sash.windows.capabilities import TimeSplit
from sash.workers.time_ranges import KeyAxis, TimeRange, make_ranges

STEPS = 12
"""Of the binary search for bounds: the largest task is found to about a thousandth."""
TOO_MANY = 1.1
"""Times twice its share: a task with more rows than that is sent slices."""
EXACT = 2.0**53
"""Up to here floats hold all integers, so that bounds are times of rows."""


@dataclass(frozen=True)
class Zones:
    """Where the windows of ranges begin, for a key whose times are known approximately."""

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
            if window.is_time and split is not None and self._has_wide_zone(split):
                ticks = split.reach(self.axis.unit).ticks
                places |= {edge + ticks for edge in edges if newest < edge + ticks < FOREVER}
        return sorted(places)

    def _has_wide_zone(self, split: TimeSplit) -> bool:
        """Return whether windows begin anywhere in an interval, rather than at a few places."""
        zones = split.begin_zones(0, 1 << 61, self.axis)
        return zones is not None and any(begin != end for begin, end in zones)


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
