"""The worker of Sash in process: a RecordBatchReader whose batches are computed as they are read."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa

import sash
from benchmarks.engines.events import Events
from benchmarks.engines.job import Job, work_on_jobs, write_lines
from benchmarks.engines.nexmark import sash_run
from benchmarks.engines.questions import OWN, StreamQuestion
from sash import agg, window

BATCH = 10_000
"""Events of a record batch."""
SCHEMA = pa.schema({"key": pa.int64(), "ts": pa.timestamp("ms"), "x": pa.float64()})


def _lift(x: float) -> tuple[float, int]:
    return (math.log(x), 1)


def _combine(older: tuple[float, int], newer: tuple[float, int]) -> tuple[float, int]:
    return (older[0] + newer[0], older[1] + newer[1])


def _lower(partial: tuple[float, int]) -> float:
    return math.exp(partial[0] / partial[1])


geometric_mean = sash.aggregate("geometric_mean", lift=_lift, combine=_combine, lower=_lower, commutative=True)
"""The aggregate that the user has written."""


def aggregates_of(question: StreamQuestion) -> dict[str, Any]:
    """Return the aggregates."""
    if question.columns == OWN:
        return {"middle": geometric_mean("x")}
    return {"peak": agg.max("x"), "mean": agg.mean("x"), "n": agg.count()}


def windows_of(question: StreamQuestion) -> dict[str, Any]:
    """Return the windows by their lengths."""
    slide = f"{question.slide}ms"
    return {str(length): _window(question.form, length, slide) for length in question.lengths}


def _window(form: str, length: int, slide: str) -> Any:
    if form == "rows":
        return window.rows(length)
    if form == "session":
        return window.session(f"{length}ms")
    return window.time(f"{length}ms", slide=slide) if form == "hop" else window.time(f"{length}ms")


def only_window(question: StreamQuestion) -> Any:
    """Return the windows as a query takes them: a single one has no name."""
    windows = windows_of(question)
    return windows if len(windows) > 1 else next(iter(windows.values()))


@cache
def query_of(question: StreamQuestion, delay: int) -> sash.Query:
    """Return the query."""
    return sash.Query(aggregates_of(question), only_window(question), by="key", time="ts", lateness=f"{delay}ms")


def batch_of(events: Events, begin: int, end: int) -> pa.RecordBatch:
    """Return some of the events."""
    key, ts, x = events.columns_of(np.arange(begin, end, dtype=np.int64))
    return pa.record_batch([pa.array(key), pa.array(ts, pa.timestamp("ms")), pa.array(x)], schema=SCHEMA)


def batches_of(events: Events) -> Iterator[pa.RecordBatch]:
    """Yield all events, batch by batch."""
    for begin in range(0, events.count, BATCH):
        yield batch_of(events, begin, min(begin + BATCH, events.count))


def lines_of(question: StreamQuestion, table: pa.Table) -> Iterator[list[Any]]:
    """Yield results as lines of the CSV."""
    only = str(question.lengths[0])
    start, end = ("ts", "ts") if question.per_row else ("window_start", "window_end")
    names = {"window": pa.array([only] * len(table)) if "window" not in table.column_names else table["window"]}
    times = {name: table[name].cast(pa.timestamp("ms")).cast("int64") for name in {start, end}}
    columns = [names["window"], table["key"], times[start], times[end], *(table[name] for name in question.columns)]
    yield from (list(line) for line in zip(*(column.to_pylist() for column in columns), strict=True))


def run(job: Job) -> float:
    """Return the seconds of a job."""
    start = time.perf_counter()
    reader = pa.RecordBatchReader.from_batches(SCHEMA, batches_of(job.events))
    results = query_of(job.question, job.events.delay).run(reader)
    if job.results:
        write_lines(lines_of(job.question, results.read_all()), job.results)
    else:
        for _ in results:
            pass
    return time.perf_counter() - start


if __name__ == "__main__":
    work_on_jobs(run, sash_run.run)
