"""A query on a DataFrame that must not be analysed: its schema is given, and an empty frame stands in for it while Sash plans.

    an empty frame of the schema ──► query.run ──► the plan of the results
        ▲ replaced by the frame itself, which Spark analyses when the pipeline runs

Declarative Pipelines need this. Their query functions may not ask for the schema of a DataFrame, because the tables of the pipeline
do not exist yet. The types of results depend on those of the columns, so somebody has to name them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 — the usual name
from pyspark.sql.types import DataType, StructType

from sash.aggregates.sql import quote
from sash.spark.private import is_connect, is_stream_plan, replace_input, watermark_delay, watermarks_of
from sash.workers.worker_function import MARK

_is_planning: ContextVar[bool] = ContextVar("is_planning", default=False)


def runs_no_job() -> bool:
    """Return whether the frame is an empty one that stands in for another, so that a job would find nothing in it."""
    return _is_planning.get()


def run_with_schema(query: Any, frame: DataFrame, schema: StructType | str, options: Mapping[str, Any]) -> DataFrame:
    """Return the results of a query on a frame with this schema, without analysing the frame."""
    if "at" in options:
        raise TypeError("run_with_schema: at= does not apply, because the schema of the labels is not given.")
    with ThreadPoolExecutor(1) as pool:
        # Spark forbids analysis to the thread that calls the function of a pipeline. The stand-in has nothing of the pipeline.
        results: DataFrame = pool.submit(_plan, query, frame, schema, options).result()
    return results


def _plan(query: Any, frame: DataFrame, columns: StructType | str, options: Mapping[str, Any]) -> DataFrame:
    schema = _read_schema(columns)
    if not is_connect(frame):
        marked = [field.name for field in frame.schema if watermark_delay(field) is not None]
        direct: DataFrame = query.run(_checked(frame, schema, marked), **options)
        return direct
    watermarks = watermarks_of(frame)
    stand_in = _empty(frame, schema, watermarks).select("*")
    _is_planning.set(True)  # in this thread, which ends with the plan
    results: DataFrame = query.run(stand_in, **options)
    replace_input(stand_in, _checked(frame, schema, [column for column, _ in watermarks]))
    return results


def _checked(frame: DataFrame, schema: StructType, as_they_are: Sequence[str]) -> DataFrame:
    """Return the columns of a frame that a schema names; those of other types raise an error when they are read.

    `DataFrame.to` would check them too, but its plan makes Spark analyse its input at once. Spark knows the result of `typeof` when
    it plans, so nothing is left of a check that passes. A column that is computed has no watermark, so others stay as they are.
    """
    columns = []
    for field in schema:
        column, expected = F.col(quote(field.name)), field.dataType.simpleString()
        dtype = F.typeof(column)
        before = F.lit(f"{MARK} Column {field.name!r} is of type ")
        error = F.concat(before, dtype, F.lit(f", but the schema of run_with_schema says {expected}."))
        checked = F.when(dtype == F.lit(expected), column).otherwise(F.raise_error(error)).alias(field.name)
        columns.append(column if field.name in as_they_are else checked)
    return frame.select(*columns)


def _read_schema(columns: StructType | str) -> StructType:
    try:
        schema = DataType.fromDDL(columns) if isinstance(columns, str) else columns
    except PySparkException as error:
        raise ValueError(
            f'run_with_schema: schema={columns!r} is not a schema that Spark can read. An example: "house int, ts timestamp, load double".'
        ) from error
    if not isinstance(schema, StructType):
        raise TypeError(
            f'run_with_schema: schema={columns!r} must name columns and types, as in "ts timestamp, load double".'
        )
    return schema


def _empty(frame: DataFrame, schema: StructType, watermarks: Sequence[tuple[str, str]]) -> DataFrame:
    """Return a frame without rows that has the schema, and is a stream with the same watermarks if the frame is one."""
    session = frame.sparkSession
    if not is_stream_plan(frame):
        return session.createDataFrame([], schema)
    nothing = [F.lit(None).cast(field.dataType).alias(field.name) for field in schema]
    stream = session.readStream.format("rate").load().select(*nothing)
    for column, delay in watermarks:
        if column in schema.names:
            stream = stream.withWatermark(column, delay)
    return stream
