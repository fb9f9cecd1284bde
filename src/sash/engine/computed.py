"""Columns that are computed from others before a query runs: expressions and filters, for data in this process.

    rows ──► expressions, each once ──► filter: null where it is not true ──► a column of its own
             DuckDB, Polars, Arrow       Arrow, so that the type stays

The text is checked before any row is read: DuckDB's parser gives its tree, in which subqueries, window functions and stars are
rejected, and its binder rejects aggregates and unknown columns. DuckDB runs without access to files or the network.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from functools import cache, lru_cache
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from sash.expressions import SQL, Computed, Expression, expressions_in
from sash.hints import list_names
from sash.plan.declared import Declared

INSTALL = "pip install 'sash[sql]'"
ROWS = "rows"
"""The name of the table in DuckDB."""
NOT_ROW_WISE = {
    "SUBQUERY": "has a subquery",
    "WINDOW": "has a window function",
    "STAR": "has a star, which stands for several columns",
    "PARAMETER": "has a parameter",
}
"""The nodes of DuckDB's parse tree that an expression over one row cannot have."""
SEVERAL = "it is not one expression. Use one for each input of an aggregate."
MOST_THREADS = 4

Values = Mapping[Expression, pa.ChunkedArray]
"""The values of native expressions, which their own engine has computed."""


def source_columns(query: Declared, names: list[str]) -> list[str]:
    """Return the columns of the data that a query reads, also those that expressions read. Raise ValueError for wrong text."""
    needed: dict[str, None] = {}
    for name in query.columns:
        if not isinstance(name, Computed):
            needed[name] = None
        elif isinstance(name.value, str):
            needed[name.value] = None
    lower_case = {name: name.lower() for name in names}
    for expression in expressions_in(query.computed):
        if expression.kind == "Arrow":
            return names  # it does not tell which columns it reads
        if expression.kind == SQL:
            named = {name.lower() for name in _parse(expression)}
            needed |= dict.fromkeys(name for name in names if lower_case[name] in named)
    return [name for name in names if name in needed]


def with_computed(
    query: Declared, table: pa.Table, native: Values | None = None, names: list[str] | None = None
) -> pa.Table:
    """Return a table with the computed columns of a query. Raise ValueError or TypeError if an expression is wrong.

    `names` are all columns of the data, for messages.

    >>> from sash import agg, window
    >>> from sash.plan.declared import declare
    >>> count = agg.count(where="x > 1")
    >>> query = declare(count, window.rows(2), (), None, (), "auto", "throughput", "auto", None)
    >>> with_computed(query, pa.table({"x": [1, 2, None]}))["where x > 1"].to_pylist()
    [None, True, None]
    """
    if not query.computed:
        return table
    check_conditions(query, {one: values.type for one, values in (native or {}).items()})
    values = {**(native or {}), **_evaluate(query, table, native or {}, names or table.column_names)}
    made = table
    for column in query.computed:
        made = made.append_column(str(column), _column(column, table, values))
    return made


def _column(column: Computed, table: pa.Table, values: Values) -> pa.ChunkedArray:
    mask = None if column.where is None else values[column.where]
    if mask is not None and pa.types.is_null(mask.type):
        mask = mask.cast(pa.bool_())
    if column.value is None:
        return pc.if_else(mask, mask, None)
    source = table[column.value] if isinstance(column.value, str) else values[column.value]
    return source if mask is None else only_where(source, mask)


def check_conditions(query: Declared, types: Mapping[Expression, pa.DataType]) -> None:
    """Raise TypeError if a filter is neither true nor false; `types` are those of expressions that are known so far."""
    for column in query.computed:
        kind = None if column.where is None else types.get(column.where)
        if kind is not None and not (pa.types.is_boolean(kind) or pa.types.is_null(kind)):
            message = f'where="{column.where.text if column.where else ""}" is of type {kind}, but a condition is true or false.'
            raise TypeError(message)


def only_where(column: pa.ChunkedArray, mask: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return a column that is null where a mask is not true, in the same type.

    >>> only_where(pa.chunked_array([["a", "b"]]), pa.chunked_array([[True, None]])).to_pylist()
    ['a', None]
    """
    kind = column.type
    if pa.types.is_primitive(kind) or pa.types.is_string(kind) or pa.types.is_large_string(kind):
        kept = pc.if_else(mask, column, pa.scalar(None, kind))
    else:  # dictionaries and nested types: a null index takes a null
        rows = pa.chunked_array([pa.array(range(len(column)), pa.int64())])
        kept = column.take(pc.if_else(mask, rows, pa.scalar(None, pa.int64())))
    return kept if isinstance(kept, pa.ChunkedArray) else pa.chunked_array([kept], kind)


def _evaluate(query: Declared, table: pa.Table, native: Values, names: list[str]) -> dict[Expression, pa.ChunkedArray]:
    """Return the values of SQL and of Arrow expressions."""
    wanted = [one for one in expressions_in(query.computed) if one not in native]
    for expression in wanted:
        if expression.kind not in (SQL, "Arrow"):
            owner = {"Polars": "a Polars frame", "PySpark": "a PySpark DataFrame"}[expression.kind]
            message = (
                f"{expression.text} is an expression of {expression.kind}, which only {owner} can evaluate. Use SQL, as in "
                'sash.expr("price * quantity").'
            )
            raise TypeError(message)
    texts = tuple(one for one in wanted if one.kind == SQL)
    own = [one for one in wanted if one.kind == "Arrow"]
    rows = _rows_of(texts, table)
    types = _types_of_sql(texts, rows.schema, tuple(names)) if texts else {}
    check_conditions(query, types)  # before the first row is read
    if own:
        none = _run_arrow(own, table.slice(0, 0))
        check_conditions(query, {one: values.type for one, values in none.items()})
    return {**(_run_sql(texts, rows, types) if texts else {}), **(_run_arrow(own, table) if own else {})}


def _run_arrow(expressions: list[Expression], table: pa.Table) -> dict[Expression, pa.ChunkedArray]:
    from pyarrow import acero  # noqa: PLC0415 — few queries need it

    names = [str(number) for number in range(len(expressions))]
    steps = [
        acero.Declaration("table_source", acero.TableSourceNodeOptions(table)),
        acero.Declaration("project", acero.ProjectNodeOptions([one.source for one in expressions], names)),
    ]
    try:
        made = acero.Declaration.from_sequence(steps).to_table(use_threads=False)  # threads would change the order
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, KeyError) as error:
        shown = ", ".join(one.text for one in expressions)
        message = f"Arrow cannot evaluate {shown}: {error}"
        raise ValueError(message) from error
    return dict(zip(expressions, made.columns, strict=True))


def run_sql(expressions: list[Expression], table: pa.Table, names: list[str]) -> dict[Expression, pa.ChunkedArray]:
    """Return the values of SQL for each row of a table, in its order. `names` are all columns of the data, for messages."""
    texts = tuple(expressions)
    rows = _rows_of(texts, table)
    return _run_sql(texts, rows, _types_of_sql(texts, rows.schema, tuple(names)))


def _rows_of(expressions: tuple[Expression, ...], table: pa.Table) -> pa.Table:
    """Return the columns that SQL names. Raise ValueError if a name stands for two."""
    by_lower_case: dict[str, list[str]] = {}
    for name in table.column_names:
        by_lower_case.setdefault(name.lower(), []).append(name)
    needed: dict[str, None] = {}
    for expression in expressions:
        for name in _parse(expression):
            alike = by_lower_case.get(name.lower(), [])
            if len(alike) > 1:
                message = (
                    f"{expression!r}: SQL ignores case, so {alike[0]!r} and {alike[1]!r} are the same name. Rename one."
                )
                raise ValueError(message)
            needed |= dict.fromkeys(alike)
    # A table without columns has no rows in DuckDB.
    return table.select(list(needed)) if needed else pa.table({"": pa.nulls(len(table), pa.bool_())})


@lru_cache(maxsize=256)
def _types_of_sql(
    expressions: tuple[Expression, ...], schema: pa.Schema, names: tuple[str, ...]
) -> dict[Expression, pa.DataType]:
    """Return the types of SQL over columns. Raise ValueError if it does not fit them."""
    with database_of(os.getpid()).cursor() as cursor:
        register_rows(cursor, schema.empty_table())
        for expression in expressions:
            _bind(cursor, expression, list(names))
        made = _select(cursor, expressions, [f"(\n{one.text}\n)" for one in expressions])
    return dict(zip(expressions, made.schema.types, strict=True))


def _run_sql(
    expressions: tuple[Expression, ...], rows: pa.Table, types: Mapping[Expression, pa.DataType]
) -> dict[Expression, pa.ChunkedArray]:
    """Return the values of SQL for each row, in their order."""
    # DuckDB takes 14 ns per row to write Arrow's bits, and 4 ns to write bytes.
    is_bool = [pa.types.is_boolean(types[one]) for one in expressions]
    texts = [
        f"(\n{one.text}\n)::TINYINT" if as_byte else f"(\n{one.text}\n)"
        for one, as_byte in zip(expressions, is_bool, strict=True)
    ]
    with database_of(os.getpid()).cursor() as cursor:
        register_rows(cursor, rows)
        made = _select(cursor, expressions, texts)
    columns = (column.cast(types[one]) for one, column in zip(expressions, made.columns, strict=True))
    return dict(zip(expressions, columns, strict=True))


def register_rows(cursor: Any, rows: pa.Table) -> None:
    """Let DuckDB read a table. Raise TypeError if it does not know the type of a column.

    >>> with database_of(os.getpid()).cursor() as cursor:
    ...     register_rows(cursor, pa.table({"x": pa.array([1], pa.decimal256(9, 2))}))
    Traceback (most recent call last):
    TypeError: DuckDB evaluates SQL, but it cannot read column 'x' of type decimal256(9, 2). Cast the column.
    """
    error = duckdb_module().Error
    try:
        cursor.register(ROWS, rows)
    except error as failed:
        for field in rows.schema:
            try:
                cursor.register("one", pa.schema([field]).empty_table())
            except error:
                message = f"DuckDB evaluates SQL, but it cannot read column {field.name!r} of type {field.type}. Cast the column."
                raise TypeError(message) from failed
        raise


def _select(cursor: Any, expressions: tuple[Expression, ...], texts: list[str]) -> pa.Table:
    shown = ", ".join(f'{text} AS "{number}"' for number, text in enumerate(texts))
    try:
        return cursor.sql(f"SELECT {shown} FROM {ROWS}").to_arrow_table()  # noqa: S608 — parsed and bound before
    except duckdb_module().Error as error:
        message = f"{', '.join(map(repr, expressions))}: {first_line(error)}"
        raise ValueError(message) from error


def _bind(cursor: Any, expression: Expression, names: list[str]) -> None:
    """Raise ValueError if an expression does not fit the columns, or aggregates rows: a WHERE clause cannot do that."""
    try:
        cursor.execute(f"EXPLAIN SELECT 1 FROM {ROWS} WHERE (\n{expression.text}\n) IS NULL")  # noqa: S608 — parsed before
    except duckdb_module().Error as error:
        text = str(error)
        problem = first_line(error).replace("WHERE clause cannot contain aggregates!", "it aggregates rows.")
        if "not found in FROM clause" in problem:
            problem = f"{problem.removesuffix(' in FROM clause!')}. The data has {list_names(names)}."
        marked = text[text.index("LINE ") :].split("\n") if "LINE " in text else []
        raise _wrong_text(expression, problem, marked) from error


def _wrong_text(expression: Expression, problem: str, marked: list[str]) -> ValueError:
    """Return the error for wrong text; `marked` is its line, and a line with carets below the wrong part."""
    if marked and ":" in marked[0]:
        indent = marked[0].index(": ") + 2
        marked = [line[indent:] for line in marked[:2]]
        if marked[0].startswith(")"):  # the end of the text
            last = expression.text.rstrip().split("\n")[-1]
            marked = [last, " " * len(last) + "^"]
    where = "".join(f"\n  {line}" for line in marked)
    return ValueError(f"SQL {json.dumps(expression.text, ensure_ascii=False)}: {problem}{where}")


def first_line(error: Exception) -> str:
    """Return the problem that an error of DuckDB names."""
    lines = [line.strip() for line in str(error).split("\n") if line.strip()]
    problem = lines[0].partition("Error: ")[2] or lines[0]
    return problem.split("\tCandidate")[0].strip()


@lru_cache(maxsize=256)
def _parse(expression: Expression) -> tuple[str, ...]:
    """Return the names in an expression that may be columns. Raise ValueError if it is not one expression over one row."""
    with database_of(os.getpid()).cursor() as cursor:
        query = "SELECT json_serialize_sql(?, skip_null := true, skip_empty := true)"
        (answer,) = cursor.execute(query, [f"SELECT (\n{expression.text}\n)"]).fetchone()
    parsed = json.loads(answer)
    if parsed["error"]:
        place = int(parsed.get("position", 0)) - len("SELECT (\n")
        if parsed.get("error_type") == "not implemented":  # statements that are no SELECT
            raise _wrong_text(expression, SEVERAL, [])
        raise _wrong_text(expression, parsed["error_message"], _mark(expression.text, place))
    nodes = [statement["node"] for statement in parsed["statements"]]
    plain = len(nodes) == 1 and len(nodes[0].get("select_list", ())) == 1 and nodes[0]["from_table"]["type"] == "EMPTY"
    if not plain or nodes[0].keys() & {"where_clause", "modifiers", "group_expressions", "having", "qualify", "sample"}:
        raise _wrong_text(expression, SEVERAL, [])
    names: list[str] = []
    for node in _nodes(nodes[0]["select_list"][0]):
        kind = node.get("class")
        if kind in NOT_ROW_WISE:
            place = node.get("query_location", 0) - len("SELECT (\n")
            problem = f"it {NOT_ROW_WISE[kind]}, but an expression is evaluated for each row by itself."
            raise _wrong_text(expression, problem, _mark(expression.text, place))
        if kind == "COLUMN_REF":
            names += node["column_names"]
    return tuple(names)


def _mark(text: str, place: int) -> list[str]:
    """Return the line of a place in a text, after a prefix as DuckDB writes it, and a caret below the place."""
    place = min(max(place, 0), len(text.rstrip()))
    begin = text.rfind("\n", 0, place) + 1
    line = text[begin:].split("\n", maxsplit=1)[0]
    return [f"LINE 1: {line}", " " * (len("LINE 1: ") + place - begin) + "^"]


def _nodes(tree: Any) -> Iterator[dict[str, Any]]:
    if isinstance(tree, dict):
        yield tree
        for part in tree.values():
            yield from _nodes(part)
    elif isinstance(tree, list):
        for part in tree:
            yield from _nodes(part)


def duckdb_module() -> Any:
    """Return DuckDB. Raise ImportError if it is missing."""
    try:
        import duckdb  # noqa: PLC0415 — optional
    except ImportError as error:
        message = f"SQL over data in this process needs DuckDB. Install it: {INSTALL}."
        raise ImportError(message) from error
    return duckdb


@cache
def database_of(process: int) -> Any:  # noqa: ARG001 — a forked process needs its own
    """Return the database of a process: in memory, without access to files or the network."""
    settings = {
        "enable_external_access": False,
        "autoload_known_extensions": False,
        "autoinstall_known_extensions": False,
        "preserve_insertion_order": True,
        "threads": min(MOST_THREADS, os.cpu_count() or 1),
    }
    database = duckdb_module().connect(":memory:", config=settings)
    database.execute("SET GLOBAL TimeZone = 'UTC'")
    database.execute("SET GLOBAL lock_configuration = true")
    return database
