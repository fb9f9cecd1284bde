"""Where windows of a range begin before it: the rows that a task needs one by one, however wide its windows are.

    time     ──────────────────────────────────────────────────►
    own                                   begin├────────┤end
    zone          ├────────┤                                       of time(r): begin - r … end - r
    starts        │    │    │                                      of time(r, slide=s), where they are few

Rows between are in all windows of the range, or in none. So a task has as many rows as enter its range and leave the windows
meanwhile, and bounds are chosen such that all tasks have about as many.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import pairwise

from sash.spark.batch.split import Counted, Interval, Part, Reach, make_parts
from sash.windows import Window
from sash.windows.base import FOREVER, NEVER
from sash.windows.by_rows import LastRows
from sash.windows.by_time import Periodic, TimeOfRow

FEW = 32
"""Starts of windows that lie in one of them: up to so many, rows are cut there rather than sent one by one."""
STEPS = 12
"""Of the search for bounds: the largest task is found to a thousandth or so."""
TOO_MANY = 1.1
"""Times twice its share: with more rows than that a task is sent partials."""
EXACT = 2.0**53
"""Up to here floats hold all whole numbers, so that bounds are times of rows."""


@dataclass(frozen=True)
class Leaving:
    """Where windows begin, for a key whose times are known about."""

    windows: tuple[Window, ...]
    tick: int | None
    time: str
    counted: Counted
    newest: int
    """No row is later."""

    def zones(self, begin: int, end: int) -> tuple[Interval, ...]:
        """Return where windows of a range begin before it.

        >>> from sash import window
        >>> import numpy as np
        >>> spread = Counted(np.arange(0, 100, 10), np.arange(0, 100, 10), 100)
        >>> Leaving((window.time(50), window.rows(30)), None, "t", spread, 99).zones(80, 90)
        ((30, 40), (50, 60))
        """
        if begin == NEVER:
            return ()
        return tuple(zone for window in self.windows for zone in self._zones_of(window, begin, end))

    def _zones_of(self, window: Window, begin: int, end: int) -> list[Interval]:
        match window:
            case LastRows(range=rows):
                first, _ = self.counted.edge_with(rows - 1, begin)
                last = self.counted.edge_after(self.counted.rows_before(end) - rows)
                return [(first, max(first, min(last, begin)))]
            case TimeOfRow():
                length = window.range.in_ticks(self.tick, self.time)
                return [(begin - length, min(begin, end - length, self.newest + 1 - length))]
            case Periodic():
                length, period, step, offset = window.cycle(self.tick, self.time)
                last = min(begin, end - step)
                if length // period > FEW:
                    return [(begin - length, last)]
                first = (begin - length - offset) // period * period + period + offset
                return [(start, start) for start in range(first, last + 1, period)]
        raise NotImplementedError(window)

    def parts(self, bounds: Iterable[int]) -> list[Part]:
        """Return the ranges between bounds, and where each needs rows one by one."""
        parts = []
        for begin, end in pairwise([NEVER, *bounds, FOREVER]):
            zones = self.zones(begin, end)
            parts.append(Part(begin, end, min([begin, *(first for first, _ in zones)]), zones=zones))
        return parts

    def bounds(self, ranges: int) -> list[int]:
        """Return bounds of ranges such that the task with the most rows has as few as can be."""
        share = self.counted.total / ranges
        low, high = share, 2 * share
        while (best := self._within(high, ranges)) is None:
            low, high = high, 2 * high
        for _ in range(STEPS):
            middle = (low + high) / 2
            found = self._within(middle, ranges)
            if found is None:
                low = middle
            else:
                best, high = found, middle
        return best

    def _within(self, most: float, ranges: int) -> list[int] | None:
        """Return bounds of ranges with at most so many rows each, or None if they would be too many."""
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
        """Return how many rows the task of a range would have, about."""
        return rows_of(Part(begin, end, begin, zones=self.zones(begin, end)), self.counted)

    @cached_property
    def _places(self) -> list[int]:
        """Where bounds may be: at times that rows have, and after the last one where these leave windows that go on.

        So a range always has a row, own or of a zone. Without one Spark would not start a task, which may have windows.
        """
        edges = self.counted.edges.tolist()
        places = set(edges)
        for window in self.windows:
            if isinstance(window, Periodic):
                length, period, _, _ = window.cycle(self.tick, self.time)
                if length // period > FEW:
                    places |= {edge + length for edge in edges if self.newest < edge + length < FOREVER}
        return sorted(places)


def rows_of(part: Part, counted: Counted) -> int:
    """Return how many rows a part is sent, about."""
    return counted.rows_in(part.singles)


def is_crowded(parts: Iterable[Part], counted: Counted, ranges: int) -> bool:
    """Tell whether some part is sent more than about twice its share."""
    return max(rows_of(part, counted) for part in parts) * ranges > 2 * TOO_MANY * counted.total


@dataclass(frozen=True)
class Windows:
    """The windows of a query, as ranges are cut for them."""

    every: tuple[Window, ...]
    tick: int | None
    time: str
    reach: Reach
    has_partials: bool
    """Whether partials can be sent in place of rows."""

    def parts(self, bounds: Sequence[int], ranges: int, counted: Counted, newest: float) -> list[Part]:
        """Return the ranges of a key: between bounds, unless some task would be sent too many rows."""
        copied = make_parts(bounds, self.reach, counted if self.reach.rows else None)
        periodic = any(isinstance(window, Periodic) for window in self.every)
        if not self.has_partials or not is_crowded(copied, counted, ranges) or (periodic and abs(newest) >= EXACT):
            return copied
        latest = min(int(math.nextafter(newest, math.inf)) + 1, FOREVER - 1)
        leaving = Leaving(self.every, self.tick, self.time, counted, latest)
        wide = leaving.parts(leaving.bounds(ranges))
        return min(wide, copied, key=lambda parts: max(rows_of(part, counted) for part in parts))
