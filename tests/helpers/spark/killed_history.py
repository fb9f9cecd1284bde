"""A driver whose stream starts with a history, which it reads slowly, so that a test can kill it then."""

from __future__ import annotations

import datetime as dt
import random
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa

import sash
from sash import agg, window

SCHEMA = "card int, ts timestamp, amount double"
START = dt.datetime.fromisoformat("2026-01-01T00:00:00+00:00")
UNTIL = START + dt.timedelta(hours=30)
QUERY = sash.Query(
    {"total": agg.sum("amount"), "newest": agg.last("amount")},
    {"day": window.time("24h"), "few": window.rows(5)},
    by="card",
    time="ts",
)


def events() -> list[tuple[Any, ...]]:
    """Events of some cards within two days, in order of time."""
    numbers = random.Random(1)
    minutes = sorted(numbers.sample(range(48 * 60), 600))
    return [
        (numbers.randrange(5), START + dt.timedelta(minutes=minute), float(numbers.randrange(100)))
        for minute in minutes
    ]


def main(folder: str) -> None:
    """Run the stream until it has read all files."""
    import time  # noqa: PLC0415 — the function below is sent to workers

    def slowly(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        (Path(folder) / "read" / uuid.uuid4().hex).touch()
        time.sleep(1.5)
        yield from batches

    settings: dict[str, Any] = {"spark.sql.shuffle.partitions": 2}
    spark = sash.spark.session(cores=2, memory="1g", **settings)
    history = spark.read.parquet(f"{folder}/history").coalesce(1).mapInArrow(slowly, SCHEMA)
    stream = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).parquet(f"{folder}/input")
    results = QUERY.run(stream.withWatermark("ts", "1 minute"), history=history, until=UNTIL)
    writer = results.writeStream.format("parquet").option("checkpointLocation", f"{folder}/checkpoint")
    writer.trigger(availableNow=True).start(f"{folder}/results").awaitTermination()


if __name__ == "__main__":
    main(sys.argv[1])
