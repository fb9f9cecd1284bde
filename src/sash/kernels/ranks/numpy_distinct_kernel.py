"""The kernel that counts distinct values, with NumPy: a row counts if its value occurs nowhere before it in the window.

    row                0  1  2  3  4  5
    value              5  3  8  3  5  5
    earlier row        -  -  -  1  0  4        the newest earlier row with the same value

The window of rows 1 to 4 holds 3 8 3 5. The earlier row of the second 3 is row 1, which is in the window, so this 3 does not count. The
other three rows count: three distinct values.

In a block each row is replaced by its earlier row. A wavelet matrix (`wavelet_matrix`) of these numbers counts the rows of a window whose
earlier row lies before the window.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sash.aggregates.base import Aggregate
from sash.kernels.kernel_arrays import Positions
from sash.kernels.ranks.blocks import EqualBlocks
from sash.kernels.ranks.numpy_values_kernel import NumpyValuesKernel
from sash.kernels.ranks.wavelet_matrix import Numbers, count_up_to


class NumpyDistinctKernel(NumpyValuesKernel):
    """Windows over rows, with the results of a compiled kernel of OccurrenceTable.

    >>> from sash import agg
    >>> kernel = NumpyDistinctKernel(agg.count_distinct(), ("int64",))
    >>> [result] = kernel.slide_between((np.array([5, 3, 8, 3, 5, 5]),), np.array([0, 1, 3]), np.array([2, 5, 6]))
    >>> result.values.tolist()
    [2, 3, 2]
    """

    seconds_per_row = 0.4e-6

    def __init__(self, aggregate: Aggregate[Any], inputs: tuple[str, ...]) -> None:
        super().__init__([aggregate], inputs)
        self.results = [np.dtype(np.int64)]

    def _read_windows(self, values: Numbers, begins: Positions, ends: Positions, results: Sequence[Numbers]) -> None:
        """Write the number of distinct values of each window."""
        [numbers] = results
        earlier = find_earlier(values)
        blocks = EqualBlocks(begins, ends, len(earlier))
        in_block = np.arange(1 << blocks.bits)
        for batch in blocks.batches():
            rows = batch.starts[:, None] + in_block
            # 1 + the earlier row in the block; 0 if there is none. Rows after the last are in no window.
            numbers_in_block = earlier.take(rows, mode="clip") + 1
            numbers_in_block -= batch.starts[:, None]
            sequence = numbers_in_block.clip(0, len(in_block) - 1).ravel().astype(np.int32)
            first, after = ((bound[batch.windows] + batch.offsets).astype(np.int32) for bound in (begins, ends))
            numbers[batch.windows] = count_up_to(sequence, blocks.bits, first, after, first & (len(in_block) - 1))


def find_earlier(values: Numbers) -> Positions:
    """Return for each row the newest earlier row with the same value, -1 if there is none. NaN equals NaN, and -0.0 equals 0.0.

    >>> find_earlier(np.array([5, 3, 8, 3, 5, 5])).tolist()
    [-1, -1, -1, 1, 0, 4]
    """
    order = np.argsort(values, kind="stable")
    ordered = values[order]
    same = ordered[1:] == ordered[:-1]
    if values.dtype.kind == "f":
        same |= np.isnan(ordered[:-1])  # NaN come last
    earlier = np.full(len(values), -1)
    earlier[order[1:][same]] = order[:-1][same]
    return earlier
