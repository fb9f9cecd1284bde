"""Update mode over slices emits, in each micro-batch, what it emits over rows, and what a naive model of open windows emits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from helpers.cases import SOAK
from helpers.late_rows import MODELLED, LateRows
from helpers.pairwise import some
from helpers.streams import COMMUTE, OF_TIME, WINDOWS, rows_of, table_of
from hypothesis import given, settings
from hypothesis import strategies as st
from test_stream_state import Driver, arrivals, made_rows, with_bits

import sash
from sash import agg, window
from sash.engine.prepare import prepare
from sash.plan.slicing import cycle_of
from sash.state.reader import Stream
from sash.state.row_state import RowState
from sash.state.slice_state import SliceState

BITS = {"rows": agg.sum("bit")}
NUMBERS = {**COMMUTE, "mean": agg.mean("x"), "low": agg.min("x"), "some": agg.count("x")}


def drivers(query: sash.Query, schema: pa.Schema, delay: int, *, compiled: bool | None) -> tuple[Driver, Driver]:
    """The same stream with a state of slices and with one of rows."""
    slices = Driver(query, schema, delay, compiled=compiled, mode="update")
    rows = Driver(query, schema, delay, compiled=False, mode="update")
    assert all(isinstance(state, SliceState) for state in slices.state.states.states)
    assert all(isinstance(state, RowState) for state in rows.state.states.states)
    return slices, rows


def assert_deletes_come_first(results: pa.Table) -> None:
    changes = results["change"].to_pylist()
    assert changes == sorted(changes)


@pytest.mark.parametrize("name", some(OF_TIME, 3))
@settings(max_examples=100 if SOAK else 4, deadline=None)
@given(made_rows, st.integers(0, 40), st.sampled_from([None, True]), st.data())
def test_slices_emit_what_rows_emit(
    name: str, made: list[Any], delay: int, compiled: bool | None, data: st.DataObject
) -> None:
    panes = ["panes"] if all(cycle_of(one) is not None for one in WINDOWS[name].values()) else []
    slicing: Any = data.draw(st.sampled_from(["auto", "pairs", *panes]))
    query = sash.Query(NUMBERS, WINDOWS[name], by="k", time="t", slicing=slicing)
    slices, rows = drivers(query, table_of([]).schema, delay, compiled=compiled)
    for batch in arrivals(table_of(made), data):
        for driver in (slices, rows):
            driver.run(batch)
        assert rows_of(slices.emitted[-1]) == rows_of(rows.emitted[-1])
        assert slices.emitted[-1].schema == rows.emitted[-1].schema
        assert_deletes_come_first(slices.emitted[-1])
        assert slices.state.due == rows.state.due
    assert slices.late == rows.late
    assert len(slices.state.finish()) == len(rows.state.finish()) == 0  # windows were emitted when they changed


class OpenWindows(LateRows):
    """The open windows of the model of late rows, and what changes them."""

    @property
    def shown(self) -> dict[tuple[str, Any, int, int], int]:
        """The bits of the rows of each window."""
        found = dict(self.periodic)
        for (name, key), sessions in self.sessions.items():
            gap = self.windows[name].gap.amount  # type: ignore[attr-defined]
            found |= {(name, key, first, last + gap): bits for first, last, bits in sessions}
        return found

    def changes(self, rows: list[dict[str, Any]], mark: int) -> list[Any]:
        """Add rows, and return the windows that they changed and those that they replaced."""
        before = self.shown
        for row in rows:
            self.add(row["k"], row["t"], row["bit"], mark)
        after = self.shown
        upserts = [(*at, bits, "upsert") for at, bits in after.items() if before.get(at) != bits]
        return sorted(upserts) + sorted((*at, None, "delete") for at in before.keys() - after.keys())


@pytest.mark.parametrize("name", MODELLED)
@settings(max_examples=60 if SOAK else 5, deadline=None)
@given(made_rows, st.integers(0, 12), st.data())
def test_each_micro_batch_emits_what_the_model_of_open_windows_changes(
    name: str, made: list[Any], delay: int, data: st.DataObject
) -> None:
    windows = WINDOWS[name]
    [only, *_] = windows
    query = sash.Query(BITS, windows, by="k", time="t")
    slices, _ = drivers(query, with_bits(table_of([])).schema, delay, compiled=None)
    model = OpenWindows(windows)
    for batch in arrivals(table_of(made), data):
        mark = slices.state.watermark
        slices.run(with_bits(batch))
        found = [
            (row.get("window", only), row["k"], row["window_start"], row["window_end"], row["rows"], row["change"])
            for row in slices.emitted[-1].to_pylist()
        ]
        expected = model.changes(with_bits(batch).to_pylist(), mark)
        assert sorted(row for row in found if row[-1] == "upsert") + sorted(
            row for row in found if row[-1] == "delete"
        ) == [row for row in expected if row[-1] == "upsert"] + [row for row in expected if row[-1] == "delete"]
        model.emit(slices.state.watermark)
    assert slices.late == model.late


@pytest.mark.parametrize("name", ["several", "mixed_time", "sessions"])
@settings(max_examples=40 if SOAK else 5, deadline=None)
@given(made_rows, st.integers(0, 12), st.integers(1, 6), st.data())
def test_a_stream_in_this_process_stores_slices(
    name: str, made: list[Any], lateness: int, size: int, data: st.DataObject
) -> None:
    table = table_of(made)
    arrived = table.take(pa.array(data.draw(st.permutations(range(len(table)))), pa.int64()))
    query = sash.Query(NUMBERS, WINDOWS[name], by="k", time="t", lateness=lateness)
    slices, rows = (
        Stream(prepare(query._declared, table.schema, compiled=compiled), mode="update") for compiled in (None, False)
    )
    assert all(isinstance(state, SliceState) for state in slices.states.states)
    for first in range(0, len(arrived), size):
        batch = arrived.slice(first, size)
        assert rows_of(slices.add(batch)) == rows_of(rows.add(batch))
    assert slices.late == rows.late


def test_slices_take_less_space_than_their_rows() -> None:
    """A hundred rows in each slice: the state of a key has its slices alone."""
    times = np.arange(6_000) // 100
    table = pa.table({"k": np.zeros(6_000, np.int64), "t": times, "x": times})
    query = sash.Query(agg.max("x"), window.time(60, slide=1), by="k", time="t")
    slices, rows = drivers(query, table.schema, 0, compiled=None)
    for driver in (slices, rows):
        driver.state.advance(table, 0)
    assert (slices.state.size.slices, rows.state.size.rows) == (60, 6_000)
