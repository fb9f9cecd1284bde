"""The worker of Flink: SQL over a `datagen` sequence, on a local mini cluster with two slots, in streaming mode."""

from __future__ import annotations

import csv
import math
import shutil
import tempfile
import time
from collections.abc import Collection, Iterable
from functools import cache
from pathlib import Path
from typing import Any

from pyflink.common import Row
from pyflink.table import EnvironmentSettings, TableEnvironment
from pyflink.table.udf import AggregateFunction, udaf

from benchmarks.engines.flink_sql import milliseconds, select, sink, source
from benchmarks.engines.job import Job, work_on_jobs
from benchmarks.engines.nexmark import flink_sql as nexmark_sql
from benchmarks.engines.nexmark.queries import TIMES, SiteJob

OPTIONS = {"parallelism.default": "2", "table.local-time-zone": "UTC", "taskmanager.memory.managed.size": "256m"}

TEMPORARY = dict.fromkeys(("person", "auction", "bid"), "VIEW") | dict.fromkeys(("events", "results"), "TABLE")
"""What jobs make."""


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
    for name, value in OPTIONS.items():
        configuration.set(name, value)
    function = udaf(
        GeometricMean(),
        result_type="DOUBLE",
        accumulator_type="ROW<total DOUBLE, n BIGINT>",
        func_type="general",
    )
    environment.create_temporary_system_function("geometric_mean", function)
    return environment


def insert(statements: Iterable[str], query: str) -> float:
    """Make tables, and return the seconds of a query that fills the table of results."""
    environment = tables()
    for what, name in TEMPORARY.items():
        environment.execute_sql(f"DROP TEMPORARY {name} IF EXISTS {what}")
    for statement in statements:
        environment.execute_sql(statement)
    start = time.perf_counter()
    environment.execute_sql(f"INSERT INTO results {query}").wait()
    return time.perf_counter() - start


def rewrite(folder: str, results: str, times: Collection[int]) -> None:
    """Write the CSV of a job from Flink's files, which have times as text, and delete them."""
    with Path(results).open("w", encoding="utf-8", newline="") as file:
        for part in (one for one in Path(folder).rglob("*") if one.is_file() and not one.name.startswith(".")):
            with part.open(encoding="utf-8", newline="") as lines:
                csv.writer(file).writerows(
                    [milliseconds(cell) if place in times else cell for place, cell in enumerate(line)]
                    for line in csv.reader(lines)
                )
    shutil.rmtree(folder)


def run(job: Job) -> float:
    """Return the seconds of a job."""
    folder = tempfile.mkdtemp() if job.results else ""
    seconds = insert([source(job.events), sink(job.question, folder)], select(job.question))
    if folder:
        rewrite(folder, job.results, (2, 3))
    return seconds


def run_query(job: SiteJob) -> float:
    """Return the seconds of a query of Nexmark."""
    folder = tempfile.mkdtemp() if job.results else ""
    tables_of_site = [*nexmark_sql.sources(job.events), nexmark_sql.sink(job.query, folder)]
    seconds = insert(tables_of_site, nexmark_sql.SELECTS[job.query.number])
    if folder:
        rewrite(folder, job.results, [place for place, name in enumerate(job.query.columns) if name in TIMES])
    return seconds


if __name__ == "__main__":
    work_on_jobs(run, run_query)
