"""The number of windows of time has a limit, which is checked before memory for them is allocated."""

from __future__ import annotations

import datetime as dt
import tracemalloc

import numpy as np
import pyarrow as pa
import pytest

import sash
from sash import agg, window
from sash.engine import run_table
from sash.windows.base import whole_items
from sash.windows.periodic import MAX_WINDOWS, Periodic

TIMES = [dt.datetime(2026, 1, 1), dt.datetime(2026, 1, 1, 5)]  # noqa: DTZ001 — a column without a time zone
TWO_ROWS = pa.table({"t": pa.array(TIMES, pa.timestamp("us")), "x": [1.0, 2.0]})


def test_two_rows_with_a_tiny_slide_are_refused_before_anything_is_allocated() -> None:
    query = sash.Query({"s": agg.sum("x")}, window.time("1h", slide="1us"), time="t")
    tracemalloc.start()
    try:
        with pytest.raises(
            ValueError, match=r"time\(\"1h\", slide=\"1us\"\): 7,200,000,000 windows .* max_windows=100,000,000"
        ):
            query.run(TWO_ROWS)
        assert tracemalloc.get_traced_memory()[1] < 2**26
    finally:
        tracemalloc.stop()


def test_cumulative_windows_are_counted_too() -> None:
    query = sash.Query({"s": agg.sum("x")}, window.cumulative("24h", "1us"), time="t")
    with pytest.raises(ValueError, match="86,400,000,000 windows"):
        query.run(TWO_ROWS)


def test_the_limit_is_an_argument() -> None:
    rows = pa.table({"t": [0, 100], "x": [1.0, 2.0]})
    assert MAX_WINDOWS == 100_000_000
    for windows in (window.time(10, slide=1, max_windows=20), window.cumulative(10, 1, max_windows=20)):
        assert len(sash.Query({"s": agg.sum("x")}, windows, time="t").run(rows)) == 20
    with pytest.raises(ValueError, match=r"20 windows .* max_windows=19"):
        sash.Query({"s": agg.sum("x")}, window.time(10, slide=1, max_windows=19), time="t").run(rows)
    with pytest.raises(ValueError, match="max_windows=0"):
        window.time(10, slide=1, max_windows=0)
    with pytest.raises(ValueError, match="needs slide="):
        window.time(10, max_windows=5)
    # It is no part of the window: a stream continues from its checkpoint with another limit.
    assert repr(window.time(10, slide=1, max_windows=20)) == "time(10, slide=1)"


@pytest.mark.parametrize("in_order_of_time", [False, True], ids=["by key", "by time"])
def test_the_windows_of_all_parts_of_a_table_are_counted(
    in_order_of_time: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Parts of a table are evaluated one by one; none of them alone has too many windows."""
    monkeypatch.setattr(run_table, "SECTION_ROWS", 16)
    monkeypatch.setattr(run_table, "CHUNK_ROWS", 8)
    made = [{"k": key, "t": 5 * number, "x": 1.0} for key in range(4) for number in range(16)]
    if in_order_of_time:
        made.sort(key=lambda row: row["t"])
    rows = pa.Table.from_pylist(made)
    # Of each key, the windows that begin from -9 to 75.
    exact = sash.Query({"s": agg.sum("x")}, window.time(10, slide=1, max_windows=4 * 85), by="k", time="t")
    assert len(exact.run(rows)) == 4 * 85
    less = sash.Query({"s": agg.sum("x")}, window.time(10, slide=1, max_windows=4 * 85 - 1), by="k", time="t")
    with pytest.raises(ValueError, match=r"340 windows .* max_windows=339\."):
        less.run(rows)


def test_windows_of_rows_far_apart_are_counted_exactly() -> None:
    rows = pa.table({"k": [0, 0, 1, 1], "t": [0, 10**12, 0, 10**12], "x": [1.0] * 4})
    query = sash.Query({"s": agg.sum("x")}, window.time(10, slide=1, max_windows=40), by="k", time="t")
    assert len(query.run(rows)) == 40


def test_windows_that_do_not_overlap_have_no_limit() -> None:
    shape = window.tumbling(10)
    assert isinstance(shape, Periodic)
    assert shape.max_windows > 2**62  # there are at most as many windows as rows, and no argument could raise the limit


@pytest.mark.parametrize(
    "shape", [window.time(60, slide=7), window.time(20, slide=20, offset=3), window.cumulative(30, 10)]
)
def test_the_closed_form_counts_windows_that_hold_a_row(shape: Periodic) -> None:
    random = np.random.default_rng(1)
    for _ in range(50):
        times = np.sort(random.integers(-500, 500, random.integers(1, 12)))
        items = whole_items(times, firsts=[0, 0, len(times) // 2, len(times)])
        items.times[: len(times) // 2].sort()
        found = shape.bounds(items, {}, lambda loop: loop)
        counted = shape.count_windows(items)
        if shape.step == shape.range:
            assert counted == len(found.begins)
        else:  # ends before the first row of a period are counted too
            assert len(found.begins) <= counted <= 3 * len(found.begins)
