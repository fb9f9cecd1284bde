"""Spark: a PySpark DataFrame, streaming or not. Nothing is computed before the result is used.

`sash.spark` does the work; it imports PySpark when it is called.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import ModuleType
from typing import Any

from sash import spark
from sash.backends.base import SEES_FUTURE, Backend, Options, RunPlan, named_alike
from sash.engine.prepare import PreparedCache
from sash.expressions import Expression, Selection
from sash.options import SparkStreamOptions, SparkTableOptions
from sash.plan.query_spec import QuerySpec


class SparkFrame(Backend[Options]):
    """A DataFrame of any session, classic or Connect."""

    names = ("pyspark", "DataFrame")
    quote = "`"

    def run(self, cache: PreparedCache, data: Any, options: Options) -> Any:
        """Return the results as a DataFrame."""
        query = spark.query_on_spark(cache.query, data, options)
        return query.marked(query.in_own_case(query.run()), cache.query.future_columns, {SEES_FUTURE: "true"})

    def result_schema(self, cache: PreparedCache, data: Any, options: Options) -> Any:
        """Return the schema of the results, a StructType."""
        return spark.query_on_spark(cache.query, data, options).result_schema

    def with_marks(self, schema: Any, names: Sequence[str]) -> Any:
        """Return a StructType with metadata for the columns that see the future."""
        for name in names:
            schema[name].metadata = {SEES_FUTURE: "true"}
        return schema

    def plan(self, query: QuerySpec, data: Any, options: Options) -> RunPlan:
        """Return how a query runs on data, with what Spark does."""
        on_spark = spark.query_on_spark(query, data, options)
        return RunPlan(on_spark.shown, on_spark.prepared.schema, (on_spark.describe(),))

    def rows_where(self, data: Any, condition: Expression) -> Any:
        """Return the rows for which a condition in SQL is true."""
        return _around_query().rows_where(data, condition)

    def only_columns(self, data: Any, names: list[str]) -> Any:
        """Return some columns, if the data has them, whatever their case."""
        return data.select([f"`{name.replace('`', '``')}`" for name in named_alike(names, data.columns)])

    def time_columns(self, data: Any) -> list[str]:
        """Return the columns that hold timestamps or dates."""
        return [name for name, dtype in data.dtypes if dtype in ("timestamp", "timestamp_ntz", "date")]

    def select(self, data: Any, selection: Selection) -> Any:
        """Return what SQL makes of results."""
        return _around_query().select_from(data, selection)

    def select_schema(self, data: Any, results: Any, selection: Selection) -> Any:
        """Return the schema of what SQL makes of results of a schema."""
        return _around_query().select_schema(data, results, selection)


class SparkTable(SparkFrame[SparkTableOptions]):
    """A batch DataFrame."""

    options = SparkTableOptions

    def accepts(self, data: Any) -> bool:
        """Return whether data is a batch DataFrame."""
        return super().accepts(data) and not spark.is_stream(data)


class SparkStream(SparkFrame[SparkStreamOptions]):
    """A streaming DataFrame."""

    options = SparkStreamOptions

    def accepts(self, data: Any) -> bool:
        """Return whether data is a streaming DataFrame."""
        return super().accepts(data) and spark.is_stream(data)


def find_table(session: Any, name: str, *, is_path: bool) -> Any:
    """Return a table or view of a session of Spark, or the rows of files."""
    return _around_query().read_files(session, name) if is_path else session.table(name)


def _around_query() -> ModuleType:
    from sash.spark import computed  # noqa: PLC0415 — it imports PySpark

    return computed
