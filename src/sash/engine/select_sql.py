"""How DuckDB evaluates SQL for data in this process: expressions, the rows that WHERE keeps, and what a select list makes of results.

The text is checked before any row is read: DuckDB's parser gives its tree, in which subqueries, window functions and stars are
rejected, and its binder rejects aggregates and unknown columns. DuckDB runs without access to files or the network. Columns that are
only moved or renamed stay as they are in Arrow.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from sash.columns.intervals import without_intervals
from sash.columns.read_column import readable
from sash.engine.text_types import with_checked_types
from sash.expressions import Expression, Order, Selection, in_case
from sash.hints import list_names

INSTALL = "pip install 'sash[sql]'"
UTC = "UTC"
ROWS = "rows"
"""The name of the table in DuckDB."""
NOT_ROW_WISE = {
    "SUBQUERY": "has a subquery",
    "WINDOW": "has a window function",
    "STAR": "has a star, which stands for several columns",
    "PARAMETER": "has a parameter",
}
"""The nodes of DuckDB's parse tree that an expression over one row cannot have."""
OF_SETTINGS = frozenset({
    "current_setting", "getvariable", "getenv", "write_log", "current_query", "current_query_id", "current_connection_id",
    "current_transaction_id", "current_database", "current_schema", "current_schemas", "parse_duckdb_log_message",
})  # fmt: skip
"""Functions of DuckDB that read its settings, or write its log."""
SEVERAL = "it is not one expression. Use one for each input of an aggregate."
NOT_UTF_8 = "it is not in UTF-8. Convert it: iconv -f WINDOWS-1252 -t UTF-8 old.csv > new.csv, or -f UTF-16"
MOST_THREADS = 4
READERS = {".parquet": "read_parquet", **dict.fromkeys((".csv", ".tsv"), "read_csv")}
PACKED = (".gz", ".zst")
"""Endings of compressed files, after that of the format."""


def run_sql(expressions: Sequence[Expression], table: pa.Table, names: list[str]) -> dict[Expression, pa.ChunkedArray]:
    """Return the values of SQL for each row of a table, in its order. `names` are all columns of the data, for messages."""
    if not expressions:
        return {}
    rows = _columns_read(expressions, table)
    types = _types_over(tuple(expressions), rows.schema, tuple(names))
    # DuckDB takes 14 ns per row to write Arrow's bits, and 4 ns to write bytes.
    casts = ["::TINYINT" if types[expression] == pa.bool_() else "" for expression in expressions]
    with database_of(os.getpid(), zone_of([rows.schema])).cursor() as cursor:
        register_rows(cursor, rows)
        selected = _select(cursor, expressions, casts)
    columns = zip(expressions, selected.columns, strict=True)
    return {expression: column.cast(types[expression]) for expression, column in columns}


def sql_types(expressions: Sequence[Expression], table: pa.Table, names: list[str]) -> dict[Expression, pa.DataType]:
    """Return the types of SQL over the columns of a table. Raise ValueError if it does not fit them."""
    if not expressions:
        return {}
    return _types_over(tuple(expressions), _columns_read(expressions, table).schema, tuple(names))


@lru_cache(maxsize=256)
def _types_over(
    expressions: tuple[Expression, ...], schema: pa.Schema, names: tuple[str, ...]
) -> dict[Expression, pa.DataType]:
    with database_of(os.getpid(), zone_of([schema])).cursor() as cursor:
        register_rows(cursor, schema.empty_table())
        for expression in expressions:
            _bind(cursor, expression, list(names))
        selected = _select(cursor, expressions, [""] * len(expressions))
    return dict(zip(expressions, selected.schema.types, strict=True))


def _columns_read(expressions: Sequence[Expression], table: pa.Table) -> pa.Table:
    """Return the columns that SQL names. Raise ValueError if a name stands for two."""
    by_lower_case: dict[str, list[str]] = {}
    for name in table.column_names:
        by_lower_case.setdefault(name.lower(), []).append(name)
    needed: dict[str, None] = {}
    for expression in expressions:
        for name in names_in(expression):
            alike = by_lower_case.get(name.lower(), [])
            if len(alike) > 1:
                raise ValueError(
                    f"{expression!r}: SQL ignores case, so {alike[0]!r} and {alike[1]!r} are the same name. Rename one."
                )
            needed |= dict.fromkeys(alike)
    # A table without columns has no rows in DuckDB.
    return table.select(list(needed)) if needed else pa.table({"": pa.nulls(len(table), pa.bool_())})


def register_rows(cursor: Any, rows: pa.Table, name: str = ROWS) -> None:
    """Let DuckDB read a table by a name. Raise TypeError if it does not know the type of a column.

    >>> with database_of(os.getpid()).cursor() as cursor:
    ...     register_rows(cursor, pa.table({"x": pa.array([1], pa.decimal256(9, 2))}))
    Traceback (most recent call last):
    TypeError: DuckDB evaluates SQL, but it cannot read column 'x' of type decimal256(9, 2). Cast the column.
    """
    error = duckdb_module().Error
    try:
        cursor.register(name, rows)
    except error as failed:
        for field in rows.schema:
            try:
                cursor.register("column", pa.schema([field]).empty_table())
            except error:
                raise TypeError(
                    f"DuckDB evaluates SQL, but it cannot read column {field.name!r} of type {field.type}. Cast the column."
                ) from failed
        raise


def _select(cursor: Any, expressions: Sequence[Expression], casts: list[str]) -> pa.Table:
    texts = [f"(\n{expression.text}\n){cast}" for expression, cast in zip(expressions, casts, strict=True)]
    shown = ", ".join(f'{text} AS "{number}"' for number, text in enumerate(texts))
    try:
        selected = cursor.sql(f"SELECT {shown} FROM {ROWS}").to_arrow_table()  # noqa: S608 — parsed and bound before
    except duckdb_module().Error as error:
        raise ValueError(f"{', '.join(map(repr, expressions))}: {first_line(error)}") from error
    try:
        return without_intervals(selected)
    except ValueError as error:
        raise ValueError(f"{', '.join(map(repr, expressions))}: {str(error).partition(' is ')[2]}") from error


def _bind(cursor: Any, expression: Expression, names: list[str]) -> None:
    """Raise ValueError if an expression does not fit the columns, or aggregates rows: a WHERE clause cannot do that."""
    try:
        cursor.execute(f"EXPLAIN SELECT 1 FROM {ROWS} WHERE (\n{expression.text}\n) IS NULL")  # noqa: S608 — parsed before
    except duckdb_module().Error as error:
        text = str(error)
        aggregates = "it aggregates rows, but an expression is evaluated for each row by itself."
        problem = first_line(error).replace("WHERE clause cannot contain aggregates!", aggregates)
        if "not found in FROM clause" in problem:
            problem = f"{problem.removesuffix(' in FROM clause!')}.{_quotes_hint(problem, expression)} The data has {list_names(names)}."
        marked = text[text.index("LINE ") :].split("\n") if "LINE " in text else []
        raise _wrong_text(expression, problem, marked) from error


def _quotes_hint(problem: str, expression: Expression) -> str:
    """Return a hint if a name that is no column is in double quotes: it may be meant as text."""
    name = problem.partition('"')[2].partition('"')[0]
    quoted = f'"{name}"'
    return f" If {quoted} is text, write '{name}': double quotes are for names." if quoted in expression.text else ""


def _wrong_text(expression: Expression, problem: str, marked: list[str]) -> ValueError:
    """Return the error for wrong text; `marked` is its line, and a line with carets below the wrong part."""
    if marked and ":" in marked[0]:
        indent = marked[0].index(": ") + 2
        marked = [line[indent:] for line in marked[:2]]
        if marked[0].startswith(")"):  # the end of the text
            last = expression.text.rstrip().split("\n")[-1]
            marked = [last, " " * len(last) + "^"]
    where = "".join(f"\n  {line}" for line in marked)
    shown = repr(expression.text) if '"' in expression.text else json.dumps(expression.text, ensure_ascii=False)
    return ValueError(f"SQL {shown}: {problem}{where}")


def first_line(error: Exception) -> str:
    """Return the problem that an error of DuckDB names."""
    lines = [line.strip() for line in str(error).split("\n") if line.strip()]
    problem = lines[0].partition("Error: ")[2] or lines[0]
    if problem.startswith("CSV Error on Line"):
        if "not utf-8" in str(error):
            return NOT_UTF_8
        details = [line for line in lines[1:3] if not line.startswith("Possible")]
        problem = ". ".join([problem, *details])
    return problem.split("\tCandidate")[0].strip()


@lru_cache(maxsize=256)
def names_in(expression: Expression) -> tuple[str, ...]:
    """Return the names in an expression that may be columns. Raise ValueError if it is not one expression over one row."""
    with database_of(os.getpid()).cursor() as cursor:
        query = "SELECT json_serialize_sql(?, skip_null := true, skip_empty := true)"
        (answer,) = cursor.execute(query, [f"SELECT (\n{expression.text}\n)"]).fetchone()
    parsed = json.loads(answer)
    if parsed["error"]:
        position = int(parsed.get("position", 0)) - len("SELECT (\n")
        if parsed.get("error_type") == "not implemented":  # statements that are no SELECT
            raise _wrong_text(expression, SEVERAL, [])
        at_end = position >= len(expression.text.rstrip())
        problem = parsed["error_message"].replace('at or near ")"', "at the end") if at_end else parsed["error_message"]
        raise _wrong_text(expression, problem, _mark(expression.text, position))
    nodes = [statement["node"] for statement in parsed["statements"]]
    plain = len(nodes) == 1 and len(nodes[0].get("select_list", ())) == 1 and nodes[0]["from_table"]["type"] == "EMPTY"
    if not plain or nodes[0].keys() & {"where_clause", "modifiers", "group_expressions", "having", "qualify", "sample"}:
        raise _wrong_text(expression, SEVERAL, [])
    names: list[str] = []
    for node in _nodes(nodes[0]["select_list"][0]):
        node_class = node.get("class")
        if node_class in NOT_ROW_WISE:
            position = node.get("query_location", 0) - len("SELECT (\n")
            problem = f"it {NOT_ROW_WISE[node_class]}, but an expression is evaluated for each row by itself."
            raise _wrong_text(expression, problem, _mark(expression.text, position))
        if node_class == "FUNCTION" and node["function_name"].lower() in OF_SETTINGS:
            position = node.get("query_location", 0) - len("SELECT (\n")
            problem = f"{node['function_name']} reads or writes settings, which are not part of the data."
            raise _wrong_text(expression, problem, _mark(expression.text, position))
        if node_class == "COLUMN_REF":
            names += node["column_names"]
    return tuple(names)


def _mark(text: str, position: int) -> list[str]:
    """Return the line of a position, after a prefix as DuckDB writes it, and a caret below the position."""
    position = min(max(position, 0), len(text.rstrip()))
    begin = text.rfind("\n", 0, position) + 1
    line = text[begin:].split("\n", maxsplit=1)[0]
    return [f"LINE 1: {line}", " " * (len("LINE 1: ") + position - begin) + "^"]


def _nodes(tree: Any) -> Iterator[dict[str, Any]]:
    if isinstance(tree, dict):
        yield tree
        tree = list(tree.values())
    if isinstance(tree, list):
        for branch in tree:
            yield from _nodes(branch)


def duckdb_module() -> Any:
    """Return DuckDB. Raise ImportError if it is missing."""
    try:
        import duckdb  # noqa: PLC0415 — optional
    except ImportError as error:
        raise ImportError(f"SQL over data in this process needs DuckDB. Install it: {INSTALL}.") from error
    return duckdb


def zone_of(schemas: Iterable[pa.Schema]) -> str:
    """Return the zone that functions such as date_trunc use: that of the columns if they have one, otherwise UTC.

    >>> zone_of([pa.schema({"t": pa.timestamp("us", "Europe/Berlin"), "x": pa.int64()})])
    'Europe/Berlin'
    """
    types = (dtype for schema in schemas for dtype in schema.types)
    zones = {dtype.tz for dtype in types if pa.types.is_timestamp(dtype) and dtype.tz is not None}
    return zones.pop() if len(zones) == 1 else UTC


def set_zone(database: Any, zone: str) -> None:
    """Let a database use a zone; UTC if it does not know the zone, such as +01:00."""
    quoted = zone.replace("'", "''")
    try:
        database.execute(f"SET GLOBAL TimeZone = '{quoted}'")
    except duckdb_module().Error:
        database.execute(f"SET GLOBAL TimeZone = '{UTC}'")


@cache
def database_of(process: int, zone: str = UTC) -> Any:  # noqa: ARG001 — a forked process needs its own
    """Return the database of a process and a zone: in memory, without access to files or the network."""
    settings = {
        "enable_external_access": False,
        "autoload_known_extensions": False,
        "autoinstall_known_extensions": False,
        "preserve_insertion_order": True,
        "threads": min(MOST_THREADS, os.cpu_count() or 1),
    }
    database = duckdb_module().connect(":memory:", config=settings)
    set_zone(database, zone)
    database.execute("SET GLOBAL lock_configuration = true")
    return database


READERS |= dict.fromkeys((".json", ".jsonl", ".ndjson"), "read_json")
"""DuckDB's functions that read files, by the ending of the name without that of its compression."""


def rows_where(table: pa.Table, condition: Expression) -> pa.ChunkedArray:
    """Return whether each row is kept. Raise ValueError if the condition is wrong.

    >>> rows_where(pa.table({"x": [1, 2, None]}), Expression("x > 1")).to_pylist()
    [False, True, False]
    """
    mask = _evaluate(table, [condition])[0]
    if mask.type == pa.null():
        mask = mask.cast(pa.bool_())
    if mask.type != pa.bool_():
        raise TypeError(f"The condition {condition.text} is of type {mask.type}, but a condition must be a boolean.")
    return pc.fill_null(mask, False)


def select_from(table: pa.Table, selection: Selection) -> pa.Table:
    """Return what a selection makes of a table. Raise ValueError if a text is wrong.

    >>> table = pa.table({"x": [1, 2, 3]})
    >>> select_from(table, Selection({"y": Expression("x + 1")}, having=Expression("x > 1"), order=(Order("x", True),)))["y"].to_pylist()
    [4, 3]
    """
    if selection.having is not None:
        table = table.filter(rows_where(table, selection.having))
    if selection.order:
        table = table.take(_sorted_rows(table, selection.order))
    if selection.limit is not None or selection.offset:
        table = table.slice(selection.offset, selection.limit)
    if selection.outputs is None:
        return table
    columns = selection.columns(table.column_names)
    arrays = _evaluate(table, [value for _, value in columns])
    return pa.table(arrays, names=[name for name, _ in columns])


def _evaluate(table: pa.Table, values: list[Any]) -> list[pa.ChunkedArray]:
    """Return columns, structs of columns, and the values of SQL."""
    texts = list(dict.fromkeys(value for value in values if isinstance(value, Expression)))
    computed = run_sql(texts, readable(table), table.column_names)
    return [computed[value] if isinstance(value, Expression) else _stored(table, value) for value in values]


def _stored(table: pa.Table, value: Any) -> pa.ChunkedArray:
    if isinstance(value, str):
        return table[in_case(value, table.column_names)]
    columns = [table[column].combine_chunks() for column in value.values()]
    return pa.chunked_array([pa.StructArray.from_arrays(columns, names=list(value))])


def _sorted_rows(table: pa.Table, order: tuple[Order, ...]) -> pa.ChunkedArray:
    """Return the rows in an order; rows that are equal in it stay as they are."""
    columns = _evaluate(table, [key.value for key in order])
    names = [str(number) for number in range(len(order))]
    keys = pa.table([*columns, pa.array(range(len(table)), pa.int64())], names=[*names, "row"])
    words = ", ".join(f'"{name}" {key.words()}' for name, key in zip(names, order, strict=True))
    with database_of(os.getpid()).cursor() as cursor:
        register_rows(cursor, readable(keys))
        return cursor.sql(f'SELECT "row" FROM {ROWS} ORDER BY {words}, "row"').to_arrow_table()["row"]  # noqa: S608 — numbers and fixed words


def ending_of(path: str | Path) -> str:
    """Return the ending of a file's name in lower case, without that of its compression.

    >>> ending_of("data/*.parquet"), ending_of("log.CSV.gz")
    ('.parquet', '.csv')
    """
    name = Path(path).name.lower()
    for packed in PACKED:
        name = name.removesuffix(packed)
    return Path(name).suffix


def format_of(path: str, formats: Mapping[str, str]) -> str:
    """Return the format of a file by the ending of its name. Raise ValueError for other files.

    >>> format_of("data/*.parquet", READERS), format_of("log.csv.gz", READERS)
    ('read_parquet', 'read_csv')
    """
    ending = ending_of(path)
    if ending not in formats:
        raise ValueError(f"{path!r} does not end in {', '.join(formats)}, so its format is not known.")
    return formats[ending]


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _zoned_parquet(files: list[str]) -> pa.Table | None:
    """Return the rows of Parquet files if their times have a zone, which DuckDB loses, with the nanoseconds; None for others."""
    if not files:
        return None
    from pyarrow import dataset, parquet  # noqa: PLC0415 — only for Parquet

    try:
        types = parquet.read_schema(files[0]).types
        if not any(pa.types.is_timestamp(dtype) and dtype.tz is not None for dtype in types):
            return None
        return dataset.dataset(files, format="parquet", partitioning="hive").to_table()
    except (OSError, pa.ArrowException):
        return None  # DuckDB says what is wrong


def read_files(path: str) -> pa.Table:
    """Return the rows of files; `*` in the path stands for any letters. Raise FileNotFoundError if there are none."""
    duckdb = duckdb_module()
    with duckdb.connect() as connection:
        try:
            if format_of(path, READERS) == "read_parquet":
                found = connection.execute("SELECT file FROM glob(?)", [path]).fetchall()
                zoned = _zoned_parquet([str(file) for (file,) in found])
                if zoned is not None:
                    return zoned
            reader = with_checked_types(connection, f"{format_of(path, READERS)}({_literal(path)})", [path])
            return connection.sql(f"SELECT * FROM {reader}").to_arrow_table()  # noqa: S608 — quoted names
        except duckdb.IOException as error:
            raise FileNotFoundError(f"Cannot read {path!r}: {first_line(error)}") from error
        except duckdb.Error as error:
            raise ValueError(f"Cannot read {path!r}: {first_line(error)}") from error
