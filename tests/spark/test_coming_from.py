"""The cells of Spark in docs/coming-from.md run and give the result of Sash."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pandas as pd
import pytest
from helpers.coming_from import TASKS, by_sash, cases, check_equal, evaluate, read_data
from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F  # noqa: N812 — as everyone calls it

ZONE = "spark.sql.session.timeZone"
PER_ROW = [title for title, _ in cases("Spark") if TASKS[title].results == "rows"]
WHOLE = [title for title, _ in cases("Spark") if TASKS[title].results != "rows"]


@pytest.fixture(scope="module")
def data() -> dict[str, pd.DataFrame]:
    return read_data()


@pytest.fixture
def frames(spark: SparkSession, data: dict[str, pd.DataFrame]) -> Iterator[dict[str, DataFrame]]:
    zone = str(spark.conf.get(ZONE))
    spark.conf.set(ZONE, "UTC")
    yield {name: spark.createDataFrame(frame).coalesce(1) for name, frame in data.items()}
    spark.conf.set(ZONE, zone)


def cell(title: str, frames: dict[str, DataFrame]) -> Any:
    card, seconds = (Window.partitionBy("card").orderBy(by) for by in ("ts", F.unix_seconds("ts")))
    return evaluate(TASKS[title].code["Spark"], F=F, card=card, seconds=seconds, **frames)


def rows_of(frame: pd.DataFrame) -> list[tuple[Any, ...]]:
    return list(frame.itertuples(index=False, name=None))


def test_columns(frames: dict[str, DataFrame], data: dict[str, pd.DataFrame]) -> None:
    columns = [cell(title, frames).alias(f"x{number}") for number, title in enumerate(PER_ROW)]
    found: Any = frames["payments"].select("card", "ts", *columns).toPandas()  # one job for all
    found["ts"] = found["ts"].dt.tz_localize("UTC")
    for number, title in enumerate(PER_ROW):
        check_equal(rows_of(found[["card", "ts", f"x{number}"]]), by_sash(TASKS[title], data))


@pytest.mark.parametrize("title", WHOLE)
def test_queries(title: str, frames: dict[str, DataFrame], data: dict[str, pd.DataFrame]) -> None:
    made = cell(title, frames).toDF("card", "start", "x")
    start = F.col("start.start") if made.schema["start"].dataType.typeName() == "struct" else F.col("start")
    found: Any = made.select("card", F.unix_micros(start).alias("start"), "x").toPandas()
    found["start"] = pd.to_datetime(found["start"], unit="us", utc=True)
    check_equal(rows_of(found), by_sash(TASKS[title], data))
