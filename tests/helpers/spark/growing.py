"""A driver of streams at a constant rate whose keys come and go: it measures their state after each micro-batch.

    python growing.py BATCHES FOLDER

A key is a household in a certain hour. FOLDER/measured.json has, for each stream, the rows of state and the bytes of the
checkpoint after each batch, and the keys and the size of the state at the end.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 — as everyone calls it

import sash
from helpers.spark.restarted import CONF
from sash import agg, window

ROWS_OF_A_BATCH = 100
READINGS: dict[str, Any] = {"rows_per_second": 1, "speed": 6, "households": 4, "late": 0.2, "lateness": "9m"}
"""Ten minutes in a batch, six batches in the life of a key."""
RETAINED = {
    "spark.sql.streaming.minBatchesToRetain": 2,
    "spark.sql.streaming.stateStore.maintenanceInterval": "1s",  # how often Spark removes older batches
    "spark.sql.streaming.numRecentProgressUpdates": 10_000,
}
LOADS = {"peak": agg.max("load"), "mean": agg.mean("load")}
KEY = ("house", "household", "hour")
QUERIES = {
    "slices": sash.Query(LOADS, window.time("30m", slide="5m"), by=KEY, time="ts"),
    "sessions": sash.Query(LOADS, window.session("3m"), by=KEY, time="ts"),
    "rows": sash.Query(LOADS, window.rows(5), by=KEY, time="ts"),
    "expanding": sash.Query(LOADS, window.expanding(), by=KEY, time="ts"),
}
OPTIONS: dict[str, dict[str, Any]] = {"rows": {"forget": "30m"}, "expanding": {"forget": "30m"}}
"""By query: otherwise every key would stay forever."""


def bytes_of(folder: Path) -> int:
    """Return the size of all files; some may go while they are counted."""
    sizes = []
    for path in folder.rglob("*"):
        try:
            sizes.append(path.stat().st_size if path.is_file() else 0)
        except FileNotFoundError:
            continue
    return sum(sizes)


def measure(checkpoint: Path, sizes: list[int]) -> Callable[[DataFrame, int], None]:
    """Return a sink that counts the bytes of a checkpoint."""

    def take(frame: DataFrame, _: int) -> None:
        frame.write.format("noop").mode("append").save()
        sizes.append(bytes_of(checkpoint))

    return take


def main(batches: str, folder: str) -> None:
    """Run all streams at the same time, and write the measurements."""
    spark = sash.spark.session(cores=2, memory="1g", **{**CONF, **RETAINED})
    rows = int(batches) * ROWS_OF_A_BATCH
    running, measured = {}, {}
    for name, query in QUERIES.items():
        readings = sash.spark.readings(spark, **READINGS, rows=rows, rows_per_batch=ROWS_OF_A_BATCH)
        keyed = readings.withColumn("hour", F.date_format("ts", "dd HH")).withWatermark("ts", "9 minutes")
        checkpoint = Path(folder, name)
        sizes: list[int] = []
        writer = query.run(keyed, buckets=4, **OPTIONS.get(name, {})).writeStream.foreachBatch(
            measure(checkpoint, sizes)
        )
        writer = writer.option("checkpointLocation", str(checkpoint)).trigger(availableNow=True)
        running[name], measured[name] = writer.start(), {"bytes": sizes}
    for name, stream in running.items():
        stream.awaitTermination()
        held = sash.spark.inspect_state(str(Path(folder, name))).select("key.hour", "slices", "rows").collect()
        measured[name] |= {
            "state rows": [
                each["stateOperators"][0]["numRowsTotal"] for each in stream.recentProgress if each["stateOperators"]
            ],
            "hours": sorted({row.hour for row in held}),
            "stored": sum(row.slices + row.rows for row in held),
        }
    Path(folder, "measured.json").write_text(json.dumps(measured), encoding="ascii")


if __name__ == "__main__":
    main(*sys.argv[1:])
