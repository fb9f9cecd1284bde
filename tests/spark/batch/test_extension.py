"""The new window and the new aggregate of tests/test_extension.py on Spark: in buckets, and with slices by SQL."""

from __future__ import annotations

from helpers.spark.matrix import assert_spark_agrees, rows_of_every_kind
from pyspark.sql import SparkSession
from test_extension import SAMPLED, root_mean_square

import sash
from sash import agg, window

ROWS = rows_of_every_kind(8, 120)
AGGREGATES = {"rms": root_mean_square("x"), "order": agg.collect("id")}


def test_a_new_window(spark: SparkSession) -> None:
    query = sash.Query(AGGREGATES, SAMPLED, by="key", time="t", order_by="id")
    order = ["key", "window_start", "window_end", "order"]
    assert_spark_agrees(query, spark.createDataFrame(ROWS), ROWS, order, compiled=False, types={"rms": "double"})


def test_a_new_aggregate_whose_partials_sql_computes(spark: SparkSession) -> None:
    query = sash.Query({"rms": root_mean_square("y")}, window.time("2m", slide="30s"), by="key", time="t")
    frame = spark.createDataFrame(ROWS)
    options = {"strategy": "slices", "types": {"rms": "double"}}
    assert_spark_agrees(query, frame, ROWS, ["key", "window_start"], compiled=False, **options)
