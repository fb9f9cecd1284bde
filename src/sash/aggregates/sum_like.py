"""Sum-like aggregates: count, sum, product, sum_of_squares.

sum and sum_of_squares have variants for kinds of columns (`Aggregate.of_kind`). Only integers have an exact inverse: subtracting
a float leaves its rounding error behind, and one 1e90 would spoil all later windows.

    variant      partial           inverse    commutative   for
    (general)    total             inexact    sum: no       any object with +; sum concatenates strings and lists;
                                                            floats as in `compensated`
    "float"      (total, error)    inexact    yes           float64: see `compensated`
    "int"        (high, low)       exact      yes           int64 and bool: see `integers`
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sash.aggregates import compensated, integers
from sash.aggregates.base import Aggregate, Functions, first_field, pair, second_field, unchanged
from sash.aggregates.compensated import as_float, lift_any, lift_float, lift_square, plain
from sash.aggregates.decimals import join_total, over_digits
from sash.aggregates.definition import FLOATS, INTEGERS, Fields, Kinds, counted_columns, define
from sash.aggregates.parts import Laws, ResultRule
from sash.aggregates.sql import Lift, SqlForm, SqlInput, literal
from sash.expressions import ColumnLike, Condition

MORE_DIGITS = 10
"""A sum of decimals has this many more digits than its column, up to 38, as in Spark."""
DIGITS_OF_DECIMALS = 38
"""The digits that a decimal of Spark can have."""
MOST_DIGITS = 28
"""The precision up to which Spark sums decimals exactly: then ten more digits are enough for any slice."""

# -- factories ------------------------------------------------------------------------------------------------------------


def count(column: ColumnLike | None = None, *, where: Condition | None = None) -> Aggregate[int]:
    """Count the rows, or the non-null values of a column.

    `column` is a column of any type. Without it, every row counts.
    `where` is a condition in SQL, or a native expression: only rows where it is true count (see `sash.expr`).

    Nulls and NaN: nulls in `column` are not counted; NaN is.
    Result: int64; 0 if the window has no values.
    Errors: none.

    >>> import pyarrow as pa
    >>> import sash
    >>> from sash import agg, window
    >>> rows = pa.table({"load": [3.0, 9.0, None, 4.0]})
    >>> sash.Query(agg.count("load"), window.rows(2)).run(rows)["count"].to_pylist()
    [1, 2, 1, 1]
    """
    columns = counted_columns("count", column, where)
    functions = Functions(one_value if columns else one_row, add, inverse=subtract, identity=0)
    laws, result = Laws(commutative=True, invertible=True), ResultRule(gives="number", at_least=0, empty=0)
    fields: Fields = {"laws": laws, "result": result, "codes": ("any",), "sql": count_sql}
    return define("count", *columns, functions=functions, **fields, where=where)


def sum(column: ColumnLike | None = None, *, where: Condition | None = None) -> Aggregate[Any]:
    """Add the values of a column.

    `column` holds integers, booleans, floats or decimals.
    `where` is a condition in SQL, or a native expression: only rows where it is true count (see `sash.expr`).

    Nulls and NaN: nulls are skipped; a NaN makes the result NaN.
    Result: int64 for integers and booleans, float64 for floats (compensated, with an error of a few ulps); for decimals a
    decimal with ten more digits, up to 38, as in Spark; null if the window has no values.
    Errors: OverflowError if a sum of integers needs more than 64 bits, or one of decimals more than its digits. TypeError if a query reads a column that is not of
    numbers. An `Aggregator` that gets its rows one by one adds any Python objects: integers of any size, strings, lists.

    >>> import pyarrow as pa
    >>> import sash
    >>> from sash import agg, window
    >>> rows = pa.table({"load": [3, 9, None, 4]})
    >>> sash.Query(agg.sum("load"), window.rows(2)).run(rows)["sum"].to_pylist()
    [3, 12, 9, 4]
    """
    functions = Functions(lift_any, add, plain, subtract)
    fields: Fields = {"decimals": (MORE_DIGITS, 0), "variants": _sums_of_numbers(lift_float, integers.split)}
    halves = Functions(integers.split, add_both, inverse=subtract_both, identity=integers.ZERO)
    laws: Fields = {"commutative": True, "invertible": True, "decimals": (MORE_DIGITS, 0)}
    fields["scaled"] = over_digits("sum", halves, (first_field, second_field), join_total, **laws)
    return define("sum", column, functions=functions, sql=sum_sql, **fields, where=where)


def product(column: ColumnLike | None = None, *, where: Condition | None = None) -> Aggregate[float]:
    """Multiply the values of a column.

    `column` holds numbers.
    `where` is a condition in SQL, or a native expression: only rows where it is true count (see `sash.expr`).

    Nulls and NaN: nulls are skipped; a NaN makes the result NaN.
    Result: float64; null if the window has no values.
    Errors: TypeError if a query reads a column that is not of numbers.

    >>> import pyarrow as pa
    >>> import sash
    >>> from sash import agg, window
    >>> rows = pa.table({"load": [3.0, 9.0, None, 4.0]})
    >>> sash.Query(agg.product("load"), window.rows(2)).run(rows)["product"].to_pylist()
    [3.0, 27.0, 9.0, 4.0]
    """
    return define("product", column, lift=as_float, combine=multiply, identity=1.0, commutative=True, where=where)


def sum_of_squares(column: ColumnLike | None = None, *, where: Condition | None = None) -> Aggregate[Any]:
    """Add the squares of the values of a column.

    `column` holds numbers.
    `where` is a condition in SQL, or a native expression: only rows where it is true count (see `sash.expr`).

    Nulls and NaN: nulls are skipped; a NaN makes the result NaN.
    Result: int64 for integers and booleans, float64 for floats; for decimals a decimal with twice as many digits behind the point,
    at most 38; null if the window has no values.
    Errors: OverflowError if a sum of integers needs more than 64 bits. TypeError if a query reads a column that is not of
    numbers.

    >>> import pyarrow as pa
    >>> import sash
    >>> from sash import agg, window
    >>> rows = pa.table({"load": [3, 9, None, 4]})
    >>> sash.Query(agg.sum_of_squares("load"), window.rows(2)).run(rows)["sum_of_squares"].to_pylist()
    [9, 90, 81, 16]
    """
    functions = Functions(square, add, plain, subtract)
    fields: Fields = {"commutative": True, "variants": _sums_of_numbers(lift_square, integers.split_square)}
    fields["decimals"] = "squares"
    return define("sum_of_squares", column, functions=functions, sql=sum_of_squares_sql, **fields, where=where)


# -- functions of partials ------------------------------------------------------------------------------------------------


def one_row() -> int:
    """Lift a row to a count."""
    return 1


def one_value(value: object) -> int:  # noqa: ARG001 — only its presence counts
    """Lift a value to a count."""
    return 1


def add(older: Any, newer: Any) -> Any:
    """Return the sum; for strings and lists it depends on the order."""
    return older + newer


def subtract(whole: Any, older: Any) -> Any:
    """Return the sum without the older values."""
    return whole - older


def add_both(older: tuple[Any, Any], newer: tuple[Any, Any]) -> tuple[Any, Any]:
    """Return the sums of the first and of the second fields."""
    return older[0] + newer[0], older[1] + newer[1]


def subtract_both(whole: tuple[Any, Any], older: tuple[Any, Any]) -> tuple[Any, Any]:
    """Return both sums without the older values."""
    return whole[0] - older[0], whole[1] - older[1]


def multiply(older: float, newer: float) -> float:
    """Return the product."""
    return older * newer


def square(value: Any) -> Any:
    """Lift the square in the type of the value."""
    return lift_any(value * value)


def _sums_of_numbers(lift_float: Lift, lift_integer: Lift) -> dict[Kinds, Fields]:
    """Return the variants of a sum: of floats rounded once, of integers exact and an error if the result does not fit."""
    exact = Functions(lift_integer, add_both, integers.join, subtract_both, integers.ZERO)
    return {
        FLOATS: {"functions": compensated.SUM._replace(lift=lift_float), "commutative": True},
        INTEGERS: {"functions": exact, "commutative": True, "invertible": True},
    }


# -- SQL ------------------------------------------------------------------------------------------------------------------


def count_sql(source: SqlInput) -> SqlForm:
    """Count rows or values."""
    counted = {"count": f"count({source.column.sql if source.columns else '*'})"}
    return source.form(counted, unchanged, "{count}")


def sum_sql(source: SqlInput) -> SqlForm | str:
    """Add values, 64-bit integers in two halves: only the sum of a window may overflow, not that of a slice."""
    sums = sums_of(source)
    if isinstance(sums, str):
        return sums
    return source.form(sums, pair if len(sums) > 1 else None, native_sum(source, sums), decimals=(0, 0))


def native_sum(source: SqlInput, sums: Mapping[str, str]) -> str:
    """Let Spark add sums, or both halves of sums; a sum of halves that needs more than 64 bits is an error."""
    if len(sums) == 1:
        return "{sum}"
    high, low = sums
    carried = f"{{{high}}} + shiftright({{{low}}}, 32)"
    problem = literal(
        f"[SASH] {source.aggregate.label}: the sum of a window needs more than 64 bits. Cast the column to DOUBLE."
    )
    too_large = f"{carried} NOT BETWEEN -{integers.HIGH_LIMIT}L AND {integers.HIGH_LIMIT - 1}L"
    # The template shows braces of the message twice.
    error = problem.replace("{", "{{").replace("}", "}}")
    joined = f"shiftleft({carried}, 32) | ({{{low}}} & {integers.LOW_BITS}L)"
    return f"CASE WHEN {too_large} THEN raise_error({error}) ELSE {joined} END"


def sums_of(source: SqlInput) -> dict[str, str] | str:
    """Return the sum of a column, as one expression or as a high and a low half, or why there is none."""
    x = source.column
    if x.is_small:
        return {"sum": f"sum({x.as_bigint})"}
    if x.is_integer:
        return _halves(x.sql, "")
    if x.kind == "float":
        return {"sum": f"sum({x.as_double})"}
    if x.kind == "decimal" and x.precision <= MOST_DIGITS:
        return {"sum": f"sum({x.sql})"}
    return source.refuse(", which may have more than 38 digits" if x.kind == "decimal" else "")


def _halves(value: str, what: str) -> dict[str, str]:
    return {f"high{what}": f"sum(shiftright({value}, 32))", f"low{what}": f"sum({value} & {integers.LOW_BITS}L)"}


def sum_of_squares_sql(source: SqlInput) -> SqlForm | str:
    """Add squares, those of integers in two halves; a square that does not fit is marked in the high half."""
    x = source.column
    if x.kind != "float" and not x.is_integer:
        return source.refuse()
    value = x.as_double if x.kind == "float" else x.as_bigint
    squared = f"{value} * {value}"
    if x.kind == "float" or x.bits < 32:  # noqa: PLR2004 — the sum of 2³¹ squares fits in 64 bits
        lift = lift_float if x.kind == "float" else integers.split
        return source.form({"sum of squares": f"sum({squared})"}, lift, "{sum of squares}")
    sums = _halves(f"({squared})", " of squares")
    if not x.is_small:
        fits = f"{x.sql} BETWEEN -{integers.LARGEST_ROOT}L AND {integers.LARGEST_ROOT}L"
        high, low = f"shiftright({squared}, 32)", f"({squared}) & {integers.LOW_BITS}L"
        marked = [f"sum(CASE WHEN {fits} THEN {high} WHEN {x.sql} IS NOT NULL THEN {integers.HIGH_LIMIT}L END)"]
        marked += [f"sum(CASE WHEN {fits} THEN {low} WHEN {x.sql} IS NOT NULL THEN 0L END)"]
        sums = dict(zip(sums, marked, strict=True))
    return source.form(sums, pair, native_sum(source, sums))
