"""Rows cut into slices, and windows as stretches of slices.

A record is what a slice holds at one moment: when it closes, and with Cutty also when a window ends while it is open.

    rows       0 1 2 3 4 5 6 7 8 9        windows of 5 rows, every 3: begins at 0, 3, 6, ends at 5, 8
    slices     ├───┤ ├───┤ ├─────┤
    records        A   B C   D   E        B is the slice from 3 on as it is when the first window ends, after row 4
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from sash.slices.edges import Edges
from sash.windows.base import FOREVER, Bounds, Ints, Rows, Run

Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Records:
    """What slices hold at some moments, in order."""

    positions: Ints
    """The row after the last one that is in it."""
    closes: Flags
    """Whether the slice closes then."""
    times: Ints
    """The latest edge before its newest rows; empty if slices were not cut by time."""
    firsts: Ints
    """Where the records of each key begin, and where those of the last key end."""

    def __len__(self) -> int:
        """Return the number of records."""
        return len(self.positions)

    @cached_property
    def all_close(self) -> bool:
        """Whether no slice is read while it is open."""
        return bool(self.closes.all())


@dataclass(frozen=True)
class Reads:
    """Windows as what they are combined of: the slices that close in begins … ends - 1, and one that is read while open."""

    begins: Ints
    ends: Ints
    opens: Ints
    """The record of the open slice, or -1."""

    def select(self, chosen: Flags) -> Reads:
        """Return the chosen windows."""
        return Reads(self.begins[chosen], self.ends[chosen], self.opens[chosen])


def cut_by_edges(rows: Rows, edges: Edges, run: Run, gap: int = FOREVER) -> Records:
    """Cut rows at the edges of periodic windows of time, and where more than a gap lies between two."""
    families = [*edges.closing, *edges.reading]
    periods = np.array([family.period for family in families], np.int64)
    phases = np.array([family.phase for family in families], np.int64)
    given = (rows.times, rows.firsts, periods, phases, len(edges.closing), gap)
    firsts = np.zeros(rows.keys + 1, np.int64)
    most = len(rows.times)  # room that is not written to costs nothing
    positions, closes, times = np.empty(most, np.int64), np.empty(most, np.bool_), np.empty(most, np.int64)
    count = run(find_edges)(*given, positions, closes, times, firsts)
    return Records(positions[:count].copy(), closes[:count].copy(), times[:count].copy(), firsts)


def cut_by_bounds(
    rows: Rows, windows: Sequence[Bounds], *, early: bool, also: Iterable[Ints] = ()
) -> tuple[Records, list[Reads]]:
    """Cut rows where windows begin, in some places more, and, unless ends are read `early` as Cutty does, where they end.

    >>> from sash.windows.base import whole_rows
    >>> five_every_three = Bounds(np.array([0, 3]), np.array([5, 8]), None, None, np.array([6]))
    >>> records, [reads] = cut_by_bounds(whole_rows(range(10)), [five_every_three], early=True)
    >>> records.positions.tolist(), records.closes.tolist()
    ([3, 5, 8, 10], [True, False, False, True])
    >>> reads.ends.tolist(), reads.opens.tolist()
    ([2, 3], [1, 2])
    """
    count = int(rows.firsts[-1])
    closing = np.zeros(count + 1, np.bool_)
    closing[rows.firsts] = True
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
    records = Records(positions, closing[positions], np.empty(0, np.int64), before[rows.firsts])
    return records, [reads_of(records, before[bounds.begins], before[bounds.ends]) for bounds in windows]


def reads_of(records: Records, begins: Ints, ends: Ints) -> Reads:
    """Return windows that are stretches of records as what they are combined of."""
    if records.all_close:
        return Reads(begins, ends, np.full(len(begins), -1, np.int64))
    last = ends - 1
    return Reads(begins, ends, np.where(records.closes[last], -1, last))


def all_closed(bounds: Bounds) -> Reads:
    """Return windows that need no slice while it is open."""
    return Reads(bounds.begins, bounds.ends, np.full(len(bounds), -1, np.int64))


def as_rows(rows: Rows, records: Records) -> Rows:
    """Return records of slices of time in the place of rows, for windows to find their bounds among them."""
    nothing = np.zeros(rows.keys, np.int64)
    final = np.diff(records.firsts)
    return Rows(records.times, records.firsts, {}, nothing, final, rows.after, rows.now, rows.tick, rows.time)


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
    """Write a record wherever an edge, or more than the gap, lies between two rows of a key, and return how many there are."""
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
