"""Sorts a block of a column and gives every row its rank: equal values in any order, NaN last, -0.0 equal to 0.0.

NumPy sorts integers two to five times faster than it computes the order of rows (`argsort`). So a row is sorted as one
integer of 63 bits:

    │ the value minus the smallest value, without its lowest bits │ row │

Values that differ only in the dropped bits are then in the order of their rows. An insertion sort repairs them or, where
it would take too long, `argsort` sorts everything. The steps are compiled unchanged; interpreted, they give the same.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from sash.kernels.plain import compile_loop
from sash.windows.base import LoopCompiler

Numbers = npt.NDArray[Any]
Ints = npt.NDArray[np.int64]

KEY_BITS = 63
"""One bit less than a word, so that no key is negative."""
SAME_BITS = {"bool": "int8", "int32": "int32", "int64": "int64", "float32": "int32", "float64": "int64"}
FLOATS = {"float32": (-(2**31), 0x7F800000), "float64": (-(2**63), 0x7FF0000000000000)}
"""The bits of -0.0 and of infinity, as signed integers."""
WHOLE_NUMBERS = (0, 2**63 - 1)
"""The same for columns of integers, which need no mapping."""


class RowSorter:
    """Sorts one block after the other in the same memory: 12 bytes for each row of the longest block.

    >>> import numpy as np
    >>> order, ranks = RowSorter().sort(np.array([2.5, np.nan, -1.0, 2.0]), cuts=np.array([0, 4]))
    >>> order.tolist(), ranks.tolist()
    ([2, 3, 0, 1], [2, 3, 0, 1])
    """

    def __init__(self, run: LoopCompiler = compile_loop) -> None:
        self.run = run
        self._keys = np.empty(0, np.int64)
        self._ranks = np.empty(0, np.int32)

    def sort(self, values: Numbers, cuts: Ints) -> tuple[Ints, npt.NDArray[np.int32]]:
        """Return the rows in the order of their values, and the rank of each row; the next call overwrites both.

        Each piece between two cuts is sorted separately: its ranks start at its first row.
        """
        rows = len(values)
        row_bits = max(1, (rows - 1).bit_length())
        if len(self._ranks) < rows:
            self._ranks = np.empty(0, np.int32)  # free the old array first
            self._ranks = np.empty(rows, np.int32)
        if not self._sort_keys(values, cuts, row_bits):
            self._keys = np.empty(0, np.int64)
            self._keys = sort_arguments(values, cuts)
        order, ranks = self._keys[:rows], self._ranks[:rows]
        self.run(number_rows)(row_bits, order, ranks)
        return order, ranks

    def _sort_keys(self, values: Numbers, cuts: Ints, row_bits: int) -> bool:
        """Sort the values with their rows as keys. Return whether the order is correct."""
        rows = len(values)
        if len(self._keys) < rows:
            self._keys = np.empty(0, np.int64)
            self._keys = np.empty(rows, np.int64)
        keys = self._keys[:rows]
        numbers = values.view(SAME_BITS[values.dtype.name])
        zero, infinity = FLOATS.get(values.dtype.name, WHOLE_NUMBERS)
        low, high = self.run(find_extremes)(numbers, zero, infinity)
        nan = high + 1 if zero else high  # the largest int64 has no successor
        dropped = max(0, (nan - low).bit_length() - (KEY_BITS - row_bits))
        self.run(write_keys)(numbers, zero, infinity, low, nan, dropped, row_bits, keys)
        for begin, end in pairwise(cuts.tolist()):
            keys[begin:end].sort()
        return dropped == 0 or bool(self.run(repair_ties)(numbers, zero, infinity, row_bits, cuts, keys))


def sort_arguments(values: Numbers, cuts: Ints) -> Ints:
    """Return the rows in the order of their values, piece by piece.

    >>> sort_arguments(np.array([5, 4, 1, 3, 2]), np.array([0, 2, 5])).tolist()
    [1, 0, 2, 4, 3]
    """
    if len(cuts) == 2:  # noqa: PLR2004 — one piece, which may be long: avoid a copy
        return np.argsort(values)
    return np.concatenate([begin + np.argsort(values[begin:end]) for begin, end in pairwise(cuts.tolist())])


def ordinal(bits: int, zero: int, infinity: int) -> int:
    """Map the bits of a value to an integer with the same order; all NaN map to one integer above infinity.

    >>> import numpy as np
    >>> [ordinal(int(np.float32(x).view(np.int32)), *FLOATS["float32"]) for x in (-1e-45, -0.0, 0.0, 1e-45)]
    [-1, 0, 0, 1]
    """
    if zero == 0:
        return bits
    value = bits if bits >= 0 else zero - bits
    return value if -infinity <= value <= infinity else infinity + 1


def find_extremes(numbers: Numbers, zero: int, infinity: int) -> tuple[int, int]:
    """Return the smallest and the largest ordinal without NaN; any two numbers if all values are NaN."""
    low = infinity
    high = -infinity
    for row in range(len(numbers)):
        value = ordinal(int(numbers[row]), zero, infinity)
        low = min(low, value)
        high = max(high, value if value <= infinity else -infinity)
    return low, max(low, high)


def write_keys(
    numbers: Numbers, zero: int, infinity: int, low: int, nan: int, dropped: int, row_bits: int, keys: Ints
) -> None:
    """Write the key of each row."""
    bits = KEY_BITS - row_bits
    for row in range(len(numbers)):
        above = min(ordinal(int(numbers[row]), zero, infinity), nan) - low
        # Compiled, a difference of 2**63 or more is negative, and the shift fills in ones from the left: mask them.
        keys[row] = (((above >> dropped) & ((1 << bits) - 1)) << row_bits) | row


def repair_ties(numbers: Numbers, zero: int, infinity: int, row_bits: int, cuts: Ints, keys: Ints) -> bool:
    """Sort rows whose keys differ only in the row. Return False if that takes more than one step per row."""
    rows = len(keys)
    row_mask = (1 << row_bits) - 1
    steps = 0
    for piece in range(len(cuts) - 1):
        for place in range(int(cuts[piece]) + 1, int(cuts[piece + 1])):
            key = int(keys[place])
            if key >> row_bits == int(keys[place - 1]) >> row_bits:
                value = ordinal(int(numbers[key & row_mask]), zero, infinity)
                hole = place
                while hole > cuts[piece] and steps <= rows and key >> row_bits == int(keys[hole - 1]) >> row_bits:
                    if ordinal(int(numbers[int(keys[hole - 1]) & row_mask]), zero, infinity) <= value:
                        break
                    keys[hole] = keys[hole - 1]
                    hole -= 1
                    steps += 1
                keys[hole] = key
        if steps > rows:
            return False
    return True


def number_rows(row_bits: int, keys: Ints, ranks: npt.NDArray[np.int32]) -> None:
    """Reduce each key to its row, and write the place of the key as the rank of that row."""
    for place in range(len(keys)):
        row = int(keys[place]) & ((1 << row_bits) - 1)
        keys[place] = row
        ranks[row] = place
