"""What kernels take and return: columns, bounds and schedules of windows, results in Arrow's memory."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sash.windows.arrays import BLOCK, is_sorted

Columns = tuple[npt.NDArray[Any], ...]
Bits = npt.NDArray[np.uint8]
Positions = npt.NDArray[np.int64]

NO_BITS: Bits = np.empty(0, np.uint8)
"""The validity of columns without nulls."""
NOTHING: Positions = np.empty(0, np.int64)


@dataclass(frozen=True)
class ResultColumn:
    """One column of results. `bits` is Arrow's validity bitmap; None if no result is null."""

    values: npt.NDArray[Any]
    bits: Bits | None

    @property
    def valid(self) -> npt.NDArray[np.bool_]:
        """Which results are not null."""
        if self.bits is None:
            return np.ones(self.values.shape, np.bool_)
        rows = self.values.shape[-1]
        return np.unpackbits(self.bits, axis=-1, count=rows, bitorder="little").astype(np.bool_)


def null_if_few(values: npt.NDArray[Any], few: npt.NDArray[Any], empty: Any) -> ResultColumn:
    """Return results that are null, or `empty` if it is not None, where windows hold too few values. It changes them in place.

    `few` are these windows, as places or as flags. Loops that count the values of a window anyway mark such results themselves
    (`fuse.py`).

    >>> null_if_few(np.array([1, 2, 3]), np.array([0]), None).valid.tolist()
    [False, True, True]
    """
    is_flag = few.dtype == np.bool_
    if not (few.any() if is_flag else len(few)):
        return ResultColumn(values, None)
    values[few] = 0 if empty is None else empty
    if empty is not None:
        return ResultColumn(values, None)
    valid = ~few if is_flag else np.ones(len(values), np.bool_)
    if not is_flag:
        valid[few] = False
    return ResultColumn(values, np.packbits(valid, bitorder="little"))


def join_columns(parts: Sequence[ResultColumn]) -> ResultColumn:
    """Return the parts of a column of results as one column."""
    if len(parts) == 1:
        return parts[0]
    values = empty_array((sum(len(part.values) for part in parts),), parts[0].values.dtype)
    np.concatenate([part.values for part in parts], out=values)
    if all(part.bits is None for part in parts):
        return ResultColumn(values, None)
    return ResultColumn(values, np.packbits(np.concatenate([part.valid for part in parts]), bitorder="little"))


def shift_results(column: ResultColumn, ahead: int) -> ResultColumn:
    """Return for each row the result of the row `ahead` rows later, or earlier if it is negative; undefined where there is none.

    >>> shift_results(ResultColumn(np.array([1, 2, 3]), None), 1).values[:2].tolist()
    [2, 3]
    """
    return ResultColumn(_shifted(column.values, ahead), shift_bits(column, ahead))


def shift_bits(column: ResultColumn, ahead: int) -> Bits | None:
    """Return the validity bitmap of `shift_results`."""
    return None if column.bits is None else np.packbits(_shifted(column.valid, ahead), bitorder="little")


def _shifted(array: npt.NDArray[Any], ahead: int) -> npt.NDArray[Any]:
    kept = max(0, len(array) - abs(ahead))
    if ahead > 0:
        array[:kept] = array[len(array) - kept :]
    else:
        array[len(array) - kept :] = array[:kept]
    return array


def put_results(column: ResultColumn, places: Positions, others: ResultColumn) -> ResultColumn:
    """Return results with others at some places. It changes the values in place.

    >>> put_results(ResultColumn(np.array([1, 2, 3]), None), np.array([2]), ResultColumn(np.array([9]), None)).values.tolist()
    [1, 2, 9]
    """
    column.values[places] = others.values
    if column.bits is None and others.valid.all():
        return column
    valid = column.valid
    valid[places] = others.valid
    return ResultColumn(column.values, np.packbits(valid, bitorder="little"))


@dataclass(frozen=True)
class Schedule:
    """Windows ordered by their ends: the arguments of `loops.slide_slices`."""

    begins: Positions
    ends: Positions
    lasts: Positions
    numbers: Positions
    opens: Positions
    values: Positions
    ranges: tuple[int, ...] = ()
    """The maximum number of slices in the windows of each kind, ascending; empty if there is one kind."""

    @property
    def columns(self) -> tuple[Positions, ...]:
        """The columns, in the order of the loop's parameters."""
        return self.begins, self.ends, self.lasts, self.numbers, self.opens, self.values


def check_bounds(begins: Positions, ends: Positions, rows: int) -> int:
    """Return the length of the longest window. Raise ValueError if the bounds are invalid."""
    if len(begins) != len(ends):
        message = f"bounds has {len(begins)} begins but {len(ends)} ends. Pass one of each per window."
        raise ValueError(message)
    longest = find_longest(begins, ends)
    if longest < 0:
        message = "bounds must not move back, and no window may end before it begins."
        raise ValueError(message)
    if len(begins) and not 0 <= begins[0] <= ends[-1] <= rows:
        message = f"bounds reach from row {begins[0]} to {ends[-1]}, but the column has {rows} rows."
        raise ValueError(message)
    return longest


def find_longest(begins: Positions, ends: Positions) -> int:
    """Return the length of the longest window, or -1 if a bound moves back or a window ends before it begins.

    >>> find_longest(np.array([0, 0, 2]), np.array([1, 3, 4])), find_longest(np.array([3]), np.array([2]))
    (3, -1)
    """
    if not is_sorted(begins) or not is_sorted(ends):
        return -1
    longest = 0
    for begin in range(0, len(begins), BLOCK):
        lengths = ends[begin : begin + BLOCK] - begins[begin : begin + BLOCK]
        if lengths.min() < 0:
            return -1
        longest = max(longest, int(lengths.max()))
    return longest


def as_arrow(numbers: npt.NDArray[Any], nulls: npt.NDArray[np.bool_] | None = None) -> pa.Array:
    """Return numbers or booleans as an Arrow array, null where `nulls` is true.

    `pa.array` would import pandas if it is installed, which takes 0.3 s.

    >>> as_arrow(np.array([True, False])).to_pylist(), as_arrow(np.array([3, 1])[::-1]).to_pylist()
    ([True, False], [1, 3])
    >>> as_arrow(np.array([3, 1]), np.array([False, True])).to_pylist()
    [3, None]
    """
    is_bool = numbers.dtype == np.bool_
    data = np.packbits(numbers, bitorder="little") if is_bool else np.ascontiguousarray(numbers)
    has_nulls = nulls is not None and nulls.any()
    bits = pa.py_buffer(np.packbits(~nulls, bitorder="little")) if has_nulls and nulls is not None else None
    return pa.Array.from_buffers(pa.from_numpy_dtype(numbers.dtype), len(numbers), [bits, pa.py_buffer(data)])


def as_numpy(array: pa.Array) -> npt.NDArray[Any]:
    """Return the numbers or booleans of an Arrow array; those at nulls are not defined. `to_numpy` would import pandas.

    >>> as_numpy(pa.array([3, 1, 2])[1:]).tolist(), as_numpy(pa.array([True, False])).tolist()
    ([1, 2], [True, False])
    """
    rows = slice(array.offset, array.offset + len(array))
    data = array.buffers()[1]
    if data is None:
        return np.zeros(len(array), array.type.to_pandas_dtype())
    if array.type == pa.bool_():
        bits = np.frombuffer(data, np.uint8)
        return np.unpackbits(bits, count=rows.stop, bitorder="little")[rows].view(np.bool_)
    return np.frombuffer(data, array.type.to_pandas_dtype())[rows]


def empty_array(shape: tuple[int, ...], kind: np.dtype[Any]) -> npt.NDArray[Any]:
    """Return an uninitialised array in Arrow's memory pool, which reuses pages.

    Fresh pages cost more than the work on them: a copy of a column takes 1.3 ns per row instead of 2.5.
    """
    buffer = pa.allocate_buffer(max(1, math.prod(shape)) * kind.itemsize)
    return np.frombuffer(buffer, kind)[: math.prod(shape)].reshape(shape)


def slice_bits(bits: Bits, begin: int, rows: int) -> Bits:
    """Return the part of a validity bitmap for `rows` rows from `begin` on; none if there are no nulls.

    >>> np.unpackbits(slice_bits(np.array([0b01100110], np.uint8), 5, 3), count=3, bitorder="little").tolist()
    [1, 1, 0]
    """
    if not len(bits):
        return bits
    own = bits[begin // 8 : (begin + rows + 7) // 8]
    if begin % 8 == 0:
        return own
    valid = np.unpackbits(own, count=begin % 8 + rows, bitorder="little")[begin % 8 :]
    return np.packbits(valid, bitorder="little")


def first_missing(rows: int, missing: int) -> Bits:
    """Return the validity bitmap of rows of which only the first `missing` are null."""
    bits = np.full((rows + 7) // 8, 255, np.uint8)
    bits[: missing // 8] = 0
    if missing % 8:
        bits[missing // 8] = 255 & (255 << missing % 8)
    return bits
