"""Kernel for aggregates that are read by rank, for whole columns: sorted in stretches, where windows are sets of ranks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from sash.aggregates.base import Aggregate
from sash.algorithms.base import Algorithm
from sash.algorithms.sorted_stretch import SortedStretch, lay_out
from sash.kernels.kernel import Columns, Kernel, check_bounds
from sash.kernels.sort import RowSorter
from sash.kernels.stretches import Between, Bounds, LastRows, Stretch, Windows, in_sheets

Results = tuple[npt.NDArray[Any], npt.NDArray[np.bool_]]


class RankKernel(Kernel):
    """Sorts and slides: the interface and the results of a `Kernel` of OrderStatisticsTree, for columns known as a whole.

    >>> from sash import agg
    >>> import numpy as np
    >>> kernel = RankKernel(agg.median(), ("float64",))
    >>> kernel.slide_rows((np.array([3.0, 1.0, 2.0, 0.0]),), length=3)[0].tolist()
    [3.0, 2.0, 2.0, 1.0]
    """

    def __init__(self, aggregate: Aggregate[Any], inputs: tuple[str]) -> None:
        self.at_least = max(1, aggregate.at_least)
        super().__init__(SortedStretch, aggregate, inputs, slide_on)

    def _compile_now(self, loop: str) -> None:  # noqa: ARG002 — there is only one
        self.slide_rows((np.zeros(1, self.inputs[0]),), 1)

    def slide_rows(self, columns: Columns, length: int) -> Results:
        """Return each row's aggregate over the newest `length` rows, and which rows have one."""
        rows = self._check_columns(columns)
        return self._slide(columns[0], LastRows(rows, min(length, rows)))

    def slide_between(self, columns: Columns, begins: Bounds, ends: Bounds) -> Results:
        """Return the aggregate of the rows begins[row] … ends[row] - 1 for each row, and which rows have one."""
        check_bounds(begins, ends, self._check_columns(columns))
        return self._slide(columns[0], Between(begins, ends))

    def _slide(self, column: npt.NDArray[Any], windows: Windows) -> Results:
        results = np.zeros(len(windows), self.result)
        sorter = RowSorter()
        for sheet in in_sheets(windows.stretches()):
            self._slide_sheet(column, windows, sheet, sorter, results)
        return results, windows.which_hold(self.at_least)

    def _slide_sheet(
        self,
        column: npt.NDArray[Any],
        windows: Windows,
        sheet: list[Stretch],
        sorter: RowSorter,
        results: npt.NDArray[Any],
    ) -> None:
        """Lay the stretches one behind the other, as if they were one: windows go on from the last row of each to the next."""
        pieces = [column[stretch.begin : stretch.end] for stretch in sheet]
        values = pieces[0] if len(pieces) == 1 else np.concatenate(pieces)
        cuts = np.cumsum([0, *map(len, pieces)])
        window = self._start(values, *sorter.sort(values, cuts))
        for stretch, cut in zip(sheet, cuts.tolist(), strict=False):
            for part, begins, ends, along in windows.parts(stretch.first, stretch.last):
                ahead = along - stretch.begin + cut
                self.run(len(begins), begins, ends, ahead, self.at_least, values, results[part], 0, *window)

    def _start(self, values: npt.NDArray[Any], order: npt.NDArray[Any], ranks: npt.NDArray[Any]) -> list[Any]:
        """Return the state of an empty window in a sorted stretch, as the loop takes it."""
        leaves, nodes = lay_out(len(values))
        cursors = {"begin": 0, "end": 0, "leaves": leaves, "word": leaves, "below": 0}
        arrays = {"values": values, "order": order, "ranks": ranks, "words": np.zeros(nodes, np.int64)}
        numbers = np.array([cursors[name] for name in self.source.attributes("int")])
        return [numbers, *(arrays[name] for name in self.source.state if name in arrays)]


def slide_on(
    window: Algorithm[Any],
    rows: int,
    begins: Sequence[int],
    ends: Sequence[int],
    along: int,
    at_least: int,
    lifted: Callable[[int], Any],
    emit: Callable[[int, Any], None],
) -> None:
    """Give each row the aggregate of the rows begins[row] + along … ends[row] + along - 1, from where the window stands."""
    for row in range(rows):
        begin = begins[row] + along
        end = ends[row] + along
        while window.begin < begin and window.begin < window.end:
            window.evict()
        while window.end < end:
            window.insert(lifted(window.end))
            if window.begin < begin:  # a row between two windows: no window sees it
                window.evict()
        if window.end - window.begin >= at_least:
            emit(row, window.query())
