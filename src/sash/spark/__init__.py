"""Sash on Spark: a local session, demo data, and the state of streams. `query.run(df)` takes the DataFrames of any session."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import TYPE_CHECKING, Any, TypeAlias

from sash.durations import read_duration
from sash.options import SparkStreamOptions, read_options
from sash.plan.query_spec import QuerySpec

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

    from sash.spark.spark_query import SparkQuery

    # For the signatures of Query: only this package imports PySpark.
    SparkDataFrame: TypeAlias = DataFrame
    SparkSchema: TypeAlias = StructType

# PySpark is optional and takes a second to import, so every function imports what it needs when it is called.
# ruff: noqa: PLC0415

__all__ = ["counts", "finish", "inspect_state", "readings", "run_with_schema", "session"]

OLDEST = (4, 1)
METRICS = "sash"
"""The name of the counts of a stream among Spark's observed metrics; further queries have a number after it."""
COUNTED = ("rows", "late", "bad_times", "overlap", "forgotten", "keys", "slices", "state_rows", "state_bytes")
"""What is counted in each micro-batch: rows that arrived, late rows, rows without a usable time, rows before `until` that the
history has, keys that were forgotten; and the state of
the buckets that it changed: keys, slices, rows, and the bytes written to the state store."""


def session(name: str = "sash", *, cores: int | None = None, memory: str | None = None, **conf: Any) -> SparkSession:
    """Return the active Spark session, or start a local one with settings that suit Sash.

    The arguments apply to a new session only. `name` is the name of the application, `cores` the number of cores (default: all), `memory`
    the memory of the driver in Spark's form, such as "4g" (default: half of the machine's memory, at most 8g). `conf` holds further
    Spark settings, which take precedence. A new session uses Arrow and stores streaming state in RocksDB; tables go to a
    temporary folder, and only errors are logged.

    Errors: ModuleNotFoundError if PySpark is missing. RuntimeError if Spark is older than 4.1, or if Java is missing or older than 17.

    >>> import sash
    >>> spark = sash.spark.session(cores=2, **{"spark.sql.session.timeZone": "UTC"})
    >>> spark.range(3).count()
    3
    """
    require_pyspark()
    from sash.spark.local_session import start

    spark = start(name, cores, memory, conf)
    check_version("this session", spark.version)
    return spark


def readings(
    spark: SparkSession,
    *,
    rows_per_second: float = 1_000,
    households: int = 6,
    late: float = 0.05,
    lateness: str | timedelta = "2m",
    speed: float = 1,
    seed: int = 0,
    rows: int | None = None,
    rows_per_batch: int | None = None,
) -> DataFrame:
    """Return a stream of generated smart-plug readings, with the columns of `examples/data/readings.parquet`.

    `spark` is the session. The stream has `rows_per_second` rows for each second since it started, up to `rows` or without end;
    `trigger(availableNow=True)` reads all `rows` at once. `rows_per_batch` limits a micro-batch. `households` is the number of households. A
    share `late` of the rows arrives after newer rows, with a delay of at most `lateness`: `withWatermark("ts", "2 minutes")` drops none
    of them, a shorter delay drops some. With `speed=60` a minute of `ts` passes in a second. The same `seed` gives the same
    rows, however they are split into micro-batches.

    Nulls and NaN: about one `load` in 250 is null.
    Result: a streaming DataFrame. The session then knows the format "sash_readings", with these arguments as options:
    `spark.read.format("sash_readings").option("rows", 100)` is a table of the same rows.
    Errors: ValueError if an argument is out of range, or if `rows_per_batch` is given on Spark 4.1, whose Python sources have no read
    limits: there a stream with `rows` returns all of them in its first micro-batch, with any trigger.

    >>> import sash
    >>> spark = sash.spark.session()
    >>> stream = sash.spark.readings(spark, rows=1_000)
    >>> stream.isStreaming, stream.columns
    (True, ['house', 'household', 'plug', 'ts', 'load', 'work'])
    """
    require_pyspark()
    from sash.spark.readings_source import stream

    arguments = {
        "rows_per_second": rows_per_second,
        "households": households,
        "late": late,
        "lateness": str(read_duration(lateness, "lateness")),
        "speed": speed,
        "seed": seed,
        "rows": rows,
        "rows_per_batch": rows_per_batch,
    }
    return stream(spark, {name: str(value) for name, value in arguments.items() if value is not None})


def counts(progress: Any, metrics: str | None = None) -> dict[str, int]:
    """Return the counts of a micro-batch: of its rows, and of the state that it wrote.

    `progress` is a progress of a streaming query, such as `lastProgress`. `metrics` is the name of the counts, if `run(stream, metrics=…)`
    gave them one. Without it, the counts of all queries of the stream that have no such name are added up. Classic Spark and Spark
    Connect store these observed metrics in different forms; this function reads both.

    Result: a dictionary, all 0 if the progress has no such metrics. "rows" is the number of rows that arrived, "late" how many of them
    were late, and "bad_times" how many had no valid time, and "overlap" how many are older than `until` and were ignored. "forgotten" is the number of keys that `forget` dropped. "keys", "slices", "state_rows" and "state_bytes" are the state of the buckets that
    the micro-batch changed: those with new rows, or with results that were due. "state_bytes" is what it wrote to the state store. A key
    counts once for each group of windows that share a state, as in `inspect_state`.
    Errors: TypeError if `progress` is None, as `lastProgress` is before the first micro-batch.

    >>> import sash
    >>> observed = {"rows": 500, "late": 12, "keys": 40, "slices": 80, "state_bytes": 9000}
    >>> sash.spark.counts({"observedMetrics": {"sash": observed}})
    {'rows': 500, 'late': 12, 'bad_times': 0, 'overlap': 0, 'forgotten': 0, 'keys': 40, 'slices': 80, 'state_rows': 0, 'state_bytes': 9000}
    """
    observed = progress["observedMetrics"]
    names = [name for name in observed if re.fullmatch(rf"{METRICS}(_\d+)?", name)] if metrics is None else [metrics]
    total = dict.fromkeys(COUNTED, 0)
    for name in names:
        counted = observed.get(name) or {}
        counted = counted if isinstance(counted, dict) else counted.asDict()
        if "values" in counted:
            counted = dict(zip(COUNTED, counted["values"], strict=True))
        for count in COUNTED:
            total[count] += int(counted.get(count) or 0)
    return total


def inspect_state(checkpoint: str) -> DataFrame:
    """Return the state of a stream, one row per key and group of windows that share a state. The stream may run.

    `checkpoint` is the path of its checkpoint. The active session reads it; if there is none, a local session starts.

    Result: a DataFrame with the columns key (if the query has keys), windows (their names), bucket, slices, rows, bytes, oldest, newest and watermark.
    It is the state after the newest micro-batch that is committed. A stream that runs deletes old micro-batches, so use the DataFrame soon.
    Errors: ValueError if the checkpoint has no state of a Sash query, because the stream has not run yet or runs no such query. If part
    of a state is missing or damaged, the job that computes the result fails.

    >>> import sash
    >>> from sash import agg, window
    >>> spark = sash.spark.session()
    >>> stream = sash.spark.readings(spark, rows=500).withWatermark("ts", "2 minutes")
    >>> query = sash.Query({"peak": agg.max("load")}, window.tumbling("1m"), by="house", time="ts")
    >>> writer = query.run(stream, buckets=2).writeStream.option("checkpointLocation", "checkpoint")
    >>> writer.format("noop").trigger(availableNow=True).start().awaitTermination()
    >>> sash.spark.inspect_state("checkpoint").columns
    ['key', 'windows', 'bucket', 'slices', 'rows', 'bytes', 'oldest', 'newest', 'watermark']
    """
    spark = session()
    from sash.spark.streaming import checkpoint as checkpoints

    return checkpoints.inspect_state(spark, str(checkpoint))


def finish(query: Any, stream: DataFrame, checkpoint: str, **options: Any) -> DataFrame:
    """Return the results that are still open in the checkpoint of a stopped stream.

    `query` and `stream` are the query and its streaming DataFrame, `checkpoint` the path of the checkpoint, and `options` the options of
    `query.run` that the stream ran with. The checkpoint does not change: a stream that continues from it emits these results again.

    Result: a DataFrame that is not streaming. Together with the emitted results, these are the results of a batch run on the same rows.
    Errors: ValueError if the checkpoint has no state of a Sash query, or of several. If it belongs to a different query, the job that
    computes the result fails with an error that says what differs.

    >>> import sash
    >>> from sash import agg, window
    >>> spark = sash.spark.session()
    >>> stream = sash.spark.readings(spark, rows=500).withWatermark("ts", "2 minutes")
    >>> query = sash.Query({"peak": agg.max("load")}, window.tumbling("1m"), by="house", time="ts")
    >>> writer = query.run(stream, buckets=2).writeStream.option("checkpointLocation", "checkpoint")
    >>> writer.format("noop").trigger(availableNow=True).start().awaitTermination()
    >>> sash.spark.finish(query, stream, "checkpoint", buckets=2).columns
    ['house', 'window_start', 'window_end', 'peak']
    """
    require_pyspark()
    check_version("this session", stream.sparkSession.version)
    from sash.spark.streaming import checkpoint as checkpoints
    from sash.spark.streaming.stream_query import StreamQuery

    given = read_options(SparkStreamOptions, options)
    if given["strategy"] != "auto":
        raise ValueError('finish reads the state of Sash\'s own operator. A stream with strategy="native" has none.')
    streaming = StreamQuery(query._declared, stream, given)  # noqa: SLF001
    return streaming.in_own_case(checkpoints.finish(streaming, str(checkpoint)))


def run_with_schema(query: Any, frame: DataFrame, schema: Any, **options: Any) -> DataFrame:
    """Run a query on a DataFrame whose schema Spark may not be asked for: in the query functions of Declarative Pipelines.

    `query` is a query, `frame` a DataFrame, batch or streaming, `schema` its columns as a StructType or as text, and `options` the
    options of `query.run`, without `at`. Other columns of the frame are dropped. A stream needs its watermark as always.

    Nulls and NaN: as in `query.run`.
    Result: a DataFrame, as `query.run(frame, **options)` returns. If the frame has other columns than the schema, Spark raises the error
    when it analyses the pipeline.
    Errors: those of `query.run`. ValueError if the schema is invalid, or with `strategy="ranges"` or `skew="auto"` on Spark Connect, which need to run a job first.

    >>> import sash
    >>> from sash import agg, window
    >>> spark = sash.spark.session()
    >>> readings = spark.read.parquet("examples/data/readings.parquet")
    >>> query = sash.Query({"peak": agg.max("load")}, window.tumbling("1h"), by="house", time="ts")
    >>> sash.spark.run_with_schema(query, readings, "house int, ts timestamp, load double").columns
    ['house', 'window_start', 'window_end', 'peak']
    """
    require_pyspark()
    from sash.spark import given_schema

    return given_schema.run_with_schema(query, frame, schema, options)


def is_stream(frame: DataFrame) -> bool:
    """Return whether a DataFrame is a stream. Raise RuntimeError where Spark forbids to ask."""
    require_pyspark()
    from pyspark.errors import PySparkException

    from sash.spark.private import FORBIDDEN

    try:
        return bool(frame.isStreaming)
    except PySparkException as error:
        if FORBIDDEN not in str(error):
            raise
        raise RuntimeError(
            "Spark forbids to ask for the columns of a DataFrame in the query function of a pipeline. Name them: "
            'sash.spark.run_with_schema(query, df, "house int, ts timestamp, load double").'
        ) from error


def query_on_spark(query: QuerySpec, frame: DataFrame, options: Any) -> SparkQuery:
    """Return a query on a DataFrame, batch or streaming: the entry of `Query.run` and `Query.explain`."""
    require_pyspark()
    check_version("this session", frame.sparkSession.version)
    if "at" not in options:  # an option of batch queries
        from sash.spark.streaming.stream_query import NativeStream, StreamQuery

        if (strategy := options["strategy"]) not in ("auto", "native"):
            raise ValueError(f'run: strategy={strategy!r} is not for streams. Use "native", or leave it out.')
        return (NativeStream if strategy == "native" else StreamQuery)(query, frame, options)
    from sash.spark.batch.batch_query import BatchQuery, LabelQuery

    return (BatchQuery if options["at"] is None else LabelQuery)(query, frame, options)


def require_pyspark() -> None:
    """Raise ModuleNotFoundError if PySpark is missing, RuntimeError if it is too old to import the modules of this package."""
    try:
        import pyspark.sql
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            f'Spark is not installed ({error.name} is missing). Run pip install "sash[spark]".', name=error.name
        ) from error
    check_version("the installed PySpark", pyspark.__version__)


def check_version(what: str, version: str) -> None:
    """Raise RuntimeError if a version of Spark is older than the oldest that Sash supports.

    >>> check_version("this session", "4.1.0")
    >>> check_version("this session", "4.0.1")
    Traceback (most recent call last):
    RuntimeError: Sash needs Spark 4.1 or later, but this session is Spark 4.0.1. Run pip install "pyspark[connect]>=4.1,<5".
    """
    numbers = tuple(map(int, re.findall(r"\d+", version)[:2]))
    if numbers < OLDEST:
        oldest = ".".join(map(str, OLDEST))
        raise RuntimeError(
            f"Sash needs Spark {oldest} or later, but {what} is Spark {version}. Run "
            f'pip install "pyspark[connect]>={oldest},<5".'
        )
