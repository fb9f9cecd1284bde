"""Backend: the interface of a kind of data. It knows its options, and how a query runs on it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar, Generic, NamedTuple, TypeVar

import pyarrow as pa

from sash.columns.column_types import column_type
from sash.engine.prepare import PreparedCache
from sash.engine.select_sql import select_from
from sash.expressions import Expression, Selection
from sash.plan.query_spec import QuerySpec
from sash.plan.tree import Branch

ACCEPTED = (
    "a PySpark DataFrame, a pyarrow Table, RecordBatch or RecordBatchReader, a pandas DataFrame, or a Polars DataFrame or "
    "LazyFrame"
)
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


class Backend(ABC, Generic[Options]):
    """A kind of data. Data is recognised by the names of its class, because its package need not be installed."""

    options: ClassVar[type[Any]]
    """The class of its options."""
    names: ClassVar[tuple[str, str]]
    """The top-level package and the name of the class."""
    quote: ClassVar[str] = '"'
    """The quote around names in SQL."""

    def accepts(self, data: Any) -> bool:
        """Return whether data is of this kind."""
        return is_a(data, *self.names)

    @abstractmethod
    def run(self, cache: PreparedCache, data: Any, options: Options) -> Any:
        """Return the results of a query, as data of the same kind."""

    @abstractmethod
    def result_schema(self, cache: PreparedCache, data: Any, options: Options) -> Any:
        """Return the schema of the results."""

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
    def time_columns(self, data: Any) -> list[str]:
        """Return the columns that hold timestamps or dates."""

    @abstractmethod
    def select(self, data: Any, selection: Selection) -> Any:
        """Return what SQL makes of results."""

    @abstractmethod
    def select_schema(self, data: Any, results: Any, selection: Selection) -> Any:
        """Return the schema of what SQL makes of results of a schema."""


class InProcess(Backend[Options]):
    """A kind of data in this process: its columns have an Arrow schema, and DuckDB evaluates SQL around a query."""

    def input_schema(self, data: Any) -> pa.Schema:
        """Return the Arrow schema of all columns."""
        return data.schema

    def time_columns(self, data: Any) -> list[str]:
        """Return the columns that hold timestamps or dates."""
        return [
            field.name for field in self.input_schema(data) if column_type(field.type).group in ("timestamp", "date")
        ]

    def select_schema(self, data: Any, results: pa.Schema, selection: Selection) -> pa.Schema:  # noqa: ARG002 — Spark needs the data
        """Return the schema of what SQL makes of results of a schema."""
        return select_from(results.empty_table(), selection).schema


def is_a(data: Any, package: str, name: str) -> bool:
    """Return whether data is an instance of a class, by name: the package need not be installed.

    >>> is_a(pa.table({}), "pyarrow", "Table"), is_a(3, "polars", "DataFrame")
    (True, False)
    """
    return any(base.__module__.partition(".")[0] == package and base.__name__ == name for base in type(data).__mro__)


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
