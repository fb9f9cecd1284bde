"""Which aggregates can be derived from the partials of another one, so that a pass over the rows computes only the latter.

    kurtosis  ⊃  skewness  ⊃  variance, var_pop, stddev, stddev_pop, count
    mean      ⊃  sum, count

The moments contain a mean, too, but an aggregate must not depend on its neighbours: that mean is rounded after each row (12 ulps
for 200,000 values around 100 ± 30), and moments round integers. A mean of its own costs a tenth of the time of a deviation.

This is an optimization: an aggregate that is not listed here is computed by itself.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sash.aggregates import compensated, integers, means, moments, sum_like
from sash.aggregates.base import Aggregate, second_field, third_field
from sash.aggregates.compensated import CountedSum, total_of
from sash.aggregates.integers import join

Functions = tuple[Callable[..., Any], Callable[..., Any]]
"""The lift and the combine of a partial, which define its fields."""
Lower = Callable[[Any], Any]


def sum_of_mean(partial: CountedSum) -> float:
    """Return the sum in the partial of a mean of floats."""
    return total_of(partial[0])


def count_of_moments(partial: Any) -> int:
    """Return the count in a partial of moments."""
    return int(partial[0])


def sum_of_integer_mean(partial: integers.CountedTotal) -> int:
    """Return the sum in the partial of a mean of integers."""
    return join((partial[0], partial[1]))  # imported by name: Numba cannot call integers.join


COUNT: Functions = (sum_like.one_value, sum_like.add)
SUM: Functions = (compensated.lift_float, compensated.add_compensated)
INTEGER_SUM: Functions = (integers.split, sum_like.add_both)
ANY_MEAN: Functions = (means.count_one, sum_like.add_both)
MEAN: Functions = (compensated.lift_counted, compensated.add_counted_sums)
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
    SUM: {MEAN: sum_of_mean},
    INTEGER_SUM: {INTEGER_MEAN: sum_of_integer_mean},
    SPREAD: {SKEW: None, TAILS: None},
    SKEW: {TAILS: None},
    INTEGER_SPREAD: {INTEGER_SKEW: None, INTEGER_TAILS: None},
    INTEGER_SKEW: {INTEGER_TAILS: None},
}
"""The derived partial, its sources, and the function that lowers a source; None if the source begins with the fields of the
derived partial, so that the aggregate's own lower works."""


def functions_name(aggregate: Aggregate[Any]) -> str:
    """Return the names of the functions that define the fields of a partial.

    >>> from sash import agg
    >>> functions_name(agg.count("load"))
    'sum_like.one_value sum_like.add'
    """
    return _name_of((aggregate.lift, aggregate.combine))


def _name_of(functions: Functions) -> str:
    names = [
        f"{getattr(function, '__module__', '')}.{getattr(function, '__qualname__', '')}".removeprefix(
            "sash.aggregates."
        )
        for function in functions
    ]
    return " ".join(names)


def derived_fields(derived: str, source: str, fields: list[Any], count: int) -> list[Any]:
    """Return the `count` fields of a derived partial among those of its source; both are given by the names of their functions.

    >>> derived_fields(_name_of(COUNT), _name_of(MEAN), ["high", "low", "values"], 1)
    ['values']
    """
    if derived == _name_of(COUNT) and source not in map(_name_of, MOMENTS + INTEGER_MOMENTS):
        return fields[-1:]  # a mean ends with its count
    return fields[:count]  # all other sources begin with the fields of the derived partial


def derive_lower(aggregate: Aggregate[Any], other: Aggregate[Any]) -> Lower | None:
    """Return the function that lowers the partials of `other`, over the same column, to results of `aggregate`, if any.

    >>> from sash import agg
    >>> lower = derive_lower(agg.count("load"), agg.stddev("load"))
    >>> lower is not None and lower((5.0, (1.0, 0.1), 0.4))
    5
    """
    if not (aggregate.is_built_in and other.is_built_in):  # a user's function may be an object without a hash
        return None
    sources = DERIVED.get((aggregate.lift, aggregate.combine), {})
    source = (other.lift, other.combine)
    return (sources[source] or aggregate.lower) if source in sources else None
