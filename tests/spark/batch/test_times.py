"""Times of every kind, under any time zone of the session; Spark's own windows are the oracle."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 — as everyone calls it

import sash
from sash import agg, window

ZONE = "spark.sql.session.timeZone"
ZONES = ["UTC", "America/New_York", "Asia/Kolkata"]
GAP = datetime(2024, 3, 10, 6, 0, tzinfo=UTC)
"""In New York the clock is put forward at 7:00 UTC that day."""
OVERLAP = datetime(2024, 11, 3, 4, 0, tzinfo=UTC)
"""And back at 6:00 UTC that day."""
BEFORE_1970 = datetime(1969, 12, 31, 20, 0, tzinfo=UTC)
MOMENTS = [
    begin + timedelta(minutes=7 * number, microseconds=number)
    for begin in (BEFORE_1970, GAP, OVERLAP)
    for number in range(40)
]


@contextmanager
def in_zone(spark: SparkSession, zone: str) -> Iterator[None]:
    """Have the session in a zone for a while."""
    before = spark.conf.get(ZONE) or ""
    spark.conf.set(ZONE, zone)
    try:
        yield
    finally:
        spark.conf.set(ZONE, before)


def moments(spark: SparkSession) -> DataFrame:
    """Rows at moments that are the same in every zone, and at what clocks show of them there."""
    rows = [(number % 2, int(moment.timestamp() * 10**6)) for number, moment in enumerate(MOMENTS)]
    frame = spark.createDataFrame(rows, "k int, us bigint")
    return frame.select("k", "us", F.timestamp_micros("us").alias("ts")).select(
        "*",
        F.to_timestamp_ntz(
            F.date_format("ts", "yyyy-MM-dd HH:mm:ss.SSSSSS"), F.lit("yyyy-MM-dd HH:mm:ss.SSSSSS")
        ).alias("ntz"),
        F.to_date("ts").alias("day"),
    )


@pytest.mark.parametrize("column", ["ts", "ntz"])
@pytest.mark.parametrize("zone", ZONES)
def test_windows_are_those_of_spark(spark: SparkSession, zone: str, column: str) -> None:
    with in_zone(spark, zone):
        assert_windows(moments(spark), column)


def assert_windows(frame: DataFrame, column: str) -> None:
    """Compare the windows that Sash finds, and how many rows they have, with those of Spark."""
    windows = {
        "hop": window.time("1h", slide="20m", offset="5m"),
        "day": window.tumbling("1d"),
        "session": window.session("10m"),
    }
    theirs = {
        "hop": F.window(column, "1 hour", "20 minutes", "5 minutes"),
        "day": F.window(column, "1 day"),
        "session": F.session_window(column, "10 minutes"),
    }
    query = sash.Query({"n": agg.count()}, windows, by="k", time=column)
    found = query.run(frame, compiled=False)
    assert dict(found.dtypes)["window_start"] == {"ts": "timestamp", "ntz": "timestamp_ntz"}[column]
    counted = None
    for name, spanned in theirs.items():
        own = frame.groupBy("k", spanned.alias("w")).count()
        own = own.select("k", F.lit(name).alias("window"), "w.start", "w.end", F.col("count").alias("n"))
        counted = own if counted is None else counted.union(own)
    assert counted is not None
    assert sorted(found.collect()) == sorted(counted.collect())


def test_dates_and_integers(spark: SparkSession) -> None:
    frame = moments(spark)
    for column, windows, expected in (
        (
            "day",
            window.tumbling("2d"),
            "struct(to_date(date_from_unix_date(unix_date(day) - pmod(unix_date(day), 2))) AS s)",
        ),
        ("us", window.tumbling(10**10), "struct(us - pmod(us, 10000000000) AS s)"),
        ("minute", window.tumbling(50), "struct(minute - pmod(minute, 50) AS s)"),
    ):
        rows = frame.withColumn("minute", F.expr("CAST(us div 60000000 AS INT)"))
        found = sash.Query({"n": agg.count()}, windows, by="k", time=column).run(rows, compiled=False)
        counted = rows.groupBy("k", F.expr(expected).alias("w")).count().select("k", "w.s", "count")
        assert sorted(found.select("k", "window_start", "n").collect()) == sorted(counted.collect())


def test_rows_keep_their_times_whatever_the_zone_when_the_result_is_asked_for(spark: SparkSession) -> None:
    """Nothing is computed in run(), so that the zone may change before it is."""
    query = sash.Query({"n": agg.count(), "last": agg.last("ts")}, window.time("1h"), by="k", time="ts")
    windows = sash.Query({"n": agg.count()}, window.tumbling("1h"), by="k", time="ntz")
    frame = moments(spark)
    rows, spans = (
        query.run(frame, compiled=False),
        windows.run(frame.select("k", F.col("ts").cast("timestamp_ntz").alias("ntz")), compiled=False),
    )
    with in_zone(spark, "Asia/Kolkata"):
        results = rows.select(F.unix_micros("ts"), F.unix_micros("last"), "us").collect()
        assert [row[0] for row in results] == [row[2] for row in results] == [row[1] for row in results]
        assert {row.window_start.minute for row in spans.collect()} == {0}


def test_windows_over_moments_are_found_in_every_zone_alike(spark: SparkSession) -> None:
    query = sash.Query({"n": agg.count()}, window.time("3h", slide="30m"), by="k", time="ts")
    found = []
    for zone in ZONES:
        with in_zone(spark, zone):
            results = query.run(moments(spark), compiled=False).select(F.unix_micros("window_start"), "k", "n")
            found.append(sorted(results.collect()))
    assert found[0] == found[1] == found[2]


@pytest.mark.parametrize("zone", ["America/New_York", "Europe/Berlin"])
def test_dates_are_days_and_those_of_spark_if_they_are_cast(spark: SparkSession, zone: str) -> None:
    """Spark's window takes a date for midnight in the session's zone, but begins windows at midnight in UTC; see docs/spark.md."""
    query = sash.Query({"n": agg.count()}, window.tumbling("2d"), time="day")
    with in_zone(spark, zone):
        frame = spark.sql("SELECT DATE'2024-03-08' + INT(id) AS day FROM range(6)")
        found = query.run(frame, compiled=False)
        assert sorted((str(row.window_start), row.n) for row in found.collect()) == [
            ("2024-03-08", 2),
            ("2024-03-10", 2),
            ("2024-03-12", 2),
        ]
        cast = query.run(frame.select(F.col("day").cast("timestamp")), compiled=False)
        theirs = frame.groupBy(F.window("day", "2 days").alias("w")).count().select("w.start", "w.end", "count")
        assert sorted(map(tuple, cast.collect())) == sorted(map(tuple, theirs.collect()))
