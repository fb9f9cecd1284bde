"""The same question on Spark: labels are every tenth reading, seventeen minutes later."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 — as everyone calls it

import sash
from benchmarks.features.case import AGGREGATES, NAMES, WINDOWS
from benchmarks.features.data import EVENTS_OF_A_LABEL
from benchmarks.spark_batch.case import Question
from sash import agg, window

LATER = "INTERVAL 17 MINUTES"


def labels_of(frame: DataFrame) -> DataFrame:
    """Return the labels: a household and a time."""
    chosen = frame.where(F.pmod(F.xxhash64("household", "ts"), F.lit(EVENTS_OF_A_LABEL)) == 0)
    return chosen.select("household", (F.col("ts") + F.expr(LATER)).alias("ts"))


def query() -> sash.Query:
    """Return the question in Sash."""
    aggregates = {
        "n": agg.count("load"), "total": agg.sum("load"), "mean": agg.mean("load"), "peak": agg.max("load"),
        "sd": agg.stddev("load"),
    }  # fmt: skip
    return sash.Query(aggregates, {length: window.time(length) for length in WINDOWS}, by="household", time="ts")


def with_labels(frame: DataFrame) -> DataFrame:
    """Return what Sash answers for labels."""
    return query().run(frame, at=labels_of(frame))


def joined_by_spark(frame: DataFrame) -> DataFrame:
    """Return what Sash answers for labels if Spark joins them."""
    return query().run(frame, at=labels_of(frame), strategy="native")


def without_labels(frame: DataFrame) -> DataFrame:
    """Return what Sash answers for each event."""
    return query().run(frame)


def range_join(frame: DataFrame) -> DataFrame:
    """Return a join of labels with the events before them, grouped by label."""
    functions = {"n": F.count, "total": F.sum, "mean": F.avg, "peak": F.max, "sd": F.stddev_samp}
    labels = labels_of(frame).withColumn("id", F.monotonically_increasing_id())
    events = frame.select(F.col("household").alias("own"), F.col("ts").alias("at"), "load")
    widest = max(WINDOWS.values())
    near = (F.col("at") <= F.col("ts")) & (F.col("at") > F.col("ts") - F.expr(f"INTERVAL {widest} MICROSECONDS"))
    joined = labels.join(events, (F.col("household") == F.col("own")) & near, "left")
    columns = []
    for name in AGGREGATES:
        for length, ticks in WINDOWS.items():
            held = F.when(F.col("at") > F.col("ts") - F.expr(f"INTERVAL {ticks} MICROSECONDS"), F.col("load"))
            columns.append(functions[name](held).alias(f"{name}_{length}"))
    return joined.groupBy("id", "household", "ts").agg(*columns).drop("id")


QUESTION = Question(", ".join(WINDOWS), range_join, ("household", "ts"), NAMES)
