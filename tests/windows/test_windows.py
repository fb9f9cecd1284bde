"""Every kind of window ≡ the oracle, over streams with ties, gaps and nulls, of one key and many, in any order."""

from __future__ import annotations

import pickle
from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pyarrow as pa
import pytest
from helpers.pairwise import FULL, some
from helpers.queries import SCHEMA, Named, assert_agrees, long_stream, table_of
from helpers.windows import WINDOWS, examples, seconds
from hypothesis import given, settings
from hypothesis import strategies as st

import sash
from sash import agg, window
from sash.testing.strategies import streams
from sash.windows import Window
from sash.windows.last_closed import LastClosed

ALL_WINDOWS = [pytest.param(case.drawn, id=kind) for kind, case in WINDOWS.items()]

IN_ORDER: Named = {
    "rows": agg.count(),
    "values": agg.count("x"),
    "in_order": agg.concat("x", sep=" "),
    "total": agg.sum("x"),
    "who": agg.arg_max("x", "y"),
}
"""The third shows any row that is lost, doubled or misplaced."""


def test_every_window_is_in_the_table() -> None:
    """The tests of the oracle, of slices, of streams and of Spark read the table in helpers/windows.py."""
    made = {type(one) for one in examples(seconds(1)).values()}
    kinds = {kind for kind in subclasses(Window) if kind.__module__.startswith("sash.")}
    as_of_labels = {LastClosed}  # made of the others: tests/engine/test_closed_windows.py
    assert made == {kind for kind in kinds if kind.bounds is not Window.bounds} - as_of_labels


def subclasses(kind: type[Window]) -> set[type[Window]]:
    return set(kind.__subclasses__()).union(*(subclasses(one) for one in kind.__subclasses__()))


@pytest.mark.parametrize("windows", ALL_WINDOWS)
@settings(max_examples=60 if FULL else 25)
@given(data=st.data())
def test_a_window_agrees_with_the_oracle(windows: st.SearchStrategy[Window], data: st.DataObject) -> None:
    rows = data.draw(streams(keys=data.draw(st.sampled_from([1, 3]))))
    assert_agrees(rows, IN_ORDER, data.draw(windows))


@pytest.mark.parametrize("windows", ALL_WINDOWS)
@settings(max_examples=25 if FULL else 10)
@given(data=st.data())
def test_a_window_agrees_with_the_oracle_whatever_orders_the_rows(
    windows: st.SearchStrategy[Window], data: st.DataObject
) -> None:
    chosen = data.draw(windows)
    by = data.draw(st.sampled_from([(), ("key",), ("key", "mark")]))
    order_by = data.draw(st.sampled_from([(), ("x",), ("mark", "y")]))
    time = "t" if chosen.needs_time or data.draw(st.booleans()) else None
    assert_agrees(data.draw(streams()), IN_ORDER, chosen, by=by, order_by=order_by, time=time)


# -- compiled --------------------------------------------------------------------------------------------------------

SHARED: Named = {"top": agg.max("x"), "last": agg.last("x")}
"""Answered by the same kernels for all windows."""


@pytest.mark.parametrize("name", some(examples(), 6))
def test_a_window_agrees_with_the_oracle_compiled(name: str) -> None:
    chosen = examples()[name]
    assert_agrees(long_stream(1, keys=1), SHARED, chosen, executors=[True])
    assert_agrees(long_stream(2, keys=3), SHARED, chosen, executors=[True])


# -- by hand: what the design says of each window ---------------------------------------------------------------------


def spans(windows: Window, times: list[int], **columns: list[Any]) -> list[tuple[int, int, str]]:
    """Windows with the numbers of their rows, as (start, end, numbers)."""
    table = pa.table({"t": pa.array(times, pa.int64()), "n": range(len(times)), **columns})
    found = sash.Query({"held": agg.concat("n")}, windows, time="t").run(table)
    return [(row["window_start"], row["window_end"], row["held"]) for row in found.to_pylist()]


def held(windows: Window, times: list[int], **columns: list[Any]) -> list[str | None]:
    """The numbers of the rows in each row's window."""
    table = pa.table({"t": pa.array(times, pa.int64()), "n": range(len(times)), **columns})
    results = sash.Query({"held": agg.concat("n")}, windows, time="t").run(table)
    listed: list[str | None] = results["held"].to_pylist()
    return listed


def test_windows_of_time_are_half_open_and_begin_at_multiples_of_the_slide_since_the_epoch() -> None:
    assert spans(window.time(10, slide=5), [-1, 0, 5, 30]) == [
        (-10, 0, "0"), (-5, 5, "01"), (0, 10, "12"), (5, 15, "2"), (25, 35, "3"), (30, 40, "3"),
    ]  # fmt: skip
    assert spans(window.tumbling(10, offset=3), [2, 3, 12, 13]) == [(-7, 3, "0"), (3, 13, "12"), (13, 23, "3")]
    assert spans(window.tumbling(10, offset=-7), [2, 3]) == spans(window.tumbling(10, offset=3), [2, 3])


def test_cumulative_windows_grow_by_steps_up_to_their_range() -> None:
    assert spans(window.cumulative(6, 2), [1, 2, 5, 6, 11]) == [
        (0, 2, "0"), (0, 4, "01"), (0, 6, "012"), (6, 8, "3"), (6, 10, "3"), (6, 12, "34"),
    ]  # fmt: skip
    assert spans(window.cumulative(6, 2), [5]) == [(0, 6, "0")]


def test_a_row_exactly_the_gap_after_the_last_one_belongs_to_its_session() -> None:
    assert spans(window.session(5), [0, 5, 11]) == [(0, 10, "01"), (11, 16, "2")]


def test_every_so_many_rows_of_a_key_there_is_a_window_of_rows() -> None:
    assert spans(window.rows(3, slide=2), [0, 1, 2, 3, 4]) == [(0, 1, "01"), (1, 3, "123")]


def test_rows_after_the_last_mark_are_in_no_punctuated_window() -> None:
    marks = [False, True, True, None, False]
    assert spans(window.punctuated("end"), [0, 1, 2, 3, 4], end=marks) == [(0, 1, "01"), (2, 2, "2")]


def test_rows_leave_a_delta_window_oldest_first_and_for_good() -> None:
    assert held(window.delta("v", 2), [0, 1, 2, 3], v=[0, 5, 1, 0]) == ["0", "1", "2", "23"]
    assert held(window.delta("v", 2), [0, 1, 2], v=[0, 2, 3]) == ["0", "01", "12"]


def test_a_delta_window_with_a_slide_has_a_result_when_the_column_has_moved_by_so_much() -> None:
    assert spans(window.delta("v", 4, slide=2), [0, 1, 2, 3, 4], v=[0, 1, 2, 3, 4]) == [(0, 2, "012"), (0, 4, "01234")]


def test_of_open_windows_of_ones_own_the_oldest_ends_first() -> None:
    def two_and_two(row: Mapping[str, Any]) -> tuple[int, int]:
        return int(row["n"] < 2), int(row["n"] > 1)

    assert spans(window.custom(two_and_two), [0, 1, 2, 3]) == [(0, 2, "012"), (1, 3, "123")]


@pytest.mark.parametrize(
    ("closed", "expected"),
    [
        ("right", ["01", "01", "2", "23"]),
        ("both", ["01", "01", "012", "23"]),
        ("left", [None, None, "01", "2"]),
        ("neither", [None, None, None, "2"]),
    ],
)
def test_a_row_sees_its_peers_and_the_ends_of_its_window_as_closed_says(closed: str, expected: list[str]) -> None:
    assert held(window.time(5, closed=closed), [0, 0, 5, 6], n2=[0, 0, 0, 0]) == expected


def test_the_default_of_closed_is_right() -> None:
    assert held(window.time(5), [0, 5]) == held(window.time(5, closed="right"), [0, 5]) == ["0", "1"]


def test_fewer_values_than_min_rows_give_null_a_count_too() -> None:
    table = pa.table({"x": [1, None, 2, 3]})
    counts = {"rows": agg.count(), "values": agg.count("x"), "total": agg.sum("x")}
    found = sash.Query(counts, window.rows(3, min_rows=2)).run(table)
    assert found["rows"].to_pylist() == [None, 2, 3, 3]
    assert found["values"].to_pylist() == [None, None, 2, 2]
    assert found["total"].to_pylist() == [None, None, 3, 5]


# -- kinds of time ----------------------------------------------------------------------------------------------------

MOMENTS = [datetime(2024, 3, 30, 22, 30, tzinfo=UTC) + timedelta(minutes=37 * number) for number in range(60)]
"""Over the night in which the clocks of Berlin go forward."""


@pytest.mark.parametrize("zone", [None, "UTC", "Europe/Berlin"])
@pytest.mark.parametrize("unit", ["s", "ms", "us"])
@pytest.mark.parametrize(
    "chosen",
    [
        window.time("6h", slide="90m", offset="20m"), window.cumulative("24h", "4h"), window.session("36m59s"),
        window.time("2h", closed="both"), window.rows(4, slide=3),
    ],
    ids=str,
)  # fmt: skip
def test_windows_over_timestamps_agree_with_the_oracle(chosen: Window, unit: str, zone: str | None) -> None:
    moments = [moment if zone else moment.replace(tzinfo=None) for moment in MOMENTS]
    rows = [{"t": moment, "x": number} for number, moment in enumerate(moments)]
    schema = pa.schema({"t": pa.timestamp(unit, zone), "x": pa.int64()})
    found = assert_agrees(rows, {"held": agg.concat("x", sep=" ")}, chosen, by=(), schema=schema)
    if not chosen.per_row:
        assert (
            found.schema.field("window_start").type == found.schema.field("window_end").type == schema.field("t").type
        )


@pytest.mark.parametrize("kind", [pa.date32(), pa.date64()])
def test_windows_over_dates_agree_with_the_oracle(kind: pa.DataType) -> None:
    rows = [{"t": date(1969, 12, 20) + timedelta(days=number**2), "x": number} for number in range(8)]
    schema = pa.schema({"t": kind, "x": pa.int64()})
    for chosen in (window.time("2w", slide="3d"), window.session("7d"), window.time("10d")):
        assert_agrees(rows, {"held": agg.concat("x")}, chosen, by=(), schema=schema)


def test_nanoseconds_are_whole() -> None:
    base = 1_700_000_000_000_000_000
    times = pa.array([base + 1, base + 2, base + 5], pa.timestamp("ns", "UTC"))
    table = pa.table({"t": times, "x": [1, 2, 4]})
    found = sash.Query({"total": agg.sum("x")}, window.tumbling("2ns"), time="t").run(table)
    assert found["window_start"].type == times.type
    assert found["window_start"].cast(pa.int64()).to_pylist() == [base, base + 2, base + 4]
    assert found["total"].to_pylist() == [1, 2, 4]


@pytest.mark.parametrize("kind", [pa.int8(), pa.int32(), pa.uint16(), pa.uint64()])
def test_windows_over_integers_of_any_width_agree_with_the_oracle(kind: pa.DataType) -> None:
    rows = [{"t": number * 3, "x": number} for number in range(9)]
    schema = pa.schema({"t": kind, "x": pa.int64()})
    for chosen in (window.time(6, slide=4), window.session(2), window.time(7)):
        assert_agrees(rows, {"held": agg.concat("x")}, chosen, by=(), schema=schema)


# -- nothing at all ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("windows", ALL_WINDOWS)
@given(data=st.data())
@settings(max_examples=3)
def test_no_rows_give_no_results(windows: st.SearchStrategy[Window], data: st.DataObject) -> None:
    chosen = data.draw(windows)
    found = assert_agrees([], IN_ORDER, chosen)
    some = assert_agrees(
        [dict.fromkeys(SCHEMA.names) | {"t": 1, "v": 1, "mark": True, "x": 1, "y": 1}], IN_ORDER, chosen
    )
    assert found.schema == some.schema


def test_results_come_by_window_then_key_then_time() -> None:
    rows = [{"t": time, "key": key} for time, key in [(9, "z"), (1, "a"), (1, "z"), (8, "a")]]
    windows = {"short": window.tumbling(5), "long": window.tumbling(10)}
    found = sash.Query({"n": agg.count()}, windows, by="key", time="t").run(table_of(rows))
    assert [(row["window"], row["key"], row["window_start"]) for row in found.to_pylist()] == [
        ("short", "z", 0), ("short", "z", 5), ("short", "a", 0), ("short", "a", 5), ("long", "z", 0), ("long", "a", 0),
    ]  # fmt: skip


def test_rows_keep_their_order_and_their_columns_beside_results() -> None:
    rows = [{"t": time, "key": "a", "x": time} for time in (5, 1, 3)]
    found = sash.Query({"top": agg.max("x")}, window.time(3), by="key", time="t").run(table_of(rows))
    assert found.column_names == [*SCHEMA.names, "top"]
    assert found.select(SCHEMA.names).equals(table_of(rows))
    assert found["top"].to_pylist() == [5, 1, 3]


@pytest.mark.parametrize(
    "used", [window.rows(3), window.time("1h"), window.time("1h", slide="1m"), window.session("1m")], ids=str
)
def test_a_window_is_pickled_without_what_it_has_cached(used: Window) -> None:
    assert (used.frame or used.cuts, used.lateness) is not None
    assert pickle.loads(pickle.dumps(used)) == used  # noqa: S301 — our own bytes
