"""Windows that begin at edges, or hold all rows of a key: slices stand for the older rows, and results are those of a table."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from helpers.cases import SOAK

import sash
from sash import agg, window
from sash.engine.evaluate import evaluate
from sash.engine.prepare import prepare
from sash.state.fingerprint import fingerprint_query
from sash.state.row_state import RowState
from sash.state.stream_state import StreamState
from sash.state.tail_state import TailState
from sash.windows import Window
from sash.windows.arrays import search_in_keys
from sash.windows.base import Points

AGGREGATES: dict[str, Any] = {
    "top": agg.max("x"), "total": agg.sum("x"), "n": agg.count(), "known": agg.count("x"), "spread": agg.stddev("x"),
    "oldest": agg.first("x"), "newest": agg.last("x"), "weighted": agg.ewm_sum("x", half_life=5),
}  # fmt: skip
GROWING: dict[str, Window] = {
    "all": window.expanding(),
    "least": window.expanding(min_rows=3),
    "before": window.time(before=None, after=0, closed="left"),
    "gap": window.time(before=None, after=-3),
    "rows": window.rows(before=None),
    "rows_gap": window.rows(before=None, after=-2),
}
TAILS: dict[str, Window] = {
    "tail": window.time(12, tail=4),
    "tail_one": window.time(9, tail=1),
    "tail_left": window.time(17, tail=6, closed="left", min_rows=2),
    "tail_gap": window.time(before=14, after=-5, tail=3),
    "tail_gap_left": window.time(before=11, after=-2, tail=5, closed="neither"),
    "tail_ahead": window.time(before=10, after=3, tail=4),
    "tail_far": window.time(25, tail=10),
}
BESIDE: dict[str, Window] = {
    "recent": window.time(5),
    "recent_gap": window.time(before=7, after=-2),
    "last": window.rows(3),
    "last_gap": window.rows(before=4, after=-2),
    "ahead": window.time(before=2, after=2),
}
SCHEMA = pa.schema({"id": pa.int64(), "k": pa.int64(), "t": pa.int64(), "x": pa.float64()})


def random_rows(chooser: np.random.Generator, rows: int, newest: int) -> pa.Table:
    """Rows in order of time with ties, some of them null."""
    values = [None if chooser.random() < 0.2 else float(x) for x in chooser.integers(0, 9, rows)]
    columns = [np.arange(rows), chooser.integers(0, 4, rows), np.sort(chooser.integers(0, newest, rows))]
    return pa.table([*map(pa.array, columns), pa.array(values, pa.float64())], schema=SCHEMA)


class Stored:
    """A state that is encoded after each micro-batch."""

    def __init__(self, query: sash.Query, *, compiled: bool | None = None) -> None:
        self.prepared = prepare(query._declared, SCHEMA, compiled=compiled)
        self.fingerprint = fingerprint_query(query._declared, {})
        self.state = StreamState(self.prepared)

    def advance(self, rows: pa.Table, watermark: int) -> list[dict[str, Any]]:
        """Add a micro-batch to the state that the bytes hold."""
        stored, self.state = self.state.encode(self.fingerprint), StreamState(self.prepared)
        self.state.decode(stored, self.fingerprint)
        emitted = self.state.advance(rows, watermark)
        assert emitted.late == 0
        listed: list[dict[str, Any]] = emitted.results.to_pylist()
        return listed


def in_order(rows: list[dict[str, Any]]) -> list[list[Any]]:
    return [
        [pytest.approx(value, rel=1e-12, abs=1e-9) if isinstance(value, float) else value for value in row.values()]
        for row in sorted(rows, key=lambda row: row["id"])
    ]


@pytest.mark.parametrize("seed", range(400 if SOAK else 25))
def test_micro_batches_give_what_a_table_gives(seed: int) -> None:
    chooser = np.random.default_rng(seed)
    windows: dict[str, Window] = {}
    for family, most in ((GROWING, chooser.integers(0, 3)), (TAILS, 3), (BESIDE, 3)):
        count = chooser.integers(0, most) if most else 0
        windows |= {name: family[name] for name in chooser.choice(list(family), count, replace=False)}
    windows = windows or {"tail": TAILS["tail"]}
    aggregates = {name: AGGREGATES[name] for name in chooser.choice(list(AGGREGATES), 3, replace=False)}
    query = sash.Query(aggregates, windows, by="k", time="t", order_by="id")
    table = random_rows(chooser, int(chooser.integers(1, 90)), 60)
    stored = Stored(query)
    edged = windows.keys() & (GROWING.keys() | TAILS.keys())
    if edged - {"tail_one", "tail_gap_left"}:  # others reach no further back than those beside them
        assert [type(one) for one in stored.state.states.states] == [TailState]
    times = table["t"].to_numpy()
    found = []
    for part in np.array_split(np.argsort(times + chooser.uniform(0, 4, len(table))), chooser.integers(1, 14)):
        watermark = int(times[part].max(initial=0)) - 4
        found += stored.advance(table.take(pa.array(part)), watermark)
    found += stored.state.finish().to_pylist()
    expected = query.run(table, compiled=False).to_pylist()
    assert [[*row.values()] for row in sorted(found, key=lambda row: row["id"])] == in_order(expected)


def test_compiled_as_with_numpy() -> None:
    table = random_rows(np.random.default_rng(1), 50, 30)
    windows = {"all": window.expanding(), "last": window.rows(3)}
    query = sash.Query({"total": agg.sum("x"), "top": agg.max("x")}, windows, by="k", time="t", order_by="id")
    stored = Stored(query, compiled=True)
    found = [
        row for first in range(0, 50, 10) for row in stored.advance(table.slice(first, 10), int(table["t"][first]))
    ]
    found += stored.state.finish().to_pylist()
    expected = query.run(table, compiled=False).to_pylist()
    assert [[*row.values()] for row in sorted(found, key=lambda row: row["id"])] == in_order(expected)


@pytest.mark.parametrize(
    "windows", [{"all": window.expanding()}, {"all": window.rows(before=None), "two": window.rows(3)}]
)
def test_state_does_not_grow_with_rows(windows: dict[str, Window]) -> None:
    query = sash.Query({"total": agg.sum("x"), "n": agg.count(), "oldest": agg.first("x")}, windows, by="k", time="t")
    stored = Stored(query)
    lengths, sizes = [], []
    for first in range(0, 6_000, 100):
        times = np.arange(first, first + 100)
        rows = pa.table([times, times % 7, times, times / 3], schema=SCHEMA)
        stored.advance(rows, first + 90)  # ten rows wait
        lengths.append(len(stored.state))
        sizes.append(len(stored.state.encode(stored.fingerprint)))
    assert max(lengths) <= 7 + 10 + 7 * 2 * (len(windows) - 1)
    assert len({*sizes[2:]}) <= 2  # the number of dropped rows has more digits, or not
    assert max(sizes) < 8_000


@pytest.mark.parametrize(
    ("windows", "aggregate"),
    [
        (window.expanding(exclude="row"), agg.sum("x")),
        (window.expanding(), agg.median("x")),
        (window.expanding(), agg.collect("x")),
        ({"all": window.expanding(), "ahead": window.rows(before=0, after=2)}, agg.sum("x")),
        (window.time(9, tail=3, exclude="row"), agg.sum("x")),
        (window.time(9, tail=3), agg.median("x")),
        ({"tail": window.time(9, tail=3), "delta": window.delta("x", 2)}, agg.sum("x")),
        ({"tail": window.time(9, tail=3), "plain": window.time(12)}, agg.sum("x")),
    ],
    ids=["exclude", "median", "collect", "ahead", "tail_exclude", "tail_median", "tail_delta", "tail_short"],
)
def test_other_windows_and_aggregates_store_rows(windows: Any, aggregate: Any) -> None:
    [state] = Stored(sash.Query({"found": aggregate}, windows, by="k", time="t")).state.states.states
    assert type(state) is RowState


@pytest.mark.parametrize("seed", range(60 if SOAK else 6))
def test_a_state_may_be_split_and_joined(seed: int) -> None:
    chooser = np.random.default_rng([seed, 3])
    windows = {**{name: TAILS[name] for name in chooser.choice(list(TAILS), 2, replace=False)}, "all": GROWING["all"]}
    query = sash.Query({"total": agg.sum("x"), "oldest": agg.first("x")}, windows, by="k", time="t", order_by="id")
    table = random_rows(chooser, 80, 60)
    times = table["t"].to_numpy()
    stored = Stored(query)
    found = []
    for part in np.array_split(np.arange(len(table)), 6):
        found += stored.advance(table.take(pa.array(part)), int(times[part[0]]))
        [state] = stored.state.states.states
        pieces = [state.selected([keys["k"].to_numpy() % 2 == odd for keys in state.keys]) for odd in (1, 0)]
        assert sum(map(len, pieces)) == len(state)
        pieces[0].absorb(pieces[1])
        stored.state.states.states[0] = pieces[0]
    found += stored.state.finish().to_pylist()
    assert [[*row.values()] for row in sorted(found, key=lambda row: row["id"])] == in_order(
        query.run(table).to_pylist()
    )


def test_each_slice_is_as_long_as_the_tails_that_reach_it() -> None:
    """Two keys with a row each tick, a watermark five ticks behind: slices of 4, in the older part of 20, and rows as far as a window begins anywhere."""
    windows = {"near": window.time(40, tail=4), "far": window.time(100, tail=20), "plain": window.time(10)}
    stored = Stored(sash.Query({"total": agg.sum("x"), "n": agg.count()}, windows, by="k", time="t"))
    for first in range(0, 400, 10):
        times = np.repeat(np.arange(first, first + 10), 2)
        stored.advance(pa.table([times, np.arange(20) % 2, times, times / 3], schema=SCHEMA), first + 5)
    [state] = stored.state.states.states
    assert state.slices is not None
    begins = state.slices.times[state.slices.codes == 0]
    assert begins.tolist() == [280, 300, 320, 340, *range(352, 385, 4)]
    assert state.size == (2, 2 * len(begins), 2 * 14)  # since tick 386
    stored.advance(SCHEMA.empty_table(), 399 + 99)
    assert state.due(399) <= 400
    assert stored.state.due > 399 + 99
    while (due := stored.state.due) <= 600:
        assert len(stored.state)
        stored.advance(SCHEMA.empty_table(), due)
    assert not len(stored.state)
    assert 490 < stored.state.watermark <= 399 + 121 + 2


def test_frames_at_points_from_the_state() -> None:
    windows = {"tail": TAILS["tail"], "far": TAILS["tail_far"], "all": GROWING["all"]}
    query = sash.Query({"total": agg.sum("x"), "oldest": agg.first("x")}, windows, by="k", time="t", order_by="id")
    table = random_rows(np.random.default_rng(9), 200, 60)
    stored = Stored(query)
    stored.advance(table.slice(0, 150), int(table["t"][149]) - 3)
    [state] = stored.state.states.states
    block, now = state.block(), int(table["t"][149]) + 2
    times = np.full(len(block.key_table), now)
    counts = np.ones(len(times), np.int64)
    points = Points(times, search_in_keys(block.times, block.firsts, times + 1, counts), counts)
    found = evaluate(state.prepared, block, points=points)
    labels = pa.table({"k": block.key_table["k"], "t": times})
    expected = query.run(table.slice(0, 150), at=labels)
    assert len(labels) == 4
    for name in windows:
        for aggregate in query._declared.aggregates:
            assert found.windows[name].columns[aggregate].to_pylist() == pytest.approx(
                expected[f"{aggregate}_{name}"].to_pylist()
            )
