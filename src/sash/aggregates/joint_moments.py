"""Moments of two columns together: covariance, correlation.

Pébay. Formulas for robust, one-pass parallel computation of covariances and arbitrary-order statistical moments.
Sandia report SAND2008-6212, 2008.

They merge as the moments of one column do (see `moments`): through the distances between the means of two partials, which
is stable, and commutative except for rounding. None has an inverse. An infinity makes the result NaN, wherever it is.

    older: n, x̄, ȳ, Σ(x - x̄)(y - ȳ)         newer: n, x̄, ȳ, Σ(x - x̄)(y - ȳ)
    both:  Σ(x - x̄)(y - ȳ) = older.Σ + newer.Σ + x distance · y distance · older.n · newer.n / n
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, TypeAlias

from sash.aggregates.base import Aggregate
from sash.aggregates.compensated import as_float
from sash.aggregates.definition import Fields, define
from sash.aggregates.moments import Mean, distance, mean_of_float, merge_spread, moved, no_distance
from sash.aggregates.sql import SqlForm, SqlInput
from sash.expressions import ColumnLike, Condition

Joint: TypeAlias = tuple[float, Mean, Mean, float]
"""n, x̄, ȳ, Σ(x - x̄)(y - ȳ)."""
Linear: TypeAlias = tuple[float, Mean, Mean, float, float, float]
"""A Joint, then Σ(x - x̄)² and Σ(y - ȳ)²."""


# -- factories ------------------------------------------------------------------------------------------------------------


def covariance(
    x: ColumnLike | None = None, y: ColumnLike | None = None, *, where: Condition | None = None
) -> Aggregate[Joint]:
    """Return the sample covariance of two columns (divisor n - 1).

    `x` and `y` are columns of numbers.
    `where` is a condition in SQL, or a native expression: only rows where it is true count (see `sash.expr`).

    Nulls and NaN: rows with a null in either column are skipped; a NaN or an infinity makes the result NaN.
    Result: float64; null if the window has fewer than two rows with both values.
    Errors: TypeError if a query reads a column that is not of numbers.

    >>> import pyarrow as pa
    >>> import sash
    >>> from sash import agg, window
    >>> rows = pa.table({"x": [1.0, 3.0, 4.0], "y": [10.0, 20.0, 18.0]})
    >>> sash.Query(agg.covariance("x", "y"), window.rows(2)).run(rows)["covariance"].to_pylist()
    [None, 10.0, -1.0]
    """
    return define("covariance", x, y, where=where, lower=lower_joint, **JOINT)


def correlation(
    x: ColumnLike | None = None, y: ColumnLike | None = None, *, where: Condition | None = None
) -> Aggregate[Linear]:
    """Return Pearson's correlation of two columns.

    `x` and `y` are columns of numbers.
    `where` is a condition in SQL, or a native expression: only rows where it is true count (see `sash.expr`).

    Nulls and NaN: rows with a null in either column are skipped; a NaN or an infinity makes the result NaN.
    Result: float64 from -1 to 1; NaN if a column is constant; null if the window has fewer than two rows with both values.
    Errors: TypeError if a query reads a column that is not of numbers.

    >>> import pyarrow as pa
    >>> import sash
    >>> from sash import agg, window
    >>> rows = pa.table({"x": [1.0, 1.0, 3.0, 3.0], "y": [8.0, 8.0, 4.0, 4.0]})
    >>> sash.Query(agg.correlation("x", "y"), window.rows(4, min_rows=4)).run(rows)["correlation"].to_pylist()
    [None, None, None, -1.0]
    """
    return define("correlation", x, y, where=where, lower=lower_linear, **LINEAR)


# -- functions of partials ------------------------------------------------------------------------------------------------


def lift_joint(x_value: Any, y_value: Any) -> Joint:
    """Return the joint moments of one row."""
    x, y = as_float(x_value), as_float(y_value)
    return 1.0, mean_of_float(x), mean_of_float(y), no_distance(x) + no_distance(y)


def merge_joint(older: Joint, newer: Joint) -> Joint:
    """Merge the mixed second moment (Pébay)."""
    n = older[0] + newer[0]
    share = newer[0] / n
    x_apart, y_apart = distance(older[1], newer[1]), distance(older[2], newer[2])
    x_mean, y_mean = moved(older[1], x_apart * share), moved(older[2], y_apart * share)
    return n, x_mean, y_mean, older[3] + newer[3] + x_apart * y_apart * (older[0] * share)


def lower_joint(moments: Joint) -> float:
    """Return Σ(x - x̄)(y - ȳ) / (n - 1)."""
    return moments[3] / (moments[0] - 1)


def lift_linear(x_value: Any, y_value: Any) -> Linear:
    """Return the joint moments of one row, and both second moments."""
    x, y = as_float(x_value), as_float(y_value)
    return 1.0, mean_of_float(x), mean_of_float(y), no_distance(x) + no_distance(y), no_distance(x), no_distance(y)


def merge_linear(older: Linear, newer: Linear) -> Linear:
    """Merge the joint moments and both second moments."""
    n, x_mean, y_mean, together = merge_joint(
        (older[0], older[1], older[2], older[3]), (newer[0], newer[1], newer[2], newer[3])
    )
    x_m2 = merge_spread((older[0], older[1], older[4]), (newer[0], newer[1], newer[4]))[2]
    y_m2 = merge_spread((older[0], older[2], older[5]), (newer[0], newer[2], newer[5]))[2]
    return n, x_mean, y_mean, together, x_m2, y_m2


def lower_linear(moments: Linear) -> float:
    """Return Σ(x - x̄)(y - ȳ) / √(m2 of x · m2 of y), limited to [-1, 1] against rounding."""
    scale = math.sqrt(moments[4]) * math.sqrt(moments[5])
    if scale == 0.0:
        return math.nan
    ratio = moments[3] / scale
    return math.copysign(1.0, ratio) if abs(ratio) > 1.0 else ratio


# -- SQL ------------------------------------------------------------------------------------------------------------------


def joint_sql(source: SqlInput, lift: Callable[..., Any], functions: Mapping[str, str]) -> SqlForm | str:
    """Merge Spark's joint moments of slices."""
    if not source.are_numbers:
        return source.refuse()
    x, y = (column.as_double for column in source.columns)
    return source.form({name: f"{function}({y}, {x})" for name, function in functions.items()}, lift, held=0)


def joint_of(n: int, x_mean: float, y_mean: float, together: float) -> Joint:
    """Lift a slice to joint moments."""
    return float(n), mean_of_float(x_mean), mean_of_float(y_mean), together


def linear_of(n: int, x_mean: float, y_mean: float, together: float, x_m2: float, y_m2: float) -> Linear:
    """Lift a slice to joint moments and both second moments."""
    return float(n), mean_of_float(x_mean), mean_of_float(y_mean), together, x_m2, y_m2


REGRESSION = {
    "count": "regr_count",
    "mean of first": "regr_avgx",
    "mean of second": "regr_avgy",
    "joint moment": "regr_sxy",
}
ALL_MOMENTS = REGRESSION | {"moment of first": "regr_sxx", "moment of second": "regr_syy"}
TWO_COLUMNS: Fields = {"commutative": True, "at_least": 2, "counts": (0,)}
JOINT_SQL = partial(joint_sql, lift=joint_of, functions=REGRESSION)
LINEAR_SQL = partial(joint_sql, lift=linear_of, functions=ALL_MOMENTS)
JOINT: Fields = {"lift": lift_joint, "combine": merge_joint, "sql": JOINT_SQL, **TWO_COLUMNS}
LINEAR: Fields = {"lift": lift_linear, "combine": merge_linear, "sql": LINEAR_SQL, **TWO_COLUMNS}
