"""The first three runs of a query on a Spark whose executors are new processes; prints them as JSON.

    python -m benchmarks.first_answer.on_cluster START QUERY PARQUET HOME CACHE

HOME is an empty folder for the files of the executors, CACHE the folder of their compiled kernels. An identity job runs first, so that the
executors have started Python, and what is left is Sash's. What is timed is everything from reading the rows to Spark's noop sink.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyspark
from pyspark.sql import DataFrame, SparkSession

import sash
from benchmarks.first_answer.answer import digest_of
from benchmarks.first_answer.ask_sash import columns, query_of

MASTER = "local-cluster[2,1,1500]"
RUNS = 3


def session(home: Path, cache: str) -> SparkSession:
    """Start a session with two executors, which write their files into the folder instead of PySpark's own."""
    for entry in Path(pyspark.__file__).parent.iterdir():
        (home / entry.name).symlink_to(entry)
    os.environ["SPARK_HOME"] = str(home)
    conf: dict[str, Any] = {
        "spark.master": MASTER,
        "spark.executorEnv.SASH_CACHE_DIR": cache,
        "spark.ui.showConsoleProgress": False,
    }
    return sash.spark.session("sash benchmarks", memory="1g", **conf)


def identity(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Return the rows as they are."""
    yield from batches


def compute(frame: DataFrame) -> None:
    """Compute all rows and keep none."""
    frame.write.format("noop").mode("overwrite").save()


def main(query: str, parquet: str, home: str, cache: str) -> None:
    """Warm the executors, run the query three times, and once more for the digest of its result."""
    spark = session(Path(home), cache)
    frame = spark.read.parquet(parquet)
    compute(spark.range(0, 100_000, 1, 8).mapInArrow(identity, "id long"))
    asked = query_of(query)
    seconds = []
    for _ in range(RUNS):
        start = time.perf_counter()
        compute(asked.run(frame))
        seconds.append(time.perf_counter() - start)
    digest = digest_of(columns(asked.run(frame).toArrow()))
    spark.stop()
    print(json.dumps({"seconds": seconds, "digest": digest}))  # noqa: T201 — the parent reads it


if __name__ == "__main__":
    main(*sys.argv[2:])
