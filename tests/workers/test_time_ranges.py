"""Windows wider than ranges, in this process: where rows are needed one by one, and the results of partials between."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import product

import pyarrow as pa
import pytest
from helpers.pairwise import some
from helpers.spark.matrix import assert_same
from helpers.spark.wide import (
    AGGREGATES,
    LAGGED_PER_ROW,
    WIDE_PER_ROW,
    WIDE_PER_WINDOW,
    InProcess,
    dense_rows,
    even_rows,
    exactly,
    uneven_rows,
)

import sash
from sash import agg, window
from sash.durations import TimeUnit
from sash.engine.prepare import prepare
from sash.spark.batch.ranges import RangeSplit
from sash.windows import Window
from sash.windows.base import FOREVER, NEVER, Reach
from sash.workers import spill
from sash.workers.time_ranges import RangeWindows, Zones, even_bounds, most_rows, no_partials, reach_of

UNEVEN, EVEN = uneven_rows(), even_rows()
RANGES = 8
SHARES = 16
ORDER = ["window_start", "window_end"]


@pytest.mark.parametrize(
    ("windows", "order"),
    some(
        [
            *(pytest.param(windows, ["id"], id=f"row, {name}") for name, windows in WIDE_PER_ROW.items()),
            *(
                pytest.param(windows, ["window"] * (len(windows) > 1) + ORDER, id=f"window, {name}")
                for name, windows in WIDE_PER_WINDOW.items()
            ),
        ],
        2,
    ),
)
def test_results_are_those_of_one_task(windows: dict[str, Window], order: list[str]) -> None:
    query = sash.Query(AGGREGATES, windows, time="t", order_by="id")
    for rows, ranges in product((UNEVEN, EVEN), (2, RANGES)):
        run = InProcess(query, rows, ranges)
        if ranges == RANGES:
            assert run.split.sliced_cells, "nothing was sent as partials"
        assert_same(run.run(), run.expected, order)


@pytest.mark.parametrize(("name", "most_bytes"), some(product(LAGGED_PER_ROW, [1 << 30, 300]), 3))
def test_frames_that_end_before_the_row_or_exclude_rows(
    monkeypatch: pytest.MonkeyPatch, name: str, most_bytes: int
) -> None:
    """How far they reach back is a constant."""
    monkeypatch.setattr(spill, "BYTES_OF_BATCH", 1)
    query = sash.Query(
        {"all": agg.concat("x", sep=" "), "n": agg.count()}, LAGGED_PER_ROW[name], time="t", order_by="id"
    )
    for rows in (UNEVEN, EVEN):
        run = InProcess(query, rows, RANGES, most_bytes)
        assert_same(run.run(), run.expected, ["id"])


def test_why_time_cannot_be_split() -> None:
    unit = TimeUnit("t")
    assert reach_of([window.rows(before=9, after=-2)], unit) == Reach(rows=9)
    assert reach_of([window.rows(before=9, after=2)], unit) == (
        "rows(before=9, after=2) looks ahead, and ranges hold no rows after their own"
    )
    assert (
        reach_of([window.expanding()], unit) == "how far expanding() reaches back is not known before its rows are read"
    )


def test_what_does_not_fit_memory_is_several_stretches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spill, "BYTES_OF_BATCH", 1)
    query = sash.Query(AGGREGATES, WIDE_PER_ROW["right"], time="t", order_by="id")
    run = InProcess(query, UNEVEN, RANGES, most_bytes=300)
    assert max(map(len, run.slices().values())) > 2 * max(map(len, run.split.slice_cells))
    assert_same(run.run(), run.expected, ["id"])


def test_two_keys_of_one_hash_are_refused() -> None:
    query = sash.Query(AGGREGATES, WIDE_PER_ROW["right"], by="key", time="t", order_by="id")
    with pytest.raises(RuntimeError, match=r"Two keys have the same hash.* strategy=\"buckets\""):
        InProcess(query, UNEVEN, RANGES).run()


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        (sash.Query({"middle": agg.median("x")}, window.time(400), time="t"), "middle has no small partial"),
        (sash.Query({"all": agg.collect("x")}, window.time(400), time="t"), "all has no small partial"),
        (sash.Query({"who": agg.arg_max("x", "key")}, window.time(400), time="t"), "who is not of numbers"),
        (sash.Query({"n": agg.count()}, window.session(5), time="t"), r"where session\(5\) begins"),
    ],
    ids=["ranked", "holistic", "strings", "session"],
)
def test_why_rows_are_copied(query: sash.Query, reason: str) -> None:
    prepared = prepare(query._declared, UNEVEN.schema)
    assert re.match(reason, no_partials(prepared))


def zones_of(windows: dict[str, Window], rows: pa.Table) -> Zones:
    times = rows["t"].to_pylist()
    return Zones(tuple(windows.values()), replace(exactly(times), newest=max(times)))


@pytest.mark.parametrize("windows", [*WIDE_PER_ROW.values(), *WIDE_PER_WINDOW.values()], ids=str)
@pytest.mark.parametrize("count", [1, 2, 7, SHARES])
def test_every_row_is_its_own_ranges_and_all_rows_since_are_there_once(windows: dict[str, Window], count: int) -> None:
    for rows in (UNEVEN, EVEN):
        made = zones_of(windows, rows)
        parts = made.ranges(made.bounds(count))
        assert len(parts) <= count
        assert [part.begin for part in parts[1:]] == [part.end for part in parts[:-1]]
        assert (parts[0].begin, parts[-1].end) == (NEVER, FOREVER)
        split = RangeSplit({0: parts})
        for number in range(len(parts)):
            singly = [cell for cell, owners in enumerate(split.ranges_by_cell()) if number in owners]
            every = sorted([*singly, *split.slice_cells[number]])
            assert every == list(range(every[0], every[0] + len(every)))


@pytest.mark.parametrize("windows", [{"w": window.time(80)}, {"w": window.time(500)}, {"w": window.time(5000)},
                                     {"w": window.rows(30)}, {"w": window.rows(900)}, {"w": window.time(500, slide=1)},
                                     {"w": window.cumulative(800, 10)}], ids=str)  # fmt: skip
def test_no_part_is_sent_more_than_about_twice_its_share(windows: dict[str, Window]) -> None:
    for rows in (even_rows(3200), dense_rows(3200)):
        made = zones_of(windows, rows)
        parts = made.ranges(made.bounds(SHARES))
        assert most_rows(parts, made.axis) <= 2.05 * len(rows) / SHARES


def test_slices_are_sent_where_windows_are_wider_than_ranges() -> None:
    times = even_rows(3200)["t"].to_pylist()
    bounds, axis = even_bounds(sorted(times), SHARES), replace(exactly(times), newest=max(times))
    for length, wide in ((40, False), (500, False), (700, True), (5000, True)):
        one = window.time(length)
        reach = reach_of([one], TimeUnit("t"))
        assert not isinstance(reach, str)
        made = RangeWindows((one,), reach, has_partials=True).ranges(bounds, SHARES, axis)
        assert any(part.slice_intervals for part in made) == wide
