"""Median-like aggregates (order statistics): median, quantile, nth_smallest.

Hirzel, Schneider, Tangwongsan. Tutorial: Sliding-Window Aggregation Algorithms. DEBS 2017, section 4.3.

A partial holds the values in sorted order. `lower` uses it only through `len()` and `select(rank)`, so an order-statistics
tree, which has both, can replace it and saves the merging. Values are ordered as in `comparison`: NaN last.

    SortedValues     1  3  3  7  nan        select(0) = 1, select(3) = 7, len = 5
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from numbers import Real
from typing import Any, Protocol

from sash.aggregates.base import Aggregate
from sash.aggregates.comparison import ascending, is_above
from sash.aggregates.definition import Fields, compiled_only_by, define, require_fraction, require_positive

HALF = 0.5


class Ranked(Protocol):
    """The interface that `lower` needs: values that can be counted and selected by rank."""

    def __len__(self) -> int:
        """Return the number of values."""

    def select(self, rank: int) -> Any:
        """Return the value with `rank` values before it in sorted order."""


class SortedValues:
    """Values in sorted order; immutable.

    >>> both = SortedValues([7, 1]).merge(SortedValues([3]))
    >>> both, len(both), both.select(1)
    (SortedValues([1, 3, 7]), 3, 3)
    """

    __slots__ = ("_values",)

    def __init__(self, values: Any) -> None:
        """Sort the values: O(n log n), or O(n) for concatenated sorted runs."""
        self._values = ascending(values)

    def merge(self, newer: SortedValues) -> SortedValues:
        """Return the values of both, those of self first among equals: O(n)."""
        return SortedValues(self._values + newer._values)

    def without(self, older: SortedValues) -> SortedValues:
        """Return the values without the older ones, which must be among these: O(n)."""
        left: list[Any] = []
        gone = 0
        for value in self._values:
            if gone < len(older) and not is_above(older.select(gone), value):  # equal, since both are sorted
                gone += 1
            else:
                left.append(value)
        return SortedValues(left)

    def select(self, rank: int) -> Any:
        """Return the value with `rank` values before it: O(1)."""
        return self._values[rank]

    def __len__(self) -> int:
        """Return the number of values."""
        return len(self._values)

    def __eq__(self, other: object) -> bool:
        """Return whether both hold equal values; NaN equals NaN."""
        if not isinstance(other, SortedValues) or len(self) != len(other):
            return False
        pairs = zip(self._values, other._values, strict=True)
        return not any(is_above(mine, yours) or is_above(yours, mine) for mine, yours in pairs)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        """Return the constructor call."""
        return f"SortedValues({list(self._values)})"


def median(column: str | None = None) -> Aggregate[SortedValues]:
    """Return the middle value, or the mean of the two middle values.

    `column` holds numbers, dates or timestamps.

    Nulls and NaN: nulls are skipped; NaN is larger than every number and equal to NaN.
    Result: float64 for numbers; decimals give a decimal with four more digits; dates and timestamps keep their type; null if
    the window has no values.
    Errors: TypeError if a query reads a column of another type.

    >>> import pyarrow as pa
    >>> import sash
    >>> from sash import agg, window
    >>> rows = pa.table({"load": [3.0, 9.0, None, 4.0]})
    >>> sash.Query(agg.median("load"), window.rows(4)).run(rows)["median"].to_pylist()
    [3.0, 6.0, 6.0, 4.0]
    """
    return _quantile("median", column, 0.5)


def quantile(x: str | None = None, q: float = 0.5) -> Aggregate[SortedValues]:
    """Return the value at a fraction of the sorted values, interpolated as in NumPy and Spark.

    `x` is a column of numbers, dates or timestamps. `q` is the fraction: 0 for the smallest value, 1 for the largest.

    Nulls and NaN: nulls are skipped; NaN is larger than every number and equal to NaN.
    Result: float64 for numbers; decimals give a decimal with four more digits; dates and timestamps keep their type; null if
    the window has no values.
    Errors: ValueError if `q` is not between 0 and 1. TypeError if a query reads a column of another type.

    >>> import pyarrow as pa
    >>> import sash
    >>> from sash import agg, window
    >>> rows = pa.table({"load": [3.0, 9.0, None, 4.0]})
    >>> sash.Query(agg.quantile("load", q=0.25), window.rows(4)).run(rows)["quantile"].to_pylist()
    [3.0, 4.5, 4.5, 3.5]
    """
    require_fraction("quantile", q)
    return _quantile("quantile", x, q, constants=(q,))


def nth_smallest(x: str | None = None, i: int = 1) -> Aggregate[SortedValues]:
    """Return the i-th smallest value.

    `x` is a column of any type with an order, `i` the rank: 1 for the smallest value.

    Nulls and NaN: nulls are skipped; NaN is larger than every number and equal to NaN.
    Result: the type of the column; null if the window has fewer than `i` values.
    Errors: ValueError if `i` is less than 1. TypeError if the column has no order (lists, structs, maps).

    >>> import pyarrow as pa
    >>> import sash
    >>> from sash import agg, window
    >>> rows = pa.table({"load": [3, 9, None, 4]})
    >>> sash.Query(agg.nth_smallest("load", i=2), window.rows(4)).run(rows)["nth_smallest"].to_pylist()
    [None, 9, 9, 4]
    """
    require_positive("nth_smallest", "i", i)
    rank = float(i - 1)
    fields = _rank_fields(lambda _: rank, value_below)
    return define("nth_smallest", x, constants=(i,), at_least=i, gives="value", codes=("ordered",), **SORTED, **fields)


def _quantile(
    name: str, column: str | None, fraction: float, constants: tuple[float, ...] = ()
) -> Aggregate[SortedValues]:
    """Interpolate: numbers by a function that compiles, other values by the arithmetic of their type."""

    def rank(count: int) -> float:
        return fraction * (count - 1)

    numbers = {
        ("int",): _rank_fields(rank, integer_between),
        ("float", "bool"): _rank_fields(rank, number_between),
    }
    return define(name, column, constants=constants, variants=numbers, **SORTED, **_rank_fields(rank, interpolate))


def _rank_fields(rank: Callable[[int], float], between: Callable[[Any, Any, float], Any]) -> Fields:
    """Return the fields of an aggregate that reads the values at a rank."""

    def lower(values: Ranked) -> Any:
        place = rank(len(values))
        first = int(place)
        below = values.select(first)
        above = values.select(first + 1) if place > first else below
        return between(below, above, place - first)

    return {"lower": lower, "rank": rank, "between": between}


def lift(value: Any) -> SortedValues:
    """Lift a value to one sorted value."""
    return SortedValues((value,))


SORTED: Fields = {
    "lift": lift,
    "combine": SortedValues.merge,
    "inverse": SortedValues.without,
    "identity": SortedValues(()),
    "commutative": True,
    "holistic": True,
    "fixed_size": False,
    "interpreted_only": compiled_only_by("order_statistics_tree"),
}


def value_below(below: Any, above: Any, part: float) -> Any:  # noqa: ARG001 — the rank has no fraction
    """Return the value at the rank."""
    return below


def number_between(below: float, above: float, part: float) -> float:
    """Interpolate by weights; `below + (above - below) * part` could overflow, and is NaN for infinities."""
    low, high = 1.0 * below, 1.0 * above  # not float(…), which does not compile for bool
    return low if low == high or part == 0 else low * (1 - part) + high * part


def integer_between(below: int, above: int, part: float) -> float:
    """Interpolate between integers; the mean of two is exact before it is rounded to a float.

    >>> integer_between(-(2**63), 2**63 - 1, 0.5)
    -0.5
    """
    if part == HALF:
        # Half of each and the carry of their last bits: the sum of two large integers would need 65 bits.
        return 1.0 * ((below >> 1) + (above >> 1) + (below & above & 1)) + 0.5 * ((below ^ above) & 1)
    return number_between(below, above, part)


def interpolate(below: Any, above: Any, part: float) -> Any:
    """Interpolate between two values.

    Numbers give a float; dates, times and Decimals keep their type; strings raise TypeError if `part` is not 0.

    >>> interpolate(10, 20, 0.25)
    12.5
    """
    if isinstance(below, int) and isinstance(above, int):
        return integer_between(int(below), int(above), part)
    if isinstance(below, Real):
        return number_between(float(below), float(above), part)
    if part == 0:
        return below
    return below + (above - below) * (Decimal(part) if isinstance(below, Decimal) else part)
