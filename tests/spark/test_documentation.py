"""Code in the documentation that needs Spark runs, on the session that the tests share."""

from __future__ import annotations

import runpy
import time
from collections.abc import Container, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from helpers.documentation import PAGES, ROOT, run_doctest, run_page, uses_spark
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

import sash
from spark.conftest import CONNECT

TABLES = ("peaks",)
"""The tables that pages write."""
FUNCTIONS = sash.spark.__all__
QUICK_PAGES = {"README.md", "docs/spark.md"}
QUICK_FUNCTIONS = {*FUNCTIONS} - {"finish", "inspect_state"}
"""What `make test` runs: the rest are streams, which take long."""
FAST = {"spark.sql.shuffle.partitions": "1", "spark.sql.execution.arrow.maxRecordsPerBatch": "10000"}
"""A stream of a few rows is fastest with one state store and large batches."""
LONGEST_WAIT = 60
CLASSIC_PAGES = {"docs/serving.md"}
"""Pages whose code needs a classic session: on Connect, a writer of states needs a name for its run."""


def quickly(names: Iterable[str], quick: Container[str]) -> list[Any]:
    """Return names as parameters; only `make test-full` runs those that are not quick."""
    return [pytest.param(name, marks=() if name in quick else pytest.mark.full) for name in names]


def wait_for_progress(running: StreamingQuery) -> None:
    """Wait for the first micro-batch of a stream that runs on; otherwise an error in it would not be noticed."""
    started = time.monotonic()
    while not running.lastProgress and running.isActive and time.monotonic() - started < LONGEST_WAIT:
        time.sleep(0.1)
    assert running.exception() is None
    assert running.lastProgress


@pytest.fixture
def paths(spark: SparkSession, tmp_path: Path) -> Iterator[dict[str, Path]]:
    """Where pages read and write: paths relative to the folder of the JVM would be in the repository."""
    data = "examples/data/readings.parquet"
    before = {name: spark.conf.get(name) for name in FAST}
    for name, value in FAST.items():
        spark.conf.set(name, value)
    yield {
        data: ROOT / data,
        **{
            name: tmp_path / name
            for name in (
                "checkpoint",
                "results",
                "checkpoint_16",
                "checkpoint_late",
                "in_time",
                "late_rows",
                "complete",
                "checkpoint_history",
                "daily",
                "checkpoint_daily",
                "payments.parquet",
                "payments*.parquet",
            )
        },
    }
    for running in spark.streams.active:
        wait_for_progress(running)
        running.stop()
    for name, old in before.items():
        spark.conf.set(name, str(old))
    for table in TABLES:
        spark.sql(f"DROP TABLE IF EXISTS {table}")


@pytest.mark.parametrize("page", quickly([page for page in PAGES if uses_spark(page)], QUICK_PAGES))
def test_the_code_of_a_page_runs(page: str, paths: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    if CONNECT and page in CLASSIC_PAGES:
        pytest.skip("on a classic session only")
    monkeypatch.chdir(paths["results"].parent)
    run_page(page, paths)


@pytest.mark.parametrize("name", quickly(FUNCTIONS, QUICK_FUNCTIONS))
def test_the_example_of_a_public_function_runs(
    name: str, spark: SparkSession, paths: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(paths["results"].parent)
    code = str(getattr(sash.spark, name).__doc__)
    for path in ("checkpoint", "results"):
        code = code.replace(f'"{path}"', repr(str(paths[path])))
    run_doctest(code, name, 0, {})
    assert spark.range(1).count() == 1  # examples use the session, and do not stop it


def test_the_features_of_the_example_are_the_same_on_spark(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(ROOT / "examples")
    example = runpy.run_path(str(ROOT / "examples" / "05_features.py"))
    payments, labels = (table[table["card"] < 50] for table in example["make_payments"]())  # a tenth is faster
    features = example["FEATURES"].run(payments, at=labels, at_time="checked")
    example["check_on_spark"](spark, payments, labels, features)
