"""Collect-like aggregates: collect, collect_distinct, concat, count_distinct, mode.

They store all values or all distinct values: partials grow with the window (holistic), and so does the time of a combine. Those
whose partials can be separated again have an exact inverse: collect and concat cut the older part off the front, count_distinct
subtracts the older occurrences. mode and collect_distinct have none, because the position of the next occurrence of a value is
lost with the older one. Over one range count_distinct and mode need no combine: occurrence_table and occurrence_tournament
store the values instead.

Partials are immutable by convention: no function here modifies a mapping that it receives. Nulls never reach an aggregate, so
None can represent NaN as a key. NaN itself cannot: two NaNs are two keys.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, TypeAlias

from sash.aggregates.base import ABSENT, Aggregate, Functions
from sash.aggregates.definition import Fields, compiled_only_by, define
from sash.aggregates.ends import alone
from sash.aggregates.parts import Coding, Laws, Listing, ResultRule
from sash.expressions import ColumnLike, Condition

Counts: TypeAlias = Mapping[Any, int]
"""The number of occurrences of each value, in the order of first occurrence."""

GROWS = "its partials grow with the window, so they do not fit in flat columns."
GROWING: Fields = {"holistic": True, "fixed_size": False, "interpreted_only": GROWS}

# -- factories ------------------------------------------------------------------------------------------------------------


def collect(column: ColumnLike | None = None, *, where: Condition | None = None) -> Aggregate[tuple[Any, ...]]:
    """Collect all values of the window into a list, in order.

    `column` is of any type.
    `where` is a condition in SQL, or a native expression: only rows where it is true count (see `sash.expr`).

    Nulls and NaN: nulls are skipped; NaN is a value.
    Result: a list of the type of the column; null if the window has no values.
    Errors: none.

    >>> import pyarrow as pa
    >>> import sash
    >>> from sash import agg, window
    >>> rows = pa.table({"word": ["b", "a", None, "b"]})
    >>> sash.Query(agg.collect("word"), window.rows(2)).run(rows)["collect"].to_pylist()
    [['b'], ['b', 'a'], ['a'], ['b']]
    """
    functions = Functions(alone, append, list, cut_front, identity=())
    fields: Fields = {"invertible": True, "gives": "values", "listed": Listing(), **GROWING}
    return define("collect", column, functions=functions, **fields, where=where)


def collect_distinct(
    column: ColumnLike | None = None, *, where: Condition | None = None
) -> Aggregate[Mapping[Any, None]]:
    """Collect the distinct values of the window into a list, in order of first occurrence.

    `column` is of any type that is not nested.
    `where` is a condition in SQL, or a native expression: only rows where it is true count (see `sash.expr`).

    Nulls and NaN: nulls are skipped; all NaN are one value.
    Result: a list of the type of the column; null if the window has no values.
    Errors: TypeError if the column is nested (lists, structs, maps).

    >>> import pyarrow as pa
    >>> import sash
    >>> from sash import agg, window
    >>> rows = pa.table({"word": ["b", "a", None, "b"]})
    >>> sash.Query(agg.collect_distinct("word"), window.rows(4)).run(rows)["collect_distinct"].to_pylist()
    [['b'], ['b', 'a'], ['b', 'a'], ['b', 'a']]
    """
    functions = Functions(mark, unite, list_values, identity={})
    fields: Fields = {"hashes": True, "gives": "values", "listed": Listing(distinct=True), **GROWING}
    return define("collect_distinct", column, functions=functions, **fields, where=where)


def concat(x: ColumnLike | None = None, sep: str = "", *, where: Condition | None = None) -> Aggregate[str]:
    """Join the values of the window into one string, in order.

    `x` is a column of any type; values that are not strings are converted by `str`. `sep` is put between two values.
    `where` is a condition in SQL, or a native expression: only rows where it is true count (see `sash.expr`).

    Nulls and NaN: nulls are skipped; NaN becomes "nan".
    Result: a string; null if the window has no values.
    Errors: none.

    >>> import pyarrow as pa
    >>> import sash
    >>> from sash import agg, window
    >>> rows = pa.table({"word": ["b", "a", None, "b"]})
    >>> sash.Query(agg.concat("word", sep=" "), window.rows(2)).run(rows)["concat"].to_pylist()
    ['b', 'b a', 'a', 'b']
    """

    def join(older: str, newer: str) -> str:
        return older + sep + newer

    def cut(whole: str, older: str) -> str:
        return whole[len(older) + len(sep) :]

    # The identity "" would leave a separator behind.
    functions = Functions(as_text, join, inverse=cut, identity=ABSENT if sep else "")
    fields: Fields = {"constants": (sep,) if sep else (), "invertible": True, "gives": "text"}
    fields["listed"] = Listing(separator=sep)
    return define("concat", x, functions=functions, **fields, **GROWING, where=where)


def count_distinct(column: ColumnLike | None = None, *, where: Condition | None = None) -> Aggregate[Counts]:
    """Count the distinct values, exactly.

    `column` is of any type that is not nested.
    `where` is a condition in SQL, or a native expression: only rows where it is true count (see `sash.expr`).

    Nulls and NaN: nulls are skipped; all NaN are one value.
    Result: int64; 0 if the window has no values.
    Errors: TypeError if the column is nested (lists, structs, maps).

    >>> import pyarrow as pa
    >>> import sash
    >>> from sash import agg, window
    >>> rows = pa.table({"word": ["b", "a", None, "b"]})
    >>> sash.Query(agg.count_distinct("word"), window.rows(2)).run(rows)["count_distinct"].to_pylist()
    [1, 2, 1, 1]
    """
    functions = Functions(count_once, add_counts, len, subtract_counts, identity={})
    laws = Laws(invertible=True, commutative=True, distinct=True, holistic=True, fixed_size=False)
    result, coding = ResultRule(gives="number", empty=0), _coding("occurrence_table")
    return define("count_distinct", column, functions=functions, laws=laws, result=result, coding=coding, where=where)


def mode(column: ColumnLike | None = None, *, where: Condition | None = None) -> Aggregate[Counts]:
    """Return the most frequent value.

    `column` is of any type that is not nested.
    `where` is a condition in SQL, or a native expression: only rows where it is true count (see `sash.expr`).

    Nulls and NaN: nulls are skipped; all NaN are one value.
    Result: the type of the column; null if the window has no values. Of equally frequent values the first one wins.
    Errors: TypeError if the column is nested (lists, structs, maps).

    >>> import pyarrow as pa
    >>> import sash
    >>> from sash import agg, window
    >>> rows = pa.table({"word": ["b", "a", None, "b"]})
    >>> sash.Query(agg.mode("word"), window.rows(4)).run(rows)["mode"].to_pylist()
    ['b', 'b', 'b', 'b']
    """
    functions = Functions(count_once, add_counts, most_frequent, identity={})
    laws, coding = Laws(modal=True, holistic=True, fixed_size=False), _coding("occurrence_tournament")
    return define("mode", column, functions=functions, laws=laws, gives="value", coding=coding, where=where)


def _coding(algorithm: str) -> Coding:
    """Return the coding of an aggregate that only this algorithm compiles."""
    return Coding(codes=("any",), hashes=True, interpreted_only=compiled_only_by(algorithm))


# -- functions of partials ------------------------------------------------------------------------------------------------


def as_text(value: Any) -> str:
    """Lift a value to a string."""
    return str(value)


def append(older: tuple[Any, ...], newer: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the older values, then the newer ones."""
    return older + newer


def cut_front(whole: tuple[Any, ...], older: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the values without the older ones in front."""
    return whole[len(older) :]


def key_of(value: Any) -> Any:
    """Return the value as a key: None for NaN, which differs from itself."""
    return value if value == value else None


def value_of(key: Any) -> Any:
    """Return the value that has this key."""
    return math.nan if key is None else key


def mark(value: Any) -> Mapping[Any, None]:
    """Lift a value to a set of one; it is a mapping, because sets have no order."""
    return {key_of(value): None}


def unite(older: Mapping[Any, None], newer: Mapping[Any, None]) -> Mapping[Any, None]:
    """Return the older values, then the newer ones that are not among them."""
    return {**older, **newer}


def list_values(keys: Mapping[Any, None]) -> list[Any]:
    """Return the values of the keys, in order."""
    return [value_of(key) for key in keys]


def count_once(value: Any) -> Counts:
    """Lift a value to one occurrence."""
    return {key_of(value): 1}


def add_counts(older: Counts, newer: Counts) -> Counts:
    """Add the occurrences, the older values first; the loop iterates over the shorter mapping."""
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
