"""The worker of streams on Spark, by Sash or by Spark's own aggregation: `in_spark.py sash` or `in_spark.py spark`. Two cores.

The events lie in Parquet files, which Spark reads in micro-batches.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Mapping
from functools import cache, partial, reduce
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 — as everyone calls it

import sash
from benchmarks.engines.events import Events
from benchmarks.engines.in_sash import aggregates_of, batch_of, lines_of, only_window
from benchmarks.engines.job import Job, work_on_jobs, write_lines
from benchmarks.engines.nexmark import on_spark, sash_run
from benchmarks.engines.nexmark.queries import SiteJob
from benchmarks.engines.questions import OWN, StreamQuestion

CORES = 2
EVENTS_OF_A_FILE, FILES = 50_000, 2
"""A micro-batch reads so many files."""
SCHEMA = "key long, ts timestamp, x double"


@cache
def session() -> SparkSession:
    """Start Spark."""
    conf = {"spark.sql.shuffle.partitions": CORES}
    return sash.spark.session("sash benchmarks", cores=CORES, memory="3g", **conf)


@cache
def written(events: Events) -> str:
    """Write the events, and return the folder."""
    folder = Path(tempfile.mkdtemp())
    size = min(EVENTS_OF_A_FILE, -(-events.count // FILES))
    for number, begin in enumerate(range(0, events.count, size)):
        rows = pa.Table.from_batches([batch_of(events, begin, min(begin + size, events.count))])
        rows = rows.set_column(1, "ts", rows["ts"].cast(pa.timestamp("us", "UTC")))
        file = folder / f"{number:06}.parquet"
        pq.write_table(rows, file)
        os.utime(file, (number, number))  # Spark takes files in order of their age
    return str(folder)


def arriving(events: Events) -> DataFrame:
    """Return the events as a stream."""
    reader = session().readStream.schema(SCHEMA).option("maxFilesPerTrigger", FILES)
    return reader.parquet(written(events)).withWatermark("ts", f"{events.delay} milliseconds")


def by_sash(question: StreamQuestion, rows: DataFrame) -> DataFrame:
    """Return Sash's answers."""
    return sash.Query(aggregates_of(question), only_window(question), by="key", time="ts").run(rows)


def by_spark(question: StreamQuestion, rows: DataFrame) -> DataFrame:
    """Return the answers of Spark's own aggregation. Spark has no windows per row and no aggregate of the user's on a stream."""
    if question.per_row or question.columns == OWN:
        message = f"Spark has no {question.name} on a stream."
        raise ValueError(message)
    return reduce(DataFrame.unionByName, (_grouped(question, length, rows) for length in question.lengths))


def _grouped(question: StreamQuestion, length: int, rows: DataFrame) -> DataFrame:
    """Return the answers of one window. Spark copies each row into all of its windows."""
    size = f"{length} milliseconds"
    windows = (
        F.session_window("ts", size)
        if question.form == "session"
        else F.window("ts", size, f"{question.slide} milliseconds")
    )
    grouped = rows.groupBy("key", windows.alias("w")).agg(
        F.max("x").alias("peak"), F.avg("x").alias("mean"), F.count("*").alias("n")
    )
    columns = {"window": F.lit(str(length)), "window_start": F.col("w.start"), "window_end": F.col("w.end")}
    return grouped.select("key", *(column.alias(name) for name, column in columns.items()), *question.columns)


WAYS: Mapping[str, Callable[[StreamQuestion, DataFrame], DataFrame]] = {"sash": by_sash, "spark": by_spark}


def stream_all(results: DataFrame, keeps: bool) -> tuple[float, list[pa.Table]]:
    """Return Spark's own seconds of all micro-batches, and their results if they are kept."""
    checkpoint = tempfile.mkdtemp()
    answers: list[pa.Table] = []
    writer = results.writeStream.option("checkpointLocation", checkpoint).trigger(availableNow=True)
    if keeps:
        stream = writer.foreachBatch(lambda batch, _: answers.append(batch.toArrow())).start()
    else:
        stream = writer.format("noop").start()
    stream.awaitTermination()
    shutil.rmtree(checkpoint)
    return float(sum(batch["durationMs"]["triggerExecution"] for batch in stream.recentProgress) / 1_000), answers


def run(way: str, job: Job) -> float:
    """Return the seconds of a job."""
    seconds, answers = stream_all(WAYS[way](job.question, arriving(job.events)), bool(job.results))
    if job.results:
        write_lines(lines_of(job.question, pa.concat_tables(answers)), job.results)
    return seconds


def run_query(way: str, job: SiteJob) -> float:
    """Return the seconds of a query of Nexmark."""
    session()  # before the tables, which take the session that is there
    seconds, answers = stream_all(on_spark.answers(way, job), bool(job.results))
    if job.results:
        write_lines(sash_run.lines_of(job.query, pa.concat_tables(answers)), job.results)
    return seconds


if __name__ == "__main__":
    work_on_jobs(partial(run, sys.argv[1]), partial(run_query, sys.argv[1]))
