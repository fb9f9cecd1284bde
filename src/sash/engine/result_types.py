"""The types of results: those of the interpreter as Arrow columns, in the type that the input types imply."""

from __future__ import annotations

from datetime import date
from decimal import ROUND_HALF_UP, Context, Decimal, InvalidOperation
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from sash.aggregates.base import Aggregate
from sash.aggregator.columns import duration_of, maps_to_arrow, objects_to_arrow
from sash.aggregator.time_results import gives_for
from sash.kernels import CannotCompileError
from sash.kernels.kernel_io import as_arrow

MOST_DIGITS = 38
"""The digits that a decimal of Spark can have, and a decimal128 of Arrow."""
MOST_OFFSET = (1 << 31) - 1
"""The bytes that an array of text can have."""
ROUNDING = Context(prec=4 * MOST_DIGITS)


def interpreted_to_arrow(
    aggregate: Aggregate[Any], results: list[Any], columns: list[pa.DataType], categories: pa.Array | None = None
) -> pa.Array:
    """Return results in the result type of the aggregate for these columns; if that is not known, in the type of the results.

    If there are `categories`, the aggregate has read their ranks in place of the values of its last column.

    >>> from sash import agg
    >>> interpreted_to_arrow(agg.collect("x"), [["a"], None], [pa.large_string()]).type
    ListType(list<item: large_string>)
    """
    if aggregate.inner is not None and aggregate.type is None:
        keys, items = partial(_keys_to_arrow, plain_type(columns[0])), partial(interpreted_to_arrow, aggregate.inner)
        return maps_to_arrow(results, keys, partial(items, columns=columns[1:], categories=categories))
    if aggregate.gives == "value" and categories is not None:
        return decoded(pa.array(results, pa.int32()), categories, columns[-1])
    kind = result_type(aggregate, columns)
    if kind is None:
        return objects_to_arrow(results)
    decimal = kind.value_type if aggregate.entries else kind
    if pa.types.is_decimal(decimal):
        results = [rounded(result, decimal) for result in results]
    # Entries of built-in lists have the type; to test each of them would take longer than to compute them.
    is_certain = aggregate.type is None and aggregate.is_built_in and pa.types.is_list(kind)
    strange = [] if is_certain else [result for result in results if not holds(kind, result)]
    try:
        is_plain = pa.types.is_int64(kind) and {type(result) for result in results} <= {int, type(None)}
        if not strange and (is_plain or pa.types.is_float64(kind)):  # pa.array would import pandas
            nulls = np.array([result is None for result in results], np.bool_)
            dtype = np.int64 if is_plain else np.float64
            return as_arrow(np.array([0 if result is None else result for result in results], dtype), nulls)
        if not strange:
            return encoded(pa.array(results, plain_type(kind)), kind)
    except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError) as error:
        if pa.types.is_decimal(decimal) and aggregate.type is None:
            message = f"{aggregate.label}: some results need more than the {decimal.precision} digits of {decimal}. Cast the column to a decimal with fewer digits behind the point, or to float64."
            raise OverflowError(message) from error
        strange = results
    if aggregate.type is not None:
        message = f"{aggregate.label} returned {strange[0]!r}, but types= declares {kind}."
        raise TypeError(message)
    return objects_to_arrow(results)


def _keys_to_arrow(dtype: pa.DataType, keys: list[Any]) -> pa.Array:
    """Return the keys of maps as Arrow, without importing pandas for integers and text.

    >>> _keys_to_arrow(pa.string(), ["a", "ü", ""]).to_pylist()
    ['a', 'ü', '']
    """
    if pa.types.is_int64(dtype):
        return as_arrow(np.array(keys, np.int64))
    if not pa.types.is_string(dtype):
        return pa.array(keys, dtype)
    encoded = [key.encode() for key in keys]
    ends = np.cumsum([len(key) for key in encoded], dtype=np.int64)
    if len(ends) and ends[-1] > MOST_OFFSET:
        return pa.array(keys, dtype)
    offsets = np.append(0, ends).astype(np.int32)
    return pa.StringArray.from_buffers(len(keys), pa.py_buffer(offsets), pa.py_buffer(b"".join(encoded)))


def plain_type(kind: pa.DataType) -> pa.DataType:
    """Return the type of the values of a column."""
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def decoded(codes: pa.Array, values: pa.Array, kind: pa.DataType) -> pa.Array:
    """Return the values that integers stand for, in the type of the column."""
    if not pa.types.is_dictionary(kind):
        return values.take(codes)
    if len(values) <= np.iinfo(kind.index_type.to_pandas_dtype()).max:
        codes = codes.cast(kind.index_type)
    return pa.DictionaryArray.from_arrays(codes, values, ordered=kind.ordered)


def encoded(values: pa.Array, kind: pa.DataType) -> pa.Array:
    """Return values of a column as a dictionary if it has one; Arrow makes dictionaries of some types only.

    >>> encoded(pa.array(["a", "a"]), pa.dictionary(pa.int8(), pa.string())).type.index_type
    DataType(int8)
    """
    if not pa.types.is_dictionary(kind):
        return values
    made = values.dictionary_encode()
    codes = made.indices.cast(kind.index_type)  # values of the column fit
    return pa.DictionaryArray.from_arrays(codes, made.dictionary, ordered=kind.ordered)


def rounded(result: Any, kind: pa.DataType) -> Any:
    """Return a decimal rounded to the scale of a type, as Spark rounds; if it has too many digits before the point, Arrow raises the error.

    >>> rounded(Decimal(2) / 3, pa.decimal128(9, 4)), rounded(Decimal("-0.5"), pa.decimal128(1, 0))
    (Decimal('0.6667'), Decimal('-1'))
    """
    if isinstance(result, list):
        return [rounded(entry, kind) for entry in result]
    if not isinstance(result, Decimal):
        return result
    try:
        return result.quantize(Decimal(1).scaleb(-kind.scale), ROUND_HALF_UP, ROUNDING)
    except InvalidOperation:  # infinite
        return result


def holds(kind: pa.DataType, value: Any) -> bool:  # noqa: PLR0911 — a chain is read line by line
    """Return whether a type holds a value without loss: Arrow would round floats to integers, and drop unknown fields.

    >>> holds(pa.int64(), 7 / 3), holds(pa.list_(pa.int64()), [1, 2]), holds(pa.struct({"a": pa.int64()}), {"b": 2})
    (False, True, False)
    """
    if value is None:
        return True
    if pa.types.is_integer(kind):
        return not isinstance(value, float) or value.is_integer()
    if isinstance(value, list | tuple | set) and (pa.types.is_list(kind) or pa.types.is_large_list(kind)):
        return all(holds(kind.value_type, each) for each in value)
    if isinstance(value, dict) and pa.types.is_map(kind):
        return all(holds(kind.key_type, key) and holds(kind.item_type, each) for key, each in value.items())
    if isinstance(value, dict) and pa.types.is_struct(kind):
        known = {field.name: field.type for field in kind}
        return all(name in known and holds(known[name], each) for name, each in value.items())
    if isinstance(value, tuple) and pa.types.is_struct(kind):
        return len(value) == kind.num_fields and all(map(holds, (field.type for field in kind), value))
    return True


def result_type(aggregate: Aggregate[Any], columns: list[pa.DataType]) -> pa.DataType | None:  # noqa: C901, PLR0911 — a chain
    """Return the type of results if the types of the columns determine it, or else None."""
    if aggregate.type is not None:
        said: pa.DataType = aggregate.type
        return said
    if aggregate.entries or aggregate.inner is not None:
        return nested_type(aggregate, columns)
    given = columns[-1] if columns else None
    plain = None if given is None else plain_type(given)
    try:
        gives = gives_for(aggregate, columns)
    except CannotCompileError:
        gives = aggregate.gives
    match gives:
        case "value":
            return pa.float64() if pa.types.is_null(given) else given  # as kernels read a column of nulls
        case "values":
            return pa.list_(plain)
        case "text" | "whole" | "real":
            return {"text": pa.string(), "whole": pa.int64(), "real": pa.float64()}[gives]
        case "difference" if plain is not None and pa.types.is_temporal(plain):
            return duration_of(plain)
        case "arithmetic" if plain is not None and pa.types.is_temporal(plain):
            return middle_type(plain)
    sampled = sample_type(aggregate, columns)
    if sampled is not None and not aggregate.is_built_in and may_vary(sampled):
        return None
    if sampled is not None and pa.types.is_decimal(sampled) and plain is not None and pa.types.is_decimal(plain):
        return decimal_type(aggregate, plain)
    return sampled


def middle_type(kind: pa.DataType) -> pa.DataType:
    """Return the type of the middle between two times; that of two seconds or milliseconds may have microseconds.

    >>> middle_type(pa.timestamp("s", "UTC")), middle_type(pa.duration("ns")), middle_type(pa.date64())
    (TimestampType(timestamp[us, tz=UTC]), DurationType(duration[ns]), DataType(date64[ms]))
    """
    if pa.types.is_date(kind):
        return kind
    unit = "ns" if kind.unit == "ns" else "us"
    return pa.timestamp(unit, kind.tz) if pa.types.is_timestamp(kind) else pa.duration(unit)


def decimal_type(aggregate: Aggregate[Any], column: pa.DataType) -> pa.DataType:
    """Return the type of results for a column of decimals: for sums and means, the type that Spark has.

    Spark has no decimal256; it stays one.

    >>> from sash import agg
    >>> decimal_type(agg.sum("x"), pa.decimal128(10, 2)), decimal_type(agg.mean("x"), pa.decimal128(36, 2))
    (Decimal128Type(decimal128(20, 2)), Decimal128Type(decimal128(38, 6)))
    """
    make, most = (pa.decimal256, 2 * MOST_DIGITS) if pa.types.is_decimal256(column) else (pa.decimal128, MOST_DIGITS)
    digits, behind = aggregate.decimals or (most, 4)
    return make(min(column.precision + digits, most), min(column.scale + behind, most))


def nested_type(aggregate: Aggregate[Any], columns: list[pa.DataType]) -> pa.DataType | None:
    """Return the type of results that are lists or maps of the results of another aggregate."""
    if aggregate.inner is None:
        entry = result_type(aggregate.entries[0], columns)
        return None if entry is None else pa.list_(entry)
    item = result_type(aggregate.inner, columns[1:])
    return None if item is None else pa.map_(plain_type(columns[0]), item)


def may_vary(kind: pa.DataType) -> bool:
    """Return whether other results may have another type: decimals with more digits, structs with other fields.

    >>> may_vary(pa.float64()), may_vary(pa.list_(pa.struct({"a": pa.int64()})))
    (False, True)
    """
    if pa.types.is_list(kind):
        return may_vary(kind.value_type)
    return bool(pa.types.is_decimal(kind) or pa.types.is_struct(kind))


def sample_type(aggregate: Aggregate[Any], columns: list[pa.DataType]) -> pa.DataType | None:
    """Return the type of the result for sample values; None if the functions of the aggregate fail on them."""
    fits_any = aggregate.gives == "number" and aggregate.is_built_in  # sketches refuse some values, but never nulls
    for tried in (columns, [pa.float64()] * len(columns)) if fits_any else (columns,):
        try:
            return try_out(aggregate, tried)
        except Exception:  # noqa: BLE001, S112 — a user's function may raise anything for sample values
            continue
    return None


def try_out(aggregate: Aggregate[Any], columns: list[pa.DataType]) -> pa.DataType:
    """Return the type of the result for sample values. Errors of the aggregate's functions pass through."""
    values = [sample_of(kind) for kind in columns]
    partial = aggregate.lift(*values)
    result = aggregate.lower(aggregate.combine(partial, partial))
    known = {float: pa.float64(), int: pa.int64()}.get(type(result))  # pa.array imports pandas
    return pa.array([result]).type if known is None else known


def sample_of(kind: pa.DataType) -> Any:  # noqa: C901, PLR0911, PLR0912 — a chain is read line by line
    """Return a sample value of a type."""
    if pa.types.is_float64(kind) or pa.types.is_int64(kind):
        return 1.0 if pa.types.is_float64(kind) else 1
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    if pa.types.is_decimal(kind):
        return Decimal(1)
    if pa.types.is_date(kind):
        return date(1970, 1, 2)
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return [sample_of(kind.value_type)]
    if pa.types.is_fixed_size_list(kind):
        return [sample_of(kind.value_type)] * kind.list_size
    if pa.types.is_map(kind):
        return [(sample_of(kind.key_type), sample_of(kind.item_type))]
    if pa.types.is_struct(kind):
        return {field.name: sample_of(field.type) for field in kind}
    if pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
        return b"1"
    if pa.types.is_fixed_size_binary(kind):
        return b"1" * kind.byte_width
    if pa.types.is_interval(kind):
        return pa.MonthDayNano([0, 1, 0])
    if pa.types.is_null(kind):
        return 1.0  # kernels read a column of nulls as floats
    if getattr(kind, "unit", "") == "ns":
        return 1  # as the interpreter reads it
    ticks = pa.int32() if pa.types.is_time32(kind) else pa.int64()
    return pa.array([1], ticks).cast(kind)[0].as_py()
