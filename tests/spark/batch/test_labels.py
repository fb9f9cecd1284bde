"""Point-in-time features on Spark ≡ in this process, in buckets and in time ranges, in memory and from disk."""

from __future__ import annotations

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
from sash.options import SparkTableOptions, read_options
from sash.spark.batch.batch_query import LabelQuery
from sash.workers.own_columns import LABEL

START = datetime(2024, 1, 29, tzinfo=UTC)
LATER = datetime(2025, 1, 1, tzinfo=UTC)
KEYS = ["a", "b", None, "c d", "without events"]
longest = sash.aggregate("longest", lift=len, combine=max, lower=lambda length: -length)


def moments(chooser: random.Random, rows: int, late: int = 0) -> list[datetime]:
    """Times with ties, some months long."""
    return [START + timedelta(hours=chooser.randrange(late, 24 * 60 + late)) for _ in range(rows)]


def events_of(seed: int, rows: int = 300, common: int = 1) -> pa.Table:
    """Events; the first key has `common` times as many as others."""
    chooser = random.Random(seed)
    columns = {
        "key": chooser.choices(KEYS[:4], [common, 1, 1, 1], k=rows),
        "ts": pa.array(moments(chooser, rows), pa.timestamp("us", "UTC")),
        "row": range(rows),
        "x": pa.array([chooser.choice([None, chooser.randint(-9, 9)]) for _ in range(rows)], pa.int64()),
        "name": [chooser.choice([None, "ant", f"c{row}"]) for row in range(rows)],
        "wide.er": [chooser.randint(0, 40) / 4 for _ in range(rows)],
    }
    return pa.table(columns)


def labels_of(seed: int, rows: int = 80, common: int = 1) -> pa.Table:
    """Labels, some of them twice; `x` is a column that events have too."""
    chooser = random.Random(seed)
    table = pa.table(
        {
            "x": [f"label {row}" for row in range(rows)],
            "key": chooser.choices(KEYS, [common, 1, 1, 1, 1], k=rows),
            "ts": pa.array(moments(chooser, rows, -48) if rows else [], pa.timestamp("us", "UTC")),
            "list": pa.array([[row, None] for row in range(rows)], pa.list_(pa.field("element", pa.int64()))),
        }
    )
    return pa.concat_tables([table, table.slice(0, 7)])


AGGREGATES = {
    "count": agg.count(),
    "total": agg.sum("x"),
    "mean": agg.mean("wide.er"),
    "middle": agg.median("x"),
    "newest": agg.last("name"),
    "held": agg.concat("name", sep=" "),
    "own": longest("name"),
    "large": agg.count(where="x > 2"),
}
WINDOWS = {
    "day": window.time("1d"),
    "week": window.time("7d", closed="left"),
    "gap": window.time(before="3d", after="-1d"),
    "tail": window.time("9d", tail="6h"),
    "newest": window.rows(1),
    "rows": window.rows(20, min_rows=2),
}
ENDLESS = {"all": window.expanding(), "month": window.time("1mo", tz="UTC"), "rows": window.rows(before=5, after=-2)}


def query_of(windows: Any = None, **options: Any) -> sash.Query:
    return sash.Query(AGGREGATES, windows or WINDOWS, **({"by": "key", "time": "ts", "order_by": "row"} | options))


def run(spark: SparkSession, query: sash.Query, events: pa.Table, labels: pa.Table, **options: Any) -> DataFrame:
    return query.run(spark.createDataFrame(events), at=spark.createDataFrame(labels), **options)


def assert_labels(spark: SparkSession, query: sash.Query, events: pa.Table, labels: pa.Table, **options: Any) -> None:
    expected = query.run(events, at=labels)  # first, so that workers find kernels compiled
    found = run(spark, query, events, labels, types={"own": "long"}, **options)
    assert found.columns == expected.column_names
    assert_same(found.toArrow(), expected, ["x", "key", "ts"])


@pytest.mark.parametrize("windows", [WINDOWS, ENDLESS], ids=["bounded", "endless"])
def test_labels_in_buckets(spark: SparkSession, windows: Any) -> None:
    assert_labels(spark, query_of(windows), events_of(1), labels_of(2))


def test_few_buckets_no_labels_and_no_events(spark: SparkSession) -> None:
    assert_labels(spark, query_of(), events_of(1, 100), labels_of(2, 20), buckets=1)
    frames = spark.createDataFrame(events_of(1)), spark.createDataFrame(labels_of(2))
    found = query_of().run(frames[0].where("false"), at=frames[1], types={"own": "long"}, buckets=2).toArrow()
    expected = query_of().run(events_of(1).slice(0, 0), at=labels_of(2))
    assert_same(found, expected, ["x", "key", "ts"])
    assert query_of().run(frames[0], at=frames[1].where("false"), types={"own": "long"}).count() == 0


@pytest.mark.parametrize("by", [(), ("key",)], ids=["no key", "key"])
def test_labels_in_time_ranges(spark: SparkSession, by: tuple[str, ...]) -> None:
    """One key has most events, or there is no key."""
    options = {"strategy": "ranges", "ranges": 4, "buckets": 2}
    assert_labels(spark, query_of(by=by), events_of(3, 400, common=20), labels_of(4, 100, common=20), **options)


def test_without_a_key_time_ranges_are_the_default(spark: SparkSession) -> None:
    query = query_of(by=())
    explained = str(query.explain(spark.createDataFrame(events_of(1)), at=spark.createDataFrame(labels_of(2)), types={"own": "long"}))  # fmt: skip
    assert "ranges: there is no key" in explained
    assert "there is no join" in explained


def label_query(query: sash.Query, frames: tuple[DataFrame, DataFrame], **options: Any) -> LabelQuery:
    events, labels = frames
    return LabelQuery(query._declared.at_points(), events, read_options(SparkTableOptions, {"at": labels, **options}))


def test_a_label_is_sent_once_and_a_dominant_key_to_several_tasks(spark: SparkSession) -> None:
    frames = spark.createDataFrame(events_of(3, 400, common=20)), spark.createDataFrame(labels_of(4, 100, common=20))
    query = sash.Query({"n": agg.count()}, window.time("1d"), by="key", time="ts")
    made = label_query(query, frames, strategy="ranges", ranges=8, buckets=2)
    rows, _ = made.in_ranges()
    grouped = rows.withColumn("is_label", F.col(LABEL).isNotNull())
    assert grouped.where("is_label").count() == 107
    heavy = grouped.where("key = 'a'").groupBy("sash_group").count().collect()
    assert len(heavy) >= 6
    assert max(row["count"] for row in heavy) < 150


def in_worker(query: sash.Query, frames: tuple[DataFrame, DataFrame], most_bytes: int, **options: Any) -> pa.Table:
    """Evaluate all rows as one group here, with little memory."""
    made = label_query(query, frames, types={"own": "long"}, **options)
    worker = made.worker
    vars(worker)["most_bytes"] = most_bytes
    return pa.Table.from_batches(worker.evaluate_group(0, made.sent.toArrow().to_batches(max_chunksize=40)))


@pytest.mark.parametrize("windows", [WINDOWS, ENDLESS], ids=["bounded", "endless"])
@pytest.mark.parametrize("by", [(), ("key",)], ids=["no key", "key"])
def test_more_rows_than_fit_memory_are_sorted_on_disk(spark: SparkSession, windows: Any, by: tuple[str, ...]) -> None:
    events, labels = events_of(5, 400, common=6), labels_of(6, 100, common=6)
    query = query_of(windows, by=by)
    frames = spark.createDataFrame(events), spark.createDataFrame(labels)
    for most_bytes in (1, 20_000):
        assert_same(in_worker(query, frames, most_bytes), query.run(events, at=labels), ["x", "key", "ts"])


def test_a_schema_and_names_in_another_case(spark: SparkSession) -> None:
    events, labels = events_of(1, 50), labels_of(2, 10).rename_columns(["x", "KEY", "When", "list"])
    query = query_of()
    frames = spark.createDataFrame(events), spark.createDataFrame(labels)
    found = query.run(frames[0], at=frames[1], at_time="when", types={"own": "long"})
    expected = query.run(events, at=labels.rename_columns(["x", "key", "ts", "list"]))
    assert found.columns[:4] == ["x", "KEY", "When", "list"]
    assert query.schema(frames[0], at=frames[1], at_time="when", types={"own": "long"}) == found.schema
    assert_same(found.toDF(*expected.column_names).toArrow(), expected, ["x", "key", "ts"])
    with pytest.raises(ValueError, match="Spark ignores case"):
        sash.Query({"LIST": agg.count()}, window.rows(1), by="key", time="ts").run(
            frames[0], at=frames[1], at_time="when"
        )


@pytest.mark.connect
def test_expressions_and_narrower_keys(spark: SparkSession) -> None:
    frame = spark.createDataFrame(events_of(1, 60)).withColumn("id", F.col("row") % 3)
    labels = spark.createDataFrame([(1, 0), (2, 1), (3, 7)], "label long, id int").withColumn("ts", F.lit(LATER))
    query = sash.Query({"n": agg.count(where="x > 0"), "s": agg.sum(F.col("x") * 2)}, window.expanding(), by=["id"], time="ts")  # fmt: skip
    found = {row["label"]: row for row in query.run(frame, at=labels).collect()}
    own = {row["id"]: row for row in frame.groupBy("id").agg(F.count_if(F.col("x") > 0).alias("n"), F.sum(F.col("x") * 2).alias("s")).collect()}  # fmt: skip
    assert [(found[label]["n"], found[label]["s"]) for label in (1, 2)] == [
        (own[key]["n"], own[key]["s"]) for key in (0, 1)
    ]
    assert (found[3]["n"], found[3]["s"]) == (0, None)
    computed = sash.Query({"n": agg.count()}, window.expanding(), by=F.upper("key"), time="ts")
    upper = spark.createDataFrame([("A",), ("zz",)], "key string").withColumn("ts", F.lit(LATER))
    counts = {row["key"]: row["n"] for row in computed.run(frame, at=upper).collect()}
    assert counts == {"A": frame.where("key = 'a'").count(), "zz": 0}
    assert computed.run(frame, at=upper).columns == ["key", "ts", "n"]


def test_labels_that_do_not_fit_are_refused(spark: SparkSession) -> None:
    frame, labels = spark.createDataFrame(events_of(1, 20)), spark.createDataFrame(labels_of(2, 5))
    query = sash.Query({"n": agg.count()}, window.time("1h"), by="key", time="ts")
    with pytest.raises(TypeError, match="only one has a time zone"):
        query.run(frame, at=labels.withColumn("ts", F.col("ts").cast("timestamp_ntz")))
    with pytest.raises(
        TypeError, match="Column 'ts' of the labels is date and does not fit that of the events, timestamp"
    ):
        query.run(frame, at=labels.withColumn("ts", F.col("ts").cast("date")))
    with pytest.raises(
        TypeError, match="Column 'key' of the labels is bigint and does not fit that of the events, string"
    ):
        query.run(frame, at=labels.withColumn("key", F.lit(1).cast("long")))
    by_int = sash.Query({"n": agg.count()}, window.time("1h"), by="id", time="ts")
    with pytest.raises(TypeError, match="Column 'id' of the labels is bigint and does not fit that of the events, int"):
        by_int.run(frame.withColumn("id", F.lit(1)), at=labels.withColumn("id", F.lit(1).cast("long")))
    with pytest.raises(ValueError, match="The labels have a column 'n'"):
        query.run(frame, at=labels.withColumn("n", F.lit(1)))
    with pytest.raises(ValueError, match="The labels have no column 'key'"):
        query.run(frame, at=labels.drop("key"))
    with pytest.raises(TypeError, match=r"a PySpark DataFrame, but it is a pyarrow\.Table"):
        query.run(frame, at=labels_of(2))
    with pytest.raises(ValueError, match=r'strategy="slices" does not fit'):
        query.run(frame, at=labels, strategy="slices")
    with pytest.raises(ValueError, match="follows the values of its rows"):
        sash.Query({"n": agg.count()}, window.delta("x", 5), by="key", time="ts").run(frame, at=labels)
    with pytest.raises(Exception, match=r"The time 'ts' is null in 10 labels"):
        query.run(frame, at=labels.withColumn("ts", F.lit(None).cast("timestamp")), buckets=1).collect()


def test_streams_are_refused(spark: SparkSession) -> None:
    stream = spark.readStream.format("rate").load().withColumnRenamed("timestamp", "ts")
    query = sash.Query({"n": agg.count()}, window.time("1h"), time="ts")
    labels = spark.createDataFrame(labels_of(2, 5))
    with pytest.raises(TypeError, match="needs all events up to its time, and more may arrive"):
        query.run(stream, at=labels)
    with pytest.raises(TypeError, match="at= does not take a streaming DataFrame"):
        query.run(spark.createDataFrame(events_of(1, 20)), at=stream)


AHEAD = {
    "next": window.time(before="0s", after="7d", closed="right"),
    "around": window.time(before="1d", after="1d"),
    "rest": window.time(before="0s", after=None, closed="right"),
    "rows": window.rows(before=-1, after=3),
}


def test_targets_of_labels(spark: SparkSession) -> None:
    events, labels = events_of(1), labels_of(2)
    query = query_of(AHEAD)
    expected = query.run(events, at=labels, future=True)
    found = run(spark, query, events, labels, types={"own": "long"}, future=True)
    assert_same(found.toArrow(), expected, ["x", "key", "ts"])
    assert found.schema["total_next"].metadata == {"sash.sees_future": "true"}
    frames = spark.createDataFrame(events), spark.createDataFrame(labels)
    assert query.schema(frames[0], at=frames[1], types={"own": "long"}, future=True) == found.schema
    with pytest.raises(ValueError, match="it looks ahead, to events after the label"):
        run(spark, query, events, labels, types={"own": "long"})


def test_targets_of_labels_sorted_on_disk(spark: SparkSession) -> None:
    events, labels = events_of(3, 400, common=20), labels_of(4, 100, common=20)
    query = query_of(AHEAD)
    frames = spark.createDataFrame(events), spark.createDataFrame(labels)
    for most_bytes in (1, 20_000):
        found = in_worker(query, frames, most_bytes, future=True)
        assert_same(found, query.run(events, at=labels, future=True), ["x", "key", "ts"])


def test_targets_of_labels_by_a_join(spark: SparkSession) -> None:
    windows = {name: one for name, one in AHEAD.items() if name != "rows"}
    aggregates = {"count": agg.count(), "total": agg.sum("x"), "most": agg.max("x")}
    query = sash.Query(aggregates, windows, by="key", time="ts")
    events, labels = events_of(1), labels_of(2)
    found = run(spark, query, events, labels, strategy="native", future=True)
    assert_same(found.toArrow(), query.run(events, at=labels, future=True), ["x", "key", "ts"])


CLOSED = {
    "hop": window.time("3d", slide="12h"),
    "right": window.tumbling("1d", closed="right"),
    "so_far": window.cumulative("7d", "1d"),
}
"""Windows with a slide that reach back by a limited time."""
OPEN_ENDED = {
    "visit": window.session("3h"),
    "month": window.tumbling("1mo", tz="Europe/Berlin"),
    "rows": window.rows(4, slide=3),
    "marks": window.punctuated("mark"),
}


def with_marks(events: pa.Table) -> pa.Table:
    return events.append_column("mark", pa.array([row % 7 == 0 for row in events["row"].to_pylist()]))


@pytest.mark.parametrize("windows", [CLOSED, OPEN_ENDED], ids=["bounded", "endless"])
def test_windows_with_a_slide_in_buckets(spark: SparkSession, windows: Any) -> None:
    query = query_of(windows)
    assert_labels(spark, query, with_marks(events_of(1)), labels_of(2))
    frames = spark.createDataFrame(with_marks(events_of(1))), spark.createDataFrame(labels_of(2))
    found = query.schema(frames[0], at=frames[1], types={"own": "long"})
    assert found == query.run(frames[0], at=frames[1], types={"own": "long"}).schema


def test_windows_with_a_slide_in_time_ranges(spark: SparkSession) -> None:
    events, labels = events_of(5, 400, common=20), labels_of(6, 100, common=20)
    assert_labels(spark, query_of(CLOSED), events, labels, strategy="ranges", ranges=5)
    with pytest.raises(ValueError, match=r"how far session.* reaches back is not known"):
        run(spark, query_of(OPEN_ENDED), with_marks(events), labels, strategy="ranges")


@pytest.mark.parametrize("windows", [CLOSED, OPEN_ENDED], ids=["bounded", "endless"])
def test_windows_with_a_slide_sorted_on_disk(spark: SparkSession, windows: Any) -> None:
    events, labels = with_marks(events_of(3, 400, common=20)), labels_of(4, 100, common=20)
    query = query_of(windows)
    frames = spark.createDataFrame(events), spark.createDataFrame(labels)
    found = in_worker(query, frames, 20_000)
    assert_same(found, query.run(events, at=labels), ["x", "key", "ts"])


def test_a_join_refuses_windows_with_a_slide_and_with_a_tail(spark: SparkSession) -> None:
    for one in (window.tumbling("1d"), window.time("9d", tail="6h")):
        query = sash.Query({"count": agg.count()}, one, by="key", time="ts")
        with pytest.raises(ValueError, match=r'strategy="native" does not fit: .* is not a frame of time between two'):
            run(spark, query, events_of(1), labels_of(2), strategy="native")
