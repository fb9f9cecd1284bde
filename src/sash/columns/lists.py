"""Columns of lists and maps from runs of a column, and list views.

A list view says where each list is in a column, so that lists of overlapping windows take no copy. Results have plain lists: these are made
last, in the order that users see (`plain_lists`).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sash.columns.buffers import NO_BITS, as_arrow, as_numpy, empty_array, from_bits, pack
from sash.columns.column_types import column_type
from sash.windows.arrays import ranges
from sash.windows.base import Flags, Ints

MOST_OFFSET = (1 << 31) - 1
"""The values that the lists of an array can hold, and the bytes of its text."""
LONG = 24
"""Runs of this length or more, on average, are copied one by one; shorter ones faster value by value."""
WORDS = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}
"""The types as which values are copied, by the size of a value."""


def list_view(values: pa.Array, begins: Ints, counts: Ints, valid: Flags) -> pa.Array:
    """Return a list for each run of values; null where it is not valid.

    >>> view = list_view(pa.array([5, 6, 7]), np.array([0, 1, 0]), np.array([2, 2, 0]), np.array([True, True, False]))
    >>> plain_lists(view).to_pylist()
    [[5, 6], [6, 7], None]
    """
    columns = [as_arrow(column.astype(np.int32)) for column in (begins, counts)]
    return pa.ListViewArray.from_arrays(*columns, values, mask=None if valid.all() else as_arrow(~valid))


def plain_lists(column: pa.Array, positions: Ints | None = None) -> pa.Array:
    """Return a column with lists in place of list views, at some positions if they are given.

    Arrow's own cast ignores where views begin.

    >>> view = pa.ListViewArray.from_arrays(pa.array([1, 0]), pa.array([2, 1]), pa.array(["a", "b", "c"]))
    >>> plain_lists(view).to_pylist(), plain_lists(view, np.array([1])).to_pylist(), plain_lists(pa.array([3])).to_pylist()
    ([['b', 'c'], ['a']], [['a']], [3])
    """
    if not isinstance(column, pa.ListViewArray):
        return column if positions is None else column.take(as_arrow(positions))
    begins, counts = (as_numpy(column.offsets), as_numpy(column.sizes))
    valid = as_numpy(column.is_valid())
    if positions is not None:
        begins, counts, valid = begins[positions], counts[positions], valid[positions]
    counts = np.where(valid, counts, 0).astype(np.int64)
    return lists_of(gather_runs(column.values, begins.astype(np.int64), counts), counts, valid)


def lists_of(values: pa.Array, counts: Ints, valid: Flags) -> pa.Array:
    """Return lists of values that are one after the other; null where it is not valid.

    >>> lists_of(pa.array([5, 6, 7]), np.array([2, 0, 1]), np.array([True, False, True])).to_pylist()
    [[5, 6], None, [7]]
    """
    offsets = from_bits(offsets_of(counts), NO_BITS if valid.all() else pack(np.append(valid, True)))
    return pa.ListArray.from_arrays(offsets, values)


def maps_of(keys: pa.Array, items: pa.Array, counts: Ints, valid: Flags) -> pa.Array:
    """Return maps of keys and items that are one after the other; null where it is not valid."""
    offsets = from_bits(offsets_of(counts), NO_BITS if valid.all() else pack(np.append(valid, True)))
    return pa.MapArray.from_arrays(offsets, keys, items)


def text_of(joined: pa.Array, begins: Ints, ends: Ints, behind: int, valid: Flags) -> pa.Array:
    """Return the text of each run of a column, without the last bytes, as many as `behind`; null where it is not valid.

    >>> words = pa.array(["a, ", "bc, ", "d, "])
    >>> text_of(words, np.array([0, 1]), np.array([2, 3]), 2, np.array([True, True])).to_pylist()
    ['a, bc', 'bc, d']
    """
    offsets, data = _bytes_of(joined)
    first = offsets[begins].astype(np.int64)
    counts = np.where(valid, offsets[ends] - first - behind, 0)
    text = _gather(data, first, counts)
    buffers = [None if valid.all() else pa.py_buffer(pack(valid)), pa.py_buffer(offsets_of(counts)), pa.py_buffer(text)]
    return pa.Array.from_buffers(pa.string(), len(counts), buffers)


def offsets_of(counts: Ints) -> npt.NDArray[np.int32]:
    """Return where each list begins, and where the last one ends. Raise OverflowError if all together are too long.

    >>> offsets_of(np.array([2, 0, 1])).tolist()
    [0, 2, 2, 3]
    """
    total = int(counts.sum())
    if total > MOST_OFFSET:
        raise OverflowError(
            f"The lists of {len(counts):,} windows hold {total:,} values or bytes, but an array of Arrow holds 2^31 - 1. Use shorter "
            "windows, or run the query on fewer rows at a time."
        )
    offsets = np.zeros(len(counts) + 1, np.int32)
    np.cumsum(counts, out=offsets[1:])
    return offsets


# -- copies ------------------------------------------------------------------------------------------------------------


def gather_runs(values: pa.Array, begins: Ints, counts: Ints) -> pa.Array:
    """Return the values of runs, one run after the other.

    >>> gather_runs(pa.array(["a", "bc", "d"]), np.array([1, 0]), np.array([2, 2])).to_pylist()
    ['bc', 'd', 'a', 'bc']
    """
    total, dtype = int(counts.sum()), values.type
    offsets_of(counts)
    is_long = total >= max(1, LONG * len(counts))
    if is_long and not values.null_count and dtype in (pa.string(), pa.binary()):
        offsets, data = _bytes_of(values)
        first = offsets[begins].astype(np.int64)
        text = _gather(data, first, offsets[begins + counts] - first)
        ends = offsets_of(_gather(np.diff(offsets), begins, counts))
        return pa.Array.from_buffers(dtype, total, [None, pa.py_buffer(ends), pa.py_buffer(text)])
    if (
        is_long
        and not values.null_count
        and column_type(dtype).numbers is not None
        and dtype.bit_width in (8, 16, 32, 64)
    ):
        words = np.frombuffer(values.buffers()[1], WORDS[dtype.bit_width // 8])[
            values.offset : values.offset + len(values)
        ]
        return pa.Array.from_buffers(dtype, total, [None, pa.py_buffer(_gather(words, begins, counts))])
    return values.take(as_arrow(ranges(begins, counts)))


def _gather(values: npt.NDArray[Any], begins: Ints, counts: Ints) -> npt.NDArray[Any]:
    """Return the numbers of runs, one run after the other."""
    total = int(counts.sum())
    if total < LONG * len(counts):
        return values.take(ranges(begins, counts))
    gathered = empty_array((total,), values.dtype)
    place = 0
    for begin, count in zip(begins.tolist(), counts.tolist(), strict=True):
        gathered[place : place + count] = values[begin : begin + count]
        place += count
    return gathered


def _bytes_of(values: pa.Array) -> tuple[npt.NDArray[Any], npt.NDArray[np.uint8]]:
    """Return where the bytes of each text begin, and of the last one end; and the bytes of all."""
    _, offsets, data = values.buffers()
    dtype = np.int64 if values.type in (pa.large_string(), pa.large_binary()) else np.int32
    places = (
        np.frombuffer(offsets, dtype)[values.offset : values.offset + len(values) + 1]
        if offsets
        else np.zeros(1, dtype)
    )
    return places, np.frombuffer(data, np.uint8) if data else np.empty(0, np.uint8)
