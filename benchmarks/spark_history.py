"""The start of a stream on Spark with a long history: how long until its first micro-batch ends, and the memory of Python workers.

    python -m benchmarks.spark_history --rows 20000000

The history has 30 days of payments in no order. The query has a window of 30 days with a tail, so that the state has slices of an hour.
The results of the first micro-batch are compared with those of a batch run over history and stream; a second start from the checkpoint shows
that it does not read the history again. Only where there is /proc.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 — as everyone calls it

import sash
from benchmarks.spark_memory import STRIDE, Watch
from sash import agg, window

START = 1_767_225_600
"""2026-01-01 in seconds since 1970."""
DAYS = 31
UNTIL = START + DAYS * 86_400
NEW = 2_000
"""Rows of each micro-batch, in the minute after the history."""
QUERY = sash.Query(
    {"n": agg.count(), "spent": agg.sum("amount"), "largest": agg.max("amount")},
    window.time("30d", tail="1h"),
    by="card",
    time="ts",
)


def payments(spark: SparkSession, first: int, rows: int, keys: int) -> DataFrame:
    """Return the payments of the history in no order, or those after it."""
    number = F.pmod(F.col("id") * STRIDE, F.lit(max(rows, 1)))
    seconds = F.lit(START) + number * (DAYS * 86_400) / rows if first == 0 else F.lit(UNTIL + first) + F.col("id") % 60
    card = F.pmod(F.hash("id", F.lit(first)), F.lit(keys)).cast("long")
    amount = (F.pmod(F.xxhash64("id"), F.lit(10_000)) / 4).alias("amount")  # sums of quarters are exact in any order
    return spark.range(rows).select(card.alias("card"), seconds.cast("timestamp").alias("ts"), amount)


def run_stream(stream: DataFrame, folder: str, **options: Any) -> float:
    """Return how many seconds a stream took to read all that is there."""
    began = time.perf_counter()
    results = QUERY.run(stream, until="2026-02-01T00:00:00Z", **options)
    writer = results.writeStream.format("parquet").option("checkpointLocation", f"{folder}/checkpoint")
    writer.trigger(availableNow=True).start(f"{folder}/results").awaitTermination()
    return time.perf_counter() - began


def check(spark: SparkSession, folder: str, everything: DataFrame) -> None:
    """Compare the emitted results with those of a batch run."""
    emitted = spark.read.parquet(f"{folder}/results")
    cards = emitted.select("card").distinct().limit(50)
    found, expected = (
        {tuple(row) for row in rows.join(cards, "card", "semi").select(emitted.columns).collect()}
        for rows in (
            emitted,
            QUERY.run(everything.join(cards, "card", "semi")).where(F.col("ts") >= F.timestamp_seconds(F.lit(UNTIL))),
        )
    )
    assert found, "there are no results"
    assert found <= expected, "results differ from those of a batch run"


def main(arguments: list[str] | None = None) -> None:
    """Start the stream twice and print what it took."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.spark_history", description=__doc__)
    parser.add_argument("--rows", type=int, default=20_000_000)
    parser.add_argument("--keys", type=int, default=20_000)
    options = parser.parse_args(arguments)
    spark = sash.spark.session()
    with tempfile.TemporaryDirectory(prefix="sash-history-") as folder:
        payments(spark, 0, options.rows, options.keys).write.parquet(f"{folder}/history")
        history = spark.read.parquet(f"{folder}/history")
        payments(spark, 60, NEW, options.keys).coalesce(1).write.parquet(f"{folder}/input")
        stream = spark.readStream.schema(history.schema).parquet(f"{folder}/input").withWatermark("ts", "10 seconds")
        watch = Watch()
        watch.start()
        first = run_stream(stream, folder, history=history)
        peak = watch.peak
        payments(spark, 120, NEW, options.keys).coalesce(1).write.mode("append").parquet(f"{folder}/input")
        again = run_stream(stream, folder)
        check(spark, folder, history.union(spark.read.parquet(f"{folder}/input")))
        state = sum(path.stat().st_size for path in Path(folder, "checkpoint").rglob("*") if path.is_file())
    print(  # noqa: T201 — it is all that is asked for
        f"{options.rows:,} rows of history, {options.keys:,} keys: the first micro-batch ended after {first:.0f} s, and the one after a restart "
        f"after {again:.0f} s; the largest Python worker took {peak:,} MB, and the checkpoint {state / 1e6:,.0f} MB"
    )


if __name__ == "__main__":
    main()
