"""Filters, expressions and names in another case on Spark: the results are those of DuckDB or of a plain column."""

from __future__ import annotations

import pickle
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 — as everyone calls it

import sash
from sash import agg, window

SCHEMA = "k string, t int, price double, quantity int, st struct<distance: int>"
ROWS = [
    ("a", 1, 2.0, 1, (5,)),
    ("a", 2, 3.0, 4, (6,)),
    ("b", 3, 5.0, 2, (7,)),
    ("a", 4, None, 7, (8,)),
    ("b", 5, 1.0, None, (9,)),
]
CASE = "spark.sql.caseSensitive"


@pytest.fixture
def rows(spark: SparkSession) -> DataFrame:
    return spark.createDataFrame(ROWS, SCHEMA)


def sorted_rows(frame: DataFrame) -> list[str]:
    return sorted(repr(row.asDict(recursive=True)) for row in frame.collect())


@pytest.mark.oldest
@pytest.mark.parametrize(
    ("windows", "strategy"),
    [
        (window.tumbling(2), "slices"),
        (window.tumbling(2), "buckets"),
        (window.tumbling(2), "ranges"),
        (window.rows(2), "auto"),
    ],
)
def test_spark_and_duckdb_agree(rows: DataFrame, windows: window.Window, strategy: Any) -> None:
    aggregates = {
        "n": agg.count(where="quantity > 1"),
        "s": agg.sum(sash.expr("price * quantity"), where="quantity > 1 OR k = 'b'"),
        "m": agg.max("price", where="price > 2"),
        "d": agg.sum(sash.expr("st.distance")),
    }
    query = sash.Query(aggregates, windows, by="k", time="t")
    made = query.run(rows, strategy=strategy)
    here = query.run(rows.toArrow()).to_pylist()
    assert made.schema.names == query.schema(rows).names == list(here[0])
    assert sorted_rows(made) == sorted(map(repr, here))


@pytest.mark.connect
def test_native_expressions(rows: DataFrame) -> None:
    native = {"s": agg.sum(F.col("st.distance") * 2, where=F.col("quantity") > 1), "d": agg.max(F.col("st.distance"))}
    texts = {"s": agg.sum(sash.expr("st.distance * 2"), where="quantity > 1"), "d": agg.max(sash.expr("st.distance"))}
    made = [sash.Query(one, window.tumbling(2), by=F.col("k"), time="t").run(rows) for one in (native, texts)]
    assert sorted_rows(made[0]) == sorted_rows(made[1])
    by_field = sash.Query(agg.count(), window.tumbling(10), by=F.col("st.distance"), time="t").run(rows)
    assert by_field.columns == ["distance", "window_start", "window_end", "count"]
    assert by_field.count() == len(ROWS)
    named = sash.Query(agg.count(), window.tumbling(10), by=F.upper("k").alias("upper"), time="t").run(rows)
    assert {row["upper"]: row["count"] for row in named.collect()} == {"A": 3, "B": 2}


def test_names_follow_the_setting_of_the_session(spark: SparkSession, rows: DataFrame) -> None:
    per_window = sash.Query({"s": agg.sum("PRICE", where="QUANTITY > 1")}, window.tumbling(2), by="K", time="T")
    assert per_window.run(rows).columns == ["K", "window_start", "window_end", "s"]
    per_row = sash.Query({"s": agg.sum("PRICE")}, window.rows(2), by="K", time="T")
    own = sash.Query({"s": agg.sum("price")}, window.rows(2), by="k", time="t")
    assert per_row.run(rows).schema == per_row.schema(rows) == own.schema(rows)
    assert sorted_rows(per_row.run(rows)) == sorted_rows(own.run(rows))
    with pytest.raises(ValueError, match="names one column 'price' and 'PRICE'"):
        sash.Query([agg.sum("PRICE"), agg.max("price")], window.rows(2), time="t").run(rows)
    spark.conf.set(CASE, "true")
    try:
        with pytest.raises(ValueError, match=r"There is no column 'K'. Did you mean 'k'\?"):
            per_row.run(rows)
    finally:
        spark.conf.set(CASE, "false")


WRONG = {
    "amout > 1": ("amout", "amout > 1\n  ^"),
    "(price": ("Syntax error", "(price\n        ^"),
    "1 < sum(price)": ("aggregates rows", "1 < sum(price)\n      ^"),
    "price IN (SELECT 1)": ("subquery", "price IN (SELECT 1)\n            ^"),
    "exists(FROM range(3))": ("subquery", "exists(FROM range(3))\n         ^"),
    "(VALUES 1) = quantity": ("subquery", "(VALUES 1) = quantity\n   ^"),
    "row_number() OVER (ORDER BY t) > 1": ("window function", "row_number() OVER"),
    "lag(price) > 1": ("window function", "lag(price) > 1\n  ^"),
    "explode(array(true))": ("several rows", "explode(array(true))\n  ^"),
    "price > 1 AND": ("names its result", ""),
    "price > 1\nAND foo > 2": ("foo", "AND foo > 2\n      ^"),
}


@pytest.mark.parametrize("text", WRONG)
def test_wrong_text_is_reported_before_a_job_with_its_position(rows: DataFrame, text: str) -> None:
    problem, marked = WRONG[text]
    with pytest.raises(ValueError, match=problem) as caught:
        sash.Query(agg.sum("price", where=text), window.rows(2), time="t").run(rows)
    assert marked in str(caught.value)


def test_a_condition_is_boolean(rows: DataFrame) -> None:
    for condition in ("quantity", F.col("quantity")):
        with pytest.raises(TypeError, match="is of type int, but a condition must be a boolean"):
            sash.Query(agg.sum("price", where=condition), window.rows(2), time="t").run(rows)
    made = sash.Query({"n": agg.count(where="NULL")}, window.rows(9), time="t").run(rows)
    assert made.agg(F.max("n")).collect()[0][0] == 0


def test_words_of_sql_in_strings_and_names_are_no_subqueries(rows: DataFrame) -> None:
    named = rows.withColumn("select_x", F.col("t")).withColumn("from", F.col("t"))
    made = sash.Query(
        {
            "n": agg.count(where="k <> 'it''s (select 1)' -- select"),
            "s": agg.max(sash.expr("select_x + `from`"), where="select_x > 0"),
        },
        window.rows(9),
        time="t",
    ).run(named)
    assert made.agg(F.max("n"), F.max("s")).collect()[0] == (len(ROWS), 2 * len(ROWS))


@pytest.mark.connect
def test_columns_of_pyspark_cannot_be_pickled_but_a_query_with_them_runs(rows: DataFrame) -> None:
    query = sash.Query({"s": agg.sum(F.col("quantity") * 2)}, window.rows(9), time="t")
    with pytest.raises(TypeError, match=r"expression of PySpark, which cannot be pickled. Use SQL"):
        pickle.dumps(query)
    assert query.run(rows).agg(F.max("s")).collect()[0][0] == 28
