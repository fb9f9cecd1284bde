"""Sum-like aggregates that divide in the end: mean, geometric_mean, weighted_mean.

The partials are sums and counts, combined field by field. mean has the forms of sum (see `sum_like`): only that of
integers has an exact inverse. The geometric mean adds logarithms, since a product of a few hundred values overflows.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

from sash.aggregates import integers
from sash.aggregates.base import Aggregate, P
from sash.aggregates.binding import over
from sash.aggregates.sum_like import as_float, in_three_forms

LARGEST_LOGARITHM = 709.782712893384
"""That of the largest float64. CPython's exp raises above it, and Numba's gives infinity."""


def mean(column: str | None = None) -> Aggregate[Any]:
    """Take the arithmetic mean; that of integers is not rounded before the division.

    >>> average = mean()
    >>> average.lower(average.combine(average.lift(3), average.lift(4)))
    3.5
    """
    whole = Aggregate(
        name="mean",
        lift=integers.split_and_count,
        combine=integers.add_counted,
        lower=integers.divide,
        inverse=integers.subtract_counted,
        identity=integers.ZERO_COUNTED,
        commutative=True,
        counts=(2,),
    )
    generic = Aggregate(
        name="mean",
        lift=count_one,
        combine=add_both,
        lower=divide,
        inverse=subtract_both,
        inverse_is_exact=False,
        commutative=True,
        counts=(1,),
    )
    real = replace(generic, lift=count_float, identity=(0.0, 0))
    return over(in_three_forms(generic, real, whole), column)


def geometric_mean(column: str | None = None) -> Aggregate[tuple[float, int]]:
    """Take the n-th root of the product of n values: 0 with a zero among them, NaN with a negative one.

    >>> growth = geometric_mean()
    >>> round(growth.lower(growth.combine(growth.lift(2e200), growth.lift(8e200))) / 1e200, 9)
    4.0
    """
    logarithms = Aggregate(
        name="geometric_mean",
        lift=count_logarithm,
        combine=add_both,
        lower=root,
        identity=(0.0, 0),
        commutative=True,
        counts=(1,),
    )
    return over(logarithms, column)


def weighted_mean(x: str | None = None, w: str | None = None) -> Aggregate[tuple[float, float]]:
    """Take the mean of x weighted by w, Σwx / Σw: NaN if the weights add up to 0.

    >>> price = weighted_mean()
    >>> price.lower(price.combine(price.lift(10.0, 3), price.lift(20.0, 1)))
    12.5
    """
    weighed = Aggregate(
        name="weighted_mean",
        lift=weigh,
        combine=add_both,
        lower=divide_by_weight,
        inputs=2,
        identity=(0.0, 0.0),
        commutative=True,
    )
    return over(weighed, x, w)


def add_both(older: tuple[Any, Any], newer: tuple[Any, Any]) -> tuple[Any, Any]:
    """Return the sums of the first and of the second fields."""
    return older[0] + newer[0], older[1] + newer[1]


def subtract_both(whole: tuple[Any, Any], older: tuple[Any, Any]) -> tuple[Any, Any]:
    """Return what is left of both sums."""
    return whole[0] - older[0], whole[1] - older[1]


def count_one(value: P) -> tuple[P, int]:
    """Lift a value of any type to a sum and a count."""
    return value, 1


def count_float(value: Any) -> tuple[float, int]:
    """Lift a number to a float64 sum and a count."""
    return as_float(value), 1


def divide(total: tuple[Any, int]) -> Any:
    """Return the sum divided by the count."""
    return total[0] / total[1]


def count_logarithm(value: Any) -> tuple[float, int]:
    """Lift a number to a sum of logarithms and a count."""
    return logarithm(as_float(value)), 1


def logarithm(value: float) -> float:
    """Return the natural logarithm, -inf for 0 and NaN below, where CPython's raises.

    >>> logarithm(1.0), logarithm(0.0), logarithm(-1.0)
    (0.0, -inf, nan)
    """
    if value > 0.0:
        return math.log(value)
    return -math.inf if value == 0.0 else math.nan


def root(total: tuple[float, int]) -> float:
    """Return exp of the mean logarithm, kept from overflowing by a rounding error."""
    exponent = total[0] / total[1]
    return math.exp(LARGEST_LOGARITHM if LARGEST_LOGARITHM < exponent < math.inf else exponent)


def weigh(value: Any, weight: Any) -> tuple[float, float]:
    """Lift a value and its weight to a weighted sum and a sum of weights."""
    return as_float(value) * as_float(weight), as_float(weight)


def divide_by_weight(total: tuple[float, float]) -> float:
    """Return the weighted sum divided by the sum of weights."""
    return total[0] / total[1] if total[1] != 0.0 else math.nan
