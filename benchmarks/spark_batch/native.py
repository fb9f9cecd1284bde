"""How Spark itself is asked."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import reduce
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812 — as everyone calls it
from pyspark.sql.pandas import functions as pandas
from pyspark.sql.window import WindowSpec

SEGMENT_TREE = "spark.sql.window.segmentTree.enabled"
LOAD = "load"
UNITS = {"m": "minutes", "h": "hours", "d": "days"}


def aggregates(over: WindowSpec | None = None) -> list[Column]:
    """Return max, mean and stddev of the load."""
    columns = {"peak": F.max(LOAD), "mean": F.avg(LOAD), "sd": F.stddev_samp(LOAD)}
    return [(column.over(over) if over else column).alias(name) for name, column in columns.items()]


def last_rows(length: int) -> WindowSpec:
    """Return the frame of the last rows of a household."""
    return Window.partitionBy("household").orderBy("ts").rowsBetween(1 - length, Window.currentRow)


def over_rows(length: int, frame: DataFrame) -> DataFrame:
    """Return the aggregates over the last rows."""
    return frame.select("*", *aggregates(last_rows(length)))


def running(frame: DataFrame) -> DataFrame:
    """Return the aggregates over all rows so far: Spark reads each row once."""
    everything = last_rows(1).rowsBetween(Window.unboundedPreceding, Window.currentRow)
    return frame.select("*", *aggregates(everything))


def through_python(frame: DataFrame) -> DataFrame:
    """Return as many columns as the aggregates are, not computed: what any function in Python takes after a shuffle by key."""
    doubles = ", ".join(f"{name} double" for name in ("peak", "mean", "sd"))
    columns = ", ".join(f"{field.name} {field.dataType.simpleString()}" for field in frame.schema)
    return frame.repartition("household").mapInArrow(add_three, f"{columns}, {doubles}")


def add_three(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield rows with three columns more, after all rows have arrived."""
    for batch in list(batches):
        columns = dict(zip(batch.schema.names, batch.columns, strict=True))
        yield pa.record_batch({**columns, **dict.fromkeys(("peak", "mean", "sd"), batch[LOAD])})


def over_time(duration: str, frame: DataFrame) -> DataFrame:
    """Return the aggregates over the time before each row, of all households together; the window is (ts - range, ts]."""
    window = Window.orderBy(F.unix_micros("ts")).rangeBetween(1 - _micros(duration), Window.currentRow)
    return frame.select("*", *aggregates(window))


def over_time_by_key(duration: str, frame: DataFrame) -> DataFrame:
    """Return the same for each household."""
    window = Window.partitionBy("household").orderBy(F.unix_micros("ts"))
    return frame.select("*", *aggregates(window.rangeBetween(1 - _micros(duration), Window.currentRow)))


def sliding(duration: str, slide: str, frame: DataFrame) -> DataFrame:
    """Return windows of time: Spark copies each row into all of its windows."""
    window = F.window("ts", _say(duration), _say(slide))
    grouped = frame.groupBy("household", window).agg(*aggregates())
    start, end = F.col("window.start").alias("window_start"), F.col("window.end").alias("window_end")
    return grouped.select("household", start, end, "peak", "mean", "sd")


def exploded(length: str, slide: str, frame: DataFrame) -> DataFrame:
    """Return the same windows with the copies made by hand: Spark's plan has one projection for each copy, and this has one."""
    step, width, at = _micros(slide), _micros(length), F.unix_micros("ts")
    first, last = (F.floor((at - width) / step) + 1) * step, F.floor(at / step) * step
    starts = F.explode(F.sequence(first, last, F.lit(step).cast("long")))
    grouped = frame.withColumn("start", starts).groupBy("household", "start").agg(*aggregates())
    begin, end = (F.timestamp_micros(F.col("start") + more) for more in (0, width))
    return grouped.select("household", begin.alias("window_start"), end.alias("window_end"), "peak", "mean", "sd")


def tumbling(slide: str, frame: DataFrame) -> DataFrame:
    """Return windows that don't overlap: each row is in one."""
    return sliding(slide, slide, frame)


def several(windows: Mapping[str, tuple[str, str]], frame: DataFrame) -> DataFrame:
    """Return windows of several kinds, each by its name, length and slide."""
    answers = [
        exploded(length, slide, frame).withColumn("window", F.lit(name)) for name, (length, slide) in windows.items()
    ]
    return reduce(DataFrame.unionByName, answers)


def percentile(length: int, frame: DataFrame) -> DataFrame:
    """Return the exact median over the last rows."""
    return frame.select("*", F.percentile(LOAD, F.lit(0.5)).over(last_rows(length)).alias("middle"))


def steepest_by_sql(length: int, frame: DataFrame) -> DataFrame:
    """Return the steepest rise from a row to the next within the last rows: that of all but the first of them."""
    rise = (F.col(LOAD) - F.lag(LOAD).over(last_rows(1).rowsBetween(-1, -1))).alias("rise")
    rises = frame.select("*", rise)
    most = F.greatest(F.max("rise").over(last_rows(length - 1)), F.lit(0.0))
    return rises.select(*frame.columns, F.coalesce(most, F.lit(0.0)).alias("rise"))


def steepest_by_udf(kind: Callable[[], Any], length: int, frame: DataFrame) -> DataFrame:
    """Return the same by a function that Spark calls with the loads of each frame."""
    return frame.select("*", kind()(LOAD).over(last_rows(length)).alias("rise"))


def pandas_udf() -> Any:
    """Return the steepest rise in a pandas Series, as Spark's grouped aggregate."""

    def steepest(loads: pd.Series) -> float:
        return steepest_of(loads.to_numpy())

    return pandas.pandas_udf(steepest, "double")  # type: ignore[call-overload]


def arrow_udf() -> Any:
    """Return the steepest rise in an Arrow array, as Spark's grouped aggregate."""

    def steepest(loads: pa.Array) -> float:
        return steepest_of(loads.to_numpy())

    return pandas.arrow_udf(steepest, "double")  # type: ignore[call-overload]


def steepest_of(loads: Any) -> float:
    """Return the steepest rise.

    >>> steepest_of(np.array([1.0, 4.0, 2.0])), steepest_of(np.array([1.0]))
    (3.0, 0.0)
    """
    return max(0.0, float(np.diff(loads).max())) if len(loads) > 1 else 0.0


def _micros(duration: str) -> int:
    return int(pd.Timedelta(duration).total_seconds() * 1_000_000)


def _say(duration: str) -> str:
    return f"{duration[:-1]} {UNITS[duration[-1]]}"
