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
from sash.engine.wide import check_known, entry_columns, is_wide, wide_names
from sash.expressions import Expression, Selection
from sash.options import SparkStreamOptions, SparkTableOptions
from sash.plan.query_spec import QuerySpec
from sash.state.key_layout import KeyLayout


class SparkFrame(Backend[Options]):
    """A DataFrame of any session, classic or Connect."""

    names = ("pyspark", "DataFrame")
    quote = "`"
    reads_cheaply = False  # each query shuffles the rows

    def run(self, cache: PreparedCache, data: Any, options: Options) -> Any:
        """Return the results as a DataFrame."""
        if is_wide(options):
            check_known(cache.query, "Spark")
        query = spark.query_on_spark(cache.query, data, options)
        self.learn(cache, query)
        results = query.in_own_case(query.run())
        names = cache.query.future_columns
        if is_wide(options):
            results, names = _widened(cache.query, results), wide_names(cache.query, names)
        return query.marked(results, names, {SEES_FUTURE: "true"})

    def learn(self, cache: PreparedCache, on_spark: Any) -> None:
        """Remember what a query emits, for lookups."""

    def result_schema(self, cache: PreparedCache, data: Any, options: Options) -> Any:
        """Return the schema of the results, a StructType."""
        schema: Any = spark.query_on_spark(cache.query, data, options).result_schema
        if not is_wide(options):
            return schema
        entries, wide = entry_columns(cache.query, schema.names), type(schema)()
        for field in schema:
            for name in entries.get(field.name, [field.name]):
                wide = wide.add(
                    name, field.dataType.elementType if field.name in entries else field.dataType, field.nullable
                )
        return wide

    def with_marks(self, schema: Any, names: Sequence[str]) -> Any:
        """Return a StructType with metadata for the columns that see the future."""
        for name in names:
            schema[name].metadata = {SEES_FUTURE: "true"}
        return schema

    def plan(self, query: QuerySpec, data: Any, options: Options) -> RunPlan:
        """Return how a query runs on data, with what Spark does."""
        on_spark = spark.query_on_spark(query, data, options)
        return RunPlan(on_spark.shown, on_spark.prepared.schema, (on_spark.describe(),), on_spark.stored_schema)

    def rows_where(self, data: Any, condition: Expression) -> Any:
        """Return the rows for which a condition in SQL is true."""
        return _around_query().rows_where(data, condition)

    def only_columns(self, data: Any, names: list[str]) -> Any:
        """Return some columns, if the data has them, whatever their case."""
        return data.select([f"`{name.replace('`', '``')}`" for name in named_alike(names, data.columns)])

    def time_columns(self, data: Any) -> list[str]:
        """Return the columns that hold timestamps or dates."""
        return [name for name, dtype in data.dtypes if dtype in ("timestamp", "timestamp_ntz", "date")]

    def session_zone(self, data: Any, time: str) -> str | None:
        """Return the time zone of the session, in which `date_trunc` reads timestamps that are instants."""
        types = {name.lower(): dtype for name, dtype in data.dtypes}
        if types.get(time.lower()) != "timestamp":
            return None
        return str(data.sparkSession.conf.get("spark.sql.session.timeZone"))

    def join_schemas(self, schemas: Sequence[Any]) -> Any:
        """Return the StructType of rows to which several queries add columns."""
        fields = {field.name: field for schema in schemas for field in schema}
        return type(schemas[0])(list(fields.values()))

    def select(self, data: Any, selection: Selection) -> Any:
        """Return what SQL makes of results."""
        return _around_query().select_from(data, selection)

    def select_schema(self, data: Any, results: Any, selection: Selection) -> Any:
        """Return the schema of what SQL makes of results of a schema."""
        return _around_query().select_schema(data, results, selection)


def _widened(query: QuerySpec, results: Any) -> Any:
    """Return results with columns in place of lists of fixed length."""
    entries = entry_columns(query, results.columns)
    columns = []
    for name in results.columns:
        column = results[f"`{name.replace('`', '``')}`"]
        columns += (
            [column[place].alias(one) for place, one in enumerate(entries[name])] if name in entries else [column]
        )
    return results.select(columns)


class SparkTable(SparkFrame[SparkTableOptions]):
    """A batch DataFrame."""

    options = SparkTableOptions

    def accepts(self, data: Any) -> bool:
        """Return whether data is a batch DataFrame."""
        return super().accepts(data) and not spark.is_stream(data)


class SparkStream(SparkFrame[SparkStreamOptions]):
    """A streaming DataFrame."""

    options = SparkStreamOptions
    is_stream = True

    def accepts(self, data: Any) -> bool:
        """Return whether data is a streaming DataFrame."""
        return super().accepts(data) and spark.is_stream(data)

    def key_layout(self, cache: PreparedCache, data: Any, options: SparkStreamOptions) -> KeyLayout:
        """Return the layout of the states of keys."""
        streaming: Any = spark.query_on_spark(cache.query, data, options)
        layout: KeyLayout = streaming.layout
        return layout

    def learn(self, cache: PreparedCache, on_spark: Any) -> None:
        """Remember the header of the states of keys that a stream emits."""
        if on_spark.emits_states:
            cache.headers[on_spark.layout.id] = on_spark.layout.header


def find_table(session: Any, name: str, *, is_path: bool) -> Any:
    """Return a table or view of a session of Spark, or the rows of files."""
    return _around_query().read_files(session, name) if is_path else session.table(name)


def _around_query() -> ModuleType:
    from sash.spark import computed  # noqa: PLC0415 — it imports PySpark

    return computed
