"""Queries on frames whose schema is given: with an empty frame in their place, and in a pipeline, where Spark forbids to ask."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from helpers.documentation import PAGES
from pyspark.sql import DataFrame, Row, SparkSession

import sash
from sash import agg, window
from sash.spark import given_schema
from sash.spark.private import is_connect

# ruff: noqa: PLC0415 — pipelines exist on Spark Connect only

SCHEMA = "k bigint, ts timestamp, x double, d decimal(10,2)"
HOPS = sash.Query(
    {"n": agg.count(), "peak": agg.max("x"), "d": agg.sum("d", where="x > 10")},
    window.time("10m", slide="5m"),
    by="k",
    time="ts",
)
MEDIANS = sash.Query({"middle": agg.median("x")}, window.tumbling("10m"), by="k", time="ts")
WHOLE = sash.Query({"middle": agg.median("x")}, window.tumbling("10m"), time="ts")
TEXT = sash.sql(
    "SELECT k, max(x) + 1 AS m FROM rows [PARTITION BY k RANGE 10 MINUTES SLIDE 5 MINUTES ON ts] WHERE x > 5"
)
ROWS = "id % 3 AS k", "timestamp_seconds(id) AS ts", "CAST(id AS DOUBLE) AS x", "CAST(id AS DECIMAL(10,2)) AS d"


@pytest.fixture
def rows(spark: SparkSession) -> DataFrame:
    return spark.range(1500).selectExpr(*ROWS, "'more' AS other")


@pytest.fixture
def connect(spark: SparkSession) -> None:
    if not is_connect(spark.range(1)):
        pytest.skip("pipelines run on Spark Connect")


def in_order(frame: DataFrame) -> list[Row]:
    return sorted(frame.collect(), key=str)


@pytest.mark.connect
@pytest.mark.parametrize("query", [HOPS, MEDIANS, WHOLE, TEXT], ids=["slices", "buckets", "one bucket", "text"])
def test_results_are_those_of_run(rows: DataFrame, query: Any) -> None:
    found = sash.spark.run_with_schema(query, rows, SCHEMA, buckets=2)
    assert in_order(found) == in_order(query.run(rows, buckets=2))


@pytest.mark.connect
def test_a_stream_keeps_its_watermark(spark: SparkSession) -> None:
    source = spark.readStream.format("rate").load().selectExpr("value AS k", "timestamp AS ts", "1.5D AS x")
    stream = source.withWatermark("ts", "2 minutes")
    found = sash.spark.run_with_schema(MEDIANS, stream, "k bigint, ts timestamp, x double")
    assert found.isStreaming
    assert found.schema == MEDIANS.run(stream).schema
    with pytest.raises(ValueError, match="This stream has no watermark"):
        sash.spark.run_with_schema(MEDIANS, source, "k bigint, ts timestamp, x double")


def test_columns_of_another_type_are_an_error(rows: DataFrame) -> None:
    found = sash.spark.run_with_schema(MEDIANS, rows, "k bigint, ts timestamp, x float")
    with pytest.raises(Exception, match=r"\[SASH\] Column 'x' is of type double, but the schema .* says float"):
        found.collect()


@pytest.mark.parametrize(
    ("schema", "options", "error", "message"),
    [
        ("x(", {}, ValueError, "is not a schema that Spark can read"),
        ("int", {}, TypeError, "must name columns and types"),
        ("k bigint, ts timestamp", {}, ValueError, "There is no column 'x'"),
        (SCHEMA, {"at": 1}, TypeError, "at= does not apply"),
    ],
)
def test_wrong_arguments(rows: DataFrame, schema: str, options: dict[str, Any], error: Any, message: str) -> None:
    with pytest.raises(error, match=message):
        sash.spark.run_with_schema(MEDIANS, rows, schema, **options)


@pytest.mark.connect
@pytest.mark.usefixtures("connect")
def test_ranges_need_a_job(rows: DataFrame) -> None:
    with pytest.raises(ValueError, match="splitting the time axis needs a job"):
        sash.spark.run_with_schema(WHOLE, rows, SCHEMA, strategy="ranges")
    assert not given_schema.runs_no_job()


@pytest.mark.usefixtures("connect")
def test_the_pipeline_of_the_documentation(spark: SparkSession, tmp_path: Path) -> None:
    """A materialized view over another one of the same pipeline, and a streaming table over files."""
    dp = pytest.importorskip("pyspark.pipelines")
    query = sash.Query(
        {"n": agg.count(), "peak": agg.max("load"), "spread": agg.spread("plug", where="load > 10")},
        window.time("10m", slide="5m"),
        by="house",
        time="ts",
    )
    files = str(tmp_path / "files")
    kinds = (
        "INT(id % 3) AS house",
        "1 AS household",
        "INT(id) AS plug",
        "timestamp_seconds(id) AS ts",
        "DOUBLE(id) AS load",
    )
    made = spark.range(1500).selectExpr(*kinds)
    made.write.parquet(files)
    expected = in_order(query.run(made))
    [code] = re.findall(
        r"^```text\n(from pyspark import pipelines.*?)^```",
        PAGES["docs/spark.md"].read_text(),
        re.MULTILINE | re.DOTALL,
    )
    refused: list[str] = []

    def readings() -> DataFrame:
        rows = spark.range(1500).selectExpr(*kinds)  # not `made`, whose schema is known already
        try:
            query.run(rows)
        except RuntimeError as error:
            refused.append(str(error))
        return rows

    def define() -> None:
        dp.materialized_view(readings)
        exec(code.replace("/data/readings", files), {"sash": sash, "query": query, "spark": spark})  # noqa: S102

    try:
        run_pipeline(spark, str(tmp_path / "storage"), define)
        assert "run_with_schema" in refused[0]
        assert in_order(spark.table("peaks")) == expected
        # The newest row is at 24:59, and the watermark two minutes behind it.
        ended = [row for row in expected if row.window_end.minute <= 22]
        assert in_order(spark.table("peaks_live")) == ended != expected
    finally:
        for name in ("readings", "peaks", "peaks_live"):
            spark.sql(f"DROP TABLE IF EXISTS {name}")


def run_pipeline(spark: SparkSession, storage: str, define: Callable[[], None]) -> None:
    """Run a pipeline as `spark-pipelines run` does, but in the session of the tests and without a file of settings."""
    from pyspark.pipelines.graph_element_registry import graph_element_registration_context
    from pyspark.pipelines.spark_connect_graph_element_registry import SparkConnectGraphElementRegistry
    from pyspark.pipelines.spark_connect_pipeline import create_dataflow_graph, handle_pipeline_events, start_run

    graph = create_dataflow_graph(spark, None, None, {})
    with graph_element_registration_context(SparkConnectGraphElementRegistry(spark, graph)):
        define()
    events = start_run(
        spark, graph, full_refresh=None, full_refresh_all=False, refresh=None, dry=False, storage=f"file://{storage}"
    )
    handle_pipeline_events(events)
