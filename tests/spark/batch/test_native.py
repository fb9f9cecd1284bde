"""The strategy "native": Spark computes results alone, and they are those of the other strategies."""

from __future__ import annotations

import contextlib
import io
import re
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from helpers.pairwise import some
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 — the usual name

import sash
from sash import agg, window
from sash.windows import Window

ROWS = 400
AGGREGATES: dict[str, Any] = {
    "n": agg.count(), "some": agg.count("x"), "top": agg.max("x"), "low": agg.min("x"), "mean": agg.mean("x"), "sum": agg.sum("x"),
    "whole": agg.sum("big"), "average": agg.mean("big"), "small": agg.sum("i"), "middle": agg.mean("i"), "paid": agg.sum("d"),
    "last": agg.last("word"), "first": agg.first("word"), "who": agg.arg_max("i", "word"), "least": agg.arg_min("i", "word"),
    "any": agg.any("b"), "all": agg.all("b"), "squares": agg.sum_of_squares("i"), "largest": agg.max("word"),
    "width": agg.spread("x"), "whole width": agg.spread("i"), "weighted": agg.weighted_mean("x", "i"),
}  # fmt: skip
MOMENTS: dict[str, Any] = {
    "sd": agg.stddev("x"), "var": agg.variance("i"), "pop": agg.var_pop("x"), "price": agg.mean("d"), "root": agg.geometric_mean("i"),
}  # fmt: skip
WINDOWS: dict[str, Window] = {
    "tumbling": window.tumbling("1m"),
    "offset": window.tumbling("1m", offset="7s"),
    "right": window.tumbling("1m", closed="right"),
    "twice": window.time("2m", slide="1m"),
    "uneven": window.time("100s", slide="30s"),
}
MERGEABLE = (
    "n",
    "some",
    "top",
    "low",
    "mean",
    "sum",
    "whole",
    "average",
    "small",
    "middle",
    "paid",
    "any",
    "all",
    "squares",
    "largest",
    "width",
)
"""The aggregates whose slices Spark can merge."""
OF_SLICES: dict[str, Window] = {
    "five": window.time("5m", slide="1m"),
    "uneven": window.time("100s", slide="30s", offset="7s"),
    "right": window.time("100s", slide="30s", closed="right"),
    "session": window.session("9s"),
}
FRAMES: dict[str, Window] = {
    "last": window.rows(3),
    "before": window.rows(before=2, after=-1),
    "after": window.rows(before=-1, after=3),
    "centred": window.rows(before=1, after=1),
    "growing": window.rows(before=None, after=-1),
    "whole": window.rows(before=None, after=None),
    "expanding": window.expanding(),
}
SCHEMA = "k string, ts timestamp, id int, x double, i int, big bigint, d decimal(9, 2), word string, b boolean"


@pytest.fixture(scope="module")
def frame(spark: SparkSession) -> DataFrame:
    """Nulls, NaN, ties, times before 1970, integers of 64 bits."""
    start = datetime(1969, 12, 31, 23, 55, tzinfo=UTC)
    rows = []
    for number in range(ROWS):
        x = None if number % 7 == 0 else float("nan") if number % 50 == 3 else number % 13 - 6.5
        rows.append(
            (
                f"k{number % 3}", start + timedelta(seconds=number // 2 * 3), number, x, None if number % 5 == 0 else number % 11,
                2**57 - number if number % 4 else -(2**57), Decimal(number) / 4, None if number % 9 == 0 else f"w{number % 4}",
                None if number % 6 == 0 else number % 8 > 1,
            )
        )  # fmt: skip
    return spark.createDataFrame(rows, SCHEMA).repartition(5)


def listed(frame: DataFrame, order: str) -> list[dict[str, Any]]:
    return [row.asDict() for row in frame.orderBy("k", *order.split(", ")).collect()]


def assert_same(native: DataFrame, other: DataFrame, order: str = "window_start") -> None:
    assert native.schema == other.schema
    for mine, theirs in zip(listed(native, order), listed(other, order), strict=True):
        for name, value in theirs.items():
            if isinstance(value, float):
                assert mine[name] == pytest.approx(value, rel=1e-9, nan_ok=True), (name, mine, theirs)
            else:
                assert mine[name] == value, (name, mine, theirs)


@pytest.mark.parametrize("name", some(WINDOWS, 5))
def test_results_are_those_of_buckets(frame: DataFrame, name: str) -> None:
    query = sash.Query(AGGREGATES | MOMENTS, WINDOWS[name], by="k", time="ts", order_by="id")
    assert_same(query.run(frame, strategy="native"), query.run(frame, strategy="buckets"))


@pytest.mark.parametrize("name", OF_SLICES)
def test_results_of_slices_are_those_of_buckets(frame: DataFrame, name: str) -> None:
    """Keys of two columns with nulls, and rows that are exactly the gap of a session apart."""
    query = sash.Query({name: AGGREGATES[name] for name in MERGEABLE}, OF_SLICES[name], by=["k", "b"], time="ts")
    rows = frame.where("id % 20 < 14").withColumn("big", F.expr("big DIV 256"))
    native, other = query.run(rows, strategy="native"), query.run(rows, strategy="buckets")
    assert_same(native, other, "b, window_start")
    assert re.search("─ spark +native: ", str(query.explain(rows)))


@pytest.mark.parametrize("windows", [(window.time("3d", slide="1d"), 3), (window.session("2d"), 2)], ids=str)
@pytest.mark.parametrize("dtype", ["date", "bigint", "int", "timestamp_ntz"])
def test_times_of_other_types(frame: DataFrame, windows: tuple[Window, int], dtype: str) -> None:
    day = F.expr("date_from_unix_date(id * id % 601 - 300)")
    time = F.unix_date(day).cast(dtype) if "int" in dtype else day.cast(dtype)
    rows = frame.withColumn("ts", time)
    unit = {"time": window.time(windows[1], slide=1), "session": window.session(windows[1])}
    chosen = unit["time" if "time" in str(windows[0]) else "session"] if "int" in dtype else windows[0]
    query = sash.Query({"n": agg.count(), "mean": agg.mean("x")}, chosen, by="k", time="ts")
    native = query.run(rows)
    assert re.search("─ spark +native: ", str(query.explain(rows)))
    assert_same(native, query.run(rows, strategy="buckets"))


def test_ties_of_arguments_without_a_sort(spark: SparkSession) -> None:
    """Of equal integers the first in time wins, also of integers that leave no bits for the time."""
    values: list[list[int | None]] = [
        [0, 5, 5, -5, -5],
        [2**38 - 1, 2**38 - 1, -(2**38), -(2**38), None],
        [2**38, 2**38, 2**38 - 1, -(2**38) - 1, -(2**38) - 1, -(2**38)],
        [2**63 - 1, 2**63 - 1, 2**63 - 2, 2**38],
        [-(2**63), -(2**63), -(2**63) + 1, -(2**38) - 1, None],
        [2**63 - 1, 2**63 - 1, -(2**63), -(2**63)],
        [2**63 - 1, 2**63 - 1, 5, 5, -5, -5, -(2**63), -(2**63), None],
    ]
    rows = [
        (number % 7, values[number % 7][number * number // 7 % len(values[number % 7])], number % 3, None if number % 13 < 5 else number, number * 137 % 9_973)
        for number in range(1_400)
    ]  # fmt: skip
    frame = spark.createDataFrame(rows, "k int, big bigint, small int, id int, ms int")
    frame = frame.withColumn("ts", F.expr("timestamp_millis(ms * 10)"))
    arguments = {
        f"{name} {column}": aggregate(column, "id")
        for name, aggregate in {"max": agg.arg_max, "min": agg.arg_min}.items()
        for column in ("big", "small")
    }
    query = sash.Query(arguments, window.tumbling("10s", offset="3s"), by="k", time="ts")
    native = query.run(frame, strategy="native")
    assert_same(native, query.run(frame, strategy="buckets"))
    plan = io.StringIO()
    with contextlib.redirect_stdout(plan):
        native.explain()
    assert "SortAggregate" not in plan.getvalue()


def test_results_of_frames_are_those_of_buckets(frame: DataFrame) -> None:
    frame = frame.withColumn("big", F.expr("big DIV 256"))  # the sums of all rows fit in 64 bits
    for name, windows in FRAMES.items():
        query = sash.Query(AGGREGATES | MOMENTS, windows, by="k", time="ts", order_by="id")
        assert_same(query.run(frame, strategy="native"), query.run(frame, strategy="buckets"), "id")
        assert re.search("─ spark +native: ", str(query.explain(frame))), name


@pytest.mark.parametrize("rows", [1, 7, 30_000, 40_000])
def test_means_of_large_integers_are_exact(spark: SparkSession, rows: int) -> None:
    """Spark's avg adds floats. Up to 32,768 rows one sum has the low halves and the count; 2³¹ - 1 has the largest low half."""
    large = [2**63 - 1, -(2**63), 2**53 + 1, -1, None, 2**32 - 1, 2**62 + 3, None, None, 1, -(2**53) - 1, 0]
    values = [large[number * 5 % len(large)] if number % 60 < 40 else None for number in range(240)]
    frame = spark.createDataFrame(list(enumerate(values)), "id int, big bigint").selectExpr("*", "id % 2 AS k")
    query = sash.Query({"mean": agg.mean("big"), "n": agg.count("big")}, window.rows(rows), by="k", time="id")
    means = {row["id"]: (row["mean"], row["n"]) for row in query.run(frame, strategy="native").collect()}
    for number in range(len(values)):
        held = [value for value in values[number % 2 : number + 1 : 2][-rows:] if value is not None]
        assert means[number] == (float(sum(held)) / len(held) if held else None, len(held)), number


@pytest.mark.usefixtures("classic")  # whose plan reads a table in memory otherwise than that of Connect
@pytest.mark.parametrize(
    ("aggregates", "windows", "order_by", "shuffled"),
    [
        ({"mean": agg.mean("big")}, window.rows(3), "id", False),
        ({"mean": agg.mean("big")}, {"short": window.rows(2), "long": window.rows(4)}, "id", False),
        ({"mean": agg.mean("big"), "n": agg.count("big")}, window.rows(3), "id", True),
        ({"mean": agg.mean("big"), "max": agg.max("big")}, window.rows(3), "id", True),
        ({"mean": agg.mean("big", where="id % 2 = 0")}, window.rows(3), "id", True),
        ({"mean": agg.mean("big")}, window.rows(3), ("big", "id"), True),
        ({"mean": agg.mean("commented")}, window.rows(3), "id", True),
    ],
    ids=str,
)
def test_rows_with_the_halves_of_an_integer_need_not_have_it(
    spark: SparkSession, aggregates: Any, windows: Any, order_by: Any, shuffled: bool
) -> None:
    """It is put together again, unless something else reads it, or it has metadata."""
    large = [2**63 - 1, -(2**63), None, -1, 0, 2**32 - 1, 2**32, -(2**32) - 1, 2**47]
    values = [large[number * 5 % 9] if number % 7 else number for number in range(99)]
    rows = [(f"k{number % 2}", number // 3, number, value, value) for number, value in enumerate(values)]
    frame = spark.createDataFrame(rows, "k string, ts int, id int, big bigint, commented bigint")
    frame = frame.withMetadata("commented", {"comment": "ours"})
    query = sash.Query(aggregates, windows, by="k", time="ts", order_by=order_by)
    native = query.run(frame, strategy="native")
    assert_same(native, query.run(frame, strategy="buckets"), "id")
    plan = io.StringIO()
    with contextlib.redirect_stdout(plan):
        native.explain()
    [projected] = re.findall(r"Exchange .*\n.*?(Project \[.*)", plan.getvalue())
    read = "commented" if "commented" in str(aggregates) else "big"
    assert bool(re.search(rf"(, | AS ){read}#\d+L[,\]]", projected)) == shuffled


def test_several_frames_and_computed_columns(frame: DataFrame) -> None:
    query = sash.Query(
        {"twice": agg.sum(sash.expr("i * 2")), "large": agg.count("i", where="i > 5")},
        {"short": window.rows(2), "long": window.expanding()},
        by=["k", "b"],
        time="ts",
        order_by="id",
    )
    native, other = query.run(frame, strategy="native"), query.run(frame, strategy="buckets")
    assert native.columns == [*frame.columns, "twice_short", "twice_long", "large_short", "large_long"]
    assert_same(native, other, "id")


@pytest.mark.parametrize(
    ("windows", "options", "strategy"),
    [
        (window.tumbling("1m"), {}, "native"),
        (window.tumbling("1m"), {"buckets": 3}, "slices"),
        (window.tumbling("1m"), {"compiled": False}, "slices"),
        (window.time("2m", slide="1m"), {}, "native"),
        (window.time("5m", slide="1m"), {}, "native"),
        (window.time("6m", slide="1m"), {}, "slices"),
        ({"a": window.tumbling("1m"), "b": window.tumbling("1h")}, {}, "slices"),
        (window.rows(3), {}, "native"),
        (window.rows(20), {}, "native"),
        (window.rows(21), {}, "buckets"),
        (window.rows(before=0, after=None), {}, "buckets"),
        (window.time("1m"), {}, "buckets"),
        (window.session("1m"), {}, "native"),
        (window.session("1m", min_rows=2), {}, "buckets"),
        (window.expanding(exclude="row"), {}, "buckets"),
    ],
    ids=str,
)
def test_the_strategy_that_is_chosen(frame: DataFrame, windows: Any, options: dict[str, Any], strategy: str) -> None:
    query = sash.Query({"top": agg.max("x")}, windows, by="k", time="ts")
    explanation = str(query.explain(frame, **options))
    assert re.search(rf"─ spark +{strategy}: ", explanation), explanation


@pytest.mark.parametrize(
    ("rows", "aggregates", "strategy"), [(16, 6, "native"), (17, 6, "buckets"), (3, 7, "native"), (4, 7, "buckets")]
)
def test_the_strategy_of_frames(frame: DataFrame, rows: int, aggregates: int, strategy: str) -> None:
    """The last aggregate has a larger state than a number."""
    several = [agg.max("x"), agg.min("x"), agg.max("i"), agg.min("i"), agg.max("big"), agg.min("big"), agg.last("x")]
    query = sash.Query(
        {f"r{place}": several[place] for place in range(aggregates)}, window.rows(rows), by="k", time="ts"
    )
    assert re.search(rf"─ spark +{strategy}: ", str(query.explain(frame)))


@pytest.mark.parametrize(
    ("aggregate", "strategy"), [(agg.last("x"), "buckets"), (agg.stddev("x"), "buckets"), (agg.sum("x"), "native")]
)
def test_the_strategy_of_sessions(frame: DataFrame, aggregate: Any, strategy: str) -> None:
    query = sash.Query({"r": aggregate}, window.session("1m"), by="k", time="ts")
    assert re.search(rf"─ spark +{strategy}: ", str(query.explain(frame)))


def test_without_a_key_and_without_a_zone(frame: DataFrame) -> None:
    local = frame.withColumn("ts", frame["ts"].cast("timestamp_ntz"))
    query = sash.Query({"n": agg.count(), "top": agg.max("x")}, window.tumbling("1m"), time="ts")
    native, other = (query.run(local, strategy=strategy) for strategy in ("native", "slices"))
    assert native.schema == other.schema
    assert repr(native.orderBy("window_start").collect()) == repr(other.orderBy("window_start").collect())


def test_sessions(frame: DataFrame) -> None:
    query = sash.Query(
        {"n": agg.count(), "last": agg.last("word")}, window.session("10s"), by="k", time="ts", order_by="id"
    )
    rows = frame.where("id % 60 < 20")
    assert_same(query.run(rows, strategy="native"), query.run(rows, strategy="buckets"))


@pytest.mark.parametrize("name", ["sash_time", "SASH_WINDOW"])
def test_names_that_native_needs_are_refused(frame: DataFrame, name: str) -> None:
    query = sash.Query({"top": agg.max(name)}, window.tumbling("1m"), by="k", time="ts")
    with pytest.raises(ValueError, match=f"Sash needs the column name '{name}' for itself"):
        query.run(frame.withColumnRenamed("x", name))


def test_nothing_goes_to_python(frame: DataFrame) -> None:
    query = sash.Query({"n": agg.count()}, window.tumbling("1m"), by="k", time="ts")
    plan = io.StringIO()
    with contextlib.redirect_stdout(plan):
        query.run(frame, strategy="native").explain()
    assert "HashAggregate" in plan.getvalue()
    assert "Arrow" not in plan.getvalue()
    explanation = query.explain(frame, strategy="native")
    assert "native" in str(explanation)
    assert "n: count()" in str(explanation)
    assert "algorithm" not in str(explanation)
    assert "algorithm" not in explanation._repr_svg_()


@pytest.mark.parametrize(
    "windows", [window.tumbling("1m"), window.time("3m", slide="1m"), window.session("1m")], ids=str
)
@pytest.mark.parametrize(
    ("aggregate", "text", "sentence"),
    [
        (agg.sum("big"), "CAST(9223372036854775807 AS BIGINT)", "sum of a window needs more than 64 bits"),
        (agg.sum_of_squares("big"), "CAST(9223372036854775807 AS BIGINT)", "needs more than 64 bits"),
    ],
)
def test_an_overflow_is_an_error(frame: DataFrame, windows: Window, aggregate: Any, text: str, sentence: str) -> None:
    rows = frame.selectExpr("k", "ts", f"{text} AS big")
    query = sash.Query({"s": aggregate}, windows, by="k", time="ts")
    with pytest.raises(PySparkException, match=rf"\[SASH\].*{sentence}"):
        query.run(rows, strategy="native").collect()


@pytest.mark.parametrize(
    "windows", [window.tumbling("1m"), window.time("3m", slide="1m"), window.session("1m"), window.rows(2)], ids=str
)
def test_a_row_without_a_time_is_an_error(frame: DataFrame, windows: Window, tmp_path: Path) -> None:
    """Also in a file of which Spark could skip all rows without a time."""
    query = sash.Query({"n": agg.count()}, windows, by="k", time="ts")
    some, none = (frame.selectExpr("k", f"CASE WHEN {text} THEN ts END AS ts") for text in ("id <> 7", "false"))
    none.write.parquet(str(tmp_path / "rows"))
    for rows in (some, frame.sparkSession.read.parquet(str(tmp_path / "rows"))):
        with pytest.raises(PySparkException, match=r"\[SASH\] The time column 'ts' has nulls"):
            query.run(rows, strategy="native").collect()


@pytest.mark.parametrize(
    ("aggregate", "windows", "sentence"),
    [
        (agg.median("x"), window.tumbling("1m"), "Spark SQL has no partials of median"),
        (agg.last("x"), window.time("2m", slide="1m", closed="right"), "is not like Spark's own windows"),
        (agg.max("x"), window.time("20s", slide="1m"), "is not like Spark's own windows"),
        (agg.max("x"), window.time("3m"), "neither a frame of rows nor expanding"),
        (agg.max("x"), window.tumbling("1m", min_rows=2), "needs the number of values"),
        (agg.max("x"), window.cumulative("1h", "1m"), "has several ends"),
        (agg.max("x"), window.time("1m", slide="1m", empty=True), "results without rows"),
    ],
)
def test_what_does_not_fit_is_refused(frame: DataFrame, aggregate: Any, windows: Window, sentence: str) -> None:
    query = sash.Query({"r": aggregate}, windows, by="k", time="ts")
    with pytest.raises(ValueError, match=sentence):
        query.run(frame, strategy="native")


def test_a_refusal_names_all_reasons(frame: DataFrame) -> None:
    """Slices suit any time; Spark's own windows need a timestamp, but suit any aggregate."""
    days = frame.withColumn("ts", F.col("ts").cast("date"))
    query = sash.Query({"price": agg.mean("d")}, window.time("3d", slide="1d"), by="k", time="ts")
    with pytest.raises(ValueError, match="slices of some aggregates cannot be merged, and ts is not a timestamp"):
        query.run(days, strategy="native")


def test_results_may_have_names_of_columns(frame: DataFrame) -> None:
    """Those of the input and of partials; names that Sash needs for itself leave the query to Python."""
    names = {"i": agg.max("x"), "x": agg.arg_max("big", "i")}
    names |= {"max of big, small key": agg.count(), "max of big, large key": agg.min("x")}
    query = sash.Query(names, window.tumbling("1m"), by="k", time="ts", order_by=())
    rows = frame.dropDuplicates(["k", "ts"]).localCheckpoint()
    assert_same(query.run(rows, strategy="native"), query.run(rows, strategy="buckets"))
    own = sash.Query({"sash_window": agg.count()}, window.tumbling("1m"), by="k", time="ts")
    with pytest.raises(ValueError, match="Sash needs the column name 'sash_window'"):
        own.run(rows, strategy="native")
    assert_same(own.run(rows), own.run(rows, strategy="buckets"))
