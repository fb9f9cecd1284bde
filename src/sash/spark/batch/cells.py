"""Cells of the time axis: between two neighbouring edges all rows go to the same ranges, one by one or as partials."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from sash.spark.batch.split import Interval, Part
from sash.spark.schema import HASH, TICKS
from sash.windows.base import FOREVER, NEVER


@dataclass(frozen=True)
class Cells:
    """The cells of one key: the first from ever on, then one from each edge on."""

    edges: tuple[int, ...]

    def __len__(self) -> int:
        """Return the number of cells."""
        return len(self.edges) + 1

    def inside(self, intervals: Iterable[Interval]) -> Iterator[int]:
        """Yield the cells that intervals consist of."""
        for begin, end in intervals:
            yield from range(self._after(begin), self._after(end))

    def _after(self, time: int) -> int:
        """Return the cell that begins at a time, one more than there are for that of the end."""
        if time == NEVER:
            return 0
        return len(self) if time == FOREVER else bisect_left(self.edges, time) + 1


def cut_cells(parts: Iterable[Part]) -> Cells:
    """Return the cells of a key's parts."""
    edges = {edge for part in parts for each in (*part.singles, *(part.zones or ())) for edge in each}
    return Cells(tuple(sorted(edges - {NEVER, FOREVER})))


@dataclass(frozen=True)
class Split:
    """How the rows of some keys are cut, by the hashes of these keys; parts and cells are counted through all keys."""

    parts: Mapping[int, Sequence[Part]]

    @cached_property
    def all_parts(self) -> list[Part]:
        """The parts of all keys."""
        return [part for parts in self.parts.values() for part in parts]

    @cached_property
    def _cells(self) -> dict[int, tuple[int, Cells]]:
        """By key: how many cells are before its first, and its cells."""
        cells: dict[int, tuple[int, Cells]] = {}
        before = 0
        for key, parts in self.parts.items():
            cells[key] = (before, cut_cells(parts))
            before += len(cells[key][1])
        return cells

    @cached_property
    def singles(self) -> list[list[int]]:
        """By cell: the parts that are sent its rows one by one."""
        owners: list[list[int]] = [[] for _, cells in self._cells.values() for _ in range(len(cells))]
        number = 0
        for key, parts in self.parts.items():
            before, cells = self._cells[key]
            for part in parts:
                for cell in cells.inside(part.singles):
                    owners[before + cell].append(number)
                number += 1
        return owners

    @cached_property
    def between(self) -> list[list[int]]:
        """By part: the cells of which it is sent partials."""
        return [
            [before + cell for cell in cells.inside(part.between)]
            for key, (before, cells) in self._cells.items()
            for part in self.parts[key]
        ]

    @property
    def sums(self) -> list[int]:
        """The cells of which some part is sent partials."""
        return sorted({cell for cells in self.between for cell in cells})

    def cell_sql(self) -> str:
        """Return an expression for the cell of a row; of a key that isn't cut it is null."""
        cases = [
            f"WHEN {HASH} = {key} THEN {before} + {place_sql(TICKS, cells.edges)}"
            for key, (before, cells) in self._cells.items()
        ]
        return f"CASE {' '.join(cases)} END" if cases else "CAST(NULL AS INT)"

    def places_sql(self, cell: str) -> str:
        """Return an expression for the parts that are sent a row of a cell, an array.

        >>> Split({7: [Part(NEVER, 10, NEVER), Part(10, FOREVER, 6)]}).places_sql("cell")
        'element_at(array(array(0), array(0, 1), array(1)), cell + 1)'
        """
        arrays = [f"array({', '.join(map(str, parts))})" for parts in self.singles]
        return f"element_at(array({', '.join(arrays)}), {cell} + 1)" if arrays else "CAST(NULL AS ARRAY<INT>)"


def place_sql(ticks: str, edges: Sequence[int]) -> str:
    """Return an expression for how many edges are at or before a time; 0 for null.

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
