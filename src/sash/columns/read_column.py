"""Converts columns (Arrow, NumPy, pandas, Polars, lists) to what kernels or the interpreter read.

Integers, booleans and times never pass through float64. NaN is an ordinary value, except in a NumPy-backed column of pandas, where
it stands for a null; pandas' nullable and Arrow types tell NaN and NA apart. `readable` makes string views strings and decodes
run-end encoding.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from sash.aggregates.base import Aggregate
from sash.columns.buffers import NO_BITS, Bits, as_numpy, slice_bits
from sash.columns.column_types import KINDS, CannotCompileError, column_type, has_nanoseconds
from sash.columns.python_values import python_to_arrow

TYPE_NAMES = {np.dtype(name): name for name in KINDS}
"""The names of the types that kernels take. NumPy computes the name of a type each time, which takes longer."""
SIGN_BIT = np.int64(-(2**63))
"""Flipping this bit maps uint64 to int64 in the same order: 0 to the smallest int64, 2^64 - 1 to the largest."""
PLAIN_VIEWS = {pa.string_view(): pa.string(), pa.binary_view(): pa.binary()}


@dataclass(frozen=True)
class Column:
    """A column of numbers as a kernel takes it, and its original Arrow type."""

    values: npt.NDArray[Any]
    bits: Bits
    """Arrow's validity bitmap; empty if there are no nulls."""
    type: pa.DataType
    flipped: bool = False
    """Whether the values are uint64 with the sign bit flipped, for aggregates that only compare them."""

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.values)

    @property
    def kind(self) -> str:
        """The kind of numbers, for `Aggregate.of_kind`."""
        return KINDS[TYPE_NAMES[self.values.dtype]]

    def slice(self, begin: int, rows: int) -> Column:
        """Return some rows, without a copy of their values."""
        return Column(self.values[begin : begin + rows], slice_bits(self.bits, begin, rows), self.type, self.flipped)

    def tail(self, rows: int) -> Column:
        """Return a copy of the last rows, so that the rest of the column can be freed."""
        last = self.slice(max(0, len(self) - rows), min(rows, len(self)))
        return replace(last, values=last.values.copy(), bits=last.bits.copy())


def nulls(rows: int, dtype: pa.DataType, *, compared: bool = False) -> Column:
    """Return a column of nulls; with 0 rows, an empty column."""
    return read_numbers(pa.nulls(rows, dtype), compared=compared)


def ones(rows: int) -> Column:
    """Return a column of ones, for an aggregate that reads no column."""
    return Column(np.ones(rows, np.bool_), NO_BITS, pa.bool_())


def to_arrow(values: Any) -> pa.Array:
    """Return a column of any kind as one Arrow array. Raise CannotCompileError if it has no Arrow type.

    >>> to_arrow([1, None, 3]).null_count
    1
    """
    if isinstance(values, pa.ChunkedArray):
        if values.num_chunks == 0:  # combine_chunks refuses a dictionary of nulls, which an empty category of pandas is
            return pa.nulls(0, values.type)
        return values.combine_chunks() if values.num_chunks != 1 else values.chunk(0)
    if isinstance(values, pa.Array):
        return values
    if hasattr(values, "to_arrow"):  # Polars
        try:
            return to_arrow(values.to_arrow())
        except pa.ArrowInvalid as error:
            raise TypeError(
                f"Arrow has no type for a column of {values.dtype}. Cast it, for example to Int64 or Decimal(38, 0)."
            ) from error
    check_is_column(values)
    if isinstance(values, np.ma.MaskedArray):
        return pa.array(values.data, mask=np.ma.getmaskarray(values))
    try:
        is_pandas, is_list = type(values).__module__.startswith("pandas."), isinstance(values, list | tuple)
        return python_to_arrow(list(values)) if is_list else to_arrow(pa.array(values, from_pandas=is_pandas))
    except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError) as error:
        raise CannotCompileError(f"the column has no Arrow type ({error}).") from error


def plain_array(array: pa.Array) -> pa.Array:
    """Return the values of an array, without a dictionary."""
    return array.dictionary_decode() if column_type(array.type).group == "dictionary" else array


def check_is_column(values: Any) -> None:
    """Raise ValueError or TypeError if this is not a column."""
    if getattr(values, "ndim", 1) != 1:
        raise ValueError(f"A column has one dimension, but this array has {values.ndim}. Pass one column at a time.")
    if isinstance(values, str | bytes) or not (hasattr(values, "__len__") and hasattr(values, "__getitem__")):
        raise TypeError(f"{values!r} is not a column. Pass an Arrow, NumPy, pandas or Polars column, or a list.")


def read_numbers(values: Any, *, compared: bool = False) -> Column:
    """Return a column as a kernel takes it. Raise CannotCompileError if it must be interpreted.

    With `compared`, uint64 becomes int64 in the same order, so that values above 2^63 - 1 stay exact. Without it, such values
    raise OverflowError.

    >>> read_numbers([True, False]).values.dtype.name
    'bool'
    >>> read_numbers(pa.array([0, 2**64 - 1], pa.uint64()), compared=True).values.tolist() == [-(2**63), 2**63 - 1]
    True
    """
    is_plain = isinstance(values, np.ndarray) and not isinstance(values, np.ma.MaskedArray)
    if is_plain and values.ndim == 1 and values.dtype.name in KINDS:
        plain = np.ascontiguousarray(values, values.dtype.newbyteorder("="))
        return Column(plain, NO_BITS, pa.from_numpy_dtype(plain.dtype))
    array = plain_array(to_arrow(values))
    flipped = compared and array.type == pa.uint64()
    numbers = array.view(pa.int64()) if flipped else _as_numbers(array)
    bits = NO_BITS
    if numbers.null_count:
        bits = slice_bits(np.frombuffer(numbers.buffers()[0], np.uint8), numbers.offset, len(numbers))
    read = as_numpy(numbers)
    return Column(read ^ SIGN_BIT if flipped else read, bits, array.type, flipped)


def _as_numbers(array: pa.Array) -> pa.Array:
    row = column_type(array.type)
    if row.numbers is None:
        raise CannotCompileError(f"columns of {array.type} are not compiled: only numbers, booleans and times are.")
    if row.is_time:
        return array.view(row.numbers)
    if not row.is_widened and row.group != "null":
        return array
    try:
        return array.cast(row.numbers)
    except pa.ArrowInvalid as error:
        raise OverflowError(
            f"The column of {array.type} has values above 2^63 - 1, which compiled arithmetic does not hold. Aggregates that only "
            "compare values (max, first, mode, …) accept them. To compute with them, cast the column to decimal128(20, 0), "
            "or run the query with compiled=False."
        ) from error


def types_of(aggregate: Aggregate[Any], columns: list[Column]) -> tuple[str, ...]:
    """Return the NumPy types of the columns that an aggregate reads."""
    return tuple(TYPE_NAMES[column.values.dtype] for column in columns[: aggregate.inputs])


def present_in_all(columns: list[Column]) -> Bits:
    """Return the validity bitmap of the rows that are not null in any column."""
    together = NO_BITS
    for column in columns:
        if len(column.bits):
            size = (len(column) + 7) // 8
            together = column.bits[:size] & together[:size] if len(together) else column.bits
    return together


def objects_of(values: Any) -> list[Any]:
    """Return a column as Python objects, for the interpreter.

    >>> objects_of(np.array([1, 2]))
    [1, 2]
    """
    if isinstance(values, list | tuple):
        return list(values)
    array = to_arrow(values)
    if has_nanoseconds(array.type):  # Python's datetime has microseconds at most
        array = pc.cast(plain_array(array), pa.int64())
    listed: list[Any] = array.to_pylist()
    return listed


def readable(table: pa.Table) -> pa.Table:
    """Return a table in types that all of Arrow's functions support.

    >>> readable(pa.table({"x": pa.array([["a"]], pa.list_(pa.string_view()))})).schema.field("x").type
    ListType(list<item: string>)
    """
    schema = table.schema
    if all(column_type(dtype).numbers is not None or dtype == pa.string() for dtype in schema.types):
        return table
    for number, field in enumerate(readable_schema(schema)):
        if field.type != schema.field(number).type:
            column = table[number]
            if column_type(column.type).group == "run_end_encoded":
                column = pc.run_end_decode(column)
            table = table.set_column(number, field.name, column.cast(field.type))
    return table


def readable_schema(schema: pa.Schema) -> pa.Schema:
    """Return the schema of a readable table."""
    fields = []
    for field in schema:
        is_encoded = column_type(field.type).group == "run_end_encoded"
        fields.append(_readable_field(field.with_type(field.type.value_type) if is_encoded else field))
    return pa.schema(fields)


def _readable_field(field: pa.Field) -> pa.Field:
    return field.with_type(_readable_type(field.type))


def _readable_type(dtype: pa.DataType) -> pa.DataType:  # noqa: PLR0911 — a case for each type
    """Return the readable type. Fields keep their metadata, which tells Spark's variants from structs."""
    match dtype:
        case pa.Decimal32Type() | pa.Decimal64Type():
            return pa.decimal128(dtype.precision, dtype.scale)
        case pa.StructType():
            return pa.struct([_readable_field(field) for field in dtype])
        case pa.MapType():
            return pa.map_(_readable_field(dtype.key_field), _readable_field(dtype.item_field), dtype.keys_sorted)
        case pa.FixedSizeListType():
            return pa.list_(_readable_field(dtype.value_field), dtype.list_size)
        case pa.ListType():
            return pa.list_(_readable_field(dtype.value_field))
        case pa.LargeListType():
            return pa.large_list(_readable_field(dtype.value_field))
    return PLAIN_VIEWS.get(dtype, dtype)
