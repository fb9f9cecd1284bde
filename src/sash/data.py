"""The kinds of data that a query runs on. Each kind knows its options, and which engine runs it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import pyarrow as pa

from sash import spark
from sash.engine.executors.describe import bind_for_explanation, describe_compiling, describe_executor
from sash.engine.frames import (
    ArrowBatch,
    ArrowTable,
    PandasFrame,
    PolarsFrame,
    PolarsLazyFrame,
    is_a,
    named_alike,
    needed_schema,
    time_columns,
)
from sash.engine.labels import describe_labels
from sash.engine.prepare import PreparedCache, prepare
from sash.engine.select_sql import read_files
from sash.expressions import Expression, Selection
from sash.hints import did_you_mean
from sash.plan.declared import Declared
from sash.plan.tree import Branch
from sash.state.reader import ArrowStream

if TYPE_CHECKING:
    from sash.plan.explanation import Explanation

ACCEPTED = (
    "a PySpark DataFrame, a pyarrow Table, RecordBatch or RecordBatchReader, a pandas DataFrame, or a Polars DataFrame or "
    "LazyFrame"
)

BUILT_IN_TYPES = (list, tuple, dict, str, type(None))
"""Types whose module, builtins, is not worth mentioning in a message."""

OPTION_HABITS = {
    **dict.fromkeys(("outputMode", "output_mode"), "mode"),
    **dict.fromkeys(("n_jobs", "num_threads", "workers", "cores"), "threads"),
    **dict.fromkeys(("num_partitions", "partitions", "numPartitions"), "buckets"),
    **dict.fromkeys(("return_type", "dtype", "dtypes"), "types"),
    **dict.fromkeys(("engine", "jit"), "compiled"),
}
"""Options by the names that other libraries use."""


class DataKind(Protocol):
    """A kind of data."""

    description: ClassVar[str]
    options: ClassVar[tuple[str, ...]]

    @property
    def run(self) -> Callable[..., Any]:
        """Run a query, given its cache of prepared queries, the data and the options."""

    def accepts(self, data: Any) -> bool:
        """Return whether data is of this kind."""

    def schema(self, query: Declared, data: Any) -> pa.Schema:
        """Return the types of the columns that a query reads."""

    quote: ClassVar[str]
    """The quote around names in SQL."""

    def rows_where(self, data: Any, condition: Expression) -> Any:
        """Return the rows for which a condition in SQL is true."""

    def only_columns(self, data: Any, names: list[str]) -> Any:
        """Return some columns, if the data has them, whatever their case."""

    def time_columns(self, data: Any) -> list[str]:
        """Return the columns that hold timestamps or dates."""

    def select(self, data: Any, selection: Selection) -> Any:
        """Return what SQL makes of results."""

    def select_schema(self, data: Any, results: Any, selection: Selection) -> Any:
        """Return the schema of what SQL makes of results of a schema."""

    @property
    def result_schema(self) -> Callable[..., Any]:
        """Return the schema of the results, given the cache of prepared queries, the data and the options."""


class SparkFrame:
    """A PySpark DataFrame. Nothing is computed before the result is used."""

    description: ClassVar[str] = "a PySpark DataFrame"
    options: ClassVar[tuple[str, ...]] = ("compiled", "at", "at_time", "strategy", "buckets", "ranges", "types")

    def accepts(self, data: Any) -> bool:
        """Return whether data is a DataFrame that is no stream."""
        return is_a(data, "pyspark", "DataFrame") and not spark.is_stream(data)

    quote: ClassVar[str] = "`"

    def rows_where(self, data: Any, condition: Expression) -> Any:
        """Return the rows for which a condition in SQL is true."""
        return spark.rows_where(data, condition)

    def select(self, data: Any, selection: Selection) -> Any:
        """Return what SQL makes of results."""
        return spark.select_from(data, selection)

    def select_schema(self, data: Any, results: Any, selection: Selection) -> Any:
        """Return the schema of what SQL makes of results of a schema."""
        return spark.select_schema(data, results, selection)

    def only_columns(self, data: Any, names: list[str]) -> Any:
        """Return some columns, if the data has them, whatever their case."""
        return data.select([f"`{name.replace('`', '``')}`" for name in named_alike(names, data.columns)])

    def time_columns(self, data: Any) -> list[str]:
        """Return the columns that hold timestamps or dates."""
        return [name for name, kind in data.dtypes if kind in ("timestamp", "timestamp_ntz", "date")]

    def prepare(self, query: Declared, data: Any, options: Mapping[str, Any]) -> Any:
        """Return the query on Spark."""
        return spark.batch_query(query, data, options)

    def run(self, cache: PreparedCache, data: Any, **options: Any) -> Any:
        """Return the results as a DataFrame."""
        query = self.prepare(cache.query, data, options)
        return query.in_own_case(query.run())

    def schema(self, query: Declared, data: Any) -> pa.Schema:
        """Return the types of the columns that a query reads."""
        schema: pa.Schema = self.prepare(query, data, {}).prepared.schema
        return schema

    def result_schema(self, cache: PreparedCache, data: Any, **options: Any) -> Any:
        """Return the schema of the results, a StructType."""
        return self.prepare(cache.query, data, options).result_schema


class SparkStream(SparkFrame):
    """A streaming PySpark DataFrame."""

    description: ClassVar[str] = "a streaming DataFrame"
    options: ClassVar[tuple[str, ...]] = (
        "compiled",
        "mode",
        "buckets",
        "types",
        "on_bad_time",
        "ahead",
        "late",
        "forget",
        "metrics",
        "evolve",
        "state_from",
    )

    def accepts(self, data: Any) -> bool:
        """Return whether data is a streaming DataFrame."""
        return is_a(data, "pyspark", "DataFrame") and spark.is_stream(data)

    def prepare(self, query: Declared, data: Any, options: Mapping[str, Any]) -> Any:
        """Return the query on a Spark stream."""
        return spark.stream_query(query, data, options)


class SchemaOnly:
    """An Arrow schema, or None: in `explain` it stands for data of that schema."""

    description: ClassVar[str] = "a table in this process"
    options: ClassVar[tuple[str, ...]] = ("compiled", "threads", "at", "at_time")

    def accepts(self, data: Any) -> bool:
        """Return whether this is a schema, or None."""
        return data is None or isinstance(data, pa.Schema)

    def run(self, cache: PreparedCache, data: Any, **options: Any) -> Any:  # noqa: ARG002 — there is nothing to run on
        """Raise TypeError: a schema holds no rows."""
        raise no_data(data)

    def schema(self, query: Declared, data: pa.Schema | None) -> pa.Schema:
        """Return the types of the columns that a query reads."""
        return assumed_schema(query) if data is None else needed_schema(query, data)

    def result_schema(self, cache: PreparedCache, data: pa.Schema | None, **options: Any) -> pa.Schema:
        """Return the schema of the results for a table of this schema."""
        if data is None:
            raise no_data(data)
        if isinstance(options.get("at"), pa.Schema):
            options = options | {"at": options["at"].empty_table()}
        return ArrowTable().result_schema(cache, data.empty_table(), **options)

    quote: ClassVar[str] = '"'

    def rows_where(self, data: Any, condition: Expression) -> Any:
        """Return the schema. Raise ValueError if the condition is wrong."""
        ArrowTable().rows_where(data.empty_table(), condition)
        return data

    def only_columns(self, data: Any, names: list[str]) -> Any:
        """Return the schema of some columns."""
        return ArrowTable().only_columns(data.empty_table(), names).schema

    def time_columns(self, data: pa.Schema | None) -> list[str]:
        """Return the columns that hold timestamps or dates."""
        return [] if data is None else time_columns(data)

    def select(self, data: Any, selection: Selection) -> Any:  # noqa: ARG002 — there are no results
        """Raise TypeError: a schema has no results."""
        raise no_data(data)

    def select_schema(self, data: Any, results: pa.Schema, selection: Selection) -> pa.Schema:
        """Return the schema of what SQL makes of results of a schema."""
        return ArrowTable().select_schema(data, results, selection)


KINDS: tuple[DataKind, ...] = (
    ArrowTable(),
    ArrowBatch(),
    PandasFrame(),
    PolarsFrame(),
    PolarsLazyFrame(),
    SparkFrame(),
    SparkStream(),
    ArrowStream(),
    SchemaOnly(),
)


def kind_of(data: Any) -> DataKind:
    """Return the kind of data. Raise TypeError if a query does not run on it."""
    if type(data).__module__.startswith("pyspark.pandas"):
        message = "This is a pandas-on-Spark frame. Pass the Spark DataFrame instead: data.to_spark()."
        raise TypeError(message)
    if not isinstance(data, pa.Table) and is_one_column(data):
        message = f"A query runs on a table, but a {type(data).__name__} is one column. Put it into a table."
        raise TypeError(message)
    for kind in KINDS:
        if kind.accepts(data):
            return kind
    raise no_data(data)


def table_of(data: Any, name: str, *, is_path: bool) -> Any:
    """Return the rows that FROM names: files, a table of a Spark session, or the data itself."""
    session = is_a(data, "pyspark", "SparkSession")
    if is_path:
        if data is not None and not session:
            message = f"FROM names the file {name!r}, so run needs no data. Leave it out, or name a table in FROM."
            raise TypeError(message)
        return spark.read_files(data, name) if session else read_files(name)
    if data is None:
        message = f"FROM names the table {name}. Pass it: query.run({name}), or name a file, as in FROM 'data.parquet'."
        raise TypeError(message)
    return spark.read_table(data, name) if session else data


def is_one_column(data: Any) -> bool:
    """Return whether data is a column of Arrow, Polars or pandas."""
    columns = (pa.Array, pa.ChunkedArray)
    return isinstance(data, columns) or is_a(data, "polars", "Series") or is_a(data, "pandas", "Series")


def no_data(data: Any) -> TypeError:
    """Return the error for data that a query does not run on."""
    kind = type(data).__name__ if isinstance(data, BUILT_IN_TYPES) else f"{type(data).__module__}.{type(data).__name__}"
    hints = {"list": " For rows as dictionaries, use pa.Table.from_pylist(data).", "dict": " Use pa.table(data)."}
    return TypeError(f"A query runs on {ACCEPTED}, not on {kind}.{hints.get(kind, '')}")


def run(cache: PreparedCache, data: Any, options: Mapping[str, Any]) -> Any:
    """Return the results of a query for data of any kind."""
    kind = kind_of(data)
    check_options(kind, options)
    return kind.run(cache, data, **options)


def result_schema(cache: PreparedCache, data: Any, options: Mapping[str, Any]) -> Any:
    """Return the schema of the results of a query, for data of any kind."""
    kind = kind_of(data)
    check_options(kind, options)
    return kind.result_schema(cache, data, **options)


def check_options(kind: DataKind, options: Mapping[str, Any]) -> None:
    """Raise TypeError or ValueError if an option does not exist, does not apply to this data, or has a wrong value."""
    if not options:
        return
    every = {name for one in KINDS for name in one.options}
    for name in options:
        if name not in every:
            known = f"{kind.description} has the options {', '.join(kind.options)}."
            message = f"There is no option {name!r}.{_option_hint(kind, name)} {known[0].upper()}{known[1:]}"
            raise TypeError(message)
        if name not in kind.options and name in ("at", "at_time"):
            message = (
                f"{name}= does not apply to {kind.description}: the result of a label needs all events up to its time, and more may "
                "arrive. Run it on data that is no stream; on Spark, foreachBatch gives the labels of a micro-batch as such."
            )
            raise TypeError(message)
        if name not in kind.options:
            owners = dict.fromkeys(one.description for one in KINDS if name in one.options)
            message = f"{name}= is for {' and '.join(owners)}, but the data is {kind.description}. Leave {name}= out."
            raise TypeError(message)
    if options.get("at_time") is not None and options.get("at") is None:
        message = (
            "at_time= names the time column of labels, but there are none. Pass labels as at=, or leave at_time= out."
        )
        raise TypeError(message)
    if not isinstance(options.get("compiled"), bool | None):
        message = f"compiled={options['compiled']!r} is not valid. Use True, False or None."
        raise TypeError(message)
    for name in ("threads", "buckets", "ranges"):
        given = options.get(name)
        if given is not None and (isinstance(given, bool) or not isinstance(given, int) or given < 1):
            message = f"{name}={given!r} is not valid. Use an integer of at least 1."
            raise ValueError(message)


def _option_hint(kind: DataKind, name: str) -> str:
    if name in {field.name for field in fields(Declared)}:
        return f" Pass it to the query: Query({name}=…)."
    habit = OPTION_HABITS.get(name)
    return f" Use {habit}=." if habit in kind.options else did_you_mean(name, kind.options)


def explain(query: Declared, data: Any, options: Mapping[str, Any]) -> Explanation:
    """Return the plan of a query for data of any kind; with data, compile everything that compiles."""
    from sash.plan.explanation import Explanation  # noqa: PLC0415 — a run does not explain, and pictures take 4 ms to import

    kind = kind_of(data)
    check_options(kind, options)
    engine: tuple[Branch, ...] = ()
    shown = query
    if isinstance(kind, SparkFrame):
        on_spark = kind.prepare(query, data, options)
        engine, shown, schema = (on_spark.describe(),), on_spark.shown, on_spark.prepared.schema
    else:
        schema = kind.schema(query, data)
        if options.get("at") is not None:
            kind.result_schema(PreparedCache(query), schema if data is None else data, **options)  # checks the labels
            engine = (describe_labels(query, options.get("at_time")),)
    prepared = prepare(shown, schema, compiled=options.get("compiled"))
    shape = getattr(data, "shape", None)  # tables of Arrow, pandas and Polars know it
    rows = shape[0] if isinstance(shape, tuple) else None
    bound = prepared if data is None else bind_for_explanation(prepared, rows)
    types = _types_text(shown, schema, assumed=data is None)
    return Explanation(
        shown,
        bound.plan,
        bound.kinds,
        types,
        [
            describe_executor(prepared, one, has_data=data is not None, knows_rows=rows is not None)
            for one in bound.plan.passes
        ],
        prepared.state_kinds,
        describe_compiling(prepared),
        engine,
    )


def _types_text(query: Declared, schema: pa.Schema, *, assumed: bool) -> str:
    free = {*query.by, *query.order_by} if assumed else set()  # keys may be of any type
    free -= {name for one in query.aggregates.values() for name in one.columns}
    read = ", ".join(f"{name} {schema.field(name).type}" for name in query.columns if name not in free)
    if not read:
        return "no column is read"
    return f"assumed, as there is no data: {read}" if assumed else read


def assumed_schema(query: Declared) -> pa.Schema:
    """Return the types to assume without data: times if there are durations, booleans for marks, numbers for the rest."""
    lengths = [window.length for window in query.windows.values()]
    durations = [aggregate.duration for aggregate in query.aggregates.values()]
    is_time = any(getattr(length, "is_time", False) for length in [*lengths, *durations, query.lateness])
    types = {name: pa.float64() for name in query.columns}
    for window in query.windows.values():
        marks = [name for name, rule in window.columns.items() if rule.holds == "mark"]
        types |= dict.fromkeys(marks, pa.bool_())
    if query.time is not None:
        zones = [window.clock.zone for window in query.windows.values() if window.clock.zone]
        types[query.time] = pa.timestamp("ns", zones[0] if zones else None) if is_time else pa.int64()
    return pa.schema(types)
