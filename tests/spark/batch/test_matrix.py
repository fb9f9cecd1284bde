"""Every window × every aggregate on Spark ≡ the local engine, which is proved against the oracle."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from helpers.pairwise import matrix, some
from helpers.queries import EXECUTORS, FORMS, UNITS, ZONES, in_microseconds, in_unit, run_as
from helpers.spark.matrix import (
    COMPILED,
    EVERY,
    PER_ROW,
    PER_WINDOW,
    TYPES,
    assert_same,
    assert_spark_agrees,
    in_types,
    plain,
    rows_of_every_kind,
)
from pyspark.sql import DataFrame, SparkSession

import sash
from sash import agg, window
from sash.aggregates.base import Aggregate
from sash.spark.arrow_types import arrow_type, spark_schema, spark_type

ROWS = rows_of_every_kind(3, 250)
JOINED = {"own_joined": "string"}
WINDOW_ORDER = ["key", "window", "window_start", "window_end"]


@pytest.fixture(scope="module")
def frame(spark: SparkSession) -> DataFrame:
    return spark.createDataFrame(ROWS)


@pytest.mark.parametrize("name", PER_ROW)
def test_every_aggregate_for_each_row(frame: DataFrame, name: str) -> None:
    query = sash.Query(EVERY, PER_ROW[name], by="key", time="t", order_by="id")
    assert_spark_agrees(query, frame, ROWS, ["id"], compiled=False, types=TYPES)


@pytest.mark.connect
@pytest.mark.oldest
def test_every_aggregate_for_each_window(frame: DataFrame) -> None:
    query = sash.Query(EVERY, PER_WINDOW, by="key", time="t", order_by="id")
    assert_spark_agrees(query, frame, ROWS, WINDOW_ORDER, compiled=False, types=TYPES)


@pytest.mark.parametrize("kind", some(["row", "window"], 2))
def test_compiled(frame: DataFrame, kind: str) -> None:
    windows = PER_ROW["right"] if kind == "row" else {name: PER_WINDOW[name] for name in ("time", "session", "rows")}
    query = sash.Query(COMPILED, windows, by="key", time="t", order_by="id")
    assert_spark_agrees(query, frame, ROWS, ["id"] if kind == "row" else WINDOW_ORDER)


WINDOWS: dict[str, Any] = {
    "frame": PER_ROW["centred"],
    "rows": PER_ROW["last_rows"],
    "windows": {name: PER_WINDOW[name] for name in ("time", "session", "rows")},
}


@pytest.mark.parametrize(
    ("windows", "unit", "zone", "executor", "form"), matrix(WINDOWS, UNITS[1:], ZONES, EXECUTORS, FORMS)
)
def test_every_path_gives_what_spark_gives(
    spark: SparkSession, windows: str, unit: str, zone: str | None, executor: str, form: str
) -> None:
    """On Spark, times are in microseconds, those of this process in any unit that holds them."""
    compiled = EXECUTORS[executor]
    query = sash.Query(
        {"mean": agg.mean("y"), "top": agg.max("y")}, WINDOWS[windows], by="key", time="t", order_by="id"
    )
    expected = in_microseconds(run_as(query, in_unit(ROWS, unit, zone), form, compiled=compiled))
    rows = in_unit(ROWS, "us", zone)
    found = query.run(spark.createDataFrame(rows, spark_schema(rows.schema)), compiled=compiled).toArrow()
    in_spark = in_types(expected, lambda kind: plain(arrow_type(spark_type(kind), "UTC")))
    assert_same(in_types(found, plain), in_spark, WINDOW_ORDER if windows == "windows" else ["id"])


def test_rows_without_a_key(frame: DataFrame) -> None:
    some = {name: EVERY[name] for name in ("sum", "collect", "own_joined", "median")}
    query = sash.Query(some, PER_WINDOW, time="t", order_by="id")
    assert_spark_agrees(query, frame, ROWS, WINDOW_ORDER[1:], compiled=False, types=JOINED)


HEAVY = rows_of_every_kind(6, 250, ["a"] * 9 + ["b", None])


@pytest.mark.parametrize("by", [(), ("key",)], ids=["no key", "a heavy key"])
@pytest.mark.parametrize("kind", ["row", "window"])
def test_ranges_of_time_are_answered_as_the_whole_is(spark: SparkSession, kind: str, by: tuple[str, ...]) -> None:
    """Cut into many, with ties of time and windows that are wider than a range."""
    kinds = PER_ROW if kind == "row" else PER_WINDOW
    every = {name: one for name, one in kinds.items() if one.time_split is not None}
    some = {name: EVERY[name] for name in ("sum", "collect", "own_joined", "median", "first", "mean")}
    query = sash.Query(some, every, by=by, time="t", order_by="id")
    order = ["id"] if kind == "row" else [*by, *WINDOW_ORDER[1:]]
    frame = spark.createDataFrame(HEAVY)
    assert_spark_agrees(query, frame, HEAVY, order, compiled=False, strategy="ranges", ranges=9, types=JOINED)


def test_rows_in_order_of_strings(frame: DataFrame) -> None:
    query = sash.Query({"all": agg.collect("id")}, window.rows(3), by="key", order_by=["s", "id"])
    assert_spark_agrees(query, frame, ROWS, ["id"], compiled=False, buckets=1)


def test_values_of_every_type(spark: SparkSession) -> None:
    """Aggregates that give values, lists of them or differences have a type of Spark's for each of Arrow's."""
    columns = ROWS.append_column("d", ROWS["t"].cast(pa.date32())).append_column(
        "n", ROWS["t"].cast(pa.timestamp("us"))
    )
    columns = columns.append_column("b", ROWS["s"].cast(pa.binary())).append_column("f", ROWS["y"].cast(pa.float32()))
    columns = columns.append_column("q", ROWS["x"].cast(pa.decimal128(21, 2)))
    given: dict[str, Aggregate[Any]] = {}
    for name in ("t", "d", "n", "b", "f", "q", "s", "mark"):
        given |= {f"{name} last": agg.last(name), f"{name} top": agg.max(name), f"{name} all": agg.collect(name)}
        given |= {
            f"{name} k": agg.top_k(name, 2),
            f"{name} mode": agg.mode(name),
            f"{name} who": agg.arg_max("id", name),
        }
    given |= {f"{name} spread": agg.spread(name) for name in ("t", "d", "n", "f", "q")}
    given |= {f"{name} sum": agg.sum(name) for name in ("f", "q")} | {"q mean": agg.mean("q")}
    query = sash.Query(given, window.tumbling("4m"), by="key", time="t", order_by="id")
    frame = spark.createDataFrame(columns, spark_schema(columns.schema))
    assert_spark_agrees(query, frame, columns, ["key", "window_start"], compiled=False)
