"""The table of cases. Sash should be at least as fast as Spark's own way; 0.95 times as fast counts as even.

The suites "nexmark" and "spark_windows" have their cases in a session of Sash, so here they are in a plain session alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 — as everyone calls it

from benchmarks.case import Case, Target
from benchmarks.nexmark import cases as nexmark
from benchmarks.spark_batch import native
from benchmarks.spark_batch.case import Question, ResultColumn, SparkCase
from benchmarks.spark_batch.cases import PER_ROW, PER_WINDOW, TREE, Asked
from benchmarks.spark_batch.sash_calls import by_sash
from benchmarks.spark_streaming.case import StreamCase
from benchmarks.spark_windows import cases as spark_windows
from sash import agg, window

EVEN = 0.95
SMALL_BATCH = 1.3
"""How many times as long as Spark's own operators Sash's may take for a small micro-batch."""
PLAIN = {"spark.sql.execution.arrow.maxRecordsPerBatch": "10000", "spark.sql.shuffle.partitions": "200"}
"""Spark's defaults, where sash.spark.session() has others."""
BY_SPARK, RUNNING = "Spark", "running aggregate"
AGGREGATES: Mapping[str, Any] = {"peak": agg.max("load"), "mean": agg.mean("load"), "num": agg.count()}
MANY, SOME, FEW = 2_000_000, 400_000, 10_000
READINGS = "10 K rows a key"
Kind = TypeVar("Kind", bound=SparkCase)


def grouped(group: Column, frame: DataFrame) -> DataFrame:
    """Return max, mean and count for each household and window of Spark's own."""
    columns = (F.max("load").alias("peak"), F.avg("load").alias("mean"), F.count("*").alias("num"))
    window_columns = "window.start AS window_start", "window.end AS window_end"
    results = frame.groupBy("household", group.alias("window")).agg(*columns)
    return results.selectExpr("household", *window_columns, *AGGREGATES)


def in_windows(length: str, slide: str, frame: DataFrame) -> DataFrame:
    """Return windows of time by Spark's `window`."""
    return grouped(F.window("ts", length, slide), frame)


def in_sessions(gap: str, frame: DataFrame) -> DataFrame:
    """Return sessions by Spark's `session_window`."""
    return grouped(F.session_window("ts", gap), frame)


def of_readings() -> Iterator[SparkCase]:
    """Yield windows of time and sessions, and frames."""
    for length, slide, rows in (("1m", "1m", MANY), ("5m", "1m", MANY), ("1h", "1m", SOME)):
        long, step = (f"{text[:-1]} {native.UNITS[text[-1]]}" for text in (length, slide))
        spark = partial(in_windows, long, step)
        said = f"tumbling {length}" if length == slide else f"{length} every {slide}"
        yield _case(said, spark, window.time(length, slide=slide), rows)
    yield _case("session 20s", partial(in_sessions, "20 seconds"), window.session("20s"), MANY)
    for count, rows in ((10, MANY), (100, SOME)):
        asked = Asked(Question(f"rows({count})", partial(native.over_rows, count), PER_ROW), READINGS)
        yield SparkCase(
            name=f"readings, {asked.question.range}",
            contestants=(asked.sash(by_sash(window.rows(count))), asked.spark(BY_SPARK, asked.question.right)),
            targets=(Target(against=BY_SPARK, at_least=EVEN),),
            rows=rows,
        )
    asked = Asked(Question("rows(1000)", partial(native.over_rows, 1_000), PER_ROW), READINGS)
    yield SparkCase(
        name=f"readings, {asked.question.range}",
        contestants=(asked.sash(by_sash(window.rows(1_000))), asked.beside(RUNNING, native.running)),
        targets=(Target(against=RUNNING, at_least=EVEN),),
        rows=1_000_000,
    )
    asked = Asked(Question("1h per row", partial(native.over_time_by_key, "1h"), PER_ROW), READINGS)
    yield SparkCase(
        name=f"readings, {asked.question.range}",
        contestants=(asked.sash(by_sash(window.time("1h"))), asked.spark(TREE, asked.question.right, tree=True)),
        targets=(Target(against=TREE, at_least=EVEN),),
        rows=1_000_000,
    )


def _case(said: str, spark: ResultColumn, windows: window.Window, rows: int) -> SparkCase:
    asked = Asked(Question(said, spark, PER_WINDOW, tuple(AGGREGATES)), READINGS)
    return SparkCase(
        name=f"readings, {said}",
        aggregate="max, mean, count",
        contestants=(asked.sash(by_sash(windows, AGGREGATES)), asked.spark(BY_SPARK, spark)),
        targets=(Target(against=BY_SPARK, at_least=EVEN),),
        rows=rows,
    )


def of_other_suites() -> Iterator[SparkCase]:
    """Yield the narrow frames of WindowBenchmark, and Nexmark's queries over frames."""
    for case in spark_windows.CASES:
        if case.name.startswith("B: "):
            yield replace(case, name=f"WindowBenchmark, {case.name}", targets=_even(case))
    for query in nexmark.QUERIES:
        own = query.frames()
        yield replace(own, name=f"Nexmark, {own.name}", targets=_even(own))


def _even(case: Case) -> tuple[Target, ...]:
    return tuple(replace(target, at_least=EVEN) for target in case.targets)


def in_plain_session(case: Kind) -> Kind:
    """Return a case whose contestants all run with Spark's defaults."""
    plain = tuple(replace(one, conf={**one.conf, **PLAIN}) for one in case.contestants)
    return replace(case, name=f"plain session: {case.name}", contestants=plain)


def of_streams() -> Iterator[StreamCase]:
    """Yield a micro-batch that is small, by Sash's operator and by Spark's own on request."""
    spark = partial(in_windows, "1 minute", "1 minute")
    asked = Asked(Question("tumbling 1m", spark, PER_WINDOW, tuple(AGGREGATES)), "1 row a key")
    tumbling = window.tumbling("1m")
    yield StreamCase(
        name=f"stream, a micro-batch of {FEW:,} rows, tumbling 1m",
        aggregate="max, mean, count",
        contestants=(
            asked.sash(by_sash(tumbling, AGGREGATES)),
            asked.sash(by_sash(tumbling, AGGREGATES, strategy="native"), "native"),
            asked.spark(BY_SPARK, spark),
        ),
        targets=(
            Target(against=BY_SPARK, at_most=SMALL_BATCH),
            Target(contestant="native", against=BY_SPARK, at_least=EVEN),
        ),
        rows=FEW,
        checked=100,
    )


def all_cases() -> Iterator[SparkCase | StreamCase]:
    """Yield frames in both sessions, but for those that other suites have in Sash's; then streams."""
    yield from of_readings()
    yield from map(in_plain_session, (*of_readings(), *of_other_suites()))
    yield from of_streams()


CASES = tuple(all_cases())
