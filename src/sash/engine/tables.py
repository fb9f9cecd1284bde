"""The kinds of data that a query runs on, and results of the same kind.

Each kind is read as an Arrow table of the columns that the query needs. Results for rows go back beside the rows that were
given, which keep their types, their order and, in pandas, their index; results for windows become a frame of their own.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

import pyarrow as pa

from sash.engine.column_types import readable, refuse_missing
from sash.engine.local import Local
from sash.engine.whole import run_whole
from sash.plan.declared import Declared

KINDS = (
    "a PySpark DataFrame, a pyarrow Table, RecordBatch or RecordBatchReader, a pandas DataFrame, or a Polars DataFrame or "
    "LazyFrame"
)
Reader = Callable[[Declared, Any, dict[str, Any]], Any]
"""Runs a query on one kind of data."""
STREAM, SPARK, HERE = "a stream (a RecordBatchReader)", "a PySpark DataFrame", "data in this process"
SPARK_STREAM = "a streaming DataFrame"
OPTIONS = {
    "compiled": (HERE, STREAM, SPARK, SPARK_STREAM),
    "threads": (HERE, STREAM),
    "mode": (STREAM, SPARK_STREAM),
    "order": (STREAM,),
    "strategy": (SPARK,),
    "buckets": (SPARK, SPARK_STREAM),
    "ranges": (SPARK,),
    "types": (SPARK, SPARK_STREAM),
    "on_bad_time": (SPARK_STREAM,),
    "ahead": (SPARK_STREAM,),
    "metrics": (SPARK_STREAM,),
}
"""What options are for."""
NULLABLE = {
    pa.int8(): "Int8", pa.int16(): "Int16", pa.int32(): "Int32", pa.int64(): "Int64",
    pa.uint8(): "UInt8", pa.uint16(): "UInt16", pa.uint32(): "UInt32", pa.uint64(): "UInt64", pa.bool_(): "boolean",
}  # fmt: skip
"""The types of pandas that have nulls: integers would become floats without them."""


def run(declared: Declared, data: Any, **options: Any) -> Any:
    """Return the results of a query for data of any kind."""
    reader = _reader_of(data)
    check_options(options, kind_of(data))
    return reader(declared, data, options)


def kind_of(data: Any) -> str:
    """Return which options there are for data: one of SPARK, SPARK_STREAM, STREAM and HERE; a schema stands for data that has it."""
    if data is None or isinstance(data, pa.Schema):
        return HERE
    kinds: dict[Reader, str] = {run_reader: STREAM, run_stream: STREAM, run_spark: SPARK}
    kind = kinds.get(_reader_of(data), HERE)
    return SPARK_STREAM if kind == SPARK and data.isStreaming else kind


def check_options(options: dict[str, Any], kind: str) -> None:
    """Say so if an option is not for this kind of data, or no option at all."""
    for name in options:
        if name not in OPTIONS:
            message = f"run: there is no option {name!r}, only {', '.join(OPTIONS)}."
            raise TypeError(message)
        if kind not in OPTIONS[name]:
            message = f"run: {name}= is for {OPTIONS[name][0]}, and this is {kind}."
            raise TypeError(message)
    if not isinstance(options.get("compiled", True), bool):
        message = f"run: compiled={options['compiled']!r}: it is True or False."
        raise TypeError(message)
    for name in ("threads", "buckets", "ranges"):
        given = options.get(name)
        if given is not None and (isinstance(given, bool) or not isinstance(given, int) or given < 1):
            message = f"run: {name}={given!r} is not a number of {name}: give a whole number, at least 1."
            raise ValueError(message)


def _reader_of(data: Any) -> Reader:
    """Return the function that runs a query on this kind of data, or say that there is none."""
    if isinstance(data, pa.Table):
        return run_table
    if isinstance(data, pa.RecordBatch):
        return run_batch
    if isinstance(data, pa.RecordBatchReader):
        return run_reader
    known = {
        ("pandas", "DataFrame"): run_pandas,
        ("polars", "DataFrame"): run_polars,
        ("polars", "LazyFrame"): run_lazy,
        ("pyspark", "DataFrame"): run_spark,
    }
    if type(data).__module__.startswith("pyspark.pandas"):
        message = "This is a frame of pandas on Spark: give the Spark DataFrame that it is, data.to_spark()."
        raise TypeError(message)
    for base in type(data).__mro__:
        kind = (base.__module__.partition(".")[0], base.__name__)
        if kind in known:
            return known[kind]
    if hasattr(data, "__arrow_c_stream__"):
        return run_stream
    message = f"A query runs on {KINDS}, not on {type(data).__module__}.{type(data).__name__}."
    raise TypeError(message)


def schema_of(declared: Declared, data: Any) -> pa.Schema:
    """Return the types of the columns that a query reads of data of any kind; a schema stands for data that has it."""
    schema = data
    if not isinstance(data, pa.Schema):
        reader = _reader_of(data)
        if reader is run_pandas:
            return read_pandas(declared, data)[1].schema
        if reader in (run_polars, run_lazy):  # whose types don't depend on rows
            return read_polars(declared, data.head(0).lazy().collect()).schema
        schema = pa.RecordBatchReader.from_stream(data).schema if reader is run_stream else data.schema
    refuse_missing(declared, schema.names)
    return schema if _reads_all(declared) else pa.schema([schema.field(name) for name in declared.columns])


def run_table(declared: Declared, table: pa.Table, options: dict[str, Any]) -> pa.Table:
    """Run on an Arrow table."""
    refuse_missing(declared, table.column_names)
    needed = readable(needed_of(declared, table))
    results = run_whole(Local(declared, needed.schema, **options), needed)
    if not declared.per_row:
        return results
    for name in results.column_names:
        table = table.append_column(name, results[name])
    return table


def run_batch(declared: Declared, batch: pa.RecordBatch, options: dict[str, Any]) -> pa.RecordBatch:
    """Run on one batch of Arrow's."""
    result = run_table(declared, pa.Table.from_batches([batch]), options).combine_chunks()
    empty = [pa.array([], field.type) for field in result.schema]
    return next(iter(result.to_batches()), pa.RecordBatch.from_arrays(empty, schema=result.schema))


def run_reader(declared: Declared, reader: pa.RecordBatchReader, options: dict[str, Any]) -> pa.RecordBatchReader:
    """Run on a stream of Arrow's, batch by batch."""
    refuse_missing(declared, reader.schema.names)
    reading: pa.RecordBatchReader = import_module("sash.state.reader").read(declared, reader, **options)
    return reading


def run_stream(declared: Declared, data: Any, options: dict[str, Any]) -> pa.RecordBatchReader:
    """Run on anything that streams Arrow."""
    return run_reader(declared, pa.RecordBatchReader.from_stream(data), options)


def run_pandas(declared: Declared, frame: Any, options: dict[str, Any]) -> Any:
    """Run on a pandas DataFrame; NaN is a missing value there."""
    rows, table = read_pandas(declared, frame)
    results = run_whole(Local(declared, table.schema, **options), table)
    columns = {name: to_pandas(results[name]) for name in results.column_names}
    if declared.per_row:
        for column in columns.values():
            column.index = frame.index
        return frame.assign(**columns)
    made = import_module("pandas").DataFrame(columns)
    for name in declared.by:
        if made[name].dtype != rows[name].dtype:
            made[name] = made[name].astype(rows[name].dtype)
    return made


def read_pandas(declared: Declared, frame: Any) -> tuple[Any, pa.Table]:
    """Return the rows of a pandas DataFrame, with the time of its index as a column if it is there, and what is read."""
    rows = frame
    if declared.time is not None and declared.time not in frame.columns and declared.time in frame.index.names:
        rows = frame.reset_index()
    if not all(isinstance(name, str) for name in rows.columns):
        rows = rows.set_axis([str(name) for name in rows.columns], axis=1)
    refuse_missing(declared, list(rows.columns))
    needed = rows if _reads_all(declared) else rows[declared.columns]
    try:
        table = pa.Table.from_pandas(needed, preserve_index=False)
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        message = f"A column holds values of several types ({error}): cast it to one."
        raise TypeError(message) from error
    if declared.columns == []:
        table = pa.table({"": pa.nulls(len(rows))})
    return rows, table


def to_pandas(column: pa.ChunkedArray) -> Any:
    """Return a column as a pandas Series: integers and booleans with nulls as the types that have them."""
    if column.null_count and column.type in NULLABLE:
        nullable = getattr(import_module("pandas"), f"{NULLABLE[column.type].replace('b', 'B', 1)}Dtype")()
        return column.to_pandas(types_mapper={column.type: nullable}.get)
    return column.to_pandas()


def run_polars(declared: Declared, frame: Any, options: dict[str, Any]) -> Any:
    """Run on a Polars DataFrame."""
    table = read_polars(declared, frame)
    results = import_module("polars").from_arrow(run_whole(Local(declared, table.schema, **options), table))
    kept = {} if declared.per_row else {name: frame.schema[name] for name in declared.by}
    for name, aggregate in declared.aggregates.items():
        if aggregate.gives == "value":
            names = [declared.result_name(name, window) for window in declared.windows] if declared.per_row else [name]
            kept |= dict.fromkeys(names, frame.schema[aggregate.columns[-1]])
    results = results.cast({name: kind for name, kind in kept.items() if results.schema[name] != kind})
    return frame.hstack(results) if declared.per_row else results


def read_polars(declared: Declared, frame: Any) -> pa.Table:
    """Return what is read of a Polars DataFrame."""
    refuse_missing(declared, frame.columns)
    needed = frame if _reads_all(declared) else frame.select(declared.columns)
    polars = import_module("polars")
    table = needed.to_arrow(compat_level=polars.CompatLevel.oldest())
    for place, (name, kind) in enumerate(needed.schema.items()):
        if isinstance(kind, polars.Enum):  # whose order Arrow isn't told
            codes = needed[name].to_physical().cast(polars.Int32).to_arrow()
            values = pa.array(kind.categories.to_list(), pa.string())
            table = table.set_column(place, name, pa.DictionaryArray.from_arrays(codes, values, ordered=True))
    return table if declared.columns else pa.table({"": pa.nulls(frame.height)})


def run_lazy(declared: Declared, frame: Any, options: dict[str, Any]) -> Any:
    """Run on a Polars LazyFrame, which is collected."""
    return run_polars(declared, frame.collect(), options).lazy()


def run_spark(declared: Declared, frame: Any, options: dict[str, Any]) -> Any:
    """Run on a DataFrame of PySpark's: nothing is computed before it is asked for."""
    return import_module("sash.spark").prepare(declared, frame, options).run()


def needed_of(declared: Declared, table: pa.Table) -> pa.Table:
    """Return the columns of a table that a query reads; all, if it reads whole rows, or only counts them."""
    return table if _reads_all(declared) else table.select(declared.columns)


def _reads_all(declared: Declared) -> bool:
    return any("*" in window.columns for window in declared.windows.values()) or not declared.columns
