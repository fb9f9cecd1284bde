"""Sash on Spark: `query.run(df)` takes frames of any session; here are a local session, a stream to try, the state of streams."""

from __future__ import annotations

from datetime import timedelta
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

from sash.windows.durations import read_duration

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def session(name: str = "sash", *, cores: int | None = None, memory: str | None = None, **conf: Any) -> SparkSession:
    """Return the active Spark session as it is, or else start one on this machine that is set up for Sash.

    It runs on all cores or on `cores`, with `memory` as Spark writes it ("4g"), or else half of the machine's, at most 8g.
    Arrow is on, the state of streams is in RocksDB, tables go to a temporary folder, and nothing is printed but errors
    and, in a terminal, progress. `conf` has further settings of Spark.

    >>> import sash
    >>> spark = sash.spark.session(cores=2, **{"spark.sql.session.timeZone": "UTC"})  # doctest: +SKIP
    >>> spark.range(3).count()  # doctest: +SKIP
    3
    """
    started: SparkSession = _engine("local_session").session(name, cores, memory, conf)
    return started


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
    """Return a stream of made-up readings of smart plugs, with the columns of `examples/data/readings.parquet`.

    So many rows a second come since the stream began, or up to `rows`, which `trigger(availableNow=True)` takes at once;
    `rows_per_batch` limits a batch. A share `late` of them comes after readings of later times, by `lateness` at most:
    `withWatermark("ts", "2 minutes")` loses none, a shorter one some. With `speed=60` a minute of `ts` passes in a
    second. The same `seed` gives the same rows, whatever batches they come in, and after a restart.

    Once called, the session also knows the format "sash_readings", which has these arguments as options:
    `spark.read.format("sash_readings").option("rows", 100)` is a table of the same rows.

    >>> import sash
    >>> spark = sash.spark.session()  # doctest: +SKIP
    >>> sash.spark.readings(spark, rows_per_second=50_000).isStreaming  # doctest: +SKIP
    True
    """
    asked = {
        "rows_per_second": rows_per_second,
        "households": households,
        "late": late,
        "lateness": str(read_duration(lateness, "lateness")),
        "speed": speed,
        "seed": seed,
        "rows": rows,
        "rows_per_batch": rows_per_batch,
    }
    options = {name: str(given) for name, given in asked.items() if given is not None}
    stream: DataFrame = _engine("readings_source").stream(spark, options)
    return stream


def counts(progress: Any, metrics: str = "sash") -> dict[str, int]:
    """Return how many rows a micro-batch had, how many came too late, and how many had no time that could be used.

    `progress` is one of a streaming query's, as `lastProgress`. Spark has the same numbers in it as observed metrics, in
    another form on Spark Connect.

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
    """Return what a stopped stream has kept in its checkpoint: a row for each key, with its slices or rows and their bytes.

    >>> import sash
    >>> sash.spark.inspect_state("checkpoint").show()  # doctest: +SKIP
    +------+------+------+----+-----+-------------------+-------------------+-------------------+
    |   key|bucket|slices|rows|bytes|             oldest|             newest|          watermark|
    +------+------+------+----+-----+-------------------+-------------------+-------------------+
    |{1, 2}|    38|     5|   0|  394|2026-03-02 18:01:00|2026-03-02 18:05:00|2026-03-02 18:04:39|
    """
    held: DataFrame = _engine("streaming.checkpoint").inspect_state(session(), str(checkpoint))
    return held


def finish(query: Any, stream: DataFrame, checkpoint: str, **options: Any) -> DataFrame:
    """Return the results of all that is still open in a stopped stream's checkpoint, as a frame that is no stream.

    Together with those that the stream gave they are the results of a batch run on the same rows. `stream` and `options`
    are those that `query.run` was given. The checkpoint stays as it is: a stream that goes on from it gives these results
    once more, when its watermark has passed them.

    >>> import sash
    >>> sash.spark.finish(query, df, "checkpoint").write.mode("append").parquet("results")  # doctest: +SKIP
    """
    stream_query = _engine("streaming.stream_query")
    engine = stream_query.StreamQuery(query._declared, stream, stream_query.StreamOptions(**options))  # noqa: SLF001
    rest: DataFrame = _engine("streaming.checkpoint").finish(engine, str(checkpoint))
    return rest


def _engine(module: str) -> ModuleType:
    """Import a module that imports PySpark, or say how to get it."""
    try:
        return import_module(f"sash.spark.{module}")
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("sash"):
            raise
        message = f'Spark is not installed ({error.name} is missing): pip install "sash[spark]".'
        raise ModuleNotFoundError(message, name=error.name) from error
