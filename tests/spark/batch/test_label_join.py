"""Labels by a join on Spark (strategy="native"): results as in this process, and what a join cannot do is refused."""

from __future__ import annotations

import math
import random
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa
import pytest
from helpers.spark.matrix import assert_same
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 — the usual name

import sash
from sash import agg, window
from sash.windows import Window

START = datetime(2024, 1, 29, tzinfo=UTC)
KEYS = [("a", 1), ("a", None), (None, 1), (None, None), ("b", 2)]
"""(a, null) and (null, a) have the same hash in Spark, and so have (1, null) and (null, 1)."""
AGGREGATES = {
    "rows": agg.count(),
    "n": agg.count("x"),
    "total": agg.sum("x"),
    "mean": agg.mean("y"),
    "sd": agg.stddev("y"),
    "top": agg.max("y"),
    "who": agg.arg_max("x", "name"),
    "oldest": agg.first("name"),
    "newest": agg.last("name"),
    "some": agg.any("mark"),
    "large": agg.count(where="x > 2"),
}
WINDOWS = {
    "day": window.time("1d"),
    "left": window.time("7d", closed="left"),
    "both": window.time("1d", closed="both"),
    "neither": window.time("1d", closed="neither"),
    "gap": window.time(before="3d", after="-1d"),
    "since": window.time(before=None, after="-2h"),
    "all": window.expanding(),
}


def rows_of(seed: int, count: int, late: int = 0) -> dict[str, Any]:
    """Keys with nulls, and times with many ties."""
    chooser = random.Random(seed)
    keys = [chooser.choice(KEYS) for _ in range(count)]
    times = [START + timedelta(hours=chooser.randrange(late, 24 * 8 + late)) for _ in range(count)]
    text, number = zip(*keys, strict=True)
    return {
        "k": pa.array(text, pa.string()),
        "m": pa.array(number, pa.int64()),
        "ts": pa.array(times, pa.timestamp("us", "UTC")),
    }


def events_of(seed: int, count: int = 300) -> pa.Table:
    chooser = random.Random(seed + 1)
    values = {
        "row": pa.array(range(count), pa.int64()),
        "x": pa.array([chooser.choice([None, chooser.randint(-9, 9)]) for _ in range(count)], pa.int64()),
        "y": pa.array([chooser.choice([None, chooser.uniform(1, 9), 2.5]) for _ in range(count)], pa.float64()),
        "name": pa.array([chooser.choice([None, f"n{row}"]) for row in range(count)], pa.string()),
        "mark": pa.array([chooser.choice([None, True, False, False]) for _ in range(count)], pa.bool_()),
    }
    return pa.table({**rows_of(seed, count), **values})


def labels_of(seed: int, count: int = 80) -> pa.Table:
    """Labels, some of them twice, with columns that Spark cannot group by, or would change: -0.0, lists, maps."""
    chooser = random.Random(seed + 2)
    values = {
        "id": pa.array(range(count), pa.int64()),
        "x": pa.array([chooser.choice([-0.0, 0.0, 1.5, None]) for _ in range(count)], pa.float64()),
        "list": pa.array([[-0.0, None] for _ in range(count)], pa.list_(pa.field("element", pa.float64()))),
    }
    table = pa.table({**rows_of(seed, count, -30), **values})
    strangers = table.slice(0, 5).set_column(0, "k", pa.array(["without events"] * 5))
    return pa.concat_tables([table, table.slice(0, 7), strangers])


def query_of(windows: Any, **options: Any) -> sash.Query:
    return sash.Query(AGGREGATES, windows, **({"by": ["k", "m"], "time": "ts", "order_by": "row"} | options))


def run(spark: SparkSession, query: sash.Query, events: pa.Table, labels: pa.Table, **options: Any) -> DataFrame:
    return query.run(spark.createDataFrame(events), at=spark.createDataFrame(labels), strategy="native", **options)


@pytest.mark.parametrize("name", WINDOWS)
def test_windows(spark: SparkSession, name: str) -> None:
    events, labels = events_of(len(name)), labels_of(len(name))
    query = query_of(WINDOWS[name])
    found = run(spark, query, events, labels).toArrow()
    expected = query.run(events, at=labels)
    assert_same(found.drop_columns("ts"), expected.drop_columns("ts"), ["id", "k"])
    signs = [sorted(math.copysign(1, x) for x in table["x"].to_pylist() if x == 0) for table in (found, expected)]
    assert signs[0] == signs[1]


def test_several_windows_and_few_or_no_rows(spark: SparkSession) -> None:
    events, labels = events_of(1), labels_of(2)
    query = query_of(WINDOWS)
    found = run(spark, query, events, labels)
    assert found.columns == query.run(events, at=labels).column_names
    assert found.schema == query.schema(
        spark.createDataFrame(events), at=spark.createDataFrame(labels), strategy="native"
    )
    assert_same(found.drop("ts").toArrow(), query.run(events, at=labels).drop_columns("ts"), ["id", "k"])
    without = query.run(events.slice(0, 0), at=labels)
    # Connect makes no DataFrame of an empty table.
    frame, at = spark.createDataFrame(events), spark.createDataFrame(labels)
    found = query.run(frame.limit(0), at=at, strategy="native")
    assert_same(found.drop("ts").toArrow(), without.drop_columns("ts"), ["id", "k"])
    assert query.run(frame, at=at.limit(0), strategy="native").count() == 0


@pytest.mark.parametrize("seed", range(3))
def test_integers_as_times_and_narrower_keys(spark: SparkSession, seed: int) -> None:
    chooser = random.Random(seed)
    events = [
        (chooser.randrange(3), chooser.randrange(40), chooser.choice([None, 2**62, -(2**62), 1])) for _ in range(200)
    ]
    labels = [(number, chooser.randrange(4), chooser.randrange(45)) for number in range(40)]
    frame = spark.createDataFrame(events, "k long, t long, x long")
    at = spark.createDataFrame(labels, "id int, k int, at int")
    windows = {
        "w": window.time(chooser.randint(1, 9), closed=chooser.choice(["left", "both"])),
        "all": window.expanding(),
    }
    query = sash.Query({"n": agg.count(), "top": agg.max("x"), "mean": agg.mean("x")}, windows, by="k", time="t")
    found = query.run(frame, at=at, at_time="at", strategy="native").toArrow()
    assert_same(found, query.run(frame, at=at, at_time="at").toArrow(), ["id"])


def test_keys_that_are_nan_or_zero(spark: SparkSession) -> None:
    keys = [math.nan, 0.0, -0.0, None, 1.0]
    frame = spark.createDataFrame([(key, time, time) for key in keys for time in range(6)], "k double, t long, x long")
    at = spark.createDataFrame([(number, key, 4) for number, key in enumerate(keys)], "id long, k double, t long")
    query = sash.Query({"n": agg.count(), "s": agg.sum("x")}, window.time(3), by="k", time="t")
    found = {row["id"]: (row["n"], row["s"]) for row in query.run(frame, at=at, strategy="native").collect()}
    assert found == {0: (3, 9), 1: (6, 18), 2: (6, 18), 3: (3, 9), 4: (3, 9)}


def test_labels_made_from_the_events(spark: SparkSession) -> None:
    """Both sides of the join have the same columns then."""
    frame = spark.createDataFrame(events_of(3))
    labels = frame.where("row % 5 = 0").select("k", "m", "row", "ts")
    query = sash.Query(
        {"n": agg.count(), "s": agg.sum("x")}, window.time("1d", closed="left"), by=["k", "m"], time="ts"
    )
    found = query.run(frame, at=labels, strategy="native").toArrow()
    assert_same(found, query.run(frame, at=labels).toArrow(), ["row"])


def test_explain(spark: SparkSession) -> None:
    frame, labels = spark.createDataFrame(events_of(3)), spark.createDataFrame(labels_of(3))
    query = query_of(WINDOWS["day"])
    text = " ".join(str(query.explain(frame, at=labels, strategy="native")).split())
    assert "native: it was asked for" in text
    assert "a left join of labels and events by k and m and time" in text
    assert "at= was given, and Spark would join events and labels" not in text
    assert "buckets" in str(query.explain(frame, at=labels))


@pytest.mark.parametrize(
    ("aggregates", "windows", "by", "reason"),
    [
        ({"n": agg.count()}, window.rows(3), "k", r"rows\(3\) is not a frame of time"),
        ({"n": agg.count()}, window.time("1mo", tz="UTC"), "k", "is not a frame of time"),
        ({"n": agg.count()}, window.time("1d", min_rows=2), "k", "needs the number of values"),
        ({"n": agg.median("x")}, window.time("1d"), "k", "no partials of median"),
        ({"n": agg.count()}, window.time("1d"), (), "there is no key"),
    ],
)
def test_what_a_join_cannot_do_is_refused(
    spark: SparkSession, aggregates: Any, windows: Window, by: Any, reason: str
) -> None:
    frame, labels = spark.createDataFrame(events_of(3, 20)), spark.createDataFrame(labels_of(3, 9))
    with pytest.raises(ValueError, match=f'strategy="native" does not fit: .*{reason}'):
        sash.Query(aggregates, windows, by=by, time="ts").run(frame, at=labels, strategy="native")


def test_rows_without_a_time_are_errors(spark: SparkSession) -> None:
    frame, labels = spark.createDataFrame(events_of(3, 20)), spark.createDataFrame(labels_of(3, 9))
    query = sash.Query({"n": agg.count()}, window.time("1d"), by="k", time="ts")
    nothing = F.lit(None).cast("timestamp")
    with pytest.raises(Exception, match=r"\[SASH\] The time 'ts' of a label is null"):
        query.run(frame, at=labels.withColumn("ts", nothing), strategy="native").collect()
    with pytest.raises(Exception, match=r"\[SASH\] The time column 'ts' has nulls"):
        query.run(frame.withColumn("ts", nothing), at=labels, strategy="native").collect()
    far = sash.Query({"n": agg.count()}, window.time(10), by="k", time="t")
    numbers = spark.createDataFrame([(1, 2)], "k long, t long")
    with pytest.raises(Exception, match=r"\[SASH\] The time 't' of a label is so far from 1970"):
        far.run(numbers, at=numbers.withColumn("t", F.lit(2**63 - 5)), strategy="native").collect()
