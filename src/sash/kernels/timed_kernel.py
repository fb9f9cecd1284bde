"""TimedKernel: FiBA over a whole column of rows with times, in order of arrival."""

from __future__ import annotations

from typing import Any

import numpy as np

from sash.aggregates.base import Aggregate
from sash.algorithms import FiBA
from sash.columns.buffers import NO_BITS, Bits
from sash.kernels import loops
from sash.kernels.kernel import Kernel
from sash.kernels.kernel_arrays import NOTHING, Columns, Positions, Results
from sash.kernels.kernel_state import enlarged_state

FEW_ELEMENTS = 1 << 10
"""A tree of elements begins with this much room, and grows as needed."""


class TimedKernel(Kernel):
    """The loop of FiBA.

    >>> from sash import agg
    >>> kernel = TimedKernel([agg.max()], ("float64",))
    >>> [result] = kernel.slide_times((np.array([3.0, 1.0, 2.0]),), np.array([10, 12, 11]), length=2)
    >>> result.values.tolist()
    [3.0, 1.0, 2.0]
    """

    def __init__(self, aggregates: list[Aggregate[Any]], inputs: tuple[str, ...]) -> None:
        """Compile the loop or load it from the cache."""
        super().__init__(FiBA, aggregates, inputs, loops.slide_times, nullable=True)

    def slide_times(self, columns: Columns, times: Positions, length: int, validity: Bits = NO_BITS) -> Results:
        """Return for each row, in order of arrival, the aggregates of the rows with times after newest - length."""
        rows = self._check_columns(columns)
        results = self._new_results((rows,))
        newest = np.array([np.iinfo(np.int64).min + length, 0])
        state = self.new_state((), FEW_ELEMENTS)
        while True:
            nodes = len(state.arrays["self_sizes"])
            arguments = (int(newest[1]), rows, times, length, nodes, newest, self.at_least)
            self._run(arguments, columns, validity, results, state)
            if newest[1] == rows:
                return results
            state = enlarged_state(state)

    def _compile_now(self) -> None:
        self.slide_times(tuple(np.empty(0, name) for name in self.inputs) or (np.empty(0),), NOTHING, 1)
