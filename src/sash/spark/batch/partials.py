"""Which aggregates Spark SQL can compute slices of: the partial of a slice as columns, and how those are merged.

    rows ──SQL──► columns of a slice ──lift──► partial ──combine, lower──► result
                  sum of load, …               as of rows, by the aggregate's own functions

A slice in which a row has no value for an aggregate has a null in at least one of its columns, so that it is skipped as a
row without a value is. Columns are named for what they hold, so that aggregates that need the same one share it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pyarrow as pa

from sash.aggregates.base import Aggregate, unchanged
from sash.aggregates.integers import HIGH_LIMIT, LARGEST_ROOT, LOW_BITS, split
from sash.aggregates.sketches import KLL_K, LG_K
from sash.aggregates.sum_like import as_float
from sash.spark.batch import lifts
from sash.spark.batch.forms import Given, SqlForm, is_own, of_kind, refusal
from sash.spark.sql import Order, Value, filtered

MOST_DIGITS = 28
"""Of decimals: Spark's sum has ten more, which is enough for any slice, up to 38."""


def sql_form(
    name: str, aggregate: Aggregate[Any], schema: pa.Schema, time_sql: str, order_by: Sequence[str]
) -> SqlForm | str:
    """Return an aggregate in two stages, or a sentence that says why Spark can't compute its slices.

    `time_sql` is the time in ticks, as SQL; `schema` has the types of the columns.

    >>> from sash import agg
    >>> schema = pa.schema({"load": pa.float64()})
    >>> form = sql_form("sd", agg.stddev("load"), schema, "`ts`", ())
    >>> form.expressions["variance of load"]
    'var_pop(`load`)'
    >>> sql_form("middle", agg.median("load"), schema, "`ts`", ())
    "'middle': Spark SQL has no partials of median."
    """
    made = FORMS.get(aggregate.name) if is_own(aggregate) else None
    if made is None:
        return f"{name!r}: Spark SQL has no partials of {aggregate.name}."
    values = [Value(column, schema.field(column).type) for column in aggregate.columns]
    order = Order(time_sql, tuple(Value(column, schema.field(column).type) for column in order_by))
    form = made(Given(of_kind(aggregate, values), values, order))
    return f"{name!r}: {form}" if isinstance(form, str) else form


# -- sums ---------------------------------------------------------------------------------------------------------------


def count(given: Given) -> SqlForm:
    """Rows are counted, or values, and counts added."""
    return given.merged({"count": f"count({given.value.sql if given.values else '*'})"}, unchanged)


def sum_of(given: Given) -> SqlForm | str:
    """Sums are added; those of 64-bit integers in two halves, so that only a window's own sum can be too large."""
    sums = _sums(given)
    if isinstance(sums, str):
        return sums
    return given.merged(sums, lifts.halves if len(sums) > 1 else None)


def _sums(given: Given) -> dict[str, str] | str:
    """Return the sum of a column: one, or its halves."""
    value = given.value
    if value.is_small:
        return {"sum": f"sum({value.as_bigint})"}
    if value.is_whole:
        return _halves(value.sql, "")
    if value.is_real:
        return {"sum": f"sum({value.as_double})"}
    if value.is_decimal and value.type.precision <= MOST_DIGITS:
        return {"sum": f"sum({value.sql})"}
    return refusal(given, ", which may have more than 38 digits" if value.is_decimal else "")


def _halves(value: str, what: str) -> dict[str, str]:
    return {f"high{what}": f"sum(shiftright({value}, 32))", f"low{what}": f"sum({value} & {LOW_BITS}L)"}


def sum_of_squares(given: Given) -> SqlForm | str:
    """Squares are added; those of integers in two halves, and one that is too large by itself is marked in the high one."""
    value = given.value
    if value.is_real:
        return given.merged({"sum of squares": f"sum({value.as_double} * {value.as_double})"}, as_float)
    if not value.is_whole:
        return refusal(given)
    square = f"{value.as_bigint} * {value.as_bigint}"
    if value.is_small and value.type != pa.int32():
        return given.merged({"sum of squares": f"sum({square})"}, split)
    parts = _halves(f"({square})", " of squares")
    if not value.is_small:
        fits = f"{value.sql} BETWEEN -{LARGEST_ROOT}L AND {LARGEST_ROOT}L"
        high, low = f"shiftright({square}, 32)", f"({square}) & {LOW_BITS}L"
        marked = [f"sum(CASE WHEN {fits} THEN {high} WHEN {value.sql} IS NOT NULL THEN {HIGH_LIMIT}L END)"]
        marked += [f"sum(CASE WHEN {fits} THEN {low} WHEN {value.sql} IS NOT NULL THEN 0L END)"]
        parts = dict(zip(parts, marked, strict=True))
    return given.merged(parts, lifts.halves)


def mean(given: Given) -> SqlForm | str:
    """Sums and counts are added; of floats the sum is had from Spark's mean, which deviations ask for too."""
    if given.value.is_real:
        x = given.value.as_double
        return given.merged({"count": f"count({given.value.sql})", "mean": f"avg({x})"}, lifts.counted_mean)
    sums = _sums(given)
    if isinstance(sums, str):
        return sums
    whole = lifts.counted_halves if len(sums) > 1 else lifts.counted_whole_sum
    lift = whole if given.value.is_whole else lifts.counted_sum
    return given.merged({"count": f"count({given.value.sql})", **sums}, lift)


def geometric_mean(given: Given) -> SqlForm | str:
    """Logarithms are added: those that Spark has no number for too."""
    if not given.value.is_number:
        return refusal(given)
    x = given.value.as_double
    logarithm = f"CASE WHEN {x} > 0 THEN ln({x}) WHEN {x} = 0 THEN -DOUBLE('inf') WHEN {x} < 0 THEN DOUBLE('nan') END"
    counted = {"count": f"count({given.value.sql})", "sum of logarithms": f"sum({logarithm})"}
    return given.merged(counted, lifts.counted_sum)


def weighted_mean(given: Given) -> SqlForm | str:
    """Weights, and values times weights, are added."""
    if not all(value.is_number for value in given.values):
        return refusal(given)
    x, w = (value.as_double for value in given.values)
    sums = {"sum of products": f"sum({x} * {w})", "sum of weights": filtered(f"sum({w})", given.values)}
    return given.merged(sums, lifts.both)


# -- moments ------------------------------------------------------------------------------------------------------------


def moments(given: Given) -> SqlForm | str:
    """Spark's own moments are merged as those of slices are."""
    value = given.value
    if not value.is_number or value.type == pa.int64():
        why = ", which it would round" if value.type == pa.int64() else ""
        return refusal(given, why)
    x = value.as_double
    parts = {"count": f"count({value.sql})", "mean": f"avg({x})", "variance": f"var_pop({x})"}
    higher = {"skewness": ("skewness",), "kurtosis": ("skewness", "kurtosis")}.get(given.aggregate.name, ())
    if higher and value.type == pa.float64():
        return refusal(given, ", since its own fails where values lie close together")
    # Of equal values it has no skewness, while the partial's third moment is 0.
    parts |= {name: f"CASE WHEN var_pop({x}) = 0 THEN 0D ELSE {name}({x}) END" for name in higher}
    lift = (lifts.spread_of, lifts.skew_of, lifts.tails_of)[len(higher)]
    return given.merged(parts, lift, held=0)


def joint_moments(given: Given) -> SqlForm | str:
    """Spark's moments of pairs are merged as those of slices are."""
    if not all(value.is_number for value in given.values):
        return refusal(given)
    x, y = (value.as_double for value in given.values)
    functions = {"count": "regr_count", "mean of first": "regr_avgx", "mean of second": "regr_avgy"}
    functions |= {"joint moment": "regr_sxy"}
    if given.aggregate.name == "correlation":
        functions |= {"moment of first": "regr_sxx", "moment of second": "regr_syy"}
    lift = lifts.linear_of if given.aggregate.name == "correlation" else lifts.joint_of
    return given.merged({name: f"{function}({y}, {x})" for name, function in functions.items()}, lift, held=0)


# -- values -------------------------------------------------------------------------------------------------------------


def extreme(given: Given) -> SqlForm | str:
    """The largest of the largest is the largest; the same goes for the smallest."""
    if not given.value.has_order:
        return refusal(given)
    name = given.aggregate.name
    return given.merged({name: f"{name}({given.value.sql})"})


def spread(given: Given) -> SqlForm | str:
    """The smallest and the largest are kept."""
    if not given.value.has_order or given.value.is_text:
        return refusal(given)
    return given.merged({name: f"{name}({given.value.sql})" for name in ("min", "max")}, lifts.both)


def arg_extreme(given: Given) -> SqlForm | str:
    """The extreme is kept, and what belongs to the first row that has it."""
    value, argument = given.values
    if not value.has_order or not (argument.has_order and all(tie.has_order for tie in given.order.ties)):
        return refusal(given)
    name = given.aggregate.name.removeprefix("arg_")
    order = given.order
    if name == "min":
        chosen = f"min_by({argument.sql}, {order.after(value.sql)})"
    elif value.falling:
        chosen = f"min_by({argument.sql}, {order.after(value.falling)})"
    elif last := order.before_largest(value.sql):
        chosen = f"max_by({argument.sql}, {last})"
    else:
        return refusal(given, " in an order of text")
    both = {name: filtered(f"{name}({value.sql})", given.values), f"arg_{name}": filtered(chosen, given.values)}
    return given.merged(both)


def end(given: Given) -> SqlForm | str:
    """The first of the first values is the first; the same goes for the last."""
    if not (given.value.has_order and all(tie.has_order for tie in given.order.ties)):
        return refusal(given)
    name = given.aggregate.name
    function = {"first": "min_by", "last": "max_by"}[name]
    return given.merged({name: filtered(f"{function}({given.value.sql}, {given.order.rising})", given.values)})


def truth(given: Given) -> SqlForm | str:
    """Whether one or all of some slices are true tells it of all their values."""
    if not given.value.is_number:
        return refusal(given)
    function = {"any": "bool_or", "all": "bool_and"}[given.aggregate.name]
    is_true = given.value.sql if given.value.type == pa.bool_() else f"{given.value.sql} <> 0"
    return given.merged({given.aggregate.name: f"{function}({is_true})"})


# -- sketches -----------------------------------------------------------------------------------------------------------


def distinct_sketch(given: Given) -> SqlForm | str:
    """HyperLogLog sketches of Spark's are of the same library; empty strings, which it overlooks, are told otherwise."""
    value = given.value
    if value.is_whole:
        hashed = value.as_bigint
    elif pa.types.is_string(value.type):
        hashed = f"CASE WHEN {value.sql} = '' THEN chr(0) ELSE {value.sql} END"
    else:
        return refusal(given, ", which it hashes otherwise")
    sketch = f"hll_sketch_agg({hashed}, {LG_K})"
    return given.merged({"sketch of values": sketch}, lifts.registers_of, gives="whole")


def quantile_sketch(given: Given) -> SqlForm | str:
    """KLL sketches of Spark's are of the same library."""
    if not given.value.is_number:
        return refusal(given)
    x, counted = given.value.as_double, f"count({given.value.sql})"
    sketch = f"CASE WHEN {counted} > 0 THEN kll_sketch_agg_double({x}, {KLL_K}) END"
    nans = f"count_if(isnan({x}))"
    return given.merged({"count of NaN": nans, "sketch of ranks": sketch}, lifts.quantiles_of, gives="real")


FORMS: Mapping[str, Callable[[Given], SqlForm | str]] = {
    "count": count,
    "sum": sum_of,
    "sum_of_squares": sum_of_squares,
    "mean": mean,
    "geometric_mean": geometric_mean,
    "weighted_mean": weighted_mean,
    **dict.fromkeys(("variance", "var_pop", "stddev", "stddev_pop", "skewness", "kurtosis"), moments),
    **dict.fromkeys(("covariance", "correlation"), joint_moments),
    **dict.fromkeys(("min", "max"), extreme),
    "spread": spread,
    **dict.fromkeys(("arg_min", "arg_max"), arg_extreme),
    **dict.fromkeys(("first", "last"), end),
    **dict.fromkeys(("any", "all"), truth),
    "approx_count_distinct": distinct_sketch,
    "approx_quantile": quantile_sketch,
}
"""How the slices of an aggregate are computed by Spark. Without: holistic ones, lists, product (which SQL doesn't have),
min_count and max_count (which it would need two passes for), and those of users."""
