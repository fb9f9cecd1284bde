"""The suites: what each measures, and where its cases are. The CSV of a suite has its name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args

from benchmarks.case import Case
from benchmarks.results import of_suite

Group: TypeAlias = Literal["all", "large", "algorithms"]
GROUPS: tuple[Group, ...] = get_args(Group)
"""What users ask for; many rows, keys and bytes, which take hours; and algorithms beside each other, for the catalogue and the papers."""


@dataclass(frozen=True, kw_only=True)
class Suite:
    """Cases that are measured together. They are imported when they are used: some need Spark, or all peers."""

    description: str
    quick_rows: int
    """Rows of `--quick`."""
    cases_in: str
    """Where the cases are: a module and a name in it."""
    shown_by: str = "benchmarks.report:show"
    """What prints the targets with what was measured."""
    group: Group = "all"
    """What it is measured with: `make bench` measures "all", `make bench-large` and `make bench-algorithms` the others."""

    @property
    def name(self) -> str:
        """The name, which is that of its CSV."""
        return next(name for name, suite in SUITES.items() if suite is self)

    @property
    def csv(self) -> Path:
        """Where its results are."""
        return of_suite(self.name)

    @property
    def cases(self) -> Sequence[Case]:
        """The cases."""
        return tuple(load(self.cases_in))

    @property
    def show(self) -> Callable[..., None]:
        """What prints the targets."""
        found: Callable[..., None] = load(self.shown_by)
        return found


def load(place: str) -> Any:
    """Return what has a name in a module.

    >>> load("benchmarks.case:SECONDS")
    'seconds'
    """
    module, name = place.split(":")
    return getattr(import_module(module), name)


SUITES = {
    "workloads": Suite(
        description="What people do with windows, in pandas, Polars, DuckDB, Spark and Sash: time and memory.",
        quick_rows=3_000,
        cases_in="benchmarks.workloads.cases:CASES",
    ),
    "compiled": Suite(
        description="Windows of rows over a column, beside pandas, Polars, DuckDB, bottleneck and numbagg.",
        quick_rows=60_000,
        cases_in="benchmarks.cases:CASES",
    ),
    "nexmark": Suite(
        description="Nexmark's queries on Spark, beside Spark's own ways.",
        quick_rows=2_000,
        cases_in="benchmarks.nexmark.cases:CASES",
    ),
    "spark_batch": Suite(
        description="Sash on Spark, beside Spark's own ways.",
        quick_rows=1_000,
        cases_in="benchmarks.spark_batch.cases:CASES",
    ),
    "spark_streaming": Suite(
        description="Sash on streams of Spark, beside Spark's own.",
        quick_rows=1_000,
        cases_in="benchmarks.spark_streaming.cases:CASES",
    ),
    "engines": Suite(
        description="Streams of the same events in Sash, Flink, Spark, Pathway and Bytewax.",
        quick_rows=2_000,
        cases_in="benchmarks.engines.cases:CASES",
    ),
    "latency": Suite(
        description="The highest rate of events that Sash, Flink and Spark sustain, and the time from an event to its result.",
        quick_rows=2_000,
        cases_in="benchmarks.engines.cases:LATENCIES",
    ),
    "never_slower": Suite(
        description="What Spark can run itself, in sash.spark.session() and with Spark's defaults.",
        quick_rows=2_000,
        cases_in="benchmarks.never_slower.cases:CASES",
    ),
    "features": Suite(
        description="Features as of the times of labels, beside DuckDB, Polars and Spark.",
        quick_rows=2_000,
        cases_in="benchmarks.features.cases:CASES",
    ),
    "serving": Suite(
        description="Features over HTTP at a fixed rate of requests, from stores in SQLite and Redis.",
        quick_rows=500,
        cases_in="benchmarks.serving.cases:CASES",
    ),
    "aggregates": Suite(
        description="Every aggregate beside max, and beside DuckDB where it has it.",
        quick_rows=3_000,
        cases_in="benchmarks.aggregates.cases:CASES",
    ),
    "sizing": Suite(
        description="What a stream on Spark costs by row, slice, result and key, and whether a plan made of that holds.",
        quick_rows=2_000,
        cases_in="benchmarks.sizing.cases:CASES",
    ),
    "windows": Suite(
        description="Windows of time over a table, beside Polars and DuckDB.",
        quick_rows=60_000,
        cases_in="benchmarks.windows.cases:CASES",
    ),
    "h2o": Suite(
        description="The rolling and window questions of the H2O benchmark.",
        quick_rows=2_000,
        cases_in="benchmarks.h2o.cases:CASES",
    ),
    "flights": Suite(
        description="Delays, hours, planes and sessions of real flights.",
        quick_rows=2_000,
        cases_in="benchmarks.flights.cases:CASES",
    ),
    "first_answer": Suite(
        description="The first result in fresh processes, beside pandas, Polars, DuckDB and Spark.",
        quick_rows=1_000,
        cases_in="benchmarks.first_answer.cases:CASES",
        shown_by="benchmarks.first_answer.summary:show",
    ),
    "query_overhead": Suite(
        description="What Query adds to its kernels.",
        quick_rows=60_000,
        cases_in="benchmarks.query_overhead.cases:CASES",
    ),
    "frames": Suite(
        description="Frames that look ahead or leave out rows, beside the last rows.",
        quick_rows=60_000,
        cases_in="benchmarks.frames.cases:CASES",
    ),
    "single_events": Suite(
        description="Windows that move row by row, beside deques, NumPy, pandas and river.",
        quick_rows=2_000,
        cases_in="benchmarks.single_events.cases:CASES",
    ),
    "filters_and_weights": Suite(
        description="Filters beside the same windows without them; weighted means beside means, pandas and Polars.",
        quick_rows=60_000,
        cases_in="benchmarks.filters_and_weights.cases:CASES",
    ),
    "spark_windows": Suite(
        description="Spark's own WindowBenchmark.",
        quick_rows=1_000,
        cases_in="benchmarks.spark_windows.cases:CASES",
    ),
    "growth": Suite(
        description="Time and memory as rows, keys, windows, aggregates and range grow.",
        quick_rows=2_000,
        cases_in="benchmarks.growth.cases:CASES",
    ),
    "stream_growth": Suite(
        description="Time and bytes of micro-batches as keys and slices grow.",
        quick_rows=1_000,
        cases_in="benchmarks.stream_growth.cases:CASES",
        group="large",
    ),
    "larger_than_memory": Suite(
        description="A file of four times the memory, by sash run and by DuckDB: time and memory.",
        quick_rows=20_000,
        cases_in="benchmarks.larger_than_memory.cases:CASES",
        group="large",
    ),
    "h2o_large": Suite(
        description="The H2O questions of 10 M and 100 M rows in one process: time and memory.",
        quick_rows=2_000,
        cases_in="benchmarks.h2o.large:CASES",
        group="large",
    ),
    "growth_large": Suite(
        description="Time and memory of 10 M and 100 M rows, and of one thread and two.",
        quick_rows=2_000,
        cases_in="benchmarks.growth.large:CASES",
        group="large",
    ),
    "spark_large": Suite(
        description="Up to 1,000 M rows on Spark, on one core and two; labels with 2,000 events for each key.",
        quick_rows=20_000,
        cases_in="benchmarks.spark_large.cases:CASES",
        group="large",
    ),
    "choice": Suite(
        description="All algorithms that fit, beside the one that Sash chooses.",
        quick_rows=1_000,
        cases_in="benchmarks.choice.cases:EVERY_CASE",
        shown_by="benchmarks.choice.summary:show",
        group="algorithms",
    ),
    "papers": Suite(
        description="The papers' experiments. SASH_DEBS_2012 and SASH_DEBS_2014 name the real data; else it is generated.",
        quick_rows=1 << 12,
        cases_in="benchmarks.papers.cases:CASES",
        shown_by="benchmarks.papers.claims:show",
        group="algorithms",
    ),
}
"""In the order in which `python -m benchmarks all` measures them."""
