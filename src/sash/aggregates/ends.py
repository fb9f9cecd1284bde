"""The values at one end, of the window (first, last, first_n, last_n) or of the order (top_k, bottom_k).

first and last are selective, and neither they nor first_n and last_n commute. The others hold a tuple of at most n values,
which grows up to n and no further: not of fixed size, but not holistic either. None has an inverse.
"""

from __future__ import annotations

from typing import Any, TypeAlias

from sash.aggregates.base import Aggregate, P, unchanged
from sash.aggregates.binding import over, refuse_less_than_one
from sash.aggregates.order import ascending, descending

Few: TypeAlias = tuple[Any, ...]
"""At most n values."""

LISTS = "its partials are lists of up to n values, which have no place in flat columns."


def first(column: str | None = None) -> Aggregate[Any]:
    """Take the oldest value.

    >>> first().combine("older", "newer")
    'older'
    """
    return over(
        Aggregate(name="first", lift=unchanged, combine=the_older, selective=True, gives="value", codes=("any",)),
        column,
    )


def last(column: str | None = None) -> Aggregate[Any]:
    """Take the newest value.

    >>> last().combine("older", "newer")
    'newer'
    """
    return over(
        Aggregate(name="last", lift=unchanged, combine=the_newer, selective=True, gives="value", codes=("any",)), column
    )


def first_n(x: str | None = None, n: int = 1) -> Aggregate[Few]:
    """List the n oldest values, the oldest first: O(n) a combine.

    >>> opening = first_n(n=2)
    >>> opening.lower(opening.combine(opening.lift("a"), ("b", "c")))
    ['a', 'b']
    """
    refuse_less_than_one("first_n", "n", n)

    def keep_oldest(older: Few, newer: Few) -> Few:
        return older if len(older) == n else (older + newer)[:n]

    return over(
        Aggregate(
            name="first_n",
            lift=alone,
            combine=keep_oldest,
            lower=list,
            fixed_size=False,
            interpreted_only=LISTS,
            gives="values",
        ),
        x,
    )


def last_n(x: str | None = None, n: int = 1) -> Aggregate[Few]:
    """List the n newest values, the oldest of them first: O(n) a combine.

    >>> closing = last_n(n=2)
    >>> closing.lower(closing.combine(("a", "b"), closing.lift("c")))
    ['b', 'c']
    """
    refuse_less_than_one("last_n", "n", n)

    def keep_newest(older: Few, newer: Few) -> Few:
        return newer if len(newer) == n else (older + newer)[-n:]

    return over(
        Aggregate(
            name="last_n",
            lift=alone,
            combine=keep_newest,
            lower=list,
            fixed_size=False,
            interpreted_only=LISTS,
            gives="values",
        ),
        x,
    )


def top_k(x: str | None = None, k: int = 1) -> Aggregate[Few]:
    """List the k largest values, the largest first: O(k log k) a combine.

    >>> podium = top_k(k=2)
    >>> podium.lower(podium.combine((9, 3), (5,)))
    [9, 5]
    """
    refuse_less_than_one("top_k", "k", k)

    def keep_largest(older: Few, newer: Few) -> Few:
        return descending(older + newer)[:k]

    aggregate = Aggregate(
        name="top_k",
        lift=alone,
        combine=keep_largest,
        lower=list,
        commutative=True,
        fixed_size=False,
        interpreted_only=LISTS,
        gives="values",
    )
    return over(aggregate, x)


def bottom_k(x: str | None = None, k: int = 1) -> Aggregate[Few]:
    """List the k smallest values, the smallest first: O(k log k) a combine.

    >>> cheapest = bottom_k(k=2)
    >>> cheapest.lower(cheapest.combine((3, 9), (5,)))
    [3, 5]
    """
    refuse_less_than_one("bottom_k", "k", k)

    def keep_smallest(older: Few, newer: Few) -> Few:
        return ascending(older + newer)[:k]

    aggregate = Aggregate(
        name="bottom_k",
        lift=alone,
        combine=keep_smallest,
        lower=list,
        commutative=True,
        fixed_size=False,
        interpreted_only=LISTS,
        gives="values",
    )
    return over(aggregate, x)


def alone(value: Any) -> Few:
    """Lift a value to a tuple of only that value."""
    return (value,)


def the_older(older: P, newer: P) -> P:  # noqa: ARG001
    """Return the older partial."""
    return older


def the_newer(older: P, newer: P) -> P:  # noqa: ARG001
    """Return the newer partial."""
    return newer
