"""Code in the documentation that needs Spark runs, on the session that the tests share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from helpers.documentation import PAGES, ROOT, run_doctest, run_page, uses_spark
from pyspark.sql import SparkSession

import sash

TABLES = ("peaks",)
"""The tables that pages write."""
FUNCTIONS = sash.spark.__all__


@pytest.fixture
def paths(spark: SparkSession, tmp_path: Path) -> Iterator[dict[str, Path]]:
    """Where pages read and write: paths relative to the folder of the JVM would be in the repository."""
    data = "examples/data/readings.parquet"
    partitions = spark.conf.get("spark.sql.shuffle.partitions")
    spark.conf.set("spark.sql.shuffle.partitions", 1)  # streams of a few rows are fastest with one state store
    yield {data: ROOT / data, **{name: tmp_path / name for name in ("checkpoint", "results")}}
    spark.conf.set("spark.sql.shuffle.partitions", partitions)
    for running in spark.streams.active:
        running.stop()
    for table in TABLES:
        spark.sql(f"DROP TABLE IF EXISTS {table}")


@pytest.mark.parametrize("page", [page for page in PAGES if uses_spark(page)])
def test_the_code_of_a_page_runs(page: str, paths: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(paths["results"].parent)
    run_page(page, paths)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_example_of_a_public_function_runs(
    name: str, spark: SparkSession, paths: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(paths["results"].parent)
    code = str(getattr(sash.spark, name).__doc__)
    for path in ("checkpoint", "results"):
        code = code.replace(f'"{path}"', repr(str(paths[path])))
    run_doctest(code, name, 0, {})
    assert spark.range(1).count() == 1  # examples use the session, and do not stop it
