"""NumPy forms of built-in functions beside the same functions over traced columns, bit by bit."""

from __future__ import annotations

from collections.abc import Callable
from math import inf, nan
from typing import Any

import numpy as np
import pytest

from sash.aggregates import compensated, integers, moments, sum_like
from sash.aggregates.base import unchanged
from sash.kernels.direct import NUMPY_FORMS
from sash.kernels.traced import CannotVectorizeError
from sash.kernels.vectorize import VectorFunction, fields_of, vectorize

FLOATS = np.array([0.0, -0.0, 1.5, -1.5, nan, inf, -inf, 1e308, 5e-324, 2.0**53, 0.1])
WHOLE = np.array([0, 1, -1, 2**62, -(2**63), 2**63 - 1, 7])
LIFTS: dict[Callable[..., Any], Callable[..., Any]] = {
    compensated.add_compensated: compensated.lift_float,
    compensated.add_counted_sums: compensated.lift_counted,
    moments.merge_spread: moments.lift_spread,
    integers.add_counted: integers.split_and_count,
    sum_like.add_both: integers.split,
}
"""What makes the partials that a function combines; others combine values."""


def pairs(values: Any) -> tuple[Any, Any]:
    """Return every pair of values."""
    older, newer = np.meshgrid(values, values)
    return older.ravel(), newer.ravel()


def traced(function: Callable[..., Any]) -> VectorFunction:
    return VectorFunction(vectorize(function).copied)


OF_INTEGERS = (integers.add_counted, sum_like.add_both)
CASES = [(function, WHOLE) for function in NUMPY_FORMS]
CASES += [(function, FLOATS) for function in NUMPY_FORMS if function not in OF_INTEGERS]


@pytest.mark.parametrize(("function", "values"), CASES, ids=lambda one: getattr(one, "__name__", str(one)[:9]))
def test_a_numpy_form_gives_the_same_bits(function: Callable[..., Any], values: Any) -> None:
    lift = LIFTS.get(function, unchanged)
    arguments = tuple(traced(lift)(column) for column in pairs(values))[: function.__code__.co_argcount]
    mine, expected = vectorize(function)(*arguments), traced(function)(*arguments)
    for one, other in zip(fields_of(mine), fields_of(expected), strict=True):
        assert one.dtype == other.dtype
        is_nan = np.isnan(one)
        assert np.array_equal(is_nan, np.isnan(other))
        assert np.array_equal(one[~is_nan], other[~is_nan])
        if one.dtype.kind == "f":
            assert np.array_equal(np.signbit(one[~is_nan]), np.signbit(other[~is_nan]))


def test_narrow_columns_are_traced() -> None:
    narrow = np.array([2**31 - 1], np.int32)
    assert vectorize(sum_like.add)(narrow, narrow).tolist() == [2**32 - 2]


def test_no_form_divides_by_zero() -> None:
    empty = np.zeros(1), (np.zeros(1), np.zeros(1)), np.zeros(1)
    with pytest.raises(CannotVectorizeError, match="divides by zero"):
        vectorize(moments.merge_spread)(empty, empty)
