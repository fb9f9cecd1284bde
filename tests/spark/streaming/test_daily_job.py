"""A daily job with `trigger(availableNow=True)`, and the model for dbt of the documentation: each result once."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from helpers.documentation import PAGES, blocks_of
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 — the usual name

import sash
from sash import agg, window

PLUGS = sash.Query({"mean": agg.mean("load"), "n": agg.count()}, window.time("2m"), by="household", time="ts")


def readings(spark: SparkSession) -> DataFrame:
    table = spark.read.format("sash_readings").option("rows", 900).option("rows_per_second", 2)
    return table.load().persist()


def of_day(rows: DataFrame, day: int) -> DataFrame:
    """A third of the readings, by time; late ones arrive on the next day."""
    begin = rows.agg(F.min("ts")).first()[0]  # type: ignore[index]
    return rows.where(F.floor((F.col("ts").cast("double") - begin.timestamp()) / 170) == day).coalesce(1)


def from_page(name: str, **known: Any) -> Any:
    """A function of the page on daily jobs."""
    (block,) = [one for one in blocks_of("docs/daily-jobs.md") if f"def {name}(" in one.code]
    code = block.code[: block.code.index("\n\n\n")] if name == "run_daily" else block.code
    namespace = {"plugs": PLUGS, "sash": sash, **known}
    exec(code, namespace)  # noqa: S102 — the code of the page
    return namespace[name]


def test_the_page_is_there() -> None:
    assert "docs/daily-jobs.md" in PAGES


def emitted(found: DataFrame) -> Counter[str]:
    columns = sorted(set(found.columns) - {"batch"})
    return Counter(map(repr, found.select(*columns).collect()))


def expected(rows: DataFrame) -> Counter[str]:
    """The results of rows up to the watermark: Spark treats a row at the watermark as late, so they are final."""
    newest = rows.agg(F.max("ts")).first()[0]  # type: ignore[index]
    watermark = F.lit(newest) - F.expr("INTERVAL 2 MINUTES")
    return emitted(PLUGS.run(rows).where(F.col("ts") <= F.date_trunc("millisecond", watermark)))


def test_run_daily(spark: SparkSession, tmp_path: Path) -> None:
    """Three days; the second run has nothing to read."""
    sash.spark.readings(spark)  # the session knows the format
    rows = readings(spark)
    run_daily = from_page("run_daily")
    Path(tmp_path / "input").mkdir()
    source = spark.readStream.schema(rows.schema).parquet(f"{tmp_path}/input")
    counted = []
    for day in (0, None, 1, 2):
        if day is not None:
            of_day(rows, day).write.mode("append").parquet(f"{tmp_path}/input")
        counted += run_daily(source, f"{tmp_path}/results", f"{tmp_path}/checkpoint")
    assert sum(one["rows"] for one in counted) == 900
    assert emitted(spark.read.parquet(f"{tmp_path}/results")) == expected(rows)


class Dbt:
    """The object that a model of dbt gets, as far as the model uses it."""

    class Config:
        def __init__(self, folder: str) -> None:
            self.values = {"features_folder": folder}

        def __call__(self, **values: Any) -> None:
            self.values.update(values)

        def get(self, name: str) -> Any:
            return self.values[name]

    def __init__(self, folder: str, *, is_incremental: bool) -> None:
        self.config = self.Config(folder)
        self.is_incremental = is_incremental
        self.this = "plugs.features"

    def source(self, *_: str) -> None:
        """Do nothing: dbt only notes the dependency."""


@pytest.mark.usefixtures("classic")
def test_the_model_of_dbt(spark: SparkSession, tmp_path: Path) -> None:
    """After each run, the table has each result once; the second run fails after the stream, before dbt appends."""
    sash.spark.readings(spark)
    rows = readings(spark)
    model = from_page("model")
    spark.sql(f"CREATE DATABASE plugs LOCATION '{tmp_path}/database'")
    try:
        of_day(rows, 0).write.format("parquet").saveAsTable("plugs.readings")
        has_table = False
        for day, fails in ((0, False), (1, True), (1, False), (2, False)):
            if day and fails:
                of_day(rows, day).write.format("parquet").mode("append").saveAsTable("plugs.readings")
            if day == 2:
                of_day(rows, day).write.format("parquet").mode("append").saveAsTable("plugs.readings")
            results = model(Dbt(f"{tmp_path}/features", is_incremental=has_table), spark)
            if fails:
                continue
            results.write.format("parquet").mode("append").saveAsTable("plugs.features")  # what dbt does
            has_table = True
        assert emitted(spark.table("plugs.features")) == expected(rows)
    finally:
        spark.sql("DROP DATABASE plugs CASCADE")
