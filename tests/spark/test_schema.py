"""Query.schema on Spark is the schema of the result, a StructType, and starts no job."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import LongType, StructType

import sash
from sash import agg, window

AGGREGATES = {"n": agg.count(), "mean": agg.mean("x"), "first": agg.first("k"), "all": agg.collect("x")}
own = sash.aggregate("own", lift=lambda x: [x], combine=lambda a, b: a + b, lower=lambda each: {len(each): each})


def rows(spark: SparkSession) -> DataFrame:
    return spark.createDataFrame([], "k string, ts timestamp, x int")


@pytest.mark.parametrize("strategy", ["auto", "buckets"])
@pytest.mark.parametrize("windows", [window.tumbling("2m"), window.rows(3)], ids=str)
def test_a_batch(spark: SparkSession, windows: window.Window, strategy: Any) -> None:
    query = sash.Query(AGGREGATES, windows, by="k", time="ts")
    schema = query.schema(rows(spark))
    assert isinstance(schema, StructType)
    assert schema == query.run(rows(spark), strategy=strategy).schema


@pytest.mark.connect
def test_types_that_are_not_known_before_the_run(spark: SparkSession) -> None:
    query = sash.Query({"own": own("x")}, window.rows(3), time="ts")
    with pytest.raises(TypeError, match=r"types="):
        query.schema(rows(spark))
    assert query.schema(rows(spark), types={"own": "bigint"})["own"].dataType == LongType()


@pytest.mark.usefixtures("classic")
@pytest.mark.parametrize("mode", ["append", "update"])
def test_a_stream(spark: SparkSession, mode: Any) -> None:
    ticks = (
        spark.readStream.format("rate").load().selectExpr("timestamp AS ts", "string(value) AS k", "int(value) AS x")
    )
    stream = ticks.withWatermark("ts", "1 minute")
    query = sash.Query({"n": agg.count(), "sum": agg.sum("x")}, window.tumbling("2m"), by="k", time="ts")
    assert query.schema(stream, mode=mode) == query.run(stream, mode=mode).schema
