"""States from foreachBatch to a store: written once, from all partitions, by the stream that its checkpoint names."""

from __future__ import annotations

import base64
import os
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from helpers.redis_server import redis_server
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 — as everyone calls it

import sash
from sash import agg, window
from sash.serve import open_store
from sash.serve.store import Store
from sash.state.key_states import HEADER
from spark.conftest import CONNECT

NAME, CARDS = "cards", 300
TIME = datetime(2026, 3, 2, tzinfo=UTC)


@pytest.fixture(scope="module")
def redis_url() -> Iterator[str]:
    with redis_server() as url:
        yield url


@pytest.fixture(params=["sqlite", "redis"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    is_redis = request.param == "redis"
    url = request.getfixturevalue("redis_url") if is_redis else f"sqlite:///{tmp_path / 'f.db'}"
    with open_store(url) as opened:
        yield opened
        opened.drop(NAME)


def write_file(folder: Path, number: int) -> None:
    """Write the states of one micro-batch; each one has a null key, and deletes every seventh card."""
    cards = [*range(CARDS), None]
    states = [None if place % 7 == number % 7 else b"%d after %d" % (place, number) for place in range(len(cards))]
    columns = {
        "card": pa.array(cards, pa.int64()),
        "opened": pa.array([TIME] * len(cards), pa.timestamp("us", "UTC")),
        "state": pa.array(states, pa.binary()),
    }
    path = folder / f"{number}.parquet"
    pq.write_table(pa.table(columns), path)
    os.utime(path, (1_000 + number, 1_000 + number))  # a stream reads files in the order of their times


def stream_of(spark: SparkSession, folder: Path) -> DataFrame:
    """Return the states as a stream, in several partitions, with a header as emitted states have it."""
    rows = spark.readStream.schema("card long, opened timestamp, state binary").option("maxFilesPerTrigger", 1)
    metadata = {HEADER: base64.b64encode(b"header").decode()}
    state = F.col("state").alias("state", metadata=metadata)
    return rows.parquet(str(folder)).repartition(3).select("card", "opened", F.col("opened").alias("state_time"), state)


def run(stream: DataFrame, store: Store, checkpoint: Path, run: str | None = None) -> Any:
    writer = stream.writeStream.foreachBatch(store.writer(NAME, run=run))
    query = writer.option("checkpointLocation", str(checkpoint)).trigger(availableNow=True).start()
    query.awaitTermination()
    return query


def state(store: Store, card: int | None) -> bytes | None:
    return store.state(NAME, {"card": card, "opened": TIME})


def test_states_of_a_stream_are_in_the_store(spark: SparkSession, store: Store, tmp_path: Path) -> None:
    folder = tmp_path / "states"
    folder.mkdir()
    name = "a stream" if CONNECT else None
    for number in (0, 1):
        write_file(folder, number)
    query = run(stream_of(spark, folder), store, tmp_path / "checkpoint", name)
    assert (store.get(NAME).run, store.get(NAME).number) == (name or query.id, 1)
    assert store.count(NAME) == len([place for place in range(CARDS + 1) if place % 7 != 1])
    assert [state(store, card) for card in (0, 1, 299, None)] == [b"0 after 1", None, b"299 after 1", b"300 after 1"]
    write_file(folder, 2)
    restarted = run(stream_of(spark, folder), store, tmp_path / "checkpoint", name)
    assert restarted.id == query.id
    assert (state(store, 0), store.get(NAME).number) == (b"0 after 2", 2)


def test_a_repeated_batch_and_another_checkpoint(spark: SparkSession, store: Store, tmp_path: Path) -> None:
    folder = tmp_path / "states"
    folder.mkdir()
    for number in (0, 1):
        write_file(folder, number)
    checkpoint = tmp_path / "checkpoint"
    run(stream_of(spark, folder), store, checkpoint, "first")
    (checkpoint / "commits" / "1").unlink()  # as if the driver had died after the store was written
    (checkpoint / "commits" / ".1.crc").unlink()
    store.delete(NAME, {"card": 0, "opened": TIME})
    run(stream_of(spark, folder), store, checkpoint, "first")
    assert (checkpoint / "commits" / "1").exists()
    assert state(store, 0) is None  # the repeated micro-batch has changed nothing
    with pytest.raises(Exception, match=r"Run 'first' writes 'cards', and this is run 'second'"):
        run(stream_of(spark, folder), store, tmp_path / "another", "second")
    store.release(NAME)
    run(stream_of(spark, folder), store, tmp_path / "another", "second")
    assert (state(store, 0), store.get(NAME).run) == (b"0 after 1", "second")
    write_file(folder, 2)
    with pytest.raises(Exception, match=r"Run 'first' of 'cards' was released"):
        run(stream_of(spark, folder), store, checkpoint, "first")
    assert state(store, 0) == b"0 after 1"


def test_a_stream_goes_on_after_a_repeated_batch(spark: SparkSession, store: Store, tmp_path: Path) -> None:
    """The store skips the repeated micro-batch, but Spark must write its state."""
    folder, checkpoint = tmp_path / "events", tmp_path / "checkpoint"
    folder.mkdir()
    query = sash.Query({"n": agg.count()}, window.expanding(), by="card", time="opened")
    for number in range(3):
        times = pa.array([TIME + timedelta(minutes=number)] * 2, pa.timestamp("us", "UTC"))
        pq.write_table(pa.table({"card": pa.array([1, 2], pa.int64()), "opened": times}), folder / f"{number}.parquet")
        events = spark.readStream.schema("card long, opened timestamp").parquet(str(folder))
        states = query.run(events.withWatermark("opened", "10 minutes"), emit="state", buckets=2)
        run(states, store, checkpoint, "r")
        newest = max(int(path.name) for path in (checkpoint / "commits").glob("[0-9]*"))
        (checkpoint / "commits" / f"{newest}").unlink()  # as if the driver had died after the store was written
        (checkpoint / "commits" / f".{newest}.crc").unlink()
    found = store.state(NAME, {"card": 2})
    header = query.state_header(events.withWatermark("opened", "10 minutes"))
    assert query.lookup(found, now=TIME + timedelta(hours=1), header=header) == {"n": 3}


@pytest.mark.usefixtures("classic")
def test_a_frame_is_written_without_a_stream(spark: SparkSession, store: Store, tmp_path: Path) -> None:
    write_file(tmp_path, 0)
    rows = spark.read.parquet(str(tmp_path / "0.parquet"))
    with pytest.raises(ValueError, match='emit="state"'):
        store.write(rows, NAME, run="r", number=0)
    metadata = {HEADER: base64.b64encode(b"header").decode()}
    states = rows.select("card", F.col("opened").alias("state_time"), F.col("state").alias("state", metadata=metadata))
    assert store.write(states, NAME, run="r", number=0)
    assert not store.write(states, NAME, run="r", number=0)
    assert store.state(NAME, {"card": 5}) == b"5 after 0"
    with pytest.raises(RuntimeError, match=r'Name the stream: store.writer\(name, run="…"\)'):
        store.writer(NAME)(states, 1)
