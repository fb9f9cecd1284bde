"""One stream in a new session of two cores; prints its times, its bytes and what its results come to, as JSON.

    python -m benchmarks.stream_growth.one_stream START sash|tumbling|sliding LENGTH PARQUET CHECKPOINT

Times are Spark's own for each micro-batch (`triggerExecution`). Nothing has run in the session before. Bytes are those of all files that
the state stores have written: changelogs and snapshots.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 — as everyone calls it

import sash
from benchmarks.stream_growth.data import FILES, SCHEMA
from benchmarks.stream_growth.digest import LATE_SECONDS, PRIME
from sash import agg, window

CORES = 2
UNITS = {"m": "minutes", "h": "hours", "d": "days"}


def by_sash(length: str, rows: DataFrame) -> DataFrame:
    """Return Sash's sliding windows."""
    query = sash.Query({"total": agg.sum("x"), "n": agg.count()}, window.time(length, slide="1m"), by="key", time="ts")
    return query.run(rows)


def by_spark(length: str, rows: DataFrame, slide: str | None = None) -> DataFrame:
    """Return Spark's own aggregation: tumbling windows, or sliding ones, for which it copies each row."""
    windows = F.window("ts", f"{length[:-1]} {UNITS[length[-1]]}", slide)
    return rows.groupBy("key", windows).agg(F.sum("x").alias("total"), F.count("*").alias("n"))


def written_in(state: Path) -> int:
    """Return the bytes of all files of the state stores, without the checksums that Hadoop adds."""
    return sum(path.stat().st_size for path in state.rglob("*") if path.is_file() and path.suffix != ".crc")


def main(way: str, length: str, parquet: str, checkpoint: str) -> None:
    """Run the stream to its end."""
    # Nothing is removed, so that the files are all that was written.
    conf = {"spark.sql.streaming.minBatchesToRetain": 1000, "spark.sql.shuffle.partitions": CORES}
    spark = sash.spark.session("sash benchmarks", cores=CORES, memory="3g", **conf)
    source = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", FILES)
    rows = source.parquet(parquet).withWatermark("ts", f"{LATE_SECONDS} seconds")
    results = by_sash(length, rows) if way == "sash" else by_spark(length, rows, {"sliding": "1 minute"}.get(way))
    sums = {"windows": F.count("*"), "n": F.sum("n"), "total": F.sum(F.col("total") * (F.col("key") % PRIME))}
    observed = results.observe("digest", *(what.alias(name) for name, what in sums.items()))
    writer = observed.writeStream.format("noop").option("checkpointLocation", checkpoint)
    stream = writer.trigger(availableNow=True).start()
    stream.awaitTermination()
    digests = [one["observedMetrics"]["digest"] for one in stream.recentProgress]
    told = {
        "seconds": [
            one["durationMs"]["triggerExecution"] / 1000 for one in stream.recentProgress if one["numInputRows"]
        ],
        "bytes": written_in(Path(checkpoint) / "state"),
        "digest": {name: sum(one[name] or 0 for one in digests) for name in sums},
    }
    print(json.dumps(told))  # noqa: T201 — the parent reads it
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[2:])
