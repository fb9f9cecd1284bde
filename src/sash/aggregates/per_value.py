"""An aggregate for each value of a column: per_value.

    rows      a 5   b 1   a 2                per_value("category", sum("amount"))
    partial   {a: (2, 7), b: (1, 1)}         per value: how many rows, and their partial; in the order of first occurrence
    result    {a: 7, b: 1}                   a map

There is no inverse, although that of the inner aggregate may be exact: the position of the next occurrence of a value is lost
with the older one. Partials are immutable by convention.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

from sash.aggregates.base import Aggregate, Functions
from sash.aggregates.collect_like import GROWING, key_of, value_of
from sash.aggregates.definition import Fields, Kinds, define
from sash.aggregates.naming import as_literal, not_a_name, shorten
from sash.aggregates.parts import Listing
from sash.aggregates.sum_like import count
from sash.expressions import ColumnLike, Condition, as_column

if TYPE_CHECKING:
    from sash.durations import TimeUnit

PerValue: TypeAlias = Mapping[Any, tuple[int, Any]]
"""The number of rows and their partial, by the key of their value."""

ROWS = count()


def per_value(
    column: ColumnLike | None = None, aggregate: Aggregate[Any] = ROWS, *, where: Condition | None = None
) -> Aggregate[Any]:
    """Compute an aggregate for each value of a column, as a map from values to results.

    `column` holds the values: of any type that is not nested. `aggregate` is any other aggregate over its own columns, also one
    of your own; by default it counts rows. A further `per_value` gives a map of maps.
    `where` is a condition in SQL, or a native expression: only rows where it is true count (see `sash.expr`).

    Nulls and NaN: a row is skipped if its value, or a column of the aggregate, is null; all NaN are one value.
    Result: a map, in the order in which values first occur in the window, with the result type of the aggregate. Its items are
    null where the aggregate needs more rows. The map is null if the window has no rows with a value. From pandas it is a
    dictionary, on Spark a MapType.
    Errors: TypeError if `column` is nested (lists, structs, maps), or if `aggregate` is not an aggregate over columns. ValueError
    if its result is not computed from its own rows alone: `ewm_sum` and `ewm_count` with a half-life, `slope`, `intercept` and
    `r_squared`.

    >>> import pyarrow as pa
    >>> import sash
    >>> from sash import agg, window
    >>> rows = pa.table({"plug": ["b", "a", None, "b"], "load": [3, 9, 4, 5]})
    >>> query = sash.Query(agg.per_value("plug", agg.sum("load")), window.rows(4))
    >>> query.run(rows)["per_value"].to_pylist()[-1]
    [('b', 8), ('a', 9)]
    """
    if not isinstance(aggregate, Aggregate):
        raise TypeError(
            f'per_value got aggregate={shorten(aggregate)}, which is not an aggregate. Use agg.sum("load").'
        )
    column = as_column(column)
    if column is not None and not isinstance(column, str):
        raise not_a_name("per_value", f"column={shorten(column)}", f'agg.per_value("plug", {aggregate!r})')
    if column is not None and len(aggregate.columns) != aggregate.inputs:
        right = f'per_value({as_literal(column)}, agg.{aggregate.name}("load"))'
        raise TypeError(f"per_value got {aggregate!r}, which has no columns. Name them, as in agg.{right}.")
    if aggregate.result.finish is not None:
        raise ValueError(
            f"per_value got {aggregate!r}, which has a last step for whole columns of results (`finish`) and so cannot be an item "
            "of a map. Put the column into by= instead."
        )
    time = aggregate.time
    if time is not None and time.for_unit is not None:
        time = replace(time, for_unit=partial(_in_unit, aggregate))
    variants: dict[Kinds, Fields] = {(kind,): _fields(variant) for kind, variant in aggregate.forms.variants.items()}
    columns = aggregate.named_columns if column is not None else (None,) * aggregate.named_inputs
    fields: Fields = {"hashes": True, "gives": "map", "time": time, **_fields(aggregate), **GROWING}
    fields["listed"] = Listing(distinct=True)
    return define("per_value", column, *columns, variants=variants, **fields, where=where)


def _fields(inner: Aggregate[Any]) -> Fields:
    """Return the functions that compute an aggregate for each value."""
    lower = lower_by_value(inner.lower, inner.result.at_least, inner.result.empty)
    functions = Functions(lift_by_value(inner.lift), combine_by_value(inner.combine), lower, identity={})
    return {"inner": inner, "functions": functions}


def _in_unit(inner: Aggregate[Any], unit: TimeUnit) -> Mapping[str, Any]:
    """Return the functions for an aggregate that depends on the unit of the time column."""
    return _fields(inner.in_unit(unit))


# -- functions of partials ------------------------------------------------------------------------------------------------


def lift_by_value(lift_inner: Callable[..., Any]) -> Callable[..., PerValue]:
    """Return the function that lifts a row to a map of one value."""

    def lift(value: Any, *values: Any) -> PerValue:
        return {key_of(value): (1, lift_inner(*values))}

    return lift


def combine_by_value(combine_inner: Callable[[Any, Any], Any]) -> Callable[[PerValue, PerValue], PerValue]:
    """Return the function that combines the partials of equal values."""

    def combine(older: PerValue, newer: PerValue) -> PerValue:
        both = dict(older)
        for key, (rows, item) in newer.items():
            known = older.get(key)
            both[key] = (rows, item) if known is None else (known[0] + rows, combine_inner(known[1], item))
        return both

    return combine


def lower_by_value(lower_inner: Callable[[Any], Any], at_least: int, empty: Any) -> Callable[[PerValue], Any]:
    """Return the function that lowers the partial of each value."""

    def lower(partials: PerValue) -> dict[Any, Any]:
        return {
            value_of(key): lower_inner(item) if rows >= at_least else empty for key, (rows, item) in partials.items()
        }

    return lower
