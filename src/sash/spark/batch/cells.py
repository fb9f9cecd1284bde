"""Cells of the time axis: all rows between two neighbouring edges go to the same ranges, one by one or as slices."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from sash.windows.base import FOREVER, NEVER, Interval
from sash.workers.own_columns import HASH, TICKS
from sash.workers.time_ranges import TimeRange


@dataclass(frozen=True)
class Cells:
    """The cells of one key: one before the first edge, then one from each edge on."""

    edges: tuple[int, ...]

    def __len__(self) -> int:
        """Return the number of cells."""
        return len(self.edges) + 1

    def inside(self, intervals: Iterable[Interval]) -> Iterator[int]:
        """Yield the cells that intervals consist of."""
        for begin, end in intervals:
            yield from range(self._after(begin), self._after(end))

    def _after(self, time: int) -> int:
        """Return the cell that begins at a time; the number of cells for FOREVER."""
        if time == NEVER:
            return 0
        return len(self) if time == FOREVER else bisect_left(self.edges, time) + 1


def cut_cells(ranges: Iterable[TimeRange]) -> Cells:
    """Return the cells of a key's ranges."""
    edges = {edge for one in ranges for each in (*one.singles, *(one.zones or ())) for edge in each}
    return Cells(tuple(sorted(edges - {NEVER, FOREVER})))


@dataclass(frozen=True)
class RangeSplit:
    """The ranges of some keys, by the hashes of the keys; ranges and cells are numbered through all keys."""

    ranges: Mapping[int, Sequence[TimeRange]]

    @cached_property
    def all_ranges(self) -> list[TimeRange]:
        """The ranges of all keys."""
        return [one for ranges in self.ranges.values() for one in ranges]

    @cached_property
    def _cells(self) -> dict[int, tuple[int, Cells]]:
        """By key: the number of cells before its first, and its cells."""
        cells: dict[int, tuple[int, Cells]] = {}
        before = 0
        for key, ranges in self.ranges.items():
            cells[key] = (before, cut_cells(ranges))
            before += len(cells[key][1])
        return cells

    @cached_property
    def singles(self) -> list[list[int]]:
        """By cell: the ranges that are sent its rows one by one."""
        owners: list[list[int]] = [[] for _, cells in self._cells.values() for _ in range(len(cells))]
        number = 0
        for key, ranges in self.ranges.items():
            before, cells = self._cells[key]
            for one in ranges:
                for cell in cells.inside(one.singles):
                    owners[before + cell].append(number)
                number += 1
        return owners

    @cached_property
    def between(self) -> list[list[int]]:
        """By range: the cells of which it is sent slices."""
        return [
            [before + cell for cell in cells.inside(one.between)]
            for key, (before, cells) in self._cells.items()
            for one in self.ranges[key]
        ]

    @property
    def sliced_cells(self) -> list[int]:
        """The cells of which some range is sent slices."""
        return sorted({cell for cells in self.between for cell in cells})

    def cell_sql(self) -> str:
        """Return an SQL expression for the cell of a row; null for a key that is not split."""
        cases = [
            f"WHEN {HASH} = {key} THEN {before} + {place_sql(TICKS, cells.edges)}"
            for key, (before, cells) in self._cells.items()
        ]
        return f"CASE {' '.join(cases)} END" if cases else "CAST(NULL AS INT)"

    def places_sql(self, cell: str) -> str:
        """Return an SQL expression for the array of ranges that are sent a row of a cell.

        >>> RangeSplit({7: [TimeRange(NEVER, 10, NEVER), TimeRange(10, FOREVER, 6)]}).places_sql("cell")
        'element_at(array(array(0), array(0, 1), array(1)), cell + 1)'
        """
        arrays = [f"array({', '.join(map(str, numbers))})" for numbers in self.singles]
        return f"element_at(array({', '.join(arrays)}), {cell} + 1)" if arrays else "CAST(NULL AS ARRAY<INT>)"


def place_sql(ticks: str, edges: Sequence[int]) -> str:
    """Return an SQL expression for the number of edges at or before a time; 0 for null.

    >>> place_sql("t", [10, 20])
    'CASE WHEN t >= 10 THEN CASE WHEN t >= 20 THEN 2 ELSE 1 END ELSE 0 END'
    """

    def between(low: int, high: int) -> str:
        if low == high:
            return str(low)
        middle = (low + high + 1) // 2
        edge = edges[middle - 1]
        return f"CASE WHEN {ticks} >= {edge} THEN {between(middle, high)} ELSE {between(low, middle - 1)} END"

    return between(0, len(edges))
