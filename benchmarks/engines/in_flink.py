"""The worker of Flink: SQL over a `datagen` sequence, on a local mini cluster with two slots, in streaming mode."""

from __future__ import annotations

import csv
import math
import shutil
import tempfile
import time
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any

from pyflink.common import Row
from pyflink.table import EnvironmentSettings, TableEnvironment
from pyflink.table.udf import AggregateFunction, udaf

from benchmarks.engines.flink_sql import select, sink, source
from benchmarks.engines.job import Job, work_on_jobs
from benchmarks.engines.questions import SECOND

PARALLELISM = "2"


class GeometricMean(AggregateFunction):
    """The aggregate that the user has written."""

    def create_accumulator(self) -> Any:
        """Return the sum of logarithms and the count."""
        return Row(0.0, 0)

    def accumulate(self, accumulator: Any, x: float) -> None:
        """Add a value."""
        accumulator[0] += math.log(x)
        accumulator[1] += 1

    def merge(self, accumulator: Any, accumulators: Any) -> None:
        """Add other accumulators."""
        for other in accumulators:
            accumulator[0] += other[0]
            accumulator[1] += other[1]

    def get_value(self, accumulator: Any) -> float | None:
        """Return the mean."""
        return math.exp(accumulator[0] / accumulator[1]) if accumulator[1] else None


@cache
def tables() -> TableEnvironment:
    """Start Flink."""
    environment = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    configuration = environment.get_config()
    configuration.set("parallelism.default", PARALLELISM)
    configuration.set("table.local-time-zone", "UTC")
    configuration.set("taskmanager.memory.managed.size", "256m")
    function = udaf(
        GeometricMean(),
        result_type="DOUBLE",
        accumulator_type="ROW<total DOUBLE, n BIGINT>",
        func_type="general",
    )
    environment.create_temporary_system_function("geometric_mean", function)
    return environment


def rewrite(job: Job, folder: Path) -> None:
    """Write the CSV of a job from Flink's files, which have times as text."""
    with Path(job.results).open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        for part in sorted(one for one in folder.rglob("*") if one.is_file() and not one.name.startswith(".")):
            with part.open(encoding="utf-8", newline="") as lines:
                for span, key, begins, ends, *answers in csv.reader(lines):
                    writer.writerow([span, key, milliseconds(begins), milliseconds(ends), *answers])


def milliseconds(text: str) -> int:
    """Return a time of Flink's CSV in milliseconds.

    >>> milliseconds("1970-01-01 00:01:00.5")
    60500
    """
    return int(datetime.fromisoformat(f"{text.partition('.')[0]}+00:00").timestamp()) * SECOND + int(
        text.partition(".")[2].ljust(3, "0")
    )


def run(job: Job) -> float:
    """Return the seconds of a job."""
    environment = tables()
    for name in ("events", "results"):
        environment.execute_sql(f"DROP TEMPORARY TABLE IF EXISTS {name}")
    folder = tempfile.mkdtemp() if job.results else ""
    environment.execute_sql(source(job.events))
    environment.execute_sql(sink(job.question, folder))
    start = time.perf_counter()
    environment.execute_sql(f"INSERT INTO results {select(job.question)}").wait()
    seconds = time.perf_counter() - start
    if folder:
        rewrite(job, Path(folder))
        shutil.rmtree(folder)
    return seconds


if __name__ == "__main__":
    work_on_jobs(run)
