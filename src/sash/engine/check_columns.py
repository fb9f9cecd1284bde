"""Whether a query can read the columns of some data, and why some aggregates over them are interpreted."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from sash.aggregates.base import Aggregate, with_fields
from sash.aggregates.decimals import MOST_DIGITS, as_floats, is_short
from sash.aggregates.parts import varying_column
from sash.algorithms import find_algorithm
from sash.columns.column_types import CannotCompileError, can_be_key, column_type, has_nanoseconds, plain_type
from sash.columns.result_column import result_type
from sash.columns.time_probes import check_arithmetic
from sash.expressions import source_of
from sash.hints import did_you_mean, list_names
from sash.plan.query_spec import QuerySpec
from sash.windows import Window
from sash.windows.base import ALL_COLUMNS

USE_A_PART = "Put one of its fields or elements into a column of its own."
WINDOW_NEEDS = {
    "number": (("int", "float"), "hold numbers. Cast it"),
    "mark": (("bool",), "be boolean. Compare it with a value"),
}
"""What the columns of windows hold, by `ColumnUse.holds`: groups of types, and the end of a sentence."""

EXACT_GROUPS = ("null", "bool", "int", "float", "string")
"""The groups of types that sketches take."""


def check_types(query: QuerySpec, schema: pa.Schema) -> None:
    """Raise TypeError if the query cannot read a column of this type."""
    check_keys(query, schema)
    for name in query.order_by:
        _check_ordered(schema.field(name).type, "order_by", name)
    for window in query.windows.values():
        for name in [name for name in window.columns if name != ALL_COLUMNS]:
            dtype = schema.field(name).type
            groups, need = WINDOW_NEEDS.get(window.columns[name].holds, ((), ""))
            if groups and column_type(dtype).group not in groups:
                raise TypeError(f"{window}: column {name!r} is of type {dtype}, but it must {need}.")
    for name, aggregate in query.aggregates.items():
        for number, column in enumerate(aggregate.named_columns):
            _check_aggregate(name, aggregate, number, schema.field(column))


def check_keys(query: QuerySpec, schema: pa.Schema) -> None:
    """Raise TypeError if the values of a key cannot be compared."""
    for name in query.by:
        if name in schema.names and not can_be_key(schema.field(name).type):
            raise TypeError(
                f"The key {name!r} is of type {schema.field(name).type}, whose values cannot be compared. Cast it, or put one "
                "of its fields into a column of its own."
            )


def check_columns(query: QuerySpec, names: list[str]) -> None:
    """Raise ValueError if a column is missing or ambiguous."""
    for column in query.columns:
        name = source_of(column)
        if not isinstance(name, str):
            continue  # expressions name their columns themselves
        if name not in names:
            hint = " To count rows, write agg.count()." if name == "*" else did_you_mean(name, names)
            raise ValueError(f"There is no column {name!r}.{hint} The data has {list_names(names)}.")
        if names.count(name) > 1:
            raise ValueError(f"There are {names.count(name)} columns named {name!r}. Rename all but one.")
    for name in query.computed:
        if name in names and not name.is_done:
            raise ValueError(
                f"The data already has a column {str(name)!r}, so no expression can have this name. Rename the column, or give the expression an alias."
            )


def check_result_names(query: QuerySpec, names: list[str]) -> None:
    """Raise ValueError if a result that stands beside its row would have the name of a column of the rows.

    With labels, results stand beside labels, so that events may have any names.
    """
    if query.per_row and (taken := [name for name in query.row_columns if name in names]):
        raise ValueError(
            f"The data already has a column {taken[0]!r}, so no result can have this name. Rename the aggregate."
        )


def window_column(window: Window, name: str, array: pa.Array) -> pa.Array:
    """Return a column for a window, without nulls. Raise ValueError if the window does not accept them."""
    if window.columns[name].holds == "mark":
        return pc.fill_null(array, False)
    if array.null_count or (column_type(array.type).group == "float" and pc.any(pc.is_nan(array)).as_py()):
        raise ValueError(
            f"{window}: column {name!r} has nulls or NaN, which have no distance to other values. Drop these rows."
        )
    return array


def _check_aggregate(name: str, aggregate: Aggregate[Any], number: int, field: pa.Field) -> None:
    if aggregate.forms.inner is not None and number > 0:
        _check_aggregate(name, aggregate.forms.inner, number - 1, field)
        return
    dtype, label = plain_type(field.type), f"{name!r}: {aggregate.name}"
    row, problem = column_type(dtype), ""
    if aggregate.result.gives in ("arithmetic", "difference") and not row.has_differences:
        problem = (
            f"needs numbers, but column {field.name!r} is of type {field.type}. {_how_to_cast(field.name, row.group)}"
        )
    elif aggregate.result.gives == "arithmetic" and not (row.has_sums or (aggregate.laws.ranked and row.has_middle)):
        problem = (
            f"needs numbers, but column {field.name!r} is of type {dtype}. Cast it to int64 to compute with its ticks."
        )
    elif aggregate.coding.sorts and dtype != field.type and field.type.ordered:
        problem = (
            f"cannot use the order of the categories of column {field.name!r}; max and min can. Cast the column "
            "to its values or to numbers."
        )
    if problem:
        raise TypeError(f"{label} {problem}")
    if aggregate.coding.codes[number] == "ordered" if aggregate.coding.codes else aggregate.coding.sorts:
        _check_ordered(dtype, label, field.name)
    if aggregate.coding.hashes and row.is_nested:
        raise TypeError(
            f"{label} cannot compare values of column {field.name!r}, which is of type {dtype}. {USE_A_PART}"
        )


def _how_to_cast(column: str, group: str) -> str:
    """Return how to make numbers of a column."""
    if group != "string":
        return "Cast it to numbers."
    name = column if column.isidentifier() else f'"{column}"'
    text, comma = f"CAST({name} AS DOUBLE)", f"CAST(replace({name}, ',', '.') AS DOUBLE)"
    return f"Cast it, in SQL or in sash.expr(…): {text}, TRY_{text} if some values are not numbers, or {comma} if it has decimal commas."


def _check_ordered(dtype: pa.DataType, label: str, column: str) -> None:
    if not column_type(dtype).has_order:
        raise TypeError(f"{label} needs values with an order, but column {column!r} is of type {dtype}. {USE_A_PART}")


def why_interpreted(query: QuerySpec, schema: pa.Schema, *, compiled: bool) -> dict[str, str]:
    """Return the reasons why aggregates are interpreted, as far as types decide, by the names of those that are."""
    if not compiled:
        return dict.fromkeys(query.aggregates, "compiled=False was given")
    forms = {name: replacing_form(query, aggregate, schema) for name, aggregate in query.aggregates.items()}
    reasons = {
        name: _why(query, aggregate, input_types(aggregate, schema))
        for name, aggregate in query.aggregates.items()
        if forms[name] is None
    }
    return {name: reason for name, reason in reasons.items() if reason}


def replacing_form(query: QuerySpec, aggregate: Aggregate[Any], schema: pa.Schema) -> Aggregate[Any] | None:
    """Return the aggregate that is compiled in place of another one over columns of these types; None if that one is compiled or interpreted itself."""
    return exact_form(query, aggregate, schema) or _form_for_decimals(query, aggregate, schema)


def _form_for_decimals(query: QuerySpec, aggregate: Aggregate[Any], schema: pa.Schema) -> Aggregate[Any] | None:
    """Return the form that reads decimals as numbers; None if there is none."""
    types = input_types(aggregate, schema)
    groups = {column_type(dtype).group for dtype in types}
    if "decimal" not in groups or not groups <= {"decimal", "int", "float", "bool"} or aggregate.coding.codes:
        return None
    if aggregate.forms.scaled is not None:
        form, dtype = aggregate.forms.scaled, pa.int64()
        is_readable = is_short(types[0])
    else:
        exact = aggregate.forms.exact or aggregate
        form, dtype = with_fields(exact.of_kind("float"), reads=as_floats), pa.float64()
        is_readable = aggregate.is_built_in and result_type(exact, types) == dtype
    read = [*[dtype] * len(aggregate.named_columns), *types[len(aggregate.named_columns) :]]
    return form if is_readable and not _why(query, form, read) else None


def exact_form(query: QuerySpec, aggregate: Aggregate[Any], schema: pa.Schema) -> Aggregate[Any] | None:
    """Return the aggregate that replaces one whose results are estimates, over numbers and text; None if there is none, or it is interpreted."""
    exact = aggregate.forms.exact
    if exact is None:
        return None
    types = input_types(exact, schema)
    is_known = all(column_type(plain_type(dtype)).group in EXACT_GROUPS for dtype in types)
    has_all = exact.only_compares or pa.uint64() not in types  # kernels compute with int64
    return exact if is_known and has_all and not _why(query, exact, types) else None


def input_types(aggregate: Aggregate[Any], schema: pa.Schema) -> list[pa.DataType]:
    """Return the types of the columns that an aggregate reads; the time that `lift` takes is in ticks.

    >>> from sash import agg
    >>> schema = pa.schema({"ts": pa.timestamp("us"), "load": pa.float32()})
    >>> input_types(agg.ewm_mean("load", half_life="1h").over(("load",), "ts"), schema)
    [DataType(float), DataType(int64)]
    """
    named = [schema.field(column).type for column in aggregate.named_columns]
    return [*named, pa.int64()] if aggregate.time is not None else named


def _why(query: QuerySpec, aggregate: Aggregate[Any], types: list[pa.DataType]) -> str:  # noqa: PLR0911 — a chain
    if aggregate.laws.listed is not None:
        return "" if _reads_rows(query) else aggregate.coding.interpreted_only
    for dtype in types:
        is_number = column_type(dtype).numbers is not None
        if not is_number and (not aggregate.coding.codes or column_type(plain_type(dtype)).is_nested):
            is_long = pa.types.is_decimal(dtype) and dtype.precision > MOST_DIGITS
            compiled = f"decimals of up to {MOST_DIGITS} digits" if is_long else "numbers, booleans and times"
            return f"columns of {dtype} are not compiled: only {compiled} are"
    keeper = aggregate.laws.need_values
    if aggregate.coding.interpreted_only and not (keeper and query.slicing in ("auto", "none")):
        return aggregate.coding.interpreted_only
    if query.algorithm != "auto":
        try:
            algorithm = find_algorithm(query.algorithm, aggregate)
        except ValueError:  # its variant for the kind of column may fit
            return ""
        if algorithm.interpreted_only:
            return algorithm.interpreted_only
        if keeper and not algorithm.keeps_values:
            return aggregate.coding.interpreted_only
    try:
        check_arithmetic(aggregate, [dtype for dtype in types if column_type(dtype).numbers is not None])
    except CannotCompileError as error:
        return str(error)
    return ""


def _reads_rows(query: QuerySpec) -> bool:
    """Return whether each window is one run of rows, without an algorithm or slices that the user asked for."""
    in_runs = any(window.frame and window.frame.in_runs for window in query.windows.values())
    return not in_runs and query.algorithm == "auto" and query.slicing in ("auto", "none")


def interpreted_form(aggregate: Aggregate[Any], schema: pa.Schema) -> Aggregate[Any]:
    """Return the variant of an aggregate for the kind of its column, for the interpreter; kernels find theirs themselves."""
    column = varying_column(aggregate)
    if column is None:
        return aggregate
    dtype = schema.field(column).type
    if has_nanoseconds(dtype):
        return aggregate.of_kind("ticks")
    row = column_type(dtype)
    is_own = row.is_time or row.group in ("interval", "null")  # Python's own objects, or none
    return aggregate if is_own else aggregate.of_kind(row.kind)
