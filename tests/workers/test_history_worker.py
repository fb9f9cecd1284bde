"""The states of a history are the same from memory and from disk, whatever the order of rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest
from helpers.cases import SOAK
from helpers.pairwise import FULL
from helpers.streams import COMMUTE, ORDERED, WINDOWS, rows_of, table_of
from hypothesis import given, settings
from hypothesis import strategies as st

import sash
from sash import window
from sash.engine.prepare import Prepared, prepare
from sash.state.regroup import join_states
from sash.state.stream_state import StreamState
from sash.windows.base import FOREVER
from sash.workers import spill
from sash.workers.history_worker import HistoryWorker

ALL = {**WINDOWS, "expanding": {"w": window.expanding()}, "tail": {"w": window.time(10, tail=4)}}
FINGERPRINT: dict[str, Any] = {"aggregates": {}}
rows = st.lists(st.tuples(st.integers(0, 3), st.integers(-9, 40), st.integers(0, 5), st.booleans()), max_size=60)


@pytest.fixture(autouse=True, scope="module")
def small_reads() -> Iterator[None]:
    """Read few rows of a run at once, so that a key is in several pieces."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(spill, "BYTES_OF_BATCH", 100)
        yield


def batches(table: pa.Table, size: int) -> Iterator[pa.RecordBatch]:
    yield from table.to_batches(max_chunksize=size)


def results(
    prepared: Prepared, worker: HistoryWorker, table: pa.Table, rest: pa.Table, size: int
) -> tuple[int, list[str]]:
    """The number of states, and the results of a stream that starts from them."""

    def new_state() -> StreamState:
        return StreamState(prepared)

    states = list(worker.states(batches(table, size)))
    empty = new_state()
    empty.watermark = worker.until
    pieces = [state.encode(FINGERPRINT) for state in [empty, *states]]
    state = join_states(new_state, pieces, FINGERPRINT)
    emitted = [state.advance(rest, state.watermark).results, state.finish()]
    return len(states), rows_of(pa.concat_tables(emitted, promote_options="permissive"))


@pytest.mark.parametrize("by", ["k", None])
@pytest.mark.parametrize("name", ALL)
@settings(max_examples=40 if SOAK else 15 if FULL else 4, deadline=None)
@given(rows, st.integers(-12, 45), st.integers(1, 9), st.data())
def test_from_disk_as_from_memory(
    name: str, by: str | None, made: list[Any], until: int, size: int, data: st.DataObject
) -> None:
    table = table_of(made)
    mixed = table.take(pa.array(data.draw(st.permutations(range(len(table)))), pa.int64()))
    aggregates = data.draw(st.sampled_from([COMMUTE, ORDERED]))
    query = sash.Query(aggregates, ALL[name], by=by, time="t", order_by="id")
    prepared = prepare(query._declared, table.schema, compiled=False)
    rest = table.filter(pa.array([time >= until for time in table["t"].to_pylist()], pa.bool_()))
    found = []
    for most_bytes in (1 << 26, 400):
        worker = HistoryWorker(prepared, lambda: StreamState(prepared), until, most_bytes)
        found.append(results(prepared, worker, mixed, rest, size))
        older = [time for time in table["t"].to_pylist() if time < until]
        assert worker.rows.oldest == min(older, default=FOREVER)
    assert found[0][1] == found[1][1]


def test_many_states_from_disk() -> None:
    table = table_of([(k, t, t % 5, False) for k in range(20) for t in range(50)])
    query = sash.Query(ORDERED, window.rows(10), by="k", time="t")
    prepared = prepare(query._declared, table.schema, compiled=False)
    worker = HistoryWorker(prepared, lambda: StreamState(prepared), 40, 4_000)
    found = results(prepared, worker, table, table.filter(pa.array([t >= 40 for t in table["t"].to_pylist()])), 16)
    assert found[0] > 5
    expected = [row for row in query.run(table).to_pylist() if row["t"] >= 40]
    assert found[1] == rows_of(pa.Table.from_pylist(expected))
