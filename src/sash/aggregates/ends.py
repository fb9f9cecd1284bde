"""The first values, of the window (first, last, first_n, last_n) or of the sorted values (top_k, bottom_k).

first and last are selective. Of all of them only top_k and bottom_k are commutative. The lists hold a tuple of at most n values:
not of fixed size, but not holistic either. None has an inverse.
"""

from __future__ import annotations

from typing import Any, TypeAlias

from sash.aggregates.base import Aggregate, P, unchanged
from sash.aggregates.comparison import ascending, descending
from sash.aggregates.definition import Fields, define, require_count
from sash.aggregates.parts import Listing
from sash.aggregates.sql import SqlForm, SqlInput, unless_null
from sash.expressions import ColumnLike, Condition

Few: TypeAlias = tuple[Any, ...]
"""At most n values."""

# -- factories ------------------------------------------------------------------------------------------------------------


def first(column: ColumnLike | None = None, *, where: Condition | None = None) -> Aggregate[Any]:
    """Return the first value of the window.

    `column` is of any type.
    `where` is a condition in SQL, or a native expression: only rows where it is true count (see `sash.expr`).

    Nulls and NaN: nulls are skipped; NaN is a value.
    Result: the type of the column; null if the window has no values.
    Errors: none.

    >>> import pyarrow as pa
    >>> import sash
    >>> from sash import agg, window
    >>> rows = pa.table({"load": [3, 9, None, 4]})
    >>> sash.Query(agg.first("load"), window.rows(2)).run(rows)["first"].to_pylist()
    [3, 3, 9, 4]
    """
    return define("first", column, combine=the_older, **END, where=where)


def last(column: ColumnLike | None = None, *, where: Condition | None = None) -> Aggregate[Any]:
    """Return the last value of the window.

    `column` is of any type.
    `where` is a condition in SQL, or a native expression: only rows where it is true count (see `sash.expr`).

    Nulls and NaN: nulls are skipped; NaN is a value.
    Result: the type of the column; null if the window has no values.
    Errors: none.

    >>> import pyarrow as pa
    >>> import sash
    >>> from sash import agg, window
    >>> rows = pa.table({"load": [3, 9, None, 4]})
    >>> sash.Query(agg.last("load"), window.rows(2)).run(rows)["last"].to_pylist()
    [3, 9, 9, 4]
    """
    return define("last", column, combine=the_newer, **END, where=where)


def first_n(x: ColumnLike | None = None, n: int = 1, *, where: Condition | None = None) -> Aggregate[Few]:
    """Return the first n values of the window, in order.

    `x` is a column of any type, `n` the number of values. A combine takes O(n).
    `where` is a condition in SQL, or a native expression: only rows where it is true count (see `sash.expr`).

    Nulls and NaN: nulls are skipped; NaN is a value.
    Result: a list of the type of the column, shorter if the window has fewer values; null if the window has no values.
    Errors: ValueError if `n` is less than 1.

    >>> import pyarrow as pa
    >>> import sash
    >>> from sash import agg, window
    >>> rows = pa.table({"load": [3, 9, 4]})
    >>> sash.Query(agg.first_n("load", n=2), window.rows(3)).run(rows)["first_n"].to_pylist()
    [[3], [3, 9], [3, 9]]
    """
    require_count("first_n", "n", n)

    def keep_oldest(older: Few, newer: Few) -> Few:
        return older if len(older) == n else (older + newer)[:n]

    return define("first_n", x, constants=(n,), combine=keep_oldest, listed=Listing(first=n), **LIST, where=where)


def last_n(x: ColumnLike | None = None, n: int = 1, *, where: Condition | None = None) -> Aggregate[Few]:
    """Return the last n values of the window, in order.

    `x` is a column of any type, `n` the number of values. A combine takes O(n).
    `where` is a condition in SQL, or a native expression: only rows where it is true count (see `sash.expr`).

    Nulls and NaN: nulls are skipped; NaN is a value.
    Result: a list of the type of the column, shorter if the window has fewer values; null if the window has no values.
    Errors: ValueError if `n` is less than 1.

    >>> import pyarrow as pa
    >>> import sash
    >>> from sash import agg, window
    >>> rows = pa.table({"load": [3, 9, 4]})
    >>> sash.Query(agg.last_n("load", n=2), window.rows(3)).run(rows)["last_n"].to_pylist()
    [[3], [3, 9], [9, 4]]
    """
    require_count("last_n", "n", n)

    def keep_newest(older: Few, newer: Few) -> Few:
        return newer if len(newer) == n else (older + newer)[-n:]

    return define("last_n", x, constants=(n,), combine=keep_newest, listed=Listing(last=n), **LIST, where=where)


def top_k(x: ColumnLike | None = None, k: int = 1, *, where: Condition | None = None) -> Aggregate[Few]:
    """Return the k largest values, the largest first.

    `x` is a column of any type with an order, `k` the number of values. A combine takes O(k log k).
    `where` is a condition in SQL, or a native expression: only rows where it is true count (see `sash.expr`).

    Nulls and NaN: nulls are skipped; NaN is larger than every number and equal to NaN.
    Result: a list of the type of the column, shorter if the window has fewer values; null if the window has no values.
    Errors: ValueError if `k` is less than 1. TypeError if the column has no order (lists, structs, maps).

    >>> import pyarrow as pa
    >>> import sash
    >>> from sash import agg, window
    >>> rows = pa.table({"load": [3, 9, 4]})
    >>> sash.Query(agg.top_k("load", k=2), window.rows(3)).run(rows)["top_k"].to_pylist()
    [[3], [9, 3], [9, 4]]
    """
    require_count("top_k", "k", k)

    def keep_largest(older: Few, newer: Few) -> Few:
        return descending(older + newer)[:k]

    listed = Listing(sort="descending", first=k)
    return define("top_k", x, constants=(k,), combine=keep_largest, listed=listed, **SORTED_LIST, where=where)


def bottom_k(x: ColumnLike | None = None, k: int = 1, *, where: Condition | None = None) -> Aggregate[Few]:
    """Return the k smallest values, the smallest first.

    `x` is a column of any type with an order, `k` the number of values. A combine takes O(k log k).
    `where` is a condition in SQL, or a native expression: only rows where it is true count (see `sash.expr`).

    Nulls and NaN: nulls are skipped; NaN is larger than every number and equal to NaN.
    Result: a list of the type of the column, shorter if the window has fewer values; null if the window has no values.
    Errors: ValueError if `k` is less than 1. TypeError if the column has no order (lists, structs, maps).

    >>> import pyarrow as pa
    >>> import sash
    >>> from sash import agg, window
    >>> rows = pa.table({"load": [3, 9, 4]})
    >>> sash.Query(agg.bottom_k("load", k=2), window.rows(3)).run(rows)["bottom_k"].to_pylist()
    [[3], [3, 9], [3, 4]]
    """
    require_count("bottom_k", "k", k)

    def keep_smallest(older: Few, newer: Few) -> Few:
        return ascending(older + newer)[:k]

    listed = Listing(sort="ascending", first=k)
    return define("bottom_k", x, constants=(k,), combine=keep_smallest, listed=listed, **SORTED_LIST, where=where)


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
SORTED_LIST: Fields = {**LIST, "commutative": True, "sorts": True}

# -- SQL ------------------------------------------------------------------------------------------------------------------


def end_sql(source: SqlInput) -> SqlForm | str:
    """Take the first of the first values, or the last of the last."""
    name = source.aggregate.name
    function = {"first": "min_by", "last": "max_by"}[name]
    if not (source.column.is_ordered and source.order.is_known):
        return source.refuse()
    end = {name: f"{function}({source.column.sql}, {unless_null(source.order.key, source.columns)})"}
    return source.form(end, None, f"{{{name}}}")


END: Fields = {"lift": unchanged, "selective": True, "gives": "value", "codes": ("any",), "sql": end_sql}
