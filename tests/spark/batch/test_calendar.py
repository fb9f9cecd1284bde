"""Windows of the calendar on Spark: days, weeks and months of UTC, or of `tz`, whatever the zone of the session."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pyarrow as pa
import pytest
from helpers.queries import Named
from helpers.spark.matrix import assert_same, in_types, plain
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 — the usual name

import sash
from sash import agg, window
from sash.spark.spark_query import ZONE
from sash.windows import Window

TIMES = [datetime(2024, 1, 30, 22, 10, tzinfo=UTC) + timedelta(minutes=443 * number) for number in range(220)]
COLUMNS = {"t": pa.array(TIMES, pa.timestamp("us", "Europe/Berlin")), "id": range(220), "key": ["a", "b"] * 110}
ROWS = pa.table(COLUMNS)
AGGREGATES: Named = {"rows": agg.count(), "ids": agg.collect("id")}


@pytest.fixture
def in_berlin(spark: SparkSession) -> Iterator[SparkSession]:
    """A session in a zone whose clocks change."""
    before = spark.conf.get(ZONE)
    spark.conf.set(ZONE, "Europe/Berlin")
    yield spark
    spark.conf.set(ZONE, before or "UTC")


@pytest.mark.parametrize(
    "chosen",
    [
        window.tumbling("1mo"), window.time("1mo"), window.time("1q", slide="1mo"), window.tumbling("1d", tz="America/New_York"),
        window.tumbling("1mo", tz="Europe/Berlin"), window.tumbling("1w", tz="Europe/Berlin"), window.tumbling("1d"),
        window.tumbling("1w"), window.time("1w", slide="1d"), window.tumbling("7d"), window.cumulative("1d", "4h"),
    ],
    ids=str,
)  # fmt: skip
def test_timestamps_follow_utc_or_tz(in_berlin: SparkSession, chosen: Window) -> None:
    query = sash.Query(AGGREGATES, chosen, by="key", time="t", order_by="id")
    frame = in_berlin.createDataFrame(ROWS)
    in_utc = ROWS.set_column(0, "t", ROWS["t"].cast(pa.timestamp("us", "UTC")))
    found, expected = query.run(frame, compiled=False).toArrow(), query.run(in_utc, compiled=False)
    order = ["id"] if chosen.per_row else ["key", "window_start"]
    columns = [name for name in expected.column_names if name in found.column_names]
    kinds = pa.schema([(field.name, plain(field.type)) for field in in_types(found, plain).select(columns).schema])
    assert_same(in_types(found, plain).select(columns), expected.select(columns).cast(kinds), order)


def test_timestamps_without_a_zone_have_none(in_berlin: SparkSession) -> None:
    frame = in_berlin.createDataFrame(ROWS).withColumn(
        "t", F.to_utc_timestamp("t", "Europe/Berlin").cast("timestamp_ntz")
    )
    local = pa.table({**COLUMNS, "t": pa.array([time.replace(tzinfo=None) for time in TIMES], pa.timestamp("us"))})
    query = sash.Query(AGGREGATES, window.tumbling("1mo"), by="key", time="t", order_by="id")
    found = in_types(query.run(frame, compiled=False).toArrow(), plain)
    expected = query.run(local, compiled=False).cast(found.schema)
    assert_same(found, expected, ["key", "window_start"])
    other = sash.Query(AGGREGATES, window.tumbling("1d", tz="Europe/Berlin"), by="key", time="t", order_by="id")
    with pytest.raises(ValueError, match="column 't' has no time zone"):
        other.run(frame)


def test_the_explanation_names_the_zone_and_why_there_are_no_slices(in_berlin: SparkSession) -> None:
    query = sash.Query({"rows": agg.count()}, window.tumbling("1mo"), by="key", time="t")
    text = " ".join(str(query.explain(in_berlin.createDataFrame(ROWS))).replace("│", " ").split())
    assert "buckets" in text
    assert 'tumbling("1mo", tz="UTC") has no slices that are known before the rows are read' in text
