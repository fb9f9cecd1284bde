"""Rows cut into slices, and windows as runs of slices.

A record is the content of a slice at one moment: when it closes, and with Cutty also when a window ends while it is open.

    rows       0 1 2 3 4 5 6 7 8 9        windows of 5 rows, every 3: begins at 0, 3, 6, ends at 5, 8
    slices     ├───┤ ├───┤ ├─────┤
    records        A   B C   D   E        B is the slice from 3 on as it is when the first window ends, after row 4
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from sash.durations import TimeUnit
from sash.slices.edges import Edges, edges_of, latest_edges, repeats
from sash.windows import Window
from sash.windows.arrays import all_set, count_before, neighbours
from sash.windows.base import FOREVER, Bounds, Flags, Ints, Items


@dataclass(frozen=True)
class SliceRecords:
    """The contents of slices at some moments, in order."""

    positions: Ints
    """The row after the last row of each record."""
    closes: Flags
    """Whether the slice closes at that moment."""
    times: Ints
    """The last edge at or before the newest row of each record; empty if slices were not cut by time."""
    firsts: Ints
    """The first record of each key, and the number of records."""

    def __len__(self) -> int:
        """Return the number of records."""
        return len(self.positions)

    @cached_property
    def all_close(self) -> bool:
        """Whether every record is of a closed slice."""
        return all_set(self.closes)


class SliceRefs(NamedTuple):
    """Windows as references to slices: the closed slices among records begins … ends - 1, and one that is read while open."""

    begins: Ints
    ends: Ints
    opens: Ints
    """The record of the open slice, or -1."""

    def select(self, chosen: Flags) -> SliceRefs:
        """Return the chosen windows."""
        return SliceRefs(self.begins[chosen], self.ends[chosen], self.opens[chosen])


def cut_by_edges(items: Items, edges: Edges, gap: int = FOREVER) -> SliceRecords:
    """Cut rows at the edges of periodic windows of time, and at gaps between rows.

    >>> from sash.slices.edges import Family
    >>> from sash.windows.base import whole_items
    >>> records = cut_by_edges(whole_items([1, 2, 11, 12]), Edges((Family(10, 0),), (Family(10, 2),)))
    >>> records.positions.tolist(), records.closes.tolist(), records.times.tolist()
    ([1, 2, 3, 4], [False, True, False, True], [0, 2, 10, 12])
    """
    times, firsts = items.times, items.firsts
    is_last = np.zeros(len(times), np.bool_)
    """Whether a slice closes after the row."""
    is_last[firsts[1:][firsts[1:] > firsts[:-1]] - 1] = True
    is_read = is_last.copy() if edges.all_reading else is_last
    for older, newer in neighbours(len(times)):
        block_times = times[older.start : newer.stop]
        if gap < FOREVER:
            is_last[older] |= block_times[1:] - block_times[:-1] > gap
        for families, marks in ((edges.all_closing, is_last), (edges.all_reading, is_read)):
            for family in families:
                number = family.numbers(block_times)
                marks[older] |= number[1:] != number[:-1]
    if edges.all_reading:
        is_read |= is_last
    last = is_read.nonzero()[0]
    before = latest_edges([*edges.all_closing, *edges.all_reading], times[last])
    return SliceRecords(last + 1, is_last[last], before, count_before(is_read, last, firsts))


def cut_by_bounds(
    items: Items, windows: Sequence[Bounds], *, early: bool, also: Iterable[Ints] = ()
) -> tuple[SliceRecords, list[SliceRefs]]:
    """Cut rows where windows begin, at the places in `also`, and, unless ends are read `early` as Cutty does, where they end.

    >>> from sash.windows.base import whole_items
    >>> five_every_three = Bounds(np.array([0, 3]), np.array([5, 8]), None, None, np.array([6]))
    >>> records, [refs] = cut_by_bounds(whole_items(range(10)), [five_every_three], early=True)
    >>> records.positions.tolist(), records.closes.tolist()
    ([3, 5, 8, 10], [True, False, False, True])
    >>> refs.ends.tolist(), refs.opens.tolist()
    ([2, 3], [1, 2])
    """
    count = int(items.firsts[-1])
    closing = np.zeros(count + 1, np.bool_)
    closing[items.firsts] = True
    reading = np.zeros(count + 1, np.bool_)
    for bounds in windows:
        closing[bounds.begins] = True
        reading[bounds.ends] = True
    for places in also:
        closing[places] = True
    if not early:
        closing |= reading
    reading |= closing
    reading[0] = False
    before = np.cumsum(reading, dtype=np.int64)
    positions = np.flatnonzero(reading)
    records = SliceRecords(positions, closing[positions], np.empty(0, np.int64), before[items.firsts])
    return records, [refs_of(records, before[bounds.begins], before[bounds.ends]) for bounds in windows]


def refs_of(records: SliceRecords, begins: Ints, ends: Ints) -> SliceRefs:
    """Return windows, given as runs of records, as references to slices."""
    if records.all_close:
        return SliceRefs(begins, ends, np.full(len(begins), -1, np.int64))
    last = ends - 1
    # The record before an empty window is not in it.
    return SliceRefs(begins, ends, np.where(records.closes[last] | (begins == ends), -1, last))


def all_closed(bounds: Bounds) -> SliceRefs:
    """Return windows over closed slices only, or over rows."""
    return SliceRefs(bounds.begins, bounds.ends, np.full(len(bounds), -1, np.int64))


def records_as_items(items: Items, records: SliceRecords) -> Items:
    """Return the records of slices of time as items, in which windows find their bounds."""
    span = replace(items.span, done=np.zeros(items.keys, np.int64), final=records.firsts[1:] - records.firsts[:-1])
    return Items(records.times, records.firsts, span, items.unit)


# -- borders: what separates stored slices while rows still arrive out of order ----------------------------------------
#
#     rows         1 2   4 │ 5 6           12 13      an edge at 5, sessions with a gap of 3
#     slices       ├─────┤   ├─┤           ├───┤      each from its first row to its last
#     a row of 9   ├─────┤   ├─────────────────┤      it is within the gap of both neighbours
#
# Two slices become one when a row arrives between them that is close to both, or when the windows that began or ended there
# are closed.


class Borders(NamedTuple):
    """What separates the slices of a key: the edges of periodic windows, and gaps longer than those of sessions."""

    edges: Edges
    gap: int = FOREVER
    """The shortest gap of sessions, in ticks."""

    def cut(self, items: Items) -> tuple[SliceRecords, Ints | None]:
        """Return rows cut into slices, and the time of the last row of each, which only sessions need.

        With sessions the time of a slice is that of its first row, else the edge before it.
        """
        records = cut_by_edges(items, self.edges, self.gap)
        if self.gap == FOREVER:
            return records, None
        ends = records.positions
        begins = np.concatenate([np.zeros(1, np.int64), ends])[:-1]
        return SliceRecords(ends, records.closes, items.times[begins], records.firsts), items.times[ends - 1]

    def between(self, times: Ints, last_times: Ints | None) -> Flags:
        """Return for each slice whether a border separates it from the slice before it, if both have the same key.

        >>> from sash.slices.edges import Family
        >>> borders = Borders(Edges((Family(10, 0),), ()), gap=3)
        >>> borders.between(np.array([1, 6, 9, 11]), np.array([2, 7, 9, 12])).tolist()
        [True, True, False, True]
        """
        apart = np.ones(len(times), np.bool_)
        edges = self.edges.before(times)
        apart[1:] = edges[1:] != edges[:-1]
        if last_times is not None and self.gap < FOREVER:
            apart[1:] |= times[1:] > last_times[:-1] + self.gap
        return apart


def borders_of(windows: Iterable[Window], unit: TimeUnit, technique: str) -> Borders:
    """Return the borders of some windows. Stored slices cannot be read while open, so pairs replace Cutty."""
    repeating, gaps = [], []
    for window in windows:
        gap = None if window.cuts is None else window.cuts.gap(unit)
        gaps += [gap] if gap is not None else []
        repeating += [window] if repeats(window, unit) else []
    edges = edges_of(repeating, unit, "panes" if technique == "panes" else "pairs")
    assert edges is not None
    return Borders(edges, min(gaps, default=FOREVER))


def latest_so_far(last_times: Ints, keys: Ints) -> Ints:
    """Return the latest row time of each slice and all slices before it of the same key: slices may overlap.

    Times plus a distance for each key ascend from key to key, so that one running maximum serves all keys.

    >>> latest_so_far(np.array([9, 3, 7]), np.array([0, 0, 1])).tolist()
    [9, 9, 7]
    """
    if not len(last_times):
        return last_times
    number = np.zeros(len(keys), np.int64)
    np.cumsum(keys[1:] != keys[:-1], out=number[1:])
    least, most = int(last_times.min()), int(last_times.max())
    if (most - least + 1) * (int(number[-1]) + 1) <= FOREVER:
        number *= most - least + 1
        return np.maximum.accumulate(last_times - least + number) - number + least
    # They are too far apart for sums of 64 bits: ranks instead of times.
    different, ranks = np.unique(last_times, return_inverse=True)
    number *= len(different)
    return different[np.maximum.accumulate(ranks + number) - number]
