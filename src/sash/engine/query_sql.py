"""How DuckDB runs whole queries for data in this process: SELECTs around windows, over named tables and files.

Only the data that a query names can be read: DuckDB's access to files is limited to its files, its configuration is locked, and its parse
tree may name no other table, and no function that reads files or settings. DuckDB reads the columns and rows of files that it needs.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from sash.columns.intervals import DURATION, INTERVAL, without_intervals
from sash.columns.read_column import readable
from sash.engine.select_sql import (
    READERS,
    UTC,
    duckdb_module,
    first_line,
    format_of,
    register_rows,
    set_zone,
    zone_of,
)
from sash.engine.text_types import with_checked_types

READ_BATCH = 1 << 17
TABLE_FUNCTIONS = ("unnest", "range", "generate_series", "repeat", "json_each", "json_tree")
"""Functions in FROM that make rows of their arguments. All others are refused: many read files or settings."""
QUERIES = ("SELECT_NODE", "SET_OPERATION_NODE", "RECURSIVE_CTE_NODE", "CTE_NODE")
TABLES = ("BASE_TABLE", "SUBQUERY", "JOIN", "TABLE_FUNCTION", "EMPTY", "EXPRESSION_LIST", "COLUMN_DATA", "PIVOT")
REFUSED = re.compile(
    r"^(current_setting|current_database|current_catalog|current_schemas?|current_query|getenv|getvariable|query|query_table|write_log"
    r"|nextval|currval|which_secret|parse_duckdb_log_message|read_\w+|glob|sniff_csv|parquet_\w+|duckdb_\w+|pragma_\w+|pg_\w+|sql_auto_complete"
    r"|json_execute_serialized_sql|in_search_path|enable_\w+|disable_\w+|checkpoint|force_checkpoint|has_\w+_privilege)$",
    re.IGNORECASE,
)
"""Functions that read files, settings or the catalogue of the database, or that change something."""
WIDE = ("HUGEINT", "UHUGEINT")
"""DuckDB's types of sums of integers."""
NANOSECONDS_IN_MICROSECOND = 1000
ADVICE = "FROM reads tables and files by name, as in FROM 'data.csv'."
LINE = re.compile(r"^LINE (\d+): ", re.MULTILINE)


class EngineError(ValueError):
    """DuckDB cannot run a text. `line` counts from 1 and `column` from 0; they are None if DuckDB does not tell the place."""

    def __init__(self, problem: str, line: int | None = None, column: int | None = None) -> None:
        super().__init__(problem)
        self.problem, self.line, self.column = problem, line, column


@dataclass(frozen=True)
class FileInput:
    """Files of one format."""

    path: str
    """As the query names them, for messages."""
    files: Sequence[str]
    reader: str
    """DuckDB's function that reads them, with `{files}` for their names."""

    @property
    def bytes(self) -> int:
        """The size of the files, as an estimate of the memory of their rows."""
        growth = 1 if self.reader.startswith("read_parquet") else 2
        return growth * sum(Path(file).stat().st_size for file in self.files if Path(file).is_file())


@dataclass
class Database:
    """The data of one query."""

    connection: Any
    zones: dict[str, set[str]] = field(default_factory=dict)
    """The zones of the columns of a name."""
    fine: list[str] = field(default_factory=list)
    """Columns of times with digits below a microsecond."""
    micro: set[str] = field(default_factory=set)
    """Columns of times in microseconds."""
    tables: set[str] = field(default_factory=set)

    @classmethod
    def of(
        cls, files: Mapping[str, FileInput], tables: Mapping[str, pa.Table], temporary: str = "", memory: str = ""
    ) -> Database:
        """Return a database of files and tables by name, that can read nothing else."""
        settings: dict[str, Any] = {"autoload_known_extensions": False, "autoinstall_known_extensions": False}
        settings |= {"preserve_insertion_order": True, "python_enable_replacements": False}
        settings |= {"temp_directory": temporary} if temporary else {}
        settings |= {"memory_limit": memory} if memory else {}
        connection = duckdb_module().connect(":memory:", config=settings)
        database = cls(connection)
        connection.execute("SET enable_progress_bar = false")
        allowed = ", ".join(_listed(file_input) for file_input in files.values())
        connection.execute(f"SET GLOBAL allowed_paths = [{allowed}]")
        connection.execute("SET GLOBAL enable_external_access = false")
        for name, table in tables.items():
            database.add(name, table)
        stored = [_stored_schema(file_input) for file_input in files.values()]
        for schema in stored:
            database.note_times(schema)
        set_zone(connection, zone_of([*(table.schema for table in tables.values()), *stored]))
        database.tables.update(files)
        for name, file_input in files.items():
            try:
                reading = with_checked_types(
                    connection, file_input.reader.format(files=f"[{_listed(file_input)}]"), file_input.files
                )
                connection.execute(f"CREATE VIEW {name} AS SELECT * FROM {reading}")  # noqa: S608 — quoted names
            except duckdb_module().Error as error:
                raise ValueError(f"Cannot read {file_input.path!r}: {first_line(error)}") from error
        connection.execute("SET GLOBAL lock_configuration = true")
        return database

    def add(self, name: str, table: pa.Table) -> None:
        """Add a table. Raise ValueError if DuckDB would lose digits of its times, TypeError if it cannot read a column."""
        table = readable(table)
        for place, column in enumerate(table.schema):
            if not pa.types.is_timestamp(column.type) or column.type.unit != "ns":
                continue
            if _has_nanoseconds(table[column.name]):
                if column.type.tz is not None:
                    raise _lost_digits(column.name)
                self.fine.append(column.name)
            if column.type.tz is not None:
                micro = pa.timestamp("us", column.type.tz)
                table = table.set_column(place, column.name, table[column.name].cast(micro))
        self.note_times(table.schema)
        register_rows(self.connection, table, name)
        self.tables.add(name)

    def names(self, text: str) -> list[str]:
        """Return the names of the columns of a query; those of joins may have two of one name."""
        return list(self._query(text).columns)

    def schema(self, text: str) -> pa.Schema:
        """Return the columns of a query."""
        return self._reader(self._query(text).limit(0)).schema

    def reader(self, text: str) -> pa.RecordBatchReader:
        """Return the rows of a query. Raise EngineError if it cannot run, or reads what it does not name."""
        return self._reader(self._query(text))

    def _reader(self, relation: Any) -> pa.RecordBatchReader:
        wide = [str(dtype) in WIDE for dtype in relation.types]
        try:
            batches = relation.to_arrow_reader(READ_BATCH)
        except duckdb_module().Error as error:
            raise engine_error(error) from error
        schema = pa.schema(
            [self._own_field(column, is_wide) for column, is_wide in zip(batches.schema, wide, strict=True)]
        )

        def converted() -> Iterator[pa.RecordBatch]:
            try:
                for batch in batches:
                    yield from _cast(pa.Table.from_batches([batch]), schema).to_batches()
            except (duckdb_module().Error, OSError) as error:
                raise engine_error(error) from error

        return pa.RecordBatchReader.from_batches(schema, converted())

    def check(self, text: str) -> None:
        """Raise EngineError if a text is not one SELECT over the data of this database."""
        query = "SELECT json_serialize_sql(?, skip_null := true, skip_empty := true)"
        parsed = json.loads(self.connection.execute(query, [text]).fetchall()[0][0])
        if parsed["error"]:
            problem = parsed["error_message"]
            if parsed.get("error_type") == "not implemented":
                raise EngineError("The text must be one SELECT: other statements, and PIVOT, are not supported.")
            raise _at(text, problem, int(parsed.get("position", -1)))
        if len(parsed["statements"]) != 1:
            raise EngineError("The text must be one SELECT statement.")
        known = {name.lower() for name in self.tables}
        for node, ctes in _nodes(parsed["statements"][0]["node"], frozenset()):
            problem = _refusal(node, known | ctes)
            if problem is not None:
                raise _at(text, problem, int(node.get("query_location", -1)))

    def _query(self, text: str) -> Any:
        """Return a query that has been checked. It does not run yet."""
        self.check(text)
        try:
            self.connection.execute(
                f"EXPLAIN\n{text}"
            ).fetchall()  # its errors have places, those of the next line have none
            return self.connection.sql(text)
        except duckdb_module().Error as error:
            raise engine_error(error, lines_before=1) from error

    def note_times(self, schema: pa.Schema) -> None:
        """Note the zones and units of columns."""
        for column in schema:
            if pa.types.is_timestamp(column.type) and column.type.tz is not None:
                self.zones.setdefault(column.name, set()).add(column.type.tz)
            if pa.types.is_timestamp(column.type) and column.type.unit != "ns":
                self.micro.add(column.name)

    def _own_field(self, column: pa.Field, is_wide: bool) -> pa.Field:
        """Return a column of a result in its own type. Raise ValueError if it has lost digits.

        The type has the zone of the input column of its name, or the only zone of all. Sums of integers have 64 bits, as in Sash.
        """
        if is_wide:
            return column.with_type(pa.int64())
        if column.type == INTERVAL:
            return column.with_type(DURATION)
        if not pa.types.is_timestamp(column.type):
            return column
        if column.type.unit == "us" and self.fine and column.name not in self.micro:
            raise _lost_digits(self.fine[0])
        if column.type.tz is None:
            return column
        every = set().union(*self.zones.values())
        zones = self.zones.get(column.name, every)
        return column.with_type(pa.timestamp(column.type.unit, next(iter(zones)) if len(zones) == 1 else UTC))


def file_input(path: str) -> FileInput:
    """Return the files of a path; `*` stands for any letters. Raise FileNotFoundError if there are none."""
    reader = format_of(path, READERS)
    with duckdb_module().connect() as connection:
        found = connection.execute("SELECT file FROM glob(?)", [path]).fetchall()
    if not found:
        raise FileNotFoundError(f"Cannot read {path!r}: no file has this name.")
    return FileInput(path, [str(file) for (file,) in found], f"{reader}({{files}})")


def engine_error(error: Exception, lines_before: int = 0) -> EngineError:
    """Return an error of DuckDB with the place that its message marks. `lines_before` lines come before the text."""
    message = str(error)
    problem = first_line(error)
    match = LINE.search(message)
    if "bad allocation" in problem:
        return EngineError("The query needs more memory than its limit. Read fewer rows or columns.")
    if match is None:
        return EngineError(problem)
    shown, _, marked = message[match.start() :].partition("\n")
    column = 0 if "..." in shown else max(marked.split("\n")[0].find("^") - len(match[0]), 0)
    return EngineError(problem, int(match[1]) - lines_before, column)


def _cast(table: pa.Table, schema: pa.Schema) -> pa.Table:
    try:
        return without_intervals(table).cast(schema)
    except pa.ArrowInvalid as error:
        problem = "A sum of integers does not fit into 64 bits."
        raise OverflowError(f"{problem} Cast to a float: sum(x::DOUBLE).") from error


def _at(text: str, problem: str, position: int) -> EngineError:
    if not 0 <= position < 1 << 60:
        return EngineError(problem)
    position = min(position, len(text))
    return EngineError(problem, text.count("\n", 0, position) + 1, position - text.rfind("\n", 0, position) - 1)


def _nodes(tree: Any, ctes: frozenset[str]) -> Iterator[tuple[dict[str, Any], frozenset[str]]]:
    """Yield the nodes of a parse tree, with the CTEs that each may name."""
    if isinstance(tree, list):
        for branch in tree:
            yield from _nodes(branch, ctes)
    if not isinstance(tree, dict):
        return
    cte_map = tree.get("cte_map")
    if isinstance(cte_map, dict):
        ctes |= {str(member["key"]).lower() for member in cte_map.get("map", ())}
    if "cte_name" in tree:
        ctes |= {str(tree["cte_name"]).lower()}
    if "ctename" in tree:
        ctes |= {str(tree["ctename"]).lower()}
    yield tree, ctes
    for branch in tree.values():
        yield from _nodes(branch, ctes)


def _refusal(node: Mapping[str, Any], known: set[str] | frozenset[str]) -> str | None:
    """Return why a query must not have a node; None if it may."""
    node_type = node.get("type")
    if isinstance(node_type, str) and "class" not in node:
        if node_type.endswith("_NODE") and node_type not in QUERIES:
            return "The text must be one SELECT: it cannot change data."
        if node_type.endswith("_REF") and node_type not in TABLES:
            return f"DESCRIBE, SHOW and SUMMARIZE are not supported. {ADVICE}"
    if node_type == "BASE_TABLE":
        path = [str(part) for part in node.get("qualified_name", {}).get("path", [node.get("table_name", "")])]
        if len(path) != 1 or path[0].lower() not in known:
            return f"There is no table {'.'.join(path)}. {ADVICE}"
    if node.get("class") == "FUNCTION":
        name = str(node.get("function_name", ""))
        if len(node.get("qualified_name", {}).get("path", [])) > 1 or REFUSED.match(name):
            return f"The function {name} is not available: a query reads only the data that FROM names. {ADVICE}"
    if node_type == "TABLE_FUNCTION":
        name = str(node.get("function", {}).get("function_name", ""))
        if name.lower() not in TABLE_FUNCTIONS:
            return f"The function {name} is not available in FROM, which has {', '.join(TABLE_FUNCTIONS)}. {ADVICE}"
    return None


def _has_nanoseconds(column: pa.ChunkedArray) -> bool:
    ticks = column.cast(pa.int64())
    micro = pc.multiply(pc.divide(ticks, NANOSECONDS_IN_MICROSECOND), NANOSECONDS_IN_MICROSECOND)
    return bool(pc.any(pc.not_equal(ticks, micro)).as_py())


def _lost_digits(column: str) -> ValueError:
    problem = f"Column {column!r} has times with digits below a microsecond, which DuckDB would lose in the SQL around the windows."
    return ValueError(
        f'{problem} Round it before: df["{column}"].dt.floor("us") in pandas, dt.truncate("1us") in Polars.'
    )


def _stored_schema(files: FileInput) -> pa.Schema:
    """Return the columns as Parquet stores them: DuckDB does not read the zones of times."""
    if not files.reader.startswith("read_parquet") or not files.files:
        return pa.schema([])
    from pyarrow import parquet  # noqa: PLC0415 — only for Parquet

    try:
        return parquet.read_schema(files.files[0])
    except (OSError, pa.ArrowException):
        return pa.schema([])


def _listed(files: FileInput) -> str:
    return ", ".join(map(_text, files.files))


def _text(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
