"""The backends, and which of them has some data: what `run`, `explain` and `schema` of a query call."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from sash.backends.arrow import ArrowBatch, ArrowStream, ArrowTable, SchemaOnly
from sash.backends.base import Backend, is_a, no_data
from sash.backends.pandas import PandasFrame
from sash.backends.polars import PolarsFrame, PolarsLazyFrame
from sash.backends.spark_frames import SparkStream, SparkTable, find_table
from sash.engine.executors.execute import bind_for_explanation, describe_compiling, describe_executor
from sash.engine.prepare import Prepared, PreparedCache, prepare
from sash.engine.select_sql import read_files
from sash.engine.stream_plan import stream_plan
from sash.engine.wide import check_known, is_wide, wide_names
from sash.options import read_options
from sash.plan.certificate import describe_results
from sash.plan.query_spec import QuerySpec
from sash.plan.tree import Branch
from sash.state.declared_size import describe_state

if TYPE_CHECKING:
    from sash.plan.explanation import Explanation

BACKENDS: tuple[Backend[Any], ...] = (
    ArrowTable(),
    ArrowBatch(),
    PandasFrame(),
    PolarsFrame(),
    PolarsLazyFrame(),
    SparkTable(),
    SparkStream(),
    ArrowStream(),  # takes anything with an Arrow C stream, also frames of packages that are not known here
    SchemaOnly(),
)
ONE_COLUMN = (("pyarrow", "Array"), ("pyarrow", "ChunkedArray"), ("pandas", "Series"), ("polars", "Series"))
"""Classes that hold one column: a message says that they are not tables."""


def backend_of(data: Any) -> Backend[Any]:
    """Return the backend of some data. Raise TypeError if a query does not run on it."""
    if any(is_a(data, package, name) for package, name in ONE_COLUMN):
        raise TypeError(f"A query runs on a table, but a {type(data).__name__} is one column. Put it into a table.")
    if type(data).__module__.startswith("pyspark.pandas"):
        raise TypeError("This is a pandas-on-Spark frame. Pass the Spark DataFrame instead: data.to_spark().")
    for backend in BACKENDS:
        if backend.accepts(data):
            return backend
    raise no_data(data)


def table_of(data: Any, name: str, *, is_path: bool) -> Any:
    """Return the rows that FROM names: files, a table of a session or of a dictionary, or the data itself."""
    if isinstance(data, dict) and name in data and not is_path:
        data = data[name]
    if is_a(data, "pyspark", "SparkSession"):
        return find_table(data, name, is_path=is_path)
    if is_path:
        if data is not None:
            raise TypeError(
                f"FROM names the file {name!r}, so run needs no data. Leave it out, or name a table in FROM."
            )
        return read_files(name)
    if data is None:
        raise TypeError(
            f"FROM names the table {name}. Pass it: query.run({name}), or name a file, as in FROM 'data.parquet'."
        )
    return data


def run(cache: PreparedCache, data: Any, options: Mapping[str, Any]) -> Any:
    """Return the results of a query for data of any kind."""
    backend = backend_of(data)
    known = read_options(backend.options, options)
    return backend.run(cache.at_points if _has_labels(known) else cache, data, known)


def result_schema(cache: PreparedCache, data: Any, options: Mapping[str, Any]) -> Any:
    """Return the schema of the results of a query, for data of any kind."""
    backend = backend_of(data)
    given = read_options(backend.options, options)
    cache = cache.at_points if _has_labels(given) else cache
    marked = cache.query.future_columns
    if is_wide(given):
        check_known(cache.query, "schema")
        marked = wide_names(cache.query, marked)
    return backend.with_marks(backend.result_schema(cache, data, given), marked)


def state_header(cache: PreparedCache, data: Any, options: Mapping[str, Any]) -> bytes:
    """Return the header of the states of keys, for a stream, or for data in this process of the same types."""
    backend = backend_of(data)
    stream = backend if backend.is_stream else ArrowStream()
    given = read_options(stream.options, {**options, "emit": "state"})
    layout = stream.key_layout(cache, data if backend.is_stream else _no_rows_of(backend, data), given)
    cache.headers[layout.id] = layout.header
    return layout.header


def _no_rows_of(backend: Backend[Any], data: Any) -> pa.RecordBatchReader:
    """Return a stream without rows, of the types of data in this process."""
    return pa.RecordBatchReader.from_batches(backend.input_schema(data), [])


def _has_labels(options: Mapping[str, Any]) -> bool:
    return options.get("at") is not None


def schema_of(query: QuerySpec, data: Any) -> pa.Schema:
    """Return the types of the columns that a query reads, for data of any kind."""
    backend = backend_of(data)
    return backend.plan(query, data, read_options(backend.options, {})).schema


def prepare_for(query: QuerySpec, data: Any) -> tuple[Prepared, pa.Schema]:
    """Return a query that is prepared for data of any kind, and the columns of the rows that a stream stores."""
    backend = backend_of(data)
    shown, schema, _, stored = backend.plan(query, data, read_options(backend.options, {}))
    return prepare(shown, schema), schema if stored is None else stored


def explain(query: QuerySpec, data: Any, options: Mapping[str, Any]) -> Explanation:
    """Return the plan of a query for data of any kind; with data, compile everything that compiles."""
    from sash.plan.explanation import Explanation  # noqa: PLC0415 — a run does not explain, and pictures take 4 ms to import

    backend = backend_of(data)
    known_options = read_options(backend.options, options)
    query = query.at_points() if _has_labels(known_options) else query
    shown, schema, branches, stored = backend.plan(query, data, known_options)
    prepared = prepare(shown, schema, compiled=options.get("compiled"))
    shape = getattr(data, "shape", None)  # tables of Arrow, pandas and Polars know it
    rows = shape[0] if isinstance(shape, tuple) else None
    bound = prepared if data is None else bind_for_explanation(prepared, rows)
    known = {"has_data": data is not None, "knows_rows": rows is not None}
    executors = [describe_executor(prepared, plan_pass, **known) for plan_pass in bound.plan.passes]
    types = _types_text(shown, schema, assumed=data is None)
    branches = (*branches, *describe_results(shown, bound.plan, bound.unit))
    no_state = _has_labels(known_options) or any(branch.evaluates_all for branch in branches)
    held = () if no_state else describe_state(prepared, schema if stored is None else stored)
    branches = (*branches, Branch("state", held)) if held else branches
    state, compiling = stream_plan(prepared).state_kinds, describe_compiling(prepared)
    return Explanation(shown, bound.plan, bound.kinds, types, executors, state, compiling, branches)


def _types_text(query: QuerySpec, schema: pa.Schema, *, assumed: bool) -> str:
    free = {*query.by, *query.order_by} if assumed else set()  # keys may be of any type
    free -= {name for one in query.aggregates.values() for name in one.columns}
    read = ", ".join(f"{name} {schema.field(name).type}" for name in query.columns if name not in free)
    if not read:
        return "no column is read"
    return f"assumed, as there is no data: {read}" if assumed else read
