"""Sketches of all values: approx_count_distinct, approx_quantile, from Apache DataSketches.

They answer approximately from a partial of bounded size, however many values there are:

    aggregate               sketch                        accuracy                                          bytes
    approx_count_distinct   HyperLogLog, 2¹² registers    1.6 % standard error, near exact up to 384       ≤ 4 K
    approx_quantile         KLL, k = 200                  rank off by 1.33 % at 99 % confidence, and        ≤ 5 K
                                                          exact up to 200 values

Partials are serialized sketches, in the format that DataSketches has in every language: immutable, and ready to be kept.
Sketches that are asked about one item are in `item_sketches`.
"""

from __future__ import annotations

import math
from typing import Any, TypeAlias

from sash.aggregates.base import Aggregate
from sash.aggregates.binding import over
from sash.aggregates.hashing import SKETCHES, datasketches, hashable

LG_K = 12
KLL_K = 200

Quantiles: TypeAlias = tuple[bytes, int]
"""A serialized KLL sketch, which leaves NaN out, and the number of NaNs."""


class Registers:
    """A serialized HyperLogLog sketch; equal to one that has seen the same values.

    Its bytes depend on the order of the values, what it says does not.
    """

    __slots__ = ("data",)

    def __init__(self, data: bytes) -> None:
        """Keep the bytes."""
        self.data = data

    def __eq__(self, other: object) -> bool:
        """Tell whether neither has anything to add to the other."""
        if not isinstance(other, Registers):
            return NotImplemented
        return _estimate(self) == _estimate(other) == _estimate(unite_registers(self, other))

    __hash__ = None  # type: ignore[assignment]


def approx_count_distinct(column: str | None = None) -> Aggregate[Registers]:
    """Count the different values, to about 1.6 % (HyperLogLog).

    >>> kinds = approx_count_distinct()
    >>> kinds.lower(kinds.combine(kinds.lift("a"), kinds.lift("b")))
    2
    """
    aggregate = Aggregate(
        name="approx_count_distinct",
        lift=lift_registers,
        combine=unite_registers,
        lower=count_registers,
        commutative=True,
        fixed_size=False,
        empty=0,
        interpreted_only=SKETCHES,
        gives="number",
    )
    return over(aggregate, column)


def approx_quantile(x: str | None = None, q: float = 0.5) -> Aggregate[Quantiles]:
    """Take a value whose rank is about the fraction q of the window, to about 1.33 % of the ranks (KLL).

    It is not commutative: from 200 values on, what a merge drops depends on the order and on chance.

    >>> middle = approx_quantile()
    >>> middle.lower(middle.combine(middle.lift(3), middle.combine(middle.lift(8), middle.lift(5))))
    5.0
    """
    if not 0 <= q <= 1:
        message = f"approx_quantile was given q={q}, but q is a fraction: give one from 0 to 1."
        raise ValueError(message)

    def at_fraction(partial: Quantiles) -> float:
        sketch = datasketches().kll_doubles_sketch.deserialize(partial[0])
        rank = q * (sketch.n + partial[1])
        if rank > sketch.n or sketch.n == 0:
            return math.nan
        return float(sketch.get_quantile(rank / sketch.n, True))  # inclusive: a value counts in its own rank

    aggregate = Aggregate(
        name="approx_quantile",
        lift=lift_quantiles,
        combine=merge_quantiles,
        lower=at_fraction,
        fixed_size=False,
        interpreted_only=SKETCHES,
        gives="arithmetic",
    )
    return over(aggregate, x)


def lift_registers(value: Any) -> Registers:
    """Return the HyperLogLog sketch of one value."""
    library = datasketches()
    sketch = library.hll_sketch(LG_K, library.HLL_8)
    sketch.update(hashable(value))
    return Registers(sketch.serialize_compact())


def unite_registers(older: Registers, newer: Registers) -> Registers:
    """Return the HyperLogLog sketch of the values of both."""
    return Registers(_union(older, newer).serialize_compact())


def count_registers(partial: Registers) -> int:
    """Return the estimated number of different values."""
    return round(_estimate(partial))


def lift_quantiles(value: Any) -> Quantiles:
    """Return the KLL sketch of one value."""
    sketch = datasketches().kll_doubles_sketch(KLL_K)
    number = float(value)
    if math.isnan(number):
        return sketch.serialize(), 1
    sketch.update(number)
    return sketch.serialize(), 0


def merge_quantiles(older: Quantiles, newer: Quantiles) -> Quantiles:
    """Return the KLL sketch of the values of both; while it still has them all, they are sorted, so that it is unique."""
    sketches = datasketches().kll_doubles_sketch
    merged = sketches.deserialize(older[0])
    merged.merge(sketches.deserialize(newer[0]))
    if not merged.is_estimation_mode():
        values = sorted(value for value, _ in merged)
        merged = sketches(KLL_K)
        for value in values:
            merged.update(value)
    return merged.serialize(), older[1] + newer[1]


def _union(*partials: Registers) -> Any:
    library = datasketches()
    union = library.hll_union(LG_K)
    for partial in partials:
        union.update(library.hll_sketch.deserialize(partial.data))
    return union.get_result(library.HLL_8)


def _estimate(partial: Registers) -> float:
    """Estimate from the union with itself: only after a union does the estimate not depend on the order of values."""
    return float(_union(partial, partial).get_estimate())
