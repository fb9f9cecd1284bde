"""Backend: the interface of a kind of data. It knows its options, and how a query runs on it.

FrameBackend is a table in this process, of Arrow, pandas or Polars. Each kind is read as an Arrow table of the columns that the query
needs. Results per row go back beside the input rows, which keep their types, their order and, in pandas, their index. Results per
window are data of their own.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any, ClassVar, Generic, NamedTuple, TypeVar

import pyarrow as pa

from sash.columns.buffers import as_arrow
from sash.columns.column_types import column_type
from sash.engine.bad_times import usable, warn_of_dropped
from sash.engine.check_columns import check_result_names
from sash.engine.labels import check_labels, check_names, describe_labels, label_query, of_other_kind, run_labels
from sash.engine.prepare import PreparedCache
from sash.engine.run_table import run_table
from sash.engine.select_sql import rows_where, select_from
from sash.engine.time_column import time_column
from sash.engine.wide import is_wide, wide_names, widen, widen_schema
from sash.expressions import Expression, Selection
from sash.options import TableOptions
from sash.plan.query_spec import QuerySpec
from sash.plan.tree import Branch
from sash.state.key_layout import KeyLayout

ACCEPTED = (
    "a PySpark DataFrame, a pyarrow Table, RecordBatch or RecordBatchReader, a pandas DataFrame, or a Polars DataFrame or "
    "LazyFrame"
)
SEES_FUTURE = "sash.sees_future"
"""In the metadata of a field: the column is computed from rows after its own row or label."""
Options = TypeVar("Options")
"""One of the classes in `sash.options`."""


class RunPlan(NamedTuple):
    """How a query runs on data."""

    query: QuerySpec
    """The query as an explanation shows it."""
    schema: pa.Schema
    """The types of the columns that it reads."""
    branches: tuple[Branch, ...] = ()
    """What an explanation says of this data."""
    stored: pa.Schema | None = None
    """The columns of the rows that a stream stores; None if they are those that the query reads."""


class Backend(ABC, Generic[Options]):
    """A kind of data. Data is recognised by the names of its class, because its package need not be installed."""

    options: ClassVar[type[Any]]
    """The class of its options."""
    names: ClassVar[tuple[str, str]]
    """The top-level package and the name of the class."""
    quote: ClassVar[str] = '"'
    """The quote around names in SQL."""
    is_stream: ClassVar[bool] = False
    """Whether more rows may follow, so that rows are read once."""
    reads_cheaply: ClassVar[bool] = True
    """Whether a further pass over the rows costs less than further aggregates."""

    def accepts(self, data: Any) -> bool:
        """Return whether data is of this kind."""
        return is_a(data, *self.names)

    @abstractmethod
    def run(self, cache: PreparedCache, data: Any, options: Options) -> Any:
        """Return the results of a query, as data of the same kind."""

    @abstractmethod
    def result_schema(self, cache: PreparedCache, data: Any, options: Options) -> Any:
        """Return the schema of the results."""

    def with_marks(self, schema: Any, names: Sequence[str]) -> Any:
        """Return a schema with metadata for the columns that see the future."""
        marked = [field.with_metadata({SEES_FUTURE: "true"}) if field.name in names else field for field in schema]
        return pa.schema(marked, schema.metadata)

    def key_layout(self, cache: PreparedCache, data: Any, options: Options) -> KeyLayout:
        """Return the layout of the states of keys; for streams."""
        raise NotImplementedError

    @abstractmethod
    def plan(self, query: QuerySpec, data: Any, options: Options) -> RunPlan:
        """Return how a query runs on data. Raise TypeError or ValueError if it cannot."""

    # -- SQL around a query --------------------------------------------------------------------------------------------

    @abstractmethod
    def rows_where(self, data: Any, condition: Expression) -> Any:
        """Return the rows for which a condition in SQL is true."""

    @abstractmethod
    def only_columns(self, data: Any, names: list[str]) -> Any:
        """Return some columns, if the data has them, whatever their case."""

    @abstractmethod
    def select(self, data: Any, selection: Selection) -> Any:
        """Return what SQL makes of results."""

    def tables(self, data: Any) -> Iterator[pa.Table]:
        """Yield the rows of data, as the history of a stream. Raise TypeError if they are not in this process."""
        raise TypeError(
            f"history= of a RecordBatchReader must be in this process, but it is a {type(data).__name__}. Pass a table or a reader."
        )

    # -- for data in this process: its columns have an Arrow schema, and DuckDB evaluates SQL around a query --------------

    def input_schema(self, data: Any) -> pa.Schema:
        """Return the Arrow schema of all columns."""
        return data.schema

    def time_columns(self, data: Any) -> list[str]:
        """Return the columns that hold timestamps or dates."""
        fields = self.input_schema(data)
        return [field.name for field in fields if column_type(field.type).group in ("timestamp", "date")]

    def session_zone(self, data: Any, time: str) -> str | None:  # noqa: ARG002 — Spark has one
        """Return the time zone in which the session truncates times of a column; None if it has none."""
        return None

    def join_schemas(self, schemas: Sequence[Any]) -> Any:
        """Return the schema of rows to which several queries add columns."""
        return pa.schema({field.name: field for schema in schemas for field in schema}.values(), schemas[0].metadata)

    def select_schema(self, data: Any, results: Any, selection: Selection) -> Any:  # noqa: ARG002 — Spark needs the data
        """Return the schema of what SQL makes of results of a schema."""
        return select_from(results.empty_table(), selection).schema


def is_a(data: Any, package: str, name: str) -> bool:
    """Return whether data is an instance of a class, by name: the package need not be installed.

    >>> is_a(pa.table({}), "pyarrow", "Table"), is_a(3, "polars", "DataFrame")
    (True, False)
    """
    cls: Any = type(data)
    return (package, name) in _names_of(cls)


@cache
def _names_of(cls: type) -> set[tuple[str, str]]:
    """Return the package and the name of a class and of its bases."""
    return {(base.__module__.partition(".")[0], base.__name__) for base in cls.__mro__}


def named_alike(names: list[str], columns: list[Any]) -> list[Any]:
    """Return the columns that have one of the names, whatever their case.

    >>> named_alike(["TS", "load"], ["ts", "x"])
    ['ts']
    """
    wanted = {name.lower() for name in names}
    return [column for column in columns if str(column).lower() in wanted]


def no_data(data: Any) -> TypeError:
    """Return the error for data that a query does not run on."""
    module, name = type(data).__module__, type(data).__name__
    called = name if isinstance(data, list | tuple | dict | str | None) else f"{module}.{name}"
    hints = {"list": " For rows as dictionaries, use pa.Table.from_pylist(data).", "dict": " Use pa.table(data)."}
    return TypeError(f"A query runs on {ACCEPTED}, not on {called}.{hints.get(called, '')}")


class FrameBackend(Backend[TableOptions]):
    """A table in this process."""

    options = TableOptions

    def run(self, cache: PreparedCache, data: Any, options: TableOptions) -> Any:
        """Return the results of a query, as data of the same kind: for each label, if there are labels."""
        query, at = cache.query, options["at"]
        labels = None if at is None else self.read_labels(query, at, options)
        if labels is None:
            self.check_result_names(query, data)
        rows = self.read(query, data)
        if options["on_bad_time"] == "drop" and query.time is not None:
            data, rows = self._with_usable_times(data, rows, query.time, "row(s)")
            if labels is not None:
                at, labels = self._with_usable_times(at, labels, options["at_time"] or query.time, "label(s)")
        results = _run(cache, rows, labels, options)
        shown, marked = data if at is None else at, query.future_columns
        if is_wide(options):
            results = widen(query, results, self.names_of(shown) if query.per_row else ())
            marked = wide_names(query, marked)
        if marked:
            results = pa.Table.from_arrays(results.columns, schema=self.with_marks(results.schema, marked))
        return self.write(query, shown, results, data)

    def _with_usable_times(self, data: Any, rows: pa.Table, time: str, what: str) -> tuple[Any, pa.Table]:
        """Return the rows that have a usable time, as given and as read. A warning counts the others."""
        time_column(time, rows.schema.field(time).type)  # raises TypeError if it holds no times
        kept = usable(rows[time])
        if kept.all():
            return data, rows
        warn_of_dropped(len(rows) - int(kept.sum()), time, what)
        mask = pa.chunked_array([as_arrow(kept)])
        return self.keep(data, mask), rows.filter(mask)

    def read_labels(self, query: QuerySpec, labels: Any, options: TableOptions) -> pa.Table:
        """Return the keys and times of labels. Raise TypeError or ValueError if they do not fit the query."""
        self.check_labels(query, labels, options)
        check_names(query, self.names_of(labels), options["at_time"])
        return self.read(label_query(query, options["at_time"]), labels)

    def check_labels(self, query: QuerySpec, labels: Any, options: TableOptions) -> None:
        """Raise TypeError or ValueError if a query takes no labels, or if these are of another kind."""
        check_labels(query, options)
        if not self.accepts(labels):
            raise of_other_kind(labels, ".".join(self.names))

    def check_result_names(self, query: QuerySpec, data: Any) -> None:
        """Raise ValueError if a result that stands beside its row would have the name of a column."""
        if query.per_row:
            check_result_names(query, self.names_of(data))

    @abstractmethod
    def read(self, query: QuerySpec, data: Any) -> pa.Table:
        """Return the columns that a query reads."""

    @abstractmethod
    def write(self, query: QuerySpec, data: Any, results: pa.Table, events: Any) -> Any:
        """Return the results: per row, beside the input rows; per window, as data of their own.

        `data` are the input rows, or labels; the results were computed from `events`.
        """

    # -- SQL around a query --------------------------------------------------------------------------------------------

    def rows_where(self, data: Any, condition: Expression) -> Any:
        """Return the rows for which a condition in SQL is true."""
        return self.keep(data, rows_where(self.to_table(data), condition))

    def select(self, data: Any, selection: Selection) -> Any:
        """Return what SQL makes of results."""
        return self.from_table(select_from(self.to_table(data), selection), data)

    def only_columns(self, data: Any, names: list[str]) -> Any:
        """Return some columns, if the data has them, whatever their case."""
        return data.select(named_alike(names, self.input_schema(data).names))

    @abstractmethod
    def to_table(self, data: Any) -> pa.Table:
        """Return all columns as an Arrow table."""

    @abstractmethod
    def from_table(self, table: pa.Table, *sources: Any) -> Any:
        """Return an Arrow table as data of this kind. `sources` are the data that SQL has computed it from."""

    def keep(self, data: Any, mask: pa.ChunkedArray) -> Any:
        """Return the rows for which a mask is true."""
        return data.filter(mask)

    def tables(self, data: Any) -> Iterator[pa.Table]:
        """Yield the rows of data, as the history of a stream."""
        yield self.to_table(data)

    def names_of(self, data: Any) -> list[str]:
        """Return the names of all columns."""
        return [str(name) for name in self.input_schema(data).names]

    def schema(self, query: QuerySpec, data: Any) -> pa.Schema:
        """Return the types of the columns that a query reads."""
        return self.read(query, data).schema

    def plan(self, query: QuerySpec, data: Any, options: TableOptions) -> RunPlan:
        """Return how a query runs on data."""
        if options["at"] is None:
            self.check_result_names(query, data)
            return RunPlan(query, self.schema(query, data), stored=self.input_schema(data) if query.per_row else None)
        self.result_schema(PreparedCache(query), data, options)  # checks the labels
        return RunPlan(query, self.schema(query, data), (describe_labels(query, options["at_time"]),))

    def result_schema(self, cache: PreparedCache, data: Any, options: TableOptions) -> pa.Schema:
        """Return the Arrow schema of the results: that of a run over no rows."""
        at = options["at"]
        events = self.schema(cache.query, data).empty_table()
        if at is None:
            self.check_result_names(cache.query, data)
        labels = None if at is None else self.read_labels(cache.query, at, options).slice(0, 0)
        results = _run(cache, events, labels, {**options, "threads": 1}).schema
        results = widen_schema(cache.query, results) if is_wide(options) else results
        return pa.schema([*(self.input_schema(data if at is None else at) if cache.query.per_row else ()), *results])


def _run(cache: PreparedCache, table: pa.Table, labels: pa.Table | None, options: TableOptions) -> pa.Table:
    """Return a result for each row or window, or for each label if there are labels."""
    prepared = cache.get(table.schema, compiled=options["compiled"])
    if labels is None:
        return run_table(prepared, table, options["threads"])
    return run_labels(prepared, table, labels, options["at_time"], options["threads"])
