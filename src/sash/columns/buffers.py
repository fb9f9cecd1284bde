"""Columns of numbers in Arrow's memory as NumPy arrays and back, and validity bitmaps. Nothing here imports pandas."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Bits = npt.NDArray[np.uint8]
"""Arrow's validity bitmap; empty if there are no nulls."""
Flags = npt.NDArray[np.bool_]
NO_BITS: Bits = np.empty(0, np.uint8)
SMALL = 1 << 12
"""The number of items from which on an array has pages of memory of its own."""
ALL_VALID = 255
"""Eight rows without a null, in a validity bitmap."""


def as_arrow(numbers: npt.NDArray[Any], nulls: Flags | None = None) -> pa.Array:
    """Return numbers or booleans as an Arrow array, null where `nulls` is true.

    `pa.array` would import pandas if it is installed, which takes 0.3 s.

    >>> as_arrow(np.array([True, False])).to_pylist(), as_arrow(np.array([3, 1])[::-1]).to_pylist()
    ([True, False], [1, 3])
    >>> as_arrow(np.array([3, 1]), np.array([False, True])).to_pylist()
    [3, None]
    """
    has_nulls = nulls is not None and nulls.any()
    return from_bits(numbers, pack(~nulls) if has_nulls and nulls is not None else NO_BITS)


def from_bits(numbers: npt.NDArray[Any], bits: Bits) -> pa.Array:
    """Return numbers or booleans with a validity bitmap as an Arrow array."""
    data = pack(numbers) if numbers.dtype == np.bool_ else np.ascontiguousarray(numbers)
    validity = pa.py_buffer(np.ascontiguousarray(bits)) if len(bits) else None
    return pa.Array.from_buffers(pa.from_numpy_dtype(numbers.dtype), len(numbers), [validity, pa.py_buffer(data)])


def binary_array(values: Sequence[Any], dtype: pa.DataType) -> pa.Array:
    """Return bytes as an Arrow array of binary data or text. `pa.array` would import pandas.

    >>> binary_array([b"day", b"Stunde", b""], pa.string()).to_pylist()
    ['day', 'Stunde', '']
    """
    ends = np.cumsum([0, *map(len, values)], dtype=np.int32)
    buffers = [None, pa.py_buffer(ends), pa.py_buffer(b"".join(values))]
    return pa.Array.from_buffers(dtype, len(values), buffers)


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
        return unpack(np.frombuffer(data, np.uint8), rows.stop)[rows]
    return np.frombuffer(data, array.type.to_pandas_dtype())[rows]


def empty_array(shape: tuple[int, ...], dtype: np.dtype[Any]) -> npt.NDArray[Any]:
    """Return an uninitialised array in Arrow's memory pool, which reuses pages.

    Fresh pages cost more than the work on them: a copy of a column takes 1.3 ns per row instead of 2.5. Small arrays have no pages of their
    own, and NumPy allocates them in a tenth of the time.
    """
    items = math.prod(shape)
    if items < SMALL:
        return np.empty(shape, dtype)
    return np.frombuffer(pa.allocate_buffer(items * dtype.itemsize), dtype).reshape(shape)


def pack(valid: Flags) -> Bits:
    """Return flags as a validity bitmap; those of several lines as one bitmap per line."""
    return np.packbits(valid, axis=-1, bitorder="little")


def unpack(bits: Bits, rows: int) -> Flags:
    """Return which rows are not null.

    >>> unpack(np.array([0b101], np.uint8), 3).tolist(), unpack(NO_BITS, 2).tolist()
    ([True, False, True], [True, True])
    """
    if not len(bits):
        return np.ones(rows, np.bool_)
    return np.unpackbits(bits, axis=-1, count=rows, bitorder="little").view(np.bool_)


def all_valid(bits: Bits, rows: int) -> bool:
    """Return whether a validity bitmap marks no row as null.

    It counts bytes, which takes a fraction of the time of a reduction in NumPy if there are few.

    >>> all_valid(np.array([255, 0b011], np.uint8), 10), all_valid(np.array([255, 0b011], np.uint8), 11)
    (True, False)
    """
    whole, others = divmod(rows, 8)
    marks, rest = bits.tobytes(), (1 << others) - 1
    return marks.count(ALL_VALID, 0, whole) == whole and (not others or marks[whole] & rest == rest)


def slice_bits(bits: Bits, begin: int, rows: int) -> Bits:
    """Return the part of a validity bitmap for `rows` rows from `begin` on; none if there are no nulls.

    >>> unpack(slice_bits(np.array([0b01100110], np.uint8), 5, 3), 3).tolist()
    [True, True, False]
    """
    if not len(bits):
        return bits
    own = bits[begin // 8 : (begin + rows + 7) // 8]
    return own if begin % 8 == 0 else pack(unpack(own, begin % 8 + rows)[begin % 8 :])
