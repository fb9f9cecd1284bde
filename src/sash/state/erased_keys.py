"""Keys that a stream erases: their state is deleted, and their rows are dropped."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date, time, timedelta
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa

from sash.columns.python_values import python_to_arrow
from sash.engine.group_ids import number_keys
from sash.plan.query_spec import QuerySpec
from sash.windows.base import Flags
from sash.windows.numpy_forms import numpy_form

SCALARS = (int, float, Decimal, str, bytes, date, time, timedelta)


def erased_keys(query: QuerySpec, erase: Sequence[Any] | None, schema: pa.Schema) -> pa.Table | None:
    """Return the keys to erase, in the types of a schema; None if there are none. Raise ValueError or TypeError if they are no keys of a query.

    >>> from sash import agg, window
    >>> from sash.plan.query_spec import parse_query
    >>> query = parse_query(agg.count(), window.rows(3), by="card", time="ts")
    >>> erased_keys(query, [7, {"card": 8}], pa.schema({"card": pa.int64()})).to_pydict()
    {'card': [7, 8]}
    """
    if not erase:
        return None
    by = query.by
    if not by:
        raise ValueError("erase= names keys, but the query has none. Start the stream with a new checkpoint instead.")
    rows = [_as_row(by, key) for key in erase]
    fields = pa.schema([schema.field(name).with_nullable(True) for name in by])
    columns = [_read(field, [row[field.name] for row in rows], fields) for field in fields]
    return pa.table(columns, schema=fields)


def _read(field: pa.Field, values: list[Any], fields: pa.Schema) -> pa.Array:
    """Return values of a key column. Raise TypeError for those that Arrow would change, such as 1.5 to 1: another key would be erased."""
    does_not_fit = f"does not fit the types of the keys, {_types(fields)}"
    try:
        column = python_to_arrow(values, field.type)
    except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError) as error:
        raise TypeError(f"erase={values!r} {does_not_fit}: {error}.") from error
    if not pa.types.is_floating(field.type):  # float32 rounds the numbers of Python
        for value, stored in zip(values, column.to_pylist(), strict=True):
            if isinstance(value, SCALARS) and value != stored:
                raise TypeError(f"erase: {value!r} {does_not_fit}.")
    return column


def _as_row(by: Sequence[str], key: Any) -> dict[str, Any]:
    """Return a key by the names of its columns."""
    if not isinstance(key, Mapping):
        if len(by) > 1:
            raise TypeError(f"erase: {key!r} must be a dictionary with the columns {', '.join(by)}.")
        return {by[0]: key}
    if {*key} != {*by}:
        raise ValueError(f"erase: {dict(key)!r} must have the columns {', '.join(by)}, and no others.")
    return dict(key)


def _types(schema: pa.Schema) -> str:
    return ", ".join(f"{field.name} {field.type}" for field in schema)


def is_among(table: pa.Table, keys: pa.Table, by: Sequence[str]) -> Flags:
    """Return which rows of a table have one of some keys.

    >>> is_among(pa.table({"k": [1, None, 2, 1]}), pa.table({"k": pa.array([1, 3])}), ["k"]).tolist()
    [True, False, False, True]
    """
    columns = list(by)
    both = pa.concat_tables([keys.select(columns), table.select(columns)], promote_options="permissive")
    codes, count = number_keys(both, tuple(columns), numpy_form)
    wanted = np.zeros(count, np.bool_)
    wanted[codes[: len(keys)]] = True
    among: Flags = wanted[codes[len(keys) :]]
    return among
