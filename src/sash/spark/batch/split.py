"""The time axis of a key cut into ranges, so that many tasks share its rows.

    time    ────────────────────────────────────────────────►
    range          │  own rows of 1   │  own rows of 2   │
    task 1   ░░░░░░█████████████████████                        ░ rows that its windows reach back to
    task 2                      ░░░░░░░████████████████████

A task answers the windows that are its own: of its rows, or that end in its range. All here is arithmetic on ticks.

Windows wider than a range would bring the rows of many ranges to each task. Of those only the ones are needed at which a
window of its own begins (zones.py); all that lies between is in each of its windows, or in none, and comes as partials.

    task 2   ░░░░░░░▪▪▪▪▪▪▪▪▪▪▪▪▪▪▪▪▪▪▪████████████████████     ▪ one partial for many rows
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from sash.windows import Window
from sash.windows.base import FOREVER, NEVER, Ints
from sash.windows.by_gap import Session
from sash.windows.by_rows import EveryRows, LastRows
from sash.windows.by_time import Periodic, TimeOfRow

Interval = tuple[int, int]
"""Times, the second not included."""


@dataclass(frozen=True)
class Reach:
    """How far windows look back from what they belong to."""

    ticks: int
    rows: int
    gap: int
    """Where rows are further apart than this, no session goes on; -1 if there are no sessions."""


def reach_of(windows: Iterable[Window], tick: int | None, time: str) -> Reach | str:
    """Return how far windows look back, or why that isn't known: a sentence.

    >>> from sash import window
    >>> reach_of([window.time(10), window.rows(3)], None, "t")
    Reach(ticks=10, rows=2, gap=-1)
    """
    ticks, rows, gap = 0, 0, -1
    for window in windows:
        match window:
            case TimeOfRow() | Periodic():
                ticks = max(ticks, window.range.in_ticks(tick, time))
            case LastRows() | EveryRows():
                rows = max(rows, window.range - 1)
            case Session():
                gap = max(gap, window.gap.in_ticks(tick, time))
            case _:
                return f"how far {window} reaches back is not known before its rows are seen"
    return Reach(ticks, rows, gap)


@dataclass(frozen=True)
class Part:
    """A range of a key's time."""

    begin: int
    end: int
    """Its own rows are those with begin ≤ time < end."""
    since: int
    """Its windows need rows from here on."""
    rows_before: int = 0
    """How many rows of the key come before these; counted only where windows count rows."""
    zones: tuple[Interval, ...] | None = None
    """Where windows of its own begin, before its own rows; None if all rows since then are sent."""

    @property
    def singles(self) -> list[Interval]:
        """Where rows are sent one by one."""
        return [(self.since, self.end)] if self.zones is None else join([*self.zones, (self.begin, self.end)])

    @property
    def between(self) -> list[Interval]:
        """Where partials are sent in place of rows.

        >>> Part(50, 60, 10, zones=((10, 20), (30, 30))).between
        [(20, 50)]
        """
        edges = [(self.since, self.since), *self.singles]
        return [(end, begin) for (_, end), (begin, _) in pairwise(edges) if end < begin]


def join(intervals: Iterable[Interval]) -> list[Interval]:
    """Return intervals in order, with those that touch as one, and without those that are empty.

    >>> join([(5, 7), (1, 2), (2, 4), (6, 9), (3, 3)])
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
class Counted:
    """How many rows of a key lie before some edges on its time axis."""

    edges: Ints
    before: Ints
    total: int

    def rows_before(self, time: int) -> int:
        """Return how many rows lie before a time, or before the next edge if it is none itself."""
        place = int(np.searchsorted(self.edges, time))
        if place == len(self.edges):
            return self.total
        return 0 if place == 0 and time < self.edges[0] else int(self.before[place])

    def rows_in(self, intervals: Iterable[Interval]) -> int:
        """Return how many rows lie in intervals, about."""
        return sum(self.rows_before(end) - self.rows_before(begin) for begin, end in intervals)

    def edge_after(self, rows: int) -> int:
        """Return the first edge that so many rows lie before; FOREVER if none has."""
        if rows <= 0:
            return NEVER
        place = int(np.searchsorted(self.before, rows))
        return int(self.edges[place]) if place < len(self.edges) else FOREVER

    def edge_with(self, rows: int, until: int) -> tuple[int, int]:
        """Return the last edge with at least so many rows from it until a time, and how many rows come before it."""
        place = int(np.searchsorted(self.edges, until, side="right")) - 1  # rows until this edge come before the time
        if place < 0:
            return NEVER, 0
        place = int(np.searchsorted(self.before, self.before[place] - rows, side="right")) - 1
        return (NEVER, 0) if place < 0 else (int(self.edges[place]), int(self.before[place]))


def make_parts(bounds: Sequence[int], reach: Reach, counted: Counted | None) -> list[Part]:
    """Return the ranges between bounds, and how far back each needs rows.

    >>> make_parts([10, 20], Reach(4, 0, -1), None)[1].since
    6
    """
    parts = []
    for begin, end in pairwise([NEVER, *bounds, FOREVER]):
        since, before = begin, 0
        if begin != NEVER:
            since = max(begin - reach.ticks, NEVER)
            if counted is not None:
                edge, before = counted.edge_with(reach.rows, begin)
                if edge > since:  # the window of time reaches further: its rows are counted from the next edge before
                    edge, before = counted.edge_with(0, since)
                since = edge
        parts.append(Part(begin, end, since, before))
    return parts


def sample(quantiles: Sequence[float], rows: int) -> Counted:
    """Return about how many rows lie before quantiles of so many."""
    edges, firsts = np.unique(np.array(quantiles, np.int64), return_index=True)
    return Counted(edges, (firsts + 1) * rows // (len(quantiles) + 1), rows)


def even_bounds(quantiles: Sequence[float], ranges: int) -> list[int]:
    """Return bounds of ranges with about equally many rows; times that come very often have a range of their own."""
    picks = [quantiles[len(quantiles) * number // ranges] for number in range(1, ranges)] if len(quantiles) else []
    return sorted({int(pick) for pick in picks})


def move_to_gaps(found: Mapping[int, tuple[int, int, int | None]], gap: int) -> list[int]:
    """Return bounds of ranges moved on to where no session goes on.

    Of ranges that have rows is known: the first and the last time, and the first that begins a session there.

    >>> move_to_gaps({0: (1, 9, None), 1: (11, 19, 15), 2: (26, 30, None)}, 3)
    [15, 26]
    """
    moved = []
    last: int | None = None
    for number in sorted(found):
        first, newest, start = found[number]
        if last is not None:
            if first - last > gap:
                moved.append(first)
            elif start is not None:
                moved.append(start)
        last = newest
    return moved


def first_start(times: Ints, gap: int) -> int | None:
    """Return the first of sorted times that comes more than `gap` after the one before.

    >>> first_start(np.array([1, 2, 9, 20]), 5)
    9
    """
    starts = np.flatnonzero(np.diff(times) > gap)
    return int(times[starts[0] + 1]) if len(starts) else None
