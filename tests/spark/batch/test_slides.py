"""Windows with a slide on Spark: closed on the right, with gaps between them, and with empty ones, by every strategy that fits."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa
import pytest
from helpers.spark.matrix import assert_same
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 — the usual name

import sash
from sash import agg, window
from sash.windows import Window

AGGREGATES = {"n": agg.count(), "total": agg.sum("x"), "top": agg.max("x")}
ORDER = ["key", "window_start", "window_end"]
MANY: dict[str, Window] = {
    "right": window.time("10s", slide="4s", closed="right"),
    "apart": window.time("2s", slide="5s", closed="right"),
    "empty": window.tumbling("3s", closed="right", empty=True),
    "empty apart": window.time("1s", slide="3s", empty=True),
    "empty hours": window.cumulative("6s", "2s", empty=True),
}


def rows_at_borders() -> pa.Table:
    """Rows at whole seconds or a microsecond beside, of a key that dominates and of others."""
    seconds = [number * 7 % 91 + (number % 9 == 0) * 200 for number in range(240)]
    start = datetime(1969, 12, 31, 23, 59, tzinfo=UTC)
    times = [start + timedelta(seconds=one, microseconds=number % 3 - 1) for number, one in enumerate(seconds)]
    return pa.table(
        {
            "t": pa.array(times, pa.timestamp("us", "UTC")),
            "key": [["a", "a", "a", "b", None][number % 5] for number in range(240)],
            "x": pa.array([None if number % 11 == 0 else number for number in range(240)], pa.int64()),
        }
    )


@pytest.mark.parametrize("name", MANY)
def test_every_strategy_agrees_with_the_local_engine(spark: SparkSession, name: str) -> None:
    table = rows_at_borders()
    frame = spark.createDataFrame(table)
    query = sash.Query(AGGREGATES, MANY[name], by="key", time="t")
    expected = query.run(table, compiled=False)
    assert any(not n for n in expected["n"].to_pylist()) == MANY[name].emits_empty
    strategies: list[Any] = ["slices", "buckets", *([] if MANY[name].emits_empty else ["ranges"])]
    for strategy in strategies:
        found = query.run(frame, strategy=strategy, compiled=False).toArrow()
        assert_same(found.cast(expected.schema), expected, ORDER)


def test_the_time_axis_is_not_split_for_empty_windows(spark: SparkSession) -> None:
    table = rows_at_borders()
    frame = spark.createDataFrame(table)
    query = sash.Query({**AGGREGATES, "middle": agg.median("x")}, MANY["empty"], time="t")
    with pytest.raises(ValueError, match=r'strategy="ranges" does not fit: how far tumbling.* is not known'):
        query.run(frame, strategy="ranges")
    assert_same(query.run(frame, compiled=False).toArrow(), query.run(table, compiled=False), ORDER[1:])


def test_right_closed_windows_equal_those_of_spark_one_microsecond_earlier(spark: SparkSession) -> None:
    frame = spark.createDataFrame(rows_at_borders())
    earlier = F.timestamp_micros(F.unix_micros("t") - 1)
    spans = F.window(earlier, "10 seconds", "4 seconds").alias("w")
    native = frame.groupBy("key", spans).agg(
        F.count("*").alias("n"), F.sum("x").alias("total"), F.max("x").alias("top")
    )
    expected = native.select(
        "key", F.col("w.start").alias("window_start"), F.col("w.end").alias("window_end"), "n", "total", "top"
    )
    found = sash.Query(AGGREGATES, MANY["right"], by="key", time="t").run(frame, compiled=False)
    assert_same(found.toArrow(), expected.toArrow().cast(found.toArrow().schema), ORDER)


def test_a_stream_rejects_empty_windows(spark: SparkSession) -> None:
    stream = spark.readStream.format("rate").load().withWatermark("timestamp", "1 second")
    query = sash.Query({"n": agg.count()}, window.tumbling("1m", empty=True), time="timestamp")
    with pytest.raises(ValueError, match="empty=True does not work on a stream"):
        query.run(stream)
