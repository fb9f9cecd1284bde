"""The table of cases, with the targets of each."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from benchmarks.case import FASTEST_PEER, Case, Target
from benchmarks.features import peers, spark
from benchmarks.features.case import FeatureCase, FeatureContestant
from benchmarks.spark_batch.case import SparkCase, SparkContestant

A_TENTH = 1_000_000
"""Of the events, for those that would take minutes."""
RANGE_JOIN, WITHOUT = "range join and groupBy", "the same query without labels"
NATIVE = "Sash, native"
EVEN = 0.95
"""As fast, within what measurements differ by."""

IN_PROCESS = FeatureCase(
    name="10 M events, 1 M labels, 100 K keys",
    contestants=(
        FeatureContestant(name="Sash", role="sash", algorithm="auto", prepare=peers.by_sash),
        FeatureContestant(name="DuckDB, range join", package="duckdb", prepare=peers.by_duckdb(peers.BY_JOIN)),
        FeatureContestant(
            name="DuckDB, frames over a union", package="duckdb", prepare=peers.by_duckdb(peers.BY_FRAMES), rows=A_TENTH
        ),
        FeatureContestant(
            name="Polars, rolling over a union", package="polars", prepare=peers.by_polars(peers.by_rolling), rows=A_TENTH
        ),
        FeatureContestant(
            name="Polars, rolling_by over a union", package="polars", prepare=peers.by_polars(peers.by_rolling_over), rows=A_TENTH
        ),
        FeatureContestant(name="Polars, join", package="polars", prepare=peers.by_polars(peers.by_join), rows=A_TENTH),
    ),
    targets=(Target(against=FASTEST_PEER, at_least=5),),
)  # fmt: skip


def on_spark() -> Iterator[SparkCase]:
    """Yield many keys of few events, where a join multiplies little, and few keys of many."""
    for keys, readings, joined in (("100 K", "20 rows a key", None), ("1 K", "2 K rows a key", 200_000)):
        asked = partial(SparkContestant, question=spark.QUESTION, readings=readings)
        yield SparkCase(
            name=f"on Spark, 2 M events, 200 K labels, {keys} keys",
            aggregate="count, sum, mean, max, stddev",
            contestants=(
                asked(name="Sash", role="sash", algorithm="auto", answer=spark.with_labels),
                asked(name=NATIVE, role="sash", algorithm="auto", answer=spark.joined_by_spark, rows=joined),
                asked(name=RANGE_JOIN, package="pyspark", answer=spark.range_join, rows=joined),
                asked(name=WITHOUT, role="beside", answer=spark.without_labels),
            ),
            rows=2_000_000,
            targets=(
                Target(against=RANGE_JOIN, at_least=20),
                Target(contestant=NATIVE, against=RANGE_JOIN, at_least=EVEN),
                Target(against=WITHOUT, at_most=2),
            ),
        )


CASES: tuple[Case, ...] = (IN_PROCESS, *on_spark())
