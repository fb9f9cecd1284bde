"""strategy="native" on streams: Spark's own operator emits the windows that the watermark has passed, as batch computes them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 — the usual name

import sash
from sash import agg, window
from sash.windows import Window

START = datetime(2026, 1, 1, tzinfo=UTC)
SCHEMA = "k string, ts timestamp, x bigint"
AGGREGATES = {"n": agg.count(), "s": agg.sum("x"), "top": agg.max("x"), "large": agg.count("x", where="x > 6")}


def write_rows(spark: SparkSession, folder: Path, minutes: list[float | None]) -> None:
    """Write a micro-batch with rows of two keys at some minutes; None for a row without a time."""
    times = [None if minute is None else START + timedelta(minutes=minute) for minute in minutes]
    rows = [(key, time, number) for number, time in enumerate(times) for key in "ab"]
    spark.createDataFrame(rows, SCHEMA).coalesce(1).write.mode("append").parquet(str(folder))


def stream_of(spark: SparkSession, folder: Path) -> DataFrame:
    return spark.readStream.schema(SCHEMA).parquet(str(folder)).withWatermark("ts", "2 minutes")


def run(results: DataFrame, folder: Path) -> list[Any]:
    """Run a stream over the files that are there, and return all that it has emitted so far."""
    writer = results.writeStream.option("checkpointLocation", str(folder / "checkpoint")).format("parquet")
    writer.option("path", str(folder / "out")).trigger(availableNow=True).start().awaitTermination()
    return results.sparkSession.read.schema(results.schema).parquet(str(folder / "out")).collect()


@pytest.mark.oldest
@pytest.mark.connect
@pytest.mark.parametrize(
    "windows", [window.tumbling("5m", offset="1m"), window.time("6m", slide="3m"), window.session("3m")], ids=str
)
def test_windows_are_emitted_when_the_watermark_has_passed(
    spark: SparkSession, tmp_path: Path, windows: Window
) -> None:
    query = sash.Query(AGGREGATES, windows, by="k", time="ts")
    rows = tmp_path / "rows"
    write_rows(spark, rows, [0, 1, 2, 7, 8, 9, 14])
    emitted = run(query.run(stream_of(spark, rows), strategy="native"), tmp_path)
    write_rows(spark, rows, [13, 20, 0.5])  # the last one is late for all its windows
    emitted = run(query.run(stream_of(spark, rows), strategy="native"), tmp_path)
    on_time = spark.read.parquet(str(rows)).where(F.col("ts") != START + timedelta(minutes=0.5))
    closed = query.run(on_time).where(F.col("window_end") <= START + timedelta(minutes=18))
    assert sorted(emitted) == sorted(closed.collect())
    assert len(emitted) >= 4


def test_schema_and_watermark_are_those_of_sash(spark: SparkSession, tmp_path: Path) -> None:
    write_rows(spark, tmp_path, [0])
    query = sash.Query(AGGREGATES, window.tumbling("5m"), by="k", time="ts")
    stream = stream_of(spark, tmp_path)
    native, own = query.run(stream, strategy="native"), query.run(stream)
    assert native.schema == own.schema
    assert "a stream, native" in str(query.explain(stream, strategy="native"))
    assert 'strategy="native"' in str(query.explain(stream))


@pytest.mark.parametrize("minutes", [[0, None], [None, None]], ids=["one", "a whole file"])
def test_a_row_without_a_time_stops_the_stream(
    spark: SparkSession, tmp_path: Path, minutes: list[float | None]
) -> None:
    write_rows(spark, tmp_path / "rows", minutes)
    query = sash.Query(AGGREGATES, window.tumbling("5m"), by="k", time="ts")
    with pytest.raises(StreamingQueryException, match=r"\[SASH\] The time column 'ts' has nulls"):
        run(query.run(stream_of(spark, tmp_path / "rows"), strategy="native"), tmp_path)


@pytest.mark.parametrize(
    ("windows", "options", "sentence"),
    [
        (window.tumbling("5m"), {"mode": "update"}, "mode='update' does not go with"),
        (window.tumbling("5m"), {"late": "keep"}, "late='keep' does not go with"),
        (window.tumbling("5m"), {"forget": "1h"}, "forget='1h' does not go with"),
        (window.tumbling("5m"), {"evolve": True}, "evolve=True does not go with"),
        (window.tumbling("5m"), {"state_from": "x"}, "state_from='x' does not go with"),
        (window.tumbling("5m"), {"on_bad_time": "drop"}, "on_bad_time='drop' does not go with"),
        (window.tumbling("5m"), {"ahead": None}, "ahead=None does not go with"),
        (window.tumbling("5m"), {"buckets": 3}, "buckets=3 does not go with"),
        (window.time("5m", slide="5m", closed="right"), {}, "is not like Spark's own windows"),
        (window.rows(3), {}, "Spark has no frames on streams"),
    ],
    ids=str,
)
def test_what_does_not_fit_is_refused(
    spark: SparkSession, tmp_path: Path, windows: Window, options: dict[str, Any], sentence: str
) -> None:
    write_rows(spark, tmp_path, [0])
    query = sash.Query(AGGREGATES, windows, by="k", time="ts")
    with pytest.raises(ValueError, match=sentence):
        query.run(stream_of(spark, tmp_path), strategy="native", **options)


def test_other_strategies_are_refused(spark: SparkSession, tmp_path: Path) -> None:
    write_rows(spark, tmp_path, [0])
    query = sash.Query(AGGREGATES, window.tumbling("5m"), by="k", time="ts")
    with pytest.raises(ValueError, match=r"strategy='slices' is not for streams"):
        query.run(stream_of(spark, tmp_path), strategy="slices")
    with pytest.raises(ValueError, match="finish reads the state of Sash"):
        sash.spark.finish(query, stream_of(spark, tmp_path), "checkpoint", strategy="native")
