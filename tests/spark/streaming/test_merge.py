"""The MERGE statement of docs/streaming.md, applied to each micro-batch in update mode, gives the table of a batch run."""

from __future__ import annotations

import os
import random
import re
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from helpers.cases import SOAK
from helpers.documentation import PAGES
from pyspark.sql import SparkSession

import sash
from sash import agg, window

MINUTE = 60_000_000
BEGIN = 1_700_000_100_000_000
KEY = ("household", "window", "window_start", "window_end")
QUERY = sash.Query(
    by="household",
    time="ts",
    windows={"hop": window.time("5m", slide="1m"), "visit": window.session("90s")},
    aggregates={"peak": agg.max("load"), "mean": agg.mean("load")},
)


@pytest.fixture(autouse=True)
def one_partition(spark: SparkSession) -> Iterator[None]:
    """One state store, which takes most of the time of a small micro-batch."""
    before = spark.conf.get("spark.sql.shuffle.partitions") or ""
    spark.conf.set("spark.sql.shuffle.partitions", 1)
    yield
    spark.conf.set("spark.sql.shuffle.partitions", before)


def documented_merge() -> str:
    """Return the statement as the page shows it."""
    page = PAGES["docs/streaming.md"].read_text("utf-8")
    [statement] = re.findall(r"^```sql\n(MERGE INTO .*?)^```$", page, re.MULTILINE | re.DOTALL)
    return str(statement)


def write_rows(folder: Path, seed: int, batches: int) -> None:
    """Write micro-batches, a file each: rows up to four minutes older than the newest one before, so that sessions merge."""
    chooser = random.Random(seed)
    newest = 4.0
    for number in range(batches):
        times = [newest - 4 * chooser.random(), newest - 1, newest + chooser.choice([0.5, 2, 3])]
        newest = times[-1]
        rows = {
            "household": pa.array([chooser.choice([1, 2, None]) for _ in times], pa.int64()),
            "ts": pa.array([BEGIN + int(time * MINUTE) for time in times]).cast(pa.timestamp("us", "UTC")),
            "load": pa.array([chooser.choice([0.25, 3.5, 8.0, None]) for _ in times], pa.float64()),
        }
        path = folder / f"{number:03}.parquet"
        pq.write_table(pa.table(rows), path)
        os.utime(path, (number + 1, number + 1))  # Spark takes files in the order of their times


def merge(batches: list[pa.Table], schema: pa.Schema) -> pa.Table:
    """Return the table that the documented statement makes of all micro-batches."""
    statement = re.sub(r"\bwindow\b", '"window"', documented_merge())  # DuckDB reserves the word
    with duckdb.connect() as database:
        database.register("empty", schema.empty_table())
        database.execute("CREATE TABLE results AS FROM empty")
        for batch in batches:
            database.register("updates", batch)
            database.execute(statement)
        merged = database.sql("FROM results").to_arrow_table()
    return merged.cast(schema)  # DuckDB has another name for UTC


def in_order(table: pa.Table) -> list[str]:
    return sorted(repr(row) for row in table.to_pylist())


@pytest.mark.full
@pytest.mark.usefixtures("classic")
@pytest.mark.parametrize("seed", range(6 if SOAK else 1))
def test_merged_updates_are_the_batch_result(spark: SparkSession, tmp_path: Path, seed: int) -> None:
    rows = tmp_path / "rows"
    rows.mkdir()
    write_rows(rows, seed, 20 if SOAK else 10)
    table = spark.read.parquet(str(rows))
    expected = QUERY.run(table).toArrow()
    reader = spark.readStream.schema(table.schema).option("maxFilesPerTrigger", 1)
    stream = reader.parquet(str(rows)).withWatermark("ts", "4 minutes")
    assert "slices of open windows; by bucket, a base and its changes" in str(QUERY.explain(stream, mode="update"))
    updates = QUERY.run(stream, mode="update", buckets=2)
    batches: list[pa.Table] = []
    writer = updates.writeStream.outputMode("update").option("checkpointLocation", str(tmp_path / "checkpoint"))
    writer = writer.foreachBatch(lambda batch, _: batches.append(batch.toArrow()))
    running = writer.trigger(availableNow=True).start()
    running.awaitTermination()
    for batch in batches:  # MERGE refuses two changes of one row
        assert len({tuple(row.values()) for row in batch.select(KEY).to_pylist()}) == len(batch)
    assert "delete" in {change for batch in batches for change in batch["change"].to_pylist()}
    assert in_order(merge(batches, expected.schema)) == in_order(expected)
    counted = [sash.spark.counts(progress) for progress in running.recentProgress]
    assert sum(each["late"] for each in counted) == 0
    assert max(each["slices"] for each in counted) > max(each["state_rows"] for each in counted) == 0


@pytest.mark.usefixtures("classic")
def test_spark_parses_the_documented_statement(spark: SparkSession) -> None:
    parser = spark._jsparkSession.sessionState().sqlParser()
    assert "MergeIntoTable" in parser.parsePlan(documented_merge()).toString()
