"""What Sash reads of Spark without a public API is there on each version: watermarks in metadata, and the number of tasks with state."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 — as everyone calls it

from sash.spark.private import tasks_with_state, watermark_delay

pytestmark = [pytest.mark.oldest, pytest.mark.connect]


@pytest.fixture
def stream(spark: SparkSession) -> DataFrame:
    return spark.readStream.format("rate").load().withWatermark("timestamp", "90 seconds")


def test_the_watermark_is_in_the_metadata_of_its_column(stream: DataFrame) -> None:
    assert watermark_delay(stream.schema["timestamp"]) == 90_000
    assert watermark_delay(stream.schema["value"]) is None
    renamed = stream.select(F.col("timestamp").alias("ts"), "value").filter("value > 3")
    assert watermark_delay(renamed.schema["ts"]) == 90_000


def test_tasks_know_how_many_of_them_have_state(spark: SparkSession, tmp_path: Path) -> None:
    """Spark fixes the number in the checkpoint, whatever the session says later."""
    count, partitions = tasks_with_state(None), "spark.sql.shuffle.partitions"

    def tell(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield pa.record_batch({"ts": batch["ts"], "tasks": pa.array([count()] * len(batch))})

    before = str(spark.conf.get(partitions))
    told = []
    try:
        for number, setting in enumerate((3, 5, 5)):
            spark.conf.set(partitions, setting)
            rows = spark.range(2).selectExpr(f"timestamp_seconds(id + {number * 1000}) AS ts")
            rows.write.mode("append").parquet(f"{tmp_path}/in")
            stream = (
                spark.readStream.schema("ts timestamp")
                .parquet(f"{tmp_path}/in")
                .mapInArrow(tell, "ts timestamp, tasks long")
            )
            found = stream.withWatermark("ts", "1 second").groupBy("ts", "tasks").count()
            writer = found.writeStream.format("parquet").option("path", f"{tmp_path}/out")
            query = writer.option("checkpointLocation", f"{tmp_path}/checkpoint").trigger(availableNow=True).start()
            query.awaitTermination()
            told = [row.tasks for row in spark.read.parquet(f"{tmp_path}/out").collect()]
    finally:
        spark.conf.set(partitions, before)
    assert told == [3] * 4
    assert tasks_with_state(7)() == 7
