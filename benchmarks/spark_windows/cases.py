"""The table of cases, by the sections of WindowBenchmark, with the targets of each."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import Window as Frame
from pyspark.sql import functions as F  # noqa: N812 — as everyone calls it

import sash
from benchmarks.case import Target
from benchmarks.spark_batch.case import Question, SparkContestant
from benchmarks.spark_batch.native import SEGMENT_TREE
from benchmarks.spark_windows.case import AroundCase
from sash import agg, window

NAIVE, TREE = "Spark", "Spark, segment tree"
K, M = 1024, 1_000_000
HALF = 500
FUNCTIONS: dict[str, tuple[Callable[[str], Column], Callable[[str], Any]]] = {
    "min": (F.min, agg.min),
    "max": (F.max, agg.max),
    "sum": (F.sum, agg.sum),
    "count": (F.count, agg.count),
    "mean": (F.avg, agg.mean),
    "stddev": (F.stddev_samp, agg.stddev),
}
NAIVE_ROWS = {5: 1 * M, 25: 1 * M, 100: 256 * K, HALF: 64 * K, 2000: 16 * K}
"""How many rows the naive frame can be asked for, by the rows on each side."""


def around(
    section: str,
    aggregate: str,
    half: int | None,
    rows: int,
    *,
    column: str = "v",
    naive: int | None = None,
    **options: Any,
) -> AroundCase:
    """Return the case of an aggregate over so many rows on each side; of None, over all rows from this one on. Without `naive`, only the tree runs."""
    spark_function, sash_function = FUNCTIONS[aggregate]
    before, after = (0, None) if half is None else (half, half)
    said = f"rows(before={before}, after={after})"
    query = sash.Query({"m": sash_function(column)}, window.rows(before=before, after=after), time="id")

    def by_spark(numbers: DataFrame) -> DataFrame:
        frame = Frame.orderBy("id").rowsBetween(-before, Frame.unboundedFollowing if after is None else after)
        return numbers.select("id", spark_function(column).over(frame).alias("m"))

    def by_sash(numbers: DataFrame) -> DataFrame:
        return query.run(numbers).select("id", "m")

    question = Question(said, by_spark, ("id",), ("m",))

    def by_setting(name: str, setting: str, most: int | None) -> SparkContestant:
        return SparkContestant(
            name=name,
            package="pyspark",
            question=question,
            readings=column,
            answer=by_spark,
            conf={SEGMENT_TREE: setting},
            rows=most,
        )

    own = SparkContestant(
        name="Sash", role="sash", algorithm="auto", question=question, readings=column, answer=by_sash
    )
    peers = [by_setting(TREE, "true", None)]
    if naive:
        peers.append(by_setting(NAIVE, "false", naive if naive < rows else None))
    return AroundCase(
        name=f"{section}: {aggregate}{' of strings' if column == 'word' else ''}, {_say(rows)} rows, {said}",
        aggregate=aggregate,
        contestants=(own, *peers),
        targets=tuple(Target(against=one.name, at_least=1) for one in peers),
        rows=rows,
        **options,
    )


def _say(rows: int) -> str:
    return f"{rows // M} M" if rows >= M else f"{rows // K} K"


def all_cases() -> Iterator[AroundCase]:
    """Yield the sections: aggregates (A), numbers of rows (C), widths of the frame (B), strings (F), frames to the end."""
    for aggregate in ("min", "max", "sum", "count", "mean"):
        yield around("A", aggregate, HALF, 256 * K, naive=NAIVE_ROWS[HALF])
    yield around("A", "stddev", HALF, 1 * M, naive=NAIVE_ROWS[HALF])
    for half in (5, 25, 100, 2000):
        yield around("B", "sum", half, 1 * M, naive=NAIVE_ROWS[half])
    yield around("C", "sum", HALF, 4 * M, repeats=1)
    yield around("F", "max", HALF, 256 * K, column="word", naive=16 * K)
    yield around("to the end", "sum", None, 10 * K, naive=10 * K)


CASES = tuple(all_cases())
