"""With `forget`, a stream gives what a table gives in which a key has another name after each long gap; its state levels off."""

from __future__ import annotations

from itertools import groupby
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from helpers.cases import SOAK
from helpers.streams import COMMUTE, ORDERED, WINDOWS, rows_of, table_of
from helpers.windows import examples
from hypothesis import example, given, settings
from hypothesis import strategies as st
from test_stream_state import Driver, arrivals, key_count

import sash
from sash import agg, window
from sash.durations import TimeUnit, read_duration
from sash.engine.prepare import prepare
from sash.state.key_epochs import needed_for, read_forget
from sash.state.reader import Stream
from sash.state.stream_state import StreamState
from sash.state.tail_state import TailState
from sash.testing import recompute_query
from sash.windows.base import FOREVER

FORGET = 11
"""Longer than the windows of time below."""
SCHEMA = table_of([]).schema
UNIT = TimeUnit("t")
FORGETTING = [name for name, windows in WINDOWS.items() if None in [needed_for(one, UNIT) for one in windows.values()]]
"""Windows that keep every key forever."""
EXAMPLES = examples()
made_rows = st.lists(st.tuples(st.integers(0, 2), st.integers(1, 90), st.integers(0, 5), st.booleans()), max_size=25)


class ForgettingDriver(Driver):
    """A stream that forgets keys, with its state encoded after each micro-batch."""

    forget = read_duration(FORGET, "forget")
    forgotten = 0

    def run(self, table: pa.Table) -> None:
        """Run a micro-batch, from the encoded state of the one before; sometimes the state comes from a log."""
        self.watermark = max(self.watermark, self.newest - self.delay)
        base = self.state.encode(self.fingerprint, "before")
        state = self.new_state(base)
        if state.due > self.watermark + 1:
            idle = self.new_state(base)
            assert len(idle.advance(SCHEMA.empty_table(), self.watermark + 1).results) == 0
            assert key_count(idle) == key_count(state)
        before = state.watermark
        emitted = state.advance(table, self.watermark + 1)
        self.forgotten += emitted.forgotten
        delta = state.encode_delta("before", "after")
        assert delta is not None
        self.state = StreamState(self.prepared, forget=self.forget)
        self.state.decode_log(base, [delta], self.fingerprint, "after")
        assert self.state.encode(self.fingerprint, "after") == state.encode(self.fingerprint, "after")
        self.in_time.append(table.filter(pa.array(table["t"].to_numpy() >= before)))
        self.emitted.append(emitted.results)
        self.newest = max(self.newest, int(table["t"].to_numpy().max(initial=0)))

    def new_state(self, stored: bytes) -> StreamState:
        state = StreamState(self.prepared, forget=self.forget)
        state.decode(stored, self.fingerprint)
        return state


def epochs(table: pa.Table, forget: int = FORGET) -> pa.Table:
    """Rows whose keys have another name after each gap, a model that shares nothing with the engine."""
    rows = sorted(table.to_pylist(), key=lambda row: (row["k"], row["t"], row["id"]))
    for _, own in groupby(rows, key=lambda row: row["k"]):
        epoch, last = 0, None
        for row in own:
            epoch += last is not None and row["t"] - last >= forget
            last = row["t"]
            row["k"] += 100 * epoch
    return pa.Table.from_pylist(sorted(rows, key=lambda row: row["id"]), table.schema)


def with_keys(table: pa.Table) -> list[str]:
    """Rows in any order, with their keys as the stream has them."""
    keys = pa.array([key % 100 for key in table["k"].to_pylist()], pa.int64())
    return rows_of(table.set_column(table.column_names.index("k"), "k", keys))


def ended(table: pa.Table, watermark: int) -> int:
    """Count the epochs that are over at a watermark."""
    lasts: dict[int, int] = {}
    for row in epochs(table).to_pylist():
        lasts[row["k"]] = max(lasts.get(row["k"], 0), row["t"])
    return sum(last + FORGET <= watermark for last in lasts.values())


@settings(max_examples=3_000 if SOAK else 30, deadline=None)
@given(st.sampled_from([name for name in FORGETTING if name != "mixed"]), made_rows, st.integers(0, 30), st.data())
def test_a_key_starts_anew_after_a_gap(name: str, made: list[Any], delay: int, data: st.DataObject) -> None:
    aggregates = data.draw(st.sampled_from([COMMUTE, ORDERED]))
    compiled = data.draw(st.sampled_from([None, False]))
    query = sash.Query(aggregates, WINDOWS[name], by="k", time="t", order_by="id")
    driver = ForgettingDriver(query, SCHEMA, delay, compiled=compiled)
    for batch in arrivals(table_of(made), data):
        driver.run(batch)
    come = pa.concat_tables(driver.in_time)
    assert driver.forgotten == ended(come, driver.state.watermark)
    expected = with_keys(query.run(epochs(come), compiled=False))
    while (due := driver.state.due) != FOREVER:
        assert due > driver.state.watermark
        driver.emitted.append(driver.state.advance(SCHEMA.empty_table(), due).results)
    assert key_count(driver.state) == len(driver.state) == 0  # all epochs are over
    assert len(driver.state.finish()) == 0
    assert driver.results == expected


@pytest.mark.parametrize("name", ["last_rows", "rows_mixed", "expanding"])
@settings(max_examples=60 if SOAK else 4, deadline=None)
@given(made_rows, st.data())
def test_the_oracle_agrees(name: str, made: list[Any], data: st.DataObject) -> None:
    query = sash.Query(COMMUTE, WINDOWS[name], by="k", time="t", order_by="id")
    driver = ForgettingDriver(query, SCHEMA, 90)
    for batch in arrivals(table_of(made), data):
        driver.run(batch)
    driver.emitted.append(driver.state.finish())
    come = epochs(pa.concat_tables(driver.in_time))
    oracle = recompute_query(come.to_pylist(), COMMUTE, WINDOWS[name], by=("k",), time="t", order_by=("id",))
    schema = query.run(SCHEMA.empty_table()).schema
    expected = pa.Table.from_pylist([{name: row[name] for name in schema.names} for row in oracle], schema)
    assert driver.results == with_keys(expected)


@settings(max_examples=1_000 if SOAK else 25, deadline=None)
@given(st.sampled_from(FORGETTING), made_rows, st.integers(0, 12), st.data())
def test_a_stream_in_this_process_forgets_however_rows_are_batched(
    name: str, made: list[Any], lateness: int, data: st.DataObject
) -> None:
    table = table_of(made)
    arrived = table.take(pa.array(data.draw(st.permutations(range(len(table)))), pa.int64()))
    query = sash.Query(COMMUTE, WINDOWS[name], by="k", time="t", order_by="id", lateness=lateness)
    found = []
    for size in (1, data.draw(st.integers(2, 9)), 100):
        running = Stream(prepare(query._declared, table.schema, compiled=None), forget=FORGET)
        results = [running.add(arrived.slice(first, size)) for first in range(0, len(arrived), size)]
        late, forgotten = running.late, running.forgotten
        results.append(running.finish())
        assert running.forgotten == forgotten  # the end of a stream forgets no key
        found.append((sorted(row for one in results for row in rows_of(one)), late, forgotten))
    assert found[0] == found[1] == found[2]


def run_batches(windows: Any, batches: list[list[tuple[int, int]]], **options: Any) -> tuple[list[list[int]], Stream]:
    """Return the counts that each micro-batch of (key, time) emits, and the stream."""
    query = sash.Query({"n": agg.count()}, windows, by="k", time="t")
    stream = Stream(prepare(query._declared, pa.schema({"k": pa.int64(), "t": pa.int64()}), compiled=False), **options)
    results = []
    for batch in batches:
        keys, times = zip(*batch, strict=True)
        results.append(stream.add(pa.table({"k": keys, "t": times}))["n"].to_pylist())
    results.append(stream.finish()["n"].to_pylist())
    return results, stream


@pytest.mark.parametrize(("second", "expected"), [(19, 2), (20, 1), (21, 1)])
def test_a_gap_of_exactly_the_time_starts_anew(second: int, expected: int) -> None:
    results, _ = run_batches(window.rows(5), [[(0, 10)], [(0, second)], [(1, 90)]], forget=10)
    assert [n for batch in results for n in batch] == [1, expected, 1]


@pytest.mark.parametrize(("watermark", "forgotten"), [(19, 0), (20, 1)])
def test_a_key_is_dropped_when_the_watermark_is_the_time_past_its_last_row(watermark: int, forgotten: int) -> None:
    _, stream = run_batches(window.rows(5), [[(0, 10)], [(1, watermark)]], forget=10)
    assert stream.forgotten == forgotten


def test_what_waits_for_later_rows_is_treated_as_at_the_end_of_a_stream() -> None:
    """A frame that looks ahead is emitted with the rows that there are; a slide that is not complete has no result."""
    rows = [[(0, 1), (0, 2)], [(1, 50)], [(0, 51), (0, 52)], [(1, 53)]]
    ahead, _ = run_batches(window.rows(before=1, after=1), rows, forget=10)
    assert ahead == [[], [2, 2], [], [2], [2, 2, 2]]
    slide, _ = run_batches(window.rows(3, slide=3), rows, forget=10)
    assert slide == [[], [], [], [], []]
    assert run_batches(window.rows(3, slide=3), rows)[0] == [[], [], [3], [], []]


def test_a_key_without_rows_is_forgotten_and_expanding_starts_anew() -> None:
    query = sash.Query({"total": agg.sum("x")}, window.expanding(), by="k", time="t")
    schema = pa.schema({"k": pa.int64(), "t": pa.int64(), "x": pa.int64()})
    state = StreamState(prepare(query._declared, schema, compiled=None), forget=read_duration(10, "forget"))
    assert isinstance(state.states.states[0], TailState)

    def rows(*times: int) -> pa.Table:
        return pa.table({"k": [7] * len(times), "t": times, "x": [1] * len(times)}, schema)

    assert state.advance(rows(1, 2, 3), 5).results["total"].to_pylist() == [1, 2, 3]
    assert (state.due, len(state)) == (13, 2)  # a prefix, and the newest row
    assert state.advance(rows(6), 8).results["total"].to_pylist() == [4]
    assert state.advance(rows(), 15).forgotten == 0
    assert state.advance(rows(), 16).forgotten == 1
    assert (state.due, len(state)) == (FOREVER, 0)
    assert state.advance(rows(16, 17), 20).results["total"].to_pylist() == [1, 2]


@pytest.mark.parametrize("windows", [window.rows(3), window.expanding(), window.rows(2, slide=2)], ids=str)
def test_rows_without_a_key_are_forgotten_too(windows: Any) -> None:
    query = sash.Query({"n": agg.count()}, windows, time="t")
    prepared = prepare(query._declared, pa.schema({"t": pa.int64()}), compiled=None)
    stream = Stream(prepared, forget=10)
    found = [stream.add(pa.table({"t": times}))["n"].to_pylist() for times in ([1, 2, 5], [16], [17, 30])]
    found.append(stream.finish()["n"].to_pylist())
    expected = {"rows(3)": [1, 2, 3, 1, 2, 1], "expanding()": [1, 2, 3, 1, 2, 1], "rows(2, slide=2)": [2, 2]}
    assert [n for batch in found for n in batch] == expected[str(windows)]
    assert stream.forgotten == 2


@example([2**62, -(2**62)])
@settings(max_examples=20, deadline=None)
@given(st.lists(st.integers(-(2**62), 2**62), min_size=1, max_size=5))
def test_times_may_be_far_apart(times: list[int]) -> None:
    results, _ = run_batches(window.rows(9), [[(0, time) for time in sorted(times)]], forget=10)
    ordered = sorted(times)
    expected, count = [], 0
    for place, time in enumerate(ordered):
        count = count + 1 if place and time - ordered[place - 1] < 10 else 1
        expected.append(count)
    assert [n for batch in results for n in batch] == expected


def test_state_levels_off_under_churn() -> None:
    """Keys come and go; without `forget` every one of them would stay."""
    windows = {"a": window.rows(50), "b": window.delta("x", 3), "c": window.expanding(), "d": window.time(40)}
    query = sash.Query({"mean": agg.mean("x")}, windows, by="k", time="t")
    schema = pa.schema({"k": pa.int64(), "t": pa.int64(), "x": pa.float64()})
    prepared = prepare(query._declared, schema, compiled=None)
    state, forever = StreamState(prepared, forget=read_duration(100, "forget")), StreamState(prepared)
    sizes, forgotten, chooser = [], 0, np.random.default_rng(1)
    batches = 400 if SOAK else 24
    for number in range(batches):
        times = np.sort(chooser.integers(20 * number, 20 * number + 20, 30))
        rows = pa.table(
            {"k": times // 50 * 10 + chooser.integers(0, 5, 30), "t": times, "x": chooser.random(30)}, schema
        )
        emitted = state.advance(rows, 20 * number)
        forever.advance(rows, 20 * number)
        forgotten += emitted.forgotten
        sizes.append(state.size.keys)
    assert max(sizes) <= 20  # five new keys in 50 ticks, each for 150 at most
    assert forever.size.keys == state.size.keys + forgotten > 2 * max(sizes)


@pytest.mark.parametrize(
    ("windows", "given", "error"),
    [
        (window.time(10, slide=5), {"forget": 10}, r"state of time\(10, slide=5\) expires by itself"),
        (window.session(5), {"forget": 10}, r"session\(5\) expires by itself"),
        (window.time(5), {"forget": 10}, r"time\(5\) expires by itself"),
        ({"a": window.time(5, closed="both"), "b": window.rows(3)}, {"forget": 5}, r"too short for time\(5, closed"),
        (window.rows(3), {"forget": 0}, "forget"),
        (window.rows(3), {"forget": -3}, "forget"),
        (window.rows(3), {"forget": "1d"}, "holds integers"),
        (window.rows(3), {"forget": "soon"}, "forget"),
        (window.rows(3), {"forget": 10, "order": "keys"}, "order of time"),
        (window.tumbling(5), {"forget": 10, "mode": "update"}, "expires by itself"),
    ],
    ids=str,
)
def test_what_is_rejected(windows: Any, given: Any, error: str) -> None:
    query = sash.Query(COMMUTE, windows, by="k", time="t")
    with pytest.raises(ValueError, match=error):
        query.run(pa.RecordBatchReader.from_batches(SCHEMA, []), **given)


def test_other_data_has_no_such_option() -> None:
    query = sash.Query(COMMUTE, window.rows(3), by="k", time="t")
    with pytest.raises(
        TypeError, match="forget= is for a streaming DataFrame and a RecordBatchReader, but the data is"
    ):
        query.run(table_of([]), forget=10)
    without_time = sash.Query(COMMUTE, window.rows(3), by="k")
    with pytest.raises(ValueError, match="needs rows in order of time"):
        without_time.run(pa.RecordBatchReader.from_batches(SCHEMA, []), forget=10)


def test_windows_of_time_may_be_as_long_as_keys_are_known() -> None:
    """The window of a row does not hold the row exactly its range before."""
    query = sash.Query(COMMUTE, {"a": window.time(5), "b": window.rows(3)}, by="k", time="t")
    prepared = prepare(query._declared, SCHEMA)
    assert str(read_forget(prepared, 5)) == "5"
    assert read_forget(prepared, None) is None


@pytest.mark.parametrize("name", [name for name, one in EXAMPLES.items() if needed_for(one, UNIT) is not None])
def test_no_window_holds_rows_that_are_further_apart_than_it_says(name: str) -> None:
    chosen = EXAMPLES[name]
    apart = needed_for(chosen, UNIT)
    assert apart is not None
    query = sash.Query({"n": agg.count()}, chosen, time="t")
    for first in range(30):
        table = pa.table({"t": [first, first + apart + 1]})
        assert all(not n or n <= 1 for n in query.run(table, compiled=False)["n"].to_pylist())
