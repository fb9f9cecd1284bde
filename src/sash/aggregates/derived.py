"""Which aggregates can be derived from the partials of another one, so that a pass over the rows computes only the latter.

    kurtosis  ⊃  skewness  ⊃  variance, var_pop, stddev, stddev_pop, count
    mean      ⊃  sum, count

The moments contain a mean, too, but an aggregate must not depend on its neighbours: that mean is rounded after each row (12 ulps
for 200,000 values around 100 ± 30), and moments round integers. A mean of its own costs a tenth of the time of a deviation.

This is an optimization: an aggregate that is not listed here is computed by itself.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from typing import Any

from sash.aggregates.base import Aggregate, second_field, third_field
from sash.aggregates.compensated import CountedSum, total_of
from sash.aggregates.integers import CountedTotal, join

Lower = Callable[[Any], Any]


def sum_of_mean(partial: CountedSum) -> float:
    """Return the sum in the partial of a mean of floats."""
    return total_of(partial[0])


def count_of_moments(partial: Any) -> int:
    """Return the count in a partial of moments."""
    return int(partial[0])


def sum_of_integer_mean(partial: CountedTotal) -> int:
    """Return the sum in the partial of a mean of integers."""
    return join((partial[0], partial[1]))


# The lift and the combine of a partial, which define its fields, by name.
COUNT = "sum_like.one_value sum_like.add"
SUM = "compensated.lift_float compensated.add_compensated"
INTEGER_SUM = "integers.split sum_like.add_both"
ANY_MEAN = "means.count_one sum_like.add_both"
MEAN = "compensated.lift_counted compensated.add_counted_sums"
INTEGER_MEAN = "integers.split_and_count integers.add_counted"
MOMENTS = [f"moments.lift_{name} moments.merge_{name}" for name in ("spread", "skew", "tails")]
INTEGER_MOMENTS = [functions.replace("lift_", "lift_integer_") for functions in MOMENTS]

DERIVED: dict[tuple[str, str], Lower | None] = {
    (COUNT, ANY_MEAN): second_field,
    (COUNT, MEAN): second_field,
    (COUNT, INTEGER_MEAN): third_field,
    **{(COUNT, source): count_of_moments for source in MOMENTS + INTEGER_MOMENTS},
    (SUM, MEAN): sum_of_mean,
    (INTEGER_SUM, INTEGER_MEAN): sum_of_integer_mean,
    **dict.fromkeys((*combinations(MOMENTS, 2), *combinations(INTEGER_MOMENTS, 2))),
}
"""By derived partial and source: the function that lowers the source; None if the source begins with the fields of the
derived partial, so that the aggregate's own lower works."""


def functions_name(aggregate: Aggregate[Any]) -> str:
    """Return the names of the functions that define the fields of a partial.

    >>> from sash import agg
    >>> functions_name(agg.count("load"))
    'sum_like.one_value sum_like.add'
    """
    functions = (aggregate.lift, aggregate.combine)
    names = [f"{getattr(each, '__module__', '')}.{getattr(each, '__qualname__', '')}" for each in functions]
    return " ".join(name.removeprefix("sash.aggregates.") for name in names)


def derived_fields(derived: str, source: str, fields: list[Any], count: int) -> list[Any]:
    """Return the `count` fields of a derived partial among those of its source; both are given by the names of their functions.

    >>> derived_fields(COUNT, MEAN, ["high", "low", "values"], 1)
    ['values']
    """
    if derived == COUNT and source not in MOMENTS + INTEGER_MOMENTS:
        return fields[-1:]  # a mean ends with its count
    return fields[:count]  # all other sources begin with the fields of the derived partial


def derive_lower(aggregate: Aggregate[Any], other: Aggregate[Any]) -> Lower | None:
    """Return the function that lowers the partials of `other`, over the same column, to results of `aggregate`, if any.

    >>> from sash import agg
    >>> lower = derive_lower(agg.count("load"), agg.stddev("load"))
    >>> lower is not None and lower((5.0, (1.0, 0.1), 0.4))
    5
    """
    pair = functions_name(aggregate), functions_name(other)
    if not (aggregate.is_built_in and other.is_built_in) or pair not in DERIVED:  # a user's function may have any name
        return None
    return DERIVED[pair] or aggregate.lower
