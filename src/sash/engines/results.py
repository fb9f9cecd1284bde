"""Results of the interpreter as Arrow columns of the types that people expect."""

from __future__ import annotations

from datetime import date
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

import pyarrow as pa

from sash.aggregates.base import Aggregate
from sash.aggregator.columns import objects_to_arrow

MORE_DIGITS = 4
"""A mean of decimals has so many digits more behind the point, as Spark's."""


def interpreted_to_arrow(aggregate: Aggregate[Any], results: list[Any], columns: list[pa.DataType]) -> pa.Array:
    """Return results in the type that the aggregate has for columns of these types.

    >>> from sash import agg
    >>> interpreted_to_arrow(agg.collect("x"), [["a"], None], [pa.large_string()]).type
    ListType(list<item: large_string>)
    """
    kind = result_type(aggregate, columns)
    if kind is None:
        return objects_to_arrow(results)
    if pa.types.is_decimal(kind):
        digit = Decimal(1).scaleb(-kind.scale)
        results = [
            result.quantize(digit, ROUND_HALF_UP) if isinstance(result, Decimal) else result for result in results
        ]
    try:
        return pa.array(results, kind)
    except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError) as error:
        if pa.types.is_decimal(kind):
            message = f"{aggregate.name}({', '.join(aggregate.columns)}): some results need more than the 38 digits of {kind}."
            raise OverflowError(message) from error
        return objects_to_arrow(results)


def result_type(aggregate: Aggregate[Any], columns: list[pa.DataType]) -> pa.DataType | None:
    """Return the type of results, where the types of the columns tell."""
    given = columns[-1] if columns else None
    plain = given.value_type if given is not None and pa.types.is_dictionary(given) else given
    match aggregate.gives:
        case "value":
            return given
        case "values":
            return pa.list_(plain)
        case "text" | "whole" | "real":
            return {"text": pa.string(), "whole": pa.int64(), "real": pa.float64()}[aggregate.gives]
        case "difference" if plain is not None and pa.types.is_temporal(plain):
            return pa.duration(plain.unit if hasattr(plain, "unit") else "s")
    sampled = sample_type(aggregate, columns)
    if sampled is not None and pa.types.is_decimal(sampled) and plain is not None and pa.types.is_decimal(plain):
        exact = aggregate.name in ("sum", "spread")
        return pa.decimal128(38, plain.scale if exact else min(plain.scale + MORE_DIGITS, 37))
    return sampled


def sample_type(aggregate: Aggregate[Any], columns: list[pa.DataType]) -> pa.DataType | None:
    """Return the type of what an aggregate makes of values like those of the columns, if they can be made up."""
    try:
        values = [sample_of(kind) for kind in columns]
        partial = aggregate.lift(*values)
        return pa.array([aggregate.lower(aggregate.combine(partial, partial))]).type
    except Exception:  # noqa: BLE001 — whatever the user's functions raise for values that are made up
        return None


def sample_of(kind: pa.DataType) -> Any:  # noqa: PLR0911 — a chain is read line by line
    """Return a value such as a column of this type has."""
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    if pa.types.is_decimal(kind):
        return Decimal(1)
    if pa.types.is_date(kind):
        return date(1970, 1, 2)
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return [sample_of(kind.value_type)]
    if pa.types.is_struct(kind):
        return {field.name: sample_of(field.type) for field in kind}
    if pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
        return b"1"
    if pa.types.is_null(kind):
        return 1.0  # as a kernel takes it
    return pa.array([1]).cast(kind)[0].as_py()
