"""Exponentially weighted aggregates: ewm_sum, ewm_count, ewm_mean, ewm_variance, ewm_stddev.

The weight of a value halves with every half-life of event time (`half_life`), or falls by the factor 1 - alpha with every newer value
(`alpha`). A partial holds the time, or the number of values, that its weights refer to. Combining fades the older part to the newer
one. So no weight is a power of a time since the epoch, and years of data do not overflow:

    sums      half-life: (time of the newest value, Σ), Σ faded to that time     alpha: ((1 - alpha)ⁿ, Σ), the newest weight is 1
    mean      (block or (1 - alpha)ⁿ, W = Σw, mean)
    variance  (block or (1 - alpha)ⁿ, W, D = Σ w·v over pairs of different values, mean, m2 = Σ w·(x - mean)²)

Means and variances are ratios, so that any unit of weight will do. With a half-life, weights are relative to the middle of a block of
512 half-lives, and no power is computed to merge partials. Only partials of different blocks fade, by one constant:

    time ──┼─────block 6──────┼─────block 7──────┼──►       older.block = 6, newer.block = 7: fade the older one by 2⁻⁵¹²
    weight  2^-256 … 2^+256    2^-256 … 2^+256

A value that is two or more blocks older has no weight any more: less than 10⁻¹⁵⁴ of that of the newest.

Means and second moments merge through the distance of two means, as in `moments`, so that a constant column has exactly its mean.
The sample variance is m2 · W / D, with D = W² - Σw² added up from its positive terms, because the difference of the two would lose
all digits where one weight dominates. For reference: pandas, `ewm(adjust=True, ignore_na=True)` and `var(bias=False)`.

With a half-life, all are commutative except for rounding. With alpha the order of rows decides the weights.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache, partial
from numbers import Real
from typing import TYPE_CHECKING, Any, TypeAlias

from sash.aggregates.base import Aggregate, first_field, second_field, third_field
from sash.aggregates.compensated import as_float
from sash.aggregates.definition import Fields, counted_columns, define
from sash.aggregates.moments import Mean, distance, mean_of_float, moved, no_distance
from sash.aggregates.parts import ResultRule, TimeInput
from sash.durations import Duration, DurationLike, TimeUnit, read_duration
from sash.expressions import ColumnLike, Condition

if TYPE_CHECKING:
    import numpy.typing as npt

Sum: TypeAlias = tuple[Any, float]
"""The time of the newest value, or (1 - alpha)ⁿ; the sum."""
WeightedMean: TypeAlias = tuple[Any, float, float]
"""The block of time, or (1 - alpha)ⁿ; W; the mean."""
WeightedSpread: TypeAlias = tuple[Any, float, float, Mean, float]
"""The block of time, or (1 - alpha)ⁿ; W; D; the mean; m2."""
Function: TypeAlias = Callable[..., Any]

BLOCK_BITS = 9
BLOCK = 1 << BLOCK_BITS
"""Half-lives of a block: weights, and products of two of them, stay in the range of float64."""
FADED = 2.0**-BLOCK
MOST_HALVINGS = 960
"""A sum that has halved more often does not fall any further: 2⁻⁹⁶⁰ is still a float64 with all its digits."""
# 2ˣ = 1 + x·(c₁ + c₂·x + …) for |x| ≤ ½, with an error below 1 ulp: (2ˣ - 1) / x interpolated at 11 Chebyshev nodes. A polynomial
# gives the same bits compiled, with NumPy and interpreted, and takes a fifth of the time of exp2.
C1, C2, C3, C4 = 0.6931471805599453, 0.24022650695910097, 0.0555041086648216, 0.009618129107606888
C5, C6, C7, C8 = 0.0013333558146416936, 0.0001540353044173605, 1.525273382983612e-05, 1.321544258792169e-06
C9, C10, C11 = 1.0178062445845774e-07, 7.072585949269223e-09, 4.4549605981865186e-10


# -- factories ------------------------------------------------------------------------------------------------------------


def ewm_sum(
    column: ColumnLike | None = None,
    *,
    half_life: DurationLike | None = None,
    alpha: float | None = None,
    where: Condition | None = None,
) -> Aggregate[Sum]:
    """Add the values of a column, each with a weight that decays exponentially.

    `column` holds numbers. Give one of the other two. With `half_life`, a duration such as "1h", or a number if the time column holds
    integers, a value counts half after that time: up to the time of the row, or up to `window_end` if there is a result per window.
    If the window of a row looks ahead, that is up to the newest value, unless the row is later. With `alpha`, more than 0 and at most 1, the newest value of the window has the weight 1, and every older one 1 - alpha times the
    weight of the next.
    `where` is a condition in SQL, or a native expression: only rows where it is true count (see `sash.expr`).

    Nulls and NaN: nulls are skipped; a NaN or an infinity makes the result NaN.
    Result: float64; null if the window has no values.
    Errors: TypeError if both or none of `half_life` and `alpha` are given, or if a query reads a column that is not of numbers.
    ValueError if `alpha` is out of range, `half_life` is not a duration or does not fit the time column, or if there is no time column.

    >>> import pyarrow as pa
    >>> import sash
    >>> from sash import agg, window
    >>> rows = pa.table({"minute": [0, 10, 20, 30], "load": [4.0, 2.0, None, 3.0]})
    >>> query = sash.Query(agg.ewm_sum("load", half_life=10), window.rows(3), time="minute")
    >>> query.run(rows)["ewm_sum"].to_pylist()
    [4.0, 4.0, 2.0, 3.5]
    """
    in_time, in_rows = partial(sums_in_time, value_at), partial(weights_in_rows, value_in_row, add_in_rows)
    return _define("ewm_sum", (column,), half_life, alpha, in_time, in_rows, lower=second_field, where=where)


def ewm_count(
    column: ColumnLike | None = None,
    *,
    half_life: DurationLike | None = None,
    alpha: float | None = None,
    where: Condition | None = None,
) -> Aggregate[Sum]:
    """Count the rows, or the non-null values of a column, each with a weight that decays exponentially.

    `column` is a column of any type. Without it, every row counts. Give one of the other two. With `half_life`, a duration such as
    "1h", or a number if the time column holds integers, a row counts half after that time: up to the time of the row, or up to
    `window_end` if there is a result per window. If the window of a row looks ahead, that is up to the newest value, unless the row is
    later. With `alpha`, more than 0 and at most 1, the newest value of the window has the
    weight 1, and every older one 1 - alpha times the weight of the next.
    `where` is a condition in SQL, or a native expression: only rows where it is true count (see `sash.expr`).

    Nulls and NaN: nulls in `column` are not counted; NaN is.
    Result: float64; 0 if the window has no values.
    Errors: TypeError if both or none of `half_life` and `alpha` are given. ValueError if `alpha` is out of range, `half_life` is not a
    duration or does not fit the time column, or if there is no time column.

    >>> import pyarrow as pa
    >>> import sash
    >>> from sash import agg, window
    >>> rows = pa.table({"minute": [0, 10, 20, 40]})
    >>> query = sash.Query(agg.ewm_count(half_life=10), window.tumbling(30), time="minute")
    >>> query.run(rows)["ewm_count"].to_pylist()
    [0.875, 0.25]
    """
    columns = counted_columns("ewm_count", column, where)
    in_time = partial(sums_in_time, one_at if columns else row_at)
    in_rows = partial(weights_in_rows, one_in_row if columns else row_itself, add_in_rows)
    fields: Fields = {"lower": second_field, "result": ResultRule(gives="number", at_least=0, empty=0.0)}
    fields["codes"] = ("any",)
    return _define("ewm_count", columns, half_life, alpha, in_time, in_rows, **fields, where=where)


def ewm_mean(
    column: ColumnLike | None = None,
    *,
    half_life: DurationLike | None = None,
    alpha: float | None = None,
    where: Condition | None = None,
) -> Aggregate[WeightedMean]:
    """Return the mean of a column with weights that decay exponentially.

    `column` holds numbers. Give one of the other two. With `half_life`, a duration such as "1h", or a number if the time column holds
    integers, the weight of a value halves in that time. With `alpha`, more than 0 and at most 1, every value has 1 - alpha times the
    weight of the next. pandas calls this `ewm(…, adjust=True, ignore_na=True).mean()`.
    `where` is a condition in SQL, or a native expression: only rows where it is true count (see `sash.expr`).

    Nulls and NaN: nulls are skipped; a NaN or an infinity makes the result NaN.
    Result: float64; null if the window has no values.
    Errors: TypeError if both or none of `half_life` and `alpha` are given, or if a query reads a column that is not of numbers.
    ValueError if `alpha` is out of range, `half_life` is not a duration or does not fit the time column, or if there is no time column.

    >>> import pyarrow as pa
    >>> import sash
    >>> from sash import agg, window
    >>> rows = pa.table({"load": [1.0, 4.0, None, 7.0]})
    >>> sash.Query(agg.ewm_mean("load", alpha=0.5), window.rows(2)).run(rows)["ewm_mean"].to_pylist()
    [1.0, 3.0, 4.0, 7.0]
    """
    in_time = partial(weights_in_time, lift_mean_at, merge_means_in_time)
    in_rows = partial(weights_in_rows, lift_mean_in_row, merge_means_in_rows)
    return _define("ewm_mean", (column,), half_life, alpha, in_time, in_rows, lower=third_field, where=where)


def ewm_variance(
    column: ColumnLike | None = None,
    *,
    half_life: DurationLike | None = None,
    alpha: float | None = None,
    where: Condition | None = None,
) -> Aggregate[WeightedSpread]:
    """Return the sample variance of a column with weights that decay exponentially.

    `column` holds numbers. Give one of the other two. With `half_life`, a duration such as "1h", or a number if the time column holds
    integers, the weight of a value halves in that time. With `alpha`, more than 0 and at most 1, every value has 1 - alpha times the
    weight of the next. pandas calls this `ewm(…, adjust=True, ignore_na=True).var(bias=False)`.
    `where` is a condition in SQL, or a native expression: only rows where it is true count (see `sash.expr`).

    Nulls and NaN: nulls are skipped; a NaN or an infinity makes the result NaN.
    Result: float64; null if the window has fewer than two values; NaN if only the newest value has a weight: if `alpha` is 1, or
    if the others are older than 512 half-lives or more.
    Errors: TypeError if both or none of `half_life` and `alpha` are given, or if a query reads a column that is not of numbers.
    ValueError if `alpha` is out of range, `half_life` is not a duration or does not fit the time column, or if there is no time column.

    >>> import pyarrow as pa
    >>> import sash
    >>> from sash import agg, window
    >>> rows = pa.table({"load": [1.0, 4.0, None, 7.0]})
    >>> sash.Query(agg.ewm_variance("load", alpha=0.5), window.rows(2)).run(rows)["ewm_variance"].to_pylist()
    [None, 4.5, None, None]
    """
    return _define(
        "ewm_variance", (column,), half_life, alpha, *SPREAD, lower=weighted_variance, at_least=2, where=where
    )


def ewm_stddev(
    column: ColumnLike | None = None,
    *,
    half_life: DurationLike | None = None,
    alpha: float | None = None,
    where: Condition | None = None,
) -> Aggregate[WeightedSpread]:
    """Return the sample standard deviation of a column with weights that decay exponentially.

    `column` holds numbers. Give one of the other two. With `half_life`, a duration such as "1h", or a number if the time column holds
    integers, the weight of a value halves in that time. With `alpha`, more than 0 and at most 1, every value has 1 - alpha times the
    weight of the next. pandas calls this `ewm(…, adjust=True, ignore_na=True).std(bias=False)`.
    `where` is a condition in SQL, or a native expression: only rows where it is true count (see `sash.expr`).

    Nulls and NaN: nulls are skipped; a NaN or an infinity makes the result NaN.
    Result: float64; null if the window has fewer than two values; NaN if only the newest value has a weight: if `alpha` is 1, or
    if the others are older than 512 half-lives or more.
    Errors: TypeError if both or none of `half_life` and `alpha` are given, or if a query reads a column that is not of numbers.
    ValueError if `alpha` is out of range, `half_life` is not a duration or does not fit the time column, or if there is no time column.

    >>> import pyarrow as pa
    >>> import sash
    >>> from sash import agg, window
    >>> rows = pa.table({"minute": [0, 5, 90], "load": [1.0, 3.0, 3.0]})
    >>> query = sash.Query(agg.ewm_stddev("load", half_life=10), window.time(30), time="minute")
    >>> [value and round(value, 3) for value in query.run(rows)["ewm_stddev"].to_pylist()]
    [None, 1.414, None]
    """
    return _define(
        "ewm_stddev", (column,), half_life, alpha, *SPREAD, lower=weighted_deviation, at_least=2, where=where
    )


# -- half_life or alpha ---------------------------------------------------------------------------------------------------


def _define(
    name: str,
    columns: tuple[ColumnLike | None, ...],
    half_life: DurationLike | None,
    alpha: float | None,
    in_time: Callable[[int], Fields],
    in_rows: Callable[[float], Fields],
    **fields: Any,
) -> Aggregate[Any]:
    """Return the aggregate with the functions for a half-life, or with those for alpha."""
    if (half_life is None) == (alpha is None):
        problem = "needs half_life or alpha" if alpha is None else "cannot have both half_life and alpha"
        raise TypeError(f'{name} {problem}. Use half_life="1h" to count in time, or alpha=0.1 to count in rows.')
    if half_life is None:
        assert alpha is not None
        _require_alpha(name, alpha)
        return define(name, *columns, keywords={"alpha": alpha}, **in_rows(float(alpha)), **fields)
    length = read_duration(half_life, "half_life")
    time = TimeInput(for_unit=partial(_in_unit, in_time, length), duration=length)
    keywords = {"half_life": str(length) if length.is_time else length.amount}
    fields |= in_time(length.amount)
    return define(name, *columns, commutative=True, time=time, keywords=keywords, **fields)


def _require_alpha(name: str, alpha: Any) -> None:
    if isinstance(alpha, bool) or not isinstance(alpha, Real):
        raise TypeError(f"{name} got alpha={alpha!r}, but alpha must be a number, more than 0 and at most 1.")
    if not 0 < float(alpha) <= 1:
        raise ValueError(
            f"{name} got alpha={alpha}, but alpha must be more than 0 (all values alike) and at most 1 (the newest only)."
        )


def _in_unit(in_time: Callable[[int], Fields], length: Duration, unit: TimeUnit) -> Fields:
    """Return the functions for a half-life in ticks of the time column."""
    return in_time(length.in_ticks(unit))


def sums_in_time(lift: Function, half_life: int) -> Fields:
    """Return the functions of a sum that fades in time."""
    finish = partial(fade_to, half_life)
    combine = add_in_time(half_life)
    return {"lift": lift, "combine": combine, "auxiliary": first_field, "finish": finish}


def weights_in_time(lift: Function, combine: Function, half_life: int) -> Fields:
    """Return the functions of an aggregate whose weights fade in time."""
    return {"lift": lift(half_life), "combine": combine, "costly_lift": True}


def weights_in_rows(lift: Function, combine: Function, alpha: float) -> Fields:
    """Return the functions of an aggregate whose weights fade from row to row."""
    return {"lift": lift(alpha), "combine": combine}


# -- weights --------------------------------------------------------------------------------------------------------------


def power_of_two(x: float) -> float:
    """Return 2ˣ for -½ ≤ x ≤ ½.

    >>> power_of_two(0.0), round(power_of_two(0.5) ** 2, 15)
    (1.0, 2.0)
    """
    square = x * x
    fourth = square * square
    low = (1.0 + C1 * x) + square * (C2 + C3 * x)
    middle = (C4 + C5 * x) + square * (C6 + C7 * x)
    high = (C8 + C9 * x) + square * (C10 + C11 * x)
    return low + fourth * (middle + fourth * high)


@cache
def weight_at(half_life: int) -> Function:
    """Return the function from a time to its block and its weight there; the block is a float, which saves conversions.

    >>> weight_at(10)(0) == (0.0, 2.0**-256), weight_at(10)(5110) == (0.0, 2.0**255), weight_at(10)(5120) == (1.0, 2.0**-256)
    (True, True, True)
    """
    rate, middle = 1.0 / half_life, half_life // 2

    def weigh(ticks: int) -> tuple[float, float]:
        times = (ticks + middle) // half_life
        weight = power_of_two((ticks - times * half_life) * rate)
        return float(times >> BLOCK_BITS), weight * halved(BLOCK // 2 - (times & (BLOCK - 1)))

    return weigh


def fade_of(block: float, other: float) -> float:
    """Return by how much the weights of a block fade in the other one, if that is later.

    >>> fade_of(7.0, 7.0), fade_of(8.0, 7.0), fade_of(6.0, 7.0) == 2.0**-512, fade_of(5.0, 7.0)
    (1.0, 1.0, True, 0.0)
    """
    return 1.0 if block >= other else FADED if block + 1.0 == other else 0.0


def halved(times: int) -> float:
    """Return 2 to the power of -times. Kernels have a form of it that takes four instructions (`kernels/bit_intrinsics.py`).

    >>> halved(0), halved(3)
    (1.0, 0.125)
    """
    return math.ldexp(1.0, -min(times, MOST_HALVINGS))


def fade_to(half_life: int, sums: Any, newest: Any, ticks: npt.NDArray[Any]) -> Any:
    """Fade sums from the times of their newest values to later times, for whole columns.

    >>> import numpy as np
    >>> fade_to(10, np.array([8.0, 8.0]), np.array([100, 100]), np.array([100, 130])).tolist()
    [8.0, 1.0]
    """
    import numpy as np  # noqa: PLC0415 — `import sash` does not need NumPy

    return sums * np.exp2(np.minimum(newest - ticks, 0) / half_life)  # a sum without values has no time


# -- sums -----------------------------------------------------------------------------------------------------------------


def value_at(value: Any, ticks: int) -> Sum:
    """Lift a value."""
    x = as_float(value)
    return ticks, x + no_distance(x)


def one_at(_: Any, ticks: int) -> Sum:
    """Lift a value that counts."""
    return ticks, 1.0


def row_at(ticks: int) -> Sum:
    """Lift a row that counts."""
    return ticks, 1.0


@cache
def add_in_time(half_life: int) -> Function:
    """Return the function that adds two sums at the later of their times."""
    rate, middle = 1.0 / half_life, half_life // 2

    def add(older: Sum, newer: Sum) -> Sum:
        apart = abs(newer[0] - older[0])
        times = (apart + middle) // half_life
        fade = power_of_two((times * half_life - apart) * rate) * halved(times)
        if newer[0] >= older[0]:
            return newer[0], older[1] * fade + newer[1]
        return older[0], older[1] + newer[1] * fade

    return add


@cache
def value_in_row(alpha: float) -> Function:
    """Return the function that lifts a value with the factor of its row."""
    fade = 1.0 - alpha

    def lift(value: Any) -> Sum:
        x = as_float(value)
        return fade, x + no_distance(x)

    return lift


@cache
def one_in_row(alpha: float) -> Function:
    """Return the function that lifts a value that counts."""
    fade = 1.0 - alpha

    def lift(_: Any) -> Sum:
        return fade, 1.0

    return lift


@cache
def row_itself(alpha: float) -> Function:
    """Return the function that lifts a row that counts."""
    fade = 1.0 - alpha

    def lift() -> Sum:
        return fade, 1.0

    return lift


def add_in_rows(older: Sum, newer: Sum) -> Sum:
    """Add two sums; the newer one says how much the older one fades."""
    return older[0] * newer[0], older[1] * newer[0] + newer[1]


# -- means ----------------------------------------------------------------------------------------------------------------


@cache
def lift_mean_at(half_life: int) -> Function:
    """Return the function that lifts a value to the mean of a block."""
    weigh = weight_at(half_life)

    def lift(value: Any, ticks: int) -> WeightedMean:
        block, weight = weigh(ticks)
        x = as_float(value)
        return block, weight, x + no_distance(x)

    return lift


@cache
def lift_mean_in_row(alpha: float) -> Function:
    """Return the function that lifts a value to a mean with the factor of its row."""
    fade = 1.0 - alpha

    def lift(value: Any) -> WeightedMean:
        x = as_float(value)
        return fade, 1.0, x + no_distance(x)

    return lift


def merge_means_in_time(older: WeightedMean, newer: WeightedMean) -> WeightedMean:
    """Merge two means in the later of their blocks. Any earlier one fades by 2⁻⁵¹²: a mean does not show more, and it is faster."""
    older_weight = older[1] if older[0] >= newer[0] else older[1] * FADED
    weight = older_weight + (newer[1] if newer[0] >= older[0] else newer[1] * FADED)
    block = max(newer[0], older[0])
    return block, weight, newer[2] + (older[2] - newer[2]) * (older_weight / weight)


def merge_means_in_rows(older: WeightedMean, newer: WeightedMean) -> WeightedMean:
    """Merge two means; the newer one says how much the weights of the older one fade."""
    older_weight = older[1] * newer[0]
    weight = older_weight + newer[1]
    return older[0] * newer[0], weight, newer[2] + (older[2] - newer[2]) * (older_weight / weight)


# -- variances ------------------------------------------------------------------------------------------------------------


@cache
def lift_spread_at(half_life: int) -> Function:
    """Return the function that lifts a value to the moments of a block."""
    weigh = weight_at(half_life)

    def lift(value: Any, ticks: int) -> WeightedSpread:
        block, weight = weigh(ticks)
        x = as_float(value)
        return block, weight, 0.0, mean_of_float(x), no_distance(x)

    return lift


@cache
def lift_spread_in_row(alpha: float) -> Function:
    """Return the function that lifts a value to moments with the factor of its row."""
    fade = 1.0 - alpha

    def lift(value: Any) -> WeightedSpread:
        x = as_float(value)
        return fade, 1.0, 0.0, mean_of_float(x), no_distance(x)

    return lift


def merge_spreads_in_time(older: WeightedSpread, newer: WeightedSpread) -> WeightedSpread:
    """Merge moments in the later of their blocks."""
    older_fade, newer_fade = fade_of(older[0], newer[0]), fade_of(newer[0], older[0])
    weight, pairs, mean, m2 = merge_faded(older, newer, older_fade, newer_fade)
    return max(newer[0], older[0]), weight, pairs, mean, m2


def merge_spreads_in_rows(older: WeightedSpread, newer: WeightedSpread) -> WeightedSpread:
    """Merge moments; the newer ones say how much the weights of the older ones fade."""
    weight, pairs, mean, m2 = merge_faded(older, newer, newer[0], 1.0)
    return older[0] * newer[0], weight, pairs, mean, m2


def merge_faded(
    older: WeightedSpread, newer: WeightedSpread, older_fade: float, newer_fade: float
) -> tuple[float, float, Mean, float]:
    """Merge W, D, the mean and m2 with other weights (Chan et al.). The mean moves from the newer one, which weighs more."""
    older_weight, newer_weight = older[1] * older_fade, newer[1] * newer_fade
    weight = older_weight + newer_weight
    share = older_weight / weight
    apart = distance(newer[3], older[3])
    pairs = older[2] * (older_fade * older_fade) + newer[2] * (newer_fade * newer_fade)
    m2 = older[4] * older_fade + newer[4] * newer_fade + apart * apart * (newer_weight * share)
    return weight, pairs + 2.0 * older_weight * newer_weight, moved(newer[3], apart * share), m2


def weighted_variance(moments: WeightedSpread) -> float:
    """Return m2 · W / D, or NaN if all weights but one are 0."""
    return moments[4] * (moments[1] / moments[2]) if moments[2] != 0.0 else math.nan


def weighted_deviation(moments: WeightedSpread) -> float:
    """Return √(m2 · W / D)."""
    return math.sqrt(weighted_variance(moments))


SPREAD = (
    partial(weights_in_time, lift_spread_at, merge_spreads_in_time),
    partial(weights_in_rows, lift_spread_in_row, merge_spreads_in_rows),
)
