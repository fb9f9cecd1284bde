"""Converts columns (Arrow, NumPy, pandas, Polars, lists) to the form that kernels take, and results to Arrow.

Integers, booleans and times never pass through float64. NaN is an ordinary value, except in a NumPy-backed column of pandas, where
it stands for a null; pandas' nullable and Arrow types tell NaN and NA apart.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from sash.aggregates.base import Aggregate
from sash.aggregates.ends import last
from sash.aggregator.finish import finish_column, lowered_by_kernel
from sash.aggregator.time_results import gives_for
from sash.kernels import CannotCompileError
from sash.kernels.kernel import KINDS
from sash.kernels.kernel_io import NO_BITS, Bits, ResultColumn, as_arrow, as_numpy, slice_bits

WIDENED = {
    pa.int8(): pa.int32(), pa.int16(): pa.int32(), pa.uint8(): pa.int32(), pa.uint16(): pa.int32(),
    pa.uint32(): pa.int64(), pa.uint64(): pa.int64(), pa.float16(): pa.float32(),
}  # fmt: skip
"""Types that are widened for a kernel."""
TYPE_NAMES = {np.dtype(name): name for name in KINDS}
"""The names of the types that kernels take. NumPy computes the name of a type each time, which takes longer."""
KEYS = last("keys")
"""An aggregate that returns values of its column, as the keys of a map are."""
SIGN_BIT = np.int64(-(2**63))
"""Flipping this bit maps uint64 to int64 in the same order: 0 to the smallest int64, 2^64 - 1 to the largest."""


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
        return KINDS[self.values.dtype.name]

    def slice(self, begin: int, rows: int) -> Column:
        """Return some rows, without a copy of their values."""
        return Column(self.values[begin : begin + rows], slice_bits(self.bits, begin, rows), self.type, self.flipped)

    def tail(self, rows: int) -> Column:
        """Return a copy of the last rows, so that the rest of the column can be freed."""
        last = self.slice(max(0, len(self) - rows), min(rows, len(self)))
        return replace(last, values=last.values.copy(), bits=last.bits.copy())


def read_columns(given: tuple[Any, ...], aggregate: Aggregate[Any]) -> list[Column]:
    """Convert the columns of an aggregate; `count()` reads only the length of its column.

    Raise CannotCompileError if a column must be interpreted.
    """
    if aggregate.inputs == 0:
        _check_is_column(given[0])
        return [Column(np.ones(len(given[0]), np.bool_), NO_BITS, pa.bool_())]
    columns = [read_numbers(values, compared=aggregate.only_compares) for values in given]
    if len({len(column) for column in columns}) > 1:
        message = f"The columns have different lengths: {', '.join(str(len(column)) for column in columns)} rows."
        raise ValueError(message)
    check_times(aggregate, columns)
    return columns


def empty_column(kind: pa.DataType, *, compared: bool = False) -> Column:
    """Return a column without rows."""
    return nulls(0, kind, compared=compared)


def nulls(rows: int, kind: pa.DataType, *, compared: bool = False) -> Column:
    """Return a column of nulls."""
    return read_numbers(pa.nulls(rows, kind), compared=compared)


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
            message = (
                f"Arrow has no type for a column of {values.dtype}. Cast it, for example to Int64 or Decimal(38, 0)."
            )
            raise TypeError(message) from error
    _check_is_column(values)
    if isinstance(values, np.ma.MaskedArray):
        return pa.array(values.data, mask=np.ma.getmaskarray(values))
    try:
        made = pa.array(values, from_pandas=type(values).__module__.startswith("pandas."))
    except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError) as error:
        message = f"the column has no Arrow type ({error})."
        raise CannotCompileError(message) from error
    return to_arrow(made)


def _check_is_column(values: Any) -> None:
    if getattr(values, "ndim", 1) != 1:
        message = f"A column has one dimension, but this array has {values.ndim}. Pass one column at a time."
        raise ValueError(message)
    if isinstance(values, str | bytes) or not (hasattr(values, "__len__") and hasattr(values, "__getitem__")):
        message = f"{values!r} is not a column. Pass an Arrow, NumPy, pandas or Polars column, or a list."
        raise TypeError(message)


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
    array = to_arrow(values)
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    if compared and array.type == pa.uint64():
        bits = array.view(pa.int64())
        return Column(as_numpy(bits) ^ SIGN_BIT, _bits_of(bits), array.type, flipped=True)
    numbers = _as_numbers(array)
    return Column(as_numpy(numbers), _bits_of(numbers), array.type)


def _as_numbers(array: pa.Array) -> pa.Array:
    kind = array.type
    if kind in WIDENED:
        try:
            return array.cast(WIDENED[kind])
        except pa.ArrowInvalid as error:
            message = (
                f"The column of {kind} has values above 2^63 - 1, which compiled arithmetic does not hold. Aggregates that only "
                "compare values (max, first, mode, …) accept them. To compute with them, cast the column to decimal128(20, 0), "
                "or run the query with compiled=False."
            )
            raise OverflowError(message) from error
    if pa.types.is_temporal(kind) and kind.bit_width in (32, 64):
        return array.view(pa.int32() if kind.bit_width == 32 else pa.int64())  # noqa: PLR2004
    if kind == pa.null():
        return array.cast(pa.float64())
    if str(kind) not in {*KINDS, "float", "double"}:
        message = f"columns of {kind} are not compiled: only numbers, booleans and times are."
        raise CannotCompileError(message)
    return array


def _bits_of(array: pa.Array) -> Bits:
    """Return the validity bitmap of an array, without its offset."""
    if array.null_count == 0:
        return NO_BITS
    return slice_bits(np.frombuffer(array.buffers()[0], np.uint8), array.offset, len(array))


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


def check_times(aggregate: Aggregate[Any], columns: list[Column]) -> None:
    """Raise TypeError if the aggregate does arithmetic and a column holds times; CannotCompileError if Python can do it."""
    gives_for(aggregate, [column.type for column in columns])
    for column in columns:
        if aggregate.gives != "arithmetic" or not pa.types.is_temporal(column.type):
            continue
        if aggregate.interpreted_only:  # Python's datetime objects support more
            message = f"{aggregate.name} of {column.type} is computed with Python's datetime objects."
            raise CannotCompileError(message)
        message = (
            f"{aggregate.name} needs numbers, but the column is of type {column.type}. Cast it to int64 to compute with its "
            "ticks."
        )
        raise TypeError(message)


def results_to_arrow(result: ResultColumn, aggregate: Aggregate[Any], columns: list[Column]) -> pa.Array:
    """Return results as Arrow; values of a column (max, first, …) in the original type of that column."""
    values, bits = result.values, result.bits
    gives = gives_for(aggregate, [column.type for column in columns])
    if gives == "value" and columns and columns[-1].flipped:
        values = (values ^ SIGN_BIT).view(np.uint64)
    validity = None if bits is None else pa.py_buffer(np.ascontiguousarray(bits))
    if values.dtype == np.bool_:
        data = pa.py_buffer(np.packbits(values, bitorder="little"))
        return pa.Array.from_buffers(pa.bool_(), len(values), [validity, data])
    numbers = pa.from_numpy_dtype(values.dtype)
    plain = pa.Array.from_buffers(numbers, len(values), [validity, pa.py_buffer(np.ascontiguousarray(values))])
    given = columns[-1].type if columns else numbers
    if gives == "value" and pa.types.is_temporal(given):
        return plain.cast(pa.int32() if given.bit_width == 32 else pa.int64()).view(given)  # noqa: PLR2004
    if gives == "value" and given in WIDENED:
        return plain.cast(given)
    if gives == "difference" and pa.types.is_temporal(given):
        return _as_durations(plain.cast(pa.int64()), given)
    return plain


def column_to_arrow(column: Column) -> pa.Array:
    """Return a column as Arrow, in its original type.

    >>> column_to_arrow(read_numbers(pa.array([1, None], pa.int8()))).to_pylist()
    [1, None]
    """
    return results_to_arrow(ResultColumn(column.values, column.bits if len(column.bits) else None), KEYS, [column])


def line_to_arrow(result: ResultColumn, line: int, aggregate: Aggregate[Any], columns: list[Column]) -> pa.Array:
    """Return one line of the results of several ranges as Arrow."""
    bits = None if result.bits is None else result.bits[line]
    return results_to_arrow(ResultColumn(result.values[line], bits), aggregate, columns)


def final_line(results: list[ResultColumn], line: int, aggregate: Aggregate[Any], columns: list[Column]) -> pa.Array:
    """Return one line of what a kernel lowered (see `lowered_by_kernel`), after the last step of the aggregate."""
    made = [
        line_to_arrow(result, line, one, columns)
        for result, one in zip(results, lowered_by_kernel(aggregate), strict=True)
    ]
    return finish_column(aggregate, made[0], made[1] if len(made) > 1 else None)


def final_results(results: list[ResultColumn], aggregate: Aggregate[Any], columns: list[Column]) -> pa.Array:
    """Return what a kernel lowered as Arrow, after the last step of the aggregate."""
    made = [
        results_to_arrow(result, one, columns)
        for result, one in zip(results, lowered_by_kernel(aggregate), strict=True)
    ]
    return finish_column(aggregate, made[0], made[1] if len(made) > 1 else None)


def of_rows_with_values(aggregate: Aggregate[Any], results: pa.Array, bits: Bits) -> pa.Array:
    """Return results that are null where the newest row has a null, if they belong to that row; `bits` are those of the newest rows."""
    if not aggregate.of_newest or not len(bits):
        return results
    present = np.unpackbits(bits, count=len(results), bitorder="little").astype(np.bool_)
    return pc.if_else(pa.array(present), results, pa.scalar(None, results.type))


def _as_durations(ticks: pa.Array, kind: pa.DataType) -> pa.Array:
    """Return differences of times."""
    if kind == pa.date32():
        ticks = pc.multiply(ticks, 24 * 60 * 60)
    return ticks.view(duration_of(kind))


def objects_to_arrow(results: list[Any]) -> pa.Array:
    """Return interpreted results as Arrow. Raise TypeError or OverflowError if they have no common Arrow type."""
    if {type(result) for result in results} >= {bool, int}:  # True + True is 2, but a window of one row gives True
        results = [int(result) if isinstance(result, bool) else result for result in results]
    try:
        return pa.array(results)
    except OverflowError as error:
        message = (
            "Some results are integers of more than 64 bits, which Arrow does not have. Cast the column to float64."
        )
        raise OverflowError(message) from error
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError) as error:
        kinds = ", ".join(sorted({type(result).__name__ for result in results}))
        message = f"Results of the types {kinds} have no common Arrow type. Let lower return values of one type."
        raise TypeError(message) from error


def maps_to_arrow(
    maps: list[Any], to_keys: Callable[[list[Any]], pa.Array], to_items: Callable[[list[Any]], pa.Array]
) -> pa.Array:
    """Return dictionaries as Arrow maps; the functions convert all keys and all items.

    >>> maps_to_arrow([{"a": 1, "b": 2}, None], pa.array, pa.array).to_pylist()
    [[('a', 1), ('b', 2)], None]
    """
    keys = to_keys([key for one in maps for key in one or {}])
    items = to_items([item for one in maps for item in (one or {}).values()])
    ends = np.cumsum([len(one or {}) for one in maps], dtype=np.int32)
    missing = np.array([one is None for one in maps], np.bool_)
    # The offset of a null map is null; the last offset belongs to no map.
    offsets = as_arrow(np.append(np.int32(0), ends), np.append(missing, False))
    return pa.MapArray.from_arrays(offsets, keys, items)


def interpreted_results(aggregate: Aggregate[Any], results: list[Any], given: tuple[Any, ...]) -> pa.Array:
    """Return interpreted results as Arrow; times in the type of their column, as compiled ones."""
    if aggregate.inner is not None:
        to_keys, to_items = partial(interpreted_results, KEYS), partial(interpreted_results, aggregate.inner)
        return maps_to_arrow(results, partial(to_keys, given=given[:1]), partial(to_items, given=given[1:]))
    if any(isinstance(values, list | tuple) for values in given):
        return objects_to_arrow(results)
    try:
        types = [to_arrow(values).type for values in given]
        gives = gives_for(aggregate, types)
    except CannotCompileError:
        return objects_to_arrow(results)
    if gives == "value" and pa.types.is_temporal(types[-1]):
        return pa.array(results, types[-1])
    if gives == "difference" and pa.types.is_temporal(types[-1]):
        return pa.array(results, duration_of(types[-1]))
    return objects_to_arrow(results)


def duration_of(kind: pa.DataType) -> pa.DataType:
    """Return the type of a difference of times; of dates in seconds, because Arrow has no duration in days.

    >>> duration_of(pa.date32()), duration_of(pa.timestamp("us", "UTC"))
    (DurationType(duration[s]), DurationType(duration[us]))
    """
    dates = {pa.date32(): "s", pa.date64(): "ms"}
    return pa.duration(dates.get(kind) or kind.unit)


def rows_of(given: tuple[Any, ...], inputs: int) -> list[tuple[Any, ...]]:
    """Return the rows of columns as Python objects, for the interpreter."""
    rows = list(zip(*(objects_of(values) for values in given), strict=True))
    return rows if inputs else [()] * len(rows)


def objects_of(values: Any) -> list[Any]:
    """Return a column as Python objects, for the interpreter.

    >>> objects_of(np.array([1, 2]))
    [1, 2]
    """
    if isinstance(values, list | tuple):
        return list(values)
    array = to_arrow(values)
    if pa.types.is_dictionary(array.type) and getattr(array.type.value_type, "unit", "") == "ns":
        array = array.dictionary_decode()
    if getattr(array.type, "unit", "") == "ns":  # Python's datetime has microseconds at most
        array = pc.cast(array, pa.int64())
    listed: list[Any] = array.to_pylist()
    return listed
