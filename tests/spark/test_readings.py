"""The source of readings: its rows as a stream and as a table, each once, in spite of a restart."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.errors import AnalysisException, StreamingQueryException
from pyspark.sql import DataFrame, SparkSession

import sash
from sash.spark.generated_readings import SCHEMA, Readings

OPTIONS: dict[str, Any] = {"rows_per_second": 10, "households": 3, "late": 0.25, "lateness": "30s", "seed": 7}


def run(stream: DataFrame, folder: Path) -> None:
    writer = stream.writeStream.format("parquet").option("checkpointLocation", str(folder / "checkpoint"))
    query = writer.trigger(availableNow=True).start(str(folder / "sink"))
    assert query.awaitTermination(120)


def in_order(rows: pa.Table) -> pa.Table:
    return rows.cast(SCHEMA).sort_by("ts").combine_chunks()


def expected(rows: int) -> pa.Table:
    return in_order(pa.Table.from_batches([Readings(**OPTIONS).batch(0, rows)]))


def found(spark: SparkSession, folder: Path) -> pa.Table:
    return in_order(spark.read.parquet(str(folder / "sink")).toArrow())


def commits(folder: Path) -> int:
    return len(list((folder / "checkpoint" / "commits").glob("[0-9]*")))


@pytest.mark.full
def test_a_finite_stream_is_read_to_its_end_each_row_once(spark: SparkSession, tmp_path: Path) -> None:
    for rows in (100, 200, 250):
        stream = sash.spark.readings(spark, **OPTIONS, rows=rows)
        assert stream.isStreaming
        run(stream, tmp_path)
    assert found(spark, tmp_path).equals(expected(250))
    assert commits(tmp_path) == 3
    table = spark.read.format("sash_readings").options(**OPTIONS).option("rows", 250).load()
    assert in_order(table.toArrow()).equals(expected(250))

    # as if the last batch had been planned and written, and Spark killed before it was known to be done
    for log in ("checkpoint/commits", "sink/_spark_metadata"):
        for entry in (tmp_path / log).glob("*2*"):  # and its checksum
            entry.unlink()
    assert len(found(spark, tmp_path)) == 200
    for _ in range(2):  # Spark 4.1 runs one micro-batch, this batch again, where 4.2 runs all that there are
        run(sash.spark.readings(spark, **OPTIONS, rows=400), tmp_path)
    assert found(spark, tmp_path).equals(expected(400))


@pytest.mark.oldest
def test_micro_batches_have_a_limit(spark: SparkSession, tmp_path: Path) -> None:
    stream = sash.spark.readings(spark, **OPTIONS, rows=250, rows_per_batch=100)
    if spark.version.startswith("4.1."):
        with pytest.raises(StreamingQueryException, match=r"rows_per_batch needs Spark 4\.2 or later\. Leave it out\."):
            run(stream, tmp_path)
        return
    run(stream, tmp_path)
    assert found(spark, tmp_path).equals(expected(250))
    assert commits(tmp_path) == 3


@pytest.mark.full
@pytest.mark.oldest
def test_a_stream_without_end_continues_where_it_stopped(spark: SparkSession, tmp_path: Path) -> None:
    options = {**OPTIONS, "rows_per_second": 500, "lateness": "2s"}
    for _ in range(3):
        time.sleep(0.5)
        started = sash.spark.readings(spark, **options).writeStream.format("parquet")
        query = started.option("checkpointLocation", str(tmp_path / "checkpoint")).start(str(tmp_path / "sink"))
        deadline, before = time.monotonic() + 60, commits(tmp_path)
        while commits(tmp_path) == before:
            assert time.monotonic() < deadline
            time.sleep(0.1)
        query.stop()
    rows = found(spark, tmp_path)
    assert len(rows) > 500
    assert rows.equals(in_order(pa.Table.from_batches([Readings(**options).batch(0, len(rows))])))


def test_wrong_options_are_said_when_the_stream_is_made(spark: SparkSession) -> None:
    sash.spark.readings(spark)
    with pytest.raises(AnalysisException, match=r"sash_readings has no option row\. Its options are rows_per_second"):
        spark.readStream.format("sash_readings").option("row", 3).load().isStreaming  # noqa: B018 — Connect asks only now
