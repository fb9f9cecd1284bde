"""The first values, of the window (first, last, first_n, last_n) or of the sorted values (top_k, bottom_k).

first and last are selective. Of all of them only top_k and bottom_k are commutative. The lists hold a tuple of at most n values:
not of fixed size, but not holistic either. None has an inverse.
"""

from __future__ import annotations

from functools import partial
from typing import Any, TypeAlias

from sash.aggregates.base import Aggregate, P, unchanged
from sash.aggregates.comparison import ascending, descending
from sash.aggregates.definition import Fields, define, require_positive
from sash.aggregates.sql import SqlForm, SqlInput, filtered

Few: TypeAlias = tuple[Any, ...]
"""At most n values."""

# -- factories ------------------------------------------------------------------------------------------------------------


def first(column: str | None = None) -> Aggregate[Any]:
    """Return the oldest value.

    Skips nulls; null without values. The type of the column.

    >>> first().combine("older", "newer")
    'older'
    """
    return define("first", column, combine=the_older, sql=partial(end_sql, function="min_by", name="first"), **END)


def last(column: str | None = None) -> Aggregate[Any]:
    """Return the newest value.

    Skips nulls; null without values. The type of the column.

    >>> last().combine("older", "newer")
    'newer'
    """
    return define("last", column, combine=the_newer, sql=partial(end_sql, function="max_by", name="last"), **END)


END: Fields = {"lift": unchanged, "selective": True, "gives": "value", "codes": ("any",)}


def first_n(x: str | None = None, n: int = 1) -> Aggregate[Few]:
    """Return the n oldest values, the oldest first. A combine takes O(n).

    Skips nulls; null without values. A list of the type of the column. Raises ValueError if n is less than 1.

    >>> opening = first_n(n=2)
    >>> opening.lower(opening.combine(opening.lift("a"), ("b", "c")))
    ['a', 'b']
    """
    require_positive("first_n", "n", n)

    def keep_oldest(older: Few, newer: Few) -> Few:
        return older if len(older) == n else (older + newer)[:n]

    return define("first_n", x, constants=(n,), combine=keep_oldest, **LIST)


def last_n(x: str | None = None, n: int = 1) -> Aggregate[Few]:
    """Return the n newest values, the oldest of them first. A combine takes O(n).

    Skips nulls; null without values. A list of the type of the column. Raises ValueError if n is less than 1.

    >>> closing = last_n(n=2)
    >>> closing.lower(closing.combine(("a", "b"), closing.lift("c")))
    ['b', 'c']
    """
    require_positive("last_n", "n", n)

    def keep_newest(older: Few, newer: Few) -> Few:
        return newer if len(newer) == n else (older + newer)[-n:]

    return define("last_n", x, constants=(n,), combine=keep_newest, **LIST)


def top_k(x: str | None = None, k: int = 1) -> Aggregate[Few]:
    """Return the k largest values, the largest first. A combine takes O(k log k).

    Skips nulls; null without values. A list of the type of the column. Raises ValueError if k is less than 1.

    >>> podium = top_k(k=2)
    >>> podium.lower(podium.combine((9, 3), (5,)))
    [9, 5]
    """
    require_positive("top_k", "k", k)

    def keep_largest(older: Few, newer: Few) -> Few:
        return descending(older + newer)[:k]

    return define("top_k", x, constants=(k,), combine=keep_largest, commutative=True, sorts=True, **LIST)


def bottom_k(x: str | None = None, k: int = 1) -> Aggregate[Few]:
    """Return the k smallest values, the smallest first. A combine takes O(k log k).

    Skips nulls; null without values. A list of the type of the column. Raises ValueError if k is less than 1.

    >>> cheapest = bottom_k(k=2)
    >>> cheapest.lower(cheapest.combine((3, 9), (5,)))
    [3, 5]
    """
    require_positive("bottom_k", "k", k)

    def keep_smallest(older: Few, newer: Few) -> Few:
        return ascending(older + newer)[:k]

    return define("bottom_k", x, constants=(k,), combine=keep_smallest, commutative=True, sorts=True, **LIST)


# -- functions of partials ------------------------------------------------------------------------------------------------


def alone(value: Any) -> Few:
    """Lift a value to a tuple of one."""
    return (value,)


def the_older(older: P, newer: P) -> P:  # noqa: ARG001
    """Return the older partial."""
    return older


def the_newer(older: P, newer: P) -> P:  # noqa: ARG001
    """Return the newer partial."""
    return newer


LIST: Fields = {
    "lift": alone,
    "lower": list,
    "fixed_size": False,
    "gives": "values",
    "interpreted_only": "its partials are lists of up to n values, which do not fit in flat columns.",
}

# -- SQL ------------------------------------------------------------------------------------------------------------------


def end_sql(source: SqlInput, function: str, name: str) -> SqlForm | str:
    """Take the first of the first values, or the last of the last."""
    if not (source.column.is_ordered and source.order.is_known):
        return source.refuse()
    return source.form({name: filtered(f"{function}({source.column.sql}, {source.order.key})", source.columns)})
