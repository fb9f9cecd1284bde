"""A stream at a constant rate whose keys come and go: its state levels off, and keys that went silent have none."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass, field
from functools import cached_property

import pyarrow as pa
import pytest
from helpers.pairwise import some
from helpers.queries import Named

import sash
from sash import agg, window
from sash.engine.prepare import Prepared, prepare
from sash.state.fingerprint import fingerprint_query
from sash.state.row_state import RowState
from sash.state.slice_state import SliceState
from sash.state.stream_state import StreamState
from sash.windows import Window
from sash.windows.base import FOREVER

FIRST, BATCHES = 1_000, 64
ROWS = 25
"""Of a micro-batch."""
PERIOD = 8
"""Micro-batches, after which all but times and keys repeats itself: state must do that as well."""
STEP, LIFE, LATE = 100, 400, 90
"""How long a micro-batch lasts, how long a key lives, and how late a row may come."""
REACH = 300
"""No window below is wider."""
SCHEMA = pa.schema({"t": pa.int64(), "key": pa.string(), "x": pa.float64()})
NUMBERS: Named = {"mean": agg.mean("x"), "top": agg.max("x")}
ANY: Named = {"mean": agg.mean("x"), "all": agg.collect("x")}
"""Not only numbers, so that the state holds rows."""
CASES: dict[str, tuple[Window | dict[str, Window], Named, str]] = {
    "slices": (window.time(300, slide=50), NUMBERS, "append"),
    "slices of several": ({"a": window.time(300, slide=50), "b": window.tumbling(80)}, NUMBERS, "append"),
    "rows of slices": (window.time(300, slide=50), ANY, "append"),
    "slices updated": (window.time(300, slide=50), NUMBERS, "update"),
    "updated": (window.time(300, slide=50), ANY, "update"),
    "cumulative": (window.cumulative(200, 100), ANY, "append"),
    "per row": (window.time(250), NUMBERS, "append"),
    "session": (window.session(60), NUMBERS, "append"),
    "session updated": (window.session(60), ANY, "update"),
    "session slices updated": (window.session(60), NUMBERS, "update"),
}
SLICES = ("slices", "slices of several", "slices updated", "session slices updated")
"""Cases whose state holds slices: those that are compiled."""


@dataclass
class Watched:
    """A state from micro-batch to micro-batch, decoded from bytes each time, as after a restart of the driver."""

    query: sash.Query
    mode: str = "append"
    compiled: bool = False
    stored: bytes = b""
    results: int = 0
    lengths: list[int] = field(default_factory=list)
    """Rows or slices, after each micro-batch."""
    sizes: list[int] = field(default_factory=list)
    """Bytes, after each micro-batch."""

    def run(self, rows: pa.Table, watermark: int) -> StreamState:
        """Run a micro-batch."""
        state = self.decoded()
        emitted = state.advance(rows, watermark)
        assert emitted.late == 0
        self.stored = state.encode(self.fingerprint)
        self.results += len(emitted.results)
        self.lengths.append(len(state))
        self.sizes.append(len(self.stored))
        return state

    def decoded(self) -> StreamState:
        """Return the state that the bytes hold."""
        state = StreamState(self.prepared, self.mode)
        if self.stored:
            state.decode(self.stored, self.fingerprint)
        return state

    @cached_property
    def prepared(self) -> Prepared:
        return prepare(self.query._declared, SCHEMA, compiled=self.compiled)

    @cached_property
    def fingerprint(self) -> dict[str, object]:
        return dict(fingerprint_query(self.query._declared, {}, buckets=1, mode=self.mode, state=""))


def micro_batch(number: int) -> pa.Table:
    """Rows of the keys that are there at a time, some of them after later ones."""
    chooser = random.Random(number % PERIOD)
    times = [STEP * number + chooser.randint(-LATE, STEP - 1) for _ in range(ROWS - 1)] + [STEP * (number + 1) - 1]
    keys = [f"{time // LIFE}, {chooser.randint(1, 5)}" for time in times]
    return pa.table({"t": times, "key": keys, "x": [chooser.choice([None, chooser.random()]) for _ in times]}, SCHEMA)


def watermark_of(number: int) -> int:
    """The watermark of a micro-batch: that of the rows before."""
    return STEP * number - LATE


def keys_of(state: StreamState) -> set[str]:
    keys = set()
    for one in state.states.states:
        if isinstance(one, RowState):
            keys |= set(one.rows["key"].to_pylist())
        elif one.slices is not None:
            keys |= set(one.slices.keys["key"].to_pylist())
    return keys


def assert_levels_off(measured: list[int]) -> None:
    """From the second period on there is not one row, slice or byte more."""
    settled = measured[PERIOD:]
    assert min(settled) > 0
    assert settled[PERIOD:] == settled[:-PERIOD]


@pytest.mark.parametrize("name", some(CASES, 2))
def test_state_levels_off_and_keys_that_went_silent_have_none(name: str) -> None:
    windows, aggregates, mode = CASES[name]
    query = sash.Query(aggregates, windows, by="key", time="t")
    watched = Watched(query, mode, compiled=name in SLICES)
    assert all(isinstance(one, SliceState) == (name in SLICES) for one in watched.decoded().states.states)
    for number in range(FIRST, FIRST + BATCHES):
        state = watched.run(micro_batch(number), watermark_of(number))
        reached = (watermark_of(number) - REACH) // LIFE
        assert all(int(key.split(",")[0]) >= reached for key in keys_of(state))
    assert_levels_off(watched.lengths)
    assert_levels_off(watched.sizes)
    silent = 0
    while (state := watched.decoded()).due != FOREVER:
        assert state.due > state.watermark
        watched.run(SCHEMA.empty_table(), state.due)
        silent += 1
        assert silent < 3 * REACH
    assert (watched.lengths[-1], keys_of(state)) == (0, set())
    if mode == "append":
        every = pa.concat_tables([micro_batch(number) for number in range(FIRST, FIRST + BATCHES)])
        assert watched.results == len(query.run(every, compiled=False))


def test_state_of_windows_of_rows_is_what_the_next_row_reaches_back_to() -> None:
    watched = Watched(sash.Query(NUMBERS, window.rows(4), by="key", time="t"))
    for number in range(FIRST, FIRST + BATCHES):
        watched.run(micro_batch(number), watermark_of(number))
    state = watched.run(SCHEMA.empty_table(), watermark_of(FIRST + BATCHES + 1))
    rows = Counter(key for number in range(FIRST, FIRST + BATCHES) for key in micro_batch(number)["key"].to_pylist())
    [only] = state.states.states
    assert isinstance(only, RowState)
    assert Counter(only.rows["key"].to_pylist()) == {key: min(3, count) for key, count in rows.items()}
    assert state.due == FOREVER
