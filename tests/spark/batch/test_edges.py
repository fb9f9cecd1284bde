"""Rare cases on Spark that were once wrong: keys of one hash, windows of other ranges, names, and types that are said."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 — as everyone calls it

import sash
from sash import agg, window

MOST = 2**63 - 1


def same_as_a_table(query: sash.Query, frame: DataFrame, **options: Any) -> None:
    found, expected = (sorted(map(str, rows.to_pylist())) for rows in both(query, frame, options))
    assert found == expected


def both(query: sash.Query, frame: DataFrame, options: dict[str, Any]) -> tuple[Any, Any]:
    return query.run(frame, compiled=False, **options).toArrow(), query.run(frame.toArrow(), compiled=False)


def test_keys_that_have_the_same_hash_are_not_cut_as_one(spark: SparkSession) -> None:
    pairs = [(i, None if i % 3 == 0 else 1, 1 if i % 3 == 0 else None) for i in range(300)]
    frame = spark.createDataFrame(pairs, "id long, a long, b long")
    query = sash.Query({"n": agg.count()}, window.rows(7), by=["a", "b"], time="id")
    same_as_a_table(query, frame, strategy="ranges", ranges=8)


def test_maps_with_nulls_are_keys_of_their_own(spark: SparkSession) -> None:
    rows = [(i, [0.0, 1.5, None][i % 3]) for i in range(30)]
    frame = spark.createDataFrame(rows, "t long, a double").withColumn("m", F.create_map(F.lit("q"), "a"))
    query = sash.Query({"n": agg.count()}, window.tumbling(50), by="m", time="t")
    assert sorted(row.n for row in query.run(frame, compiled=False).collect()) == [10, 10, 10]
    with pytest.raises(ValueError, match="Spark groups different keys together if they contain maps"):
        query.run(frame, strategy="slices")


def test_windows_of_another_range_do_not_fail(spark: SparkSession) -> None:
    frame = spark.createDataFrame([(i, MOST if i % 4 < 2 else -MOST) for i in range(40)], "t long, big long")
    query = sash.Query({"sum": agg.sum("big"), "all": agg.collect("big")}, window.tumbling(8), time="t")
    same_as_a_table(query, frame, strategy="ranges", ranges=7)


def test_a_frame_without_rows_has_no_sessions(spark: SparkSession) -> None:
    frame = spark.range(0).selectExpr("id as t", "id as x")
    assert sash.Query({"n": agg.count()}, window.session(5), time="t").run(frame, compiled=False).collect() == []


def test_names_that_spark_does_not_tell_apart_are_refused(spark: SparkSession) -> None:
    frame = spark.range(3).selectExpr("id as t", "id as x")
    for name in ("X", "T"):
        with pytest.raises(ValueError, match=r"the same name\. Rename one"):
            sash.Query({name: agg.max("x")}, window.rows(2), time="t").run(frame)
    with pytest.raises(ValueError, match="'Window_Start' are the same name"):
        sash.Query({"Window_Start": agg.max("x")}, window.tumbling(2), time="t").run(frame)
    with pytest.raises(ValueError, match="'x' and 'X' have the same name"):
        sash.Query({"n": agg.max("x")}, window.tumbling(2), time="t").run(frame.selectExpr("*", "x as X"))


def merged(older: dict[str, int], newer: dict[str, int]) -> dict[str, int]:
    return {word: older.get(word, 0) + newer.get(word, 0) for word in {**older, **newer}}


def test_what_an_aggregate_gives_is_what_was_said(spark: SparkSession) -> None:
    frame = spark.createDataFrame([(1, "a", 2), (2, "b", 3), (3, "a", 3)], "t long, word string, x long")
    words = sash.aggregate("words", lift=lambda word: {word: 1}, combine=merged)("word")
    third = sash.aggregate("third", lift=lambda x: [x], combine=lambda a, b: a + b, lower=lambda s: Decimal(sum(s)) / 3)
    query = sash.Query({"words": words, "third": third("x")}, window.rows(3), time="t")
    with pytest.raises(TypeError, match="'words': Spark needs the result type of words\\(word\\) before it runs"):
        query.run(frame)
    types = {"words": "map<string, bigint>", "third": "decimal(20, 4)"}
    last = query.run(frame, types=types, compiled=False).orderBy(F.desc("t")).first()
    assert last is not None
    assert (last.words, last.third) == ({"a": 2, "b": 1}, Decimal("2.6667"))
    wrong: Any
    for wrong, sentence in ((["x"], "is not a dictionary"), ({"nought": "long"}, "there is no aggregate 'nought'")):
        with pytest.raises((TypeError, ValueError), match=sentence):
            query.run(frame, types=wrong)


def test_what_a_sample_raised_is_quoted(spark: SparkSession) -> None:
    wrong: Any = lambda older, newer: older + len(newer)  # noqa: E731 — a list and a number
    broken = sash.aggregate("broken", lift=lambda x: [x], combine=wrong)
    with pytest.raises(TypeError, match="made-up values, it raised TypeError"):
        sash.Query({"b": broken("id")}, window.rows(2), order_by="id").run(spark.range(3))


def test_keys_of_windows_keep_what_their_columns_say(spark: SparkSession) -> None:
    frame = spark.range(3).select(F.col("id").alias("key", metadata={"unit": "W"}), F.col("id").alias("t"))
    key = (
        sash.Query({"n": agg.count()}, window.tumbling(2), by="key", time="t").run(frame, compiled=False).schema["key"]
    )
    assert key == frame.schema["key"]
    assert key.metadata == {"unit": "W"}
