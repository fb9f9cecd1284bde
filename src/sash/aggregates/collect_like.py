"""Collect-like aggregates: collect, collect_distinct, concat, count_distinct, mode.

They keep what they have seen, so their partials grow with the window (holistic) and a combine takes time with it.
Where partials can be told apart again they have an exact inverse: collect and concat cut the older part off the front,
count_distinct takes the older occurrences off the counts. mode and collect_distinct can't, since with an older
occurrence the place of the next one is lost. Over one range count_distinct and mode need no combine: occurrence_table and
occurrence_tournament keep the values instead.

Partials are immutable by convention: no function here changes a mapping it was given. Nulls never reach an aggregate, so
None is free to stand for NaN as a key. NaN itself would not do: two of them are two keys.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, TypeAlias

from sash.aggregates.base import ABSENT, Aggregate
from sash.aggregates.binding import compiled_only_by, over
from sash.aggregates.ends import alone

Counts: TypeAlias = Mapping[Any, int]
"""How often each value occurs, in the order of their first occurrences."""

GROWS = "its partials grow with the window, so they have no place in flat columns."


def collect(column: str | None = None) -> Aggregate[tuple[Any, ...]]:
    """List all values, in order.

    >>> everything = collect()
    >>> everything.lower(everything.combine(everything.lift("a"), everything.lift("b")))
    ['a', 'b']
    """
    aggregate = Aggregate(
        name="collect",
        lift=alone,
        combine=append,
        gives="values",
        lower=list,
        inverse=cut_front,
        identity=(),
        holistic=True,
        fixed_size=False,
        interpreted_only=GROWS,
    )
    return over(aggregate, column)


def collect_distinct(column: str | None = None) -> Aggregate[Mapping[Any, None]]:
    """List each value once, in the order of their first occurrences.

    >>> kinds = collect_distinct()
    >>> kinds.lower(kinds.combine({"b": None, "a": None}, kinds.lift("b")))
    ['b', 'a']
    """
    aggregate = Aggregate(
        name="collect_distinct",
        lift=mark,
        combine=unite,
        gives="values",
        lower=list_values,
        identity={},
        holistic=True,
        fixed_size=False,
        interpreted_only=GROWS,
    )
    return over(aggregate, column)


def concat(x: str | None = None, sep: str = "") -> Aggregate[str]:
    """Join the values to one string, in order, with `sep` between them.

    >>> sentence = concat(sep=" ")
    >>> sentence.combine(sentence.lift("older"), sentence.lift("newer"))
    'older newer'
    """

    def join(older: str, newer: str) -> str:
        return older + sep + newer

    def cut(whole: str, older: str) -> str:
        return whole[len(older) + len(sep) :]

    aggregate = Aggregate(
        name="concat",
        lift=str,
        combine=join,
        gives="text",
        inverse=cut,
        identity=ABSENT if sep else "",  # "" would leave a separator behind
        holistic=True,
        fixed_size=False,
        interpreted_only=GROWS,
    )
    return over(aggregate, x)


def count_distinct(column: str | None = None) -> Aggregate[Counts]:
    """Count the different values, exactly.

    >>> kinds = count_distinct()
    >>> kinds.lower(kinds.combine({"b": 1, "a": 1}, kinds.lift("b")))
    2
    """
    aggregate = Aggregate(
        name="count_distinct",
        lift=count_once,
        combine=add_counts,
        lower=len,
        inverse=subtract_counts,
        identity={},
        commutative=True,
        distinct=True,
        holistic=True,
        fixed_size=False,
        interpreted_only=compiled_only_by("occurrence_table"),
        empty=0,
        gives="number",
        codes=("any",),
    )
    return over(aggregate, column)


def mode(column: str | None = None) -> Aggregate[Counts]:
    """Take the value that occurs most often, of several the one that occurs first.

    >>> usual = mode()
    >>> usual.lower(usual.combine({"b": 1, "a": 1}, usual.lift("a")))
    'a'
    """
    aggregate = Aggregate(
        name="mode",
        lift=count_once,
        combine=add_counts,
        lower=most_frequent,
        identity={},
        modal=True,
        gives="value",
        codes=("any",),
        holistic=True,
        fixed_size=False,
        interpreted_only=compiled_only_by("occurrence_tournament"),
    )
    return over(aggregate, column)


def append(older: tuple[Any, ...], newer: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the older values, then the newer ones."""
    return older + newer


def cut_front(whole: tuple[Any, ...], older: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the values without the older ones in front."""
    return whole[len(older) :]


def key_of(value: Any) -> Any:
    """Return the value as a key, None for NaN, which is what differs from itself."""
    return value if value == value else None


def value_of(key: Any) -> Any:
    """Return the value that has this key."""
    return math.nan if key is None else key


def mark(value: Any) -> Mapping[Any, None]:
    """Lift a value to the set of only that value; a mapping, because sets have no order."""
    return {key_of(value): None}


def unite(older: Mapping[Any, None], newer: Mapping[Any, None]) -> Mapping[Any, None]:
    """Return the older values, then those newer ones that are not among them."""
    return {**older, **newer}


def list_values(keys: Mapping[Any, None]) -> list[Any]:
    """Return the values of the keys, in order."""
    return [value_of(key) for key in keys]


def count_once(value: Any) -> Counts:
    """Lift a value to its one occurrence."""
    return {key_of(value): 1}


def add_counts(older: Counts, newer: Counts) -> Counts:
    """Return the occurrences in both, the older values first; the loop goes over the shorter of the two."""
    added = {**older, **newer}
    fewer, more = (older, newer) if len(older) < len(newer) else (newer, older)
    for value, occurrences in fewer.items():
        added[value] = occurrences + more.get(value, 0)
    return added


def subtract_counts(whole: Counts, older: Counts) -> Counts:
    """Return the occurrences without the older ones."""
    left = dict(whole)
    for value, occurrences in older.items():
        if left[value] == occurrences:
            del left[value]
        else:
            left[value] -= occurrences
    return left


def most_frequent(counts: Counts) -> Any:
    """Return the first of the values that occur most often."""
    return value_of(max(counts, key=lambda value: counts[value]))
