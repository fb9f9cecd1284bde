"""Keys of structs, lists and maps as group ids, from the inside out.

The group id of a struct comes from those of its fields, as for a key of several columns. That of a list comes from the bytes
of its items' ids. A map is a list of its entries, sorted by id, since the order of entries does not count.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from sash.aggregator.columns import objects_of
from sash.kernels.kernel_io import as_arrow, as_numpy

Codes = npt.NDArray[np.int64]
Number = Callable[[pa.Array], tuple[Codes, int]]
"""Returns the group id of each value of a column, nulls included, and the number of distinct values."""
NAN = "NaN"
"""Stands for NaN, which does not equal itself; columns of strings have no NaN."""


def number_together(columns: Sequence[pa.Array], rows: int, number: Number) -> tuple[Codes, int]:
    """Return a group id for the values of several columns together, and the number of groups.

    >>> from sash.engine.keys import number_keys
    >>> from sash.windows.numpy_forms import numpy_form
    >>> nested = pa.table({"k": [{"a": [1, 2]}, None, {"a": None}, {"a": [1, 2]}]})
    >>> number_keys(nested, ("k",), numpy_form)[0].tolist()
    [0, 1, 2, 0]
    """
    if not columns:
        return np.zeros(rows, np.int64), min(1, rows)
    codes, keys = number(columns[0])
    for column in columns[1:]:
        own, different = number(column)
        codes, keys = number(as_arrow(codes * different + own) if keys * different < 2**62 else _as_bytes([codes, own]))
    return codes, keys


def _as_bytes(codes: list[Codes]) -> pa.Array:
    both = pa.py_buffer(np.stack(codes, axis=1).tobytes())
    return pa.FixedSizeBinaryArray.from_buffers(pa.binary(8 * len(codes)), len(codes[0]), [None, both])


def number_nested(column: pa.Array, number: Number) -> tuple[Codes, int]:
    """Return a group id for each value of a column of structs, lists or maps, and the number of groups."""
    if not pa.types.is_struct(column.type):
        return number(_items_as_bytes(column, number))
    codes, keys = number_together(column.flatten(), len(column), number)  # where the struct is null, its fields are
    return number(pa.array(codes, mask=_is_null(column))) if column.null_count else (codes, keys)


def _items_as_bytes(column: pa.Array, number: Number) -> pa.Array:
    """Return the group ids of each list's items as bytes, null where the list is null; those of a map are sorted."""
    items, ends = _flatten(column)
    codes, different = number(items)
    if pa.types.is_map(column.type):  # the order of entries does not count
        before = np.repeat(np.arange(len(column)) * different, np.diff(ends))
        codes = np.sort(before + codes) - before
    valid = np.packbits(~_is_null(column), bitorder="little")
    buffers = [pa.py_buffer(valid), pa.py_buffer(ends * codes.itemsize), pa.py_buffer(np.ascontiguousarray(codes))]
    return pa.LargeBinaryArray.from_buffers(pa.large_binary(), len(column), buffers)


def _flatten(column: pa.Array) -> tuple[pa.Array, Codes]:
    """Return the items of all lists, and where those of each list begin and end; a null list has none."""
    if pa.types.is_map(column.type):
        column = column.cast(pa.list_(column.type.field(0)))
    ends = np.zeros(len(column) + 1, np.int64)
    np.cumsum(as_numpy(pc.list_value_length(column).fill_null(0)), out=ends[1:])
    return column.flatten(), ends


def _is_null(column: pa.Array) -> npt.NDArray[np.bool_]:
    nulls: npt.NDArray[np.bool_] = as_numpy(column.is_null())
    return nulls


def as_hashable(column: pa.Array) -> list[Hashable]:
    """Return Python values that are equal if they are the same key: tuples, and sets for maps.

    >>> as_hashable(pa.array([[0.0, float("nan")], None, []]))
    [(0.0, 'NaN'), None, ()]
    """
    kind = column.type
    if pa.types.is_dictionary(kind):
        return as_hashable(column.dictionary_decode())
    if not pa.types.is_nested(kind):
        return [NAN if value != value else value for value in objects_of(column)]  # noqa: PLR0124 — only NaN
    valid = column.is_valid().to_pylist()
    made: list[Any]
    if pa.types.is_struct(kind):
        fields = [as_hashable(field) for field in column.flatten()]
        made = list(zip(*fields, strict=True)) if fields else [()] * len(column)
    else:
        items, ends = _flatten(column)
        listed = as_hashable(items)
        together = frozenset if pa.types.is_map(kind) else tuple
        made = [together(listed[ends[row] : ends[row + 1]]) for row in range(len(column))]
    return [value if there else None for value, there in zip(made, valid, strict=True)]


def can_be_key(kind: pa.DataType) -> bool:
    """Return whether values of a type, nested types included, can be keys.

    >>> can_be_key(pa.map_(pa.string(), pa.list_(pa.float64()))), can_be_key(pa.struct([("id", pa.uuid())]))
    (True, False)
    """
    if pa.types.is_dictionary(kind):
        return can_be_key(kind.value_type)
    wrong = (pa.types.is_union, pa.types.is_run_end_encoded, pa.types.is_string_view, pa.types.is_binary_view)
    if isinstance(kind, pa.BaseExtensionType) or any(is_wrong(kind) for is_wrong in wrong):
        return False
    return all(can_be_key(kind.field(place).type) for place in range(kind.num_fields))
