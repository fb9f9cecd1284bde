"""A stream at a constant rate whose keys come and go: what is kept of it levels off, and keys that went silent are gone."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import pyarrow as pa
import pytest
from helpers.cases import SOAK
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

FIRST, PIECES = 1_000, 64
ROWS = 25
"""Of a piece."""
PERIOD = 8
"""Pieces, after which all but times and keys repeats itself: state must do that as well."""
STEP, LIFE, LATE = 100, 400, 90
"""How long a piece lasts, how long a key lives, and how late a row may come."""
REACH = 300
"""No window below is wider."""
SCHEMA = pa.schema({"t": pa.int64(), "key": pa.string(), "x": pa.float64()})
NUMBERS: Named = {"mean": agg.mean("x"), "top": agg.max("x")}
ANY: Named = {"mean": agg.mean("x"), "all": agg.collect("x")}
"""Not only numbers, so that rows are kept."""
CASES: dict[str, tuple[Window | dict[str, Window], Named, str]] = {
    "slices": (window.time(300, slide=50), NUMBERS, "append"),
    "slices of several": ({"a": window.time(300, slide=50), "b": window.tumbling(80)}, NUMBERS, "append"),
    "rows of slices": (window.time(300, slide=50), ANY, "append"),
    "updated": (window.time(300, slide=50), NUMBERS, "update"),
    "cumulative": (window.cumulative(200, 100), ANY, "append"),
    "per row": (window.time(250), NUMBERS, "append"),
    "session": (window.session(60), NUMBERS, "append"),
    "session updated": (window.session(60), ANY, "update"),
}
SLICES = ("slices", "slices of several")
"""Kept as such, which is for what is compiled."""


@dataclass
class Watched:
    """A bucket's state from piece to piece, each time from bytes alone, as if the driver had been started again."""

    query: sash.Query
    mode: str = "append"
    compiled: bool = False
    state: bytes = b""
    results: int = 0
    kept: list[int] = field(default_factory=list)
    """Rows or slices, after each piece."""
    sizes: list[int] = field(default_factory=list)
    """Bytes, after each piece."""

    def take(self, rows: pa.Table, watermark: int) -> StreamState:
        """Take a piece."""
        keeper = self.thawed()
        taken = keeper.advance(rows, watermark)
        assert taken.late == 0
        self.state = keeper.encode(self.described)
        self.results += len(taken.results)
        self.kept.append(len(keeper))
        self.sizes.append(len(self.state))
        return keeper

    def thawed(self) -> StreamState:
        """What the bytes are of."""
        keeper = StreamState(self.prepared, self.mode)
        if self.state:
            keeper.decode(self.state, self.described)
        return keeper

    @cached_property
    def prepared(self) -> Prepared:
        return prepare(self.query._declared, SCHEMA, compiled=self.compiled)

    @cached_property
    def described(self) -> dict[str, object]:
        return dict(fingerprint_query(self.query._declared, {}, buckets=1, mode=self.mode, state=""))


def piece(number: int) -> pa.Table:
    """Rows of the keys that are there at a time, some of them after later ones."""
    chooser = random.Random(number % PERIOD)
    times = [STEP * number + chooser.randint(-LATE, STEP - 1) for _ in range(ROWS - 1)] + [STEP * (number + 1) - 1]
    keys = [f"{time // LIFE}, {chooser.randint(1, 5)}" for time in times]
    return pa.table({"t": times, "key": keys, "x": [chooser.choice([None, chooser.random()]) for _ in times]}, SCHEMA)


def watermark_of(number: int) -> int:
    """With which a piece comes: that of the rows before."""
    return STEP * number - LATE


def keys_of(keeper: StreamState) -> set[str]:
    state = keeper.items
    if isinstance(state, RowState):
        rows = state.rows
    else:
        rows = pa.table({"key": []}) if state.slices is None else state.slices.keys
    return set() if rows is None else set(rows["key"].to_pylist())


def assert_levels_off(measured: list[int]) -> None:
    """From the second period on there is not one row, slice or byte more."""
    settled = measured[PERIOD:]
    assert min(settled) > 0
    assert settled[PERIOD:] == settled[:-PERIOD]


@pytest.mark.parametrize("name", CASES)
def test_state_levels_off_and_keys_that_went_silent_are_gone(name: str) -> None:
    windows, aggregates, mode = CASES[name]
    query = sash.Query(aggregates, windows, by="key", time="t")
    watched = Watched(query, mode, compiled=name in SLICES)
    assert isinstance(watched.thawed().items, SliceState) == (name in SLICES)
    for number in range(FIRST, FIRST + PIECES):
        keeper = watched.take(piece(number), watermark_of(number))
        reached = (watermark_of(number) - REACH) // LIFE
        assert all(int(key.split(",")[0]) >= reached for key in keys_of(keeper))
    assert_levels_off(watched.kept)
    assert_levels_off(watched.sizes)
    silent = 0
    while (keeper := watched.thawed()).due != FOREVER:
        assert keeper.due > keeper.watermark
        watched.take(SCHEMA.empty_table(), keeper.due)
        silent += 1
        assert silent < 3 * REACH
    assert (watched.kept[-1], keys_of(keeper)) == (0, set())
    if mode == "append":
        every = pa.concat_tables([piece(number) for number in range(FIRST, FIRST + PIECES)])
        assert watched.results == len(query.run(every, compiled=False))


def test_windows_of_rows_have_no_end_in_time_and_keep_only_what_the_next_row_reaches_back_to() -> None:
    watched = Watched(sash.Query(NUMBERS, window.rows(4), by="key", time="t"))
    for number in range(FIRST, FIRST + PIECES):
        watched.take(piece(number), watermark_of(number))
    keeper = watched.take(SCHEMA.empty_table(), watermark_of(FIRST + PIECES + 1))
    rows = Counter(key for number in range(FIRST, FIRST + PIECES) for key in piece(number)["key"].to_pylist())
    assert isinstance(keeper.items, RowState)
    assert Counter(keeper.items.rows["key"].to_pylist()) == {key: min(3, count) for key, count in rows.items()}
    assert keeper.due == FOREVER


@pytest.mark.skipif(not SOAK, reason="more than a hundred micro-batches, and make soak has the time")
def test_state_and_checkpoint_of_a_stream_on_spark_level_off(tmp_path: Path) -> None:
    """In a process of its own: there Spark removes what it doesn't retain every second, not every minute."""
    batches = 120
    command = [sys.executable, str(Path(__file__).with_name("growing.py")), str(batches), str(tmp_path)]
    paths = os.pathsep.join(path for path in sys.path if path)
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, cwd=tmp_path, env={**os.environ, "PYTHONPATH": paths}
    )
    assert done.returncode == 0, done.stderr[-4000:]
    for measured in json.loads((tmp_path / "measured.json").read_text(encoding="ascii")).values():
        for name, tolerated in (("state rows", 1.0), ("bytes", 1.5)):  # a second has some batches more or fewer
            each = measured[name]
            assert len(each) >= batches
            assert max(each[batches // 2 :]) <= tolerated * max(each[batches // 4 : batches // 2]), name
        assert len(measured["hours"]) <= 2, "keys of hours ago are kept"
