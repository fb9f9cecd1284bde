"""Where slices stay apart that are kept while rows still come out of order: at edges, and where nothing came for a while.

    rows         1 2   4 │ 5 6           12 13      an edge at 5, sessions with a gap of 3
    slices       ├─────┤   ├─┤           ├───┤      each from its first row to its last
    a row of 9   ├─────┤   ├─────────────────┤      it is within the gap of both

Slices become one when a row comes between them that is near to both, or when the windows are over that began or ended there.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sash.slices.cuts import Flags, Records, cut_by_edges
from sash.slices.edges import Edges
from sash.windows.base import FOREVER, Ints, Rows, Run


@dataclass(frozen=True)
class Borders:
    """What keeps slices of a key apart: the edges of periodic windows, and times without rows, longer than the gap of sessions."""

    edges: Edges
    gap: int = FOREVER
    """The shortest of sessions, in ticks."""

    def cut(self, rows: Rows, run: Run) -> tuple[Records, Ints]:
        """Return rows cut into slices, and when the last row of each came, which is empty unless there are sessions.

        With sessions the time of a slice is that of its first row, else the edge before it.
        """
        records = cut_by_edges(rows, self.edges, run, self.gap)
        if self.gap == FOREVER:
            return records, np.empty(0, np.int64)
        ends = records.positions
        begins = np.concatenate([np.zeros(1, np.int64), ends])[:-1]
        return Records(ends, records.closes, rows.times[begins], records.firsts), rows.times[ends - 1]

    def between(self, times: Ints, lasts: Ints) -> Flags:
        """Tell of each slice whether it stays apart from the one before it, if that is of the same key.

        >>> from sash.slices.edges import Family
        >>> borders = Borders(Edges((Family(10, 0),), ()), gap=3)
        >>> borders.between(np.array([1, 6, 9, 11]), np.array([2, 7, 9, 12])).tolist()
        [True, True, False, True]
        """
        apart = np.ones(len(times), np.bool_)
        edges = self.edges.before(times)
        apart[1:] = edges[1:] != edges[:-1]
        if self.gap < FOREVER:
            apart[1:] |= times[1:] > lasts[:-1] + self.gap
        return apart


def latest_so_far(lasts: Ints, keys: Ints, run: Run) -> Ints:
    """Return when the last row of each slice, or of one before it of the same key, came: slices may overlap.

    >>> from sash.windows.base import as_it_stands
    >>> latest_so_far(np.array([9, 3, 7]), np.array([0, 0, 1]), as_it_stands).tolist()
    [9, 9, 7]
    """
    latest = lasts.copy()
    if len(lasts):
        run(find_latest)(lasts, keys, latest)
    return latest


def find_latest(lasts: Ints, keys: Ints, latest: Ints) -> None:
    """Write the latest time of each slice and those before it of its key."""
    for place in range(len(lasts)):
        if place > 0 and keys[place] == keys[place - 1] and latest[place - 1] > lasts[place]:
            latest[place] = latest[place - 1]
