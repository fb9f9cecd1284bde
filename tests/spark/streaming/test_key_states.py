"""States of keys from a real stream, over several micro-batches and a restart: a lookup is a label; an erased key is gone."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession

import sash
from sash import agg, window
from sash.algorithms.base import alike

pytestmark = pytest.mark.session

START = datetime(2026, 3, 1, 12, tzinfo=UTC)
SCHEMA = pa.schema({"house": pa.int32(), "plug": pa.string(), "ts": pa.timestamp("us", "UTC"), "load": pa.float64()})
WINDOWS = {
    "hour": window.time("1h"),
    "ever": window.expanding(),
    "last": window.rows(3),
    "tail": window.time("2h", tail="30m"),
}
AGGREGATES = {
    "n": agg.count(), "sum": agg.sum("load", where="load > 2"), "top": agg.max("load"), "newest": agg.last("ts"), "sd": agg.stddev("load"),
}  # fmt: skip
VALUES = {"plugs": agg.collect("plug"), "twice": agg.sum(sash.expr("load * 2"))}


def events_at(minutes: list[int]) -> pa.Table:
    rows = [
        {"house": minute % 3, "plug": ["a", "b", None][minute % 7 % 3], "ts": START + timedelta(minutes=minute), "load": None if minute % 5 == 0 else minute % 11 / 4}
        for minute in minutes
    ]  # fmt: skip
    return pa.Table.from_pylist(rows, SCHEMA)


class Job:
    """A stream over files, whose states go to a store; it can be restarted."""

    def __init__(self, spark: SparkSession, folder: Path, query: sash.Query) -> None:
        self.spark, self.folder, self.query = spark, folder, query
        self.store: dict[Any, bytes] = {}
        self.emitted: list[list[Any]] = []
        (folder / "in").mkdir()

    @property
    def frame(self) -> DataFrame:
        schema = "house int, plug string, ts timestamp, load double"
        return self.spark.readStream.schema(schema).parquet(str(self.folder / "in")).withWatermark("ts", "30 minutes")

    def run(self, *files: pa.Table, **options: Any) -> None:
        """Run until all files are read, one micro-batch for each call, from the checkpoint."""
        for table in files:
            pq.write_table(table, self.folder / "in" / f"{len(list((self.folder / 'in').iterdir()))}.parquet")
            states = self.query.run(self.frame, emit="state", buckets=2, **options)
            writer = states.writeStream.foreachBatch(writer_to(str(self.folder / "out")))
            checkpointed = writer.option("checkpointLocation", str(self.folder / "checkpoint"))
            checkpointed.trigger(availableNow=True).start().awaitTermination()
            self.read()

    def read(self) -> None:
        """Put the states of new micro-batches into the store."""
        while (batch := self.folder / "out" / str(len(self.emitted))).exists():
            rows = pq.read_table(batch).to_pylist()
            self.emitted.append(sorted((row["house"], row["state"] is None) for row in rows))
            for row in rows:
                if row["state"] is None:
                    self.store.pop(row["house"], None)
                else:
                    self.store[row["house"]] = row["state"]


def writer_to(folder: str) -> Any:
    """Return a function that writes each micro-batch to a folder of its own; on Connect, it runs in another process."""

    def write(batch: DataFrame, number: int) -> None:
        batch.write.parquet(f"{folder}/{number}")

    return write


@pytest.mark.parametrize("aggregates", [AGGREGATES, AGGREGATES | VALUES])
def test_a_lookup_is_a_label_also_after_a_restart(spark: SparkSession, tmp_path: Path, aggregates: Any) -> None:
    query = sash.Query(aggregates, WINDOWS, by="house", time="ts")
    job = Job(spark, tmp_path, query)
    header = query.state_header(job.frame)
    tables = [
        events_at([*range(0, 60, 2)]),
        events_at([*range(41, 90)]),
        events_at([90, 93, 96, 240]),
        events_at([244]),
    ]
    accepted: list[pa.Table] = []
    serving = sash.Query(aggregates, WINDOWS, by="house", time="ts")
    for table in tables:
        job.run(table)
        accepted.append(table)
        newest = max(table["ts"].to_pylist())
        assert {house for house, _ in job.emitted[-2 if len(job.emitted) > 1 and not job.emitted[-1] else -1]} <= {
            0,
            1,
            2,
        }
        for later in (timedelta(0), timedelta(minutes=40), timedelta(days=2)):
            labels = pa.table(
                {
                    "house": pa.array([0, 1, 2, 9], pa.int32()),
                    "ts": pa.array([newest + later] * 4, SCHEMA.field("ts").type),
                }
            )
            expected = query.run(pa.concat_tables(accepted), at=labels).drop_columns(["house", "ts"]).to_pylist()
            found = serving.lookup([job.store.get(house) for house in (0, 1, 2, 9)], now=newest + later, header=header)
            assert [list(row) for row in found] == [list(row) for row in expected]
            assert all(
                alike(list(mine.values()), list(theirs.values())) for mine, theirs in zip(found, expected, strict=True)
            ), (found, expected)


def test_a_key_without_rows_in_windows_has_a_tombstone(spark: SparkSession, tmp_path: Path) -> None:
    job = Job(spark, tmp_path, sash.Query(agg.count(), window.time("1h"), by="house", time="ts"))
    job.run(events_at([0, 1]), events_at([302]))
    assert sorted(job.store) == [2]
    assert [(0, True), (1, True)] in job.emitted or [(0, True)] in job.emitted


@pytest.mark.parametrize("emit", ["state", "results"])
def test_an_erased_key_is_nowhere_in_the_new_state(spark: SparkSession, tmp_path: Path, emit: str) -> None:
    query = sash.Query(
        {"n": agg.count(), "plugs": agg.collect("plug")},
        {"e": window.expanding(), "r": window.rows(5)},
        by="house",
        time="ts",
    )
    job = Job(spark, tmp_path, query)
    if emit == "state":
        job.run(events_at([*range(30)]))
        assert sorted(job.store) == [0, 1, 2]
        job.run(events_at([31, 33]), erase=[1, 7])  # 31 is of house 1
        assert sorted(job.store) == [0, 2]
        assert {(1, True), (7, True), (0, False)} <= {one for batch in job.emitted for one in batch}
        assert {row.key.house for row in sash.spark.inspect_state(str(tmp_path / "checkpoint")).collect()} == {0, 2}
        job.run(events_at([34]))
        now = START + timedelta(minutes=40)
        assert query.lookup(job.store[1], now=now)["n_e"] == 1  # as a new key
        return
    results = query.run(job.frame, buckets=2, erase=[2])
    pq.write_table(events_at([*range(30)]), tmp_path / "in" / "0.parquet")
    writer = results.writeStream.format("noop").option("checkpointLocation", str(tmp_path / "checkpoint"))
    writer.trigger(availableNow=True).start().awaitTermination()
    assert {row.key.house for row in sash.spark.inspect_state(str(tmp_path / "checkpoint")).collect()} == {0, 1}


def test_a_new_checkpoint_emits_all_keys_of_the_old_one(spark: SparkSession, tmp_path: Path) -> None:
    job = Job(spark, tmp_path, sash.Query(agg.count(), window.expanding(), by="house", time="ts"))
    job.run(events_at([*range(30)]))
    (tmp_path / "next").mkdir()
    moved = Job(spark, tmp_path / "next", job.query)
    one_house = events_at([33, 36, 39])
    for more in (one_house, events_at([42])):  # house 0
        moved.run(more, state_from=str(tmp_path / "checkpoint"))
    assert sorted(moved.store) == [0, 1, 2]
    now = START + timedelta(hours=1)
    assert [moved.query.lookup(moved.store[house], now=now) for house in (0, 1, 2)] == [
        {"count": 14},
        {"count": 10},
        {"count": 10},
    ]


def test_refusals_before_a_stream_starts(spark: SparkSession, tmp_path: Path) -> None:
    job = Job(spark, tmp_path, sash.Query(agg.count(), window.tumbling("1h"), by="house", time="ts"))
    with pytest.raises(ValueError, match="a window that has ended"):
        job.query.run(job.frame, emit="state")
    per_row = sash.Query(agg.count(), window.time("1h"), by="house", time="ts")
    with pytest.raises(ValueError, match='evolve=True does not go with emit="state"'):
        per_row.run(job.frame, emit="state", evolve=True)
    with pytest.raises(TypeError, match="does not fit the types of the keys"):
        per_row.run(job.frame, erase=["text"])
    assert per_row.schema(job.frame, emit="state").names == ["house", "state_time", "state"]
