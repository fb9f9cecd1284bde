"""A driver of streams of readings, which can be killed at any moment and started again from its checkpoints.

    python restarted.py STREAMS ROWS FORM DEADLY FOLDER …      for example: slices,rows 800 compiled none run

It reads ROWS rows, with the checkpoints of each folder in turn. A micro-batch is a file in FOLDER/results, named by the number
of the batch and by the process that wrote it; the windows that are open at the end of the input are in one more, `rest`. If
DEADLY is a number, the driver kills itself as soon as the batch of this number is written, before Spark commits it.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

import sash
from sash import agg, window

READINGS: dict[str, Any] = {"rows_per_second": 1, "speed": 2, "households": 3, "late": 0.2, "lateness": "4m", "seed": 3}
ROWS_OF_A_BATCH = 120
REST = "rest"
CONF: dict[str, Any] = {
    "spark.sql.shuffle.partitions": 2,
    "spark.sql.codegen.wholeStage": False,  # compiling Java takes longer than some hundred rows
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",  # as does making it fast
    "spark.sql.session.timeZone": "UTC",
    "spark.python.authenticate.socketTimeout": "300s",
}

chain = sash.aggregate(
    "chain",
    lift=lambda x: (int(x) + 20, int(x)),
    combine=lambda older, newer: (older[0] * newer[0] % 1_000_003, (older[1] * newer[0] + newer[1]) % 1_000_003),
    lower=lambda whole: whole[1],
)
"""The value of numerals of differing bases: no row may be lost, be there twice or change places."""


@dataclass(frozen=True)
class Stream:
    """A query, and the part of the readings that it is for."""

    query: sash.Query
    delay: str = "4 minutes"
    """The delay of the watermark; none of the readings is later than the default."""
    chosen: str = "true"
    types: dict[str, str] = field(default_factory=dict)

    def options(self, form: str) -> dict[str, Any]:
        """Return how the query is run."""
        return {"buckets": 3, "types": self.types, "compiled": {"compiled": True, "interpreted": False}.get(form)}

    def source(self, spark: SparkSession, rows: int) -> DataFrame:
        """Return the readings."""
        readings = sash.spark.readings(spark, **READINGS, rows=rows, rows_per_batch=ROWS_OF_A_BATCH)
        return readings.withWatermark("ts", self.delay).filter(self.chosen)


LOADS = {"n": agg.count(), "peak": agg.max("load"), "mean": agg.mean("load"), "sd": agg.stddev("load")}
SLIDING = sash.Query(LOADS, window.time("5m", slide="1m"), by=("house", "household"), time="ts")
STREAMS = {
    "slices": Stream(SLIDING),
    "rows": Stream(
        sash.Query({"peak": agg.max("load"), "chain": chain("load")}, window.rows(20), by=("house", "plug"), time="ts"),
        types={"chain": "bigint"},
    ),
    "tails": Stream(
        sash.Query(
            {**LOADS, "chain": chain("work")},
            {"tail": window.time("6m", tail="2m"), "near": window.time("30s"), "all": window.expanding()},
            by=("house", "household"),
            time="ts",
        ),
        types={"chain": "bigint"},
    ),
    "sessions": Stream(
        sash.Query(
            {"n": agg.count(), "work": agg.last("work")}, window.session("90s"), by=("house", "plug"), time="ts"
        ),
        chosen="minute(ts) % 7 < 4",
    ),
    "late": Stream(SLIDING, delay="30 seconds"),
}
"""State of slices, of rows, of slices and the rows after them, of sessions; and a watermark that drops late rows."""


def write(table: pa.Table, path: Path) -> None:
    """Write a file that is there wholly or not at all."""
    unfinished = path.with_suffix(".part")
    with pa.OSFile(str(unfinished), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table)
    unfinished.replace(path)


def sink(folder: Path, deadly: str) -> Callable[[DataFrame, int], None]:
    """Return a sink that writes each micro-batch, and kills the process after the deadly one."""
    folder.mkdir(parents=True, exist_ok=True)

    def take(frame: DataFrame, number: int) -> None:
        write(frame.toArrow(), folder / f"{number}-{os.getpid()}.arrow")
        if str(number) == deadly:
            os.killpg(os.getpgrp(), signal.SIGKILL)

    return take


def run(spark: SparkSession, streams: dict[str, Stream], rows: int, form: str, deadly: str, folder: Path) -> None:
    """Run streams at the same time to the end of the rows, and then finish what is open."""
    behind_first = sorted(streams, key=lambda name: len([*(folder / "checkpoints" / name).glob("commits/[0-9]*")]))
    running = []
    for name in behind_first:
        stream = streams[name]
        results = stream.query.run(stream.source(spark, rows), **stream.options(form))
        writer = results.writeStream.option("checkpointLocation", str(folder / "checkpoints" / name))
        writer = writer.foreachBatch(sink(folder / "results" / name, deadly)).trigger(availableNow=True)
        running.append(writer.start())
        while running[-1].isActive and not running[-1].lastProgress:  # Spark gives up on Python if all start at once
            running[-1].awaitTermination(1)
    for each in running:
        each.awaitTermination()
    for name, stream in streams.items():
        checkpoint = str(folder / "checkpoints" / name)
        rest = sash.spark.finish(stream.query, stream.source(spark, rows), checkpoint, **stream.options(form))
        write(rest.toArrow(), folder / "results" / name / f"{REST}-{os.getpid()}.arrow")


def main(names: str, rows: str, form: str, deadly: str, *folders: str) -> None:
    """Do what the command line asks for."""
    spark = sash.spark.session(cores=2, memory="1g", **CONF)
    streams = {name: STREAMS[name] for name in names.split(",")}
    for folder in folders:
        run(spark, streams, int(rows), form, deadly, Path(folder))


if __name__ == "__main__":
    main(*sys.argv[1:])
