"""Which aggregates can be read from the partials of another one, so that a pass over the rows keeps only those.

    kurtosis  ⊃  skewness  ⊃  variance, var_pop, stddev, stddev_pop, mean, count
    mean      ⊃  sum, count

Only the mean of floats is read from moments: they would round integers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sash.aggregates import integers
from sash.aggregates.base import Aggregate
from sash.aggregates.integers import join
from sash.aggregates.means import add_both, count_float, count_one
from sash.aggregates.moments import (
    lift_integer_skew,
    lift_integer_spread,
    lift_integer_tails,
    lift_skew,
    lift_spread,
    lift_tails,
    merge_skew,
    merge_spread,
    merge_tails,
)
from sash.aggregates.sum_like import add, as_float, one_value

Kind = tuple[Callable[..., Any], Callable[..., Any]]
"""The lift and the combine of a partial, which say what its fields mean."""
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


def whole_count(partial: Any) -> int:
    """Return the count in the partial of moments."""
    return int(partial[0])


def whole_mean(partial: Any) -> float:
    """Return the mean in the partial of moments."""
    mean: float = 2.0 * partial[1][0] + partial[1][1]
    return mean


def integer_total(partial: integers.CountedTotal) -> int:
    """Return the sum in the partial of a mean of integers."""
    return join((partial[0], partial[1]))  # by its own name: Numba knows no functions of modules


COUNT: Kind = (one_value, add)
SUM: Kind = (as_float, add)
INTEGER_SUM: Kind = (integers.split, integers.add)
ANY_MEAN: Kind = (count_one, add_both)
MEAN: Kind = (count_float, add_both)
INTEGER_MEAN: Kind = (integers.split_and_count, integers.add_counted)
SPREAD: Kind = (lift_spread, merge_spread)
SKEW: Kind = (lift_skew, merge_skew)
TAILS: Kind = (lift_tails, merge_tails)
INTEGER_SPREAD: Kind = (lift_integer_spread, merge_spread)
INTEGER_SKEW: Kind = (lift_integer_skew, merge_skew)
INTEGER_TAILS: Kind = (lift_integer_tails, merge_tails)

READINGS: dict[Kind, dict[Kind, Lower | None]] = {
    COUNT: {
        ANY_MEAN: second_field,
        MEAN: second_field,
        INTEGER_MEAN: third_field,
        SPREAD: whole_count,
        SKEW: whole_count,
        TAILS: whole_count,
        INTEGER_SPREAD: whole_count,
        INTEGER_SKEW: whole_count,
        INTEGER_TAILS: whole_count,
    },
    SUM: {MEAN: first_field},
    INTEGER_SUM: {INTEGER_MEAN: integer_total},
    MEAN: {SPREAD: whole_mean, SKEW: whole_mean, TAILS: whole_mean},
    SPREAD: {SKEW: None, TAILS: None},
    SKEW: {TAILS: None},
    INTEGER_SPREAD: {INTEGER_SKEW: None, INTEGER_TAILS: None},
    INTEGER_SKEW: {INTEGER_TAILS: None},
}
"""What can be read, from what, and how: None where the fields it needs come first, so that its own lower will do."""


def reading(aggregate: Aggregate[Any], other: Aggregate[Any]) -> Lower | None:
    """Return how to read an aggregate from the partials of another one of the same column, if that can be done.

    >>> from sash import agg
    >>> read = reading(agg.count("load"), agg.stddev("load"))
    >>> read is not None and read((5.0, (1.0, 0.1), 0.4))
    5
    """
    found = READINGS.get((aggregate.lift, aggregate.combine), {})
    kind = (other.lift, other.combine)
    if kind not in found:
        return None
    return found[kind] or aggregate.lower
