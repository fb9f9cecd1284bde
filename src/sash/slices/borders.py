"""Borders: what separates stored slices while rows still arrive out of order: edges, and gaps between rows.

    rows         1 2   4 │ 5 6           12 13      an edge at 5, sessions with a gap of 3
    slices       ├─────┤   ├─┤           ├───┤      each from its first row to its last
    a row of 9   ├─────┤   ├─────────────────┤      it is within the gap of both neighbours

Two slices become one when a row arrives between them that is close to both, or when the windows that began or ended there
are closed.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from sash.durations import TimeUnit
from sash.slices.cuts import SliceRecords, cut_by_edges
from sash.slices.edges import Edges, cut_edges
from sash.windows import Window
from sash.windows.base import FOREVER, Flags, Ints, Items


@dataclass(frozen=True)
class Borders:
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
    cuts = [window.cuts for window in windows if window.cuts is not None]
    cycles = [cycle for cut in cuts if (cycle := cut.cycle(unit)) is not None]
    gaps = [gap for cut in cuts if (gap := cut.gap(unit)) is not None]
    return Borders(cut_edges(cycles, "panes" if technique == "panes" else "pairs"), min(gaps, default=FOREVER))


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
    latest: Ints = different[np.maximum.accumulate(ranks + number) - number]
    return latest
