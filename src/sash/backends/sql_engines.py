"""The engines that run the SQL around windows: DuckDB for data in this process, a session of Spark for its DataFrames.

Both know the data that FROM names, and the results of SELECTs with windows, by the names that a text for the engine has for them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar

import pyarrow as pa

from sash.backends.arrow import ArrowTable
from sash.backends.base import Backend, FrameBackend
from sash.backends.registry import backend_of
from sash.engine.query_sql import Database, FileInput, file_input


class Engine(ABC):
    """What runs the SQL around windows."""

    quote: ClassVar[str]

    @abstractmethod
    def names(self, text: str) -> list[str]:
        """Return the names of the columns of a query. Those of joins may have two of one name."""

    @abstractmethod
    def time_columns(self, text: str) -> list[str]:
        """Return the names of the columns that hold times."""

    @abstractmethod
    def rows(self, text: str) -> Any:
        """Return the rows of a query, for windows."""

    @abstractmethod
    def keep(self, name: str, results: Any) -> None:
        """Let later texts read the results of windows by a name."""

    @abstractmethod
    def labels(self, labels: Any) -> Any:
        """Return labels as data of the same kind as rows."""

    @abstractmethod
    def given(self, results: Any) -> Any:
        """Return results as data of the kind that was given."""

    @abstractmethod
    def schema(self, results: Any) -> Any:
        """Return the schema of results."""


class DuckdbEngine(Engine):
    """DuckDB, for tables in this process and for files."""

    quote = '"'

    def __init__(
        self, tables: Mapping[str, Any], files: Mapping[str, str | FileInput], *, empty: bool = False, **memory: str
    ) -> None:
        """Read tables and files by name. If `empty`, there are their columns only, and no rows."""
        self.empty = empty
        backends = {name: frame_backend(data) for name, data in tables.items()}
        self.backend = next(iter(backends.values()), ArrowTable())
        self.sources = [data for data in tables.values() if self.backend.accepts(data)]
        """The tables that are of the same kind as results."""
        arrow = {name: backend.to_table(tables[name]) for name, backend in backends.items()}
        if empty:
            arrow = {name: table.slice(0, 0) for name, table in arrow.items()}
        inputs = {name: file_input(path) if isinstance(path, str) else path for name, path in files.items()}
        self.bytes = sum(table.nbytes for table in arrow.values()) + sum(each.bytes for each in inputs.values())
        """The estimated memory of the input."""
        self.database = Database.of(inputs, arrow, **memory)

    def names(self, text: str) -> list[str]:
        """Return the names of the columns of a query."""
        return self.database.names(text)

    def time_columns(self, text: str) -> list[str]:
        """Return the names of the columns that hold times."""
        return ArrowTable().time_columns(self.database.schema(text).empty_table())

    def reader(self, text: str) -> pa.RecordBatchReader:
        """Return the rows of a query, batch by batch."""
        return self.database.reader(text)

    def rows(self, text: str) -> pa.Table:
        """Return the rows of a query as a table."""
        return self.database.schema(text).empty_table() if self.empty else self.database.reader(text).read_all()

    def keep(self, name: str, results: pa.Table | pa.RecordBatchReader) -> None:
        """Let later texts read the results of windows by a name."""
        self.database.add(name, results if isinstance(results, pa.Table) else results.read_all())

    def labels(self, labels: Any) -> pa.Table:
        """Return labels as an Arrow table."""
        return frame_backend(labels).to_table(labels)

    def given(self, results: pa.Table) -> Any:
        """Return results as data of the kind of the first table, or as an Arrow table."""
        return self.backend.from_table(results, *self.sources)

    def schema(self, results: pa.Table) -> pa.Schema:
        """Return the schema of results."""
        return results.schema


class SparkEngine(Engine):
    """A session of Spark, for its tables, DataFrames and files."""

    quote = "`"

    def __init__(self, session: Any, tables: Mapping[str, Any], files: Mapping[str, str]) -> None:
        from sash.spark import session_sql  # noqa: PLC0415 — it imports PySpark

        self._sql = session_sql
        self.session = session
        self.views = {name: self._sql.table_of(session, data) for name, data in tables.items()}
        self.views |= {name: self._sql.read_files(session, path) for name, path in files.items()}

    def names(self, text: str) -> list[str]:
        """Return the names of the columns of a query."""
        return list(self.rows(text).columns)

    def time_columns(self, text: str) -> list[str]:
        """Return the names of the columns that hold times."""
        rows = self.rows(text)
        return list(backend_of(rows).time_columns(rows))

    def rows(self, text: str) -> Any:
        """Return the rows of a query as a DataFrame."""
        return self._sql.run_text(self.session, text, self.views)

    def keep(self, name: str, results: Any) -> None:
        """Let later texts read the results of windows by a name."""
        self.views[name] = results

    def labels(self, labels: Any) -> Any:
        """Return the labels."""
        return labels

    def given(self, results: Any) -> Any:
        """Return the results."""
        return results

    def schema(self, results: Any) -> Any:
        """Return the schema of results."""
        return results.schema


def frame_backend(data: Any) -> FrameBackend:
    """Return the backend of a table in this process. Raise TypeError for streams, which have no end."""
    backend: Backend[Any] = backend_of(data)
    if not isinstance(backend, FrameBackend):
        problem = f"SQL around windows reads tables, but a {type(data).__name__} is a stream"
        raise TypeError(f"{problem}. Read it first, as in reader.read_all(), or run one SELECT over one table.")
    return backend
