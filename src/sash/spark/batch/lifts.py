"""Partials as Spark SQL aggregates them, in the form that aggregates combine.

Where SQL's sum, max or any is the partial itself, the aggregate's own lift will do. The others are here, each for the
columns that `partials` asks Spark for. They are compiled like any lift.
"""

from __future__ import annotations

import math
from typing import Any

from sash.aggregates.integers import LOW_BITS, CountedTotal, Total
from sash.aggregates.joint_moments import Joint, Linear
from sash.aggregates.moments import Skew, Spread, Tails
from sash.aggregates.sketches import Quantiles, Registers


def both(one: Any, other: Any) -> tuple[Any, Any]:
    """Return two fields as one partial: smallest and largest, or high and low halves."""
    return one, other


def counted_sum(n: int, total: Any) -> tuple[Any, int]:
    """Return the partial of a mean."""
    return total, n


def counted_mean(n: int, mean: float) -> tuple[float, int]:
    """Return the partial of a mean, given the mean."""
    return mean * n, n


def counted_whole_sum(n: int, total: int) -> CountedTotal:
    """Return the partial of a mean of integers, of which the sum fits in 64 bits.

    >>> counted_whole_sum(3, 2**40 + 7)
    (256, 7, 3)
    """
    return int(total) >> 32, int(total) & LOW_BITS, n


def counted_halves(n: int, high: int, low: int) -> CountedTotal:
    """Return the partial of a mean of integers."""
    return high, low, n


def halves(high: int, low: int) -> Total:
    """Return the partial of a sum of integers."""
    return high, low


def spread_of(n: int, mean: float, variance: float) -> Spread:
    """Return the moments of n values up to the second.

    >>> spread_of(2, 3.0, 1.0)
    (2.0, (1.5, 0.0), 2.0)
    """
    return float(n), (0.5 * mean, 0.0), variance * n


def skew_of(n: int, mean: float, variance: float, skewness: float) -> Skew:
    """Return the moments of n values up to the third."""
    count, middle, m2 = spread_of(n, mean, variance)
    return count, middle, m2, skewness * m2 * math.sqrt(variance)


def tails_of(n: int, mean: float, variance: float, skewness: float, kurtosis: float) -> Tails:
    """Return the moments of n values up to the fourth."""
    count, middle, m2, m3 = skew_of(n, mean, variance, skewness)
    return count, middle, m2, m3, (kurtosis + 3.0) * m2 * variance


def joint_of(n: int, x_mean: float, y_mean: float, together: float) -> Joint:
    """Return the joint moments of n rows."""
    return float(n), (0.5 * x_mean, 0.0), (0.5 * y_mean, 0.0), together


def linear_of(n: int, x_mean: float, y_mean: float, together: float, x_m2: float, y_m2: float) -> Linear:
    """Return the joint moments of n rows, and both second moments."""
    return float(n), (0.5 * x_mean, 0.0), (0.5 * y_mean, 0.0), together, x_m2, y_m2


def registers_of(sketch: bytes) -> Registers:
    """Return a HyperLogLog sketch that Spark made."""
    return Registers(sketch)


def quantiles_of(nans: int, sketch: bytes) -> Quantiles:
    """Return a KLL sketch that Spark made, and the number of NaNs, which it leaves out."""
    return sketch, nans
