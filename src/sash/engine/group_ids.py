"""Keys as group ids, in the order of their first rows.

Nested keys get theirs from the inside out: the group id of a struct comes from those of its fields, as for a key of several
columns. That of a list comes from the bytes of its items' ids. A map is a list of its entries, sorted by id, since the order of
entries does not count.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from sash.columns.buffers import as_arrow, as_numpy, empty_array, pack
from sash.columns.column_types import column_type
from sash.columns.read_column import objects_of, plain_array, to_arrow
from sash.windows.arrays import growing_blocks, sums_before
from sash.windows.base import LoopCompiler
from sash.windows.numpy_forms import numpy_form_of

Codes = npt.NDArray[Any]
"""Group ids, of `code_type`."""
SMALL = 1 << 16
"""Integers within this distance get group ids through a lookup table, however few rows there are."""
MOST_OF_INT32 = 2**31 - 1
NAN = "NaN"
"""Stands for NaN, which does not equal itself; columns of strings have no NaN."""


def number_keys(table: pa.Table, by: tuple[str, ...], run: LoopCompiler) -> tuple[Codes, int]:
    """Return the group id of each row's key, in the order of first rows, and the number of keys.

    >>> from sash.windows.numpy_forms import numpy_form
    >>> number_keys(pa.table({"a": ["x", "y", None, "x"], "b": [1, 1, 1, 1]}), ("a", "b"), numpy_form)[0].tolist()
    [0, 1, 2, 0]
    >>> nested = pa.table({"k": [{"a": [1, 2]}, None, {"a": None}, {"a": [1, 2]}]})
    >>> number_keys(nested, ("k",), numpy_form)[0].tolist()
    [0, 1, 2, 0]
    """
    return _number_together([to_arrow(table[name]) for name in by], len(table), run)


def code_type(rows: int) -> npt.DTypeLike:
    """Return the type of group ids: they take half the memory of row numbers wherever that is enough."""
    return np.int32 if rows <= MOST_OF_INT32 else np.int64


def _number_together(columns: Sequence[pa.Array], rows: int, run: LoopCompiler) -> tuple[Codes, int]:
    """Return a group id for the values of several columns together, and the number of groups."""
    if not columns:
        return np.zeros(rows, code_type(rows)), min(1, rows)
    codes, keys = _number_column(columns[0], run)
    for column in columns[1:]:
        column_codes, distinct = _number_column(column, run)
        fits = keys * distinct < 2**62
        pairs = as_arrow(codes.astype(np.int64) * distinct + column_codes) if fits else _as_bytes([codes, column_codes])
        codes, keys = _number_column(pairs, run)
    return codes, keys


def _as_bytes(codes: list[Codes]) -> pa.Array:
    joined = pa.py_buffer(np.stack(codes, axis=1, dtype=np.int64).tobytes())
    return pa.FixedSizeBinaryArray.from_buffers(pa.binary(8 * len(codes)), len(codes[0]), [None, joined])


def _number_column(column: pa.Array, run: LoopCompiler) -> tuple[Codes, int]:
    """Return the group id of each value of a column, nulls included, and the number of distinct values."""
    column = plain_array(column)  # a dictionary may hold a value twice
    row = column_type(column.type)
    if row.is_nested:
        return _number_nested(column, run)
    if row.group == "int" and column.null_count == 0 and len(column):
        values = as_numpy(column)
        least, most = int(values.min()), int(values.max())
        if most - least < max(len(column), SMALL) and most < 2**63:
            values = values.astype(np.int64, copy=False)  # differences must fit 64 bits
            codes = empty_array((len(column),), np.dtype(code_type(len(column))))
            numbers = np.full(most - least + 1, -1, codes.dtype)
            return codes, int(run(number_integers)(values, least, numbers, codes))
    if row.group == "float":
        column = column.cast(pa.float64())
        # One key for all NaN, and one for 0.0 and -0.0.
        column = pc.if_else(pc.is_nan(column), math.nan, pc.add(column, 0.0))
    encoded = column.dictionary_encode(null_encoding="encode")
    return as_numpy(encoded.indices).astype(code_type(len(column)), copy=False), len(encoded.dictionary)


def number_integers(values: npt.NDArray[Any], least: int, numbers: Codes, codes: Codes) -> int:
    """Write the group ids of integers that are close together. Return the number of keys."""
    count = 0
    for row in range(len(values)):
        value = values[row] - least
        if numbers[value] < 0:
            numbers[value] = count
            count += 1
        codes[row] = numbers[value]
    return count


@numpy_form_of(number_integers)
def number_integers_in_numpy(values: npt.NDArray[Any], least: int, numbers: Codes, codes: Codes) -> int:
    """Write the group ids of integers that are close together. Return the number of keys."""
    count = 0
    for block in growing_blocks(len(values)):
        block_values = values[block] - least
        block_codes = numbers.take(block_values, out=codes[block], mode="clip")  # clip: without a copy of the result
        if block_codes.min() < 0:
            new = block_values[block_codes < 0]
            # Of several rows with a new value, the first one stays.
            numbers[new[::-1]] = np.arange(len(new) - 1, -1, -1)
            distinct = new[numbers[new] == np.arange(len(new))]
            numbers[distinct] = np.arange(count, count + len(distinct), dtype=numbers.dtype)
            count += len(distinct)
            numbers.take(block_values, out=block_codes, mode="clip")
    return count


def first_rows(codes: Codes, keys: int) -> Codes:
    """Return the first row of each key; group ids are in the order of first rows.

    >>> first_rows(np.array([0, 0, 1, 0, 2]), 3).tolist()
    [0, 2, 4]
    """
    rows: list[Codes] = [np.empty(0, np.int64)]
    count = 0
    for block in growing_blocks(len(codes)):
        newest = np.maximum.accumulate(np.append(count - 1, codes[block]))
        rows.append(block.start + np.flatnonzero(newest[1:] > newest[:-1]))
        count = int(newest[-1]) + 1
        if count == keys:
            break
    return np.concatenate(rows)


# -- nested keys ---------------------------------------------------------------------------------------------------


def _number_nested(column: pa.Array, run: LoopCompiler) -> tuple[Codes, int]:
    if column_type(column.type).group != "struct":
        return _number_column(_items_as_bytes(column, run), run)
    codes, keys = _number_together(column.flatten(), len(column), run)  # where the struct is null, its fields are
    return _number_column(pa.array(codes, mask=as_numpy(column.is_null())), run) if column.null_count else (codes, keys)


def _items_as_bytes(column: pa.Array, run: LoopCompiler) -> pa.Array:
    """Return the group ids of each list's items as bytes, null where the list is null; those of a map are sorted."""
    items, ends = _flatten(column)
    codes, distinct = _number_column(items, run)
    codes = codes.astype(np.int64)
    if column_type(column.type).group == "map":  # the order of entries does not count
        before = np.repeat(np.arange(len(column)) * distinct, np.diff(ends))
        codes = np.sort(before + codes) - before
    valid = pack(as_numpy(column.is_valid()))
    buffers = [pa.py_buffer(valid), pa.py_buffer(ends * codes.itemsize), pa.py_buffer(np.ascontiguousarray(codes))]
    return pa.LargeBinaryArray.from_buffers(pa.large_binary(), len(column), buffers)


def _flatten(column: pa.Array) -> tuple[pa.Array, Codes]:
    """Return the items of all lists, and where those of each list begin and end; a null list has none."""
    if column_type(column.type).group == "map":
        column = column.cast(pa.list_(column.type.field(0)))
    return column.flatten(), sums_before(as_numpy(pc.list_value_length(column).fill_null(0)))


def as_hashable(column: pa.Array) -> list[Hashable]:
    """Return Python values that are equal if they are the same key: tuples, and sets for maps.

    >>> as_hashable(pa.array([[0.0, float("nan")], None, []]))
    [(0.0, 'NaN'), None, ()]
    """
    column = plain_array(column)
    row = column_type(column.type)
    if not row.is_nested:
        return [NAN if value != value else value for value in objects_of(column)]  # noqa: PLR0124 — only NaN
    valid = column.is_valid().to_pylist()
    hashable: list[Any]
    if row.group == "struct":
        fields = [as_hashable(field) for field in column.flatten()]
        hashable = list(zip(*fields, strict=True)) if fields else [()] * len(column)
    else:
        items, ends = _flatten(column)
        listed = as_hashable(items)
        together = frozenset if row.group == "map" else tuple
        hashable = [together(listed[ends[row] : ends[row + 1]]) for row in range(len(column))]
    return [value if there else None for value, there in zip(hashable, valid, strict=True)]
