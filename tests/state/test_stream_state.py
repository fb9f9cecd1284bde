"""Rows in any order and in any pieces, with the state frozen after each, give what the rows that came in time give at once."""

from __future__ import annotations

import re
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from helpers.cases import SOAK
from helpers.queries import assert_equal
from helpers.streams import COLUMNS, COMMUTE, OF_TIME, ORDERED, WINDOWS, rows_of, table_of
from hypothesis import given, settings
from hypothesis import strategies as st

import sash
from sash import agg, window
from sash.engine.prepare import prepare
from sash.kernels.array_codec import encode_arrays
from sash.state.fingerprint import changes, fingerprint_query
from sash.state.row_state import RowState
from sash.state.stream_state import StreamState, first_in_time
from sash.testing import recompute_query
from sash.windows.base import FOREVER

made_rows = st.lists(st.tuples(st.integers(0, 2), st.integers(1, 40), st.integers(0, 5), st.booleans()), max_size=25)


class Driver:
    """What Spark does: micro-batches, each with the watermark that those before it have left."""

    def __init__(
        self, query: sash.Query, schema: pa.Schema, delay: int, *, compiled: bool = False, mode: str = "append"
    ) -> None:
        self.query = query
        self.prepared = prepare(query._declared, schema, compiled=compiled)
        self.described = fingerprint_query(query._declared, COLUMNS)
        self.delay = delay
        self.mode = mode
        self.keeper = StreamState(self.prepared, mode)
        self.watermark = self.newest = 0
        self.taken: list[pa.Table] = []
        self.given: list[pa.Table] = []
        self.late = 0

    def batch(self, table: pa.Table) -> None:
        """Take a micro-batch, from the state that the one before has left."""
        self.watermark = max(self.watermark, self.newest - self.delay)
        frozen = self.keeper.encode(self.described)
        self.keeper = StreamState(self.prepared, self.mode)
        self.keeper.decode(frozen, self.described)
        now = first_in_time(self.prepared, self.watermark)
        if self.keeper.due > now:
            self._nothing_is_due(frozen, now)
        taken = self.keeper.advance(table, now)
        times = table["t"].to_numpy()
        in_time = times >= self.watermark if self.accepts_ties else times > self.watermark
        assert taken.late == len(table) - np.count_nonzero(in_time)
        self.late += taken.late
        self.taken.append(table.filter(pa.array(in_time)))
        self.given.append(taken.results)
        self.newest = max(self.newest, int(times.max(initial=0)))

    def _nothing_is_due(self, frozen: bytes, now: int) -> None:
        """No results come, and no key goes, before they are due."""
        other = StreamState(self.prepared, self.mode)
        other.decode(frozen, self.described)
        keys = key_count(other)
        assert len(other.advance(self.prepared.schema.empty_table(), now).results) == 0
        assert key_count(other) == keys

    @property
    def accepts_ties(self) -> bool:
        """Whether a row at the watermark is in time."""
        return all(window.half_open for window in self.prepared.plan.windows.values())

    def idle(self) -> None:
        """Let the watermark go on without rows, from one thing that is due to the next."""
        while (due := self.keeper.due) != FOREVER:
            assert due > self.keeper.watermark
            self.given.append(self.keeper.advance(self.prepared.schema.empty_table(), due).results)

    @property
    def results(self) -> list[str]:
        """All results so far."""
        return sorted(row for table in self.given for row in rows_of(table))

    @property
    def expected(self) -> pa.Table:
        """The results of the rows that came in time, as one table."""
        return self.query.run(pa.concat_tables(self.taken), compiled=False)


def pieces_of(table: pa.Table, cuts: list[int]) -> list[pa.Table]:
    """A table in pieces, some of which may have no rows."""
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
    return pieces_of(come, cuts)


@pytest.mark.parametrize("name", WINDOWS)
@settings(max_examples=60 if SOAK else 10, deadline=None)
@given(made_rows, st.integers(0, 12), st.data())
def test_any_arrival_gives_what_the_rows_in_time_give(
    name: str, made: list[Any], delay: int, data: st.DataObject
) -> None:
    aggregates = data.draw(st.sampled_from([COMMUTE, ORDERED]))
    query = sash.Query(aggregates, WINDOWS[name], by="k", time="t", order_by="id")
    driver = Driver(query, table_of(made).schema, delay)
    for piece in arrivals(table_of(made), data):
        driver.batch(piece)
    passed = driver.results
    driver.idle()
    driver.given.append(driver.keeper.finish())
    assert driver.results == rows_of(driver.expected)
    if not query._declared.per_row and driver.accepts_ties:  # what the watermark has passed was given by then
        ends = driver.expected["window_end"].to_numpy()
        assert passed == rows_of(driver.expected.filter(pa.array(ends <= driver.watermark)))


@pytest.mark.parametrize("name", ["time", "session", "last_rows", "mixed"])
@settings(max_examples=60 if SOAK else 8, deadline=None)
@given(made_rows, st.data())
def test_the_oracle_says_the_same(name: str, made: list[Any], data: st.DataObject) -> None:
    aggregates = {**COMMUTE, **ORDERED}
    query = sash.Query(aggregates, WINDOWS[name], by="k", time="t", order_by="id")
    driver = Driver(query, table_of(made).schema, 40)
    for piece in arrivals(table_of(made), data):
        driver.batch(piece)
    driver.given.append(driver.keeper.finish())
    assert driver.late == 0
    rows = pa.concat_tables(driver.taken)
    oracle = recompute_query(rows.to_pylist(), aggregates, WINDOWS[name], by=("k",), time="t", order_by=("id",))
    names = driver.expected.column_names
    expected = pa.Table.from_pylist([{name: row[name] for name in names} for row in oracle], driver.expected.schema)
    assert driver.results == rows_of(expected)


@settings(max_examples=60 if SOAK else 8, deadline=None)
@given(made_rows, st.sampled_from(OF_TIME), st.integers(0, 12), st.data())
def test_slices_are_frozen_compiled(made: list[Any], name: str, delay: int, data: st.DataObject) -> None:
    query = sash.Query(COMMUTE, WINDOWS[name], by="k", time="t")
    driver = Driver(query, table_of(made).schema, delay, compiled=True)
    for piece in arrivals(table_of(made), data):
        driver.batch(piece)
    driver.idle()
    assert driver.results == rows_of(driver.expected)
    assert len(driver.keeper) == 0


@pytest.mark.parametrize("name", ["time", "cumulative", "session"])
@settings(max_examples=60 if SOAK else 12, deadline=None)
@given(made_rows, st.integers(0, 12), st.data())
def test_the_last_update_of_a_window_is_its_result(name: str, made: list[Any], delay: int, data: st.DataObject) -> None:
    query = sash.Query(COMMUTE, WINDOWS[name], by="k", time="t")
    driver = Driver(query, table_of(made).schema, delay, mode="update")
    for piece in arrivals(table_of(made), data):
        driver.batch(piece)
    final: dict[Any, Any] = {}
    for table in driver.given:
        for row in table.to_pylist():
            start = row["window_start"]
            if name == "session":  # a row may join sessions to one: those are no more
                final = {
                    at: one for at, one in final.items()
                    if at[0] != row["k"] or at[2] < start or at[1] > row["window_end"]
                }  # fmt: skip
            final[row["k"], start, row["window_end"]] = row
    assert rows_of(pa.Table.from_pylist(list(final.values()), driver.expected.schema)) == rows_of(driver.expected)


def test_a_row_at_the_watermark() -> None:
    table = table_of([(0, 5, 1, False), (0, 15, 2, False)])
    for windows, late in ((window.tumbling(10), 0), (window.rows(2), 1), (window.session(3), 1)):
        driver = Driver(sash.Query(agg.count(), windows, by="k", time="t"), table.schema, 10)
        driver.batch(table)
        driver.batch(table.slice(0, 1))
        assert (driver.watermark, driver.late) == (5, late)


def test_sums_of_several_pieces_that_overflow_are_an_error() -> None:
    table = table_of([(0, 5, 2**62, False), (0, 6, 2**62, False), (0, 50, 1, False)])
    driver = Driver(sash.Query(COMMUTE, window.tumbling(10), by="k", time="t"), table.schema, 20, compiled=True)
    *before, last = pieces_of(table, [1, 2, 3])
    for piece in before:
        driver.batch(piece)
    with pytest.raises(OverflowError, match=r"the slice of k=0 from t=0 on: The integers of a window add up to more"):
        driver.batch(last)


def test_what_is_wrong_with_state_is_said() -> None:
    table = table_of([(0, 5, 1, False), (1, 15, 2, False)])
    query = sash.Query(agg.sum("x"), window.tumbling(10), by="k", time="t")
    driver = Driver(query, table.schema, 0)
    driver.batch(table)
    frozen = driver.keeper.encode(driver.described)
    fresh = StreamState(driver.prepared)
    with pytest.raises(ValueError, match="were cut short or changed: start from an intact checkpoint"):
        fresh.decode(frozen[:-9] + b"x" + frozen[-8:], driver.described)
    with pytest.raises(ValueError, match="are not a frozen Sash state of a stream"):
        fresh.decode(b"nonsense", driver.described)
    with pytest.raises(ValueError, match="not a state of a stream"):
        fresh.decode(encode_arrays({}, {"aggregate": "max"}), driver.described)
    other = fingerprint_query(sash.Query(agg.sum("x"), window.tumbling(20), by="k", time="t")._declared, COLUMNS)
    with pytest.raises(ValueError, match=r"different query: windows: time: tumbling\(10\) became tumbling\(20\)"):
        fresh.decode(frozen, other)


def key_count(state: StreamState) -> int:
    """How many keys have state."""
    if isinstance(state.items, RowState):
        return len(state.items.sizes)
    return 0 if state.items.slices is None else len(state.items.slices.keys)


def told(then: sash.Query, now: sash.Query, **more: Any) -> list[str]:
    return changes(
        fingerprint_query(then._declared, COLUMNS, buckets=64),
        fingerprint_query(now._declared, COLUMNS, **{"buckets": 64, **more}),
    )


def test_what_has_changed_is_told() -> None:
    def query(**given: Any) -> sash.Query:
        declared = {"aggregates": {"a": agg.max("x")}, "windows": window.rows(3), "by": "k", "time": "t"}
        return sash.Query(**{**declared, **given})

    def own(step: int) -> Any:
        return sash.aggregate("own", lift=lambda x: x + step, combine=lambda older, newer: older + newer)("x")

    def rounded(places: int) -> Any:
        lower = lambda partial: round(partial, places)  # noqa: E731 — another function each time
        return sash.aggregate("own", lift=lambda x: x, combine=lambda older, newer: older + newer, lower=lower)("x")

    assert told(query(), query()) == []
    assert told(query(), query(), buckets=8) == ["buckets: 64 became 8"]
    assert told(query(), query(by=())) == ["by: k became nothing"]
    assert told(query(), query(aggregates={"b": agg.max("x")})) == [
        "aggregates: a = max(x) was removed", "aggregates: b = max(x) was added"
    ]  # fmt: skip
    two = {"a": agg.max("x"), "b": agg.min("x")}
    assert told(query(aggregates=two), query(aggregates=dict(reversed(two.items())))) == [
        "aggregates: their order changed from a, b to b, a"
    ]
    low, high = (query(aggregates={"q": agg.quantile("x", q)}) for q in (0.1, 0.9))
    assert told(low, high) == ["aggregates: q: quantile(x) of 0.1 became quantile(x) of 0.9"]
    assert told(query(aggregates={"a": own(1)}), query(aggregates={"a": own(1)})) == []
    assert told(query(aggregates={"a": own(1)}), query(aggregates={"a": own(2)})) == [
        "aggregate 'a': its functions changed"
    ]
    assert told(query(aggregates={"a": rounded(1)}), query(aggregates={"a": rounded(2)})) == []  # lower is no state
    marks = [query(windows=window.custom(lambda row, edge=edge: (1, row["x"] > edge))) for edge in (1, 2)]
    assert told(*marks) == ["window 'custom': its functions changed"]


def test_values_that_can_not_be_compiled_tell_functions_apart() -> None:
    def looked_up(table: Any) -> Any:
        return sash.aggregate("own", lift=lambda x: table[x], combine=lambda older, newer: older + newer)("x")

    def query(**given: Any) -> sash.Query:
        return sash.Query(**{"aggregates": agg.count(), "windows": window.rows(3), "by": "k", "time": "t", **given})

    def ends_at(number: int) -> sash.Query:
        return query(windows=window.custom(partial(ends_with, at=number)))

    tables: list[Any] = [({1: 2}, {1: 3}), ([{1}], [{2}]), (re.compile("a"), re.compile("b"))]
    for one, other in tables:
        same, again, changed = (query(aggregates={"a": looked_up(table)}) for table in (one, one, other))
        assert told(same, again) == []
        assert told(same, changed) == ["aggregate 'a': its functions changed"]
    assert told(ends_at(3), ends_at(3)) == []
    assert told(ends_at(3), ends_at(4)) == ["window 'custom': its functions changed"]
    assert told(query(windows=window.custom(Until(3))), query(windows=window.custom(Until(3)))) == []
    assert told(query(windows=window.custom(Until(3))), query(windows=window.custom(Until(5))))
    assert repr(window.custom(Until(3))) == "custom(Until)"


def ends_with(row: Any, at: int) -> tuple[int, int]:
    return 1, row["x"] == at


class Until:
    def __init__(self, limit: int) -> None:
        self.limit = limit

    def __call__(self, row: Any) -> tuple[int, int]:
        return 1, row["x"] > self.limit


def test_versions_of_modules_are_no_change(monkeypatch: pytest.MonkeyPatch) -> None:
    def query() -> sash.Query:
        root = sash.aggregate("own", lift=lambda x: np.sqrt(x) + 1, combine=lambda older, newer: older + newer)
        return sash.Query({"a": root("x")}, window.rows(3), by="k", time="t")

    before = fingerprint_query(query()._declared, COLUMNS)
    monkeypatch.setattr(np, "__version__", "9.9")
    assert changes(before, fingerprint_query(query()._declared, COLUMNS)) == []


def test_keys_of_which_nothing_is_open_are_forgotten() -> None:
    table = table_of([(key, key + 1, 5, True) for key in range(20)])
    ended: list[Any] = [window.punctuated("mark"), window.rows(1, slide=1), window.custom(lambda row: (1, row["mark"]))]
    for windows in ended:
        driver = Driver(sash.Query(agg.count(), windows, by="k", time="t"), table.schema, 0)
        driver.batch(table)
        driver.idle()
        assert len(driver.keeper) == 0
        assert driver.results == rows_of(driver.expected)


class Slotted:
    __slots__ = ("seen",)

    def __call__(self, _: Any) -> tuple[int, int]:
        return 1, 1


def closure() -> Any:
    seen: list[Any] = []
    return lambda row: (seen.append(row) or 1, 1)  # type: ignore[func-returns-value]


class Keeps:
    def __init__(self) -> None:
        self.seen: Any = (1, 2)

    def __call__(self, _: Any) -> tuple[int, int]:
        return 1, 1


class Remembers(Keeps):
    def __init__(self) -> None:
        self.seen = {"least": float("nan"), "some": [1, None, "x"]}


def test_numbers_that_are_none_are_kept_too() -> None:
    kept: Any = window.custom(Remembers)
    kept.check_restart()


@pytest.mark.parametrize("made", [Slotted, closure, Keeps])
def test_windows_whose_state_would_be_lost_are_refused(made: Any) -> None:
    lost: Any = window.custom(made)
    with pytest.raises(
        TypeError, match=r"has state that cannot be stored for a restart\. Make it a class whose attributes"
    ):
        lost.check_restart()


def test_results_are_alike_however_long_the_stream() -> None:
    chooser = np.random.default_rng(5)
    query = sash.Query({"m": agg.mean("x"), "s": agg.stddev("x")}, window.time(30, slide=10), by="k", time="t")
    times = np.arange(1, 2001) + chooser.integers(0, 20, 2000)
    table = table_of([(int(n) % 3, int(t), int(n) % 7, False) for n, t in enumerate(times)])
    driver = Driver(query, table.schema, 25)
    for piece in pieces_of(table, list(range(0, 2000, 97))):
        driver.batch(piece)
    driver.idle()
    found = pa.concat_tables(driver.given).sort_by([("k", "ascending"), ("window_start", "ascending")])
    expected = driver.expected.sort_by([("k", "ascending"), ("window_start", "ascending")])
    assert_equal(found, expected.to_pylist())
