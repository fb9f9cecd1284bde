"""Ranges on Spark: results as of one task, and how many rows each task is sent, also where windows are wider than ranges."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from helpers.spark.matrix import assert_same
from helpers.spark.wide import AGGREGATES, WIDE_PER_ROW, WIDE_PER_WINDOW, even_rows, uneven_rows
from pyspark.errors import PythonException
from pyspark.sql import SparkSession

import sash
from sash import agg, window
from sash.options import SparkTableOptions, read_options
from sash.spark.batch import ranges
from sash.spark.batch.batch_query import BatchQuery
from sash.windows import Window
from sash.workers.own_columns import GROUP

ROWS = uneven_rows()
RANGES = 16


def run(spark: SparkSession, query: sash.Query, rows: pa.Table, **options: Any) -> pa.Table:
    return query.run(spark.createDataFrame(rows), strategy="ranges", **options).toArrow()


def rows_of_groups(spark: SparkSession, windows: Any, rows: pa.Table) -> tuple[list[int], bool]:
    """How many rows each group is sent, and whether partials stand for others."""
    query = sash.Query(AGGREGATES, windows, time="t")
    options = read_options(SparkTableOptions, {"strategy": "ranges", "ranges": RANGES})
    batch = BatchQuery(query._declared, spark.createDataFrame(rows), options)
    grouped, worker = ranges.split_frame(batch)
    counts = [row["count"] for row in grouped.groupBy(GROUP).count().collect()]
    return counts, any(worker.slices.values())


@pytest.mark.parametrize(("name", "by"), [("right", ()), ("several", ()), ("mixed", ("key",))])
def test_wide_windows_of_rows(spark: SparkSession, name: str, by: tuple[str, ...]) -> None:
    query = sash.Query(AGGREGATES, WIDE_PER_ROW[name], by=by, time="t", order_by="id")
    expected = query.run(ROWS)  # first, so that workers find kernels compiled
    assert_same(run(spark, query, ROWS, ranges=8, buckets=2), expected, ["id"])


@pytest.mark.parametrize("name", ["fine", "several", "apart"])
def test_wide_windows_of_time_that_slide(spark: SparkSession, name: str) -> None:
    query = sash.Query(AGGREGATES, WIDE_PER_WINDOW[name], time="t", order_by="id")
    order = ["window"] * query._declared.several + ["window_start", "window_end"]
    expected = query.run(ROWS)
    if query._declared.several:
        place = expected.schema.get_field_index("window")
        expected = expected.set_column(place, "window", expected["window"].cast(pa.string()))
    assert_same(run(spark, query, ROWS, ranges=8), expected, order)


@pytest.mark.parametrize(
    ("windows", "wide"),
    [
        (window.time(40), False),
        (window.rows(20), False),
        (window.time(3000), True),
        (window.rows(1100), True),
        (window.time(3000, slide=2), True),
    ],
    ids=str,
)
def test_no_task_is_sent_more_than_about_twice_its_share(spark: SparkSession, windows: Window, wide: bool) -> None:
    rows = even_rows(3200)
    counts, partials = rows_of_groups(spark, windows, rows)
    assert partials == wide
    assert len(counts) == RANGES
    assert max(counts) <= 2.1 * len(rows) / RANGES


def test_narrow_windows_start_no_job_for_partials(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    started = []

    def start(*_: object) -> dict[int, list[bytes]]:
        started.append(True)
        return {}

    monkeypatch.setattr(ranges, "cut_cells_to_slices", start)
    for windows, times in ((window.time(40), 0), (window.time(3000), 1)):
        rows_of_groups(spark, windows, even_rows(3200))
        assert len(started) == times


@pytest.mark.oldest
def test_rows_are_copied_where_partials_would_not_be_small(spark: SparkSession) -> None:
    query = sash.Query({"middle": agg.median("x"), "n": agg.count()}, window.time(400), time="t")
    expected = query.run(ROWS)
    assert_same(run(spark, query, ROWS, ranges=8), expected, ["id"])
    explained = str(query.explain(spark.createDataFrame(ROWS), strategy="ranges"))
    assert "middle has no small partial" in explained


def test_times_near_the_limit_of_64_bits(spark: SparkSession) -> None:
    """A sketch rounds them beyond it. Windows of rows need no later times, and others say what is wrong, as in buckets."""
    rows = pa.table({"t": pa.array([2**63 - 1 - number for number in range(40)], pa.int64()), "x": list(range(40))})
    by_rows = sash.Query({"n": agg.sum("x")}, window.rows(3), time="t")
    assert_same(run(spark, by_rows, rows, ranges=2), by_rows.run(rows), ["t"])
    with pytest.raises(PythonException, match=r"Windows over 't' reach beyond times of 64 bits\. Use a coarser unit"):
        run(spark, sash.Query({"n": agg.sum("x")}, window.time(10), time="t"), rows, ranges=2)


def test_frames_that_end_before_the_row(spark: SparkSession) -> None:
    query = sash.Query(AGGREGATES, window.rows(before=9, after=-2), time="t", order_by="id")
    assert_same(run(spark, query, ROWS, ranges=8), query.run(ROWS), ["id"])
