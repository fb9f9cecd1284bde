"""Median-like aggregates (order statistics): median, quantile, nth_smallest, rank.

Hirzel, Schneider, Tangwongsan. Tutorial: Sliding-Window Aggregation Algorithms. DEBS 2017, section 4.3.

A partial holds the values in sorted order (`SortedValues`). `lower` uses it only through `len()` and `select(rank)`, so an order-statistics
tree, which has both, can replace it and saves the merging. Values are ordered as in `comparison`: NaN last.

    SortedValues     1  3  3  7  nan        select(0) = 1, select(3) = 7, len = 5
    NewestAmong      1  3  3  7  nan        the same, and newest() = 3, for the rank of that value
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal
from fractions import Fraction
from functools import partial
from numbers import Real
from typing import TYPE_CHECKING, Any, Literal

from sash.aggregates.base import Aggregate, Functions
from sash.aggregates.comparison import ascending, is_above
from sash.aggregates.decimals import exact_part, join_quantile, over_digits, steps_of
from sash.aggregates.definition import Fields, compiled_only_by, define, require_count, require_fraction, require_list
from sash.aggregates.parts import Coding, Laws, Ranking, ResultRule
from sash.expressions import ColumnLike, Condition

if TYPE_CHECKING:  # `import sash` does not import NumPy
    from numpy.typing import NDArray

HALF = 0.5
RankMethod = Literal["average", "min", "max"]


class SortedValues:
    """Values in sorted order; immutable.

    >>> both = SortedValues([7, 1]).merge(SortedValues([3]))
    >>> both, len(both), both.select(1)
    (SortedValues([1, 3, 7]), 3, 3)
    """

    __slots__ = ("values",)

    def __init__(self, values: Any) -> None:
        """Sort the values: O(n log n), or O(n) for concatenated sorted runs."""
        self.values = ascending(values)

    def merge(self, newer: SortedValues) -> SortedValues:
        """Return the values of both, those of self first among equals: O(n)."""
        return SortedValues(self.values + newer.values)

    def without(self, older: SortedValues) -> SortedValues:
        """Return the values without the older ones, which must be among these: O(n)."""
        left: list[Any] = []
        gone = 0
        for value in self.values:
            if gone < len(older) and not is_above(older.select(gone), value):  # equal, since both are sorted
                gone += 1
            else:
                left.append(value)
        return SortedValues(left)

    def select(self, rank: int) -> Any:
        """Return the value with `rank` values before it: O(1)."""
        return self.values[rank]

    def __len__(self) -> int:
        """Return the number of values."""
        return len(self.values)

    def __eq__(self, other: object) -> bool:
        """Return whether both hold equal values; NaN equals NaN."""
        if not isinstance(other, SortedValues) or len(self) != len(other):
            return False
        pairs = zip(self.values, other.values, strict=True)
        return not any(is_above(mine, yours) or is_above(yours, mine) for mine, yours in pairs)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        """Return the constructor call."""
        return f"SortedValues({list(self.values)})"


def median(column: ColumnLike | None = None, *, where: Condition | None = None) -> Aggregate[SortedValues]:
    """Return the middle value, or the mean of the two middle values.

    `column` holds numbers, dates or timestamps.
    `where` is a condition in SQL, or a native expression: only rows where it is true count (see `sash.expr`).

    Nulls and NaN: nulls are skipped; NaN is larger than every number and equal to NaN.
    Result: float64 for numbers; decimals give a decimal with four more digits; dates and timestamps keep their type, but
    seconds and milliseconds become microseconds; null if the window has no values.
    Errors: TypeError if a query reads a column of another type.

    >>> import pyarrow as pa
    >>> import sash
    >>> from sash import agg, window
    >>> rows = pa.table({"load": [3.0, 9.0, None, 4.0]})
    >>> sash.Query(agg.median("load"), window.rows(4)).run(rows)["median"].to_pylist()
    [3.0, 6.0, 6.0, 4.0]
    """
    return _quantile("median", column, 0.5, where=where)


class NewestAmong(SortedValues):
    """Values in sorted order, and the newest of them; immutable.

    >>> both = NewestAmong([7], 7).merge(NewestAmong([3], 3))
    >>> both, len(both), both.newest()
    (NewestAmong([3, 7], 3), 2, 3)
    """

    __slots__ = ("_newest",)

    def __init__(self, values: Any, newest: Any) -> None:
        """Sort the values, as SortedValues does, and keep the newest of them."""
        super().__init__(values)
        self._newest = newest

    def merge(self, newer: Any) -> NewestAmong:
        """Return the values of both: O(n)."""
        return NewestAmong(self.values + newer.values, newer.newest())

    def without(self, older: SortedValues) -> NewestAmong:
        """Return the values without the older ones, which must be among these: O(n)."""
        return NewestAmong(super().without(older).values, self._newest)

    def newest(self) -> Any:
        """Return the newest value."""
        return self._newest

    def __eq__(self, other: object) -> bool:
        """Return whether both hold equal values, and the same newest one; NaN equals NaN."""
        if not isinstance(other, NewestAmong) or not super().__eq__(other):
            return False
        return not (is_above(self._newest, other._newest) or is_above(other._newest, self._newest))

    __hash__ = None

    def __repr__(self) -> str:
        """Return the constructor call."""
        return f"NewestAmong({list(self.values)}, {self._newest!r})"


def quantile(
    x: ColumnLike | None = None, q: float | Sequence[float] | NDArray[Any] = 0.5, *, where: Condition | None = None
) -> Aggregate[SortedValues]:
    """Return the value at a fraction of the sorted values, interpolated as in NumPy and Spark.

    `x` is a column of numbers, dates or timestamps. `q` is the fraction: 0 for the smallest value, 1 for the largest; or a
    list of fractions, all of which are read from values that are sorted once.
    `where` is a condition in SQL, or a native expression: only rows where it is true count (see `sash.expr`).

    Nulls and NaN: nulls are skipped; NaN is larger than every number and equal to NaN.
    Result: float64 for numbers; decimals give a decimal with four more digits; dates and timestamps keep their type, but
    seconds and milliseconds become microseconds; for several fractions a list of these, in the order of `q`; null if the
    window has no values.
    Errors: ValueError if `q` is an empty list, or a fraction is not between 0 and 1. TypeError if a query reads a column of
    another type.

    >>> import pyarrow as pa
    >>> import sash
    >>> from sash import agg, window
    >>> rows = pa.table({"load": [3.0, 9.0, None, 4.0]})
    >>> sash.Query(agg.quantile("load", q=0.25), window.rows(4)).run(rows)["quantile"].to_pylist()
    [3.0, 4.5, 4.5, 3.5]
    >>> sash.Query(agg.quantile("load", q=[0.5, 1]), window.rows(4)).run(rows)["quantile"].to_pylist()
    [[3.0, 3.0], [6.0, 9.0], [6.0, 9.0], [4.0, 9.0]]
    """
    given: Any = q
    if isinstance(given, str) or not hasattr(given, "__len__"):
        require_fraction("quantile", given)
        return _quantile("quantile", x, given, constants=(given,), where=where)
    fractions = require_list("quantile", "q", given, at_least=1)
    for fraction in fractions:
        require_fraction("quantile", fraction)
    entries = tuple(_quantile("quantile", None, fraction, constants=(fraction,)) for fraction in fractions)

    def lowers(kind: str) -> Fields:
        return {"lower": lower_each(tuple(entry.of_kind(kind).lower for entry in entries))}

    fields = {**SORTED, "ranked": entries[0].laws.ranked, **lowers("object")}
    fields |= {"constants": (fractions,), "entries": entries, "entry_names": tuple(map(str, fractions))}
    numbers = ("int", "float", "bool", "ticks")
    return define("quantile", x, variants={(kind,): lowers(kind) for kind in numbers}, **fields, where=where)


def nth_smallest(x: ColumnLike | None = None, i: int = 1, *, where: Condition | None = None) -> Aggregate[SortedValues]:
    """Return the i-th smallest value.

    `x` is a column of any type with an order, `i` the rank: 1 for the smallest value.
    `where` is a condition in SQL, or a native expression: only rows where it is true count (see `sash.expr`).

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
    require_count("nth_smallest", "i", i)
    rank = float(i - 1)
    fields = _rank_fields(lambda _: rank, value_below)
    fields |= {"constants": (i,), "result": ResultRule(gives="value", at_least=i), "codes": ("ordered",)}
    return define("nth_smallest", x, **SORTED, **fields, where=where)


def rank(
    x: ColumnLike | None = None, *, method: RankMethod = "average", pct: bool = False, where: Condition | None = None
) -> Aggregate[Any]:
    """Return the rank of the newest value among the values of its window, as pandas' `rolling().rank()`.

    `x` is a column of any type with an order. `method` is the rank of equal values: "average" for the mean of their ranks,
    "min" for the lowest, "max" for the highest. With `pct=True` ranks are divided by the number of values.
    `where` is a condition in SQL, or a native expression: only rows where it is true count (see `sash.expr`).

    Nulls and NaN: null if the newest row of the window is null; other nulls are skipped. A `sash.Aggregator` skips all nulls: it
    ranks the newest value. NaN is larger than every number and equal to NaN.
    Result: float64; 1.0 for the smallest value; null if the window has no values.
    Errors: ValueError if `method` is none of the three. TypeError if the column has no order (lists, structs, maps).

    >>> import pyarrow as pa
    >>> import sash
    >>> from sash import agg, window
    >>> rows = pa.table({"load": [3, 9, None, 9]})
    >>> sash.Query(agg.rank("load"), window.rows(4)).run(rows)["rank"].to_pylist()
    [1.0, 2.0, None, 2.5]
    >>> sash.Query(agg.rank("load", method="max", pct=True), window.rows(4)).run(rows)["rank"].to_pylist()
    [1.0, 1.0, None, 1.0]
    """
    if method not in PLACES:
        raise ValueError(f'rank got method={method!r}, but method must be "average", "min" or "max".')
    if not isinstance(pct, bool):
        raise TypeError(f"rank got pct={pct!r}, but pct must be True or False.")
    keywords = ({"method": method} if method != "average" else {}) | ({"pct": True} if pct else {})
    place = PLACES[method][pct]

    def lower(values: Any) -> float:
        newest = values.newest()
        smaller = count_before(values, newest)
        return place(smaller, count_before(values, newest, with_equal=True) - smaller, len(values))

    functions = Functions(lift_newest, NewestAmong.merge, lower, NewestAmong.without)
    laws = Laws(invertible=True, ranked=Ranking(place=place), holistic=True, fixed_size=False)
    result = ResultRule(of_newest=True, gives="real")
    coding = Coding(codes=("ordered",), interpreted_only=SORTED["interpreted_only"])
    fields: Fields = {"keywords": keywords, "laws": laws, "result": result, "coding": coding}
    return define("rank", x, functions=functions, **fields, where=where)


def _quantile(name: str, column: ColumnLike | None, fraction: float, **fields: Any) -> Aggregate[SortedValues]:
    """Interpolate: numbers by a function that compiles, other values by the arithmetic of their type."""

    def rank(count: int) -> float:
        return fraction * (count - 1)

    numbers = {
        ("int",): _rank_fields(rank, integer_between),
        ("float", "bool"): _rank_fields(rank, number_between),
        ("ticks",): _rank_fields(rank, ticks_between),
    }

    def between(below: Any, above: Any, part: float) -> Any:
        return interpolate(below, above, part, fraction)

    read = tuple(_rank_fields(rank, part) for part in (value_below, value_above, part_between))
    laws = {field: value for field, value in SORTED.items() if field != "functions"} | {"ranked": read[0]["ranked"]}
    scaled = over_digits(name, SORTED["functions"], read, partial(join_quantile, steps=steps_of(fraction)), **laws)
    own = _rank_fields(rank, between)
    return define(name, column, variants=numbers, **SORTED, **own, scaled=scaled, **fields)


def nearest_rank(name: str, fraction: float) -> Aggregate[SortedValues]:
    """Return the smallest value whose rank is at least a fraction of the number of values, as a float: what KLL sketches estimate."""

    def rank(count: int) -> float:
        above = -(-(fraction * count / count * count) // 1.0) - 1.0  # rounded up, in the steps of DataSketches
        return above if above > 0 else 0.0

    fields = _rank_fields(rank, float_below) | {"gives": "real", "constants": (fraction,)}
    return define(name, None, **SORTED, **fields)


def _rank_fields(rank: Callable[[int], float], between: Callable[[Any, Any, float], Any]) -> Fields:
    """Return the fields of an aggregate that reads the values at a rank."""

    def lower(values: SortedValues) -> Any:
        position = rank(len(values))
        first = int(position)
        below = values.select(first)
        above = values.select(first + 1) if position > first else below
        return between(below, above, position - first)

    return {"lower": lower, "ranked": Ranking(rank=rank, between=between)}


def lower_each(lowers: tuple[Callable[[SortedValues], Any], ...]) -> Callable[[SortedValues], list[Any]]:
    """Return the function that lowers a partial to a list, one entry for each function."""

    def lower(values: SortedValues) -> list[Any]:
        return [each(values) for each in lowers]

    return lower


def lift(value: Any) -> SortedValues:
    """Lift a value to one sorted value."""
    return SortedValues((value,))


def lift_newest(value: Any) -> NewestAmong:
    """Lift a value to one sorted value, which is the newest."""
    return NewestAmong((value,), value)


SORTED: Fields = {
    "functions": Functions(lift, SortedValues.merge, inverse=SortedValues.without, identity=SortedValues(())),
    "laws": Laws(invertible=True, commutative=True, holistic=True, fixed_size=False),
    "interpreted_only": compiled_only_by("order_statistics_tree"),
}


def count_before(values: SortedValues, value: Any, *, with_equal: bool = False) -> int:
    """Return how many values are smaller than a value, or not larger: O(log n) calls of select.

    >>> values = SortedValues([1, 3, 3, 7])
    >>> count_before(values, 3), count_before(values, 3, with_equal=True)
    (1, 3)
    """
    low, high = 0, len(values)
    while low < high:
        middle = (low + high) // 2
        candidate = values.select(middle)
        if (not is_above(candidate, value)) if with_equal else is_above(value, candidate):
            low = middle + 1
        else:
            high = middle
    return low


def average_place(smaller: int, equal: int, count: int) -> float:  # noqa: ARG001 — the parameters of all places
    """Return the mean rank of the equal values."""
    return smaller + (equal + 1) / 2


def lowest_place(smaller: int, equal: int, count: int) -> float:  # noqa: ARG001
    """Return the lowest rank of the equal values."""
    return smaller + 1.0


def highest_place(smaller: int, equal: int, count: int) -> float:  # noqa: ARG001
    """Return the highest rank of the equal values."""
    return 1.0 * (smaller + equal)


def average_share(smaller: int, equal: int, count: int) -> float:
    """Return the mean rank of the equal values as a share of all values."""
    return (smaller + (equal + 1) / 2) / count


def lowest_share(smaller: int, equal: int, count: int) -> float:  # noqa: ARG001
    """Return the lowest rank of the equal values as a share of all values."""
    return (smaller + 1) / count


def highest_share(smaller: int, equal: int, count: int) -> float:
    """Return the highest rank of the equal values as a share of all values."""
    return (smaller + equal) / count


PLACES = {
    "average": (average_place, average_share),
    "min": (lowest_place, lowest_share),
    "max": (highest_place, highest_share),
}
"""By method: the function for ranks, and the one for shares."""


def value_below(below: Any, above: Any, part: float) -> Any:  # noqa: ARG001 — the rank has no fraction
    """Return the value at the rank."""
    return below


def value_above(below: Any, above: Any, part: float) -> Any:  # noqa: ARG001 — the caller interpolates
    """Return the value after the rank, or at it."""
    return above


def part_between(below: Any, above: Any, part: float) -> float:  # noqa: ARG001
    """Return the fraction of the rank."""
    return part


def float_below(below: float, above: float, part: float) -> float:  # noqa: ARG001 — the rank has no fraction
    """Return the value at the rank as a float."""
    return 1.0 * below  # not float(…), which does not compile for bool


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


def ticks_between(below: int, above: int, part: float) -> int:
    """Interpolate between times in ticks, rounded to a whole tick as Python rounds a timedelta; a float has too few digits.

    >>> ticks_between(2**62, 2**62 + 2, 0.5) - 2**62
    1
    """
    return below + round((above - below) * Fraction(part))


def interpolate(below: Any, above: Any, part: float, fraction: float) -> Any:
    """Interpolate between two values.

    Numbers give a float; dates, times and Decimals keep their type; strings raise TypeError if `part` is not 0. For Decimals,
    `part` is rounded to the exact part of the rank of `fraction`.

    >>> interpolate(10, 20, 0.25, 0.5), interpolate(Decimal(0), Decimal(1), 0.1, 0.1)
    (12.5, Decimal('0.1'))
    """
    if isinstance(below, int) and isinstance(above, int):
        return integer_between(int(below), int(above), part)
    if isinstance(below, Real):
        return number_between(float(below), float(above), part)
    if part == 0:
        return below
    if isinstance(below, Decimal):
        numerator, denominator = exact_part(part, steps_of(fraction))
        return below + (above - below) * numerator / denominator
    return below + (above - below) * part
