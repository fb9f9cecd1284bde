"""Streams, one after the other, in a new session of two cores; prints what each micro-batch used, as JSON.

    python -m benchmarks.sizing.one_session START STREAMS

STREAMS is JSON: a list of streams, each with the folder of its rows, the folder of its checkpoint, the most files of a micro-batch, and the length of its windows. A stream
whose checkpoint is not new is a restart. Processor time is that of Java and of all Python workers, without this process, which measures.
"""

from __future__ import annotations

import json
import sys
import threading
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 — as everyone calls it
from pyspark.sql.streaming.listener import StreamingQueryListener

import sash
from benchmarks.process_tree import MostMemory, cpu_seconds
from benchmarks.sizing.case import CORES, HEAP, query
from benchmarks.stream_growth.data import SCHEMA
from benchmarks.stream_growth.digest import LATE_SECONDS, PRIME
from benchmarks.stream_growth.one_stream import written_in
from sash.spark.streaming.shards import LOG

SUMS = ("windows", "n", "total")
JAVA, WORKER = b"java", b"daemon"


class Batches(StreamingQueryListener):
    """Reads the processor time when a micro-batch ends."""

    def __init__(self) -> None:
        self.ended: dict[int, float] = {}
        self.finished = threading.Event()

    def onQueryStarted(self, event: Any) -> None:  # noqa: N802
        """Do nothing."""

    def onQueryProgress(self, event: Any) -> None:  # noqa: N802
        """Read the time."""
        self.ended[event.progress.batchId] = cpu_seconds()

    def onQueryIdle(self, event: Any) -> None:  # noqa: N802
        """Do nothing."""

    def onQueryTerminated(self, event: Any) -> None:  # noqa: N802, ARG002
        """Let the session go on: all progress has come."""
        self.finished.set()


def run(spark: SparkSession, folder: str, checkpoint: str, files: int, length: str) -> dict[str, Any]:
    """Run a stream to the end of its rows."""
    listener = Batches()
    spark.streams.addListener(listener)
    begin = cpu_seconds()
    with MostMemory(JAVA, WORKER) as memory:
        stream = (
            observed(spark, folder, files, length).writeStream.format("noop").option("checkpointLocation", checkpoint)
        )
        ended = stream.trigger(availableNow=True).start()
        ended.awaitTermination()
        listener.finished.wait()
    spark.streams.removeListener(listener)
    batches = []
    for progress in ended.recentProgress:
        end = listener.ended.get(progress["batchId"])
        if end is None or not progress["numInputRows"]:
            continue
        counted = sash.spark.counts(progress, "sash")
        batches.append(
            {
                "rows": progress["numInputRows"],
                "slices": counted["slices"],
                "keys": counted["keys"],
                "results": progress["observedMetrics"]["digest"]["windows"],
                "written": counted["state_bytes"],
                "cpu": end - begin,
                "seconds": progress["durationMs"]["triggerExecution"] / 1000,
            }
        )
        begin = end
    digests = [one["observedMetrics"]["digest"] for one in ended.recentProgress]
    return {
        "batches": batches,
        "java_megabytes": memory.megabytes[JAVA],
        "worker_megabytes": memory.megabytes[WORKER],
        "checkpoint_bytes": written_in(Path(checkpoint) / "state"),
        **stored(spark, checkpoint),
        "digest": {name: sum(one[name] or 0 for one in digests) for name in SUMS},
    }


def observed(spark: SparkSession, folder: str, files: int, length: str) -> DataFrame:
    """Return the results of a stream, whose sums are observed."""
    rows = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", files).parquet(folder)
    results = query(length).run(rows.withWatermark("ts", f"{LATE_SECONDS} seconds"), metrics="sash")
    sums = [
        F.count("*").alias("windows"),
        F.sum("n").alias("n"),
        F.sum(F.col("total") * (F.col("key") % PRIME)).alias("total"),
    ]
    return results.observe("digest", *sums)


def stored(spark: SparkSession, checkpoint: str) -> dict[str, int]:
    """Return what the newest version of the state holds: keys, slices and their bytes, and the bytes that are stored for them."""
    log = spark.read.format("statestore").option("stateVarName", LOG).load(checkpoint)
    [compressed] = log.agg(F.sum(F.length("user_map_value.state"))).collect()
    held = sash.spark.inspect_state(checkpoint)
    [counted] = held.agg(F.count("*"), F.sum("slices"), F.sum("bytes")).collect()
    names = ("stored_bytes", "keys", "slices", "bytes")
    return {name: int(number or 0) for name, number in zip(names, (*compressed, *counted), strict=True)}


def main(streams: str) -> None:
    """Run all streams."""
    # Snapshots are written when they are due, not once a minute: the streams are short. Nothing is removed from a checkpoint.
    conf = {"spark.sql.shuffle.partitions": CORES, "spark.sql.streaming.stateStore.maintenanceInterval": "2s"}
    spark = sash.spark.session("sash benchmarks", cores=CORES, memory=f"{HEAP >> 20}m", **conf)
    told = [run(spark, *stream) for stream in json.loads(streams)]
    print(json.dumps(told))  # noqa: T201 — the parent reads it
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[2:])
