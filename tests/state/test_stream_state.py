"""Rows in any order and in any micro-batches, with the state encoded after each, give the results of the rows in time as one table."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from helpers.cases import SOAK
from helpers.late_rows import MODELLED, LateRows
from helpers.pairwise import FULL
from helpers.queries import assert_equal
from helpers.streams import COLUMNS, COMMUTE, OF_TIME, ORDERED, WINDOWS, rows_of, table_of
from hypothesis import given, settings
from hypothesis import strategies as st

import sash
from sash import agg, window
from sash.engine.prepare import prepare
from sash.kernels.array_codec import encode_arrays
from sash.state.fingerprint import fingerprint_query
from sash.state.row_state import RowState
from sash.state.stream_state import StreamState, first_in_time
from sash.testing import recompute_query
from sash.windows.base import FOREVER

made_rows = st.lists(st.tuples(st.integers(0, 2), st.integers(1, 40), st.integers(0, 5), st.booleans()), max_size=25)


class Driver:
    """Does what Spark does: runs micro-batches, each with the watermark of those before it."""

    def __init__(
        self, query: sash.Query, schema: pa.Schema, delay: int, *, compiled: bool | None = False, mode: str = "append"
    ) -> None:
        self.query = query
        self.prepared = prepare(query._declared, schema, compiled=compiled)
        self.fingerprint = fingerprint_query(query._declared, COLUMNS)
        self.delay = delay
        self.mode = mode
        self.state = StreamState(self.prepared, mode)
        self.watermark = self.newest = 0
        self.in_time: list[pa.Table] = []
        self.emitted: list[pa.Table] = []
        self.late = 0

    def run(self, table: pa.Table) -> None:
        """Run a micro-batch, from the encoded state of the one before."""
        self.watermark = max(self.watermark, self.newest - self.delay)
        stored = self.state.encode(self.fingerprint)
        self.state = StreamState(self.prepared, self.mode)
        self.state.decode(stored, self.fingerprint)
        now, before = first_in_time(self.prepared, self.watermark), self.state.watermark
        if self.state.due > now:
            self._nothing_is_due(stored, now)
        emitted = self.state.advance(table, now)
        times = table["t"].to_numpy()
        in_time = times >= before  # of windows that rows end; others are tested with a model of late rows
        assert self.has_time or emitted.late == len(table) - np.count_nonzero(in_time)
        self.late += emitted.late
        self.in_time.append(table.filter(pa.array(in_time)))
        self.emitted.append(emitted.results)
        self.newest = max(self.newest, int(times.max(initial=0)))

    def _nothing_is_due(self, stored: bytes, now: int) -> None:
        """Assert that nothing is emitted, and no key is removed, before it is due."""
        other = StreamState(self.prepared, self.mode)
        other.decode(stored, self.fingerprint)
        keys = key_count(other)
        assert len(other.advance(self.prepared.schema.empty_table(), now).results) == 0
        assert key_count(other) == keys

    @property
    def has_time(self) -> bool:
        """Whether there are windows of time, for which other rows are late."""
        return any(window.is_time for window in self.prepared.plan.windows.values())

    @property
    def accepts_ties(self) -> bool:
        """Whether a row at the watermark is in time."""
        return all(window.lateness.half_open for window in self.prepared.plan.windows.values())

    def idle(self) -> None:
        """Advance the watermark without rows, from one due time to the next."""
        while (due := self.state.due) != FOREVER:
            assert due > self.state.watermark
            self.emitted.append(self.state.advance(self.prepared.schema.empty_table(), due).results)

    @property
    def results(self) -> list[str]:
        """All results so far."""
        return sorted(row for table in self.emitted for row in rows_of(table))

    @property
    def expected(self) -> pa.Table:
        """The results of the rows that came in time, as one table."""
        return self.query.run(pa.concat_tables(self.in_time), compiled=False)


def micro_batches(table: pa.Table, cuts: list[int]) -> list[pa.Table]:
    """A table in micro-batches, some of which may have no rows."""
    places = [0, *sorted(min(cut, len(table)) for cut in cuts), len(table)]
    return [table.slice(begin, end - begin) for begin, end in pairwise(places)]


def arrivals(table: pa.Table, data: st.DataObject) -> list[pa.Table]:
    """Rows in any order, with some twice, in any number of micro-batches."""
    order = data.draw(st.permutations(range(len(table))))
    twice = data.draw(st.lists(st.integers(0, max(0, len(table) - 1)), max_size=3 if len(table) else 0))
    come = table.take(pa.array([*order, *twice], pa.int64()))
    ids = pa.array(range(len(come)), pa.int64())  # a row that comes twice is two rows
    come = come.set_column(0, "id", ids)
    one_by_one = list(range(1, len(come)))
    cuts = data.draw(st.just([]) | st.just(one_by_one) | st.lists(st.integers(0, len(come)), max_size=6))
    return micro_batches(come, cuts)


@pytest.mark.parametrize("name", [name for name in WINDOWS if name not in OF_TIME and name != "mixed"])
@settings(max_examples=60 if SOAK else 10 if FULL else 5, deadline=None)
@given(made_rows, st.integers(0, 12), st.data())
def test_rows_in_any_order_give_the_results_of_the_rows_in_time(
    name: str, made: list[Any], delay: int, data: st.DataObject
) -> None:
    aggregates = data.draw(st.sampled_from([COMMUTE, ORDERED]))
    query = sash.Query(aggregates, WINDOWS[name], by="k", time="t", order_by="id")
    driver = Driver(query, table_of(made).schema, delay)
    for batch in arrivals(table_of(made), data):
        driver.run(batch)
    driver.idle()
    driver.emitted.append(driver.state.finish())
    assert driver.results == rows_of(driver.expected)


def emitted_windows(results: pa.Table, windows: dict[str, Any]) -> list[Any]:
    """The windows of a result as the model of late rows shows them."""
    [only, *_] = windows
    return sorted(
        (row.get("window", only), row["k"], row["window_start"], row["window_end"], row["rows"])
        for row in results.to_pylist()
    )


@pytest.mark.parametrize("compiled", [None, True, False], ids=["slices", "slices, compiled", "rows"])
@pytest.mark.parametrize("name", MODELLED)
@settings(max_examples=60 if SOAK else 8 if FULL else 4, deadline=None)
@given(made_rows, st.integers(0, 12), st.data())
def test_each_micro_batch_emits_what_the_model_of_late_rows_emits(
    name: str, compiled: bool | None, made: list[Any], delay: int, data: st.DataObject
) -> None:
    windows = WINDOWS[name]
    arrived = [with_bits(batch) for batch in arrivals(table_of(made), data)]
    query = sash.Query({"rows": agg.sum("bit")}, windows, by="k", time="t")
    driver = Driver(query, with_bits(table_of([])).schema, delay, compiled=compiled)
    model = LateRows(windows)
    for batch in arrived:
        mark = driver.state.watermark
        for row in batch.to_pylist():
            model.add(row["k"], row["t"], row["bit"], mark)
        driver.run(batch)
        assert emitted_windows(driver.emitted[-1], windows) == model.emit(driver.state.watermark)
    assert driver.late == model.late
    assert emitted_windows(driver.state.finish(), windows) == model.emit(FOREVER)


@settings(max_examples=60 if SOAK else 8 if FULL else 4, deadline=None)
@given(made_rows, st.integers(0, 12), st.data())
def test_windows_that_follow_rows_and_windows_of_time_have_late_rows_of_their_own(
    made: list[Any], delay: int, data: st.DataObject
) -> None:
    """The results of both are those of two queries; a row is counted as late if it is late in both."""
    arrived = [with_bits(batch) for batch in arrivals(table_of(made), data)]
    schema = with_bits(table_of([])).schema
    of_rows = {name: one for name, one in WINDOWS["mixed"].items() if not one.is_time}
    of_time = {name: one for name, one in WINDOWS["mixed"].items() if one.is_time}
    together, rows, times = (
        Driver(sash.Query({"rows": agg.sum("bit")}, windows, by="k", time="t"), schema, delay)
        for windows in (WINDOWS["mixed"], of_rows, of_time)
    )
    for batch in arrived:
        for driver in (together, rows, times):
            driver.run(batch)
    assert together.late == times.late <= rows.late
    for driver in (together, rows, times):
        driver.emitted.append(driver.state.finish())
    found = sorted(row for table in together.emitted for row in emitted_windows(table, WINDOWS["mixed"]))
    alone = [(rows, of_rows), (times, of_time)]
    assert found == sorted(
        row for driver, own in alone for table in driver.emitted for row in emitted_windows(table, own)
    )


def with_bits(table: pa.Table) -> pa.Table:
    """Rows with a bit of their own each."""
    return table.append_column("bit", pa.array([1 << number for number in table["id"].to_pylist()], pa.int64()))


def test_rows_of_open_windows_are_not_late() -> None:
    """The example of Spark: it keeps both rows of [90, 100), although they are older than the watermark of their batch."""
    table = table_of([(0, time, 1, False) for time in (0, 100, 92, 94, 200)])
    for compiled in (None, True, False):
        driver = Driver(
            sash.Query(agg.count(), window.tumbling(10), by="k", time="t"), table.schema, 5, compiled=compiled
        )
        for batch in micro_batches(table, [1, 2, 3, 4]):
            driver.run(batch)
        driver.idle()
        found = pa.concat_tables(driver.emitted).to_pylist()
        assert driver.late == 0
        assert [(row["window_start"], row["count"]) for row in found] == [(0, 1), (90, 2), (100, 1), (200, 1)]


@pytest.mark.parametrize("name", ["time", "session", "last_rows", "mixed"])
@settings(max_examples=60 if SOAK else 8 if FULL else 4, deadline=None)
@given(made_rows, st.data())
def test_the_oracle_agrees(name: str, made: list[Any], data: st.DataObject) -> None:
    aggregates = {**COMMUTE, **ORDERED}
    query = sash.Query(aggregates, WINDOWS[name], by="k", time="t", order_by="id")
    driver = Driver(query, table_of(made).schema, 40)
    for batch in arrivals(table_of(made), data):
        driver.run(batch)
    driver.emitted.append(driver.state.finish())
    assert driver.late == 0
    rows = pa.concat_tables(driver.in_time)
    oracle = recompute_query(rows.to_pylist(), aggregates, WINDOWS[name], by=("k",), time="t", order_by=("id",))
    names = driver.expected.column_names
    expected = pa.Table.from_pylist([{name: row[name] for name in names} for row in oracle], driver.expected.schema)
    assert driver.results == rows_of(expected)


@pytest.mark.parametrize("name", OF_TIME)
@settings(max_examples=60 if SOAK else 12 if FULL else 6, deadline=None)
@given(made_rows, st.data())
def test_merged_updates_are_the_result(name: str, made: list[Any], data: st.DataObject) -> None:
    """What a MERGE by key and window keeps of all updates is the result of a batch run."""
    query = sash.Query(COMMUTE, WINDOWS[name], by="k", time="t")
    driver = Driver(query, table_of(made).schema, 40, mode="update")
    merged: dict[Any, Any] = {}
    for batch in arrivals(table_of(made), data):
        driver.run(batch)
        for row in driver.emitted[-1].to_pylist():
            at = tuple(row.get(column) for column in ("k", "window", "window_start", "window_end"))
            if row.pop("change") == "delete":
                del merged[at]
            else:
                merged[at] = row
    assert driver.late == 0
    assert rows_of(pa.Table.from_pylist(list(merged.values()), driver.expected.schema)) == rows_of(driver.expected)


def test_a_row_at_the_watermark() -> None:
    table = table_of([(0, 5, 1, False), (0, 15, 2, False)])
    for windows, late in ((window.tumbling(10), 0), (window.rows(2), 1), (window.session(3), 0)):
        driver = Driver(sash.Query(agg.count(), windows, by="k", time="t"), table.schema, 10)
        driver.run(table)
        driver.run(table.slice(0, 0))  # a row is compared with the watermark of the micro-batch before its own
        driver.run(table.slice(0, 1))
        assert (driver.watermark, driver.late) == (5, late)


def test_sums_of_several_micro_batches_that_overflow_are_an_error() -> None:
    table = table_of([(0, 5, 2**62, False), (0, 6, 2**62, False), (0, 50, 1, False)])
    driver = Driver(sash.Query(COMMUTE, window.tumbling(10), by="k", time="t"), table.schema, 20, compiled=True)
    *before, last = micro_batches(table, [1, 2, 3])
    for batch in before:
        driver.run(batch)
    with pytest.raises(
        OverflowError, match=r"the slice of k=0 from t=0 on: The sum of a window needs more than 64 bits"
    ):
        driver.run(last)


def test_state_that_is_damaged_or_of_another_query_is_refused() -> None:
    table = table_of([(0, 5, 1, False), (1, 15, 2, False)])
    query = sash.Query(agg.sum("x"), window.tumbling(10), by="k", time="t")
    driver = Driver(query, table.schema, 0)
    driver.run(table)
    stored = driver.state.encode(driver.fingerprint)
    fresh = StreamState(driver.prepared)
    with pytest.raises(ValueError, match="were cut short or changed: start from an intact checkpoint"):
        fresh.decode(stored[:-9] + b"x" + stored[-8:], driver.fingerprint)
    with pytest.raises(ValueError, match="are not a frozen Sash state of a stream"):
        fresh.decode(b"nonsense", driver.fingerprint)
    with pytest.raises(ValueError, match="not a state of a stream"):
        fresh.decode(encode_arrays({}, {"aggregate": "max"}), driver.fingerprint)
    other = fingerprint_query(sash.Query(agg.sum("x"), window.tumbling(20), by="k", time="t")._declared, COLUMNS)
    with pytest.raises(ValueError, match=r"different query: windows: time: tumbling\(10\) became tumbling\(20\)"):
        fresh.decode(stored, other)


def key_count(state: StreamState) -> int:
    """How many keys have state."""
    count = 0
    for one in state.states.states:
        if isinstance(one, RowState):
            count += len(one.sizes)
        else:
            count += 0 if one.slices is None else len(one.slices.keys)
    return count


def test_keys_without_open_windows_have_no_state() -> None:
    table = table_of([(key, key + 1, 5, True) for key in range(20)])
    ended: list[Any] = [window.punctuated("mark"), window.rows(1, slide=1), window.custom(lambda row: (1, row["mark"]))]
    for windows in ended:
        driver = Driver(sash.Query(agg.count(), windows, by="k", time="t"), table.schema, 0)
        driver.run(table)
        driver.idle()
        assert len(driver.state) == 0
        assert driver.results == rows_of(driver.expected)


def test_rounding_does_not_grow_with_the_stream() -> None:
    chooser = np.random.default_rng(5)
    query = sash.Query({"m": agg.mean("x"), "s": agg.stddev("x")}, window.time(30, slide=10), by="k", time="t")
    times = np.arange(1, 2001) + chooser.integers(0, 20, 2000)
    table = table_of([(int(n) % 3, int(t), int(n) % 7, False) for n, t in enumerate(times)])
    driver = Driver(query, table.schema, 25)
    for batch in micro_batches(table, list(range(0, 2000, 97))):
        driver.run(batch)
    driver.idle()
    found = pa.concat_tables(driver.emitted).sort_by([("k", "ascending"), ("window_start", "ascending")])
    expected = driver.expected.sort_by([("k", "ascending"), ("window_start", "ascending")])
    assert_equal(found, expected.to_pylist())
