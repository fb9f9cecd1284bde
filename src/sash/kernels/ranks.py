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
from sash.kernels.sort import sort_rows
from sash.kernels.stretches import Between, Bounds, LastRows, Windows

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
        at_least = max(1, self.aggregate.at_least)
        results = np.zeros(len(windows), self.result)
        state = _State(0)
        for first, last, begin, end in windows.stretches():
            if len(state.ranks) < end - begin:
                del state  # before there is another one
                state = _State(end - begin)
            values = column[begin:end]
            window = state.start(values, self.source.state)
            for part, begins, ends, along in windows.parts(first, last):
                self.run(len(begins), begins, ends, along - begin, at_least, values, results[part], 0, *window)
        return results, windows.which_hold(at_least)


class _State:
    """What SortedStretch keeps, in arrays with room for so many rows, to be used for one stretch after the other."""

    def __init__(self, rows: int) -> None:
        self.leaves, nodes = lay_out(rows)
        self.keys = np.empty(rows, np.int64)
        self.ranks = np.empty(rows, np.int32)
        self.words = np.empty(nodes, np.int64)

    def start(self, values: npt.NDArray[Any], state: dict[str, str]) -> list[Any]:
        """Sort the values and return an empty window over them, as a kernel takes it."""
        order, ranks = self.keys[: len(values)], self.ranks[: len(values)]
        sort_rows(values, order, ranks)
        self.words[:] = 0
        cursors = {"begin": 0, "end": 0, "leaves": self.leaves, "word": self.leaves, "below": 0}
        arrays = {"values": values, "order": order, "ranks": ranks, "words": self.words}
        return [
            np.array([cursors[name] for name, kind in state.items() if kind == "int"]),
            *(arrays[name] for name, kind in state.items() if kind != "int"),
        ]


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
