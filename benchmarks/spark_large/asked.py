"""The questions, and the ways to answer them. Rows are a function of their number, so they are read from no file."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import Window as SparkWindow
from pyspark.sql import functions as F  # noqa: N812 — as everyone calls it

import sash
from benchmarks.features import spark as features
from benchmarks.features.case import NAMES, WINDOWS
from benchmarks.features.data import DAY, DAYS, FIRST
from sash import agg, window

SASH, SPARK, RANGE_JOIN = "Sash", "Spark", "range join and groupBy"
LAST = 1_000
ROWS_OF_A_KEY, EVENTS_OF_A_KEY = 10_000, 2_000
THREE = {"peak": agg.max("load"), "mean": agg.mean("load"), "n": agg.count("load")}


@dataclass(frozen=True)
class LargeQuestion:
    """A question: its rows, and its answers in each way."""

    window: str
    rows_of_a_key: int
    days: int
    """Rows are spread evenly over so many days."""
    ways: Mapping[str, Callable[[DataFrame], DataFrame]]
    answers: tuple[str, ...]


def readings(spark: SparkSession, question: LargeQuestion, rows: int) -> DataFrame:
    """Return rows in order of time, each of a household drawn by a hash of its number."""
    keys = max(1, rows // question.rows_of_a_key)
    number = F.col("id")
    micros = F.lit(FIRST) + (number * (question.days * DAY / rows)).cast("long")
    return spark.range(rows).select(
        F.pmod(F.xxhash64(number), F.lit(keys)).alias("household"),
        F.timestamp_micros(micros).alias("ts"),
        (F.pmod(F.xxhash64(number, F.lit(1)), F.lit(10_000)) / 100).alias("load"),
    )


def hours(frame: DataFrame) -> DataFrame:
    """Return Sash's windows of an hour, one each minute."""
    return sash.Query(THREE, window.time("1h", slide="1m"), by="household", time="ts").run(frame)


def hours_by_spark(frame: DataFrame) -> DataFrame:
    """Return Spark's, which copies each row into 60 windows."""
    windows = F.window("ts", "1 hour", "1 minute")
    return frame.groupBy("household", windows).agg(
        F.max("load").alias("peak"), F.avg("load").alias("mean"), F.count("load").alias("n")
    )


def last_rows(frame: DataFrame) -> DataFrame:
    """Return Sash's windows of the last rows, for each row."""
    return sash.Query(THREE, window.rows(LAST), by="household", time="ts").run(frame)


def last_rows_by_spark(frame: DataFrame) -> DataFrame:
    """Return Spark's, which reads the frame again for each row."""
    over = SparkWindow.partitionBy("household").orderBy("ts").rowsBetween(1 - LAST, 0)
    return frame.select(
        "*",
        F.max("load").over(over).alias("peak"),
        F.avg("load").over(over).alias("mean"),
        F.count("load").over(over).alias("n"),
    )


QUESTIONS: Mapping[str, LargeQuestion] = {
    "an hour, every minute": LargeQuestion(
        "1h every 1m", ROWS_OF_A_KEY, 1, {SASH: hours, SPARK: hours_by_spark}, tuple(THREE)
    ),
    "the last 1,000 rows": LargeQuestion(
        "rows(1000)", ROWS_OF_A_KEY, 1, {SASH: last_rows, SPARK: last_rows_by_spark}, tuple(THREE)
    ),
    "labels, 2,000 events of a key": LargeQuestion(
        ", ".join(WINDOWS),
        EVENTS_OF_A_KEY,
        DAYS,
        {SASH: features.with_labels, RANGE_JOIN: features.range_join},
        NAMES,
    ),
}
