"""The one order of values: NaN is larger than every number and equal to NaN, -0.0 equals 0.0 (as Spark sorts).

Every aggregate that compares goes through here, so that max, arg_max, top_k and median agree. A NaN is what differs from
itself; it is looked for before `<` and `>` are used, because those of a Decimal NaN raise.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any


def is_above(one: Any, other: Any) -> bool:
    """Tell whether `one` comes strictly after `other` in ascending order. Compiles.

    >>> is_above(2, 1), is_above(1, 1), is_above(float("nan"), 1), is_above(1, float("nan"))
    (True, False, True, False)
    """
    return bool(other == other and (one != one or one > other))


def ascending(values: Iterable[Any]) -> tuple[Any, ...]:
    """Return the values from the smallest to the largest, NaN last, equal ones in the order given: O(n log n).

    Two ascending runs one behind the other are merged in O(n), since Python's sort finds such runs.

    >>> ascending([3, float("nan"), 1])
    (1, 3, nan)
    """
    numbers, nans = _apart(values)
    return (*sorted(numbers), *nans)


def descending(values: Iterable[Any]) -> tuple[Any, ...]:
    """Return the values from the largest to the smallest, NaN first, equal ones in the order given: O(n log n).

    >>> descending([3, float("nan"), 4])
    (nan, 4, 3)
    """
    numbers, nans = _apart(values)
    return (*nans, *sorted(numbers, reverse=True))


def _apart(values: Iterable[Any]) -> tuple[list[Any], list[Any]]:
    numbers: list[Any] = []
    nans: list[Any] = []
    for value in values:
        (numbers if value == value else nans).append(value)
    return numbers, nans
