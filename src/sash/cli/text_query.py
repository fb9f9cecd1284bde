"""The query of a command: its text, and the query over the rows that the command has read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from sash.backends.arrow import ArrowStream, ArrowTable
from sash.backends.sql_engines import DuckdbEngine, Engine
from sash.cli.inputs import ENDINGS, STDIN, Input, file_input_of, open_input
from sash.cli.text_times import with_query_times
from sash.durations import Duration, read_duration
from sash.engine.query_sql import FileInput
from sash.expressions import Selection
from sash.language import require_sqlglot
from sash.language.source_text import quoted
from sash.nested_query import NestedQuery
from sash.plan.explanation import Explanation
from sash.query import Query
from sash.sql_query import InnerQuery, SqlQuery, translate

if TYPE_CHECKING:
    from sash.language.translate import Statement


def read_text(argument: str) -> str:
    """Return the text of a query: the argument itself, or the content of the file that it names.

    Raise FileNotFoundError if it looks like the name of a file, but there is no such file.

    >>> read_text("SELECT max(x) FROM t [ROWS 10]")
    'SELECT max(x) FROM t [ROWS 10]'
    """
    is_file_name = len(argument.split()) == 1 or argument.lower().endswith((".sql", ".cql"))
    if not is_file_name:
        return argument
    if not Path(argument).is_file():
        advice = "Give the text of a query, or the name of a file that holds it."
        raise FileNotFoundError(f"There is no file {argument!r}. {advice}")
    return Path(argument).read_text(encoding="utf-8")


def read_lateness(text: str) -> Duration:
    """Return a lateness: a duration, or a number for times that are numbers. Raise ValueError for other texts.

    >>> str(read_lateness("5m")), read_lateness("10").amount
    ('5m', 10)
    """
    return read_duration(int(text) if text.isdigit() else text, "lateness", at_least=0)


def query_of_argument(
    argument: str,
    time: str | None = None,
    lateness: str | None = None,
    time_format: str | None = None,
    *,
    drop_bad_times: bool = False,
) -> TextQuery | LastSelect:
    """Return the query of an argument, which is a text or names a file that holds it."""
    require_sqlglot()
    from sash.language.around import is_one_select  # noqa: PLC0415 — sqlglot is optional

    text = read_text(argument)
    query = (TextQuery if is_one_select(text, time) else LastSelect)(text, time, lateness)
    query.time_format = time_format
    query.drop_bad_times = drop_bad_times
    return query


class OverRows(SqlQuery):
    """A SELECT with windows over the rows that a command has read, even if FROM names files."""

    path: str | None = None
    """The files that FROM names; None if it names a table."""
    lateness: Duration | None = None
    time_format: str | None = None
    """The format of times that are text; None to find it."""
    drop_bad_times: bool = False
    """Whether times that do not fit the format are null, rather than an error."""

    def over_windows(self, data: Any) -> Query:
        """Return the query over the windows alone, for data of any kind."""
        return self._resolve(data)[3][0]

    @property
    def is_one_query(self) -> bool:
        """Whether one query can answer the text, batch by batch; several ones read the results of each other."""
        return len(self._statement('"').joined) == 1

    def checked(self, schema: pa.Schema) -> Query:
        """Return the query over the windows alone. Raise TypeError or ValueError if the text cannot run on rows of a schema."""
        empty = schema.empty_table()
        self.run(empty)  # wrong columns, types and expressions show now, not after a long read
        return self.over_windows(empty)

    def columns(self, schema: pa.Schema) -> list[str]:
        """Return the columns that the query may read: all if its results have all, otherwise those that the text names."""
        statement = self._statement('"')
        if statement.columns is None and statement.per_row:
            return list(schema.names)
        times = [] if statement.time is not None else ArrowTable().time_columns(schema.empty_table())
        text = f"{self._text} {statement.time or ''}".lower()
        return [
            name for name in schema.names if name.lower().replace('"', '""') in text or name in times or "`" in name
        ]

    def _queries_of(self, statement: Statement, quote: str, zone: str | None = None) -> list[Query]:
        queries = super()._queries_of(statement, quote, zone)
        if self.lateness is not None:
            for query in queries:
                query._declared = replace(query._declared, lateness=self.lateness)  # noqa: SLF001 — a part of Query
        return queries

    def _resolve(self, data: Any) -> tuple[Any, Any, Any, list[Query]]:
        backend, rows, statement, queries = super()._resolve(data)
        return FiniteStream() if isinstance(rows, pa.RecordBatchReader) else backend, rows, statement, queries


class TextQuery(OverRows):
    """A text of one SELECT over one table.

    >>> TextQuery("SELECT max(x) AS high FROM 'data/*.parquet' [ROWS 10]").path
    'data/*.parquet'
    """

    def __init__(self, text: str, time: str | None = None, lateness: str | None = None) -> None:
        statement = translate(text, time)
        self.path = statement.table if statement.is_path else None
        self.paths = [] if self.path is None else [self.path]
        self.lateness = None if lateness is None else read_lateness(lateness)
        super().__init__(text, replace(statement, is_path=False), time)

    def open_rows(
        self, source: str | None, input_format: str | None, temporary: Path, *, at_once: bool = False
    ) -> Input:
        """Return the rows that the query reads: those of its input."""
        return self.with_times(open_input(input_of(self, source), input_format, temporary, at_once=at_once))

    def with_times(self, opened: Input) -> Input:
        """Return rows whose times that are text are read as times."""
        return with_query_times(opened, self._statement('"'), self.time_format, drop=self.drop_bad_times)

    def finish(self, results: Any) -> Any:
        """Return the results of the text, of those of its windows: the same."""
        return results

    def plans(self, source: str | None, input_format: str | None, temporary: Path) -> list[Explanation]:
        """Return the plan of each SELECT with windows, for the types of an input if there is one."""
        if source is None and self.path is None:
            return [self.explain()]
        schema = self.open_rows(source, input_format, temporary).schema
        return [self.checked(schema).explain(schema)]


class LastSelect(OverRows, InnerQuery):
    """The last SELECT with windows of a text that has several SELECTs; those in it run when its rows are opened."""

    def __init__(self, text: str, time: str | None = None, lateness: str | None = None) -> None:
        self.nested = NestedQuery(text, time, lambda number: InnerQuery(text, number, time))
        self.lateness = None if lateness is None else read_lateness(lateness)
        self.paths = [each.name for each in self.nested.inputs if each.is_path]
        super().__init__(text, len(self.nested.selects) - 1, time)
        self.path = self.paths[0] if self.paths else None

    def open_rows(
        self, source: str | None, input_format: str | None, temporary: Path, *, at_once: bool = False
    ) -> Input:
        """Return the rows of FROM and WHERE, which DuckDB computes."""
        if at_once and source == STDIN:
            raise ValueError("Rows of a pipe cannot be processed while they arrive if SQL is around the windows.")
        self.engine = self._engine(source, input_format, temporary)
        text = self.nested.rows_of_last(self.engine)

        def read(columns: Any) -> pa.RecordBatchReader:
            listed = ", ".join(map(quoted, columns)) or "NULL AS sash_nothing"
            return self.nested.by_engine(
                lambda rows: self.engine.reader(f"SELECT {listed} FROM (\n{rows}\n)"),  # noqa: S608 — quoted names
                text,
                lines_before=1,
            )

        size = self.engine.bytes
        schema = self.nested.by_engine(self.engine.database.schema, text)
        opened = Input("the query", schema, read, None, lambda _: float(size))
        return with_query_times(opened, self._statement('"'), self.time_format, drop=self.drop_bad_times)

    def plans(self, source: str | None, input_format: str | None, temporary: Path) -> list[Explanation]:
        """Return the plan of each SELECT with windows, for the types of the inputs if there are any."""
        if source is None and self.path is None:
            return [query.explain() for query in self.nested.selects]
        plans: list[Explanation] = []
        self.nested.results(self._engine(source, input_format, temporary, empty=True), {}, plans)
        return plans

    def _engine(
        self, source: str | None, input_format: str | None, temporary: Path, *, empty: bool = False
    ) -> DuckdbEngine:
        tables: dict[str, pa.Table] = {}
        files: dict[str, FileInput] = {}
        for name, path in paths_of(self.nested, source).items():
            data = file_input_of(path, input_format if path == source else None, temporary)
            if isinstance(data, FileInput):
                files[name] = data
            else:
                tables[name] = data
        return DuckdbEngine(tables, files, empty=empty, temporary=str(temporary))

    def finish(self, results: Any) -> Any:
        """Return what the SQL around the windows makes of their results."""
        return self.finish_on(self.engine, results)

    def finish_on(self, engine: Engine, results: Any) -> Any:
        """Return what an engine makes of the results of the windows."""
        around = self.nested.around(engine.quote)
        if around.is_root:
            return results
        engine.keep(f"sash_result_{self._number}", results)
        return self.nested.by_engine(engine.rows, around.around())


def input_of(query: OverRows, source: str | None) -> str:
    """Return the input of a query: that of -i, or the files that FROM names. Raise ValueError if there is none, or both."""
    if source is not None and query.path is not None:
        problem = f"FROM names the file {query.path!r}, and -i names {source!r}."
        raise ValueError(f"{problem} Leave -i out, or name a table in FROM.")
    path = source if source is not None else query.path
    if path is None:
        advice = "Name it with -i data.parquet, or in the text: FROM 'data.parquet'. For a pipe, use -i -."
        table = query._statement('"').table  # noqa: SLF001 — a part of the query
        if ENDINGS.keys() & {Path(table).suffix.lower()}:
            advice = f"A file is in single quotes: FROM '{table}'."
        raise ValueError(f"There is no input. {advice}")
    return path


def paths_of(nested: NestedQuery, source: str | None) -> Mapping[str, str]:
    """Return the path of each input of a text: those that FROM names, and that of -i for its only table."""
    paths, tables = {}, [each.name for each in nested.inputs if not each.is_path]
    if len(tables) > 1:
        named = " and ".join(tables)
        raise ValueError(
            f"FROM names the tables {named}, but -i is one input. Name files in the text, as in FROM 'data.csv'."
        )
    if tables and source is None:
        advice = f"Name its file with -i data.parquet, or in the text: FROM 'data.parquet' AS {tables[0]}."
        raise ValueError(f"There is no input for the table {tables[0]}. {advice}")
    if source is not None and not tables:
        raise ValueError(f"FROM names files alone, and -i names {source!r}. Leave -i out, or name a table in FROM.")
    for number, each in enumerate(nested.inputs):
        paths[f"sash_input_{number}"] = each.name if each.is_path else str(source)
    return paths


class FiniteStream(ArrowStream):
    """A RecordBatchReader that ends, so that results can be sorted and counted."""

    def select(self, data: pa.RecordBatchReader, selection: Selection) -> pa.RecordBatchReader:
        """Return what SQL makes of results: batch by batch, or of all together for ORDER BY, LIMIT and OFFSET."""
        if selection.by_rows:
            return super().select(data, selection)
        selected: pa.Table = ArrowTable().select(data.read_all(), selection)
        return selected.to_reader()
