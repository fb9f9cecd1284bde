"""A log of deltas is the state that was encoded as a whole, bit by bit; what is damaged or missing is an error."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from helpers.cases import SOAK
from helpers.pairwise import FULL, some
from helpers.streams import COLUMNS, COMMUTE, OF_TIME, ORDERED, WINDOWS, table_of
from hypothesis import given, settings
from hypothesis import strategies as st

import sash
from sash import agg, window
from sash.engine.prepare import prepare
from sash.engine.stream_plan import stream_plan
from sash.state import state_log
from sash.state.codec import read_arrays, read_state_header, read_table
from sash.state.fingerprint import fingerprint_query
from sash.state.state_log import Origins, diff, is_due, patch, read_log
from sash.state.stream_state import StreamState

KEYS = 4
made_rows = st.lists(st.tuples(st.integers(0, KEYS), st.integers(1, 60), st.integers(0, 5), st.booleans()), max_size=30)


class Log:
    """Micro-batches of a stream, whose state is stored as a base and deltas."""

    def __init__(self, query: sash.Query, schema: pa.Schema, *, compiled: bool | None, mode: str = "append") -> None:
        self.prepared = prepare(query._declared, schema, compiled=compiled)
        self.fingerprint = fingerprint_query(query._declared, COLUMNS)
        self.mode = mode
        self.base, self.deltas, self.number = b"", list[bytes](), 0
        self.whole = b""

    def run(self, table: pa.Table, watermark: int, *, reload: bool) -> None:
        """Run a micro-batch from the whole state before or, if `reload`, from its log."""
        state = StreamState(self.prepared, self.mode)
        if self.number and reload:
            state.decode_log(self.base, self.deltas, self.fingerprint, str(self.number))
        elif self.number:
            state.decode(self.whole, self.fingerprint)
        state.advance(table, watermark)
        delta = state.encode_delta(str(self.number), str(self.number + 1))
        self.number += 1
        self.whole = state.encode(self.fingerprint, str(self.number))
        if delta is None:
            self.compact()
        else:
            self.deltas.append(delta)
        self.check()

    def compact(self) -> None:
        """Replace the log by a base."""
        self.base, self.deltas = self.whole, []

    def check(self) -> None:
        """Assert that the log is the whole state."""
        header = read_state_header(self.whole)
        expected = read_arrays(self.whole, header)
        found, described = read_log(self.base, self.deltas, str(self.number))
        assert (described["watermark"], described["query"]) == (header["watermark"], header["query"])
        assert sorted(found) == sorted(expected)
        for name, array in expected.items():
            if (
                name.split(" ", 1)[1].removeprefix(state_log.SLICES) in state_log.TABLES
            ):  # what Arrow stores below a null does not matter
                assert read_table(found[name]).equals(read_table(array), check_metadata=True), name
            else:
                assert found[name].dtype == array.dtype, name
                assert found[name].tobytes() == array.tobytes(), name


def run_in_any_order(log: Log, table: pa.Table, delay: int, data: st.DataObject) -> None:
    """Run rows in any order and in any micro-batches; sometimes there is a new base, sometimes the log is read."""
    order = np.array(data.draw(st.permutations(range(len(table)))), np.int64)
    newest = 0
    for part in np.array_split(order, data.draw(st.integers(1, 9))):
        rows = table.take(pa.array(part))
        log.run(rows, max(0, newest - delay), reload=data.draw(st.booleans()))
        newest = max(newest, *rows["t"].to_pylist(), 0)
        if data.draw(st.integers(0, 5)) == 0:
            log.compact()
    for watermark in (newest, newest + 15, 1_000):
        log.run(table.slice(0, 0), watermark, reload=True)


@pytest.mark.parametrize("name", some(OF_TIME, 3))
@settings(max_examples=60 if SOAK else 6 if FULL else 3, deadline=None)
@given(made_rows, st.integers(0, 30), st.data())
def test_a_log_of_slices_is_the_whole_state(name: str, made: list[Any], delay: int, data: st.DataObject) -> None:
    query = sash.Query(COMMUTE, WINDOWS[name], by="k", time="t")
    table = table_of(made)
    run_in_any_order(Log(query, table.schema, compiled=True), table, delay, data)


@pytest.mark.parametrize("name", some(WINDOWS, 2))
@settings(max_examples=60 if SOAK else 4 if FULL else 3, deadline=None)
@given(made_rows, st.integers(0, 30), st.data())
def test_a_log_of_rows_or_prefixes_is_the_whole_state(
    name: str, made: list[Any], delay: int, data: st.DataObject
) -> None:
    aggregates = data.draw(st.sampled_from([COMMUTE, ORDERED]))
    query = sash.Query(aggregates, WINDOWS[name], by="k", time="t", order_by="id")
    table = table_of(made)
    run_in_any_order(Log(query, table.schema, compiled=False), table, delay, data)


WITH_TAILS: dict[str, Any] = {
    "all": window.expanding(),
    "all and the last three": {"all": window.expanding(), "last": window.rows(3)},
    "a tail": window.time(20, tail=4),
    "tails": {"far": window.time(30, tail=10), "near": window.time(9, tail=3, closed="left"), "last": window.rows(2)},
}


@pytest.mark.parametrize("windows", WITH_TAILS.values(), ids=WITH_TAILS)
@pytest.mark.parametrize("by", [("k",), ("k", "kind"), ()], ids=("a key", "two keys", "no key"))
@settings(max_examples=60 if SOAK else 8 if FULL else 4, deadline=None)
@given(made_rows, st.integers(0, 30), st.data())
def test_a_log_of_tails_is_the_whole_state(
    windows: Any, by: tuple[str, ...], made: list[Any], delay: int, data: st.DataObject
) -> None:
    query = sash.Query({**COMMUTE, "first": agg.first("x")}, windows, by=by, time="t", order_by="id")
    table = with_kinds(table_of(made))
    log = Log(query, table.schema, compiled=None)
    assert stream_plan(log.prepared).stores_tails
    run_in_any_order(log, table, delay, data)


def test_a_delta_of_prefixes_is_as_large_as_the_change() -> None:
    """Rows of two of many keys, one of which is new."""
    query = sash.Query(COMMUTE, window.expanding(), by="k", time="t")
    log = Log(query, table_of([]).schema, compiled=None)
    log.run(table_of([(key, 1, key, False) for key in range(5_000)]), 0, reload=False)
    log.run(table_of([]), 5, reload=False)  # the rows become prefixes
    log.run(table_of([(7, 6, 1, False), (9_999, 6, 1, False)]), 5, reload=False)
    log.run(table_of([(8, 9, 1, False)]), 9, reload=True)
    assert len(log.whole) > 200_000
    assert max(map(len, log.deltas[-2:])) < 4_000


def with_kinds(table: pa.Table) -> pa.Table:
    """Rows with a second key, a string or null."""
    marks, keys = table["mark"].to_pylist(), table["k"].to_pylist()
    kinds = [None if mark else f"kind {key}" for mark, key in zip(marks, keys, strict=True)]
    return table.append_column("kind", pa.array(kinds, pa.string()))


@pytest.mark.parametrize("windows", [window.time(10, slide=5), window.session(4), window.rows(3)], ids=repr)
@settings(max_examples=60 if SOAK else 6 if FULL else 3, deadline=None)
@given(made_rows, st.integers(0, 30), st.data())
def test_keys_of_several_columns(windows: Any, made: list[Any], delay: int, data: st.DataObject) -> None:
    query = sash.Query(COMMUTE, windows, by=("k", "kind"), time="t")
    table = with_kinds(table_of(made))
    run_in_any_order(Log(query, table.schema, compiled=True), table, delay, data)


@pytest.mark.parametrize("windows", [window.time(10, slide=5), window.time(10)], ids=repr)
@settings(max_examples=60 if SOAK else 6 if FULL else 3, deadline=None)
@given(made_rows, st.integers(0, 30), st.data())
def test_a_stream_without_keys(windows: Any, made: list[Any], delay: int, data: st.DataObject) -> None:
    query = sash.Query(COMMUTE, windows, time="t")
    table = table_of(made)
    run_in_any_order(Log(query, table.schema, compiled=True), table, delay, data)


@pytest.mark.parametrize("compiled", [None, False], ids=["slices", "rows"])
@settings(max_examples=60 if SOAK else 10 if FULL else 5, deadline=None)
@given(made_rows, st.data())
def test_updates(compiled: bool | None, made: list[Any], data: st.DataObject) -> None:
    query = sash.Query(COMMUTE, window.session(4), by="k", time="t")
    table = table_of(made)
    run_in_any_order(Log(query, table.schema, compiled=compiled, mode="update"), table, 10, data)


def log_of(changes: int = 3) -> Log:
    """Return a log with some deltas."""
    query = sash.Query(COMMUTE, window.time(10, slide=5), by="k", time="t")
    log = Log(query, table_of([]).schema, compiled=True)
    for number in range(changes + 1):
        log.run(table_of([(key, 5 * number + 1, key, False) for key in range(number + 2)]), 0, reload=False)
    assert len(log.deltas) == changes
    return log


def test_what_is_missing_or_damaged_is_an_error() -> None:
    log = log_of()
    first, second, third = log.deltas
    broken = {
        "the first is missing": [second, third],
        "one between is missing": [first, third],
        "one is doubled": [first, first, second, third],
        "the order changed": [first, third, second],
        "the last is missing": [first, second],
        "one is of another base": log_of(1).deltas[:1] * 2,
        "a bit changed": [first, second[:-9] + bytes([second[-9] ^ 1]) + second[-8:], third],
        "one is cut short": [first, second[:30], third],
        "one is empty": [first, b"", third],
        "one is no delta": [first, log.base, third],
    }
    for why, deltas in broken.items():
        with pytest.raises(ValueError, match="start from an intact checkpoint, or from a new one"):
            read_log(log.base, deltas, str(log.number))
        assert why
    with pytest.raises(ValueError, match="change 1 of 3 follows another state"):
        read_log(log.whole, log.deltas, str(log.number))
    with pytest.raises(ValueError, match="were cut short or changed"):
        read_log(log.base[:-9] + b"x" + log.base[-8:], log.deltas, str(log.number))


def test_a_log_of_another_query_is_refused() -> None:
    log = log_of()
    other = fingerprint_query(sash.Query(COMMUTE, window.tumbling(5), by="k", time="t")._declared, COLUMNS)
    with pytest.raises(ValueError, match="different query: windows"):
        StreamState(log.prepared).decode_log(log.base, log.deltas, other)


@pytest.mark.parametrize("delta", ["gone", "places", "gone keys", "changed sizes"])
def test_a_delta_that_does_not_fit_is_an_error(delta: str) -> None:
    before = {"sizes": np.array([2, 1]), "times": np.array([10, 20, 10])}
    after = {"sizes": np.array([3, 1]), "times": np.array([10, 20, 30, 10])}
    made = diff(before, after, Origins(np.array([0, 1, -1, 2]), np.array([0, 1])))
    assert patch(before, [made])["times"].tolist() == [10, 20, 30, 10]
    with pytest.raises(ValueError, match="a change does not fit the state that it applies to"):
        patch(before, [{**made, delta: np.array([9])}])


def test_a_delta_is_as_large_as_the_change() -> None:
    """One row for one of many keys, and then a window that ends for all of them."""
    query = sash.Query(COMMUTE, window.time(10, slide=5), by="k", time="t")
    log = Log(query, table_of([]).schema, compiled=True)
    keys = 5_000
    log.run(table_of([(key, time, key, False) for key in range(keys) for time in (1, 6)]), 0, reload=False)
    log.run(table_of([(7, 6, 1, False), (8, 11, 1, False)]), 0, reload=False)
    log.run(table_of([(9, 12, 1, False)]), 10, reload=False)  # the slice [0, 5) of each key is dropped
    assert len(log.base) > 100 * keys
    one, all_end = log.deltas
    assert len(one) < 2_000
    assert len(all_end) < 12 * keys  # its place, and the number of slices of the key


def test_one_state_has_one_delta() -> None:
    """After two micro-batches, nobody knows where items were before the first."""
    log = log_of(0)
    state = StreamState(log.prepared)
    assert state.encode_delta("a", "b") is None
    state.decode(log.whole, log.fingerprint)
    assert state.encode_delta("a", "b") is None
    state.advance(table_of([(0, 3, 1, False)]), 0)
    assert state.encode_delta("a", "b") is not None
    state.advance(table_of([(0, 3, 1, False)]), 0)
    assert state.encode_delta("a", "b") is None


def test_all_bases_are_about_as_large_as_all_deltas() -> None:
    for bucket in range(20):
        written = base = log = deltas = 0
        for size in range(1, 400):  # a state that grows by one in each micro-batch
            log, deltas = log + 1, deltas + 1
            written += 1
            if is_due(base, log, deltas, bucket):
                base, log, deltas = size, 0, 0
                written += size - 1
        assert written < 3 * 400
