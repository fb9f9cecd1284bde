"""Cells of the time axis: all rows between two neighbouring edges go to the same ranges, one by one or as slices."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from sash.windows.base import FOREVER, NEVER, Interval
from sash.workers.own_columns import HASH, RANGE, TICKS
from sash.workers.time_ranges import TimeRange


@dataclass(frozen=True)
class RangeSplit:
    """The ranges of some keys, by the hashes of the keys. Ranges and cells are numbered through all keys."""

    ranges: Mapping[int, Sequence[TimeRange]]

    @cached_property
    def numbered(self) -> list[tuple[int, TimeRange]]:
        """All ranges, with their keys, in the order of their numbers."""
        return [(key, time_range) for key, ranges in self.ranges.items() for time_range in ranges]

    @cached_property
    def cells(self) -> dict[int, tuple[int, list[int]]]:
        """By key: the number of its first cell, and where each of its cells begins."""
        cells: dict[int, tuple[int, list[int]]] = {}
        first = 0
        for key, ranges in self.ranges.items():
            intervals = [
                interval for time_range in ranges for interval in (*time_range.row_intervals, *(time_range.zones or ()))
            ]
            begins = sorted({NEVER, *(edge for interval in intervals for edge in interval)} - {FOREVER})
            cells[key] = first, begins
            first += len(begins)
        return cells

    def _inside(self, key: int, intervals: Iterable[Interval]) -> Iterator[int]:
        """Yield the cells of a key that intervals consist of."""
        first, begins = self.cells[key]
        for begin, end in intervals:
            yield from range(first + bisect_left(begins, begin), first + bisect_left(begins, end))

    def ranges_by_cell(self, *, owned: bool = False) -> list[list[int]]:
        """Return, by cell, the ranges that are sent its rows one by one; or the one range that owns them."""
        ranges: list[list[int]] = [[] for _, begins in self.cells.values() for _ in begins]
        for number, (key, time_range) in enumerate(self.numbered):
            for cell in self._inside(key, [(time_range.begin, time_range.end)] if owned else time_range.row_intervals):
                ranges[cell].append(number)
        return ranges

    @cached_property
    def slice_cells(self) -> list[list[int]]:
        """By range: the cells of which it is sent slices."""
        return [[*self._inside(key, time_range.slice_intervals)] for key, time_range in self.numbered]

    @property
    def sliced_cells(self) -> list[int]:
        """The cells of which some range is sent slices."""
        return sorted({cell for cells in self.slice_cells for cell in cells})

    def cell_sql(self) -> str:
        """Return an SQL expression for the cell of a row; null for a key that is not split."""
        cases = [
            f"WHEN {HASH} = {key} THEN {first} + {place_sql(begins[1:])}" for key, (first, begins) in self.cells.items()
        ]
        return f"CASE {' '.join(cases)} END" if cases else "CAST(NULL AS INT)"

    def ranges_sql(self, *, owned: bool = False) -> str:
        """Return an SQL expression for the ranges that are sent a row of a cell; or for the one range that owns the row.

        >>> split = RangeSplit({7: [TimeRange(NEVER, 10, NEVER), TimeRange(10, FOREVER, 6)]})
        >>> split.ranges_sql()
        'element_at(array(array(0), array(0, 1), array(1)), sash_range + 1)'
        >>> split.ranges_sql(owned=True)
        'element_at(array(array(0), array(0), array(1)), sash_range + 1)'
        """
        arrays = [f"array({', '.join(map(str, numbers))})" for numbers in self.ranges_by_cell(owned=owned)]
        return f"element_at(array({', '.join(arrays)}), {RANGE} + 1)" if arrays else "CAST(NULL AS ARRAY<INT>)"


def place_sql(edges: Sequence[int]) -> str:
    """Return an SQL expression for the number of edges at or before the time of a row; 0 for null.

    >>> place_sql([10, 20])
    'CASE WHEN sash_ticks >= 10 THEN CASE WHEN sash_ticks >= 20 THEN 2 ELSE 1 END ELSE 0 END'
    """

    def between(low: int, high: int) -> str:
        if low == high:
            return str(low)
        middle = (low + high + 1) // 2
        return (
            f"CASE WHEN {TICKS} >= {edges[middle - 1]} THEN {between(middle, high)} ELSE {between(low, middle - 1)} END"
        )

    return between(0, len(edges))
