"""What Sash reads of Spark without a public API is there on each version: watermarks in metadata."""

from __future__ import annotations

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 — as everyone calls it

from sash.spark.private import watermark_delay

pytestmark = [pytest.mark.oldest, pytest.mark.connect]


@pytest.fixture
def stream(spark: SparkSession) -> DataFrame:
    return spark.readStream.format("rate").load().withWatermark("timestamp", "90 seconds")


def test_the_watermark_is_in_the_metadata_of_its_column(stream: DataFrame) -> None:
    assert watermark_delay(stream.schema["timestamp"]) == 90_000
    assert watermark_delay(stream.schema["value"]) is None
    renamed = stream.select(F.col("timestamp").alias("ts"), "value").filter("value > 3")
    assert watermark_delay(renamed.schema["ts"]) == 90_000
