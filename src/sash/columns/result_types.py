"""The type of an aggregate's results, if the types of its columns determine it."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from sash.aggregates.base import Aggregate
from sash.columns.column_types import (
    CannotCompileError,
    column_type,
    decimal_type,
    difference_type,
    middle_type,
    plain_type,
    sample_of,
)
from sash.columns.time_probes import gives_for

KNOWN = {"text": pa.string(), "whole": pa.int64(), "real": pa.float64()}
"""Result types that do not depend on columns (see `ResultRule.gives`)."""


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
    fits_any = (
        aggregate.result.gives == "number" and aggregate.is_built_in
    )  # sketches refuse some values, but never nulls
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
