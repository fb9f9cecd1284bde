"""Lines through points: slope, intercept, r_squared, by least squares.

Their partials are the joint moments of two columns (see `joint_moments`): n, x̄, ȳ, Sxy = Σ(x - x̄)(y - ȳ), Sxx, Syy.

    slope = Sxy / Sxx          intercept = ȳ - slope · x̄          r² = Sxy² / (Sxx · Syy)

If x is the time of the row, moments are in ticks and `lower` converts them to seconds. The distance of two times is an exact difference
of integers, so that times since 1970 in nanoseconds lose no digits.

Where all x are equal there is no line. The results are then null, as in PostgreSQL and Spark. `lower` returns one float and has no null,
so `finish` makes the nulls where Sxx is 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import cache, partial
from typing import TYPE_CHECKING, Any

from sash.aggregates.base import Aggregate
from sash.aggregates.compensated import as_float
from sash.aggregates.definition import Fields, define
from sash.aggregates.joint_moments import ALL_MOMENTS, LINEAR, Linear, joint_sql, lift_linear, linear_of
from sash.aggregates.moments import mean_of_float, mean_of_integer, no_distance
from sash.aggregates.parts import TimeInput
from sash.durations import UNITS, TimeUnit
from sash.expressions import ColumnLike, Condition

if TYPE_CHECKING:
    import numpy.typing as npt


ForUnit = Callable[[TimeUnit], Mapping[str, Any]]
SECOND = UNITS["s"]


# -- factories ------------------------------------------------------------------------------------------------------------


def slope(
    y: ColumnLike | None = None, x: ColumnLike | None = None, *, where: Condition | None = None
) -> Aggregate[Linear]:
    """Return the slope of the line through the points (x, y): the change of y per unit of x.

    `y` and `x` are columns of numbers. Without `x`, x is the time of the row in seconds, or in the unit of an integer time column.
    The order of the columns is that of SQL's `regr_slope(y, x)`.
    `where` is a condition in SQL, or a native expression: only rows where it is true count (see `sash.expr`).

    Nulls and NaN: rows with a null in either column are skipped; a NaN or an infinity makes the result NaN.
    Result: float64; null if the window has fewer than two rows with both values, or if all x are equal.
    Errors: TypeError if a query reads a column that is not of numbers. ValueError if there is neither `x` nor a time column.

    >>> import pyarrow as pa
    >>> import sash
    >>> from sash import agg, window
    >>> rows = pa.table({"ts": pa.array([0, 60, 120], pa.timestamp("s")), "level": [5.0, 8.0, 17.0]})
    >>> sash.Query(agg.slope("level"), window.rows(2), time="ts").run(rows)["slope"].to_pylist()
    [None, 0.05, 0.15]
    """
    return _define("slope", y, x, lower=slope_of, for_unit=per_second, where=where)


def intercept(
    y: ColumnLike | None = None, x: ColumnLike | None = None, *, where: Condition | None = None
) -> Aggregate[Linear]:
    """Return where the line through the points (x, y) meets x = 0.

    `y` and `x` are columns of numbers. Without `x`, x is the time of the row in seconds, or in the unit of an integer time column.
    Then x = 0 is the epoch, the beginning of 1970 in UTC, and `intercept + slope * seconds` is the line. The order of the columns is
    that of SQL's `regr_intercept(y, x)`.
    `where` is a condition in SQL, or a native expression: only rows where it is true count (see `sash.expr`).

    Nulls and NaN: rows with a null in either column are skipped; a NaN or an infinity makes the result NaN.
    Result: float64; null if the window has fewer than two rows with both values, or if all x are equal.
    Errors: TypeError if a query reads a column that is not of numbers. ValueError if there is neither `x` nor a time column.

    >>> import pyarrow as pa
    >>> import sash
    >>> from sash import agg, window
    >>> rows = pa.table({"size": [1.0, 2.0, 4.0], "price": [5.0, 8.0, 16.0]})
    >>> sash.Query(agg.intercept("price", "size"), window.rows(2)).run(rows)["intercept"].to_pylist()
    [None, 2.0, 0.0]
    """
    return _define("intercept", y, x, lower=intercept_of, where=where)  # time 0 is the same in every unit


def r_squared(
    y: ColumnLike | None = None, x: ColumnLike | None = None, *, where: Condition | None = None
) -> Aggregate[Linear]:
    """Return the coefficient of determination of the line through the points (x, y): the share of y's variance that x explains.

    `y` and `x` are columns of numbers. Without `x`, x is the time of the row. The order of the columns is that of SQL's
    `regr_r2(y, x)`.
    `where` is a condition in SQL, or a native expression: only rows where it is true count (see `sash.expr`).

    Nulls and NaN: rows with a null in either column are skipped; a NaN or an infinity makes the result NaN.
    Result: float64 from 0 to 1; 1 if all y are equal; null if the window has fewer than two rows with both values, or if all x are
    equal.
    Errors: TypeError if a query reads a column that is not of numbers. ValueError if there is neither `x` nor a time column.

    >>> import pyarrow as pa
    >>> import sash
    >>> from sash import agg, window
    >>> rows = pa.table({"size": [1.0, 1.0, 3.0, 3.0], "price": [1.0, 3.0, 3.0, 5.0]})
    >>> sash.Query(agg.r_squared("price", "size"), window.rows(4)).run(rows)["r_squared"].to_pylist()
    [None, None, 0.25, 0.5]
    """
    return _define("r_squared", y, x, lower=r_squared_of, where=where)


def _define(
    name: str, y: ColumnLike | None, x: ColumnLike | None, *, for_unit: ForUnit | None = None, **fields: Any
) -> Aggregate[Linear]:
    """Return the aggregate over two columns, or over one and the time."""
    if y is None or x is not None:
        return define(name, y, x, **LINE, **fields)
    over_time = LINE | {"lift": lift_point_in_time, "sql": None, "time": TimeInput(for_unit=for_unit)}
    return define(name, y, **over_time, **fields)


# -- functions of partials ------------------------------------------------------------------------------------------------


def lift_point(y_value: Any, x_value: Any) -> Linear:
    """Return the joint moments of one row."""
    return lift_linear(x_value, y_value)


def lift_point_in_time(y_value: Any, ticks: int) -> Linear:
    """Return the joint moments of one row, whose x is its time."""
    y = as_float(y_value)
    return 1.0, mean_of_integer(ticks), mean_of_float(y), no_distance(y), 0.0, no_distance(y)


def x_moment(moments: Linear) -> float:
    """Return Sxx."""
    return moments[4]


def slope_of(moments: Linear) -> float:
    """Return Sxy / Sxx."""
    return moments[3] / moments[4] if moments[4] != 0.0 else math.nan


def intercept_of(moments: Linear) -> float:
    """Return ȳ - slope · x̄."""
    x_mean = 2.0 * moments[1][0] + moments[1][1]
    y_mean = 2.0 * moments[2][0] + moments[2][1]
    return y_mean - slope_of(moments) * x_mean


def r_squared_of(moments: Linear) -> float:
    """Return Sxy² / (Sxx · Syy) in two steps so that no product overflows, limited to 1 against rounding."""
    if moments[4] == 0.0:
        return math.nan
    if moments[5] == 0.0:
        return 1.0
    explained = moments[3] / moments[4] * (moments[3] / moments[5])
    return min(explained, 1.0)


@cache
def slope_in(ticks_per_second: float) -> Callable[[Linear], float]:
    """Return the function that lowers moments in ticks to a slope per second."""

    def lower(moments: Linear) -> float:
        return slope_of(moments) * ticks_per_second

    return lower


def per_second(unit: TimeUnit) -> Mapping[str, Any]:
    """Return the function that lowers moments in ticks to a slope per second, or in the unit of an integer time column."""
    return {} if unit.tick is None else {"lower": slope_in(SECOND / unit.tick)}


def null_if_vertical(results: npt.NDArray[Any], x_moments: npt.NDArray[Any], _: Any) -> npt.NDArray[Any]:
    """Return results for whole columns, null where all x are equal."""
    import numpy as np  # noqa: PLC0415 — `import sash` does not need NumPy

    return np.ma.MaskedArray(results, x_moments == 0.0)


# -- SQL ------------------------------------------------------------------------------------------------------------------


def points_of(n: int, y_mean: float, x_mean: float, together: float, y_m2: float, x_m2: float) -> Linear:
    """Lift a slice to joint moments; y is the first column."""
    return linear_of(n, x_mean, y_mean, together, x_m2, y_m2)


# Spark's joint moments of slices are those of `correlation(y, x)`, which share their columns.
POINTS: Fields = {"lift": lift_point, "sql": partial(joint_sql, lift=points_of, functions=ALL_MOMENTS)}
LINE: Fields = LINEAR | POINTS | {"auxiliary": x_moment, "finish": null_if_vertical}
