"""FrameBackend: a table in this process, of Arrow, pandas or Polars. Results are of the same kind.

Each kind is read as an Arrow table of the columns that the query needs. Results per row go back beside the input rows, which
keep their types, their order and, in pandas, their index. Results per window are data of their own.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import pyarrow as pa

from sash.backends.base import InProcess, RunPlan, named_alike
from sash.engine.labels import check_labels, check_names, describe_labels, label_query, run_labels
from sash.engine.prepare import PreparedCache
from sash.engine.run_table import run_table
from sash.engine.select_sql import rows_where, select_from
from sash.expressions import Expression, Selection
from sash.options import TableOptions
from sash.plan.declared import Declared


class FrameBackend(InProcess[TableOptions]):
    """A table in this process."""

    options = TableOptions

    def run(self, cache: PreparedCache, data: Any, options: TableOptions) -> Any:
        """Return the results of a query, as data of the same kind: for each label, if there are labels."""
        at, at_time, threads = options["at"], options["at_time"], options["threads"]
        labels = None if at is None else self.read_labels(cache.query, at, at_time)
        table = self.read(cache.query, data)
        prepared = cache.get(table.schema, compiled=options["compiled"])
        if labels is None:
            results = run_table(prepared, table, threads)
        else:
            results = run_labels(prepared, table, labels, at_time, threads)
        return self.write(cache.query, data if at is None else at, results, data)

    def read_labels(self, query: Declared, labels: Any, at_time: str | None) -> pa.Table:
        """Return the keys and times of labels. Raise TypeError or ValueError if they do not fit the query."""
        self.check_labels(query, labels, at_time)
        check_names(query, self.input_schema(labels).names)
        return self.read(label_query(query, at_time), labels)

    def check_labels(self, query: Declared, labels: Any, at_time: str | None) -> None:
        """Raise TypeError or ValueError if a query takes no labels, or if these are of another kind."""
        check_labels(query, at_time)
        if not self.accepts(labels):
            given = f"{type(labels).__module__.partition('.')[0]}.{type(labels).__name__}"
            message = f"at= must be of the same kind as the events, a {'.'.join(self.names)}, but it is a {given}."
            raise TypeError(message)

    @abstractmethod
    def read(self, query: Declared, data: Any) -> pa.Table:
        """Return the columns that a query reads."""

    @abstractmethod
    def write(self, query: Declared, data: Any, results: pa.Table, events: Any) -> Any:
        """Return the results: per row, beside the input rows; per window, as data of their own.

        `data` are the input rows, or labels; the results were computed from `events`.
        """

    # -- SQL around a query --------------------------------------------------------------------------------------------

    def rows_where(self, data: Any, condition: Expression) -> Any:
        """Return the rows for which a condition in SQL is true."""
        return self.keep(data, rows_where(self.to_table(data), condition))

    def select(self, data: Any, selection: Selection) -> Any:
        """Return what SQL makes of results."""
        return self.from_table(select_from(self.to_table(data), selection))

    def only_columns(self, data: Any, names: list[str]) -> Any:
        """Return some columns, if the data has them, whatever their case."""
        return data.select(named_alike(names, self.input_schema(data).names))

    @abstractmethod
    def to_table(self, data: Any) -> pa.Table:
        """Return all columns as an Arrow table."""

    @abstractmethod
    def from_table(self, table: pa.Table) -> Any:
        """Return an Arrow table as data of this kind."""

    def keep(self, data: Any, mask: pa.ChunkedArray) -> Any:
        """Return the rows for which a mask is true."""
        return data.filter(mask)

    def schema(self, query: Declared, data: Any) -> pa.Schema:
        """Return the types of the columns that a query reads."""
        return self.read(query, data).schema

    def plan(self, query: Declared, data: Any, options: TableOptions) -> RunPlan:
        """Return how a query runs on data."""
        if options["at"] is None:
            return RunPlan(query, self.schema(query, data))
        self.result_schema(PreparedCache(query), data, options)  # checks the labels
        return RunPlan(query, self.schema(query, data), (describe_labels(query, options["at_time"]),))

    def result_schema(self, cache: PreparedCache, data: Any, options: TableOptions) -> pa.Schema:
        """Return the Arrow schema of the results: that of a run over no rows."""
        needed = self.schema(cache.query, data)
        prepared = cache.get(needed, compiled=options["compiled"])
        at, at_time = options["at"], options["at_time"]
        if at is None:
            results = run_table(prepared, needed.empty_table(), threads=1).schema
            return pa.schema([*(self.input_schema(data) if cache.query.per_row else ()), *results])
        labels = self.read_labels(cache.query, at, at_time).slice(0, 0)
        results = run_labels(prepared, needed.empty_table(), labels, at_time, threads=1).schema
        return pa.schema([*self.input_schema(at), *results])
