"""Which aggregates can be derived from the partials of another one, so that a pass over the rows computes only the latter.

    kurtosis  ⊃  skewness  ⊃  variance, var_pop, stddev, stddev_pop, mean, count
    mean      ⊃  sum, count

The mean is derived from the moments of floats only: moments round integers.

This is an optimization: an aggregate that is not listed here is computed by itself.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sash.aggregates import integers, means, moments, sum_like
from sash.aggregates.base import Aggregate
from sash.aggregates.integers import join

Functions = tuple[Callable[..., Any], Callable[..., Any]]
"""The lift and the combine of a partial, which define its fields."""
Lower = Callable[[Any], Any]


def first_field(partial: Any) -> Any:
    """Return the first field."""
    return partial[0]


def second_field(partial: Any) -> Any:
    """Return the second field."""
    return partial[1]


def third_field(partial: Any) -> Any:
    """Return the third field."""
    return partial[2]


def count_of_moments(partial: Any) -> int:
    """Return the count in a partial of moments."""
    return int(partial[0])


def mean_of_moments(partial: Any) -> float:
    """Return the mean in a partial of moments."""
    mean: float = 2.0 * partial[1][0] + partial[1][1]
    return mean


def sum_of_integer_mean(partial: integers.CountedTotal) -> int:
    """Return the sum in the partial of a mean of integers."""
    return join((partial[0], partial[1]))  # imported by name: Numba cannot call integers.join


COUNT: Functions = (sum_like.one_value, sum_like.add)
SUM: Functions = (sum_like.as_float, sum_like.add)
INTEGER_SUM: Functions = (integers.split, sum_like.add_both)
ANY_MEAN: Functions = (means.count_one, sum_like.add_both)
MEAN: Functions = (means.count_float, sum_like.add_both)
INTEGER_MEAN: Functions = (integers.split_and_count, integers.add_counted)
SPREAD: Functions = (moments.lift_spread, moments.merge_spread)
SKEW: Functions = (moments.lift_skew, moments.merge_skew)
TAILS: Functions = (moments.lift_tails, moments.merge_tails)
INTEGER_SPREAD: Functions = (moments.lift_integer_spread, moments.merge_spread)
INTEGER_SKEW: Functions = (moments.lift_integer_skew, moments.merge_skew)
INTEGER_TAILS: Functions = (moments.lift_integer_tails, moments.merge_tails)

MOMENTS = (SPREAD, SKEW, TAILS)
INTEGER_MOMENTS = (INTEGER_SPREAD, INTEGER_SKEW, INTEGER_TAILS)

DERIVED: dict[Functions, dict[Functions, Lower | None]] = {
    COUNT: {
        ANY_MEAN: second_field,
        MEAN: second_field,
        INTEGER_MEAN: third_field,
        **dict.fromkeys(MOMENTS + INTEGER_MOMENTS, count_of_moments),
    },
    SUM: {MEAN: first_field},
    INTEGER_SUM: {INTEGER_MEAN: sum_of_integer_mean},
    MEAN: dict.fromkeys(MOMENTS, mean_of_moments),
    SPREAD: {SKEW: None, TAILS: None},
    SKEW: {TAILS: None},
    INTEGER_SPREAD: {INTEGER_SKEW: None, INTEGER_TAILS: None},
    INTEGER_SKEW: {INTEGER_TAILS: None},
}
"""The derived partial, its sources, and the function that lowers a source; None if the source begins with the fields of the
derived partial, so that the aggregate's own lower works."""


def derive_lower(aggregate: Aggregate[Any], other: Aggregate[Any]) -> Lower | None:
    """Return the function that lowers the partials of `other`, over the same column, to results of `aggregate`, if any.

    >>> from sash import agg
    >>> lower = derive_lower(agg.count("load"), agg.stddev("load"))
    >>> lower is not None and lower((5.0, (1.0, 0.1), 0.4))
    5
    """
    sources = DERIVED.get((aggregate.lift, aggregate.combine), {})
    source = (other.lift, other.combine)
    return (sources[source] or aggregate.lower) if source in sources else None
