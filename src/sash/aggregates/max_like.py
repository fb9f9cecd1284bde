"""Max-like aggregates: max, min, spread, max_count, min_count, arg_max, arg_min, any, all.

None has an inverse. Most are selective: combine returns one of its arguments, the older one of equals. Values are ordered as in
`comparison`: NaN is larger than every number and equal to NaN, so max is NaN if the window has a NaN, and min is NaN only if
there is nothing else. any and all are max and min of booleans.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from sash.aggregates.base import Aggregate, Functions, P, pair, second_field, unchanged
from sash.aggregates.comparison import is_above
from sash.aggregates.decimals import join_value, over_digits
from sash.aggregates.definition import BOOLEANS, FLOATS, INTEGERS, WHOLE, Fields, Kinds, define
from sash.aggregates.parts import Laws, ResultRule
from sash.aggregates.sql import NativeSql, PackedKey, SqlForm, SqlInput, quote, unless_null
from sash.expressions import ColumnLike, Condition

LARGEST_INTEGER = (1 << 63) - 1

# -- factories ------------------------------------------------------------------------------------------------------------


def max(column: ColumnLike | None = None, *, where: Condition | None = None) -> Aggregate[Any]:
    """Return the largest value of a column.

    `column` is of any type with an order: numbers, strings, times, … Ordered categories have their own order, unless the column is an
    expression, which makes them text.
    `where` is a condition in SQL, or a native expression: only rows where it is true count (see `sash.expr`).

    Nulls and NaN: nulls are skipped; NaN is larger than every number and equal to NaN.
    Result: the type of the column; null if the window has no values.
    Errors: TypeError if the column has no order (lists, structs, maps).

    >>> import pyarrow as pa
    >>> import sash
    >>> from sash import agg, window
    >>> rows = pa.table({"load": [3, 9, None, 4]})
    >>> sash.Query(agg.max("load"), window.rows(2)).run(rows)["max"].to_pylist()
    [3, 9, 9, 4]
    """
    numbers = _variants(larger_number, -(2**63), -math.inf)
    return define("max", column, combine=larger, variants=numbers, **EXTREME, where=where)


def min(column: ColumnLike | None = None, *, where: Condition | None = None) -> Aggregate[Any]:
    """Return the smallest value of a column.

    `column` is of any type with an order: numbers, strings, times, …
    `where` is a condition in SQL, or a native expression: only rows where it is true count (see `sash.expr`).

    Nulls and NaN: nulls are skipped; NaN is larger than every number, so the result is NaN only if all values are NaN.
    Result: the type of the column; null if the window has no values.
    Errors: TypeError if the column has no order (lists, structs, maps).

    >>> import pyarrow as pa
    >>> import sash
    >>> from sash import agg, window
    >>> rows = pa.table({"load": [3, 9, None, 4]})
    >>> sash.Query(agg.min("load"), window.rows(2)).run(rows)["min"].to_pylist()
    [3, 3, 9, 4]
    """
    numbers = _variants(smaller_number, 2**63 - 1, math.nan)  # NaN is largest
    return define("min", column, combine=smaller, variants=numbers, **EXTREME, where=where)


def _variants(combine: Callable[[Any, Any], Any], whole: int, real: float) -> dict[Kinds, Fields]:
    """Return the variants of max or min for numbers, with the identities of integers and of floats."""
    return {
        BOOLEANS: {"combine": combine},
        WHOLE: {"combine": combine, "identity": whole},
        FLOATS: {"combine": combine, "identity": real},
    }


def spread(column: ColumnLike | None = None, *, where: Condition | None = None) -> Aggregate[tuple[Any, Any]]:
    """Return the largest value minus the smallest.

    `column` holds numbers, dates or timestamps.
    `where` is a condition in SQL, or a native expression: only rows where it is true count (see `sash.expr`).

    Nulls and NaN: nulls are skipped; a NaN makes the result NaN.
    Result: int64 for integers and booleans, float64 for floats, a decimal for decimals, a duration for dates and timestamps;
    null if the window has no values.
    Errors: OverflowError if the difference of integers needs more than 64 bits. TypeError for columns of other types.

    >>> import pyarrow as pa
    >>> import sash
    >>> from sash import agg, window
    >>> rows = pa.table({"load": [3, 9, None, 4]})
    >>> sash.Query(agg.spread("load"), window.rows(2)).run(rows)["spread"].to_pylist()
    [0, 6, 0, 0]
    """
    functions, variants = Functions(twice, widen, width_between), {INTEGERS: {"lower": integer_width}}
    fields: Fields = {"commutative": True, "result": ResultRule(gives="difference", decimals=(1, 0)), "sql": spread_sql}
    laws: Fields = {"commutative": True, "decimals": (1, 0)}
    fields["scaled"] = over_digits("spread", Functions(twice, widen), (integer_width,), join_value, **laws)
    return define("spread", column, functions=functions, variants=variants, **fields, where=where)


def max_count(column: ColumnLike | None = None, *, where: Condition | None = None) -> Aggregate[tuple[Any, int]]:
    """Count the occurrences of the largest value.

    `column` is of any type with an order.
    `where` is a condition in SQL, or a native expression: only rows where it is true count (see `sash.expr`).

    Nulls and NaN: nulls are skipped; NaN is larger than every number and equal to NaN.
    Result: int64; null if the window has no values.
    Errors: TypeError if the column has no order (lists, structs, maps).

    >>> import pyarrow as pa
    >>> import sash
    >>> from sash import agg, window
    >>> rows = pa.table({"load": [3, 9, 9, 4]})
    >>> sash.Query(agg.max_count("load"), window.rows(2)).run(rows)["max_count"].to_pylist()
    [1, 1, 2, 1]
    """
    return define("max_count", column, combine=count_larger, **COUNTED, where=where)


def min_count(column: ColumnLike | None = None, *, where: Condition | None = None) -> Aggregate[tuple[Any, int]]:
    """Count the occurrences of the smallest value.

    `column` is of any type with an order.
    `where` is a condition in SQL, or a native expression: only rows where it is true count (see `sash.expr`).

    Nulls and NaN: nulls are skipped; NaN is larger than every number and equal to NaN.
    Result: int64; null if the window has no values.
    Errors: TypeError if the column has no order (lists, structs, maps).

    >>> import pyarrow as pa
    >>> import sash
    >>> from sash import agg, window
    >>> rows = pa.table({"load": [3, 3, 9, 4]})
    >>> sash.Query(agg.min_count("load"), window.rows(2)).run(rows)["min_count"].to_pylist()
    [1, 2, 1, 1]
    """
    return define("min_count", column, combine=count_smaller, **COUNTED, where=where)


def arg_max(
    x: ColumnLike | None = None, a: ColumnLike | None = None, *, where: Condition | None = None
) -> Aggregate[tuple[Any, Any]]:
    """Return `a` of the first row in which `x` is largest.

    `x` is a column of any type with an order, `a` a column of any type.
    `where` is a condition in SQL, or a native expression: only rows where it is true count (see `sash.expr`).

    Nulls and NaN: rows with a null in either column are skipped; NaN is larger than every number and equal to NaN.
    Result: the type of `a`; null if the window has no values. Of rows with equal `x` the first one wins.
    Errors: TypeError if `x` has no order (lists, structs, maps).

    >>> import pyarrow as pa
    >>> import sash
    >>> from sash import agg, window
    >>> rows = pa.table({"load": [3, 9, 9], "plug": ["lamp", "oven", "kettle"]})
    >>> sash.Query(agg.arg_max("load", "plug"), window.rows(2)).run(rows)["arg_max"].to_pylist()
    ['lamp', 'oven', 'oven']
    """
    return define("arg_max", x, a, combine=larger_first, **ARGUMENT, where=where)


def arg_min(
    x: ColumnLike | None = None, a: ColumnLike | None = None, *, where: Condition | None = None
) -> Aggregate[tuple[Any, Any]]:
    """Return `a` of the first row in which `x` is smallest.

    `x` is a column of any type with an order, `a` a column of any type.
    `where` is a condition in SQL, or a native expression: only rows where it is true count (see `sash.expr`).

    Nulls and NaN: rows with a null in either column are skipped; NaN is larger than every number and equal to NaN.
    Result: the type of `a`; null if the window has no values. Of rows with equal `x` the first one wins.
    Errors: TypeError if `x` has no order (lists, structs, maps).

    >>> import pyarrow as pa
    >>> import sash
    >>> from sash import agg, window
    >>> rows = pa.table({"load": [3, 9, 9], "plug": ["lamp", "oven", "kettle"]})
    >>> sash.Query(agg.arg_min("load", "plug"), window.rows(2)).run(rows)["arg_min"].to_pylist()
    ['lamp', 'lamp', 'oven']
    """
    return define("arg_min", x, a, combine=smaller_first, **ARGUMENT, where=where)


def any(column: ColumnLike | None = None, *, where: Condition | None = None) -> Aggregate[bool]:
    """Return whether at least one value is true.

    `column` holds booleans or numbers; numbers other than 0 are true.
    `where` is a condition in SQL, or a native expression: only rows where it is true count (see `sash.expr`).

    Nulls and NaN: nulls are skipped; NaN is true, as in Python.
    Result: bool; null if the window has no values.
    Errors: TypeError if a query reads a column of another type.

    >>> import pyarrow as pa
    >>> import sash
    >>> from sash import agg, window
    >>> rows = pa.table({"on": [False, True, None, False]})
    >>> sash.Query(agg.any("on"), window.rows(2)).run(rows)["any"].to_pylist()
    [False, True, True, False]
    """
    return define("any", column, where=where, combine=either, identity=False, **TRUTH)


def all(column: ColumnLike | None = None, *, where: Condition | None = None) -> Aggregate[bool]:
    """Return whether every value is true.

    `column` holds booleans or numbers; numbers other than 0 are true.
    `where` is a condition in SQL, or a native expression: only rows where it is true count (see `sash.expr`).

    Nulls and NaN: nulls are skipped; NaN is true, as in Python.
    Result: bool; null if the window has no values.
    Errors: TypeError if a query reads a column of another type.

    >>> import pyarrow as pa
    >>> import sash
    >>> from sash import agg, window
    >>> rows = pa.table({"on": [False, True, None, False]})
    >>> sash.Query(agg.all("on"), window.rows(2)).run(rows)["all"].to_pylist()
    [False, False, True, False]
    """
    return define("all", column, where=where, combine=both, identity=True, **TRUTH)


# -- functions of partials ------------------------------------------------------------------------------------------------


def larger(older: P, newer: P) -> P:
    """Return the larger value, the older one of equals."""
    return newer if is_above(newer, older) else older


def smaller(older: P, newer: P) -> P:
    """Return the smaller value, the older one of equals."""
    return newer if is_above(older, newer) else older


def larger_number(older: Any, newer: Any) -> Any:
    """Return the larger number, as `larger` does; it compiles to two selections: a mispredicted branch costs more."""
    winner = newer if newer > older else older  # noqa: FURB136 — max of CPython and max of Numba differ for NaN
    return newer if newer != newer else winner


def smaller_number(older: Any, newer: Any) -> Any:
    """Return the smaller number, as `smaller` does, by two selections."""
    winner = newer if newer < older else older  # noqa: FURB136 — as above
    return newer if older != older else winner


def twice(value: P) -> tuple[P, P]:
    """Lift a value to the smallest and the largest value."""
    return value, value


def widen(older: tuple[P, P], newer: tuple[P, P]) -> tuple[P, P]:
    """Return the smallest and the largest of both."""
    return smaller(older[0], newer[0]), larger(older[1], newer[1])


def width_between(ends: tuple[Any, Any]) -> Any:
    """Return the largest minus the smallest."""
    return ends[1] - ends[0]


def integer_width(ends: tuple[int, int]) -> int:
    """Return the largest minus the smallest. Raise OverflowError if it needs more than 64 bits."""
    width = int(ends[1]) - int(ends[0])
    if width < 0 or width > LARGEST_INTEGER:  # negative if 64 bits wrap around, too large if integers are unbounded
        raise OverflowError("The spread of a window needs more than 64 bits. Cast the column to float64.")
    return width


def counted(value: P) -> tuple[P, int]:
    """Lift a value to an extreme that occurs once."""
    return value, 1


def count_larger(older: tuple[P, int], newer: tuple[P, int]) -> tuple[P, int]:
    """Return the larger extreme; add the counts of equal ones."""
    if is_above(newer[0], older[0]):
        return newer
    if is_above(older[0], newer[0]):
        return older
    return older[0], older[1] + newer[1]


def count_smaller(older: tuple[P, int], newer: tuple[P, int]) -> tuple[P, int]:
    """Return the smaller extreme; add the counts of equal ones."""
    if is_above(older[0], newer[0]):
        return newer
    if is_above(newer[0], older[0]):
        return older
    return older[0], older[1] + newer[1]


def larger_first(older: tuple[Any, Any], newer: tuple[Any, Any]) -> tuple[Any, Any]:
    """Return the pair with the larger value, the older one of equals."""
    return newer if is_above(newer[0], older[0]) else older


def smaller_first(older: tuple[Any, Any], newer: tuple[Any, Any]) -> tuple[Any, Any]:
    """Return the pair with the smaller value, the older one of equals."""
    return newer if is_above(older[0], newer[0]) else older


COUNTED: Fields = {
    "lift": counted,
    "lower": second_field,
    "commutative": True,
    "gives": "number",
    "codes": ("ordered",),
}


def truth(value: Any) -> bool:
    """Lift a value to whether it is true."""
    return bool(value)


def either(older: bool, newer: bool) -> bool:
    """Return whether at least one is true."""
    return older or newer


def both(older: bool, newer: bool) -> bool:
    """Return whether both are true."""
    return older and newer


# -- SQL ------------------------------------------------------------------------------------------------------------------


def extreme_sql(source: SqlInput) -> SqlForm | str:
    """Take the extreme of extremes."""
    if not source.column.is_ordered:
        return source.refuse()
    name = source.aggregate.name
    return source.form({name: f"{name}({source.column.sql})"}, None, f"{{{name}}}")


def spread_sql(source: SqlInput) -> SqlForm | str:
    """Take the smallest and the largest value."""
    x = source.column
    if not x.is_ordered or x.kind in ("string", "binary"):
        return source.refuse()
    # Differences of other types need checks: they may overflow, or depend on the session's zone.
    wider = {"int": "BIGINT", "float": "DOUBLE"}.get(x.kind, "") if x.kind == "float" or x.is_small else ""
    result = f"CAST({{max}} AS {wider}) - {{min}}" if wider else ""
    return source.form({function: f"{function}({x.sql})" for function in ("min", "max")}, pair, result)


def argument_sql(source: SqlInput) -> SqlForm | str:
    """Take the smallest or largest x, and `a` of the first row that has it."""
    (x, a), order, function = source.columns, source.order, source.aggregate.name.removeprefix("arg_")
    if not (x.is_ordered and a.is_ordered and order.is_known):
        return source.refuse()
    ascending = x.sql if function == "min" else x.descending
    function_by, key = ("min_by", order.smallest(ascending)) if ascending else ("max_by", order.largest(x.sql))
    if not key:
        return source.refuse(" in an order of text")
    extreme = f"{function}({unless_null(x.sql, source.columns)})"
    expressions = {function: extreme, f"arg_{function}": f"{function_by}({a.sql}, {unless_null(key, source.columns)})"}
    form = source.form(expressions, None, f"{{arg_{function}}}")
    packed = order.packed(x.as_bigint if function == "min" else f"~{x.as_bigint}", x.bits) if x.kind == "int" else None
    return form if packed is None else form._replace(native=_argument_by_number(source, function, packed))


def _argument_by_number(source: SqlInput, function: str, key: PackedKey) -> NativeSql:
    """Return how Spark finds `a` of the row with the smallest key.

    Aggregates of decimals cost Spark much even where all are null. A filter skips them, and few columns have such large integers.
    """
    x, a = source.columns
    small, large = (f"{function} of {x.name}, {size} key" for size in ("small", "large"))
    inputs, by_small = {small: key.small}, {f"arg_{function}": f"min_by({a.sql}, {unless_null(quote(small), [a])})"}
    if not key.large:
        return source.native(by_small, f"{{arg_{function}}}")._replace(inputs=inputs)
    by_large = {
        f"arg_{function}, {place}": f"min_by({a.sql}, {quote(large)}) FILTER (WHERE {quote(large)} {test} AND {a.sql} IS NOT NULL)"
        for place, test in (("below", "< 0"), ("above", ">= 0"))
    }
    result = f"coalesce({{arg_{function}, below}}, {{arg_{function}}}, {{arg_{function}, above}})"
    return source.native(by_small | by_large, result)._replace(inputs=inputs | {large: key.large})


def truth_sql(source: SqlInput) -> SqlForm | str:
    """Take any or all of the slices."""
    x, function = source.column, {"any": "bool_or", "all": "bool_and"}[source.aggregate.name]
    if not x.is_number:
        return source.refuse()
    truth = {function: f"{function}({x.sql if x.kind == 'bool' else f'{x.sql} <> 0'})"}
    return source.form(truth, None, f"{{{function}}}")


LAWS = Laws(commutative=True, selective=True)
EXTREME: Fields = {"lift": unchanged, "laws": LAWS, "gives": "value", "codes": ("ordered",), "sql": extreme_sql}
ARGUMENT: Fields = {"lift": pair, "lower": second_field, "selective": True, "gives": "value", "sql": argument_sql}
ARGUMENT |= {"codes": ("ordered", "any")}
TRUTH: Fields = {"lift": truth, "laws": LAWS, "sql": truth_sql}
