"""A query that changes in the midst of a stream gives the results of both queries, with null where the new one lacks rows."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from helpers.cases import SOAK

import sash
from sash import agg, window
from sash.durations import read_duration
from sash.engine.prepare import prepare
from sash.state.codec import read_state_header
from sash.state.evolve import check_evolves
from sash.state.fingerprint import fingerprint_query
from sash.state.stream_state import StreamState
from sash.windows.base import FOREVER

SCHEMA = pa.schema({"k": pa.int64(), "t": pa.int64(), "x": pa.float64(), "y": pa.int64()})
COLUMNS = {"k": "bigint", "t": "bigint", "x": "double", "y": "bigint"}
AGGREGATES = {
    "n": agg.count(),
    "nx": agg.count("x"),
    "total": agg.sum("x"),
    "mean": agg.mean("x"),
    "sd": agg.stddev("x"),
    "skew": agg.skewness("x"),
    "peak": agg.max("x"),
    "low": agg.min("y"),
    "ytotal": agg.sum("y"),
    "ymean": agg.mean("y"),
    "ysd": agg.stddev("y"),
    "oldest": agg.first("x"),
    "all": agg.collect("y"),
    "middle": agg.median("x"),
    "slope": agg.slope("x", "y"),
}
OF_TIME = {
    "hop": window.time(10, slide=3),
    "tumble": window.tumbling(7),
    "grow": window.cumulative(12, step=4) if hasattr(window, "cumulative") else window.tumbling(12),
    "visit": window.session(3),
    "stay": window.session(5),
    "gaps": window.time(2, slide=6),
}
OF_ROWS = {"four": window.rows(4, slide=2), "three": window.rows(3, slide=3), "drift": window.delta("y", 9, slide=2)}
FRAMES = {
    "recent": window.time(6),
    "five": window.rows(5),
    "around": window.time(before=3, after=2),
    "others": window.rows(before=2, after=1, exclude="row"),
}
TAILS = {
    "long": window.time(15, tail=4),
    "short": window.time(6, tail=2, closed="left"),
    "gap": window.time(before=9, after=-3, tail=3),
    "five": window.rows(5),
    "recent": window.time(6),
}


@dataclass
class Phase:
    """A query for a part of a stream."""

    query: sash.Query
    since: int
    """The watermark when it took over."""
    begins: int
    """Rows from this time on came after that."""
    until: int = FOREVER
    emitted: list[dict[str, Any]] = field(default_factory=list)


class Stream:
    """Micro-batches whose rows are never late, with the state as bytes between them."""

    def __init__(self, chooser: np.random.Generator, mode: str = "append", *, compiled: bool | None = False) -> None:
        self.chooser = chooser
        self.compiled = compiled
        self.mode = mode
        self.rows: list[dict[str, Any]] = []
        self.newest = 20
        self.watermark = 0
        """That of the next micro-batch."""
        self.applied = 0
        self.base = b""
        self.deltas: list[bytes] = []
        self.token = ""
        self.phases: list[Phase] = []

    def change(self, aggregates: list[str], windows: dict[str, Any]) -> None:
        query = sash.Query({name: AGGREGATES[name] for name in aggregates}, windows, by="k", time="t")
        begins = max(self.applied, 1 + max((row["t"] for row in self.rows), default=-1))
        if not self.rows:  # before the first row, a query may become any other
            self.phases.clear()
        if self.phases:
            self.phases[-1].until = self.applied
        self.phases.append(Phase(query, self.applied, begins))
        self.prepared = prepare(query._declared, SCHEMA, compiled=self.compiled)
        self.fingerprint = fingerprint_query(query._declared, {name: COLUMNS[name] for name in query._declared.columns})

    def batch(self, count: int) -> None:
        chooser = self.chooser
        made: list[dict[str, Any]] = [
            {
                "k": int(chooser.integers(3)),
                "t": max(self.watermark, int(self.newest - 8 + chooser.integers(0, 12))),
                "x": None if chooser.random() < 0.15 else float(chooser.integers(-9, 10)),
                "y": 7 * (len(self.rows) + number) % 1009,  # each row has another one
            }
            for number in range(count)
        ]
        self.rows += made
        self.newest = max([self.newest, *(int(row["t"]) for row in made)])
        self.step(pa.Table.from_pylist(made, SCHEMA), max(self.watermark, self.newest - 8))

    def step(self, table: pa.Table, watermark: int) -> None:
        state = StreamState(self.prepared, self.mode)
        if self.base:
            state.decode_log(self.base, self.deltas, self.fingerprint, self.token, evolves=True)
        else:
            state.watermark = 0
        before = self.token
        # The watermark of a micro-batch is that of the rows before it.
        self.phases[-1].emitted += state.advance(table, self.watermark).results.to_pylist()
        self.token = f"{before}x"[-9:] + str(len(self.rows)) + str(watermark)
        delta = state.encode_delta(before, self.token)
        if delta is None or self.chooser.random() < 0.2:
            self.base, self.deltas = state.encode(self.fingerprint, self.token), []
        else:
            self.deltas.append(delta)
        self.applied, self.watermark = self.watermark, watermark

    def end(self) -> None:
        nothing = SCHEMA.empty_table()
        self.step(nothing, FOREVER)
        self.step(nothing, FOREVER)

    def introduced(self, part: str, name: str, at: int) -> int:
        """The time from which on rows are known to an aggregate or window of a phase; 0 if they always were."""
        for number in range(at, 0, -1):
            here, before = (getattr(self.phases[one].query._declared, part) for one in (number, number - 1))
            if name not in before or repr(before[name]) != repr(here[name]):
                return self.phases[number].begins
        return 0

    def begun(self, name: str, at: int) -> int:
        """The time from which on a window of a phase is known: since it is new, or since no aggregate was kept; 0 if it always was."""
        for number in range(at, 0, -1):
            here, before = (self.phases[one].query._declared for one in (number, number - 1))
            kept = [one for one in here.aggregates if repr(before.aggregates.get(one)) == repr(here.aggregates[one])]
            if not kept or repr(before.windows.get(name)) != repr(here.windows[name]):
                return self.phases[number].begins
        return 0


def table_of(rows: list[dict[str, Any]]) -> pa.Table:
    return pa.Table.from_pylist(rows, SCHEMA)


def expected_windows(stream: Stream, number: int) -> list[dict[str, Any]]:
    """The results per window of a phase, from all rows."""
    phase, declared = stream.phases[number], stream.phases[number].query._declared
    made = []
    for name, one in declared.windows.items():
        since = {aggregate: stream.introduced("aggregates", aggregate, number) for aggregate in declared.aggregates}
        own_since = stream.introduced("windows", name, number)
        first = stream.begun(name, number)
        gap = (one.cuts and one.cuts.gap(prepare(declared, SCHEMA, compiled=False).unit)) or 0
        rows = stream.rows if one.is_time else [row for row in stream.rows if row["t"] >= own_since]
        results = sash.Query(dict(declared.aggregates), one, by="k", time="t").run(table_of(rows), compiled=False)
        for row in results.to_pylist():
            end = row["window_end"] + (not one.lateness.half_open)
            if not phase.since < end <= phase.until:
                continue
            if one.is_time and first and row["window_start"] < first + gap:
                continue
            for aggregate in declared.aggregates:
                if row["window_start"] < since[aggregate]:
                    row[aggregate] = None
            made.append({**row, **({"window": name} if declared.several else {})})
    return made


def expected_rows(stream: Stream, number: int) -> list[dict[str, Any]]:
    """The results per row of a phase, from all rows."""
    phase, declared = stream.phases[number], stream.phases[number].query._declared
    unit = prepare(declared, SCHEMA, compiled=False).unit
    results = phase.query.run(table_of(stream.rows), compiled=False).to_pylist()
    made = []
    for place, row in enumerate(results):
        for name, one in declared.windows.items():
            reach = None if one.frame is None else one.frame.reach(unit)
            for aggregate in declared.aggregates:
                if reach is None:
                    continue
                since = max(
                    stream.introduced("windows", name, number), stream.introduced("aggregates", aggregate, number)
                )
                before = [
                    other
                    for at, other in enumerate(results)
                    if other["k"] == row["k"] and other["t"] >= since and (other["t"], at) <= (row["t"], place)
                ]
                if since and (row["t"] - reach.ticks < since or len(before) <= reach.rows):
                    row[declared.result_name(aggregate, name)] = None
        made.append(row)
    return made


def shown(rows: list[dict[str, Any]]) -> list[str]:
    def plain(value: Any) -> Any:
        return round(value, 6) + 0.0 if isinstance(value, float) else value

    return sorted(repr({name: plain(value) for name, value in sorted(row.items())}) for row in rows)


def some(chooser: np.random.Generator, names: list[str], least: int = 1) -> list[str]:
    count = int(chooser.integers(least, len(names) + 1))
    return [names[place] for place in chooser.permutation(len(names))[:count]]


SLICED = ["n", "nx", "total", "mean", "sd", "skew", "peak", "low", "ytotal", "ymean", "ysd", "slope"]


@pytest.mark.parametrize("seed", range(200 if SOAK else 8))
@pytest.mark.parametrize("kind", ["slices", "any", "rows"])
def test_windows_continue_and_new_ones_begin(seed: int, kind: str) -> None:
    chooser = np.random.default_rng([seed, len(kind)])
    windows = {**OF_TIME, **OF_ROWS} if kind == "rows" else OF_TIME
    aggregates = SLICED if kind == "slices" else list(AGGREGATES)
    stream = Stream(chooser)
    for _ in range(int(chooser.integers(2, 5))):
        stream.change(some(chooser, aggregates)[:5], {name: windows[name] for name in some(chooser, list(windows))[:3]})
        for _ in range(int(chooser.integers(1, 7))):
            stream.batch(int(chooser.integers(0, 12)))
    stream.end()
    for number, phase in enumerate(stream.phases):
        assert shown(phase.emitted) == shown(expected_windows(stream, number)), number


@pytest.mark.parametrize("seed", range(200 if SOAK else 8))
def test_results_per_row_are_null_until_their_frame_is_known(seed: int) -> None:
    chooser = np.random.default_rng([seed, 1])
    stream = Stream(chooser)
    for _ in range(int(chooser.integers(2, 5))):
        stream.change(
            some(chooser, list(AGGREGATES))[:4], {name: FRAMES[name] for name in some(chooser, list(FRAMES))[:3]}
        )
        for _ in range(int(chooser.integers(1, 7))):
            stream.batch(int(chooser.integers(0, 12)))
    stream.end()
    done = 0
    for number, phase in enumerate(stream.phases):
        expected = {row["y"]: row for row in expected_rows(stream, number)}
        assert shown(phase.emitted) == shown([expected[row["y"]] for row in phase.emitted]), number
        done += len(phase.emitted)
    assert done == len(stream.rows)


@pytest.mark.parametrize("seed", range(60 if SOAK else 5))
def test_updates_merge_to_the_results_of_the_newer_query(seed: int) -> None:
    """In update mode, the last update of each window is its result."""
    chooser = np.random.default_rng([seed, 2])
    stream = Stream(chooser, "update")
    for _ in range(int(chooser.integers(2, 4))):
        stream.change(
            some(chooser, list(AGGREGATES))[:4], {name: OF_TIME[name] for name in some(chooser, list(OF_TIME))[:3]}
        )
        for _ in range(int(chooser.integers(2, 7))):
            stream.batch(int(chooser.integers(0, 12)))
    last = stream.phases[-1]
    merged: dict[Any, Any] = {}
    for row in last.emitted:
        place = row["k"], row.get("window"), row["window_start"], row["window_end"]
        if row.pop("change") == "delete":
            merged.pop(place, None)
        else:
            merged[place] = row
    last.until = FOREVER
    expected = {repr(row) for row in shown(expected_windows(stream, len(stream.phases) - 1))}
    assert {repr(row) for row in shown(list(merged.values()))} <= expected


def test_a_mean_leaves_its_count_and_its_sum() -> None:
    """An aggregate that is read from the partial of another one has its own when that one is removed."""
    for kept, removed in (("nx", "mean"), ("total", "mean"), ("nx", "skew"), ("sd", "skew"), ("ytotal", "ymean")):
        stream = Stream(np.random.default_rng(5))
        stream.change([kept, removed], {"hop": OF_TIME["hop"]})
        for _ in range(4):
            stream.batch(9)
        stream.change([kept], {"hop": OF_TIME["hop"]})
        stream.batch(9)
        stream.end()
        assert shown(stream.phases[1].emitted) == shown(expected_windows(stream, 1)), kept


def test_a_window_may_be_of_another_kind_under_its_old_name() -> None:
    """It leaves the state of the windows that it shared one with, whose other windows stay there."""
    stream = Stream(np.random.default_rng(5))
    stream.change(["total"], {"a": OF_TIME["tumble"], "b": OF_TIME["hop"], "c": OF_TIME["visit"]})
    for _ in range(4):
        stream.batch(9)
    stream.change(["total"], {"a": OF_TIME["tumble"], "b": OF_TIME["visit"], "c": OF_TIME["visit"]})
    for _ in range(4):
        stream.batch(9)
    stream.end()
    assert shown(stream.phases[1].emitted) == shown(expected_windows(stream, 1))


def test_the_older_state_disappears() -> None:
    stream = Stream(np.random.default_rng(5))
    stream.change(["total"], {"hop": OF_TIME["hop"], "visit": OF_TIME["visit"]})
    stream.batch(20)
    stream.change(["total", "all"], {"hop": OF_TIME["hop"], "visit": OF_TIME["visit"]})
    stream.batch(20)
    assert read_state_header(stream.base)["states"] is not None
    for _ in range(12):
        stream.newest += 6
        stream.batch(5)
    stream.end()
    state = StreamState(stream.prepared)
    state.decode_log(stream.base, stream.deltas, stream.fingerprint)
    assert state.states.described is None


def test_only_aggregates_and_windows_may_change() -> None:
    query = sash.Query({"n": agg.count()}, window.tumbling(5), by="k", time="t")
    then = fingerprint_query(query._declared, {"k": "bigint", "t": "bigint"}, buckets=8, mode="append")
    for now, said in (
        ({**then, "buckets": 9}, "buckets: 8 became 9"),
        ({**then, "mode": "update"}, "mode: append became update"),
        ({**then, "by": ["j"]}, "by: k became j"),
        ({**then, "columns": {"k": "string", "t": "bigint"}}, "columns: k: bigint became string"),
    ):
        with pytest.raises(ValueError, match=said):
            check_evolves(then, now)
    check_evolves(then, {**then, "windows": {"w": "rows(4)"}, "columns": {**then["columns"], "x": "double"}})


@pytest.mark.parametrize("new", [window.expanding(), window.delta("y", 3)])
def test_a_frame_without_a_limit_cannot_be_new(new: Any) -> None:
    stream = Stream(np.random.default_rng(5))
    stream.change(["total"], {"five": window.rows(5)})
    stream.batch(5)
    stream.change(["total"], {"five": window.rows(5), "new": new})
    with pytest.raises(ValueError, match="cannot add window 'new'"):
        stream.batch(5)


@pytest.mark.parametrize("seed", range(300 if SOAK else 12))
def test_slices_of_tails_go_on_or_are_an_error(seed: int) -> None:
    chooser = np.random.default_rng([seed, 2])
    stream = Stream(chooser, compiled=None)
    for _ in range(int(chooser.integers(2, 5))):
        names = SLICED if chooser.random() < 0.9 else list(AGGREGATES)
        before = {**vars(stream), "phases": list(stream.phases)}
        stream.change(some(chooser, names)[:4], {name: TAILS[name] for name in some(chooser, list(TAILS))[:3]})
        try:
            stream.batch(0)
        except ValueError as error:
            assert "needs these rows" in str(error) or "would be read from its partial" in str(error)  # noqa: PT017
            vars(stream).update(before)  # the older query goes on
            stream.phases[-1].until = FOREVER
        for _ in range(int(chooser.integers(1, 7))):
            stream.batch(int(chooser.integers(0, 12)))
    stream.end()
    done = 0
    for number, phase in enumerate(stream.phases):
        expected = {row["y"]: row for row in expected_rows(stream, number)}
        assert shown(phase.emitted) == shown([expected[row["y"]] for row in phase.emitted]), number
        done += len(phase.emitted)
    assert done == len(stream.rows)


@pytest.mark.parametrize(
    ("then", "now", "error"),
    [
        (["total"], ["total", "peak", "slope"], ""),
        (["total", "mean"], ["mean"], ""),
        (
            ["total"],
            ["total", "middle"],
            "older rows of window 'long', but the changed query needs these rows: middle needs all values",
        ),
        (["nx"], ["nx", "mean"], "cannot add aggregate 'mean': 'nx' would be read from its partial"),
    ],
)
def test_which_aggregates_slices_of_tails_may_have(then: list[str], now: list[str], error: str) -> None:
    stream = Stream(np.random.default_rng(8), compiled=None)
    stream.change(then, {"long": TAILS["long"]})
    for _ in range(9):
        stream.batch(12)
    stream.change(now, {"long": TAILS["long"]})
    if error:
        with pytest.raises(ValueError, match=error):
            stream.batch(12)
        return
    for _ in range(12):
        stream.batch(12)
    stream.end()
    expected = {row["y"]: row for row in expected_rows(stream, 1)}
    assert shown(stream.phases[1].emitted) == shown([expected[row["y"]] for row in stream.phases[1].emitted])
    assert any(row[name] is not None for row in stream.phases[1].emitted for name in set(now) - set(then) or now)


def test_a_prefix_goes_on() -> None:
    stream = Stream(np.random.default_rng(7), compiled=None)
    stream.change(["total", "nx", "mean"], {"ever": window.expanding(), "five": window.rows(5)})
    for _ in range(4):
        stream.batch(9)
    stream.change(["nx"], {"ever": window.expanding(), "recent": window.time(6)})
    for _ in range(4):
        stream.batch(9)
    stream.end()
    expected = {row["y"]: row for row in expected_rows(stream, 1)}
    assert shown(stream.phases[1].emitted) == shown([expected[row["y"]] for row in stream.phases[1].emitted])


def test_a_changed_query_still_forgets_keys() -> None:
    forget = read_duration(10, "forget")

    def prepared_of(*names: str) -> tuple[Any, Any]:
        query = sash.Query({name: AGGREGATES[name] for name in names}, window.rows(3), by="k", time="t")._declared
        columns = {name: COLUMNS[name] for name in query.columns}
        return prepare(query, SCHEMA, compiled=False), fingerprint_query(query, columns, forget="10")

    def rows(*times: int) -> pa.Table:
        return table_of([{"k": 1, "t": time, "x": 1.0, "y": time} for time in times])

    before, then = prepared_of("total")
    after, now = prepared_of("total", "n")
    state = StreamState(before, forget=forget)
    state.advance(rows(1, 2), 2)
    changed = StreamState(after, forget=forget)
    changed.decode_log(state.encode(then, "a"), [], now, "a", evolves=True)
    made = changed.advance(rows(3, 20, 21, 22, 23), 20)
    assert [(row["t"], row["total"], row["n"]) for row in made.results.to_pylist()] == [(2, 2.0, None), (3, 3.0, None)]
    assert made.forgotten == 1
    rest = changed.finish().to_pylist()
    assert [(row["t"], row["total"], row["n"]) for row in rest] == [
        (20, 1.0, None),
        (21, 2.0, None),
        (22, 3.0, 3),
        (23, 3.0, 3),
    ]


def test_an_aggregate_may_be_named_as_the_column_of_updates() -> None:
    """Without mode="update", no column says what changed."""

    def prepared_of(*names: str) -> tuple[Any, Any]:
        aggregates = {name: agg.sum("x") if name == "change" else agg.count() for name in names}
        query = sash.Query(aggregates, window.tumbling(10), by="k", time="t")._declared
        return prepare(query, SCHEMA, compiled=False), fingerprint_query(query, {"k": "bigint", "t": "bigint"})

    before, then = prepared_of("n")
    after, now = prepared_of("n", "change")
    state = StreamState(before)
    state.advance(table_of([{"k": 1, "t": 2, "x": 1.0, "y": 1}]), 0)
    changed = StreamState(after)
    changed.decode(state.encode(then), now, evolves=True)
    changed.advance(table_of([{"k": 1, "t": time, "x": 1.0, "y": 1} for time in (4, 11)]), 0)
    assert [(row["n"], row["change"]) for row in changed.finish().to_pylist()] == [(2, None), (1, 1.0)]
