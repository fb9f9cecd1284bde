"""Streams of windows of the calendar ≡ the same windows of a table, however rows are batched, late or stored."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from helpers.pairwise import FULL
from helpers.streams import batches_of, rows_of
from helpers.windows import CALENDAR
from hypothesis import given, settings
from hypothesis import strategies as st

import sash
from sash import agg, window
from sash.engine.prepare import prepare
from sash.state.fingerprint import changes, fingerprint_query
from sash.state.reader import Stream
from sash.state.stream_state import StreamState
from sash.windows.base import FOREVER

HOUR = 3_600_000_000
AGGREGATES = {"rows": agg.count(), "total": agg.sum("x"), "ids": agg.collect("id")}
AROUND = [
    datetime(2024, 3, 31, 1, tzinfo=UTC),
    datetime(2024, 10, 27, 1, tzinfo=UTC),
    datetime(2023, 2, 28, 20, tzinfo=UTC),
]
WINDOWS: dict[str, Any] = {
    **{name: one for name, one in CALENDAR.items() if not one.emits_empty},
    "st_johns": window.time("1d", tz="America/St_Johns"),
    "several": {"month": window.tumbling("1mo"), "berlin": window.tumbling("1d", tz="Europe/Berlin"), "days": window.tumbling("1d")},
    "mixed": {"month": window.tumbling("1mo"), "session": window.session("9h"), "rows": window.rows(3, slide=2)},
    "frames": {"month": window.time("1mo"), "hours": window.time("30h"), "rows": window.rows(4)},
}  # fmt: skip
OF_TIME = [name for name, one in CALENDAR.items() if not one.per_row and name in WINDOWS] + ["several"]


@st.composite
def tables(draw: st.DrawFn) -> pa.Table:
    """Rows of some keys in order of time, hours to weeks from each other, around a change of clocks or the end of a month."""
    around = draw(st.sampled_from(AROUND)) if draw(st.booleans()) else datetime(2010, 11, 7, 2, 31, tzinfo=UTC)
    unit = draw(st.sampled_from([20, 60, 60 * 13, 60 * 24 * 6]))
    made = sorted(draw(st.lists(st.tuples(st.integers(-15, 15), st.integers(0, 2)), max_size=25)))
    times = [around + timedelta(minutes=place * unit) for place, _ in made]
    columns = {
        "id": pa.array(range(len(made)), pa.int64()),
        "k": pa.array([key for _, key in made], pa.int64()),
        "t": pa.array(times, pa.timestamp("us", "Europe/Berlin")),
        "x": pa.array([number % 5 for number in range(len(made))], pa.int64()),
    }
    return pa.table(columns)


def arrive(table: pa.Table, lateness: int, data: st.DataObject) -> pa.Table:
    """Rows at most `lateness` microseconds late."""
    times = table["t"].cast(pa.int64()).to_numpy()
    delays = np.array([data.draw(st.integers(0, lateness)) for _ in range(len(table))], np.int64)
    return table.take(pa.array(np.argsort(times + delays, kind="stable")))


def query_of(name: str, **given: Any) -> sash.Query:
    return sash.Query(AGGREGATES, WINDOWS[name], by="k", time="t", order_by="id", **given)


@pytest.mark.parametrize("name", WINDOWS)
@settings(max_examples=25 if FULL else 6, deadline=None)
@given(tables(), st.sampled_from([0, 5, 60]), st.integers(1, 6), st.data())
def test_any_order_within_lateness_gives_the_results_of_a_table(
    name: str, table: pa.Table, hours: int, size: int, data: st.DataObject
) -> None:
    query = query_of(name, lateness=f"{hours}h" if hours else None)
    arrived = arrive(table, hours * HOUR, data)
    streamed = query.run(batches_of(arrived, size)).read_all()
    assert rows_of(streamed) == rows_of(query.run(table))


@pytest.mark.parametrize("name", WINDOWS)
@settings(max_examples=10 if FULL else 3, deadline=None)
@given(tables(), st.integers(1, 6))
def test_rows_by_key_give_the_results_of_a_table(name: str, table: pa.Table, size: int) -> None:
    query = query_of(name)
    by_key = table.sort_by([("k", "ascending"), ("t", "ascending"), ("id", "ascending")])
    streamed = query.run(batches_of(by_key, size), order="keys").read_all()
    assert rows_of(streamed) == rows_of(query.run(table))


@pytest.mark.parametrize("name", OF_TIME)
@settings(max_examples=15 if FULL else 3, deadline=None)
@given(tables(), st.integers(1, 6), st.data())
def test_merged_updates_are_the_result(name: str, table: pa.Table, size: int, data: st.DataObject) -> None:
    query = query_of(name, lateness="30h")
    expected = query.run(table)
    merged: dict[Any, Any] = {}
    arrived = arrive(table, 30 * HOUR, data)
    for row in query.run(batches_of(arrived, size), mode="update").read_all().to_pylist():
        assert row.pop("change") == "upsert"
        merged[tuple(row.get(column) for column in ("k", "window", "window_start", "window_end"))] = row
    assert sorted(repr(sorted(row.items())) for row in merged.values()) == rows_of(expected)


@pytest.mark.parametrize("name", WINDOWS)
@settings(max_examples=15 if FULL else 3, deadline=None)
@given(tables(), st.data())
def test_nothing_happens_before_it_is_due_and_everything_by_then(
    name: str, table: pa.Table, data: st.DataObject
) -> None:
    """With the state encoded after each micro-batch, and the watermark moved on to when something is due."""
    query = query_of(name)
    prepared = prepare(query._declared, table.schema)
    fingerprint = fingerprint_query(query._declared, {"t": "timestamp"})
    state = StreamState(prepared, "append")
    empty = table.schema.empty_table()
    cuts = [0, *sorted(data.draw(st.lists(st.integers(0, len(table)), max_size=5))), len(table)]
    found = []
    for begin, end in pairwise(cuts):
        batch = table.slice(begin, end - begin)
        earliest = int(batch["t"].cast(pa.int64()).to_numpy().min(initial=FOREVER))
        now = max(state.watermark, earliest) if len(batch) else state.watermark
        if state.due > now:
            other = StreamState(prepared, "append")
            other.decode(state.encode(fingerprint), fingerprint)
            assert len(other.advance(empty, now).results) == 0
        emitted = state.advance(batch, now)
        assert emitted.late == 0
        found.append(emitted.results)
        stored = state.encode(fingerprint)
        state = StreamState(prepared, "append")
        state.decode(stored, fingerprint)
    for _ in range(1000):
        if (due := state.due) == FOREVER:
            break
        assert due > state.watermark
        found.append(state.advance(empty, due).results)
    assert state.due == FOREVER
    expected = query.run(table)
    emitted_all = sorted(row for one in found for row in rows_of(one))
    if name == "mixed":  # rows that no window of rows holds yet stay in the state
        assert set(emitted_all) <= set(rows_of(expected))
    else:
        assert emitted_all == rows_of(expected)


def test_a_row_is_late_when_its_month_has_ended_where_the_window_is() -> None:
    times = [datetime(2024, 1, 31, 22, 59), datetime(2024, 1, 31, 23, 0), datetime(2024, 1, 31, 22, 58)]  # noqa: DTZ001
    table = pa.table(
        {"t": pa.array([time.replace(tzinfo=UTC) for time in times], pa.timestamp("us", "UTC")), "x": [1, 2, 4]}
    )
    for tz, expected, late in (("Europe/Berlin", [1, 2], 1), (None, [7], 0)):
        query = sash.Query({"sum": agg.sum("x")}, window.tumbling("1mo", tz=tz), time="t", lateness="0s")
        running = Stream(prepare(query._declared, table.schema))
        found = [running.add(table.slice(row, 1)) for row in range(3)] + [running.finish()]
        assert [number for one in found for number in one["sum"].to_pylist()] == expected
        assert running.late == late


def test_a_stream_does_not_continue_with_another_zone() -> None:
    then, now = (
        fingerprint_query(sash.Query(agg.count(), window.tumbling("1d", tz=tz), time="t")._declared, {"t": "timestamp"})
        for tz in ("Europe/Berlin", "Europe/Paris")
    )
    assert changes(then, now) == [
        'windows: time: tumbling("1d", tz="Europe/Berlin") became tumbling("1d", tz="Europe/Paris")'
    ]
