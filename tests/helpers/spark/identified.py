"""A driver of a stream whose query is made of PySpark expressions; it can be started again, unchanged or changed.

    python identified.py FOLDER LIFE      LIFE is 1 or 2

Life 1 runs the stream over one file. Life 2 continues it over a second file, unchanged; then over a third one with evolve=True; then
it tries changed queries. It prints JSON: the results so far, and the message for each changed query.
"""

from __future__ import annotations

import json
import os
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as F  # noqa: N812 — the usual name

import sash
from helpers.spark.connect import connect_builder
from sash import agg, window
from sash.spark.local_session import settings

CONF: dict[str, Any] = {
    "spark.sql.shuffle.partitions": 1,
    "spark.sql.codegen.wholeStage": False,  # compiling Java takes longer than some rows
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.sql.session.timeZone": "UTC",
    "spark.ui.showConsoleProgress": False,
}
ROWS = 5
"""The rows of a file, one per minute."""


def session(folder: Path) -> SparkSession:
    """Return a session, of Connect where SASH_SPARK=connect."""
    conf = settings(1, "1g", str(folder / "tables"), CONF)
    builder = SparkSession.builder
    if os.environ.get("SASH_SPARK") == "connect":
        builder = connect_builder(conf.pop("spark.master"))
    for key, value in conf.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


def scaled(factor: int) -> Callable[[int], int]:
    """Return a function, as a closure."""
    return lambda x: x * factor


def key_of(length: int) -> Column:
    """Return a key."""
    return F.udf(lambda k: k[:length], "string")("k").alias("key")


def query(*, factor: int = 10, wanted: Column | None = None, key: Column | None = None) -> sash.Query:
    """Return the query, with changes."""
    aggregates = {
        "s": agg.sum(F.udf(scaled(factor), "int")("x")),
        "n": agg.count(where=F.exists("xs", lambda value: value > 0)),
        "k": agg.count(where=F.col("k") == F.lit("k") if wanted is None else wanted),
    }
    return sash.Query(aggregates, window.tumbling("8m"), by=key_of(1) if key is None else key, time="ts")


def add_file(folder: Path) -> None:
    """Write the next file of the source."""
    files = len([*folder.glob("*.json")])
    rows = [{"k": "ab", "x": 1, "xs": [1], "ts": f"2024-01-01T00:{files * ROWS + row:02}:00Z"} for row in range(ROWS)]
    (folder / f"{files}.json").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")


def run(spark: SparkSession, folder: Path, made: sash.Query, **options: Any) -> list[dict[str, Any]]:
    """Run the stream to the end of its source. Return the results so far."""
    stream = spark.readStream.schema("k string, x int, xs array<int>, ts timestamp").json(str(folder / "in"))
    results = made.run(stream.withWatermark("ts", "0 seconds"), buckets=1, **options)
    writer = results.writeStream.format("parquet").option("path", str(folder / "out"))
    writer = writer.option("checkpointLocation", str(folder / "checkpoint")).trigger(availableNow=True)
    writer.start().awaitTermination()
    return [
        {**row.asDict(), "window_start": row["window_start"].minute, "window_end": row["window_end"].minute}
        for row in spark.read.parquet(str(folder / "out")).orderBy("window_start").collect()
    ]


def main(path: str, life: str) -> None:
    """Do what the command line asks for."""
    warnings.simplefilter("ignore")
    folder = Path(path)
    (folder / "in").mkdir(parents=True, exist_ok=True)
    spark = session(folder)
    add_file(folder / "in")
    if life == "1":
        sys.stdout.write(json.dumps({"results": run(spark, folder, query())}) + "\n")
        return
    F.filter("xs", lambda value: value > 1)  # so that the counter of lambda variables differs
    report: dict[str, Any] = {"continued": run(spark, folder, query())}
    add_file(folder / "in")
    report["evolved"] = run(spark, folder, query(), evolve=True)
    add_file(folder / "in")
    changed: dict[str, Any] = {
        "function": {"factor": 1000},
        "literal": {"wanted": F.col("k") == F.col("k")},
        "key": {"key": key_of(2), "evolve": True},
    }
    for name, change in changed.items():
        evolve = change.pop("evolve", False)
        try:
            report[name] = run(spark, folder, query(**change), evolve=evolve)
        except Exception as error:  # noqa: BLE001 — the test reads the message
            lines = [line for line in str(error).splitlines() if "checkpoint" in line]
            report[name] = lines[0] if lines else str(error)
    sys.stdout.write(json.dumps(report) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
