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

import numpy as np

from sash.slices.edges import Edges, latest_edges
from sash.windows.arrays import count_before, neighbours
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
        return bool(self.closes.all())


@dataclass(frozen=True)
class SliceRefs:
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
    is_last[firsts[1:][np.diff(firsts) > 0] - 1] = True
    is_read = is_last.copy() if edges.reading else is_last
    for older, newer in neighbours(len(times)):
        block_times = times[older.start : newer.stop]
        if gap < FOREVER:
            is_last[older] |= block_times[1:] - block_times[:-1] > gap
        for families, marks in ((edges.closing, is_last), (edges.reading, is_read)):
            for period, phase in families:
                number = (block_times - phase) // period
                marks[older] |= number[1:] != number[:-1]
    if edges.reading:
        is_read |= is_last
    last = np.flatnonzero(is_read)
    before = latest_edges([*edges.closing, *edges.reading], times[last])
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
