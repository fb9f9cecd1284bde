"""Where periodic windows cut the stream: panes, pairs and Cutty, for one window or many that share slices.

An edge is a place where slices end. Edges come in families, `phase + period · n`. Each window brings its own, and windows
that are evaluated together share the slices between all of them:

    time("9m", slide="6m")                                 each window combines
    panes   │  │  │  │  │  │  │   gcd(range, slide)         range / gcd
    pairs   │  │     │  │     │   begins and ends           2 per slide
    cutty   │        │        │   begins only               ⌊range / slide⌋ + 1; the last slice is read while open

The edges of many windows repeat after the least common multiple of the periods (FlatFIT, section 2.3), which may be longer
than any stream. So Sash never builds a table of edges: it finds the next edge of a few families by arithmetic.

Local days and months have no fixed length in ticks. They are families of numbers, which a clock translates: into a sorted array of edges
over the span of the rows, as there are far fewer days than rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import reduce
from math import gcd, lcm
from typing import NamedTuple, Protocol

import numpy as np

from sash.durations import TimeUnit
from sash.windows import Window
from sash.windows.base import Cycle, Ints
from sash.windows.capabilities import Numbering

TECHNIQUES = ("cutty", "pairs", "panes")


class Marks(Protocol):
    """Places on the axis of time."""

    def numbers(self, times: Ints) -> Ints:
        """Return numbers that are equal for times of one call between the same two edges, and differ for others."""

    def before(self, times: Ints) -> Ints:
        """Return the last edge at or before each time."""


class Family(NamedTuple):
    """Edges at `phase + period · n`."""

    period: int
    phase: int

    def numbers(self, times: Ints) -> Ints:
        """Return the number of the last edge at or before each time."""
        return (times - self.phase) // self.period

    def before(self, times: Ints) -> Ints:
        """Return the last edge at or before each time."""
        return self.numbers(times) * self.period + self.phase

    def contains(self, other: Family) -> bool:
        """Return whether this family contains all edges of another one."""
        return other.period % self.period == 0 and (other.phase - self.phase) % self.period == 0

    def count_between(self, begin: int, end: int) -> int:
        """Return how many edges there are with begin < edge ≤ end."""
        return (end - self.phase) // self.period - (begin - self.phase) // self.period


class CalendarFamily(NamedTuple):
    """Edges at local days or months `phase + period · n`, such as the first of each quarter."""

    family: Family
    numbering: Numbering

    def numbers(self, times: Ints) -> Ints:
        """Return numbers that are equal for times between the same two edges, and differ for others."""
        edges = self._around(times)
        if edges is None:
            return self.family.numbers(self.numbering(times).numbers(times))
        return edges.searchsorted(times, "right")

    def before(self, times: Ints) -> Ints:
        """Return the last edge at or before each time."""
        edges = self._around(times)
        if edges is None:
            ruler = self.numbering(times)
            return ruler.final(self.family.before(ruler.numbers(times)))
        return edges[edges.searchsorted(times, "right") - 1]

    def _around(self, times: Ints) -> Ints | None:
        """Return the edges from the last one before all times on; None if they are more than the times, which are then numbered one by one."""
        if not len(times):
            return None
        limits = np.array([times.min(), times.max()])
        ruler = self.numbering(limits)
        first, last = self.family.numbers(ruler.numbers(limits)).tolist()
        if last - first >= len(times):
            return None
        return ruler.final(np.arange(first, last + 1) * self.family.period + self.family.phase)


class Edges(NamedTuple):
    """The edges of windows that share slices."""

    closing: tuple[Family, ...]
    """Where slices end."""
    reading: tuple[Family, ...]
    """Where a slice is read while it stays open: Cutty's ends of windows."""
    local_closing: tuple[CalendarFamily, ...] = ()
    """Where slices end at local days or months."""
    local_reading: tuple[CalendarFamily, ...] = ()

    @property
    def all_closing(self) -> tuple[Marks, ...]:
        """Where slices end."""
        return self.closing + self.local_closing

    @property
    def all_reading(self) -> tuple[Marks, ...]:
        """Where a slice is read while it stays open."""
        return self.reading + self.local_reading

    @property
    def cycle(self) -> int:
        """The period after which all edges repeat: the composite slide, or less if some windows bring no edges of their own."""
        return lcm(*(family.period for family in self.closing + self.reading))

    def before(self, times: Ints) -> Ints:
        """Return the last edge at or before each time that closes slices; zeros if there are none.

        >>> cut_edges([Cycle(9, 6, 9, 0)], "pairs").before(np.array([2, 3, 11])).tolist()
        [0, 3, 9]
        """
        return latest_edges(self.all_closing, times)

    def per_cycle(self) -> int:
        """Return the number of slices in a composite slide, by inclusion and exclusion over families."""
        return count_together(self.closing, 0, self.cycle)

    def slices_of(self, start: int, length: int) -> int:
        """Return how many slices the window `[start, start + length)` combines.

        >>> cut_edges([Cycle(9, 6, 9, 0)], "pairs").slices_of(0, 9)
        3
        """
        inner = count_together(self.closing, start, start + length - 1)
        return inner + 1


def latest_edges(families: Sequence[Marks], times: Ints) -> Ints:
    """Return the last edge of some families at or before each time; zeros if there are no families."""
    latest = [family.before(times) for family in families]
    return reduce(np.maximum, latest) if latest else np.zeros(len(times), np.int64)


def cut_edges(cycles: Iterable[Cycle], technique: str = "cutty") -> Edges:
    """Return the edges of windows that are evaluated together.

    >>> cut_edges([Cycle(9, 6, 9, 0)])  # doctest: +ELLIPSIS
    Edges(closing=(Family(period=6, phase=0),), reading=(Family(period=6, phase=3),)...)
    >>> cut_edges([Cycle(9, 6, 9, 0)], "pairs").closing
    (Family(period=6, phase=0), Family(period=6, phase=3))
    >>> cut_edges([Cycle(9, 6, 9, 0)], "panes").closing
    (Family(period=3, phase=0),)
    >>> cut_edges([Cycle(4, 6, 4, 0)], "pairs").closing  # the slices from 4 to 6 belong to no window
    (Family(period=6, phase=0), Family(period=6, phase=4))
    """
    closing: list[Family] = []
    reading: list[Family] = []
    for cycle in cycles:
        length, period, step, offset = cycle
        begins = Family(period, offset % period)
        ends = Family(cycle.every, (offset + length) % cycle.every)
        if technique == "panes":
            pane = gcd(period, length, step)
            closing.append(Family(pane, offset % pane))
        else:
            closing.append(begins)
            (closing if technique == "pairs" else reading).append(ends)
    closing = reduce_families(closing)
    return Edges(tuple(closing), tuple(reduce_families(reading, closing)))


def repeats(window: Window, unit: TimeUnit) -> bool:
    """Return whether windows repeat in time, in ticks or in local days or months."""
    cuts = window.cuts
    return cuts is not None and (cuts.cycle(unit) is not None or cuts.local_cycle(unit) is not None)


def edges_of(windows: Iterable[Window], unit: TimeUnit, technique: str) -> Edges | None:
    """Return the edges of windows that are evaluated together; None if some of them do not repeat in time."""
    cycles, closing, reading = [], [], []
    for window in windows:
        cycle = None if window.cuts is None else window.cuts.cycle(unit)
        local = None if window.cuts is None else window.cuts.local_cycle(unit)
        if cycle is None and local is None:
            return None
        if cycle is not None:
            cycles.append(cycle)
        elif local is not None:
            numbers = cut_edges([local.cycle], technique)
            closing += [CalendarFamily(family, local.numbering) for family in numbers.closing]
            reading += [CalendarFamily(family, local.numbering) for family in numbers.reading]
    return cut_edges(cycles, technique)._replace(local_closing=tuple(closing), local_reading=tuple(reading))


def reduce_families(families: list[Family], known: Iterable[Family] = ()) -> list[Family]:
    """Return the families without those whose edges all belong to another one."""
    kept: list[Family] = []
    for family in sorted(set(families)):  # of two, the one with the shorter period has more
        if not any(other.contains(family) for other in (*known, *kept)):
            kept.append(family)
    return kept


def count_together(families: tuple[Family, ...], begin: int, end: int) -> int:
    """Return how many different edges there are with begin < edge ≤ end.

    >>> count_together((Family(2, 0), Family(3, 0)), 0, 12)
    8
    """
    if not families:
        return 0
    first, *others = families
    common = [both for other in others if (both := meet(first, other)) is not None]
    rest = tuple(others)
    return (
        first.count_between(begin, end) + count_together(rest, begin, end) - count_together(tuple(common), begin, end)
    )


def meet(first: Family, second: Family) -> Family | None:
    """Return the edges that two families have in common, if any (the Chinese remainder theorem).

    >>> meet(Family(4, 1), Family(6, 3))
    Family(period=12, phase=9)
    """
    common = gcd(first.period, second.period)
    if (second.phase - first.phase) % common:
        return None
    period = first.period // common * second.period
    step = (second.phase - first.phase) // common * pow(first.period // common, -1, second.period // common)
    return Family(period, (first.phase + step * first.period) % period)
