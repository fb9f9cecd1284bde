"""Slices that Spark computes in SQL, compared with the local engine on the rows."""

from __future__ import annotations

import math
import operator
import random
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from helpers.cases import AGGREGATES
from helpers.spark.sliced import (
    TYPES,
    assert_equal,
    every_aggregate,
    in_two_stages,
    prepared,
    rows,
    some_aggregates,
    table_of,
)
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 — as everyone calls it

import sash
from sash import agg, window
from sash.aggregates import BUILT_IN
from sash.aggregates.base import Aggregate, unchanged
from sash.aggregates.definition import define
from sash.aggregates.sql import SqlForm, SqlInput, sql_form
from sash.spark.batch.sql_slices import why_not
from sash.windows import Window

COUNT = 240
BY_NUMBER: dict[str, Window] = {
    "tumbling": window.tumbling(7),
    "ragged": window.time(9, slide=6),
    "moved": window.time(20, slide=4, offset=-3),
    "cumulative": window.cumulative(12, 3, offset=2),
    "right": window.time(9, slide=6, closed="right"),
    "apart": window.time(4, slide=7, offset=1),
    "empty": window.time(2, slide=3, closed="right", empty=True),
}
BY_HOUR: dict[str, Window] = {
    "ragged": window.time("90m", slide="1h"),
    "cumulative": window.cumulative("3h", "30m", offset="-10m"),
    "right": window.cumulative("2h", "1h", closed="right"),
    "apart": window.time("20m", slide="45m", closed="right"),
}


def numbers(kind: pa.DataType) -> pa.Array:
    chooser = random.Random(2)
    return pa.array([chooser.randint(-60, 60) for _ in range(COUNT)], kind)


def moments_before_and_after(clock_change: datetime) -> list[datetime]:
    chooser = random.Random(3)
    around = [clock_change + timedelta(minutes=chooser.randint(-300, 300)) for _ in range(COUNT // 2)]
    return around + [time.replace(year=1931) + timedelta(microseconds=1) for time in around]


def every_time() -> dict[str, tuple[pa.Array, dict[str, Window]]]:
    forward = datetime(2024, 3, 10, 7, tzinfo=UTC)
    with_zone = pa.array(moments_before_and_after(forward), pa.timestamp("us", "America/New_York"))
    without = pa.array(moments_before_and_after(datetime(2024, 3, 10, 2, 30)), pa.timestamp("us"))  # noqa: DTZ001
    chooser = random.Random(4)
    dates = pa.array([date(1970, 1, 1) + timedelta(chooser.randint(-50, 50)) for _ in range(COUNT)])
    days: dict[str, Window] = {
        "days": window.time("5d", slide="2d"),
        "one": window.tumbling("1d"),
        "right": window.tumbling("3d", closed="right", empty=True),
    }
    return {
        "int64": (numbers(pa.int64()), BY_NUMBER),
        "int16": (numbers(pa.int16()), {"tumbling": window.tumbling(7)}),
        "with a zone": (with_zone, BY_HOUR),
        "without one": (without, BY_HOUR),
        "dates": (dates, days),
    }


@pytest.mark.oldest
def test_every_aggregate_of_every_type(spark: SparkSession) -> None:
    table = table_of(rows(COUNT), numbers(pa.int64()))
    query = sash.Query(every_aggregate(), BY_NUMBER, by="key", time="t", order_by=("f64", "id"))
    assert_equal(in_two_stages(spark, query, table), query.run(table, compiled=False))


@pytest.mark.parametrize("kind", list(every_time()))
def test_times_of_every_type(spark: SparkSession, kind: str) -> None:
    time, windows = every_time()[kind]
    table = table_of(rows(COUNT), time)
    query = sash.Query(some_aggregates(), windows, by="key", time="t", order_by="id")
    assert_equal(in_two_stages(spark, query, table), query.run(table, compiled=False))


@pytest.mark.full
def test_compiled_as_interpreted(spark: SparkSession) -> None:
    table = table_of(rows(COUNT), numbers(pa.int64()))
    chosen = {name: some_aggregates()[name] for name in ("sum_i64", "stddev_f64", "variance_f64", "correlation_wild")}
    query = sash.Query(chosen, window.time(9, slide=6), by="key", time="t")
    found = in_two_stages(spark, query, table, compiled=True)
    assert found["stddev_f64"].null_count > 0  # windows of one value
    assert_equal(found, query.run(table, compiled=False))


def test_rows_without_keys_whose_times_order_them(spark: SparkSession) -> None:
    table = table_of(rows(COUNT), pa.array(random.Random(5).sample(range(-1000, 1000), COUNT)))
    query = sash.Query(some_aggregates(), window.time(90, slide=60), time="t", slicing="panes")
    assert_equal(in_two_stages(spark, query, table), query.run(table, compiled=False))


@pytest.mark.oldest
def test_ties_go_to_the_first_in_an_order_with_nulls_and_nan(spark: SparkSession) -> None:
    table = table_of(rows(COUNT), pa.array([number % 3 for number in range(COUNT)]))
    aggregates = {
        "first": agg.first("text"),
        "last": agg.last("text"),
        "most": agg.arg_max("text", "id"),
        "wild": agg.arg_max("wild", "id"),
        "least": agg.arg_min("flag", "id"),
    }
    for orders in (("wild", "flag", "id"), ("day", "at", "wall", "id"), ("flag", "money", "i8", "id")):
        query = sash.Query(aggregates, window.tumbling(2), by="key", time="t", order_by=orders)
        assert_equal(in_two_stages(spark, query, table), query.run(table, compiled=False))


def test_moments_far_from_zero_are_as_accurate_as_sparks_own(spark: SparkSession) -> None:
    values = [1e9 + number % 7 for number in range(COUNT)]
    table = pa.table({"t": list(range(COUNT)), "x": values})
    query = sash.Query({"sd": agg.stddev("x")}, window.time(90, slide=60), time="t")
    assert_equal(in_two_stages(spark, query, table), query.run(table, compiled=False), rounding=1e-7)


@pytest.mark.parametrize(
    ("aggregate", "values"),
    [
        (agg.sum("x"), [-(2**63), -1]),
        (agg.spread("x"), [2**63 - 1, -1]),
        (agg.sum_of_squares("x"), [3_037_000_500, 0]),
    ],
)
def test_what_needs_more_than_64_bits_is_an_error_as_it_is_locally(
    spark: SparkSession, aggregate: Aggregate[Any], values: list[int]
) -> None:
    table = pa.table({"t": [0, 1], "x": values})
    query = sash.Query({"x": aggregate}, window.tumbling(4), time="t")
    with pytest.raises(OverflowError, match="64 bits"):
        query.run(table, compiled=False)
    with pytest.raises(OverflowError, match=rf"64 bits(.|\n)*{aggregate.name}\(x\) failed"):  # not of "high of x"
        in_two_stages(spark, query, table)


def test_only_a_windows_own_sum_can_be_too_large(spark: SparkSession) -> None:
    most, least = 2**63 - 1, -(2**63)
    table = pa.table({"t": [0, 0, 0, 0, 1, 1, 9], "x": [most, most, least, least, most, least, least]})
    table = table.append_column("y", pa.array([-(2**31), 0, 2**31 - 1, 5, 0, None, 2**31 - 1], pa.int32()))
    sums = {"sum": agg.sum("x"), "mean": agg.mean("x"), "y": agg.sum("y"), "squares": agg.sum_of_squares("y")}
    query = sash.Query(sums, window.time(3, slide=2), time="t")
    found = in_two_stages(spark, query, table)
    assert found["sum"].to_pylist() == [-2, -3, least]
    assert_equal(found, query.run(table, compiled=False))


def test_decimals_keep_every_digit(spark: SparkSession) -> None:
    largest = Decimal(10**28 - 1).scaleb(-3)
    table = pa.table({"t": [0, 1, 2], "x": pa.array([largest, largest, Decimal("0.001")], pa.decimal128(28, 3))})
    query = sash.Query({"sum": agg.sum("x"), "mean": agg.mean("x")}, window.time(4, slide=2), time="t")
    assert_equal(in_two_stages(spark, query, table), query.run(table, compiled=False), rounding=0)


def test_sketches_of_many_values(spark: SparkSession) -> None:
    chooser = random.Random(6)
    count = 12_000
    ids = [chooser.randint(0, 5000) for _ in range(count)]
    values = [float(number) for number in chooser.sample(range(count), count)]
    times = [number % 8 for number in range(count)]
    table = pa.table({"t": times, "id": ids, "x": values, "name": [f"u{one}" if one else "" for one in ids]})
    named = {"ids": agg.approx_count_distinct("id"), "names": agg.approx_count_distinct("name")}
    query = sash.Query({**named, "quarter": agg.approx_quantile("x", 0.25)}, window.time(8, slide=4), time="t")
    found = in_two_stages(spark, query, table)
    frame = spark.createDataFrame(table)
    texts = [
        " ".join(str(query.explain(frame, strategy=strategy)).replace("│", " ").split())
        for strategy in ("slices", "ranges")
    ]
    assert ["ids: off by 1.6 % (standard error)" in text for text in texts] == [True, False]
    expected = sash.Query(named, window.time(8, slide=4), time="t").run(table, compiled=False)
    assert_equal(found.drop_columns("quarter"), expected)
    for row in found.to_pylist():
        held = [x for x, t in zip(values, times, strict=True) if row["window_start"] <= t < row["window_end"]]
        assert abs(sum(x <= row["quarter"] for x in held) / len(held) - 0.25) < 0.03


def test_names_of_every_kind(spark: SparkSession) -> None:
    names = {"t": "the.Time", "key": "a`key", "id": "ID", "f64": "x y.z", "i64": "Straße", "text": "`"}
    table = table_of(rows(COUNT), numbers(pa.int64())).select([*names]).rename_columns([*names.values()])
    query = sash.Query(
        {
            "a.b": agg.sum("Straße"),
            "sd": agg.stddev("x y.z"),
            "who": agg.arg_max("x y.z", "`"),
            "cov": agg.covariance("x y.z", "Straße"),
        },
        BY_NUMBER,
        by="a`key",
        time="the.Time",
        order_by="ID",
    )
    found, expected = in_two_stages(spark, query, table), query.run(table, compiled=False)
    assert_equal(*(result.rename_columns({"a`key": "key"}) for result in (found, expected)))


def test_a_time_that_is_also_a_key(spark: SparkSession) -> None:
    table = pa.table({"t": [1, 1, 5], "x": [1, 2, 3]})
    query = sash.Query({"sum": agg.sum("x")}, window.tumbling(4), by="t", time="t")
    found, expected = in_two_stages(spark, query, table), query.run(table, compiled=False)
    assert_equal(*(result.rename_columns({"t": "key"}) for result in (found, expected)))


def test_times_that_are_null_or_too_far_are_refused_as_they_are_locally(spark: SparkSession) -> None:
    for times, message in (
        ([1, None], "The time column 't' is null"),
        ([-(2**63), 5], "reach beyond times of 64 bits"),
    ):
        table = pa.table({"t": pa.array(times, pa.int64()), "x": [1, 2]})
        query = sash.Query({"sum": agg.sum("x")}, window.time(9, slide=6), time="t")
        with pytest.raises((ValueError, OverflowError), match=message):
            query.run(table, compiled=False)
        with pytest.raises((ValueError, OverflowError), match=message):
            in_two_stages(spark, query, table)


SCHEMA = pa.schema({**TYPES, "huge": pa.decimal128(29, 3), "hour": pa.time64("us"), "list": pa.list_(pa.int64())})


@pytest.mark.parametrize(
    ("aggregate", "reason"),
    [
        (agg.median("f64"), "no partials of median."),
        (agg.product("f64"), "no partials of product."),
        (agg.max_count("f64"), "no partials of max_count."),
        (agg.stddev("i64"), "stddev of int64, which it would round."),
        (
            agg.skewness("f64"),
            "skewness of double, because its own formula is inaccurate if values are close together.",
        ),
        (agg.sum("huge"), "more than 38 digits."),
        (agg.sum_of_squares("money"), "no partials of sum_of_squares of decimal128(28, 3)."),
        (agg.approx_count_distinct("f64"), "which it hashes differently."),
        (agg.approx_count_distinct("day"), "which it hashes differently."),
        (agg.arg_max("text", "id"), "arg_max of string and int64 in an order of text."),
        (agg.max("hour"), "no partials of max of time64[us]."),
        (agg.first("list"), "no partials of first of list<item: int64>."),
        (sash.aggregate("max", lift=abs, combine=max)("f64"), "no partials of max."),
        (replace(agg.max("f64"), lift=abs), "no partials of max."),
        (sash.aggregate("sum", lift=lambda x, y: x + y, combine=max)("f64", "i8"), "no partials of sum."),
    ],
)
def test_what_spark_cannot_slice_has_a_reason(aggregate: Aggregate[Any], reason: str) -> None:
    found = sql_form("mine", aggregate, SCHEMA, "`t`", ("text",))
    assert isinstance(found, str)
    assert found.startswith("'mine': Spark SQL has ")
    assert found.endswith(reason)


def test_every_aggregate_with_sql_is_compared_here() -> None:
    covered = {aggregate.name for aggregate in every_aggregate().values()}
    assert covered == {name for name in BUILT_IN if AGGREGATES[name].sql is not None}
    for name, aggregate in every_aggregate().items():
        assert isinstance(sql_form(name, aggregate, SCHEMA, "`t`", ("id",)), SqlForm)


def test_an_aggregate_of_a_user_with_sql_is_sliced_without_registration(spark: SparkSession) -> None:
    def total_distance(source: SqlInput) -> SqlForm:
        return source.form({"distance": f"sum(abs({source.column.sql}))"}, unchanged)

    distance = define(
        "distance", None, lift=abs, combine=operator.add, commutative=True, gives="number", sql=total_distance
    )
    table = table_of(rows(COUNT), numbers(pa.int64()))
    query = sash.Query({"way": distance("f64"), "most": agg.max("f64")}, BY_NUMBER, by="key", time="t")
    assert_equal(in_two_stages(spark, query, table), query.run(table, compiled=False))


@pytest.mark.parametrize(
    ("windows", "given", "reason"),
    [
        (window.session(5), {}, "session(5) has no slices that are known before the rows are read."),
        (window.rows(5, slide=5), {}, "rows(5, slide=5) has no slices that are known before the rows are read."),
        (window.time(9, slide=6, min_rows=2), {}, "needs the number of values in a window, which slices do not have."),
        (window.tumbling(9), {"slicing": "none"}, 'slicing="none" was given.'),
        (window.tumbling(9), {"order_by": "lower"}, "lower is of string collate UTF8_LCASE, a collation"),
        (window.tumbling(9), {"by": "High of X"}, "two columns of slices would be named 'high of x'"),
    ],
)
def test_queries_that_spark_cannot_slice(
    spark: SparkSession, windows: Window, given: dict[str, Any], reason: str
) -> None:
    query = sash.Query({"sum": agg.sum("x")}, windows, time="t", **given)
    local, frame = prepared(spark, query, pa.table({"t": [1], "x": [1], "lower": ["a"], "High of X": [1]}))
    collated = frame.withColumn("lower", F.collate("lower", "UTF8_LCASE"))
    assert reason in why_not(query._declared, local, collated.schema)


def test_zero_times_infinity(spark: SparkSession) -> None:
    table = pa.table({"t": [0, 0, 1], "x": [0.0, math.inf, 1.0], "w": [math.inf, 0.0, 2.0]})
    query = sash.Query({"mean": agg.weighted_mean("x", "w")}, window.time(2, slide=1), time="t")
    assert_equal(in_two_stages(spark, query, table), query.run(table, compiled=False))
