"""The worker of streams on Spark for latency, by Sash or by Spark: ten times a second a file appears with the events that have arrived."""

from __future__ import annotations

import shutil
import sys
import tempfile
import threading
import time
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame
from pyspark.sql.streaming.query import StreamingQuery

from benchmarks.engines import in_spark
from benchmarks.engines.events import BLOCK, Events
from benchmarks.engines.in_sash import batch_of
from benchmarks.engines.job import Job, work
from benchmarks.engines.pace import PacedJob, paced_job_of, summary
from benchmarks.engines.questions import StreamQuestion

WARM = 200_000
"""Events that start workers and compile."""
EVERY = 0.1
"""Seconds between files."""
IDLE = 2
"""Seconds without work after which a stream has answered everything."""


@cache
def warm(way: str, question: StreamQuestion) -> None:
    """Answer some events at once."""
    in_spark.run(way, Job(question, Events(WARM)))


def feed(job: PacedJob, folder: Path, start: float) -> None:
    """Write files as events arrive, until the time is over."""
    read, number, events = BLOCK, 0, job.events
    while read < events.count:
        number += 1
        time.sleep(max(0.0, start + number * EVERY - time.perf_counter()))
        arrived = max(read, job.arrived(time.perf_counter() - start))
        write(events, read, arrived, folder / f"{number:06}.parquet")
        read = arrived


def write(events: Events, begin: int, end: int, file: Path) -> None:
    """Write some events. Spark sees the file when it is complete."""
    rows = pa.Table.from_batches([batch_of(events, begin, end)])
    rows = rows.set_column(1, "ts", rows["ts"].cast(pa.timestamp("us", "UTC")))
    hidden = file.with_name(f".{file.name}")
    pq.write_table(rows, hidden)
    hidden.rename(file)


def drain(stream: StreamingQuery, most: float) -> None:
    """Wait until all that has arrived is answered, or some seconds. Raise if the stream has failed."""
    deadline = time.perf_counter() + most
    idle = 0
    while idle < IDLE and time.perf_counter() < deadline:
        if stream.awaitTermination(1):
            break
        status = stream.status
        idle = 0 if status["isTriggerActive"] or status["isDataAvailable"] else idle + 1


def run(way: str, job: PacedJob) -> dict[str, Any]:
    """Return the latencies of a job."""
    warm(way, job.question)
    folder, checkpoint = Path(tempfile.mkdtemp()), tempfile.mkdtemp()
    reader = in_spark.session().readStream.schema(in_spark.SCHEMA).parquet(str(folder))
    write(job.events, 0, BLOCK, folder / "000000.parquet")
    results = in_spark.WAYS[way](job.question, reader.withWatermark("ts", f"{job.events.delay} milliseconds"))
    seen: list[tuple[int, float]] = []
    start = time.perf_counter()

    def take(batch: DataFrame, _: int) -> None:
        found = batch.toArrow()
        now = time.perf_counter() - start
        ends = np.unique(found["window_end"].cast(pa.timestamp("ms", "UTC")).cast("int64").to_numpy())
        seen.extend((int(end), now) for end in ends)

    stream = results.writeStream.option("checkpointLocation", checkpoint).foreachBatch(take).start()
    stream.processAllAvailable()  # the first micro-batch starts workers and state stores; the clock starts after it
    start = time.perf_counter()
    feeder = threading.Thread(target=feed, args=(job, folder, start))
    feeder.start()
    feeder.join()
    drain(stream, job.seconds)
    stream.stop()
    for path in (folder, checkpoint):
        shutil.rmtree(path, ignore_errors=True)
    return summary(job, seen, job.events.count)


if __name__ == "__main__":
    work(lambda line: run(sys.argv[1], paced_job_of(line)))
