"""A driver whose stream starts with a history and writes states to stores, until it is killed.

    python -m helpers.spark.served FOLDER STORE …

It reads FOLDER/history, then a file of FOLDER/input in each micro-batch. The checkpoint is in FOLDER/checkpoint.
"""

from __future__ import annotations

import json
import os
import random
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

import sash
from helpers.four_lives import Feed, Lives
from sash import agg, window
from sash.serve import open_store
from sash.serve.store import Store

MINUTE = 60_000_000
DELAY, FORGET = 30, 26 * 60
"""Minutes."""
UNTIL = datetime(2026, 3, 2, tzinfo=UTC)
BEGIN = int(UNTIL.timestamp()) // 60
SCHEMA = pa.schema({"card": pa.string(), "t": pa.timestamp("us", "UTC"), "id": pa.int64(), "amount": pa.float64()})
COLUMNS = "card string, t timestamp, id long, amount double"
NAME = "features"
QUERY = sash.Query(
    {
        "rows": agg.count(), "sum": agg.sum("amount"), "top": agg.max("amount"), "some": agg.sum("amount", where="amount > 5"),
        "last": agg.last("id"), "sd": agg.stddev("amount"),
    },
    {
        "hour": window.time("1h"), "tail": window.time("20h", tail="2h"), "few": window.rows(4), "ever": window.expanding(),
        "gap": window.time(before="3h", after="-10m"),
    },
    by="card",
    time="t",
    lateness=f"{DELAY}m",
)  # fmt: skip


def made_lives(files: int, seed: int = 3) -> Lives:
    """Return the query with a history of two days, and files of ten minutes each.

    Each row is at most 20 minutes older than those before it, or older than the delay by far. Some cards come and go.
    """
    chooser = random.Random(seed)

    def event(minute: int) -> dict[str, Any]:
        active = [
            f"card {number}" for number in range(12) if minute // 1700 % 3 != number % 3
        ]  # two of three, for a while
        amount = None if chooser.random() < 0.1 else chooser.randint(-40, 40) / 4
        card = chooser.choice([None, *active])
        return {"card": card, "t": minute * MINUTE, "id": chooser.getrandbits(40), "amount": amount}

    def table(minutes: list[int]) -> pa.Table:
        rows = pa.Table.from_pylist([event(minute) for minute in minutes], SCHEMA.set(1, pa.field("t", pa.int64())))
        return rows.cast(SCHEMA)

    def file(number: int) -> pa.Table:
        newest = BEGIN + 100 * number
        late = [newest - chooser.randint(900, 1500) for _ in range(3)] if number > 3 else []
        return table([max(BEGIN, newest + chooser.randint(-20, 0)) for _ in range(40)] + late)

    past = table([BEGIN - chooser.randint(-50, 2 * 24 * 60) for _ in range(800)])
    feed = Feed(past, [file(number) for number in range(files)], BEGIN, DELAY, MINUTE)
    return Lives(QUERY, ("card",), feed, FORGET, "{}m".format)


def write_history(folder: Path, feed: Feed) -> None:
    """Write the past, and make the folder of the stream."""
    (folder / "input").mkdir(parents=True)
    pq.write_table(feed.past, folder / "history.parquet")


def write_file(folder: Path, feed: Feed, number: int) -> None:
    """Write a file, which appears at once; Spark reads files in the order of their times."""
    unfinished = folder / f"{number}.part"
    pq.write_table(feed.batches[number], unfinished)
    os.utime(unfinished, (1_770_000_000 + number,) * 2)
    unfinished.replace(folder / "input" / f"{number}.parquet")


def files_read(folder: Path, number: int) -> int:
    """Return the number of files that a stream has read up to a micro-batch."""
    lines = (folder / "checkpoint" / "offsets" / str(number)).read_text(encoding="utf-8").splitlines()
    return int(json.loads(lines[2])["logOffset"]) + 1


def states_of(spark: SparkSession, folder: Path) -> DataFrame:
    """Return the stream of states."""
    return run_stream(spark, folder, emit="state")


def run_stream(spark: SparkSession, folder: Path, **options: Any) -> DataFrame:
    """Run the query on the files, with the history."""
    history = spark.read.schema(COLUMNS).parquet(f"{folder}/history.parquet")
    stream = spark.readStream.schema(COLUMNS).option("maxFilesPerTrigger", 1).parquet(f"{folder}/input")
    stream = stream.withWatermark("t", f"{DELAY} minutes")
    return QUERY.run(stream, history=history, until=UNTIL, forget=f"{FORGET}m", buckets=2, **options)


def write_states(
    states: DataFrame, folder: Path, stores: list[Store], run: str | None = None, **trigger: Any
) -> StreamingQuery:
    """Start to write states to all stores. On Connect, `run` names the stream."""
    writers = [store.writer(NAME, run=run) for store in stores]

    def write(batch: DataFrame, number: int) -> None:
        batch.persist()  # as each store reads it
        for writer in writers:
            writer(batch, number)
        batch.unpersist()

    writer = states.writeStream.foreachBatch(write).option("checkpointLocation", str(folder / "checkpoint"))
    return writer.trigger(**trigger).start()


def main(folder: str, *urls: str) -> None:
    """Run until somebody kills this process."""
    conf: dict[str, Any] = {
        "spark.sql.shuffle.partitions": 2,
        "spark.sql.codegen.wholeStage": False,  # compiling Java takes longer than some hundred rows
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",  # as does making it fast
        "spark.sql.session.timeZone": "America/New_York",
        "spark.python.authenticate.socketTimeout": "300s",
    }
    spark = sash.spark.session(cores=2, memory="1g", **conf)
    stores = [open_store(url) for url in urls]
    write_states(states_of(spark, Path(folder)), Path(folder), stores, processingTime="0 seconds").awaitTermination()


if __name__ == "__main__":
    main(*sys.argv[1:])
