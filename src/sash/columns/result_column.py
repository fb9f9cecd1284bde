"""Results as Arrow columns: the numbers that kernels return, and the objects that the interpreter returns."""

from __future__ import annotations

from collections.abc import Callable
from decimal import ROUND_HALF_UP, Context, Decimal, InvalidOperation
from functools import partial
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from sash.aggregates.base import Aggregate
from sash.columns.buffers import NO_BITS, Bits, as_arrow, binary_array, from_bits
from sash.columns.column_types import DAY, CannotCompileError, column_type, plain_type, sample_of
from sash.columns.python_values import python_to_arrow
from sash.columns.read_column import SIGN_BIT, Column
from sash.columns.time_probes import gives_for

KNOWN = {"text": pa.string(), "whole": pa.int64(), "real": pa.float64()}
"""Result types that do not depend on columns (see `ResultRule.gives`)."""
MOST_DIGITS = 38
"""The digits that a decimal of Spark can have, and a decimal128 of Arrow."""
MOST_OFFSET = (1 << 31) - 1
"""The bytes that an array of text can have."""
ROUNDING = Context(prec=4 * MOST_DIGITS)


def result_type(aggregate: Aggregate[Any], columns: list[pa.DataType]) -> pa.DataType | None:
    """Return the type of results if the types of the columns determine it, or else None."""
    if aggregate.result.type is not None:
        declared: pa.DataType = aggregate.result.type
        return declared
    if aggregate.forms.inner is not None:
        item = result_type(aggregate.forms.inner, columns[1:])
        return None if item is None else pa.map_(plain_type(columns[0]), item)
    if aggregate.forms.entries:
        entry = result_type(aggregate.forms.entries[0], columns)
        return None if entry is None else pa.list_(entry)
    try:
        gives = gives_for(aggregate, columns)
    except CannotCompileError:
        gives = aggregate.result.gives
    return KNOWN.get(gives) or _type_for(gives, aggregate, columns)


def _type_for(gives: str, aggregate: Aggregate[Any], columns: list[pa.DataType]) -> pa.DataType | None:
    dtype = columns[-1] if columns else pa.null()
    plain = plain_type(dtype)
    row = column_type(plain)
    if gives == "value":
        return row.numbers if dtype == pa.null() else dtype
    if gives == "values":
        return pa.list_(plain)
    if row.is_time and gives in ("difference", "arithmetic"):
        return difference_type(plain) if gives == "difference" else middle_type(plain)
    sampled = sample_type(aggregate, columns)
    if sampled is not None and not aggregate.is_built_in and may_vary(sampled):
        return None
    if sampled is not None and column_type(sampled).group == row.group == "decimal":
        return decimal_type(plain, aggregate.result.decimals)
    return sampled


def may_vary(dtype: pa.DataType) -> bool:
    """Return whether other results may have another type: decimals with more digits, structs with other fields.

    >>> may_vary(pa.float64()), may_vary(pa.list_(pa.struct({"a": pa.int64()})))
    (False, True)
    """
    group = column_type(dtype).group
    return may_vary(dtype.value_type) if group == "list" else group in ("decimal", "struct")


def sample_type(aggregate: Aggregate[Any], columns: list[pa.DataType]) -> pa.DataType | None:
    """Return the type of the result for sample values; None if the functions of the aggregate fail on them."""
    # Sketches refuse some values, but never nulls.
    fits_any = aggregate.result.gives == "number" and aggregate.is_built_in
    for tried in (columns, [pa.float64()] * len(columns)) if fits_any else (columns,):
        try:
            return try_out(aggregate, tried)
        except Exception:  # noqa: BLE001, S112 — a user's function may raise anything for sample values
            continue
    return None


def try_out(aggregate: Aggregate[Any], columns: list[pa.DataType]) -> pa.DataType:
    """Return the type of the result for sample values. Errors of the aggregate's functions pass through."""
    partial = aggregate.lift(*map(sample_of, columns))
    result = aggregate.lower(aggregate.combine(partial, partial))
    known = {float: pa.float64(), int: pa.int64()}.get(type(result))  # pa.array imports pandas
    return pa.array([result]).type if known is None else known


def difference_type(dtype: pa.DataType) -> pa.DataType:
    """Return the type of a difference of times; of dates in seconds, because Arrow has no duration in days.

    >>> difference_type(pa.date32()), difference_type(pa.timestamp("us", "UTC"))
    (DurationType(duration[s]), DurationType(duration[us]))
    """
    dates = {pa.date32(): "s", pa.date64(): "ms"}
    return pa.duration(dates.get(dtype) or dtype.unit)


def middle_type(dtype: pa.DataType) -> pa.DataType:
    """Return the type of the middle between two times; that of two seconds or milliseconds may have microseconds.

    >>> middle_type(pa.timestamp("s", "UTC")), middle_type(pa.duration("ns")), middle_type(pa.date64())
    (TimestampType(timestamp[us, tz=UTC]), DurationType(duration[ns]), DataType(date64[ms]))
    """
    group = column_type(dtype).group
    if group == "date":
        return dtype
    unit = "ns" if dtype.unit == "ns" else "us"
    return pa.timestamp(unit, dtype.tz) if group == "timestamp" else pa.duration(unit)


def decimal_type(dtype: pa.DataType, more: tuple[int, int] | Literal["squares"] | None) -> pa.DataType:
    """Return the type of results with more digits than a decimal type: in all, and behind the point (see `ResultRule.decimals`).

    Spark has no decimal256; it stays one.

    >>> decimal_type(pa.decimal128(10, 2), (10, 0)), decimal_type(pa.decimal128(36, 2), (4, 4))
    (Decimal128Type(decimal128(20, 2)), Decimal128Type(decimal128(38, 6)))
    >>> decimal_type(pa.decimal128(10, 6), "squares")
    Decimal128Type(decimal128(38, 12))
    """
    make, most = (pa.decimal256, 2 * MOST_DIGITS) if dtype.bit_width > 128 else (pa.decimal128, MOST_DIGITS)  # noqa: PLR2004
    digits, behind = (most, dtype.scale) if more == "squares" else more or (most, 4)
    return make(min(dtype.precision + digits, most), min(dtype.scale + behind, most))


# -- numbers -----------------------------------------------------------------------------------------------------------


def results_to_arrow(
    values: npt.NDArray[Any], bits: Bits | None, aggregate: Aggregate[Any], columns: list[Column]
) -> pa.Array:
    """Return the results of a kernel; values of a column (max, first, …) in the original type of that column."""
    bits = NO_BITS if bits is None else bits
    match gives_for(aggregate, [column.type for column in columns]):
        case "value" if columns:
            return column_to_arrow(Column(values, bits, columns[-1].type, columns[-1].flipped))
        case "difference" if columns and column_type(columns[-1].type).is_time:
            ticks = from_bits(values, bits).cast(pa.int64())
            seconds = pc.multiply(ticks, DAY) if columns[-1].type == pa.date32() else ticks
            return seconds.view(difference_type(columns[-1].type))
    return from_bits(values, bits)


def column_to_arrow(column: Column) -> pa.Array:
    """Return a column as Arrow, in its original type.

    >>> from sash.columns.read_column import read_numbers
    >>> column_to_arrow(read_numbers(pa.array([1, None], pa.int8()))).to_pylist()
    [1, None]
    """
    values = (column.values ^ SIGN_BIT).view(np.uint64) if column.flipped else column.values
    numbers, row = from_bits(values, column.bits), column_type(column.type)
    if row.is_time:
        return numbers.cast(row.numbers).view(column.type)
    return numbers.cast(column.type) if row.is_widened else numbers


def decoded(codes: pa.Array, values: pa.Array, dtype: pa.DataType) -> pa.Array:
    """Return the values that integers stand for, in the type of the column."""
    if column_type(dtype).group != "dictionary":
        return values.take(codes)
    if len(values) <= np.iinfo(dtype.index_type.to_pandas_dtype()).max:
        codes = codes.cast(dtype.index_type)
    return pa.DictionaryArray.from_arrays(codes, values, ordered=dtype.ordered)


# -- objects -----------------------------------------------------------------------------------------------------------


def interpreted_to_arrow(
    aggregate: Aggregate[Any], results: list[Any], columns: list[pa.DataType], categories: pa.Array | None = None
) -> pa.Array:
    """Return results in the result type of the aggregate for these columns; if that is not known, in the type of the results.

    If there are `categories`, the aggregate has read their ranks in place of the values of its last column.

    >>> from sash import agg
    >>> interpreted_to_arrow(agg.collect("x"), [["a"], None], [pa.large_string()]).type
    ListType(list<item: large_string>)
    """
    if aggregate.forms.inner is not None and aggregate.result.type is None:
        keys = partial(_keys_to_arrow, plain_type(columns[0]))
        items = partial(interpreted_to_arrow, aggregate.forms.inner, columns=columns[1:], categories=categories)
        return maps_to_arrow(results, keys, items)
    if aggregate.result.gives == "value" and categories is not None:
        return decoded(pa.array(results, pa.int32()), categories, columns[-1])
    dtype = result_type(aggregate, columns)
    if dtype is None:
        return objects_to_arrow(results)
    entry = dtype.value_type if aggregate.forms.entries else dtype
    is_decimal = column_type(entry).group == "decimal"
    if is_decimal:
        results = [rounded(result, entry) for result in results]
    # Entries of built-in lists have the type; to test each of them would take longer than to compute them.
    is_certain = aggregate.result.type is None and aggregate.is_built_in and column_type(dtype).group == "list"
    strange = [] if is_certain else [result for result in results if not holds(dtype, result)]
    try:
        if not strange:
            return _typed(results, dtype)
    except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError) as error:
        if is_decimal and aggregate.result.type is None:
            raise OverflowError(
                f"{aggregate.label}: some results need more than the {entry.precision} digits of {entry}. Cast the column to a decimal with fewer digits behind the point, or to float64."
            ) from error
        strange = results
    if aggregate.result.type is not None:
        raise TypeError(f"{aggregate.label} returned {strange[0]!r}, but types= declares {dtype}.")
    return objects_to_arrow(results)


def _typed(results: list[Any], dtype: pa.DataType) -> pa.Array:
    """Return objects as a column of a type, without importing pandas for int64 and float64."""
    is_int = dtype == pa.int64() and {type(result) for result in results} <= {int, type(None)}
    if is_int or dtype == pa.float64():
        nulls = np.array([result is None for result in results], np.bool_)
        numbers = [0 if result is None else result for result in results]
        return as_arrow(np.array(numbers, np.int64 if is_int else np.float64), nulls)
    values = python_to_arrow(results, plain_type(dtype))
    if column_type(dtype).group != "dictionary":
        return values
    encoded = values.dictionary_encode()  # pa.array makes dictionaries of some types only
    codes = encoded.indices.cast(dtype.index_type)
    return pa.DictionaryArray.from_arrays(codes, encoded.dictionary, ordered=dtype.ordered)


def objects_to_arrow(results: list[Any]) -> pa.Array:
    """Return interpreted results as Arrow. Raise TypeError or OverflowError if they have no common Arrow type."""
    if {type(result) for result in results} >= {bool, int}:  # True + True is 2, but a window of one row gives True
        results = [int(result) if isinstance(result, bool) else result for result in results]
    try:
        return python_to_arrow(results)
    except OverflowError as error:
        raise OverflowError(
            "Some results are integers of more than 64 bits, which Arrow does not have. Cast the column to float64."
        ) from error
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError) as error:
        if all(isinstance(result, Decimal | None) for result in results):
            problem = "Results are Decimals that need more digits than the 76 of Arrow"
            raise TypeError(f"{problem}. Round them in lower, as in result.quantize(Decimal('0.01')).") from error
        names = ", ".join(sorted({type(result).__name__ for result in results}))
        raise TypeError(
            f"Results of the types {names} have no common Arrow type. Let lower return values of one type."
        ) from error


def maps_to_arrow(
    maps: list[Any], to_keys: Callable[[list[Any]], pa.Array], to_items: Callable[[list[Any]], pa.Array]
) -> pa.Array:
    """Return dictionaries as Arrow maps; the functions convert all keys and all items.

    >>> maps_to_arrow([{"a": 1, "b": 2}, None], pa.array, pa.array).to_pylist()
    [[('a', 1), ('b', 2)], None]
    """
    filled = [entries or {} for entries in maps]
    keys = to_keys([key for entries in filled for key in entries])
    items = to_items([item for entries in filled for item in entries.values()])
    ends = np.cumsum([len(entries) for entries in filled], dtype=np.int32)
    missing = np.array([entries is None for entries in maps], np.bool_)
    # The offset of a null map is null; the last offset belongs to no map.
    offsets = as_arrow(np.append(np.int32(0), ends), np.append(missing, False))
    return pa.MapArray.from_arrays(offsets, keys, items)


def _keys_to_arrow(dtype: pa.DataType, keys: list[Any]) -> pa.Array:
    """Return the keys of maps as Arrow, without importing pandas for integers and text.

    >>> _keys_to_arrow(pa.string(), ["a", "ü", ""]).to_pylist()
    ['a', 'ü', '']
    """
    if dtype == pa.int64():
        return as_arrow(np.array(keys, np.int64))
    if dtype != pa.string():
        return python_to_arrow(keys, dtype)
    encoded = [key.encode() for key in keys]
    return pa.array(keys, dtype) if sum(map(len, encoded)) > MOST_OFFSET else binary_array(encoded, dtype)


def rounded(result: Any, dtype: pa.DataType) -> Any:
    """Return a decimal rounded to the scale of a type, as Spark rounds; if it has too many digits before the point, Arrow raises the error.

    >>> rounded(Decimal(2) / 3, pa.decimal128(9, 4)), rounded(Decimal("-0.5"), pa.decimal128(1, 0))
    (Decimal('0.6667'), Decimal('-1'))
    """
    if isinstance(result, list):
        return [rounded(entry, dtype) for entry in result]
    if not isinstance(result, Decimal):
        return result
    try:
        return result.quantize(Decimal(1).scaleb(-dtype.scale), ROUND_HALF_UP, ROUNDING)
    except InvalidOperation:  # infinite
        return result


def holds(dtype: pa.DataType, value: Any) -> bool:
    """Return whether a type holds a value without loss: Arrow would round floats to integers, and drop unknown fields.

    >>> holds(pa.int64(), 7 / 3), holds(pa.list_(pa.int64()), [1, 2]), holds(pa.struct({"a": pa.int64()}), {"b": 2})
    (False, True, False)
    """
    match column_type(dtype).group, value:
        case "int", float():
            return value.is_integer()
        case "list", list() | tuple() | set():
            return all(holds(dtype.value_type, entry) for entry in value)
        case "map", dict():
            return all(holds(dtype.key_type, key) and holds(dtype.item_type, item) for key, item in value.items())
        case "struct", dict():
            known = {field.name: field.type for field in dtype}
            return all(name in known and holds(known[name], entry) for name, entry in value.items())
        case "struct", tuple():
            return len(value) == dtype.num_fields and all(map(holds, (field.type for field in dtype), value))
    return True
