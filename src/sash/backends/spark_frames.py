"""Spark: a PySpark DataFrame, streaming or not. Nothing is computed before the result is used.

`sash.spark` does the work; it imports PySpark when it is called.
"""

from __future__ import annotations

from abc import abstractmethod
from types import ModuleType
from typing import Any

from sash import spark
from sash.backends.base import Backend, Options, RunPlan, is_a, named_alike
from sash.engine.prepare import PreparedCache
from sash.expressions import Expression, Selection
from sash.options import SparkStreamOptions, SparkTableOptions
from sash.plan.declared import Declared


class SparkFrame(Backend[Options]):
    """A DataFrame of any session, classic or Connect."""

    names = ("pyspark", "DataFrame")
    quote = "`"

    @abstractmethod
    def prepare(self, query: Declared, data: Any, options: Options) -> Any:
        """Return the query on Spark, a SparkQuery."""

    def refusal(self, data: Any) -> str:
        """Return what to do with a frame of pandas on Spark."""
        if type(data).__module__.startswith("pyspark.pandas"):
            return "This is a pandas-on-Spark frame. Pass the Spark DataFrame instead: data.to_spark()."
        return ""

    def run(self, cache: PreparedCache, data: Any, options: Options) -> Any:
        """Return the results as a DataFrame."""
        query = self.prepare(cache.query, data, options)
        return query.in_own_case(query.run())

    def result_schema(self, cache: PreparedCache, data: Any, options: Options) -> Any:
        """Return the schema of the results, a StructType."""
        return self.prepare(cache.query, data, options).result_schema

    def plan(self, query: Declared, data: Any, options: Options) -> RunPlan:
        """Return how a query runs on data, with what Spark does."""
        on_spark = self.prepare(query, data, options)
        return RunPlan(on_spark.shown, on_spark.prepared.schema, (on_spark.describe(),))

    def rows_where(self, data: Any, condition: Expression) -> Any:
        """Return the rows for which a condition in SQL is true."""
        return _spark_select().rows_where(data, condition)

    def only_columns(self, data: Any, names: list[str]) -> Any:
        """Return some columns, if the data has them, whatever their case."""
        return data.select([f"`{name.replace('`', '``')}`" for name in named_alike(names, data.columns)])

    def time_columns(self, data: Any) -> list[str]:
        """Return the columns that hold timestamps or dates."""
        return [name for name, dtype in data.dtypes if dtype in ("timestamp", "timestamp_ntz", "date")]

    def select(self, data: Any, selection: Selection) -> Any:
        """Return what SQL makes of results."""
        return _spark_select().select_from(data, selection)

    def select_schema(self, data: Any, results: Any, selection: Selection) -> Any:
        """Return the schema of what SQL makes of results of a schema."""
        return _spark_select().select_schema(data, results, selection)


class SparkTable(SparkFrame[SparkTableOptions]):
    """A DataFrame that is no stream."""

    options = SparkTableOptions

    def accepts(self, data: Any) -> bool:
        """Return whether data is a DataFrame that is no stream."""
        return super().accepts(data) and not spark.is_stream(data)

    def prepare(self, query: Declared, data: Any, options: SparkTableOptions) -> Any:
        """Return the query on Spark."""
        return spark.batch_query(query, data, options)

    def is_session(self, data: Any) -> bool:
        """Return whether this is a session of Spark."""
        return is_a(data, "pyspark", "SparkSession")

    def find_table(self, session: Any, name: str, *, is_path: bool) -> Any:
        """Return a table or view of a session, or the rows of files."""
        return _spark_select().read_files(session, name) if is_path else session.table(name)


class SparkStream(SparkFrame[SparkStreamOptions]):
    """A streaming DataFrame."""

    options = SparkStreamOptions

    def accepts(self, data: Any) -> bool:
        """Return whether data is a streaming DataFrame."""
        return super().accepts(data) and spark.is_stream(data)

    def prepare(self, query: Declared, data: Any, options: SparkStreamOptions) -> Any:
        """Return the query on a Spark stream."""
        return spark.stream_query(query, data, options)


def _spark_select() -> ModuleType:
    from sash.spark import spark_select  # noqa: PLC0415 — it imports PySpark

    return spark_select
