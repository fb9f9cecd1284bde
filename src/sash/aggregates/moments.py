"""Moments: variance, var_pop, stddev, stddev_pop, skewness, skewness_samp, kurtosis, kurtosis_samp.

Chan, Golub, LeVeque. Updating formulae and a pairwise algorithm for computing sample variances. COMPSTAT 1982.
Pébay. Formulas for robust, one-pass parallel computation of covariances and arbitrary-order statistical moments.
Sandia report SAND2008-6212, 2008, for the third and the fourth moment.

A partial holds the count, the mean, and the sums of powers of the distances to the mean. Two partials merge through the
distance between their means, so that the second moment is never a small difference of two large sums:

    older: n, mean, m2 = Σ(x - mean)²         newer: n, mean, m2
    both:  m2 = older.m2 + newer.m2 + distance² · older.n · newer.n / n          (m3 and m4 likewise)

A mean is stored as (half of one of the values, distance of the mean from that value). As one float64, the mean of values around
1e9 would be off by 1e-7, and so would be their deviation; the difference of two values of a window is exact, or nearly so.
This is as accurate as two passes over the window: 1e-15 where the plain formula has 1e-7. The half allows the subtraction of
two 64-bit integers, as integers. n is a float, which saves conversions.

All are commutative except for rounding. None has an inverse: subtracting floats is not exact. An infinity makes all of them
NaN, wherever it is, because the distances to an infinite mean are not numbers.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any, TypeAlias

from sash.aggregates.base import Aggregate
from sash.aggregates.compensated import as_float
from sash.aggregates.definition import INTEGERS, Fields, define
from sash.aggregates.sql import Lift, SqlForm, SqlInput
from sash.expressions import ColumnLike, Condition

Mean: TypeAlias = tuple[float, float]
"""Half of the oldest value (an integer is rounded down), and the distance of the mean from twice that."""
Spread: TypeAlias = tuple[float, Mean, float]
"""n, mean, m2."""
Skew: TypeAlias = tuple[float, Mean, float, float]
"""n, mean, m2, m3."""
Tails: TypeAlias = tuple[float, Mean, float, float, float]
"""n, mean, m2, m3, m4."""


# -- factories ------------------------------------------------------------------------------------------------------------


def variance(column: ColumnLike | None = None, *, where: Condition | None = None) -> Aggregate[Spread]:
    """Return the sample variance (divisor n - 1).

    `column` holds numbers.
    `where` is a condition in SQL, or a native expression: only rows where it is true count (see `sash.expr`).

    Nulls and NaN: nulls are skipped; a NaN or an infinity makes the result NaN.
    Result: float64; null if the window has fewer than two values.
    Errors: TypeError if a query reads a column that is not of numbers.

    >>> import pyarrow as pa
    >>> import sash
    >>> from sash import agg, window
    >>> rows = pa.table({"load": [1.0, 3.0, None, 7.0]})
    >>> sash.Query(agg.variance("load"), window.rows(2)).run(rows)["variance"].to_pylist()
    [None, 2.0, None, None]
    """
    return define("variance", column, lower=sample_variance, at_least=2, **SPREAD, where=where)


def var_pop(column: ColumnLike | None = None, *, where: Condition | None = None) -> Aggregate[Spread]:
    """Return the population variance (divisor n).

    `column` holds numbers.
    `where` is a condition in SQL, or a native expression: only rows where it is true count (see `sash.expr`).

    Nulls and NaN: nulls are skipped; a NaN or an infinity makes the result NaN.
    Result: float64; null if the window has no values.
    Errors: TypeError if a query reads a column that is not of numbers.

    >>> import pyarrow as pa
    >>> import sash
    >>> from sash import agg, window
    >>> rows = pa.table({"load": [1.0, 3.0, None, 7.0]})
    >>> sash.Query(agg.var_pop("load"), window.rows(2)).run(rows)["var_pop"].to_pylist()
    [0.0, 1.0, 0.0, 0.0]
    """
    return define("var_pop", column, lower=population_variance, **SPREAD, where=where)


def stddev(column: ColumnLike | None = None, *, where: Condition | None = None) -> Aggregate[Spread]:
    """Return the sample standard deviation (divisor n - 1).

    `column` holds numbers.
    `where` is a condition in SQL, or a native expression: only rows where it is true count (see `sash.expr`).

    Nulls and NaN: nulls are skipped; a NaN or an infinity makes the result NaN.
    Result: float64; null if the window has fewer than two values.
    Errors: TypeError if a query reads a column that is not of numbers.

    >>> import pyarrow as pa
    >>> import sash
    >>> from sash import agg, window
    >>> rows = pa.table({"load": [1.0, 3.0, None, 7.0]})
    >>> sash.Query(agg.stddev("load"), window.rows(2)).run(rows)["stddev"].to_pylist()
    [None, 1.4142135623730951, None, None]
    """
    return define("stddev", column, lower=sample_deviation, at_least=2, **SPREAD, where=where)


def stddev_pop(column: ColumnLike | None = None, *, where: Condition | None = None) -> Aggregate[Spread]:
    """Return the population standard deviation (divisor n).

    `column` holds numbers.
    `where` is a condition in SQL, or a native expression: only rows where it is true count (see `sash.expr`).

    Nulls and NaN: nulls are skipped; a NaN or an infinity makes the result NaN.
    Result: float64; null if the window has no values.
    Errors: TypeError if a query reads a column that is not of numbers.

    >>> import pyarrow as pa
    >>> import sash
    >>> from sash import agg, window
    >>> rows = pa.table({"load": [1.0, 3.0, None, 7.0]})
    >>> sash.Query(agg.stddev_pop("load"), window.rows(2)).run(rows)["stddev_pop"].to_pylist()
    [0.0, 1.0, 0.0, 0.0]
    """
    return define("stddev_pop", column, lower=population_deviation, **SPREAD, where=where)


def skewness(column: ColumnLike | None = None, *, where: Condition | None = None) -> Aggregate[Skew]:
    """Return the population skewness, √n · m3 / m2^1.5, as Spark's `skewness`. DuckDB and pandas have `skewness_samp`.

    `column` holds numbers.
    `where` is a condition in SQL, or a native expression: only rows where it is true count (see `sash.expr`).

    Nulls and NaN: nulls are skipped; a NaN or an infinity makes the result NaN.
    Result: float64; NaN if all values are equal; null if the window has no values.
    Errors: TypeError if a query reads a column that is not of numbers.

    >>> import pyarrow as pa
    >>> import sash
    >>> from sash import agg, window
    >>> rows = pa.table({"load": [1.0, 2.0, 3.0]})
    >>> sash.Query(agg.skewness("load"), window.rows(3, min_rows=3)).run(rows)["skewness"].to_pylist()
    [None, None, 0.0]
    """
    return define("skewness", column, lower=lower_skew, **SKEW, where=where)


def kurtosis(column: ColumnLike | None = None, *, where: Condition | None = None) -> Aggregate[Tails]:
    """Return the population excess kurtosis, n · m4 / m2² - 3, as Spark's `kurtosis`. DuckDB and pandas have `kurtosis_samp`.

    `column` holds numbers.
    `where` is a condition in SQL, or a native expression: only rows where it is true count (see `sash.expr`).

    Nulls and NaN: nulls are skipped; a NaN or an infinity makes the result NaN.
    Result: float64; NaN if all values are equal; null if the window has no values.
    Errors: TypeError if a query reads a column that is not of numbers.

    >>> import pyarrow as pa
    >>> import sash
    >>> from sash import agg, window
    >>> rows = pa.table({"load": [1.0, 3.0, 1.0, 3.0]})
    >>> sash.Query(agg.kurtosis("load"), window.rows(4, min_rows=4)).run(rows)["kurtosis"].to_pylist()
    [None, None, None, -2.0]
    """
    return define("kurtosis", column, lower=lower_tails, **TAILS, where=where)


def skewness_samp(column: ColumnLike | None = None, *, where: Condition | None = None) -> Aggregate[Skew]:
    """Return the sample skewness, as DuckDB's `skewness` and pandas' `skew`: the population's, corrected for few values.

    `column` holds numbers.
    `where` is a condition in SQL, or a native expression: only rows where it is true count (see `sash.expr`).

    Nulls and NaN: nulls are skipped; a NaN or an infinity makes the result NaN.
    Result: float64; NaN if all values are equal; null if the window has fewer than three values.
    Errors: TypeError if a query reads a column that is not of numbers.

    >>> import pyarrow as pa
    >>> import sash
    >>> from sash import agg, window
    >>> rows = pa.table({"load": [1.0, 1.0, 4.0]})
    >>> [skew and round(skew, 3) for skew in sash.Query(agg.skewness_samp("load"), window.rows(3)).run(rows)["skewness_samp"].to_pylist()]
    [None, None, 1.732]
    """
    return define("skewness_samp", column, lower=sample_skew, at_least=3, **SKEW, where=where)


def kurtosis_samp(column: ColumnLike | None = None, *, where: Condition | None = None) -> Aggregate[Tails]:
    """Return the sample excess kurtosis, as DuckDB's `kurtosis` and pandas' `kurt`: the population's, corrected for few values.

    `column` holds numbers.
    `where` is a condition in SQL, or a native expression: only rows where it is true count (see `sash.expr`).

    Nulls and NaN: nulls are skipped; a NaN or an infinity makes the result NaN.
    Result: float64; NaN if all values are equal; null if the window has fewer than four values.
    Errors: TypeError if a query reads a column that is not of numbers.

    >>> import pyarrow as pa
    >>> import sash
    >>> from sash import agg, window
    >>> rows = pa.table({"load": [1.0, 3.0, 1.0, 3.0]})
    >>> [tail and round(tail, 3) for tail in sash.Query(agg.kurtosis_samp("load"), window.rows(4)).run(rows)["kurtosis_samp"].to_pylist()]
    [None, None, None, -6.0]
    """
    return define("kurtosis_samp", column, lower=sample_tails, at_least=4, **TAILS, where=where)


# -- functions of partials ------------------------------------------------------------------------------------------------


def no_distance(value: float) -> float:
    """Return the distance of a value to itself: 0, or NaN for an infinity."""
    return value - value


def distance(older: Mean, newer: Mean) -> float:
    """Return the distance from the older to the newer mean."""
    return 2.0 * (newer[0] - older[0]) + (newer[1] - older[1])


def moved(mean: Mean, step: float) -> Mean:
    """Return the mean at a distance of `step` from another."""
    return mean[0], mean[1] + step


def mean_of_float(value: float) -> Mean:
    """Return the mean of one value."""
    return 0.5 * value, 0.0


def mean_of_integer(value: int) -> Mean:
    """Return the mean of one integer, which might not be exact as a float."""
    return int(value) >> 1, float(int(value) & 1)


def lift_spread(value: Any) -> Spread:
    """Return the moments of one value."""
    x = as_float(value)
    return 1.0, mean_of_float(x), no_distance(x)


def lift_integer_spread(value: int) -> Spread:
    """Return the moments of one integer."""
    return 1.0, mean_of_integer(value), 0.0


def lift_integer_skew(value: int) -> Skew:
    """Return the moments of one integer."""
    return 1.0, mean_of_integer(value), 0.0, 0.0


def lift_integer_tails(value: int) -> Tails:
    """Return the moments of one integer."""
    return 1.0, mean_of_integer(value), 0.0, 0.0, 0.0


def merge_spread(older: Spread, newer: Spread) -> Spread:
    """Merge up to the second moment (Chan et al.)."""
    n = older[0] + newer[0]
    share = newer[0] / n
    apart = distance(older[1], newer[1])
    return n, moved(older[1], apart * share), older[2] + newer[2] + apart * apart * (older[0] * share)


def sample_variance(moments: Spread) -> float:
    """Return m2 / (n - 1), as a product, since kernels compute 1 / (n - 1) once for all lanes."""
    return moments[2] * (1.0 / (moments[0] - 1))


def population_variance(moments: Spread) -> float:
    """Return m2 / n."""
    return moments[2] * (1.0 / moments[0])


def sample_deviation(moments: Spread) -> float:
    """Return √(m2 / (n - 1))."""
    return math.sqrt(sample_variance(moments))


def population_deviation(moments: Spread) -> float:
    """Return √(m2 / n)."""
    return math.sqrt(population_variance(moments))


def lift_skew(value: Any) -> Skew:
    """Return the moments of one value."""
    x = as_float(value)
    return 1.0, mean_of_float(x), no_distance(x), 0.0


def merge_skew(older: Skew, newer: Skew) -> Skew:
    """Merge up to the third moment (Pébay)."""
    n, mean, m2 = merge_spread((older[0], older[1], older[2]), (newer[0], newer[1], newer[2]))
    old_share, new_share = older[0] / n, newer[0] / n
    apart = distance(older[1], newer[1])
    between = apart * apart * (older[0] * new_share)
    m3 = (
        older[3]
        + newer[3]
        + apart * between * (old_share - new_share)
        + 3.0 * apart * (old_share * newer[2] - new_share * older[2])
    )
    return n, mean, m2, m3


def lower_skew(moments: Skew) -> float:
    """Return √n · m3 / m2^1.5, divided in two steps so that no power overflows or underflows."""
    n, m2, m3 = moments[0], moments[2], moments[3]
    return m3 / m2 * math.sqrt(n / m2) if m2 != 0.0 else math.nan


def lift_tails(value: Any) -> Tails:
    """Return the moments of one value."""
    x = as_float(value)
    return 1.0, mean_of_float(x), no_distance(x), 0.0, 0.0


def merge_tails(older: Tails, newer: Tails) -> Tails:
    """Merge up to the fourth moment (Pébay)."""
    n, mean, m2, m3 = merge_skew((older[0], older[1], older[2], older[3]), (newer[0], newer[1], newer[2], newer[3]))
    old_share, new_share = older[0] / n, newer[0] / n
    apart = distance(older[1], newer[1])
    square = apart * apart
    between = square * (older[0] * new_share)
    m4 = (
        older[4]
        + newer[4]
        + square * between * (old_share * old_share - old_share * new_share + new_share * new_share)
        + 6.0 * square * (old_share * old_share * newer[2] + new_share * new_share * older[2])
        + 4.0 * apart * (old_share * newer[3] - new_share * older[3])
    )
    return n, mean, m2, m3, m4


def lower_tails(moments: Tails) -> float:
    """Return n · m4 / m2² - 3, or NaN if m4 is 0: next to m2 > 0 that means that the fourth powers underflowed."""
    n, m2, m4 = moments[0], moments[2], moments[4]
    return m4 / m2 / m2 * n - 3.0 if m2 != 0.0 and m4 != 0.0 else math.nan


def sample_skew(moments: Skew) -> float:
    """Return the population skewness times √(n (n - 1)) / (n - 2), Fisher and Pearson's adjusted coefficient."""
    n = moments[0]
    above = n - 2.0
    return lower_skew(moments) * math.sqrt(n * (n - 1.0)) / above if above != 0.0 else math.nan


def sample_tails(moments: Tails) -> float:
    """Return ((n + 1) · g + 6) · (n - 1) / ((n - 2) (n - 3)), where g is the population excess kurtosis."""
    n = moments[0]
    scale = (n - 2.0) * (n - 3.0)
    return ((n + 1.0) * lower_tails(moments) + 6.0) * (n - 1.0) / scale if scale != 0.0 else math.nan


# -- SQL ------------------------------------------------------------------------------------------------------------------


def moments_sql(source: SqlInput, lift: Lift, higher: tuple[str, ...] = ()) -> SqlForm | str:
    """Merge Spark's moments of slices; `higher` names its functions for the moments above the second."""
    x = source.column
    if not x.is_number:
        return source.refuse()
    if x.is_integer and not x.is_small:
        return source.refuse(", which it would round")
    if higher and (x.kind, x.bits) == ("float", 64):
        return source.refuse(", because its own formula is inaccurate if values are close together")
    value = x.as_double
    expressions = {"count": f"count({x.sql})", "mean": f"avg({value})", "variance": f"var_pop({value})"}
    # Spark's skewness of equal values is null, while the third moment of the partial is 0.
    expressions |= {name: f"CASE WHEN var_pop({value}) = 0 THEN 0D ELSE {name}({value}) END" for name in higher}
    return source.form(expressions, lift, NATIVE_RESULTS.get(source.aggregate.lower, ""), held=0)


SAMPLE_VARIANCE = "CASE WHEN {count} > 1 THEN {variance} * {count} / ({count} - 1) END"
NATIVE_RESULTS: dict[Callable[[Any], Any], str] = {
    sample_variance: SAMPLE_VARIANCE,
    sample_deviation: f"sqrt({SAMPLE_VARIANCE})",
    population_variance: "{variance}",
    population_deviation: "sqrt({variance})",
}
"""SQL for results, by `lower`."""


def spread_of(n: int, mean: float, variance: float) -> Spread:
    """Lift a slice to moments up to the second.

    >>> spread_of(2, 3.0, 1.0)
    (2.0, (1.5, 0.0), 2.0)
    """
    return float(n), mean_of_float(mean), variance * n


def skew_of(n: int, mean: float, variance: float, skewness: float) -> Skew:
    """Lift a slice to moments up to the third."""
    count, middle, m2 = spread_of(n, mean, variance)
    return count, middle, m2, skewness * m2 * math.sqrt(variance)


def tails_of(n: int, mean: float, variance: float, skewness: float, kurtosis: float) -> Tails:
    """Lift a slice to moments up to the fourth."""
    count, middle, m2, m3 = skew_of(n, mean, variance, skewness)
    return count, middle, m2, m3, (kurtosis + 3.0) * m2 * variance


def _fields(lift: Lift, integer_lift: Lift, combine: Callable[[Any, Any], Any], sql: partial[Any]) -> Fields:
    variants = {INTEGERS: {"lift": integer_lift}}
    return {"lift": lift, "combine": combine, "commutative": True, "counts": (0,), "sql": sql, "variants": variants}


SPREAD = _fields(lift_spread, lift_integer_spread, merge_spread, partial(moments_sql, lift=spread_of))
SKEW = _fields(lift_skew, lift_integer_skew, merge_skew, partial(moments_sql, lift=skew_of, higher=("skewness",)))
TAILS = _fields(
    lift_tails, lift_integer_tails, merge_tails, partial(moments_sql, lift=tails_of, higher=("skewness", "kurtosis"))
)
