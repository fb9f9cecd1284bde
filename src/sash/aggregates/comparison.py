"""The total order of values: NaN is larger than every number and equal to NaN, -0.0 equals 0.0 (as in Spark's sort).

Every aggregate that compares values uses this module, so that max, arg_max, top_k and median agree. NaN is the value that
differs from itself. The functions test for it before they use `<` or `>`, because those raise for a Decimal NaN.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any


def is_above(one: Any, other: Any) -> bool:
    """Return whether `one` comes strictly after `other` in ascending order. Compiles.

    >>> is_above(2, 1), is_above(1, 1), is_above(float("nan"), 1), is_above(1, float("nan"))
    (True, False, True, False)
    """
    return bool(other == other and (one != one or one > other))


def ascending(values: Iterable[Any]) -> tuple[Any, ...]:
    """Sort from the smallest to the largest value, NaN last, stable: O(n log n).

    Two concatenated ascending runs are merged in O(n), since Python's sort detects runs.

    >>> ascending([3, float("nan"), 1])
    (1, 3, nan)
    """
    numbers, nans = _separate_nans(values)
    return (*sorted(numbers), *nans)


def descending(values: Iterable[Any]) -> tuple[Any, ...]:
    """Sort from the largest to the smallest value, NaN first, stable: O(n log n).

    >>> descending([3, float("nan"), 4])
    (nan, 4, 3)
    """
    numbers, nans = _separate_nans(values)
    return (*nans, *sorted(numbers, reverse=True))


def _separate_nans(values: Iterable[Any]) -> tuple[list[Any], list[Any]]:
    numbers: list[Any] = []
    nans: list[Any] = []
    for value in values:
        (numbers if value == value else nans).append(value)
    return numbers, nans
