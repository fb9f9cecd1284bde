"""The columns that a query reads of a table: plain ones, and those that are computed from others, each filter a column of its own.

    value, where ──► values of expressions ──► value, null where the condition is not true ──► a column of its own
                     DuckDB, Polars, Arrow     Arrow, so that the type stays

`select_sql.py` evaluates SQL text. Polars evaluates its own expressions, so their values come in as `native`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

import pyarrow as pa
import pyarrow.compute as pc

from sash.columns.column_types import column_type
from sash.columns.read_column import readable, readable_schema
from sash.engine.check_columns import check_columns
from sash.engine.select_sql import names_in, run_sql, sql_types
from sash.expressions import SQL, ComputedColumn, Expression, expressions_in, source_of
from sash.plan.query_spec import QuerySpec
from sash.windows.base import ALL_COLUMNS

Values = Mapping[Expression, pa.ChunkedArray]
"""The values of native expressions, which their own engine has computed."""
NONE: Values = MappingProxyType({})


def source_columns(query: QuerySpec, names: list[str]) -> list[str]:
    """Return the columns of the data that a query reads, also those that expressions read. Raise ValueError for wrong text."""
    needed: dict[str, None] = {}
    for source in map(source_of, query.columns):
        if isinstance(source, str):
            needed[source] = None
    lower_case = {name: name.lower() for name in names}
    for expression in expressions_in(query.computed):
        if expression.kind == "Arrow":
            return names  # it does not tell which columns it reads
        if expression.kind == SQL:
            named = {name.lower() for name in names_in(expression)}
            needed |= dict.fromkeys(name for name in names if lower_case[name] in named)
    return [name for name in names if name in needed]


def with_computed(query: QuerySpec, table: pa.Table, native: Values = NONE, names: Sequence[str] = ()) -> pa.Table:
    """Return a table with the computed columns of a query. Raise ValueError or TypeError if an expression is wrong.

    `names` are all columns of the data, for messages.

    >>> from sash import agg, window
    >>> from sash.plan.query_spec import parse_query
    >>> count = agg.count(where="x > 1")
    >>> query = parse_query(count, window.rows(2))
    >>> with_computed(query, pa.table({"x": [1, 2, None]}))["where x > 1"].to_pylist()
    [None, True, None]
    """
    if not query.computed:
        return table
    check_conditions(query, types_of(native))
    values = {**native, **_evaluate(query, table, native, list(names or table.column_names))}
    widened = table
    for column in query.computed:
        widened = widened.append_column(str(column), _column(column, table, values))
    return widened


def _column(column: ComputedColumn, table: pa.Table, values: Values) -> pa.ChunkedArray:
    mask = None if column.where is None else values[column.where]
    if mask is not None and mask.type == pa.null():
        mask = mask.cast(pa.bool_())
    if column.value is None:
        return pc.if_else(mask, mask, None)
    source = table[column.value] if isinstance(column.value, str) else values[column.value]
    return source if mask is None else only_where(source, mask)


def check_conditions(query: QuerySpec, types: Mapping[Expression, pa.DataType]) -> None:
    """Raise TypeError if a filter is neither true nor false; `types` are those of expressions that are known so far."""
    for column in query.computed:
        dtype = None if column.where is None else types.get(column.where)
        if dtype not in (None, pa.bool_(), pa.null()):
            raise TypeError(
                f'where="{column.where.text if column.where else ""}" is of type {dtype}, but a condition must be a boolean.'
            )


def only_where(column: pa.ChunkedArray, mask: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return a column that is null where a mask is not true, in the same type.

    >>> only_where(pa.chunked_array([["a", "b"]]), pa.chunked_array([[True, None]])).to_pylist()
    ['a', None]
    """
    dtype = column.type
    if column_type(dtype).numbers is not None or dtype in (pa.string(), pa.large_string()):
        kept = pc.if_else(mask, column, pa.scalar(None, dtype))
    else:  # dictionaries and nested types: a null index takes a null
        rows = pa.chunked_array([pa.array(range(len(column)), pa.int64())])
        kept = column.take(pc.if_else(mask, rows, pa.scalar(None, pa.int64())))
    return kept if isinstance(kept, pa.ChunkedArray) else pa.chunked_array([kept], dtype)


def _evaluate(query: QuerySpec, table: pa.Table, native: Values, names: list[str]) -> dict[Expression, pa.ChunkedArray]:
    """Return the values of SQL and of Arrow expressions."""
    pending = [expression for expression in expressions_in(query.computed) if expression not in native]
    for expression in pending:
        if expression.kind not in (SQL, "Arrow"):
            owner = {"Polars": "a Polars frame", "PySpark": "a PySpark DataFrame"}[expression.kind]
            raise TypeError(
                f"{expression.text} is an expression of {expression.kind}, which only {owner} can evaluate. Use SQL, as in "
                'sash.expr("price * quantity").'
            )
    sql = [expression for expression in pending if expression.kind == SQL]
    arrow = [expression for expression in pending if expression.kind == "Arrow"]
    check_conditions(query, sql_types(sql, table, names))  # before the first row is read
    check_conditions(query, types_of(_run_arrow(arrow, table.slice(0, 0))))
    return {**run_sql(sql, table, names), **_run_arrow(arrow, table)}


def types_of(values: Values) -> dict[Expression, pa.DataType]:
    """Return the types of the values of expressions."""
    return {expression: column.type for expression, column in values.items()}


def _run_arrow(expressions: list[Expression], table: pa.Table) -> dict[Expression, pa.ChunkedArray]:
    if not expressions:
        return {}
    from pyarrow import acero  # noqa: PLC0415 — few queries need it

    sources = [expression.source for expression in expressions]
    names = [str(number) for number in range(len(expressions))]
    source = acero.Declaration("table_source", acero.TableSourceNodeOptions(table))
    project = acero.Declaration("project", acero.ProjectNodeOptions(sources, names), [source])
    try:
        projected = project.to_table(use_threads=False)  # threads would change the order
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, KeyError) as error:
        shown = ", ".join(expression.text for expression in expressions)
        raise ValueError(f"Arrow cannot evaluate {shown}: {error}") from error
    return dict(zip(expressions, projected.columns, strict=True))


def read_columns(query: QuerySpec, table: pa.Table) -> pa.Table:
    """Return the columns that a query reads. Raise ValueError if one is missing."""
    check_columns(query, table.column_names)
    if query.computed:
        wanted = table if reads_all(query) else table.select(source_columns(query, table.column_names))
        return read_computed(query, readable(wanted), table.column_names)
    return readable(needed_columns(query, table))


def read_computed(query: QuerySpec, table: pa.Table, names: list[str], native: Values = NONE) -> pa.Table:
    """Return the columns that a query reads, with those that are computed from others."""
    return needed_columns(query, readable(with_computed(query, table, native, names)))


def needed_schema(query: QuerySpec, schema: pa.Schema) -> pa.Schema:
    """Return the types of the columns that a query reads. Raise ValueError if one is missing."""
    if query.computed:
        return read_columns(query, schema.empty_table()).schema
    check_columns(query, schema.names)
    needed = schema if reads_all(query) else pa.schema([schema.field(name) for name in query.columns])
    return readable_schema(needed)


def needed_columns(query: QuerySpec, table: pa.Table) -> pa.Table:
    """Return the columns of a table that a query reads: all, if windows read whole rows or no column is named."""
    return table if reads_all(query) or table.column_names == query.columns else table.select(query.columns)


def reads_all(query: QuerySpec) -> bool:
    """Return whether a query needs all columns: windows read whole rows, or the query names no column."""
    return any(ALL_COLUMNS in window.columns for window in query.windows.values()) or not query.columns
