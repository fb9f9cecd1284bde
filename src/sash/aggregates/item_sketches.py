"""Sketches that are asked about one item: frequency, may_contain, from Apache DataSketches.

    aggregate     sketch                        accuracy                                                   bytes
    frequency     Count-Min, 5 rows of 272      never too low; too high by at most 1 % of the window's     11 K
                                                values, at 99 % confidence
    may_contain   theta, 2¹² hashes             never False for what is there; exact up to 4096            ≤ 32 K
                                                different values, then more and more often True

The Python package has no Bloom filter, so may_contain uses a theta sketch, which keeps the smallest hashes. It answers the
same question with the same guarantee, and the partial of one row is 16 bytes, where a Bloom filter has its full size.

Both are commutative. Partials are serialized sketches, in the format that DataSketches has in every language.
"""

from __future__ import annotations

from typing import Any

from sash.aggregates.base import Aggregate
from sash.aggregates.binding import over
from sash.aggregates.hashing import SKETCHES, datasketches, hashable

COUNT_MIN_ROWS = 5
COUNT_MIN_BUCKETS = 272
LG_HASHES = 12


def frequency(x: str | None = None, item: float | str | None = None) -> Aggregate[bytes]:
    """Count how often `item` occurs, never too low and rarely more than 1 % of all values too high (Count-Min).

    >>> bees = frequency(item="bee")
    >>> bees.lower(bees.combine(bees.lift("bee"), bees.lift("ant")))
    1
    """
    wanted = _named("frequency", item)

    def occurrences(partial: bytes) -> int:
        return int(datasketches().count_min_sketch.deserialize(partial).get_estimate(wanted))

    aggregate = Aggregate(
        name="frequency",
        lift=lift_frequencies,
        combine=merge_frequencies,
        lower=occurrences,
        commutative=True,
        empty=0,
        interpreted_only=SKETCHES,
        gives="number",
    )
    return over(aggregate, x)


def may_contain(x: str | None = None, item: float | str | None = None) -> Aggregate[bytes]:
    """Tell whether `item` may be among the values: False is certain, True is certain up to 4096 different values.

    >>> bees = may_contain(item="bee")
    >>> bees.lower(bees.combine(bees.lift("bee"), bees.lift("ant")))
    True
    """
    wanted = _named("may_contain", item)

    def is_possible(partial: bytes) -> bool:
        library = datasketches()
        kept = library.compact_theta_sketch.deserialize(partial)
        alone = library.update_theta_sketch(LG_HASHES)
        alone.update(wanted)
        (hashed,) = alone
        return hashed >= kept.theta64 or hashed in kept  # hashes from theta on are not kept, so nothing is known

    aggregate = Aggregate(
        name="may_contain",
        lift=lift_hashes,
        combine=unite_hashes,
        lower=is_possible,
        commutative=True,
        fixed_size=False,
        interpreted_only=SKETCHES,
        gives="number",
    )
    return over(aggregate, x)


def _named(aggregate: str, item: float | str | None) -> int | str:
    if item is None:
        message = f'{aggregate} asks about one item: name it, as in {aggregate}("column", item="bee").'
        raise TypeError(message)
    return hashable(item)


def lift_frequencies(value: Any) -> bytes:
    """Return the Count-Min sketch of one value."""
    sketch = datasketches().count_min_sketch(COUNT_MIN_ROWS, COUNT_MIN_BUCKETS)
    sketch.update(hashable(value))
    return bytes(sketch.serialize())


def merge_frequencies(older: bytes, newer: bytes) -> bytes:
    """Return the Count-Min sketch of the values of both."""
    sketches = datasketches().count_min_sketch
    merged = sketches.deserialize(older)
    merged.merge(sketches.deserialize(newer))
    return bytes(merged.serialize())


def lift_hashes(value: Any) -> bytes:
    """Return the theta sketch of one value."""
    sketch = datasketches().update_theta_sketch(LG_HASHES)
    sketch.update(hashable(value))
    return bytes(sketch.compact().serialize())


def unite_hashes(older: bytes, newer: bytes) -> bytes:
    """Return the theta sketch of the values of both."""
    library = datasketches()
    union = library.theta_union(LG_HASHES)
    union.update(library.compact_theta_sketch.deserialize(older))
    union.update(library.compact_theta_sketch.deserialize(newer))
    return bytes(union.get_result().serialize())
