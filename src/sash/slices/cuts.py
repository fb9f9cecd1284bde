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

from sash.slices.edges import Edges
from sash.windows.base import FOREVER, Bounds, Flags, Ints, Items, Run
from sash.windows.numpy_forms import numpy_form_of


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


def cut_by_edges(items: Items, edges: Edges, run: Run, gap: int = FOREVER) -> SliceRecords:
    """Cut rows at the edges of periodic windows of time, and at gaps between rows."""
    families = [*edges.closing, *edges.reading]
    periods = np.array([family.period for family in families], np.int64)
    phases = np.array([family.phase for family in families], np.int64)
    given = (items.times, items.firsts, periods, phases, len(edges.closing), gap)
    firsts = np.zeros(items.keys + 1, np.int64)
    most = len(items.times)  # memory that is never written costs nothing
    positions, closes, times = np.empty(most, np.int64), np.empty(most, np.bool_), np.empty(most, np.int64)
    count = run(find_edges)(*given, positions, closes, times, firsts)
    return SliceRecords(positions[:count].copy(), closes[:count].copy(), times[:count].copy(), firsts)


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
    return SliceRefs(begins, ends, np.where(records.closes[last], -1, last))


def all_closed(bounds: Bounds) -> SliceRefs:
    """Return windows over closed slices only, or over rows."""
    return SliceRefs(bounds.begins, bounds.ends, np.full(len(bounds), -1, np.int64))


def records_as_items(items: Items, records: SliceRecords) -> Items:
    """Return the records of slices of time as items, in which windows find their bounds."""
    final = np.diff(records.firsts)
    span = replace(items.span, done=np.zeros(items.keys, np.int64), final=final)
    return Items(records.times, records.firsts, span, items.unit)


def find_edges(
    times: Ints,
    firsts: Ints,
    periods: Ints,
    phases: Ints,
    closing: int,
    gap: int,
    positions: Ints,
    closes: Flags,
    edges: Ints,
    record_firsts: Ints,
) -> int:
    """Write a record wherever an edge or a gap lies between two rows of a key. Return the number of records."""
    count = 0
    for key in range(len(firsts) - 1):
        record_firsts[key] = count
        last = firsts[key + 1]
        edge = 0
        next_edge = next_closing = FOREVER
        for row in range(firsts[key], last):
            time = times[row]
            apart = row > firsts[key] and time - times[row - 1] > gap
            if row > firsts[key] and (time >= next_edge or apart):
                positions[count] = row
                closes[count] = time >= next_closing or apart
                edges[count] = edge
                count += 1
            if row == firsts[key] or time >= next_edge:
                for family in range(len(periods)):
                    before = (time - phases[family]) // periods[family] * periods[family] + phases[family]
                    if family == 0 or before > edge:
                        edge = before
                    if family == 0 or before + periods[family] < next_edge:
                        next_edge = before + periods[family]
                    if family < closing and (family == 0 or before + periods[family] < next_closing):
                        next_closing = before + periods[family]
        if last > firsts[key]:
            positions[count] = last
            closes[count] = True
            edges[count] = edge
            count += 1
    record_firsts[len(firsts) - 1] = count
    return count


@numpy_form_of(find_edges)
def edges_in_numpy(
    times: Ints,
    firsts: Ints,
    periods: Ints,
    phases: Ints,
    closing: int,
    gap: int,
    positions: Ints,
    closes: Flags,
    edges: Ints,
    record_firsts: Ints,
) -> int:
    """Write a record wherever an edge or a gap lies between two rows of a key. Return the number of records."""
    if not len(times):
        record_firsts[:] = 0
        return 0
    is_last = np.ones(len(times), np.bool_)  # of its slice
    np.greater(times[1:] - times[:-1], gap, out=is_last[:-1])
    is_last[firsts[1:][np.diff(firsts) > 0] - 1] = True
    is_read = is_last.copy()
    for family, (period, phase) in enumerate(zip(periods.tolist(), phases.tolist(), strict=True)):
        number = (times - phase) // period
        (is_last if family < closing else is_read)[:-1] |= number[1:] != number[:-1]
    is_read |= is_last
    last = np.flatnonzero(is_read)
    count = len(last)
    positions[:count] = last + 1
    closes[:count] = is_last[last]
    before = [(times[last] - phase) // period * period + phase for period, phase in zip(periods, phases, strict=True)]
    edges[:count] = np.maximum.reduce(before) if before else 0
    record_firsts[:] = np.searchsorted(positions[:count], firsts, side="right")
    return count
