"""Nothing runs before a result is asked for, and what is asked for is then a frame like any other."""

from __future__ import annotations

import pyarrow as pa
import pytest
from helpers.spark.matrix import assert_spark_agrees, rows_of_every_kind
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 — as everyone calls it

import sash
from sash import agg, window
from sash.windows import Window

ROWS = rows_of_every_kind(5, 60)
AGGREGATES = {"n": agg.count(), "sum": agg.sum("x"), "all": agg.collect("s"), "mean": agg.mean("y")}
PER_ROW = sash.Query(AGGREGATES, window.rows(4), by="key", time="t", order_by="id")
PER_WINDOW = sash.Query(AGGREGATES, window.session("1m"), by="key", time="t", order_by="id")
SLICED = sash.Query({"n": agg.count(), "sum": agg.sum("x")}, window.tumbling("1m"), by="key", time="t")


@pytest.fixture(scope="module")
def frame(spark: SparkSession) -> DataFrame:
    return spark.createDataFrame(ROWS)


@pytest.mark.usefixtures("classic")
@pytest.mark.parametrize("query", [PER_ROW, PER_WINDOW, SLICED], ids=["row", "window", "sliced"])
def test_run_starts_no_job(
    spark: SparkSession, frame: DataFrame, query: sash.Query, request: pytest.FixtureRequest
) -> None:
    tracker = spark.sparkContext.statusTracker()
    group = request.node.name
    spark.sparkContext.setJobGroup(group, "")
    try:
        result = query.run(frame, compiled=False)
        result.select("n").filter("n > 1").schema  # noqa: B018 — it is computed
        assert list(tracker.getJobIdsForGroup(group)) == []
        result.collect()
        assert list(tracker.getJobIdsForGroup(group)) != []
    finally:
        spark.sparkContext.setLocalProperty("spark.jobGroup.id", "")


def test_a_row_that_can_not_be_computed_is_not_looked_at_in_run(spark: SparkSession) -> None:
    """On a session of any kind."""
    frame = spark.range(3).selectExpr("id", "raise_error('looked at') AS x", "1 AS k")
    query = sash.Query({"n": agg.count("x")}, window.rows(3), by="k", time="id")
    result = query.run(frame.withColumn("x", F.col("x").cast("int")), compiled=False)
    with pytest.raises(Exception, match="looked at"):
        result.collect()


def test_the_schema_is_known_beforehand_and_holds(frame: DataFrame) -> None:
    results = "n: bigint, sum: bigint, all: array<string>, mean: double"
    rows, windows, slices = (query.run(frame, compiled=False) for query in (PER_ROW, PER_WINDOW, SLICED))
    assert (
        rows.schema.simpleString()
        == f"{frame.schema.simpleString()[:-1]},{results.replace(' ', '').replace(',', ',')}>"
    )
    spans = "key:string,window_start:timestamp,window_end:timestamp"
    assert windows.schema.simpleString() == f"struct<{spans},{results.replace(' ', '')}>"
    assert slices.schema.simpleString() == f"struct<{spans},n:bigint,sum:bigint>"
    for result in (rows, windows, slices):
        assert result.toArrow().schema.names == result.columns


@pytest.mark.parametrize("windows", [window.rows(4), window.session("1m"), window.time("3m", slide="1m")], ids=str)
@pytest.mark.parametrize("by", [(), ("key",)])
def test_a_frame_without_rows(spark: SparkSession, frame: DataFrame, windows: Window, by: tuple[str, ...]) -> None:
    none = spark.createDataFrame(ROWS.to_pylist()[:0], frame.schema)
    query = sash.Query(AGGREGATES, windows, by=by, time="t", order_by="id")
    results = [query.run(empty, compiled=False) for empty in (none, frame.filter("id < 0"))]
    assert [result.schema for result in results] == [query.run(frame, compiled=False).schema] * 2
    assert results[0].union(results[1]).count() == 0


def test_partitions_without_rows(frame: DataFrame) -> None:
    few = ROWS.filter(pa.compute.less(ROWS["id"], 3))
    assert_spark_agrees(PER_ROW, frame.filter("id < 3").repartition(7), few, ["id"], compiled=False, buckets=5)


def test_results_are_frames(frame: DataFrame) -> None:
    result = PER_ROW.run(frame, compiled=False)
    picked = result.filter("n = 4 AND key = 'a'").select("id", F.col("sum") + 1)
    expected = {row["id"]: row["sum"] for row in PER_ROW.run(ROWS, compiled=False).to_pylist() if row["key"] == "a"}
    assert len(picked.collect()) == len(expected) - 3
    assert all(row[1] == (None if expected[row[0]] is None else expected[row[0]] + 1) for row in picked.collect())
    twice = result.union(PER_ROW.run(frame, compiled=False))
    assert twice.groupBy("id").count().filter("count <> 2").count() == 0
    again = sash.Query({"peak": agg.max("sum")}, window.rows(3), by="key", time="id").run(result, compiled=False)
    assert again.columns == [*result.columns, "peak"]
    assert again.join(frame.select("id"), "id").count() == len(ROWS)
