"""skew="auto" on Spark: results as without it, whatever keys are large; what explain() says of it; where it is refused."""

from __future__ import annotations

import math
import random
from typing import Any

import pytest
from helpers.pairwise import some
from helpers.spark.matrix import WINDOWS, assert_same, rows_of_every_kind
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 — the usual name

import sash
from sash import agg, window
from sash.spark.batch import large_keys
from sash.windows import Window

AGGREGATES = {"n": agg.count(), "total": agg.sum("x"), "top": agg.max("x"), "all": agg.collect("id")}
SPLIT = {name: one for name, one in WINDOWS.items() if one.time_split is not None}
"""The windows whose time axis can be split."""
OTHERS = {name: one for name, one in WINDOWS.items() if name not in SPLIT}
ORDER = {True: ["id"], False: ["key", "window_start", "window_end", "n"]}
KEYS: dict[str, list[Any]] = {
    "one": ["a"] * 12 + ["b", "c", "d"],
    "several": ["a"] * 5 + [""] * 4 + [None] * 5 + ["b", "c", "d", "e"],
}
NUMBERS: dict[str, tuple[list[str], list[Any]]] = {
    "nulls": (["k", "m"], [(1, None)] * 6 + [(None, 1)] + [(None, None)] * 6 + [(1, 1), (2, 1), (1, 2)]),
    "floats": (["k"], [(math.nan,)] * 4 + [(0.0,), (-0.0,)] * 2 + [(1.0,), (None,), (math.inf,)]),
}


def told(query: sash.Query, frame: DataFrame, **options: Any) -> str:
    """Return an explanation in one line."""
    return " ".join(str(query.explain(frame, skew="auto", **options)).replace("│", "").split())


@pytest.fixture
def of_any_size(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let few rows be many, and count all of them."""
    monkeypatch.setattr(large_keys, "MANY_ROWS", 20)
    monkeypatch.setattr(large_keys, "SAMPLE", 1.0)


@pytest.mark.usefixtures("of_any_size")
@pytest.mark.parametrize("name", some(SPLIT, 4))
def test_windows(spark: SparkSession, name: str) -> None:
    kind = "several" if len(name) % 2 else "one"
    frame = spark.createDataFrame(rows_of_every_kind(3, 300, KEYS[kind]))
    query = sash.Query(AGGREGATES, WINDOWS[name], by="key", time="t", order_by="id")
    options: dict[str, Any] = {"strategy": "buckets", "ranges": 16}
    explained = told(query, frame, **options)
    assert explained.count("of the rows, which") == (3 if kind == "several" else 1), explained
    expected = query.run(frame, strategy="buckets").toArrow()
    assert_same(query.run(frame, skew="auto", **options).toArrow(), expected, ORDER[WINDOWS[name].per_row])


@pytest.mark.usefixtures("of_any_size")
@pytest.mark.parametrize("kind", NUMBERS)
def test_composite_keys_with_nulls_and_floats(spark: SparkSession, kind: str) -> None:
    """(1, null) and (null, 1) share a hash: neither is split, as one task would have rows of both."""
    chooser = random.Random(4)
    by, keys = NUMBERS[kind]
    rows = [(number, chooser.randrange(500), chooser.randrange(9), *chooser.choice(keys)) for number in range(400)]
    types = ", ".join(f"{name} {'double' if kind == 'floats' else 'int'}" for name in by)
    frame = spark.createDataFrame(rows, f"id long, t long, x long, {types}")
    query = sash.Query(AGGREGATES, window.time(40), by=by, time="t", order_by="id")
    explained = told(query, frame, ranges=8)
    assert "of the rows, which" in explained
    plain = query.run(frame, strategy="buckets").drop(*by)
    assert_same(query.run(frame, skew="auto", ranges=8).drop(*by).toArrow(), plain.toArrow(), ["id"])


@pytest.mark.usefixtures("of_any_size")
def test_frames_that_spark_computes_alone_are_split_if_a_key_is_large(spark: SparkSession) -> None:
    query = sash.Query({"n": agg.count(), "total": agg.sum("x")}, window.rows(2), by="key", time="t", order_by="id")
    rows = rows_of_every_kind(5, 300, KEYS["one"])
    even = rows_of_every_kind(5, 300, [f"key {number}" for number in range(60)])
    expected = query.run(rows)
    explained = told(query, spark.createDataFrame(rows))
    assert 'ranges: skew="auto" was given' in explained
    assert_same(
        query.run(spark.createDataFrame(rows), skew="auto").drop("t").toArrow(), expected.drop_columns("t"), ["id"]
    )
    unchanged = told(query, spark.createDataFrame(even))
    assert "native: Spark has all aggregates" in unchanged
    assert "found no large key" in unchanged


@pytest.mark.usefixtures("of_any_size")
def test_labels(spark: SparkSession) -> None:
    events = rows_of_every_kind(6, 300, KEYS["one"])
    labels = rows_of_every_kind(7, 60, KEYS["several"]).select(["id", "t", "key"])
    query = sash.Query(AGGREGATES, {"w": window.time("2m"), "r": window.rows(5)}, by="key", time="t", order_by="id")
    frames = [spark.createDataFrame(table) for table in (events, labels)]
    explained = told(query, frames[0], at=frames[1], ranges=8)
    assert "key='a' with" in explained
    found = query.run(frames[0], at=frames[1], skew="auto", ranges=8).drop("t").toArrow()
    expected = query.run(frames[0], at=frames[1]).drop("t").toArrow()
    assert_same(found, expected, ["id"])


def many_rows(spark: SparkSession) -> DataFrame:
    """A key with more than a million rows, and fifty others."""
    return spark.range(1_500_000).select(
        F.when(F.col("id") % 5 < 4, F.lit("large")).otherwise(F.concat(F.lit("k"), F.col("id") % 50)).alias("key"),
        F.timestamp_seconds("id").alias("ts"),
        (F.col("id") * 7 % 101).alias("x"),
    )


MANY = sash.Query({"total": agg.sum("x"), "n": agg.count()}, window.time("1h"), by="key", time="ts")


def test_a_sample_finds_the_keys_that_have_a_million_rows(spark: SparkSession) -> None:
    """As users have it: nothing is replaced."""
    rows = many_rows(spark)
    explained = told(MANY, rows)
    assert "found key='large' with 80% of the rows, which go to 4 time ranges" in explained
    assert "found no large key" in told(MANY, rows.limit(100_000))


@pytest.mark.full
def test_results_of_a_key_with_a_million_rows(spark: SparkSession) -> None:
    def digest(results: DataFrame) -> Any:
        return results.agg(F.count("*"), F.sum(F.xxhash64(*results.columns).cast("decimal(38)"))).collect()

    rows = many_rows(spark)
    assert digest(MANY.run(rows, skew="auto")) == digest(MANY.run(rows))


def no_job(*_: object) -> dict[int, Any]:
    raise AssertionError("a job was started")


@pytest.mark.parametrize(
    ("windows", "strategy"), [(window.tumbling("1h"), "native"), (window.time("1h", slide="1m"), "slices")]
)
def test_no_job_runs_if_spark_combines_rows_before_the_shuffle(
    spark: SparkSession, windows: Window, strategy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sash.spark.batch.batch_query.find_large_keys", no_job)
    frame = spark.createDataFrame(rows_of_every_kind(1, 30))
    query = sash.Query({"n": agg.count()}, windows, by="key", time="t")
    explained = told(query, frame)
    assert f"{strategy}: " in explained
    assert "not looked for: Spark combines the rows of a key before it shuffles them" in explained
    query.run(frame, skew="auto")
    query.schema(frame, skew="auto")


def test_the_schema_is_known_without_a_job(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sash.spark.batch.batch_query.find_large_keys", no_job)
    frame = spark.createDataFrame(rows_of_every_kind(1, 30))
    query = sash.Query({"n": agg.count()}, window.time("1h"), by="key", time="t")
    assert query.schema(frame, skew="auto") == query.schema(frame)


@pytest.mark.parametrize("name", some(OTHERS, 4))
def test_windows_that_cannot_be_split_are_refused(spark: SparkSession, name: str) -> None:
    query = sash.Query({"middle": agg.median("x")}, WINDOWS[name], by="key", time="t", order_by="id")
    with pytest.raises(ValueError, match=r'skew="auto" does not fit: .*\. Leave skew= out\.'):
        query.run(spark.createDataFrame(rows_of_every_kind(1, 30)), skew="auto")


def test_what_does_not_fit_is_refused(spark: SparkSession) -> None:
    frame = spark.createDataFrame(rows_of_every_kind(1, 30))
    query = sash.Query({"n": agg.count()}, window.rows(3), by="key", time="t")
    with pytest.raises(ValueError, match="skew=True does not exist"):
        query.run(frame, skew=True)  # type: ignore[call-overload]
    for strategy, reason in (("native", "Spark alone does not split"), ("ranges", "looks for large keys anyway")):
        with pytest.raises(ValueError, match=f'skew="auto" does not fit: .*{reason}'):
            query.run(frame, skew="auto", strategy=strategy)  # type: ignore[call-overload]
    with pytest.raises(ValueError, match="combines the rows of a slice"):
        sash.Query({"n": agg.count()}, window.tumbling("1h"), by="key", time="t").run(
            frame, skew="auto", strategy="slices"
        )
    with pytest.raises(ValueError, match='skew="auto" does not fit: the query has no key'):
        sash.Query({"n": agg.count()}, window.rows(3), time="t").run(frame, skew="auto")
    with pytest.raises(TypeError, match="skew= is for a PySpark DataFrame"):
        query.run(rows_of_every_kind(1, 30), skew="auto")
    stream = spark.readStream.format("rate").load()
    with pytest.raises(TypeError, match="skew= is for a PySpark DataFrame, but the data is a streaming DataFrame"):
        sash.Query({"n": agg.count()}, window.rows(3), by="value", time="timestamp").run(stream, skew="auto")
