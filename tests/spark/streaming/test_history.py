"""A stream that starts with a history gives the results of a batch run from `until` on, also after restarts."""

from __future__ import annotations

import datetime as dt
import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession

import sash
from sash import agg, window

SCHEMA = "card int, ts timestamp, amount double, note string"
START = dt.datetime.fromisoformat("2026-01-01T00:00:00+00:00")
UNTIL = START + dt.timedelta(hours=30)
QUERIES: dict[str, dict[str, Any]] = {
    "rows per time": {"hour": window.time("6h"), "day": window.time("24h")},
    "rows": {"few": window.rows(5)},
    "all and some": {"all": window.expanding(), "hour": window.time("6h")},
    "ahead": {"around": window.time(before="4h", after="2h")},
    "slices": {"hop": window.time("12h", slide="1h"), "visit": window.session("25m")},
    "right": {"hop": window.time("12h", slide="1h", closed="right")},
}
ORDERED = {"total": agg.sum("amount"), "newest": agg.last("amount"), "n": agg.count()}
COMMUTE = {"total": agg.sum("amount"), "peak": agg.max("amount"), "n": agg.count()}


def events(seed: int, rows: int = 400) -> list[tuple[Any, ...]]:
    """Events of some cards within two days, in order of time; one card is null."""
    numbers = random.Random(seed)
    times = sorted(numbers.sample(range(48 * 60), rows))
    cards = [None, 1, 2, 3, 4]
    return [
        (numbers.choice(cards), START + dt.timedelta(minutes=minute), float(numbers.randrange(100)), f"n{minute}")
        for minute in times
    ]


def files_of(
    spark: SparkSession, folder: Path, rows: list[tuple[Any, ...]], files: int, delay: str = "50 hours"
) -> DataFrame:
    """Rows as files that a stream reads one after the other."""
    folder.mkdir()
    size = -(-len(rows) // files)
    for number in range(files):
        part = spark.createDataFrame(rows[number * size : (number + 1) * size], SCHEMA)
        part.coalesce(1).write.mode("append").parquet(str(folder))
    stream = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).parquet(str(folder))
    return stream.withWatermark("ts", delay)  # Spark's order of files is that of their times of change


def run(results: DataFrame, folder: Path) -> Any:
    """Run a stream until it has read all files."""
    writer = results.writeStream.format("parquet").option("checkpointLocation", f"{folder}/checkpoint")
    query = writer.trigger(availableNow=True).start(f"{folder}/results")
    query.awaitTermination()
    return query


def written(spark: SparkSession, folder: Path) -> Counter[str]:
    return Counter(map(repr, spark.read.parquet(f"{folder}/results").collect()))


def since(rows: DataFrame, column: str) -> Counter[str]:
    return Counter(map(repr, rows.where(f"{column} >= timestamp '{UNTIL.isoformat()}'").collect()))


@pytest.mark.parametrize("name", QUERIES)
def test_a_history_and_the_rest_give_the_results_of_a_batch_run(name: str, spark: SparkSession, tmp_path: Path) -> None:
    rows = events(7)
    aggregates = COMMUTE if name in ("slices", "right") else ORDERED
    query = sash.Query(aggregates, QUERIES[name], by="card", time="ts")
    everything = spark.createDataFrame(rows, SCHEMA)
    overlap = [row for row in rows if row[1] < UNTIL][-17:]
    rest = [row for row in rows if row[1] >= UNTIL]
    stream = files_of(spark, tmp_path / "input", [*overlap, *rest], 3)
    options: dict[str, Any] = {"history": everything, "until": UNTIL, "buckets": 3}
    ended = run(query.run(stream, **options), tmp_path)
    finished = Counter(map(repr, sash.spark.finish(query, stream, f"{tmp_path}/checkpoint", **options).collect()))
    found = written(spark, tmp_path) + finished
    expected = query.run(everything)
    if name == "ahead":  # rows whose window is open at T are emitted
        opened = UNTIL - dt.timedelta(hours=2)
        assert found == Counter(map(repr, expected.where(f"ts >= timestamp '{opened.isoformat()}'").collect()))
    elif query._declared.per_row:
        assert found == since(expected, "ts")
    else:
        closed = "" if name == "right" else f" or window != 'visit' and window_end = timestamp '{UNTIL.isoformat()}'"
        closed = closed if "window" in expected.columns else ""
        assert found == Counter(
            map(repr, expected.where(f"not (window_end < timestamp '{UNTIL.isoformat()}'{closed})").collect())
        )
    assert sum(sash.spark.counts(progress)["overlap"] for progress in ended.recentProgress) == 17
    assert sum(sash.spark.counts(progress)["late"] for progress in ended.recentProgress) == 0


def counting(folder: Path) -> Any:
    """Return a function for mapInArrow that leaves a file behind whenever it runs."""
    folder.mkdir()

    def count(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import uuid  # noqa: PLC0415 — in a worker

        (folder / uuid.uuid4().hex).touch()
        yield from batches

    return count


def test_a_restart_does_not_read_the_history(spark: SparkSession, tmp_path: Path) -> None:
    rows = events(3)
    before, rest = [row for row in rows if row[1] < UNTIL], [row for row in rows if row[1] >= UNTIL]
    history = spark.createDataFrame(before, SCHEMA).coalesce(1).mapInArrow(counting(tmp_path / "read"), SCHEMA)
    query = sash.Query(ORDERED, window.time("24h"), by="card", time="ts")
    stream = files_of(spark, tmp_path / "input", rest[:60], 3)
    options: dict[str, Any] = {"history": history, "until": UNTIL}
    run(query.run(stream, **options), tmp_path)
    reads = len(list((tmp_path / "read").iterdir()))
    assert reads >= 1
    for part in (rest[60:90], rest[90:]):
        spark.createDataFrame(part, SCHEMA).coalesce(1).write.mode("append").parquet(f"{tmp_path}/input")
        run(query.run(stream, **options), tmp_path)
        options.pop("history", None)  # the last restart leaves it out
    assert len(list((tmp_path / "read").iterdir())) == reads == 1
    finished = sash.spark.finish(query, stream, f"{tmp_path}/checkpoint", **options)
    found = written(spark, tmp_path) + Counter(map(repr, finished.collect()))
    assert found == since(query.run(spark.createDataFrame(rows, SCHEMA)), "ts")


def failure(results: DataFrame, folder: Path) -> str:
    """The error of a stream."""
    with pytest.raises(StreamingQueryException) as caught:
        run(results, folder)
    return str(caught.value)


def test_what_is_wrong_stops_the_stream(spark: SparkSession, tmp_path: Path) -> None:
    rows = events(5)
    before = spark.createDataFrame([row for row in rows if row[1] < UNTIL], SCHEMA)
    stream = files_of(spark, tmp_path / "input", [row for row in rows if row[1] >= UNTIL], 1)
    query = sash.Query(ORDERED, window.time("24h"), by="card", time="ts")
    short = before.where("ts >= timestamp '2026-01-01T09:00:00Z'")
    message = failure(query.run(stream, history=short, until=UNTIL), tmp_path / "short")
    assert "[SASH]" in message
    assert "but open windows hold rows of 1d before until=2026-01-02 06:00:00+00:00" in message
    empty = failure(query.run(stream, history=before.limit(0), until=UNTIL), tmp_path / "empty")
    assert "has no rows before until" in empty
    run(query.run(stream, history=short, until=UNTIL, partial=True), tmp_path / "partial")
    assert "this checkpoint is new and has none" in failure(query.run(stream, until=UNTIL), tmp_path / "none")
    spark.createDataFrame(rows[-3:], SCHEMA).coalesce(1).write.mode("append").parquet(f"{tmp_path}/input")
    changed = failure(query.run(stream), tmp_path / "partial")
    assert "until: 2026-01-02 06:00:00+00:00 became nothing" in changed


def test_wrong_options(spark: SparkSession, tmp_path: Path) -> None:
    before = spark.createDataFrame(events(5), SCHEMA)
    stream = files_of(spark, tmp_path / "input", events(5), 1)
    query = sash.Query(ORDERED, window.time("24h"), by="card", time="ts")
    with pytest.raises(TypeError, match="history= needs until="):
        query.run(stream, history=before)
    with pytest.raises(TypeError, match=r"must be a batch DataFrame of Spark, but it is a builtins\.list"):
        query.run(stream, history=[1], until=UNTIL)
    with pytest.raises(TypeError, match="is a streaming DataFrame"):
        query.run(stream, history=stream, until=UNTIL)
    with pytest.raises(ValueError, match="not from both"):
        query.run(stream, history=before, until=UNTIL, state_from="checkpoint")
    with pytest.raises(ValueError, match="There is no column 'amount'"):
        query.run(stream, history=before.drop("amount"), until=UNTIL)
    with pytest.raises(TypeError, match=r"Column 'ts' of the history is timestamp_ntz.*: only one has a time zone"):
        query.run(stream, history=before.withColumn("ts", before.ts.cast("timestamp_ntz")), until=UNTIL)
    with pytest.raises(
        TypeError, match=r"Column 'amount' of the history is decimal\(9,2\) and does not fit that of the stream, double"
    ):
        query.run(stream, history=before.withColumn("amount", before.amount.cast("decimal(9,2)")), until=UNTIL)
    with pytest.raises(TypeError, match="a table has all its rows"):
        query.run(before, history=before, until=UNTIL)
    hop = sash.Query(COMMUTE, window.time("24h", slide="1h"), by="card", time="ts")
    with pytest.raises(ValueError, match="Spark's own operator does not have it"):
        hop.run(stream, history=before, until=UNTIL, strategy="native")
    several = sash.sql(
        "SELECT * FROM (SELECT *, count(*) OVER (PARTITION BY card ORDER BY ts ROWS 3 PRECEDING) AS n FROM t) WHERE n > 1"
    )
    with pytest.raises(ValueError, match="history= does not apply to a text of several SELECTs"):
        several.run(stream, history=before, until=UNTIL)
    text = " ".join(str(query.explain(stream)).replace("│", " ").split())
    assert 'run(stream, history=…, until=T) needs, before T: the rows of 1d for time("24h")' in text


def test_where_applies_to_the_history_too(spark: SparkSession, tmp_path: Path) -> None:
    rows = events(13)
    stream = files_of(spark, tmp_path / "input", [row for row in rows if row[1] >= UNTIL], 1, "1 minute")
    over = "sum(amount) OVER (PARTITION BY card ORDER BY ts RANGE INTERVAL 1 DAY PRECEDING) AS total"
    query = sash.sql(f"SELECT *, {over} FROM t WHERE amount > 30")
    everything = spark.createDataFrame(rows, SCHEMA)
    options: dict[str, Any] = {"history": everything, "until": UNTIL}
    run(query.run(stream, **options), tmp_path)
    found, expected = written(spark, tmp_path), since(query.run(everything), "ts")
    assert found
    assert not found - expected
    assert len(expected - found) < 9  # the rows within a minute of the newest one


def test_until_without_a_zone_is_in_that_of_the_session(spark: SparkSession, tmp_path: Path) -> None:
    rows = events(9)
    stream = files_of(spark, tmp_path / "input", rows, 1)
    query = sash.Query({"n": agg.count()}, window.expanding(), time="ts")
    history = spark.createDataFrame(rows, SCHEMA)
    ended = run(query.run(stream, history=history, until="2026-01-02 01:00"), tmp_path)  # 06:00 in UTC
    overlap = sum(row[1] < UNTIL for row in rows)
    assert sum(sash.spark.counts(progress)["overlap"] for progress in ended.recentProgress) == overlap


def test_columns_that_results_only_show_may_be_missing(spark: SparkSession, tmp_path: Path) -> None:
    rows = events(11)
    before = spark.createDataFrame([row for row in rows if row[1] < UNTIL], SCHEMA).drop("note")
    narrow = before.withColumn("amount", before.amount.cast("int"))
    stream = files_of(spark, tmp_path / "input", [row for row in rows if row[1] >= UNTIL], 1)
    query = sash.Query(
        {"n": agg.sum(sash.expr("amount + 1"), where="amount > 3")}, window.time("24h"), by="card", time="ts"
    )
    options: dict[str, Any] = {"history": narrow, "until": UNTIL}
    run(query.run(stream, **options), tmp_path)
    finished = sash.spark.finish(query, stream, f"{tmp_path}/checkpoint", **options)
    found = written(spark, tmp_path) + Counter(map(repr, finished.collect()))
    assert found == since(query.run(spark.createDataFrame(rows, SCHEMA)), "ts")
