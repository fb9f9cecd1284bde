"""What we read of Spark's insides is there, on each version: watermarks in metadata, operators in plans."""

from __future__ import annotations

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 — as everyone calls it

from sash.spark.private import waits_for_watermark, watermark_delay

pytestmark = pytest.mark.oldest


@pytest.fixture
def stream(spark: SparkSession) -> DataFrame:
    return spark.readStream.format("rate").load().withWatermark("timestamp", "90 seconds")


def test_the_watermark_is_in_the_metadata_of_its_column(stream: DataFrame) -> None:
    assert watermark_delay(stream.schema["timestamp"]) == 90_000
    assert watermark_delay(stream.schema["value"]) is None
    renamed = stream.select(F.col("timestamp").alias("ts"), "value").filter("value > 3")
    assert watermark_delay(renamed.schema["ts"]) == 90_000


def test_streams_that_no_operator_holds_back(spark: SparkSession, stream: DataFrame) -> None:
    static = spark.range(3).groupBy("id").count().withColumnRenamed("id", "value")
    for plain in (
        stream,
        stream.filter("value > 3").withColumn("~Aggregate", F.lit("~Aggregate")),
        stream.dropDuplicatesWithinWatermark(["value"]),
        stream.join(static, "value"),
        stream.union(stream),
    ):
        assert not waits_for_watermark(plain)


def test_streams_that_come_out_of_stateful_operators(stream: DataFrame) -> None:
    counted = stream.groupBy(F.window("timestamp", "1 minute")).count()
    joined = stream.alias("a").join(stream.alias("b"), "timestamp", "left")
    for held_back in (counted, counted.select("count").filter("count > 3"), joined):
        assert waits_for_watermark(held_back)
