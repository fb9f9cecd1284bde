"""NumPy forms of the functions that small queries call most: those of sums, means, deviations, counts, maxima and minima.

`vectorize` runs any function over `Traced` columns, which takes 2 µs for each operator. With 1,000 rows that is most of a query. A form here gives
the same results for columns of 64 bits; tests compare them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from sash.aggregates import compensated, integers, max_like, moments, sum_like
from sash.aggregates.base import unchanged
from sash.aggregates.compensated import NO_ERROR
from sash.kernels.traced import CannotVectorizeError


def larger_numbers(older: Any, newer: Any) -> Any:
    """Return `larger_number` of each row."""
    return np.where((newer > older) | np.isnan(newer), newer, older)


def smaller_numbers(older: Any, newer: Any) -> Any:
    """Return `smaller_number` of each row."""
    return np.where((newer < older) | np.isnan(older), newer, older)


def lift_floats(values: Any) -> Any:
    """Return `lift_float` of each row."""
    return values.astype(np.float64), np.full(len(values), NO_ERROR)


def lift_counted_floats(values: Any) -> Any:
    """Return `lift_counted` of each row."""
    return lift_floats(values), np.ones(len(values), np.int64)


def lift_spreads(values: Any) -> Any:
    """Return `lift_spread` of each row."""
    floats = values.astype(np.float64)
    return np.ones(len(values)), (0.5 * floats, np.zeros(len(values))), floats - floats


def merge_spreads(older: Any, newer: Any) -> Any:
    """Return `merge_spread` of each row."""
    merged: Any = moments.merge_spread(older, newer)
    if not merged[0].all():  # it divides by this
        raise CannotVectorizeError("it divides by zero.")
    return merged


def ones(values: Any) -> Any:
    """Return `one_value` of each row."""
    return np.ones(len(values), np.int64)


NUMPY_FORMS: dict[Callable[..., Any], Callable[..., Any]] = {
    max_like.larger_number: larger_numbers,
    max_like.smaller_number: smaller_numbers,
    compensated.lift_float: lift_floats,
    compensated.lift_counted: lift_counted_floats,
    moments.lift_spread: lift_spreads,
    moments.merge_spread: merge_spreads,
    sum_like.one_value: ones,
    # Without a branch, a call or a division: they run on arrays as they are.
    **{
        function: function
        for function in (
            unchanged,
            sum_like.add,
            sum_like.add_both,
            compensated.add_compensated,
            compensated.add_counted_sums,
            integers.add_counted,
        )
    },
}
"""By function."""
