"""Columns as bytes of single keys: each key's part of a column, for all keys at once; and the column of some bytes.

    column   a a a b c c        bytes of a  ▪▪▪
    sizes    3, 1, 2            bytes of b  ▪
                                bytes of c  ▪▪

A type is a tree of levels: a list has a level for the lists and one for their entries. A level with nulls has a bitmap in front of its values,
and one bit among the flags of the key says so. The parts of all keys are columns of binary data that share the memory of the column, so
Arrow joins them without a loop in Python.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sash.columns.buffers import as_numpy, pack
from sash.columns.column_types import column_type
from sash.windows.arrays import ranges, sums_before
from sash.windows.base import Flags, Ints

LENGTH = np.dtype("<u4")
"""The type of the lengths of texts and lists."""
BINARY = pa.large_binary()
PREFIXED = ("string", "bytes")
"""Groups of types whose values have a length of their own, unless the type has one."""


def check_storable(name: str, dtype: pa.DataType) -> None:
    """Raise TypeError if a column of this type cannot be part of the state of a key."""
    group = column_type(dtype).group
    is_ordered = group == "dictionary" and dtype.ordered
    if group in ("union", "run_end_encoded", "other") or is_ordered:
        reason = ", whose order is not part of its values" if is_ordered else ""
        raise TypeError(f'emit="state": column {name!r} is of type {dtype}{reason}. Cast it to numbers or text.')
    for child in _children(stored_type(dtype)):
        check_storable(name, child)


def stored_type(dtype: pa.DataType) -> pa.DataType:
    """Return the type that a column is stored as: the entries of a dictionary, the storage of an extension.

    >>> stored_type(pa.dictionary(pa.int8(), pa.string())), stored_type(pa.map_(pa.string(), pa.int8()))
    (DataType(string), MapType(map<string, int8>))
    """
    group = column_type(dtype).group
    if group == "dictionary":
        return stored_type(dtype.value_type)
    return stored_type(dtype.storage_type) if group == "extension" else dtype


def level_count(dtype: pa.DataType) -> int:
    """Return how many levels with nulls of their own a type has.

    >>> level_count(pa.float64()), level_count(pa.list_(pa.struct({"x": pa.int8(), "y": pa.string()})))
    (1, 4)
    """
    dtype = stored_type(dtype)
    return 1 + sum(map(level_count, _children(dtype)))


def _children(dtype: pa.DataType) -> list[pa.DataType]:
    """Return the types of the levels below the first one."""
    match column_type(dtype).group:
        case "list":
            return [dtype.value_type]
        case "map":
            return [dtype.key_type, dtype.item_type]
        case "struct":
            return [field.type for field in dtype]
    return []


# -- encode ------------------------------------------------------------------------------------------------------------


class ColumnParts:
    """The parts of a column that belong to each key, level by level."""

    def __init__(self, column: pa.Array, sizes: Ints) -> None:
        self.segments: list[pa.Array] = []
        """Columns of binary data with one value per key, in order."""
        self.flags: list[Flags] = []
        """By level: which keys have nulls there."""
        self._add(column, sizes)

    def _add(self, column: pa.Array, sizes: Ints) -> None:
        group = column_type(column.type).group
        if group == "dictionary":
            self._add(column.dictionary_decode(), sizes)
        elif group == "extension":
            self._add(column.storage, sizes)
        else:
            self._add_nulls(column, sizes)
            self._add_values(column, sizes, group)

    def _add_values(self, column: pa.Array, sizes: Ints, group: str) -> None:
        if group == "bool":
            self.segments.append(segment(as_numpy(column).view(np.uint8), sizes))
        elif group in PREFIXED and not pa.types.is_fixed_size_binary(column.type):
            self._add_texts(column, sizes)
        elif group in ("list", "map", "struct"):
            self._add_nested(column, sizes, group)
        elif group != "null":
            width = column.type.bit_width // 8
            data = column.buffers()[1]
            values = np.empty(0, np.uint8) if data is None else np.frombuffer(data, np.uint8)
            own = values[column.offset * width : (column.offset + len(column)) * width]
            self.segments.append(segment(own, sizes * width))

    def _add_nulls(self, column: pa.Array, sizes: Ints) -> None:
        """Add a bitmap for each key that has nulls."""
        has_nulls = np.zeros(len(sizes), np.bool_)
        if column.null_count:
            valid = as_numpy(column.is_valid())
            nulls_before = sums_before(~valid)
            ends = np.cumsum(sizes)
            has_nulls = nulls_before[ends] > nulls_before[ends - sizes]
            widths = np.where(has_nulls, (sizes + 7) // 8, 0)
            bits = np.zeros(8 * int(widths.sum()), np.bool_)
            chosen = np.where(has_nulls, sizes, 0)
            bits[ranges(8 * (np.cumsum(widths) - widths), chosen)] = valid[ranges(ends - sizes, chosen)]
            self.segments.append(segment(pack(bits), widths))
        self.flags.append(has_nulls)

    def _add_texts(self, column: pa.Array, sizes: Ints) -> None:
        """Add the length of each text, and the texts."""
        lengths, data = column.buffers()[1:]
        offsets = np.frombuffer(
            lengths,
            np.int64 if pa.types.is_large_string(column.type) or pa.types.is_large_binary(column.type) else np.int32,
        )
        offsets = offsets[column.offset : column.offset + len(column) + 1].astype(np.int64)
        self.segments.append(segment(np.diff(offsets).astype(LENGTH), sizes))
        ends = np.cumsum(sizes)
        total = np.empty(0, np.uint8) if data is None else np.frombuffer(data, np.uint8)
        places = np.concatenate([np.zeros(1, np.int64), ends])
        self.segments.append(segment(total[offsets[0] : offsets[-1]], np.diff(offsets[places])))

    def _add_nested(self, column: pa.Array, sizes: Ints, group: str) -> None:
        if group == "struct":
            for child in column.flatten():
                self._add(child, sizes)
            return
        if pa.types.is_fixed_size_list(column.type):
            # A null list has entries, too: they keep the others in place.
            first = column.offset * column.type.list_size
            self._add(column.values.slice(first, len(column) * column.type.list_size), sizes * column.type.list_size)
            return
        lengths = as_numpy(column.value_lengths().fill_null(0)) if group == "list" else _map_lengths(column)
        lengths = lengths.astype(np.int64)
        self.segments.append(segment(lengths.astype(LENGTH), sizes))
        before = sums_before(lengths)
        ends = np.cumsum(sizes)
        own = before[ends] - before[ends - sizes]
        for child in [column.flatten()] if group == "list" else [column.keys, column.items]:
            self._add(child, own)


def _map_lengths(column: pa.Array) -> Ints:
    offsets = np.frombuffer(column.buffers()[1], np.int32)[column.offset : column.offset + len(column) + 1]
    return np.diff(offsets)


def segment(values: npt.NDArray[Any], sizes: Ints) -> pa.Array:
    """Return the bytes of each key; `sizes` are the numbers of its values. The memory of the values is shared.

    >>> segment(np.frombuffer(b"abc", np.uint8), np.array([2, 1])).to_pylist()
    [b'ab', b'c']
    """
    values = np.ascontiguousarray(values)
    offsets = sums_before(sizes) * values.dtype.itemsize
    return pa.Array.from_buffers(BINARY, len(sizes), [None, pa.py_buffer(offsets), pa.py_buffer(values)])


# -- decode ------------------------------------------------------------------------------------------------------------


class Cursor:
    """Reads the levels of columns from the bytes of a key, one after the other."""

    def __init__(self, data: bytes, place: int, flags: Iterator[bool]) -> None:
        self.data = data
        self.place = place
        self.flags = flags

    def take(self, size: int) -> pa.Buffer:
        """Return the next bytes."""
        begin, self.place = self.place, self.place + size
        return pa.py_buffer(self.data[begin : self.place])  # a copy: values begin where they are aligned

    def array(self, dtype: Any, count: int) -> npt.NDArray[Any]:
        """Return the next numbers, without a copy."""
        found = np.frombuffer(self.data, dtype, count, self.place)
        self.place += found.nbytes
        return found

    def column(self, dtype: pa.DataType, count: int) -> pa.Array:
        """Return the next column, of a stored type."""
        dtype = stored_type(dtype)
        bits = self.take((count + 7) // 8) if next(self.flags) else None
        group = column_type(dtype).group
        if group == "null":
            return pa.nulls(count)
        if group == "bool":
            return pa.Array.from_buffers(dtype, count, [bits, pa.py_buffer(pack(self.array(np.bool_, count)))])
        if group in PREFIXED and not pa.types.is_fixed_size_binary(dtype):
            offsets = self._offsets(dtype, count)
            return pa.Array.from_buffers(dtype, count, [bits, pa.py_buffer(offsets), self.take(int(offsets[-1]))])
        if group in ("list", "map", "struct"):
            return self._nested(dtype, count, bits, group)
        return pa.Array.from_buffers(dtype, count, [bits, self.take(count * dtype.bit_width // 8)])

    def _offsets(self, dtype: pa.DataType, count: int) -> npt.NDArray[Any]:
        ends = sums_before(self.array(LENGTH, count).astype(np.int64))
        is_large = pa.types.is_large_string(dtype) or pa.types.is_large_binary(dtype) or pa.types.is_large_list(dtype)
        return ends if is_large else ends.astype(np.int32)

    def _nested(self, dtype: pa.DataType, count: int, bits: pa.Buffer | None, group: str) -> pa.Array:
        if group == "struct":
            children = [self.column(field.type, count) for field in dtype]
            stored = pa.struct([field.with_type(child.type) for field, child in zip(dtype, children, strict=True)])
            return pa.Array.from_buffers(stored, count, [bits], children=children)
        if pa.types.is_fixed_size_list(dtype):
            child = self.column(dtype.value_type, count * dtype.list_size)
            return pa.Array.from_buffers(pa.list_(child.type, dtype.list_size), count, [bits], children=[child])
        offsets = self._offsets(dtype, count)
        entries = int(offsets[-1])
        buffers = [bits, pa.py_buffer(offsets)]
        if group == "map":
            keys, items = self.column(dtype.key_type, entries), self.column(dtype.item_type, entries)
            stored = pa.map_(keys.type, items.type)
            pairs = pa.StructArray.from_arrays([keys, items], fields=[stored.key_field, stored.item_field])
            return pa.Array.from_buffers(stored, count, buffers, children=[pairs])
        child = self.column(dtype.value_type, entries)
        stored = pa.large_list(child.type) if pa.types.is_large_list(dtype) else pa.list_(child.type)
        return pa.Array.from_buffers(stored, count, buffers, children=[child])
