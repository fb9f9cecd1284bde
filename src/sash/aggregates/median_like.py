"""Median-like aggregates (order statistics): median, quantile, nth_smallest.

Hirzel, Schneider, Tangwongsan. Tutorial: Sliding-Window Aggregation Algorithms. DEBS 2017, section 4.3.

Their partial is the window's values in sorted order, which `lower` reads only through `len()` and `select(rank)`. So an
order-statistics tree, which has both, can stand in for it and saves the merging. The order is that of `order`: NaN last.

    SortedValues     1  3  3  7  nan        select(0) = 1, select(3) = 7, len = 5
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from numbers import Real
from typing import Any, Protocol

from sash.aggregates.base import Aggregate
from sash.aggregates.binding import compiled_only_by, over, refuse_less_than_one
from sash.aggregates.order import ascending, is_above


class Ranked(Protocol):
    """What `lower` needs: values that can be counted and picked by rank."""

    def __len__(self) -> int:
        """Return how many values there are."""

    def select(self, rank: int) -> Any:
        """Return the value with `rank` others before it in sorted order."""


class SortedValues:
    """Values in sorted order; immutable.

    >>> both = SortedValues([7, 1]).merge(SortedValues([3]))
    >>> both, len(both), both.select(1)
    (SortedValues([1, 3, 7]), 3, 3)
    """

    __slots__ = ("_values",)

    def __init__(self, values: Any) -> None:
        """Sort the values: O(n log n), or O(n) for sorted runs one behind the other."""
        self._values = ascending(values)

    def merge(self, newer: SortedValues) -> SortedValues:
        """Return the values of both, those of self first among equals: O(n)."""
        return SortedValues(self._values + newer._values)

    def without(self, older: SortedValues) -> SortedValues:
        """Return what is left when the older values, which must be among these, are taken out: O(n)."""
        left: list[Any] = []
        gone = 0
        for value in self._values:
            if gone < len(older) and not is_above(older.select(gone), value):  # equal, since both are sorted
                gone += 1
            else:
                left.append(value)
        return SortedValues(left)

    def select(self, rank: int) -> Any:
        """Return the value with `rank` others before it: O(1)."""
        return self._values[rank]

    def __len__(self) -> int:
        """Return how many values there are."""
        return len(self._values)

    def __eq__(self, other: object) -> bool:
        """Tell whether the same values are in both, NaN being equal to NaN."""
        if not isinstance(other, SortedValues) or len(self) != len(other):
            return False
        pairs = zip(self._values, other._values, strict=True)
        return not any(is_above(mine, yours) or is_above(yours, mine) for mine, yours in pairs)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        """Return the call that makes these values."""
        return f"SortedValues({list(self._values)})"


def median(column: str | None = None) -> Aggregate[SortedValues]:
    """Take the value in the middle, or the mean of the two there.

    >>> middle = median()
    >>> middle.lower(middle.combine(middle.lift(3), middle.lift(4)))
    3.5
    """
    return over(_order_statistic("median", _at_fraction(0.5)), column)


def quantile(x: str | None = None, q: float = 0.5) -> Aggregate[SortedValues]:
    """Take the value below which a fraction q lies, interpolated between its neighbours as NumPy and Spark do.

    >>> high = quantile(q=0.9)
    >>> high.lower(SortedValues(range(11)))
    9.0
    """
    if not 0 <= q <= 1:
        message = f"quantile was given q={q}, but q is a fraction: give one from 0 (the smallest) to 1 (the largest)."
        raise ValueError(message)
    return over(_order_statistic("quantile", _at_fraction(q)), x)


def nth_smallest(x: str | None = None, i: int = 1) -> Aggregate[SortedValues]:
    """Take the i-th smallest value, 1 for the smallest; null for fewer than i values.

    >>> runner_up = nth_smallest(i=2)
    >>> runner_up.lower(runner_up.combine(runner_up.lift("bee"), runner_up.lift("ant")))
    'bee'
    """
    refuse_less_than_one("nth_smallest", "i", i)
    rank = float(i - 1)
    smallest = _read_by_rank("nth_smallest", lambda _: rank, value_below)
    return over(replace(smallest, at_least=i, gives="value", codes=("ordered",)), x)


def _at_fraction(fraction: float) -> Callable[[int], float]:
    return lambda count: fraction * (count - 1)


def _order_statistic(name: str, rank: Callable[[int], float]) -> Aggregate[SortedValues]:
    """Interpolate: columns of numbers in a form that compiles, anything else with what arithmetic its type has."""
    of_numbers = _read_by_rank(name, rank, number_between)
    generic = _read_by_rank(name, rank, interpolate)
    return replace(generic, variants={"int": of_numbers, "float": of_numbers, "bool": of_numbers})


def _read_by_rank(
    name: str, rank: Callable[[int], float], between: Callable[[Any, Any, float], Any]
) -> Aggregate[SortedValues]:
    def lower(values: Ranked) -> Any:
        place = rank(len(values))
        first = int(place)
        below = values.select(first)
        above = values.select(first + 1) if place > first else below
        return between(below, above, place - first)

    return Aggregate(
        name=name,
        lift=lift,
        combine=SortedValues.merge,
        lower=lower,
        inverse=SortedValues.without,
        identity=SortedValues(()),
        commutative=True,
        rank=rank,
        between=between,
        holistic=True,
        fixed_size=False,
        interpreted_only=compiled_only_by("order_statistics_tree"),
    )


def lift(value: Any) -> SortedValues:
    """Lift a value to sorted values of only that value."""
    return SortedValues((value,))


def value_below(below: Any, above: Any, part: float) -> Any:  # noqa: ARG001 — the rank has no fraction
    """Return the value at the rank itself."""
    return below


def number_between(below: float, above: float, part: float) -> float:
    """Weigh instead of adding `(above - below) * part`: a difference could overflow, and is NaN for infinities."""
    low, high = 1.0 * below, 1.0 * above  # not float(…), which does not compile for a bool
    return low if low == high or part == 0 else low * (1 - part) + high * part


def interpolate(below: Any, above: Any, part: float) -> Any:
    """Return what lies that part of the way from one value to the next.

    Numbers give a float; dates, times and Decimals keep their type; what has no middle (strings) fails between two.

    >>> interpolate(10, 20, 0.25)
    12.5
    """
    if isinstance(below, Real):
        return number_between(float(below), float(above), part)
    if part == 0:
        return below
    return below + (above - below) * (Decimal(part) if isinstance(below, Decimal) else part)
