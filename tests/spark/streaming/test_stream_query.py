"""Queries on streams of Spark's: what the watermark has passed, and the rest of it, is what a batch run gives."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from helpers.pairwise import some
from pyspark.errors import AnalysisException, StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 — as everyone calls it

import sash
from sash import agg, window
from sash.options import SparkStreamOptions, read_options
from sash.spark.streaming.shards import LOG
from sash.spark.streaming.stream_query import StreamQuery
from sash.state.declared_size import READ_AGAIN
from sash.state.fingerprint import changes

MINUTE = 60_000_000
BEGIN = 1_700_000_100_000_000
"""Microseconds: at a multiple of five minutes."""
SCHEMA = pa.schema(
    {
        "k": pa.string(),
        "ts": pa.timestamp("us", "UTC"),
        "x": pa.int64(),
        "v": pa.float64(),
        "tags": pa.list_(pa.string()),
    }
)
SUMS = {"total": agg.sum("x"), "mean": agg.mean("v"), "n": agg.count()}
Made = tuple[str | None, float, int | None]
BATCHES: list[list[Made]] = [
    [("a", 1, 5), ("b", 2, 1), (None, 2.5, 3), ("a", 0.5, None)],
    [("a", 3, 2), ("b", 6, 4), ("a", 5.5, 9), ("c", 4.5, 1)],
    [("b", 9, 7), ("a", 8, 1), ("a", 8, 2), (None, 7, 8)],
    [("b", 14, 2), ("b", 12, 6), ("a", 11, 5)],
]
"""Rows of (key, minute, x); with a watermark of three minutes none is late."""


@pytest.fixture(autouse=True)
def few_partitions(spark: SparkSession) -> Iterator[None]:
    """Fewer state stores, which take most of the time of a small micro-batch."""
    before = spark.conf.get("spark.sql.shuffle.partitions") or ""
    spark.conf.set("spark.sql.shuffle.partitions", 1)
    yield
    spark.conf.set("spark.sql.shuffle.partitions", before)


class Source:
    """Files, each of which is a micro-batch."""

    def __init__(self, spark: SparkSession, folder: Path, batches: list[list[Made]] | None = None) -> None:
        self.spark = spark
        self.folder = folder
        self.rows = folder / "rows"
        self.rows.mkdir()
        self.checkpoint = str(folder / "checkpoint")
        self.files = 0
        for batch in BATCHES if batches is None else batches:
            self.add(batch)

    def add(self, batch: list[Made]) -> None:
        """Write the next micro-batch."""
        columns: Any = [
            [key for key, *_ in batch],
            [None if minute is None else int(BEGIN + minute * MINUTE) for _, minute, _ in batch],
            [x for *_, x in batch],
            [None if x is None else x / 4 for *_, x in batch],
            [[key or "", "tag"] for key, *_ in batch],
        ]
        arrays = [pa.array(column, pa.int64() if name == "ts" else kind).cast(kind) for column, (name, kind) in zip(
            columns, zip(SCHEMA.names, SCHEMA.types, strict=True), strict=True
        )]  # fmt: skip
        path = self.rows / f"{self.files:03}.parquet"
        pq.write_table(pa.table(arrays, schema=SCHEMA), path)
        self.files += 1
        os.utime(path, (self.files, self.files))  # Spark takes files in the order of their times

    @property
    def table(self) -> DataFrame:
        """All rows."""
        return self.spark.read.schema(self.spark.read.parquet(str(self.rows)).schema).parquet(str(self.rows))

    def stream(self, delay: str = "3 minutes", where: str = "true") -> DataFrame:
        """The rows, a file after the other."""
        reader = self.spark.readStream.schema(self.table.schema).option("maxFilesPerTrigger", 1)
        return reader.parquet(str(self.rows)).filter(where).withWatermark("ts", delay)

    def run(self, frame: DataFrame, mode: str = "append") -> tuple[list[dict[str, Any]], list[Any]]:
        """Run a stream to the end of its input, and return what it gave with the progress of its micro-batches."""
        out, name = str(self.folder / "out"), f"given_{abs(hash(self.folder))}"
        writer = frame.writeStream.outputMode(mode).option("checkpointLocation", self.checkpoint)
        writer = (
            writer.format("parquet").option("path", out)
            if mode == "append"
            else writer.format("memory").queryName(name)
        )
        query = writer.trigger(availableNow=True).start()
        query.awaitTermination()
        given = self.spark.read.schema(frame.schema).parquet(out) if mode == "append" else self.spark.table(name)
        return dicts(given), query.recentProgress


def counted(progress: list[Any], name: str) -> list[int]:
    """How many rows were counted so, by micro-batch."""
    return [sash.spark.counts(one)[name] for one in progress]


def alike(rows: list[dict[str, Any]]) -> list[str]:
    return sorted(repr(sorted(row.items())) for row in rows)


def dicts(frame: DataFrame) -> list[dict[str, Any]]:
    return [row.asDict(recursive=True) for row in frame.collect()]


def assert_as_batch(source: Source, query: sash.Query, **options: Any) -> list[dict[str, Any]]:
    """What a stream has given, and what is still open, together are what a batch run gives."""
    given, _ = source.run(query.run(source.stream(), buckets=3, **options))
    rest = dicts(sash.spark.finish(query, source.stream(), source.checkpoint, buckets=3, **options))
    assert alike([*given, *rest]) == alike(dicts(query.run(source.table)))
    return given


@pytest.mark.full
@pytest.mark.parametrize("windows", some([window.time("4m", slide="2m"), window.rows(3)], 2), ids=str)
def test_filters_and_expressions_as_in_batch(spark: SparkSession, tmp_path: Path, windows: window.Window) -> None:
    source = Source(spark, tmp_path)
    aggregates = {
        "n": agg.count(where="x > 2"),
        "s": agg.sum(sash.expr("x * 2"), where="v < 2"),
        "f": agg.max(F.col("x") + 1, where=F.col("k") == "a"),
    }
    query = sash.Query(aggregates, windows, by="K", time="ts")
    given = assert_as_batch(source, query)
    assert {*query.schema(source.stream()).names} == set(given[0])
    other = sash.Query({**aggregates, "n": agg.count(where="x > 3")}, windows, by="K", time="ts")
    source.add([("b", 20, 2)])
    with pytest.raises(StreamingQueryException, match=r"where x > 2.* became .*where x > 3"):
        source.run(other.run(source.stream(), buckets=3))


@pytest.mark.oldest
def test_windows_are_given_once_when_the_watermark_has_passed(spark: SparkSession, tmp_path: Path) -> None:
    spark.conf.set("spark.sql.shuffle.partitions", 2)
    source = Source(spark, tmp_path)
    windows = {"hop": window.time("4m", slide="2m"), "visit": window.session("2m")}
    given = assert_as_batch(source, sash.Query(SUMS, windows, by="k", time="ts"))
    ends = {row["window_end"] for row in given if row["window"] == "hop"}
    assert len(ends) == 6  # up to 10 minutes; the newest row is of 14, less 3
    held = dicts(sash.spark.inspect_state(source.checkpoint))
    assert {row["key"]["k"] for row in held} == {"a", "b"}  # the others went silent
    assert all(row["slices"] > 0 and row["rows"] == 0 and row["bytes"] > 0 for row in held)


@pytest.mark.full
def test_open_windows_are_read_from_a_log(spark: SparkSession, tmp_path: Path) -> None:
    spark.conf.set("spark.sql.shuffle.partitions", 1)
    keys = [f"k{key}" for key in range(3_000)]
    # The second micro-batch changes more than the head of a bucket holds, so that it is an entry of the log.
    again = [(key, 2, 1) for key in keys[:1_500]]
    source = Source(spark, tmp_path, [[(key, 1, 1) for key in keys], [*again, ("new", 2, 1)], [("k7", 3, 1)]])
    query = sash.Query(SUMS, window.time("4m", slide="2m"), by="k", time="ts")
    assert_as_batch(source, query)
    held = dicts(sash.spark.inspect_state(source.checkpoint))
    assert_a_restart_reads_little(spark, source.checkpoint)
    log = spark.read.format("statestore").option("stateVarName", LOG).load(source.checkpoint)
    assert log.filter("user_map_key.number > 0").count() > 0
    assert {row["key"]["k"]: row["slices"] for row in held} == {**dict.fromkeys(keys, 1), "k7": 2, "new": 1}


def assert_a_restart_reads_little(spark: SparkSession, checkpoint: str) -> None:
    """As explanations promise: of each shard, a base and changes that are up to twice as large."""
    log = spark.read.format("statestore").option("stateVarName", LOG).load(checkpoint)
    sizes: dict[Any, dict[int, int]] = {}
    for row in log.select("key", "user_map_key.*", "user_map_value").collect():
        shard = sizes.setdefault((row["key"], row["shard"]), {})
        shard[row["number"]] = row["user_map_value"]["size"]
    assert all(sum(shard.values()) <= READ_AGAIN * shard[0] for shard in sizes.values())


def longest(older: str, newer: str) -> str:
    return older if len(older) > len(newer) else newer


def test_rows_have_results_beside_all_their_columns(spark: SparkSession, tmp_path: Path) -> None:
    source = Source(spark, tmp_path)
    own = sash.aggregate("longest", lift=lambda k: k + k, combine=longest)
    aggregates = {"total": agg.sum("x"), "all": agg.collect("x"), "own": own("k")}
    windows = {"three": window.rows(3), "while": window.time("4m")}
    query = sash.Query(aggregates, windows, by="k", time="ts", order_by="x")
    given = assert_as_batch(source, query, types={"own": "string"})
    assert all(row["tags"] == [row["k"] or "", "tag"] for row in given)


def test_slices_stand_for_the_older_rows_of_windows_with_tails(spark: SparkSession, tmp_path: Path) -> None:
    spark.conf.set("spark.sql.shuffle.partitions", 2)
    batches: list[list[Made]] = [[("ab"[row % 2], 10 * number + row, row) for row in range(10)] for number in range(4)]
    source = Source(spark, tmp_path, batches[:2])
    windows = {
        "tail": window.time("12m", tail="4m"),
        "left": window.time("20m", tail="5m", closed="left"),
        "plain": window.time("2m"),
        "all": window.expanding(),
    }
    aggregates = {**SUMS, "oldest": agg.first("x"), "peak": agg.max("v", where="x > 2")}
    query = sash.Query(aggregates, windows, by="k", time="ts")
    explained = " ".join(str(query.explain(source.stream())).replace("│", " ").split())
    assert "state slices of older rows, and the rows after them; by bucket" in explained
    assert "a stream stores up to 8 slices a key" in explained
    source.run(query.run(source.stream(), buckets=3))
    for batch in batches[2:]:
        source.add(batch)
    assert_as_batch(source, query)  # it continues from the checkpoint
    held = {row["key"]["k"]: row for row in dicts(sash.spark.inspect_state(source.checkpoint))}
    assert {key: (row["rows"] <= 4, 5 <= row["slices"] <= 10) for key, row in held.items()} == dict.fromkeys(
        "ab", (True, True)
    )
    kept = {name: windows[name] for name in ("tail", "plain")}
    other = sash.Query({**aggregates, "mid": agg.median("x")}, kept, by="k", time="ts")
    source.add([("a", 60, 1)])
    with pytest.raises(StreamingQueryException, match=r"needs these rows: mid needs all values"):
        source.run(other.run(source.stream(), buckets=3, evolve=True))


@pytest.mark.full
@pytest.mark.usefixtures("classic")
def test_results_that_look_ahead_wait_for_later_rows(spark: SparkSession, tmp_path: Path) -> None:
    source = Source(spark, tmp_path, [BATCHES[0] + BATCHES[1], BATCHES[2]])
    windows = {
        "near": window.rows(before=1, after=1),
        "next": window.time(before=0, after="3m", closed="right"),
        "others": window.time(before="4m", after="2m", exclude="row"),
    }
    query = sash.Query(SUMS, windows, by="k", time="ts", order_by="x")
    given, _ = source.run(query.run(source.stream(), buckets=2))
    # The newest row is of minute 9, less 3 of the watermark, less 3 that the windows look ahead. The row without a key is of minute
    # 2.5, but the next one of its key is newer than the watermark.
    assert sorted(row["k"] or "" for row in given) == ["a", "a", "a", "b"]
    source.add([("a", 3.5, 70), ("b", 9, 3), ("c", 9, 3)])  # a row of key a that is late
    source.add(BATCHES[3])
    given, progress = source.run(query.run(source.stream(), buckets=2))  # it continues from the checkpoint
    assert sum(counted(progress, "late")) == 1
    rest = dicts(sash.spark.finish(query, source.stream(), source.checkpoint, buckets=2))
    assert len(rest) > 3
    assert alike([*given, *rest]) == alike(dicts(query.run(source.table.filter("x IS NULL OR x <> 70"))))
    chained = query.run(source.stream()).groupBy(F.window("ts", "5 minutes")).count()
    with pytest.raises(AnalysisException, match="watermark"):  # Spark would drop results that have waited
        source.run(chained)


@pytest.mark.full
@pytest.mark.parametrize("windows", some([window.rows(3), window.time("4m", slide="2m")], 2), ids=repr)
def test_lists_and_maps_as_results(spark: SparkSession, tmp_path: Path, windows: sash.window.Window) -> None:
    source = Source(spark, tmp_path)
    aggregates = {
        "quantiles": agg.quantile("x", [0.1, 0.9]),
        "rank": agg.rank("x"),
        "bins": agg.histogram("v", [0, 1, 2]),
        "per_key": agg.per_value("x", agg.mean("v")),
    }
    query = sash.Query(aggregates, windows, by="k", time="ts", order_by="x")
    assert assert_as_batch(source, query, compiled=False)


@pytest.mark.full
@pytest.mark.usefixtures("classic")
def test_other_windows_and_sinks(spark: SparkSession, tmp_path: Path) -> None:
    source = Source(spark, tmp_path)
    marked = source.stream().withColumn("mark", F.col("x") > 5)
    windows = {
        "mark": window.punctuated("mark"),
        "delta": window.delta("v", 1, slide=0.5),
        "own": window.custom(lambda row: (1, row["x"] != 2)),
        "every": window.rows(2, slide=1),
    }
    query = sash.Query({"n": agg.count()}, windows, by="k", time="ts", order_by="x")
    rows = marked.filter("x IS NOT NULL")
    out = str(tmp_path / "out")
    writer = query.run(rows, buckets=2).writeStream.format("parquet").option("path", out)
    writer.option("checkpointLocation", source.checkpoint).trigger(availableNow=True).start().awaitTermination()
    rest = sash.spark.finish(query, rows, source.checkpoint, buckets=2)
    table = source.table.withColumn("mark", F.col("x") > 5).filter("x IS NOT NULL")
    assert alike(dicts(spark.read.parquet(out).union(rest))) == alike(dicts(query.run(table)))
    assert spark.read.parquet(out).count() > 0


@pytest.mark.usefixtures("classic")
def test_updates_end_with_what_a_batch_gives(spark: SparkSession, tmp_path: Path) -> None:
    source = Source(spark, tmp_path)
    query = sash.Query(SUMS, window.time("4m", slide="2m"), by="k", time="ts")
    given, _ = source.run(query.run(source.stream(), mode="update", buckets=2), "update")
    given.sort(key=lambda row: row["n"])  # the table in memory has no order, but windows only grow
    assert {row.pop("change") for row in given} == {"upsert"}
    last = {(row["k"], row["window_start"]): row for row in given}
    assert len(given) > len(last)
    assert alike(list(last.values())) == alike(dicts(query.run(source.table)))


@pytest.mark.full
def test_keys_are_forgotten_and_counted(spark: SparkSession, tmp_path: Path) -> None:
    batches: list[list[Made]] = [
        [("a", 1, 5), ("b", 1, 1)],
        [("a", 3, 2), ("a", 9, 9)],  # the watermark of the next micro-batch is 6
        [("b", 20, 7), ("a", 12, 1)],  # a starts with 9 anew
        [("b", 21, 2), ("c", 22, 1)],
    ]
    source = Source(spark, tmp_path, batches)
    query = sash.Query({"total": agg.sum("x"), "n": agg.count()}, window.rows(4), by="k", time="ts")
    stream = source.stream()
    assert "a key is forgotten 5m after its last row" in " ".join(str(query.explain(stream, forget="5m")).split())
    given, progress = source.run(query.run(stream, buckets=2, forget="5m"))
    rest = dicts(sash.spark.finish(query, stream, source.checkpoint, buckets=2, forget="300s"))
    minutes = {(row["ts"].timestamp() * 1_000_000 - BEGIN) / MINUTE: (row["k"], row["n"]) for row in given + rest}
    del minutes[1]  # of both keys
    assert minutes == {3: ("a", 2), 9: ("a", 1), 12: ("a", 2), 20: ("b", 1), 21: ("b", 2), 22: ("c", 1)}
    assert sum(counted(progress, "forgotten")) == 3
    kept = sash.spark.inspect_state(source.checkpoint).select("key.k", "rows")
    assert {row["k"] for row in dicts(kept)} == {"b", "c"}
    five, same, ten, never = (
        StreamQuery(query._declared, stream, read_options(SparkStreamOptions, {"forget": forget})).fingerprint
        for forget in ("5m", "300s", "10m", None)
    )
    assert five == same
    assert changes(five, ten) == ["forget: 5m became 10m"]
    assert changes(never, five) == ["forget: nothing became 5m"]


@pytest.mark.connect
def test_late_rows_are_counted_and_other_queries_refused(spark: SparkSession, tmp_path: Path) -> None:
    ninth: list[Made] = [
        ("a", 9, 1),
        ("b", 9, 2),
        ("c", 9, 5),
    ]  # all buckets run with the watermark of the second batch
    batches: list[list[Made]] = [BATCHES[0], [("a", 9, 1)], ninth, [("a", 2, 50), ("b", 8, 7), ("c", 3, 60)]]
    source = Source(spark, tmp_path, batches)
    query = sash.Query(SUMS, window.tumbling("5m"), by="k", time="ts")
    given, progress = source.run(query.run(source.stream(), buckets=2))
    assert counted(progress, "rows")[:4] == [4, 1, 3, 3]
    assert counted(progress, "late")[:4] == [0, 0, 0, 2]
    assert {row["k"]: row["total"] for row in given} == {"a": 5, "b": 1, None: 3}
    source.add([("z", 20, 1)])
    other = sash.Query({**SUMS, "total": agg.max("x")}, window.tumbling("5m"), by="k", time="ts")
    for changed, buckets in ((other, 2), (query, 5)):
        with pytest.raises(StreamingQueryException, match="The checkpoint belongs to a different query: "):
            source.run(changed.run(source.stream(), buckets=buckets))
    given, progress = source.run(query.run(source.stream(), buckets=2))
    found = sorted((row["k"] or "", row["total"]) for row in given)
    assert found == [("", 3), ("a", 2), ("a", 5), ("b", 1), ("b", 9), ("c", 5)]


@pytest.mark.parametrize("windows", some([window.tumbling("5m"), window.rows(2)], 2), ids=str)
def test_late_rows_are_kept_beside_results(spark: SparkSession, tmp_path: Path, windows: window.Window) -> None:
    """Late rows have all columns of the stream, with its names and types; `K` is how the query writes the column `k`."""
    late_batch: list[Made] = [("a", 1, 7), ("b", 20.5, 8), (None, 2, None)]
    source = Source(spark, tmp_path, [BATCHES[0], [("a", 20, 1)], [("a", 20, 2)], late_batch])
    query = sash.Query({"n": agg.count(where="x > 0")}, windows, by="K", time="ts")
    kept = query.run(source.stream(), buckets=1, late="keep")
    assert kept.schema == query.schema(source.stream(), late="keep")
    assert kept.select("late.*").schema == source.table.schema
    given, progress = source.run(kept)
    late = [row for row in given if row["late"] is not None]
    too_late = "x <=> 7 OR (k IS NULL AND x IS NULL)"
    assert alike([row["late"] for row in late]) == alike(dicts(source.table.filter(too_late)))
    assert all(value is None for row in late for name, value in row.items() if name != "late")
    assert sum(counted(progress, "late")) == len(late) == 2
    rest = dicts(sash.spark.finish(query, source.stream(), source.checkpoint, buckets=1, late="keep"))
    ordinary = [row for row in [*given, *rest] if row["late"] is None]
    expected = [{**row, "late": None} for row in dicts(query.run(source.table.filter(f"NOT ({too_late})")))]
    assert alike(ordinary) == alike(expected)
    source.add([("a", 1, 9)])  # another choice continues from the same checkpoint
    with pytest.raises(StreamingQueryException, match=r"A row \(.*\) is late: all its windows are closed"):
        source.run(query.run(source.stream(), buckets=1, late="error"))
    with pytest.raises(ValueError, match="Rename the column, key or aggregate 'LATE'"):
        sash.Query({"LATE": agg.count()}, windows, time="ts").run(source.stream(), late="keep")


@pytest.mark.full
@pytest.mark.usefixtures("classic")
def test_results_go_on_into_operators_of_sparks(spark: SparkSession, tmp_path: Path) -> None:
    source = Source(spark, tmp_path, [*BATCHES, [("z", 30, 0)]])
    query = sash.Query(SUMS, window.tumbling("1m"), by="k", time="ts")
    results = query.run(source.stream(), buckets=2)
    wide = F.window("window_end", "5 minutes")
    chained = results.filter("n > 0").groupBy(wide).agg(F.sum("n").alias("n")).select("window.start", "n")
    given, progress = source.run(chained)
    expected = query.run(source.table.filter("k IS NULL OR k <> 'z'")).groupBy(wide).agg(F.sum("n").alias("n"))
    assert alike(given) == alike(dicts(expected.select("window.start", "n")))
    assert all(one["numRowsDroppedByWatermark"] == 0 for at in progress for one in at["stateOperators"])
    assert len(dicts(sash.spark.inspect_state(source.checkpoint))) == 1
    per_row = sash.Query(agg.count(), window.rows(2), by="k", time="ts").run(source.stream())
    assert "spark.watermarkDelayMs" in per_row.schema["ts"].metadata
    assert "spark.watermarkDelayMs" in results.schema["window_end"].metadata


@pytest.mark.full
@pytest.mark.usefixtures("classic")
def test_bad_times_stop_a_stream_or_are_counted(spark: SparkSession, tmp_path: Path) -> None:
    batches: Any = [[("a", 1, 1)], [("a", 2, 2), ("b", None, 3), ("b", 1e9, 4)], [("a", 9, 4)]]
    source = Source(spark, tmp_path, batches[:2])
    query = sash.Query(SUMS, window.tumbling("5m"), by="k", time="ts")
    with pytest.raises(StreamingQueryException, match=r"\n\[SASH\] ValueError: A row .k=b, ts=None. has no valid time"):
        source.run(query.run(source.stream()))
    with pytest.raises(StreamingQueryException, match="is further ahead of the clock than ahead= allows"):
        source.run(query.run(source.stream(where="ts IS NOT NULL")))
    source.add(batches[2])
    sane = source.stream(where="ts IS NULL OR ts < current_timestamp() + INTERVAL 1 DAY")
    given, progress = source.run(query.run(sane, on_bad_time="drop"))
    assert (sum(counted(progress, "bad_times")), sum(counted(progress, "late"))) == (1, 0)
    assert [(row["k"], row["total"]) for row in given] == [("a", 3)]


@pytest.mark.full
@pytest.mark.usefixtures("classic")
def test_a_query_may_come_after_operators_with_state(spark: SparkSession, tmp_path: Path) -> None:
    source = Source(spark, tmp_path, [*BATCHES, [("z", 30, 0)]])
    minutes = source.stream().groupBy(F.window("ts", "1 minute"), "k").agg(F.sum("x").alias("x"))
    slices = minutes.select("k", F.window_time("window").alias("ts"), "x")
    first = sash.Query({"x": agg.sum("x")}, window.time("4m", slide="2m"), by="k", time="ts").run(slices)
    second = sash.Query({"most": agg.max("x")}, window.tumbling("4m"), by="k", time="window_end")
    given, progress = source.run(second.run(first, buckets=2))
    assert sum(counted(progress, "late")) == 0
    table = source.table.filter("k IS NULL OR k <> 'z'")
    sums = sash.Query({"x": agg.sum("x")}, window.time("4m", slide="2m"), by="k", time="ts").run(table)
    assert alike(given) == alike(dicts(second.run(sums)))


@pytest.mark.full
@pytest.mark.usefixtures("classic")
def test_two_queries_in_one_stream_are_counted_together(spark: SparkSession, tmp_path: Path) -> None:
    source = Source(spark, tmp_path, BATCHES[:2])
    query = sash.Query({"total": agg.sum("x")}, window.tumbling("5m"), by="k", time="ts")
    frames = [query.run(source.stream(), buckets=1), query.run(source.stream(), buckets=1)]  # even the same query twice
    _, progress = source.run(frames[0].unionByName(frames[1]))
    assert sum(counted(progress, "rows")) == 2 * sum(map(len, BATCHES[:2]))
    state = sash.spark.inspect_state(source.checkpoint).groupBy().sum("slices").collect()[0][0]
    [*_, last] = [sash.spark.counts(one) for one in progress if sash.spark.counts(one)["keys"]]
    assert last["slices"] == state > 0
    assert last["state_bytes"] > 0


@pytest.mark.full
@pytest.mark.usefixtures("classic")
def test_names_with_points_and_other_settings_after_a_restart(spark: SparkSession, tmp_path: Path) -> None:
    source = Source(spark, tmp_path)
    large = "spark.sql.execution.arrow.useLargeVarTypes"
    query = sash.Query({"n": agg.count(), "x.y": agg.sum("x")}, window.tumbling("2m"), by=["the.key", "day"], time="ts")

    def rows(frame: DataFrame) -> DataFrame:
        return frame.withColumns({"the.key": F.col("k"), "day": F.date_trunc("day", "ts")})

    before = spark.conf.get(large) or "false"
    spark.conf.set(large, "true")
    try:
        source.run(query.run(rows(source.stream()), buckets=2))
    finally:
        spark.conf.set(large, before)
    source.add([("a", 20, 1)])
    given, _ = source.run(query.run(rows(source.stream()), buckets=2))
    rest = dicts(sash.spark.finish(query, rows(source.stream()), source.checkpoint, buckets=2))
    assert alike([*given, *rest]) == alike(dicts(query.run(rows(source.table))))
    assert dicts(sash.spark.inspect_state(source.checkpoint).select("key.`the.key`"))


REFUSED: dict[str, tuple[dict[str, Any], dict[str, Any], str]] = {
    "mode": ({}, {"mode": "complete"}, "mode='complete' does not exist"),
    "rows": ({"windows": window.rows(3)}, {"mode": "update"}, 'mode="update" supports periodic windows and sessions'),
    "endless": (
        {"windows": window.rows(before=1, after=None)},
        {},
        r"rows\(before=1, after=None\) holds all later rows of the key, but a stream has no last row",
    ),
    "endless_time": (
        {"windows": window.time(before="1m", after=None)},
        {},
        "Limit after=, or run the query on a DataFrame",
    ),
    "bad": ({}, {"on_bad_time": "keep"}, "on_bad_time='keep' must be 'error' or 'drop'"),
    "ahead": ({}, {"ahead": 5}, "ahead=5 must be a length of time"),
    "metrics": ({}, {"metrics": ""}, "metrics='' must be a name"),
    "forget": ({}, {"forget": "30d"}, r"The state of tumbling\(\"5m\"\) expires by itself"),
    "forget_short": (
        {"windows": {"a": window.time("2h"), "b": window.rows(9)}},
        {"forget": "1h"},
        r"forget='1h' is too short for time\(\"2h\"\)",
    ),
    "forget_negative": ({"windows": window.rows(9)}, {"forget": "0s"}, "forget"),
    "lateness": ({"lateness": "1m"}, {}, "differs from the watermark of the stream, 180000 ms"),
    "strategy": ({}, {"strategy": "slices"}, "strategy='slices' is not for streams"),
    "time": (
        {"time": None, "windows": window.rows(3), "order_by": "x"},
        {},
        "Sash cannot sort a stream. Name",
    ),
}


@pytest.mark.usefixtures("classic")
@pytest.mark.parametrize("name", REFUSED)
def test_what_is_wrong_is_said_before_a_stream_starts(spark: SparkSession, tmp_path: Path, name: str) -> None:
    declared, options, message = REFUSED[name]
    given = {"aggregates": SUMS, "windows": window.tumbling("5m"), "by": "k", "time": "ts", **declared}
    stream = Source(spark, tmp_path, BATCHES[:1]).stream()
    with pytest.raises((ValueError, TypeError), match=message):
        sash.Query(**given).run(stream, **options)


def test_a_missing_watermark_is_said_with_the_line_to_add(spark: SparkSession, tmp_path: Path) -> None:
    source = Source(spark, tmp_path, BATCHES[:1])
    bare = spark.readStream.schema(source.table.schema).parquet(str(source.rows))
    query = sash.Query(SUMS, window.tumbling("5m"), by="k", time="ts")
    with pytest.raises(
        ValueError, match=r'no watermark.*Set one before run: df = df.withWatermark\("ts", "10 minutes"\)'
    ):
        query.run(bare)
    late = sash.Query(SUMS, window.tumbling("5m"), by="k", time="ts", lateness="90s")
    with pytest.raises(ValueError, match=r'withWatermark\("ts", "90000 milliseconds"\)'):
        late.run(bare)
    with pytest.raises(ValueError, match="The watermark of this stream is on 'other', but the query has time='ts'"):
        query.run(bare.withColumn("other", F.col("ts")).withWatermark("other", "1 minute"))
    with pytest.raises(TypeError, match="Column 'ts' is of type timestamp_ntz, but a watermark needs a timestamp"):
        query.run(bare.withColumn("ts", F.col("ts").cast("timestamp_ntz")))
    store = "spark.sql.streaming.stateStore.providerClass"
    before = spark.conf.get(store) or ""
    spark.conf.set(store, "org.apache.spark.sql.execution.streaming.state.HDFSBackedStateStoreProvider")
    try:
        with pytest.raises(ValueError, match=r"needs the RocksDB state store\. Before it starts, spark\.conf\.set"):
            query.run(source.stream())
    finally:
        spark.conf.set(store, before)


def test_there_is_no_state_where_there_is_none(spark: SparkSession, tmp_path: Path) -> None:
    assert spark
    with pytest.raises(ValueError, match="There is no state of Sash in"):
        sash.spark.inspect_state(str(tmp_path / "nowhere"))


@pytest.mark.full
def test_a_changed_mode_is_an_error_of_sash(spark: SparkSession, tmp_path: Path) -> None:
    """Spark would report it first, without a word of what to do, if it knew."""
    source = Source(spark, tmp_path, BATCHES[:2])
    query = sash.Query(SUMS, window.tumbling("5m"), by="k", time="ts")
    source.run(query.run(source.stream()))
    source.add(BATCHES[2])
    for evolve in (False, True):
        changed = query.run(source.stream(), mode="update", evolve=evolve)
        with pytest.raises(StreamingQueryException, match=r"\[SASH\].*mode: append became update.*new checkpoint"):
            source.run(changed)
    assert len(source.run(query.run(source.stream()))[0]) > 2  # the checkpoint is as it was
