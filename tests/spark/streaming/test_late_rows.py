"""Each micro-batch of a stream emits what Spark's own `window` and `session_window` emit, whatever arrives late."""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from helpers.cases import SOAK
from helpers.pairwise import FULL, some
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 — the usual name

import sash
from sash import agg, window
from sash.windows import Window

SECOND = 1_000_000
BEGIN = 1_700_000_000 * SECOND
WINDOWS: dict[str, tuple[Window, Callable[[], Column]]] = {
    "tumbling": (window.tumbling("10s"), lambda: F.window("ts", "10 seconds")),
    "sliding": (window.time("12s", slide="5s"), lambda: F.window("ts", "12 seconds", "5 seconds")),
    "session": (window.session("4s"), lambda: F.session_window("ts", "4 seconds")),
}
Emitted = dict[int, list[tuple[Any, ...]]]


def random_stream(folder: Path, seed: int, batches: int) -> str:
    """Write micro-batches of rows, many of them late, each a file; return the delay of the watermark."""
    chooser = random.Random(seed)
    clock = 0.0
    for number in range(batches):
        clock += chooser.choice([0, 1, 7, 40])
        times = [
            clock + chooser.choice([0, 1, -3, -9, -14, -30]) * chooser.random() for _ in range(chooser.randint(1, 7))
        ]
        rows = {
            "k": pa.array([chooser.choice(["a", "b"]) for _ in times]),
            "ts": pa.array([BEGIN + int(time * SECOND) for time in times], pa.int64()).cast(pa.timestamp("us", "UTC")),
            "x": pa.array([chooser.randint(0, 99) for _ in times], pa.int64()),
        }
        path = folder / f"{number:03}.parquet"
        pq.write_table(pa.table(rows), path)
        os.utime(path, (number + 1, number + 1))  # Spark takes files in the order of their times
    return f"{chooser.choice([0, 2, 5, 11])} seconds"


def emitted_by(frame: DataFrame, checkpoint: Path) -> Emitted:
    """Run a stream to the end of its input, and return the rows of each micro-batch."""
    found: Emitted = {}

    def collect(batch: DataFrame, number: int) -> None:
        found[number] = sorted(tuple(row) for row in batch.collect())

    writer = frame.writeStream.option("checkpointLocation", str(checkpoint)).foreachBatch(collect)
    writer.trigger(availableNow=True).start().awaitTermination()
    return found


@pytest.mark.usefixtures("classic")
@pytest.mark.parametrize("seed", range(12 if SOAK else 1))
@pytest.mark.parametrize("name", some(WINDOWS, 3))
def test_micro_batches_emit_what_spark_emits(spark: SparkSession, tmp_path: Path, name: str, seed: int) -> None:
    spark.conf.set("spark.sql.shuffle.partitions", 1)
    rows = tmp_path / "rows"
    rows.mkdir()
    delay = random_stream(rows, 1000 * len(name) + seed, 40 if SOAK else 14 if FULL else 7)
    reader = spark.readStream.schema(spark.read.parquet(str(rows)).schema).option("maxFilesPerTrigger", 1)
    stream = reader.parquet(str(rows)).withWatermark("ts", delay)
    ours, theirs = WINDOWS[name]
    query = sash.Query({"n": agg.count(), "total": agg.sum("x")}, ours, by="k", time="ts")
    native = stream.groupBy("k", theirs().alias("w")).agg(F.count("*").alias("n"), F.sum("x").alias("total"))
    expected = emitted_by(native.select("k", "w.start", "w.end", "n", "total"), tmp_path / "native")
    # One bucket gets rows in each micro-batch, so that it has the watermark that Spark filters late rows by.
    assert emitted_by(query.run(stream, buckets=1), tmp_path / "sash") == expected
