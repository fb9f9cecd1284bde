"""What plans of Spark show of a query, and what Spark can leave out of them."""

from __future__ import annotations

import pytest
from pyspark.sql import DataFrame, SparkSession

import sash
from sash import agg, window

HOP = window.time("10m", slide="1m")


@pytest.fixture
def rows(spark: SparkSession) -> DataFrame:
    return spark.sql("SELECT id % 3 AS k, timestamp_seconds(id) AS ts, id AS x, 'more' AS other FROM range(100)")


def plan_of(frame: DataFrame, capsys: pytest.CaptureFixture[str]) -> str:
    capsys.readouterr()
    frame.explain()
    return capsys.readouterr().out


@pytest.mark.parametrize(
    ("query", "options", "title"),
    [
        (sash.Query(agg.sum("x"), HOP, by="k", time="ts"), {}, 'sum(x) over time("10m", slide="1m") by k'),
        (sash.Query(agg.sum("x"), HOP, by="k", time="ts"), {"strategy": "buckets"}, 'sum(x) over time("10m", slide="1m") by k'),
        (sash.Query(agg.median("x"), window.rows(3), time="ts"), {"strategy": "ranges"}, "median(x) over rows(3)"),
    ],
    ids=["slices", "buckets", "ranges"],
)  # fmt: skip
def test_a_plan_shows_the_query(
    rows: DataFrame, query: sash.Query, options: dict[str, str], title: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert f"sash: {title}(" in plan_of(query.run(rows, **options), capsys)  # type: ignore[call-overload]


@pytest.mark.connect
def test_the_plan_of_a_stream_shows_the_query(spark: SparkSession, capsys: pytest.CaptureFixture[str]) -> None:
    stream = spark.readStream.format("rate").load().withWatermark("timestamp", "1 minute")
    query = sash.Query({"n": agg.count("value")}, window.session("5m"), time="timestamp")
    plan = plan_of(query.run(stream), capsys)
    assert 'sash: rows of count(value) over session("5m")(' in plan


def test_long_queries_are_cut() -> None:
    query = sash.Query({f"a{n}": agg.max(f"column_{n}") for n in range(40)}, HOP, by="k", time="ts")
    title = query._declared.title
    assert len(title) == 120
    assert title.endswith("…")


def test_filters_belong_before_the_query(rows: DataFrame, capsys: pytest.CaptureFixture[str]) -> None:
    """docs/spark.md says so: Spark moves no filter into Python, and leaves out no aggregate, but columns that no query reads."""
    query = sash.Query({"m": agg.median("x"), "n": agg.count()}, HOP, by="k", time="ts")
    after = plan_of(query.run(rows).where("k = 1").select("m"), capsys)
    assert after.index("Filter") < after.index("MapInArrow")
    assert "n#" in after
    assert "more" not in after
    before = plan_of(query.run(rows.where("k = 1")), capsys)
    assert before.index("Filter") > before.index("MapInArrow")
    wanted = query.run(rows.where("k = 1")).select("window_start", "m").collect()
    assert sorted(query.run(rows).where("k = 1").select("window_start", "m").collect()) == sorted(wanted)
