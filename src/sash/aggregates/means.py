"""Means: mean, geometric_mean, weighted_mean.

Partials are sums and counts; `lower` divides. Sums of floats are compensated (see `compensated`). mean has the variants of sum
(see `sum_like`): only integers have an exact inverse. The geometric mean adds logarithms, since a product of a few hundred values overflows.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, TypeAlias

from sash.aggregates import compensated, integers, sum_like
from sash.aggregates.base import Aggregate, Functions, first_field, second_field, third_field, unchanged
from sash.aggregates.compensated import (
    NO_ERROR,
    CountedSum,
    add_compensated,
    as_float,
    divide_counted,
    lift_any,
    lift_counted,
    lift_float,
    plain,
    total_of,
)
from sash.aggregates.decimals import join_mean, over_digits
from sash.aggregates.definition import FLOATS, INTEGERS, Fields, Kinds, define
from sash.aggregates.integers import split
from sash.aggregates.sql import NativeSql, SqlForm, SqlInput, quote, unless_null
from sash.aggregates.sum_like import add_both, subtract_both, sums_of
from sash.expressions import ColumnLike, Condition

WeightedSum: TypeAlias = tuple[compensated.Compensated, compensated.Compensated]
"""The sum of values times weights, and the sum of the weights."""

MORE_DIGITS = 4
"""A mean of decimals has this many more digits than its column, all behind the point, as in Spark."""
PACKED_BITS = 47
"""The low halves of 2¹⁵ integers have a sum of at most so many bits; their count fits in the rest of 63."""
MOST_PACKED = 1 << 15
"""The rows of a frame for which this holds. The sum of their high halves has at most 46 bits, which float64 holds exactly."""
LARGEST_LOGARITHM = 709.782712893384
"""The logarithm of the largest float64. For larger arguments CPython's exp raises, and Numba's returns infinity."""

# -- factories ------------------------------------------------------------------------------------------------------------


def mean(column: ColumnLike | None = None, *, where: Condition | None = None) -> Aggregate[Any]:
    """Return the arithmetic mean of a column.

    `column` holds numbers.
    `where` is a condition in SQL, or a native expression: only rows where it is true count (see `sash.expr`).

    Nulls and NaN: nulls are skipped; a NaN makes the result NaN.
    Result: float64; for decimals a decimal with four more digits behind the point, as in Spark, rounded half up from the exact
    sum; null if the window has no values. The sum of integers is exact.
    Errors: TypeError if a query reads a column that is not of numbers. OverflowError if a mean of decimals has more than 38
    digits.

    >>> import pyarrow as pa
    >>> import sash
    >>> from sash import agg, window
    >>> rows = pa.table({"load": [3.0, 9.0, None, 4.0]})
    >>> sash.Query(agg.mean("load"), window.rows(2)).run(rows)["mean"].to_pylist()
    [3.0, 6.0, 9.0, 4.0]
    """
    functions = Functions(count_one, add_both, divide, subtract_both)
    fields: Fields = {"commutative": True, "counts": (1,), "decimals": (MORE_DIGITS, MORE_DIGITS), "sql": mean_sql}
    variants: dict[Kinds, Fields] = {
        FLOATS: {"functions": compensated.COUNTED_SUM},
        INTEGERS: {"functions": integers.COUNTED_TOTAL, "invertible": True, "counts": (2,)},
    }
    counted = integers.COUNTED_TOTAL._replace(lower=unchanged)
    laws: Fields = {"commutative": True, "invertible": True, "counts": (2,), "decimals": (MORE_DIGITS, MORE_DIGITS)}
    fields["scaled"] = over_digits("mean", counted, (first_field, second_field, third_field), join_mean, **laws)
    return define("mean", column, functions=functions, **fields, variants=variants, where=where)


def geometric_mean(column: ColumnLike | None = None, *, where: Condition | None = None) -> Aggregate[CountedSum]:
    """Return the geometric mean: the n-th root of the product of n values.

    `column` holds numbers.
    `where` is a condition in SQL, or a native expression: only rows where it is true count (see `sash.expr`).

    Nulls and NaN: nulls are skipped; a NaN makes the result NaN, and so does a negative value.
    Result: float64; 0 if a value is 0; null if the window has no values.
    Errors: TypeError if a query reads a column that is not of numbers.

    >>> import pyarrow as pa
    >>> import sash
    >>> from sash import agg, window
    >>> rows = pa.table({"growth": [1.0, 4.0, None, 1.0]})
    >>> sash.Query(agg.geometric_mean("growth"), window.rows(2)).run(rows)["geometric_mean"].to_pylist()
    [1.0, 2.0, 4.0, 1.0]
    """
    functions = compensated.COUNTED_SUM._replace(lift=count_logarithm, lower=root, inverse=None)
    fields: Fields = {"commutative": True, "counts": (1,), "sql": geometric_mean_sql}
    return define("geometric_mean", column, functions=functions, **fields, where=where)


def weighted_mean(
    x: ColumnLike | None = None, w: ColumnLike | None = None, *, where: Condition | None = None
) -> Aggregate[WeightedSum]:
    """Return the weighted mean of a column, Σwx / Σw.

    `x` is the column of values, `w` the column of weights. Both hold numbers.
    `where` is a condition in SQL, or a native expression: only rows where it is true count (see `sash.expr`).

    Nulls and NaN: rows with a null in either column are skipped; a NaN makes the result NaN.
    Result: float64; NaN if the weights add up to 0; null if the window has no values.
    Errors: TypeError if a query reads a column that is not of numbers.

    >>> import pyarrow as pa
    >>> import sash
    >>> from sash import agg, window
    >>> rows = pa.table({"price": [10.0, 20.0, 40.0], "volume": [3, 1, 1]})
    >>> sash.Query(agg.weighted_mean("price", "volume"), window.rows(2)).run(rows)["weighted_mean"].to_pylist()
    [10.0, 12.5, 30.0]
    """
    functions = Functions(weigh, add_weighted, divide_by_weight, identity=(compensated.ZERO, compensated.ZERO))
    return define("weighted_mean", x, w, functions=functions, commutative=True, sql=weighted_mean_sql, where=where)


# -- functions of partials ------------------------------------------------------------------------------------------------


def count_one(value: Any) -> tuple[Any, int]:
    """Lift a value of any type to a sum and a count."""
    return lift_any(value), 1


def divide(total: tuple[Any, int]) -> Any:
    """Return the sum divided by the count."""
    return plain(total[0]) / total[1]


def count_logarithm(value: Any) -> CountedSum:
    """Lift a number to a sum of logarithms and a count."""
    return lift_counted(logarithm(as_float(value)))


def logarithm(value: float) -> float:
    """Return the natural logarithm: -inf for 0 and NaN for negative values, where CPython raises.

    >>> logarithm(1.0), logarithm(0.0), logarithm(-1.0)
    (0.0, -inf, nan)
    """
    if value > 0.0:
        return math.log(value)
    return -math.inf if value == 0.0 else math.nan


def root(total: CountedSum) -> float:
    """Return exp of the mean logarithm; a rounding error does not make it overflow."""
    exponent = divide_counted(total)
    return math.exp(LARGEST_LOGARITHM if LARGEST_LOGARITHM < exponent < math.inf else exponent)


def weigh(value: Any, weight: Any) -> WeightedSum:
    """Lift a value and its weight to a weighted sum and a sum of weights."""
    return (as_float(value) * as_float(weight), NO_ERROR), lift_float(weight)


def add_weighted(older: WeightedSum, newer: WeightedSum) -> WeightedSum:
    """Return both sums of both partials."""
    return add_compensated(older[0], newer[0]), add_compensated(older[1], newer[1])


def divide_by_weight(total: WeightedSum) -> float:
    """Return the weighted sum divided by the sum of weights."""
    weight = total_of(total[1])
    return total_of(total[0]) / weight if weight != 0.0 else math.nan


# -- SQL ------------------------------------------------------------------------------------------------------------------


def mean_sql(source: SqlInput) -> SqlForm | str:
    """Add sums and counts; the sum of floats comes from Spark's mean, which the moments share."""
    x, sums = source.column, sums_of(source)
    counted = {"count": f"count({x.sql})"}
    if isinstance(sums, str):
        return sums
    if x.kind == "float":
        form = source.form({**counted, "mean": f"avg({x.as_double})"}, total_of_mean)
        return form._replace(native=source.native(counted | sums, "{sum} / nullif({count}, 0)"))
    # The sum comes last: its type determines that of the result. It has more digits than the column already.
    counted |= sums
    if x.kind == "decimal":  # Spark's own mean of decimals is rounded once
        form = source.form(counted, counted_sum, decimals=(MORE_DIGITS - sum_like.MORE_DIGITS, MORE_DIGITS))
        return form._replace(native=source.native({"mean": f"avg({x.sql})"}, "{mean}"))
    lift: Callable[..., Any] = counted_integer
    total = "CAST({sum} AS DOUBLE)"
    if "high" in counted:
        lift = counted_halves
        total = f"(CAST({{high}} + shiftright({{low}}, 32) AS DOUBLE) * 4294967296D + ({{low}} & {integers.LOW_BITS}L))"
    form = source.form(counted, lift, f"{total} / nullif({{count}}, 0)")
    is_packed = "high" in counted and 0 < source.order.window.rows <= MOST_PACKED
    return form._replace(native=_mean_of_packed(source)) if is_packed else form


def _mean_of_packed(source: SqlInput) -> NativeSql:
    """Return how Spark computes a mean of integers in frames of few rows, with one sum less: one has the low halves, and the count above.

    Rows have the halves instead of the integers, which follow from them: each further column of rows costs Spark as much as a sum.
    """
    x, one, below = source.column, 1 << PACKED_BITS, (1 << PACKED_BITS) - 1
    high, low = (f"{half} half of {x.name}" for half in ("high", "low"))
    sums = {"high": f"sum({quote(high)})", "low and count": f"sum({quote(low)})"}
    total = f"(CAST({{high}} AS DOUBLE) * 4294967296D + ({{low and count}} & {below}L))"
    return source.native(sums, f"{total} / shiftright({{low and count}}, {PACKED_BITS})")._replace(
        inputs={high: f"shiftright({x.sql}, 32)", low: f"{x.sql} & {integers.LOW_BITS}L | {one}L"},
        restored={x.name: f"shiftleft({quote(high)}, 32) | {quote(low)} & {integers.LOW_BITS}L"},
    )


def counted_sum(n: int, total: Any) -> tuple[Any, int]:
    """Lift the sum of a slice to the partial of a mean."""
    return total, n


def total_of_mean(n: int, mean: float) -> CountedSum:
    """Lift the mean of a slice to the partial of a mean of floats."""
    return lift_float(mean * n), n


def counted_integer(n: int, total: int) -> integers.CountedTotal:
    """Lift the sum of a slice, which fits in 64 bits, to the partial of a mean of integers.

    >>> counted_integer(3, 2**40 + 7)
    (256, 7, 3)
    """
    high, low = split(total)
    return high, low, n


def counted_halves(n: int, high: int, low: int) -> integers.CountedTotal:
    """Lift the sum of a slice, in two halves, to the partial of a mean of integers."""
    return high, low, n


def geometric_mean_sql(source: SqlInput) -> SqlForm | str:
    """Add logarithms, also of zero and negative numbers, for which Spark's ln is null."""
    if not source.are_numbers:
        return source.refuse()
    x = source.column.as_double
    ln = f"CASE WHEN {x} > 0 THEN ln({x}) WHEN {x} = 0 THEN -DOUBLE('inf') WHEN {x} < 0 THEN DOUBLE('nan') END"
    summed = {"sum of logarithms": f"sum({ln})", "count": f"count({source.column.sql})"}
    return source.form(summed, counted_float, "exp({sum of logarithms} / nullif({count}, 0))")


def counted_float(total: float, n: int) -> CountedSum:
    """Lift the sum of a slice to a counted sum."""
    return lift_float(total), n


def weighted_mean_sql(source: SqlInput) -> SqlForm | str:
    """Add weights, and values times weights."""
    if not source.are_numbers:
        return source.refuse()
    x, w = (column.as_double for column in source.columns)
    summed = {"sum of products": f"sum({x} * {w})", "sum of weights": f"sum({unless_null(w, source.columns)})"}
    result = "CASE WHEN {sum of weights} = 0 THEN DOUBLE('nan') ELSE {sum of products} / {sum of weights} END"
    return source.form(summed, both_sums, result)


def both_sums(total: float, weight: float) -> WeightedSum:
    """Lift the sums of a slice to the partial of a weighted mean."""
    return lift_float(total), lift_float(weight)
