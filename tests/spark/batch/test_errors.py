"""What can't be is said before anything runs; what goes wrong in a worker says where."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

import sash
from sash import agg, window

COUNT = {"n": agg.count()}
named = sash.aggregate("named", lift=lambda s: [s], combine=lambda a, b: a + b, lower=lambda each: {len(each): each})
SCHEMA = "id bigint, k string, t timestamp, x int, s string, list array<int>, m map<string, int>"


@pytest.fixture(scope="module")
def frame(spark: SparkSession) -> DataFrame:
    return spark.createDataFrame([], SCHEMA)


@pytest.mark.parametrize(
    ("query", "options", "sentence"),
    [
        (sash.Query({"n": agg.sum("y")}, window.rows(2), time="t"), {}, "There is no column 'y'\\. The data has 'id', 'k'"),
        (sash.Query(COUNT, window.rows(2), by="kk", time="t"), {}, "There is no column 'kk'"),
        (sash.Query(COUNT, window.rows(2), time="s"), {}, "The time column 's' holds text, but it must hold timestamps"),
        (sash.Query({"n": agg.sum("s")}, window.rows(2), time="t"), {}, "'n': sum needs numbers, but column 's'"),
        (sash.Query(COUNT, window.time(5), time="t"), {}, "5"),
        (sash.Query(COUNT, window.time("1h"), time="id"), {}, "1h"),
        (sash.Query(COUNT, window.delta("s", 2), time="t"), {}, "column 's' is of type string, but it must hold numbers"),
        (sash.Query(COUNT, window.punctuated("x"), time="t"), {}, "column 'x' is of type int32, but it must be boolean"),
        (sash.Query(COUNT, window.rows(2), time="t", order_by="m"), {}, "order_by needs values with an order, but column 'm'"),
        (sash.Query(COUNT, window.rows(2)), {}, r"Rows of a Spark DataFrame have no order"),
        (sash.Query({"x": agg.count()}, window.rows(2), time="t"), {}, "The data already has a column 'x'"),
        (sash.Query(COUNT, window.rows(2), time="t"), {"threads": 2}, "threads= is for"),
        (sash.Query(COUNT, window.rows(2), time="t"), {"mode": "update"}, "mode= is for a stream"),
        (sash.Query(COUNT, window.rows(2), time="t"), {"bucket": 2}, "There is no option 'bucket'\\. Did you mean 'buckets'"),
        (sash.Query(COUNT, window.rows(2), time="t"), {"buckets": 0}, "buckets=0 is not valid. Use an integer of at least 1"),
        (sash.Query(COUNT, window.rows(2), time="t"), {"strategy": "fast"}, "strategy='fast' does not exist. Use auto, native, slices, buckets"),
        (sash.Query(COUNT, window.rows(2), time="t"), {"types": {"n": "nothing"}}, "types: 'n': 'nothing' is not a Spark type"),
        (sash.Query(COUNT, window.rows(2), time="t"), {"types": {"m": "int"}}, "types: there is no aggregate 'm'"),
        (
            sash.Query({"own": named("s")}, window.rows(2), time="t"),
            {},
            r"'own': Spark needs the result type of named\(s\) before it runs, but .* \(tried .*State the type, as in run\(df, types=",
        ),
    ],
)  # fmt: skip
def test_what_is_refused_before_anything_runs(
    frame: DataFrame, query: sash.Query, options: dict[str, Any], sentence: str
) -> None:
    with pytest.raises((TypeError, ValueError), match=sentence):
        query.run(frame, **options)


def test_a_frame_of_pandas_on_spark_is_refused(frame: DataFrame) -> None:
    with pytest.raises(
        TypeError, match=r"This is a pandas-on-Spark frame. Pass the Spark DataFrame instead: data.to_spark\(\)"
    ):
        sash.Query(COUNT, window.rows(2), time="id").run(frame.select("id").pandas_api())


@pytest.mark.connect
def test_an_error_in_an_aggregate_names_it_the_key_and_the_row(spark: SparkSession) -> None:
    inverse = sash.aggregate("inverse", lift=lambda x: 1 / x, combine=lambda older, newer: older + newer)
    frame = spark.range(20).selectExpr("id", "concat('key ', id % 4) AS k", "double(id - 13) AS x")
    query = sash.Query({"sums": inverse("x")}, window.rows(3), by="k", time="id")
    for compiled in (False, True):
        with pytest.raises(Exception, match="ZeroDivisionError") as raised:
            query.run(frame, compiled=compiled, types={"sums": "double"}).collect()
        assert "inverse(x) failed while lifting the row of k=key 1, id=13." in str(raised.value)


@pytest.mark.oldest
def test_a_null_time_is_refused_by_the_worker(spark: SparkSession) -> None:
    frame = spark.sql("SELECT 1 AS k, IF(id = 3, NULL, id) AS t FROM range(5)")
    with pytest.raises(Exception, match=r"The time column 't' is null in 1 row\. Fill in a time, or drop such rows"):
        sash.Query(COUNT, window.rows(2), by="k", time="t").run(frame, compiled=False).collect()
