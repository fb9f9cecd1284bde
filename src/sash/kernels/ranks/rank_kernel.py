"""The kernel for aggregates that are read by rank, over whole columns: it sorts blocks, where a window is a set of ranks.

Several aggregates of one column share the sorting, which takes most of the time. Each has its own window and loop.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from sash.aggregates.base import Aggregate
from sash.algorithms.sorted_block import SortedBlock, lay_out
from sash.columns.buffers import NO_BITS, Bits
from sash.kernels.kernel import Kernel
from sash.kernels.kernel_arrays import Columns, Positions, Results, check_bounds, null_if_few, without_nulls
from sash.kernels.loops import Emit, Ints, Lifted, Window
from sash.kernels.ranks.blocks import BoundedWindows, FixedLengthWindows, RankBlock, in_batches
from sash.kernels.ranks.row_sorter import RowSorter


class RankKernel(Kernel):
    """Sorts and slides, with the interface and the results of a `Kernel` of OrderStatisticsTree.

    >>> from sash import agg
    >>> import numpy as np
    >>> kernel = RankKernel(agg.median(), ("float64",))
    >>> [result] = kernel.slide_rows((np.array([3.0, 1.0, 2.0, 0.0]),), length=3)
    >>> result.values.tolist()
    [3.0, 2.0, 2.0, 1.0]
    """

    takes_keys_alone = True

    def __init__(self, aggregates: Aggregate[Any] | Sequence[Aggregate[Any]], inputs: tuple[str, ...]) -> None:
        first, *others = [aggregates] if isinstance(aggregates, Aggregate) else aggregates
        super().__init__(SortedBlock, first, inputs, slide_on)
        self.kernels: list[RankKernel] = [self, *(RankKernel(other, inputs) for other in others)]
        """One for each aggregate, which runs its loop."""

    def _compile_now(self) -> None:
        self.slide_rows((np.zeros(1, self.inputs[0]),), 1)

    def slide_rows(self, columns: Columns, length: int, validity: Bits = NO_BITS) -> Results:
        """Return each row's aggregates over the newest `length` rows."""
        rows = self._check_columns(columns)
        if len(validity) == 0:
            return self._slide(columns[0], FixedLengthWindows(rows, min(length, rows)))
        ends = np.arange(1, rows + 1)
        return self.slide_between(columns, np.maximum(ends - length, 0), ends, validity)

    def slide_between(self, columns: Columns, begins: Positions, ends: Positions, validity: Bits = NO_BITS) -> Results:
        """Return the aggregates of the rows begins[row] … ends[row] - 1 for each row."""
        rows = self._check_columns(columns)
        check_bounds(begins, ends, rows)
        present, bounds = without_nulls(validity, rows, begins, ends)
        return self._slide(columns[0][present], BoundedWindows(*bounds))

    def _slide(self, column: npt.NDArray[Any], windows: FixedLengthWindows | BoundedWindows) -> Results:
        kernels = getattr(self, "kernels", [self])  # it compiles before there are others
        results = [np.zeros(len(windows), kernel.results[0]) for kernel in kernels]
        sorter = RowSorter()
        for batch in in_batches(windows.blocks()):
            self._slide_batch(column, windows, batch, sorter, list(zip(kernels, results, strict=True)))
        return [
            null_if_few(values, windows.with_few(kernel.at_least))
            for kernel, values in zip(kernels, results, strict=True)
        ]

    def _slide_batch(
        self,
        column: npt.NDArray[Any],
        windows: FixedLengthWindows | BoundedWindows,
        batch: list[RankBlock],
        sorter: RowSorter,
        outputs: list[tuple[RankKernel, npt.NDArray[Any]]],
    ) -> None:
        """Concatenate the blocks and slide over them as one: windows go on from the last row of one block to the next."""
        pieces = [column[block.begin : block.end] for block in batch]
        values = pieces[0] if len(pieces) == 1 else np.concatenate(pieces)
        cuts = np.cumsum([0, *map(len, pieces)])
        order, ranks = sorter.sort(values, cuts)
        for kernel, results in outputs:
            window = self._start(values, order, ranks)
            for block, cut in zip(batch, cuts.tolist(), strict=False):
                for numbers, begins, ends, offset in windows.bounds(block.first, block.last):
                    ahead = offset - block.begin + cut
                    state = (kernel.progress, 0, *window)
                    kernel.run(len(begins), begins, ends, ahead, kernel.at_least, values, results[numbers], *state)

    def _start(self, values: npt.NDArray[Any], order: npt.NDArray[Any], ranks: npt.NDArray[Any]) -> list[Any]:
        """Return the state of an empty window in a sorted block, as arguments of the loop."""
        leaves, nodes = lay_out(len(values))
        cursors = {"begin": 0, "end": 0, "leaves": leaves, "word": leaves, "below": 0}
        arrays = {"values": values, "order": order, "ranks": ranks, "words": np.zeros(nodes, np.int64)}
        source = self.spec.algorithm
        numbers = np.array([cursors[name] for name in source.attributes("int")])
        return [numbers, *(arrays[name] for name in source.state if name in arrays)]


def slide_on(
    window: Window, rows: int, begins: Ints, ends: Ints, offset: int, at_least: int, lifted: Lifted, emit: Emit
) -> None:
    """Emit for each row the aggregate of the rows begins[row] + offset … ends[row] + offset - 1, from the current window on."""
    for row in range(rows):
        begin = begins[row] + offset
        end = ends[row] + offset
        while window.begin < begin and window.begin < window.end:
            window.evict()
        while window.end < end:
            window.insert(lifted(window.end))
            if window.begin < begin:  # a row between two windows is in no window
                window.evict()
        held = window.end - window.begin
        if held >= at_least:
            emit(row, held, window.query())
