"""Rows in micro-batches, in any order within lateness, give the results of the same rows as one table."""

from __future__ import annotations

import warnings
from typing import Any

import pyarrow as pa
import pytest
from helpers.cases import SOAK
from helpers.late_rows import MODELLED, LateRows
from helpers.pairwise import FULL, some
from helpers.queries import UNCOMPILED
from helpers.streams import COMMUTE, OF_TIME, ORDERED, WINDOWS, batches_of, rows_of, table_of
from hypothesis import given, settings
from hypothesis import strategies as st

import sash
from sash import agg, window
from sash.engine.prepare import prepare
from sash.plan.slicing import cycle_of
from sash.state import reader as stream
from sash.state.row_state import RowState
from sash.state.slice_state import SliceState

ALGORITHMS = ["auto", "flatfit"][: 2 if FULL else 1]
"""A structure for each window, and one for all."""


@pytest.fixture(autouse=True)
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make every batch a micro-batch."""
    monkeypatch.setattr(stream, "MOST_ROWS", 1)


def arrive_late(table: pa.Table, lateness: int, data: st.DataObject) -> pa.Table:
    """Rows in the order of arrival, none later than `lateness` after newer ones."""
    delays = data.draw(st.lists(st.integers(0, lateness), min_size=len(table), max_size=len(table)))
    arrivals = [time + delay for time, delay in zip(table["t"].to_pylist(), delays, strict=True)]
    return table.take(pa.array(sorted(range(len(table)), key=lambda row: arrivals[row]), pa.int64()))


def shuffled(table: pa.Table, data: st.DataObject) -> pa.Table:
    """Rows in any order."""
    return table.take(pa.array(data.draw(st.permutations(range(len(table)))), pa.int64()))


executors = st.sampled_from(UNCOMPILED)
rows = st.lists(st.tuples(st.integers(0, 2), st.integers(-9, 40), st.integers(0, 5), st.booleans()), max_size=25)
many_rows = st.lists(
    st.tuples(st.integers(0, 1), st.integers(-9, 40), st.none() | st.integers(0, 5), st.just(False)),
    min_size=10,
    max_size=40,
)
"""Enough of each key for sessions that grow at both ends, and become one."""


@pytest.mark.parametrize("name", WINDOWS)
@settings(max_examples=50 if SOAK else 15 if FULL else 4, deadline=None)
@given(rows, st.integers(0, 7), st.integers(1, 6), st.data())
def test_any_order_within_lateness_gives_the_results_of_a_table(
    name: str, made: list[Any], lateness: int, size: int, data: st.DataObject
) -> None:
    table = table_of(made)
    arrived = arrive_late(table, lateness, data)
    aggregates = data.draw(st.sampled_from([COMMUTE, ORDERED]))
    query = sash.Query(aggregates, WINDOWS[name], by="k", time="t", order_by="id", lateness=lateness)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        streamed = query.run(batches_of(arrived, size), compiled=data.draw(executors)).read_all()
    assert rows_of(streamed) == rows_of(query.run(table, compiled=data.draw(executors)))


@pytest.mark.parametrize("name", WINDOWS)
@settings(max_examples=10 if FULL else 2, deadline=None)
@given(rows, st.integers(1, 6), executors)
def test_rows_by_key_give_the_results_of_a_table(name: str, made: list[Any], size: int, compiled: bool | None) -> None:
    table = table_of(made)
    by_key = table.sort_by([("k", "ascending"), ("t", "ascending"), ("id", "ascending")])
    query = sash.Query({**COMMUTE, **ORDERED}, WINDOWS[name], by="k", time="t", order_by="id")
    streamed = query.run(batches_of(by_key, size), order="keys", compiled=compiled).read_all()
    assert rows_of(streamed) == rows_of(query.run(table))


@pytest.mark.parametrize("name", some(OF_TIME, 9))
@settings(max_examples=40 if SOAK else 10, deadline=None)
@given(rows | many_rows, st.integers(0, 12), st.integers(1, 6), st.data())
def test_slices_are_stored_compiled(name: str, made: list[Any], lateness: int, size: int, data: st.DataObject) -> None:
    table = table_of(made)
    arrived = arrive_late(table, lateness, data)
    panes = ["panes"] if all(cycle_of(one) is not None for one in WINDOWS[name].values()) else []
    how: dict[str, Any] = {
        "slicing": data.draw(st.sampled_from(["auto", "pairs", *panes])),
        "algorithm": data.draw(st.sampled_from(ALGORITHMS)),
    }
    query = sash.Query(COMMUTE, WINDOWS[name], by="k", time="t", lateness=lateness, **how)
    running = stream.Stream(prepare(query._declared, table.schema))
    assert all(isinstance(state, SliceState) for state in running.states.states)
    compiled = data.draw(st.sampled_from([None, True]))
    streamed = query.run(batches_of(arrived, size), compiled=compiled).read_all()
    assert rows_of(streamed) == rows_of(query.run(table, compiled=False))


@pytest.mark.parametrize("name", OF_TIME)
@settings(max_examples=20 if FULL else 4, deadline=None)
@given(rows, st.integers(0, 7), st.integers(1, 6), st.data())
def test_merged_updates_are_the_result(
    name: str, made: list[Any], lateness: int, size: int, data: st.DataObject
) -> None:
    """What a MERGE by key and window keeps of all updates is the result of a table."""
    table = table_of(made)
    arrived = arrive_late(table, lateness, data)
    query = sash.Query(ORDERED, WINDOWS[name], by="k", time="t", order_by="id", lateness=lateness)
    expected = query.run(table)
    merged: dict[Any, Any] = {}
    updates = query.run(batches_of(arrived, size), compiled=data.draw(executors), mode="update").read_all()
    for row in updates.to_pylist():
        at = tuple(row.get(column) for column in ("k", "window", "window_start", "window_end"))
        if row.pop("change") == "delete":
            del merged[at]
        else:
            merged[at] = row
    assert rows_of(pa.Table.from_pylist(list(merged.values()), expected.schema)) == rows_of(expected)


@pytest.mark.parametrize("name", MODELLED)
@settings(max_examples=40 if SOAK else 10, deadline=None)
@given(rows, st.integers(0, 7), st.integers(1, 30), st.data())
def test_lateness_depends_on_the_order_of_rows_only(
    name: str, made: list[Any], lateness: int, size: int, data: st.DataObject
) -> None:
    """However rows are batched, each has the watermark of the rows before it."""
    table = shuffled(table_of(made), data)
    bits = table.append_column("bit", pa.array([1 << number for number in table["id"].to_pylist()], pa.int64()))
    query = sash.Query({"rows": agg.sum("bit")}, WINDOWS[name], by="k", time="t", lateness=lateness)
    model = LateRows(WINDOWS[name])
    newest = None
    expected = []
    for row in bits.to_pylist():
        mark = -(2**62) if newest is None else newest - lateness
        expected += model.emit(mark)
        model.add(row["k"], row["t"], row["bit"], mark)
        newest = row["t"] if newest is None else max(newest, row["t"])
    expected += model.emit(2**62)
    [only, *_] = WINDOWS[name]
    running = stream.Stream(prepare(query._declared, bits.schema, compiled=False))
    found = [running.add(bits.slice(first, size)) for first in range(0, len(bits), size)] + [running.finish()]
    assert sorted(expected) == sorted(
        (row.get("window", only), row["k"], row["window_start"], row["window_end"], row["rows"])
        for one in found
        for row in one.to_pylist()
    )
    assert running.late == model.late


@pytest.mark.parametrize("name", WINDOWS)
@settings(max_examples=10 if FULL else 2, deadline=None)
@given(rows, st.integers(0, 7), st.integers(1, 6), st.data())
def test_batches_do_not_change_results(
    name: str, made: list[Any], lateness: int, size: int, data: st.DataObject
) -> None:
    table = shuffled(table_of(made), data)
    query = sash.Query(ORDERED, WINDOWS[name], by="k", time="t", order_by="id", lateness=lateness)
    found = []
    for rows_of_batch in (1, size, max(1, len(table))):
        running = stream.Stream(prepare(query._declared, table.schema, compiled=False))
        made_of = [running.add(table.slice(first, rows_of_batch)) for first in range(0, len(table), rows_of_batch)]
        found.append(
            (running.late, rows_of(pa.concat_tables([*made_of, running.finish()], promote_options="permissive")))
        )
    assert found[0] == found[1] == found[2]


def test_every_batch_of_a_live_stream_is_processed_when_something_is_due() -> None:
    asked = []

    def live() -> Any:
        for time in range(0, 40, 4):
            asked.append(time)
            yield pa.record_batch({"t": pa.array([time], pa.int64())})

    schema = pa.schema({"t": pa.int64()})
    query = sash.Query({"n": agg.count()}, window.tumbling(10), time="t", lateness=2)
    results = query.run(pa.RecordBatchReader.from_batches(schema, live()))
    seen = []
    for batch in results:
        seen += [(row["window_end"], asked[-1]) for row in batch.to_pylist()]
    assert seen == [
        (10, 12),
        (20, 24),
        (30, 32),
        (40, 36),
    ]  # each window with the first row that closes it; the last at the end
    asked.clear()
    updates = query.run(pa.RecordBatchReader.from_batches(schema, live()), mode="update")
    first = next(iter(updates)).to_pylist()
    assert (first, asked) == ([{"window_start": 0, "window_end": 10, "n": 1, "change": "upsert"}], [0])


def test_state_is_bounded() -> None:
    declared = sash.Query(COMMUTE, window.time(10, slide=5), by="k", time="t")._declared
    for aggregates in (COMMUTE, ORDERED):
        declared = sash.Query(aggregates, window.time(10, slide=5), by="k", time="t")._declared
        schema = table_of([]).schema
        running = stream.Stream(prepare(declared, schema, compiled=aggregates is COMMUTE))
        [state] = running.states.states
        assert isinstance(state, SliceState if aggregates is COMMUTE else RowState)
        for first in range(0, 400, 20):
            running.add(table_of([(time % 2, time, 1, False) for time in range(first, first + 20)]))
            assert len(running.states) <= 34


def count_open(table: pa.Table, gap: int, watermark: int) -> int:
    """The number of sessions so far that a row at the watermark or later may extend."""
    found = sash.Query({"n": agg.count()}, window.session(gap), by="k", time="t").run(table, compiled=False)
    return sum(end >= watermark for end in found["window_end"].to_pylist())


@pytest.mark.parametrize("gaps", [(3,), (2, 9, 4)])
@settings(max_examples=30 if FULL else 12, deadline=None)
@given(many_rows, st.integers(0, 12), st.integers(1, 6), st.data())
def test_state_has_a_slice_for_each_open_session(
    gaps: tuple[int, ...], made: list[Any], lateness: int, size: int, data: st.DataObject
) -> None:
    arrived = arrive_late(table_of(made), lateness, data)
    windows = {f"gap_{gap}": window.session(gap) for gap in gaps}
    query = sash.Query(COMMUTE, windows, by="k", time="t", lateness=lateness)
    running = stream.Stream(prepare(query._declared, arrived.schema))
    for first in range(0, len(arrived), size):
        running.add(arrived.slice(first, size))
        so_far = arrived.slice(0, first + size)
        watermark = max(so_far["t"].to_pylist()) - lateness
        opened = [count_open(so_far, gap, watermark) for gap in gaps]
        assert len(running.states) == sum(opened)
    running.finish()
    assert len(running.states) == 0


def test_late_rows_make_one_session_of_two() -> None:
    query = sash.Query(COMMUTE, window.session(3), by="k", time="t", lateness=20)
    running = stream.Stream(prepare(query._declared, table_of([]).schema))
    for time, slices in [(0, 1), (10, 2), (5, 3), (3, 2), (4, 2), (7, 1), (13, 1), (6, 1), (17, 2)]:
        running.add(table_of([(0, time, time, False)]))
        assert len(running.states) == slices
    first, _ = running.finish().to_pylist()
    assert first == {"k": 0, "window_start": 0, "window_end": 16, "peak": 13, "total": 48, "rows": 8}


def test_a_session_that_never_ends_is_one_slice() -> None:
    windows = {"session": window.session(4), "minutes": window.time(10, slide=5)}
    query = sash.Query(COMMUTE, windows, by="k", time="t", lateness=3)
    running = stream.Stream(prepare(query._declared, table_of([]).schema))
    for first in range(0, 400, 20):
        running.add(table_of([(time % 2, time, 1, False) for time in range(first, first + 20)]))
        assert (
            len(running.states) <= 2 * 5
        )  # of each key: one for all that is final for periodic windows, and their slices since
    [last] = [row for row in running.finish().to_pylist() if row["window"] == "session" and row["k"] == 0]
    assert (last["window_start"], last["window_end"], last["rows"]) == (0, 402, 200)


def test_late_rows_are_counted_and_warned_of() -> None:
    table = pa.table({"t": [1, 20, 4, 30, 12]})
    query = sash.Query({"n": agg.count()}, window.tumbling(10), time="t", lateness=10)
    with pytest.warns(
        stream.LateRowsWarning, match=r"2 row\(s\) arrived after all their windows were closed \(lateness=10\)"
    ):
        result = query.run(batches_of(table, 1)).read_all()
    assert result["n"].to_pylist() == [1, 1, 1]


def test_late_rows_without_lateness_are_refused() -> None:
    table = pa.table({"t": [1, 20, 4]})
    query = sash.Query({"n": agg.count()}, window.tumbling(10), time="t")
    with pytest.raises(ValueError, match=r"A row with t=4 arrived after rows up to 20, .* Query\(lateness=…\)"):
        query.run(batches_of(table, 1)).read_all()
    assert query.run(table)["n"].to_pylist() == [2, 1]  # a table is sorted


def test_a_key_that_comes_again_is_refused() -> None:
    table = pa.table({"k": [1, 2, 1], "t": [1, 1, 2]})
    query = sash.Query({"n": agg.count()}, window.rows(2), by="k", time="t")
    for size in (1, 3):
        with pytest.raises(ValueError, match="Rows of k=1 arrived again after rows of another key"):
            query.run(batches_of(table, size), order="keys").read_all()
    back = pa.table({"k": [1, 1], "t": [2, 1]})
    with pytest.raises(ValueError, match=r"must be in order of t, but 1 arrived after a later time"):
        query.run(batches_of(back, 2), order="keys").read_all()


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"mode": "sometimes"}, '"append" .* or "update"'),
        ({"order": "rows"}, "is not an order of rows"),
        ({"mode": "update"}, r"rows end the windows of rows\(2\)"),
    ],
)
def test_wrong_options_are_refused(options: dict[str, Any], sentence: str) -> None:
    query = sash.Query({"n": agg.count()}, window.rows(2), by="k", time="t")
    with pytest.raises(ValueError, match=sentence):
        query.run(batches_of(table_of([]), 1), **options)


def test_rows_without_time_come_in_their_order() -> None:
    table = pa.table({"x": [3, 1, 2, 5]})
    query = sash.Query({"peak": agg.max("x")}, window.rows(2))
    assert query.run(batches_of(table, 1)).read_all()["peak"].to_pylist() == [3, 3, 2, 5]
    ordered = sash.Query({"peak": agg.max("x")}, window.rows(2), order_by="x")
    assert ordered.run(table)["peak"].to_pylist() == [3, 1, 2, 5]
    with pytest.raises(ValueError, match="Sash cannot sort a stream"):
        ordered.run(batches_of(table, 1))
    by_key = sash.Query({"peak": agg.max("x")}, window.rows(2), by="k", order_by="x")
    with pytest.raises(ValueError, match="Sash cannot sort a stream"):  # the rows of a key come in several batches
        by_key.run(batches_of(table.append_column("k", [[1, 1, 1, 2]]), 1), order="keys")


def test_an_empty_stream_has_a_schema() -> None:
    table = table_of([])
    for windows in (window.rows(2), window.time(4, slide=2)):
        query = sash.Query(COMMUTE, windows, by="k", time="t")
        assert query.run(batches_of(table, 1)).schema == query.run(table).schema


@pytest.mark.parametrize("compiled", [True, None])
@pytest.mark.parametrize("windows", [window.tumbling(10), window.session(3), window.rows(3)], ids=str)
def test_an_overflow_names_the_column_and_the_key(windows: Any, compiled: bool | None) -> None:
    table = table_of([(7, 1, 2**62, False), (7, 2, 2**62, False), (7, 3, 2**62, False), (7, 30, 1, False)])
    query = sash.Query({"total": agg.sum("x")}, windows, by="k", time="t")
    with pytest.raises(OverflowError, match=r"sum\(x\), the (slice|row) of k=7.*needs more than 64 bits"):
        query.run(batches_of(table, 1), compiled=compiled).read_all()


@pytest.mark.parametrize("compiled", [None, False])
def test_maps_of_a_column_of_nulls_do_not_end_the_process(compiled: bool | None) -> None:
    table = pa.table({"t": [1, 2, 3], "x": pa.nulls(3)})
    query = sash.Query({"n": agg.per_value("x")}, window.tumbling(2), time="t")
    found = query.run(table.to_reader(), compiled=compiled).read_all()
    assert found.equals(query.run(table, compiled=compiled))
