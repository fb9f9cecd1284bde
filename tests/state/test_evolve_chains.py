"""Random chains of queries within the life of a window, compared with a model in plain Python that knows all rows.

The model shares nothing with the engine. It states what the docs promise:

1. A window of time is emitted once, by the query at its end, if it is known: no window before the one in which its name, or the last
   aggregate of it, was new. A session that is not known from its beginning may have begun up to its gap earlier.
2. An aggregate that all queries had since the first row of a window gives its full result. A newer one is null.
3. In update mode, each micro-batch emits the known windows that its rows change, and deletes the sessions that are gone.
4. The result of a row is emitted once; an aggregate whose frame reaches back to before it was new is null.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pytest
from helpers.cases import SOAK

import sash
from sash import agg, window
from sash.engine.prepare import prepare
from sash.state.fingerprint import fingerprint_query
from sash.state.stream_state import StreamState
from sash.windows.base import FOREVER, NEVER

SCHEMA = pa.schema({"k": pa.int64(), "t": pa.int64(), "x": pa.int64(), "i": pa.int64()})
TYPES = {"k": "bigint", "t": "bigint", "x": "bigint", "i": "bigint"}
DELAY = 6
"""The watermark is this far behind the newest row."""
SEEDS = range(2000 if SOAK else 25)


class Event(NamedTuple):
    """A row; `i` is the number of rows before it."""

    k: int
    t: int
    x: int | None
    i: int


Rows = list[Event]
Function = Callable[[list[int]], Any]


# -- aggregates and windows, and what they mean ---------------------------------------------------------------------------


def mean(values: list[int]) -> float | None:
    return sum(values) / len(values) if values else None


AGGREGATES: dict[str, tuple[Any, Function]] = {
    "sum(x)": (agg.sum("x"), lambda values: sum(values) if values else None),
    "count(x)": (agg.count("x"), len),
    "mean(x)": (agg.mean("x"), mean),
    "max(x)": (agg.max("x"), lambda values: max(values, default=None)),
    "min(x)": (agg.min("x"), lambda values: min(values, default=None)),
    "collect(x)": (agg.collect("x"), lambda values: values or None),
    "first(x)": (agg.first("x"), lambda values: values[0] if values else None),
}


@dataclass(frozen=True)
class Sliding:
    """Windows [start, start + range), whose starts are multiples of slide."""

    range: int
    slide: int
    gap = 0
    ends_after = 0

    @property
    def window(self) -> Any:
        return window.time(self.range, slide=self.slide)

    def windows(self, rows: Rows) -> dict[tuple[int, int, int], Rows]:
        """Return the rows of each window, by key, start and end."""
        made: dict[tuple[int, int, int], Rows] = {}
        for row in rows:
            for start in range(row.t - self.range + 1, row.t + 1):
                if start % self.slide == 0:
                    made.setdefault((row.k, start, start + self.range), []).append(row)
        return made


@dataclass(frozen=True)
class Session:
    """Rows with gaps of at most `gap` between them; a row at the end of a session still extends it."""

    gap: int
    ends_after = 1

    @property
    def window(self) -> Any:
        return window.session(self.gap)

    def windows(self, rows: Rows) -> dict[tuple[int, int, int], Rows]:
        """Return the rows of each session, by key, start and end."""
        made: dict[tuple[int, int, int], Rows] = {}
        for key in {row.k for row in rows}:
            own: Rows = []
            for row in sorted((row for row in rows if row.k == key), key=lambda row: row.t):
                if own and row.t > own[-1].t + self.gap:
                    made[key, own[0].t, own[-1].t + self.gap] = own
                    own = []
                own.append(row)
            made[key, own[0].t, own[-1].t + self.gap] = own
        return made


@dataclass(frozen=True)
class TimeFrame:
    """Rows of the key from t - before to t + after."""

    before: int
    after: int

    @property
    def window(self) -> Any:
        return window.time(before=self.before, after=self.after)

    def frame(self, row: Event, own: Rows) -> Rows:
        """Return the rows of the frame of a row."""
        return [other for other in own if -self.before <= other.t - row.t <= self.after]

    def is_known(self, row: Event, own: Rows, since: int) -> bool:  # noqa: ARG002 — as frames of rows
        """Return whether no row of the frame can be before a time."""
        return row.t - self.before >= since


@dataclass(frozen=True)
class RowFrame:
    """The row, `before` rows before it and `after` rows after it."""

    before: int
    after: int

    @property
    def window(self) -> Any:
        return window.rows(before=self.before, after=self.after)

    def frame(self, row: Event, own: Rows) -> Rows:
        """Return the rows of the frame of a row."""
        place = own.index(row)
        return own[max(place - self.before, 0) : place + self.after + 1]

    def is_known(self, row: Event, own: Rows, since: int) -> bool:
        """Return whether no row of the frame can be before a time."""
        return sum(other.t >= since for other in own[: own.index(row) + 1]) > self.before


OF_TIME = [Sliding(10, 3), Sliding(7, 7), Sliding(20, 5), Sliding(2, 6), Session(3), Session(9)]
FRAMES = [TimeFrame(6, 0), TimeFrame(3, 2), RowFrame(4, 0), RowFrame(2, 1)]


class Interval(NamedTuple):
    """A window of a key."""

    name: str
    key: int
    start: int
    end: int


# -- a stream that changes its query --------------------------------------------------------------------------------------


@dataclass
class Phase:
    """A query for a part of a stream, by the names of its aggregates and windows."""

    aggregates: dict[str, str]
    windows: dict[str, Any]
    begins: int
    """Rows from this time on came after that."""

    @property
    def query(self) -> sash.Query:
        aggregates = {name: AGGREGATES[one][0] for name, one in self.aggregates.items()}
        windows = {name: one.window for name, one in self.windows.items()}
        return sash.Query(aggregates, windows, by="k", time="t")


def is_in(name: str, here: dict[str, Any], before: dict[str, Any]) -> bool:
    return name in before and here[name] == before[name]


@dataclass
class Chain:
    """A stream whose state goes through bytes between micro-batches, and all of its rows."""

    mode: str = "append"
    rows: Rows = field(default_factory=list)
    phases: list[Phase] = field(default_factory=list)
    watermark: int = 0
    state: bytes = b""
    done: set[int] = field(default_factory=set)
    """The rows that have a result."""

    def change(self, aggregates: dict[str, str], windows: dict[str, Any]) -> None:
        if not self.rows:  # before the first row, a query may become any other
            self.phases.clear()
        begins = max(self.watermark, 1 + max((row.t for row in self.rows), default=-1))
        self.phases.append(Phase(aggregates, windows, begins))
        declared = self.phases[-1].query._declared
        self.prepared = prepare(declared, SCHEMA, compiled=None)
        self.fingerprint = fingerprint_query(declared, {name: TYPES[name] for name in declared.columns})

    def batch(self, rows: Rows, watermark: int) -> list[dict[str, Any]]:
        """Add rows, then let the watermark advance. Return what was emitted."""
        self.rows += rows
        state = StreamState(self.prepared, self.mode)
        if self.state:
            state.decode(self.state, self.fingerprint, evolves=True)
        else:
            state.watermark = 0
        emitted = state.advance(pa.Table.from_pylist([row._asdict() for row in rows], SCHEMA), watermark)
        self.watermark = watermark
        self.state = state.encode(self.fingerprint)
        assert emitted.late == 0
        results: list[dict[str, Any]] = emitted.results.to_pylist()
        return results

    def since(self, part: str, name: str) -> int:
        """The time from which on an aggregate or a window of the last query knows all rows."""
        for before, here in reversed(list(zip(self.phases, self.phases[1:], strict=False))):
            if not is_in(name, getattr(here, part), getattr(before, part)):
                return here.begins
        return NEVER

    def first_start(self, name: str) -> int:
        """The first time at which a known window of the last query may begin."""
        for before, here in reversed(list(zip(self.phases, self.phases[1:], strict=False))):
            kept = [one for one in here.aggregates if is_in(one, here.aggregates, before.aggregates)]
            if not kept or not is_in(name, here.windows, before.windows):
                return here.begins + int(here.windows[name].gap)
        return NEVER

    def windows(self) -> dict[Interval, Rows]:
        """The windows of the last query, each with its rows."""
        windows = self.phases[-1].windows
        return {Interval(name, *one): own for name in windows for one, own in windows[name].windows(self.rows).items()}

    def known_windows(self) -> dict[Interval, Rows]:
        """The windows of the last query that its states know from their beginning."""
        return {one: own for one, own in self.windows().items() if one.start >= self.first_start(one.name)}

    def expected(self, one: Interval, rows: Rows) -> dict[str, Any]:
        """The result of a window: null for aggregates that were new after it began."""
        phase = self.phases[-1]
        several = {"window": one.name} if len(phase.windows) > 1 else {}
        values = {
            name: self.value(name, rows) if one.start >= self.since("aggregates", name) else None
            for name in phase.aggregates
        }
        return {"k": one.key, **several, "window_start": one.start, "window_end": one.end, **values}

    def value(self, name: str, rows: Rows) -> Any:
        """The value of an aggregate over some rows."""
        ordered = sorted(rows, key=lambda row: (row.t, row.i))
        return AGGREGATES[self.phases[-1].aggregates[name]][1]([row.x for row in ordered if row.x is not None])


def shown(rows: list[dict[str, Any]]) -> list[str]:
    def plain(value: Any) -> Any:
        return float(value) if isinstance(value, int) else value

    return sorted(repr({name: plain(value) for name, value in sorted(row.items())}) for row in rows)


# -- random chains --------------------------------------------------------------------------------------------------------


Step = tuple[int, list[tuple[int, int, int | None]]]
"""A micro-batch: the time that passes before it, and its rows, by key, delay and value."""
Given = list[tuple[dict[str, str], dict[str, Any], list[Step]]]


def edited(chooser: np.random.Generator, before: dict[str, Any], names: list[str], kinds: list[Any]) -> dict[str, Any]:
    """Add, remove, rename or redefine something; at least one stays."""
    made = dict(before)
    name, kind = str(chooser.choice(names)), kinds[chooser.integers(len(kinds))]
    edit = chooser.integers(4)
    if edit == 0 and len(made) > 1:
        made.pop(list(made)[chooser.integers(len(made))])
    elif edit == 1 and made:
        old = list(made)[chooser.integers(len(made))]
        made[name] = made.pop(old)
    elif edit == 2 or not made:
        made[name] = kind
    return made


def some_steps(chooser: np.random.Generator) -> list[Step]:
    """Micro-batches over less time than windows last; few of a key come after each other."""
    return [
        (
            int(chooser.integers(5)),
            [
                (
                    int(chooser.integers(5)),
                    int(chooser.integers(DELAY + 1)),
                    None if chooser.random() < 0.1 else int(chooser.integers(-9, 10)),
                )
                for _ in range(chooser.integers(4))
            ],
        )
        for _ in range(chooser.integers(1, 4))
    ]


def chain_of(seed: int, windows: list[Any]) -> Given:
    """Queries that change a little, several times within the life of a window."""
    chooser = np.random.default_rng(seed)
    pool = [list(AGGREGATES)[place] for place in chooser.permutation(len(AGGREGATES))[:3]]
    aggregates = edited(chooser, {}, ["a", "b", "c"], pool)
    own = edited(chooser, {}, ["v", "w"], windows)
    made = []
    for _ in range(chooser.integers(3, 8)):
        made.append((aggregates, own, some_steps(chooser)))
        for _ in range(chooser.integers(1, 3)):
            aggregates = edited(chooser, aggregates, ["a", "b", "c"], pool)
        if chooser.random() < 0.2:
            own = edited(chooser, own, ["v", "w"], windows)
    return made


def run(chain: Chain, phases: Given, check: Callable[[Chain, Rows, int], None]) -> None:
    """Run the queries one after the other, and check what each micro-batch emits; no row is late."""
    newest = 12
    for aggregates, windows, steps in phases:
        chain.change(aggregates, windows)
        for passes, made in steps:
            watermark = max(chain.watermark, newest - DELAY)
            newest += passes
            rows = [
                Event(key, max(newest - delay, watermark), x, len(chain.rows) + number)
                for number, (key, delay, x) in enumerate(made)
            ]
            check(chain, rows, watermark)
            newest = max([newest, *(row.t for row in rows)])
    check(chain, [], FOREVER)


def check_append(chain: Chain, rows: Rows, watermark: int) -> None:
    """Assert that a micro-batch emits the known windows that end by the watermark."""
    before, windows = chain.watermark, chain.phases[-1].windows
    emitted = chain.batch(rows, watermark)
    expected = [
        chain.expected(one, own)
        for one, own in chain.known_windows().items()
        if before < one.end + windows[one.name].ends_after <= watermark
    ]
    assert shown(emitted) == shown(expected)


def check_update(chain: Chain, rows: Rows, watermark: int) -> None:
    """Assert that a micro-batch emits the known windows with new rows, and deletes the known sessions that are gone."""
    before = chain.known_windows()
    emitted = chain.batch(rows, watermark)
    expected = [
        {**chain.expected(one, own), "change": "upsert"}
        for one, own in chain.known_windows().items()
        if set(own) & set(rows)
    ]
    nothing = dict.fromkeys(chain.phases[-1].aggregates)
    expected += [
        {**chain.expected(one, own), **nothing, "change": "delete"}
        for one, own in before.items()
        if one not in chain.windows()
    ]
    assert shown(emitted) == shown(expected)


def check_frames(chain: Chain, rows: Rows, watermark: int) -> None:
    """Assert that the rows that a micro-batch emits are new, and that their frames are complete."""
    phase = chain.phases[-1]
    for result in chain.batch(rows, watermark):
        row = chain.rows[result["i"]]
        assert row.i not in chain.done
        chain.done.add(row.i)
        own = sorted((other for other in chain.rows if other.k == row.k), key=lambda other: (other.t, other.i))
        for name, one in phase.windows.items():
            for aggregate in phase.aggregates:
                since = max(chain.since("windows", name), chain.since("aggregates", aggregate))
                is_known = since == NEVER or one.is_known(row, own, since)
                expected = chain.value(aggregate, one.frame(row, own)) if is_known else None
                assert result[f"{aggregate}_{name}" if len(phase.windows) > 1 else aggregate] == expected, row


@pytest.mark.parametrize("seed", SEEDS)
def test_each_known_window_is_emitted_once(seed: int) -> None:
    run(Chain(), chain_of(seed, OF_TIME), check_append)


@pytest.mark.parametrize("seed", SEEDS)
def test_each_update_of_a_known_window_is_emitted(seed: int) -> None:
    run(Chain("update"), chain_of(seed, OF_TIME), check_update)


@pytest.mark.parametrize("seed", SEEDS)
def test_each_row_has_its_result_once(seed: int) -> None:
    chain = Chain()
    run(chain, chain_of(seed, FRAMES), check_frames)
    assert len(chain.done) == len(chain.rows)


def test_a_session_that_began_between_two_changes_is_emitted() -> None:
    """The first query has another key's session, which only its state knows; the last one has none of its aggregates."""
    chain, visit = Chain(), {"v": Session(50)}
    both = {"s": "sum(x)", "n": "count(x)"}
    chain.change({"s": "sum(x)"}, visit)
    check_append(chain, [Event(1, 10, 1, 0), Event(1, 20, 1, 1)], 10)
    chain.change(both, visit)
    check_append(chain, [Event(2, 31, 1, 2), Event(2, 41, 1, 3)], 20)
    chain.change({"n": "count(x)"}, visit)
    check_append(chain, [Event(1, 60, 1, 4), Event(2, 51, 1, 5)], 50)
    assert [(row["k"], row["window_start"], row["n"]) for row in chain.batch([], FOREVER)] == [
        (2, 31, 3),
        (1, 10, None),
    ]


def test_the_end_of_an_unknown_session_is_never_emitted() -> None:
    """The first query had a row that the session began with. The second one has none of its aggregates, the third one adds another."""
    chain, visit = Chain(), {"v": Session(3)}
    chain.change({"s": "sum(x)"}, visit)
    check_append(chain, [Event(0, 17, 1, 0)], 11)
    chain.change({"n": "count(x)"}, visit)
    check_append(chain, [Event(1, 16, 1, 1)], 14)
    chain.change({"n": "count(x)", "m": "max(x)"}, visit)
    check_append(chain, [Event(0, 20, 1, 2)], 16)
    for watermark in (21, 23, 27):
        assert chain.batch([], watermark) == []


def test_a_window_without_new_rows_is_not_updated_when_another_one_is_removed() -> None:
    """The slices of both are joined, which changes no result."""
    chain, counts = Chain("update"), {"n": "count(x)"}
    chain.change(counts, {"v": Sliding(7, 7), "w": Sliding(10, 3)})
    check_update(chain, [Event(0, 17, 1, 0), Event(0, 20, 1, 1)], 10)
    chain.change(counts, {"v": Sliding(7, 7)})
    check_update(chain, [Event(1, 17, 1, 2)], 11)
