"""What kernels are given and what they answer: columns, bounds of windows, results in Arrow's memory."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sash.kernels.plain import compile_loop

Columns = tuple[npt.NDArray[Any], ...]
Bits = npt.NDArray[np.uint8]
Positions = npt.NDArray[np.int64]

NO_BITS: Bits = np.empty(0, np.uint8)
"""For columns without nulls."""
NOTHING: Positions = np.empty(0, np.int64)


@dataclass(frozen=True)
class ResultColumn:
    """One column of results; `bits` has a 1 for each row that has one, as in Arrow, and is None if all have."""

    values: npt.NDArray[Any]
    bits: Bits | None

    @property
    def valid(self) -> npt.NDArray[np.bool_]:
        """Which rows have a result."""
        rows = self.values.shape[-1]
        if self.bits is None:
            return np.ones(self.values.shape, np.bool_)
        return np.unpackbits(self.bits, axis=-1, count=rows, bitorder="little").astype(np.bool_)


@dataclass(frozen=True)
class Schedule:
    """WindowSequence in the order of their ends, as `loops.slide_slices` takes them."""

    begins: Positions
    ends: Positions
    lasts: Positions
    numbers: Positions
    opens: Positions
    values: Positions
    ranges: tuple[int, ...] = ()
    """How many slices the windows of each number have at most, ascending; empty if there is one kind."""

    @property
    def columns(self) -> tuple[Positions, ...]:
        """The columns, in the order of the loop's parameters."""
        return self.begins, self.ends, self.lasts, self.numbers, self.opens, self.values


def check_bounds(begins: Positions, ends: Positions, rows: int) -> int:
    """Return the length of the longest window, or say what is wrong with the bounds."""
    if len(begins) != len(ends):
        message = f"There are {len(begins)} beginnings of windows but {len(ends)} ends."
        raise ValueError(message)
    longest: int = compile_loop(find_longest)(begins, ends)
    if longest < 0:
        message = "Moving bounds may not move back, and no window may end before it begins."
        raise ValueError(message)
    if len(begins) and not 0 <= begins[0] <= ends[-1] <= rows:
        message = f"Moving bounds reach from {begins[0]} to {ends[-1]}, but there are {rows} rows."
        raise ValueError(message)
    return longest


def find_longest(begins: Positions, ends: Positions) -> int:
    """Return the length of the longest window, or -1 if a bound moves back or lies before the other."""
    longest = 0
    for window in range(len(begins)):
        if ends[window] < begins[window]:
            return -1
        if window > 0 and (begins[window] < begins[window - 1] or ends[window] < ends[window - 1]):
            return -1
        longest = max(longest, ends[window] - begins[window])
    return longest


def empty_array(shape: tuple[int, ...], kind: np.dtype[Any]) -> npt.NDArray[Any]:
    """Return an array in Arrow's memory, where the results go: its pool gives pages again that were already used.

    Fresh pages cost more than the work on them: a copy of a column takes 1.3 ns a row instead of 2.5.
    """
    buffer = pa.allocate_buffer(max(1, math.prod(shape)) * kind.itemsize)
    return np.frombuffer(buffer, kind)[: math.prod(shape)].reshape(shape)


def first_missing(rows: int, missing: int) -> Bits:
    """Return the validity of rows of which only the first ones have no result."""
    bits = np.full((rows + 7) // 8, 255, np.uint8)
    bits[: missing // 8] = 0
    if missing % 8:
        bits[missing // 8] = 255 & (255 << missing % 8)
    return bits
