"""Sash on Spark: `query.run(df)` takes the DataFrames of any session. Here are a local session, demo data and streaming state."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import timedelta
from typing import TYPE_CHECKING, Any, TypeAlias

from sash.plan.declared import Declared
from sash.windows.durations import read_duration

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

    from sash.spark.batch.batch_query import BatchQuery
    from sash.spark.streaming.stream_query import StreamQuery

    # For the signatures of Query: only this package imports PySpark.
    SparkDataFrame: TypeAlias = DataFrame
    SparkSchema: TypeAlias = StructType

# PySpark is optional and takes a second to import, so every function imports what it needs when it is called.
# ruff: noqa: PLC0415

OLDEST = (4, 1)


def session(name: str = "sash", *, cores: int | None = None, memory: str | None = None, **conf: Any) -> SparkSession:
    """Return the active Spark session, or start one on this machine with settings that suit Sash.

    A new session runs on `cores` cores (default: all) and has `memory` as Spark writes it, such as "4g" (default: half of
    the machine's memory, at most 8g). Arrow is on, streaming state is in RocksDB, tables go to a temporary folder, and Spark
    logs only errors. In a terminal it shows progress. `conf` has further Spark settings, which win.

    Raises ModuleNotFoundError if PySpark is missing, RuntimeError if Spark is older than 4.1 or Java is missing or too old.

    >>> import sash
    >>> spark = sash.spark.session(cores=2, **{"spark.sql.session.timeZone": "UTC"})  # doctest: +SKIP
    >>> spark.range(3).count()  # doctest: +SKIP
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

    The stream has `rows_per_second` rows for each second since it began, without end or up to `rows`.
    `trigger(availableNow=True)` reads all `rows` at once. `rows_per_batch` limits a micro-batch. A share `late` of the rows
    arrives after newer rows, with a delay of at most `lateness`: `withWatermark("ts", "2 minutes")` drops none of them, a
    shorter delay drops some. With `speed=60` a minute of `ts` passes in a second. The same `seed` gives the same rows,
    independent of micro-batches and restarts.

    Afterwards the session knows the format "sash_readings" with these arguments as options:
    `spark.read.format("sash_readings").option("rows", 100)` is a table of the same rows.

    Spark 4.1 has no read limits for Python sources: there `rows_per_batch` raises ValueError, and a stream with `rows`
    gives all of them in its first micro-batch, with any trigger.

    >>> import sash
    >>> spark = sash.spark.session()  # doctest: +SKIP
    >>> sash.spark.readings(spark, rows_per_second=50_000).isStreaming  # doctest: +SKIP
    True
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


def counts(progress: Any, metrics: str = "sash") -> dict[str, int]:
    """Return the number of rows of a micro-batch, of its late rows, and of its rows without a usable time.

    `progress` is a progress of a streaming query, such as `lastProgress`. It has these numbers as observed metrics, in a
    different form on Spark Connect.

    >>> import sash
    >>> sash.spark.counts({"observedMetrics": {"sash": {"rows": 500, "late": 12, "bad_times": 0}}})
    {'rows': 500, 'late': 12, 'bad_times': 0}
    """
    names = ("rows", "late", "bad_times")
    observed = progress["observedMetrics"].get(metrics)
    if observed is None:
        return dict.fromkeys(names, 0)
    found = observed if isinstance(observed, dict) else observed.asDict()
    if "values" in found:
        found = dict(zip(names, found["values"], strict=True))
    return {name: int(found[name] or 0) for name in names}


def inspect_state(checkpoint: str) -> DataFrame:
    """Return the state in the checkpoint of a stopped stream: a row for each key, with its slices or rows and their bytes.

    >>> import sash
    >>> sash.spark.inspect_state("checkpoint").show()  # doctest: +SKIP
    +------+------+------+----+-----+-------------------+-------------------+-------------------+
    |   key|bucket|slices|rows|bytes|             oldest|             newest|          watermark|
    +------+------+------+----+-----+-------------------+-------------------+-------------------+
    |{1, 2}|    38|     5|   0|  394|2026-03-02 18:01:00|2026-03-02 18:05:00|2026-03-02 18:04:39|
    """
    spark = session()
    from sash.spark.streaming import checkpoint as checkpoints

    return checkpoints.inspect_state(spark, str(checkpoint))


def finish(query: Any, stream: DataFrame, checkpoint: str, **options: Any) -> DataFrame:
    """Return the results that are still open in the checkpoint of a stopped stream, as a DataFrame that is not streaming.

    Together with the results that the stream emitted they are the results of a batch run on the same rows. `stream` and
    `options` are the arguments of `query.run`. The checkpoint does not change: a stream that continues from it emits these
    results again, when its watermark has passed them.

    >>> import sash
    >>> sash.spark.finish(query, df, "checkpoint").write.mode("append").parquet("results")  # doctest: +SKIP
    """
    require_pyspark()
    check_version("this session", stream.sparkSession.version)
    from sash.spark.streaming import checkpoint as checkpoints

    return checkpoints.finish(stream_query(query._declared, stream, options), str(checkpoint))  # noqa: SLF001


def batch_query(query: Declared, frame: DataFrame, options: Mapping[str, Any]) -> BatchQuery:
    """Return a query on a DataFrame that is no stream: the entry of `Query.run` and `Query.explain`."""
    require_pyspark()
    check_version("this session", frame.sparkSession.version)
    from sash.spark.batch.batch_query import BatchOptions, BatchQuery

    return BatchQuery(query, frame, BatchOptions(**options))


def stream_query(query: Declared, stream: DataFrame, options: Mapping[str, Any]) -> StreamQuery:
    """Return a query on a streaming DataFrame: the entry of `Query.run` and `Query.explain`."""
    require_pyspark()
    check_version("this session", stream.sparkSession.version)
    from sash.spark.streaming.stream_query import StreamOptions, StreamQuery

    return StreamQuery(query, stream, StreamOptions(**options))


def require_pyspark() -> None:
    """Raise ModuleNotFoundError if PySpark is missing, RuntimeError if it is too old to import the modules of this package."""
    try:
        import pyspark.sql
    except ModuleNotFoundError as error:
        message = f'Spark is not installed ({error.name} is missing): pip install "sash[spark]".'
        raise ModuleNotFoundError(message, name=error.name) from error
    check_version("the installed PySpark", pyspark.__version__)


def check_version(what: str, version: str) -> None:
    """Raise RuntimeError if a version of Spark is older than the oldest that Sash supports.

    >>> check_version("this session", "4.1.0")
    >>> check_version("this session", "4.0.1")
    Traceback (most recent call last):
    RuntimeError: Sash needs Spark 4.1 or later, and this session is Spark 4.0.1: pip install "pyspark[connect]>=4.1,<5".
    """
    numbers = tuple(map(int, re.findall(r"\d+", version)[:2]))
    if numbers < OLDEST:
        oldest = ".".join(map(str, OLDEST))
        message = (
            f"Sash needs Spark {oldest} or later, and {what} is Spark {version}: "
            f'pip install "pyspark[connect]>={oldest},<5".'
        )
        raise RuntimeError(message)
