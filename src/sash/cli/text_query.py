"""The query of a command: its text, and the query over the rows that the command has read."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from sash.backends.arrow import ArrowStream, ArrowTable
from sash.durations import Duration, read_duration
from sash.expressions import Selection
from sash.query import Query
from sash.sql_query import SqlQuery, translate

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


class TextQuery(SqlQuery):
    """The query of an argument: its text or its file. It runs over the rows that a command has read, even if FROM names files.

    >>> TextQuery("SELECT max(x) AS high FROM 'data/*.parquet' [ROWS 10]").path
    'data/*.parquet'
    """

    def __init__(self, argument: str, time: str | None = None, lateness: str | None = None) -> None:
        text = read_text(argument)
        statement = translate(text, time)
        self.path = statement.table if statement.is_path else None
        """The files that FROM names; None if it names a table."""
        self._lateness = None if lateness is None else read_lateness(lateness)
        super().__init__(text, replace(statement, is_path=False), time)

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
        return [name for name in schema.names if name.lower() in text or name in times]

    def _queries_of(self, statement: Statement, quote: str, zone: str | None = None) -> list[Query]:
        queries = super()._queries_of(statement, quote, zone)
        if self._lateness is not None:
            for query in queries:
                query._declared = replace(query._declared, lateness=self._lateness)  # noqa: SLF001 — a part of Query
        return queries

    def _resolve(self, data: Any) -> tuple[Any, Any, Any, list[Query]]:
        backend, rows, statement, queries = super()._resolve(data)
        return FiniteStream() if isinstance(rows, pa.RecordBatchReader) else backend, rows, statement, queries


class FiniteStream(ArrowStream):
    """A RecordBatchReader that ends, so that results can be sorted and counted."""

    def select(self, data: pa.RecordBatchReader, selection: Selection) -> pa.RecordBatchReader:
        """Return what SQL makes of results: batch by batch, or of all together for ORDER BY, LIMIT and OFFSET."""
        if selection.by_rows:
            return super().select(data, selection)
        selected: pa.Table = ArrowTable().select(data.read_all(), selection)
        return selected.to_reader()
