"""Counts of values by intervals: histogram.

    edges    0      10     20     30        bins [0, 10), [10, 20), [20, 30]: only the last one includes its right edge
    partial  (2,     0,     1)              one count for each bin; counts subtract, so the inverse is exact

A kernel counts each bin as an aggregate of its own, in one pass. It compares a value with the smallest and the largest value of
a bin, in the type of the column: an int64 never becomes a float, which would round it.
"""

from __future__ import annotations

import math
import operator
from bisect import bisect_right
from collections.abc import Callable, Sequence
from decimal import Decimal
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeAlias

from sash.aggregates.base import Aggregate, Functions
from sash.aggregates.definition import WHOLE, Fields, define, require_list
from sash.aggregates.parts import Laws, ResultRule
from sash.aggregates.sum_like import add, subtract
from sash.expressions import ColumnLike, Condition

if TYPE_CHECKING:  # `import sash` does not import NumPy
    from numpy.typing import NDArray

Counts: TypeAlias = tuple[int, ...]
"""The number of values in each bin."""

MOST_COMPILED = 20
"""The most bins that are compiled: on a busy machine 20 took 40 s; 32 did not compile."""
INT64 = (-(2**63), 2**63 - 1)
ADDED = Laws(invertible=True, commutative=True)
NOTHING = (1, 0)
"""The smallest and the largest value of a bin without values."""


def histogram(
    x: ColumnLike | None = None,
    edges: Sequence[float | Decimal] | NDArray[Any] = (0, 1),
    *,
    where: Condition | None = None,
) -> Aggregate[Any]:
    """Count the values in each bin, with the bins of `numpy.histogram`.

    `x` is a column of numbers. `edges` are the edges of the bins, in increasing order: n + 1 numbers for n bins. A bin includes
    its left edge but not its right one; the last bin includes both. Infinity is allowed. Up to 20 bins are compiled.
    `where` is a condition in SQL, or a native expression: only rows where it is true count (see `sash.expr`).

    Nulls and NaN: nulls are skipped; NaN is in no bin. Values outside of the edges are not counted.
    Result: a list of int64, one for each bin; zeros if the window has no values.
    Errors: ValueError if there are fewer than two edges, if one is NaN, or if they do not increase. TypeError if an edge is not a
    number, or if a query reads a column of another type.

    >>> import pyarrow as pa
    >>> import sash
    >>> from sash import agg, window
    >>> rows = pa.table({"load": [3.0, 9.0, None, 20.0]})
    >>> sash.Query(agg.histogram("load", edges=[0, 5, 10, 20]), window.rows(4)).run(rows)["histogram"].to_pylist()
    [[1, 0, 0], [1, 1, 0], [1, 1, 0], [1, 1, 1]]
    """
    checked = require_list("histogram", "edges", edges, at_least=2)
    for left, right in pairwise(checked):
        if not left < right:
            raise ValueError(
                f"histogram got edges with {left} before {right}, but edges must increase, and none may be NaN."
            )
    bins = len(checked) - 1
    functions = Functions(lift_into(tuple(checked)), add_each, list, subtract_each, identity=(0,) * bins)
    fields: Fields = {"constants": (checked,), "laws": ADDED, "empty": [0] * bins, **_compiled_form(checked)}
    fields["entry_names"] = tuple(f"{left}_{right}" for left, right in pairwise(checked))
    return define("histogram", x, functions=functions, **fields, where=where)


def _compiled_form(edges: list[Any]) -> Fields:
    """Return one count for each bin, or why there is none."""
    bins = len(edges) - 1
    if bins > MOST_COMPILED:
        why = f"of {bins} bins; up to {MOST_COMPILED} are compiled, as so many fields of a partial."
        return {"interpreted_only": why}
    return {"entries": tuple(_count_bin(edges, number) for number in range(bins))}


def _count_bin(edges: list[Any], number: int) -> Aggregate[int]:
    """Return the number of values in one bin: a number, so that it compiles."""
    left, right, is_last = edges[number], edges[number + 1], number == len(edges) - 2
    real, whole = (limits(left, right, is_last=is_last) for limits in (real_limits, whole_limits))
    functions = Functions(is_between(*real), add, inverse=subtract, identity=0)
    result, variants = ResultRule(gives="whole", empty=0), {WHOLE: {"lift": is_between(*whole)}}
    return define("histogram", None, functions=functions, laws=ADDED, result=result, variants=variants)


# -- functions of partials ------------------------------------------------------------------------------------------------


def lift_into(edges: tuple[Any, ...]) -> Callable[[Any], Counts]:
    """Return the function that lifts a value to the counts of all bins.

    A decimal is compared with edges as they are written: 0.1 is the decimal 0.1, not the nearest binary fraction.

    >>> lift_into((0, 5, 10))(5), lift_into((0, 5, 10))(10), lift_into((0, 5, 10))(11)
    ((0, 1), (0, 1), (0, 0))
    """
    bins = len(edges) - 1
    written = tuple(Decimal(repr(edge)) if isinstance(edge, float) else edge for edge in edges)

    def lift(value: Any) -> Counts:
        comparable = written if isinstance(value, Decimal) else edges
        if value != value or not comparable[0] <= value <= comparable[-1]:
            return (0,) * bins
        number = min(bisect_right(comparable, value), bins) - 1
        return (0,) * number + (1,) + (0,) * (bins - number - 1)

    return lift


def add_each(older: Counts, newer: Counts) -> Counts:
    """Add the counts, bin by bin."""
    return tuple(map(operator.add, older, newer))


def subtract_each(whole: Counts, older: Counts) -> Counts:
    """Subtract the older counts, bin by bin."""
    return tuple(map(operator.sub, whole, older))


def is_between(smallest: Any, largest: Any) -> Callable[[Any], int]:
    """Return the function that lifts a value to 1 if it is in a bin, or else to 0."""

    def lift(value: Any) -> int:
        return 1 if smallest <= value and value <= largest else 0  # noqa: PLR1716 — vectorised

    return lift


def real_limits(left: Any, right: Any, *, is_last: bool) -> tuple[float, float]:
    """Return the smallest and the largest float in a bin.

    >>> real_limits(0, 1, is_last=True), real_limits(0, 1, is_last=False)
    ((0.0, 1.0), (0.0, 0.9999999999999999))
    """
    smallest, largest = float(left), float(right)
    if smallest < left:
        smallest = math.nextafter(smallest, math.inf)
    if largest > right or (largest == right and not is_last):
        largest = math.nextafter(largest, -math.inf)
    return smallest, largest


def whole_limits(left: Any, right: Any, *, is_last: bool) -> tuple[int, int]:
    """Return the smallest and the largest int64 in a bin.

    >>> whole_limits(0.5, 3, is_last=False), whole_limits(-math.inf, 3, is_last=True) == (-(2**63), 3)
    ((1, 2), True)
    """
    smallest = INT64[0] if left <= INT64[0] else math.ceil(left) if left <= INT64[1] else None
    largest = INT64[1] if right > INT64[1] else math.floor(right) if right >= INT64[0] else None
    if smallest is None or largest is None:
        return NOTHING
    if largest == right and not is_last:
        largest -= 1
    return (smallest, largest) if smallest <= largest else NOTHING
