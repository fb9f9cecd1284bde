"""Moments: variance, var_pop, stddev, stddev_pop, skewness, kurtosis.

Chan, Golub, LeVeque. Updating formulae and a pairwise algorithm for computing sample variances. COMPSTAT 1982.
Pébay. Formulas for robust, one-pass parallel computation of covariances and arbitrary-order statistical moments.
Sandia report SAND2008-6212, 2008, for the third and the fourth moment.

A partial holds the count, the mean, and the sums of powers of the distances to that mean. Two of them merge through the
distance between their means, so that the spread is never the small difference of two large sums:

    older: n, mean, m2 = Σ(x - mean)²         newer: n, mean, m2
    both:  m2 = older.m2 + newer.m2 + distance² · older.n · newer.n / n          (m3 and m4 likewise)

A mean is kept as (half of one of the values, how far the mean is from that value). The mean of values around 1e9 as one
float64 is off by 1e-7, and so would be their deviation; two values of a window are subtracted exactly, or nearly so. With
that it is as accurate as two passes over the window: 1e-15 where the plain formula has 1e-7. It is half of the value so
that two integers of 64 bits can be subtracted too, as integers. n is a float, which saves conversions.

All are commutative but for rounding. None has an inverse: undoing a float is not exact. An infinity makes all of them
NaN, whatever its place, because the distances to an infinite mean are not numbers.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeAlias

from sash.aggregates.base import Aggregate
from sash.aggregates.binding import over
from sash.aggregates.sum_like import as_float

Mean: TypeAlias = tuple[float, float]
"""Half of the oldest value (of an integer, rounded down), and how far the mean is from twice that."""
Spread: TypeAlias = tuple[float, Mean, float]
"""n, mean, m2."""
Skew: TypeAlias = tuple[float, Mean, float, float]
"""n, mean, m2, m3."""
Tails: TypeAlias = tuple[float, Mean, float, float, float]
"""n, mean, m2, m3, m4."""


def variance(column: str | None = None) -> Aggregate[Spread]:
    """Take the sample variance, with n - 1 below; null for fewer than two values.

    >>> var = variance()
    >>> var.lower(var.combine(var.lift(1e9), var.lift(1e9 + 2)))
    2.0
    """
    return over(_of_spread("variance", sample_variance, at_least=2), column)


def var_pop(column: str | None = None) -> Aggregate[Spread]:
    """Take the population variance, with n below.

    >>> var = var_pop()
    >>> var.lower(var.combine(var.lift(1), var.lift(3)))
    1.0
    """
    return over(_of_spread("var_pop", population_variance), column)


def stddev(column: str | None = None) -> Aggregate[Spread]:
    """Take the sample standard deviation; null for fewer than two values.

    >>> sd = stddev()
    >>> sd.lower(sd.combine(sd.combine(sd.lift(1), sd.lift(3)), sd.lift(5)))
    2.0
    """
    return over(_of_spread("stddev", sample_deviation, at_least=2), column)


def stddev_pop(column: str | None = None) -> Aggregate[Spread]:
    """Take the population standard deviation.

    >>> sd = stddev_pop()
    >>> sd.lower(sd.combine(sd.lift(1), sd.lift(5)))
    2.0
    """
    return over(_of_spread("stddev_pop", population_deviation), column)


def _of_spread(name: str, lower: Callable[[Spread], float], at_least: int = 1) -> Aggregate[Spread]:
    return _of_moments(name, (lift_spread, lift_integer_spread), merge_spread, lower, at_least)


def _of_moments(
    name: str, lifts: tuple[Callable[[Any], Any], Callable[[Any], Any]], combine: Any, lower: Any, at_least: int = 1
) -> Aggregate[Any]:
    generic = Aggregate(
        name=name, lift=lifts[0], combine=combine, lower=lower, commutative=True, at_least=at_least, counts=(0,)
    )
    of_integers = replace(generic, lift=lifts[1])
    return replace(generic, variants={"int": of_integers, "bool": of_integers})


def skewness(column: str | None = None) -> Aggregate[Skew]:
    """Take the population skewness, √n · m3 / m2^1.5: NaN where all values are equal.

    >>> skew = skewness()
    >>> skew.lower(skew.combine(skew.lift(1), skew.lift(3)))
    0.0
    """
    return over(_of_moments("skewness", (lift_skew, lift_integer_skew), merge_skew, lower_skew), column)


def kurtosis(column: str | None = None) -> Aggregate[Tails]:
    """Take the excess kurtosis of the population, n · m4 / m2² - 3: NaN where all values are equal.

    >>> tails = kurtosis()
    >>> tails.lower(tails.combine(tails.lift(1), tails.lift(3)))
    -2.0
    """
    return over(_of_moments("kurtosis", (lift_tails, lift_integer_tails), merge_tails, lower_tails), column)


def no_distance(value: float) -> float:
    """Return the distance of a value to itself: 0, but NaN for an infinity."""
    return value - value


def distance(older: Mean, newer: Mean) -> float:
    """Return how far apart two means are."""
    return 2.0 * (newer[0] - older[0]) + (newer[1] - older[1])


def moved(mean: Mean, step: float) -> Mean:
    """Return the mean that lies so far from another."""
    return mean[0], mean[1] + step


def mean_of_float(value: float) -> Mean:
    """Return the mean of one value."""
    return 0.5 * value, 0.0


def mean_of_integer(value: int) -> Mean:
    """Return the mean of one integer, which as a float might not be the same."""
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
    """Return m2 / (n - 1), multiplied, since 1 / (n - 1) is computed once for all lanes."""
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
    """Return √n · m3 / m2^1.5, divided in two steps so that no power leaves the range of floats."""
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
    """Return n · m4 / m2² - 3; m4 is 0 beside m2 > 0 only where the fourth powers were too small for a float."""
    n, m2, m4 = moments[0], moments[2], moments[4]
    return m4 / m2 / m2 * n - 3.0 if m2 != 0.0 and m4 != 0.0 else math.nan
