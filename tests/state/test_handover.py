"""The states of a group of windows say of what they are, and drop out one after the other."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

import sash
from sash import agg, window
from sash.engine.prepare import prepare
from sash.state.handover import Handover, StateOf, describe, read_description
from sash.state.known_since import KnownSince, NewResult
from sash.state.slice_state import SliceState
from sash.windows.base import NEVER

SCHEMA = pa.schema({"t": pa.int64(), "x": pa.int64()})
ROWS = pa.table({"t": [3], "x": [1]}, schema=SCHEMA)


def state_since(time: int, *, gap: int = 5) -> SliceState:
    query = sash.Query({"total": agg.sum("x")}, {"visit": window.session(gap)}, time="t")
    state = SliceState(prepare(query._declared, SCHEMA, compiled=False))
    state.known = KnownSince(time, {"visit": time + gap} if time > NEVER else {})
    return state


def test_a_description_is_read_as_it_was_written() -> None:
    states = [
        StateOf(["a"], []),
        StateOf(["a"], ["n"], KnownSince(4, {"a": 4})),
        StateOf(["a", "b"], ["n", "m"], KnownSince(9, {"b": 12}, [NewResult(2, ["n"], [])])),
    ]
    assert read_description(describe(states)) == states


def test_a_newer_state_takes_over_at_the_time_that_is_described() -> None:
    """Also if nothing else is said of what it knows."""
    newer: dict[str, Any] = {"windows": ["a"], "aggregates": ["n"]}
    described = {"at": 5, "older": {"windows": ["a"], "aggregates": []}, "newer": newer}
    assert read_description(described)[1].known.rows_since == 5


def test_older_states_drop_out_when_their_windows_are_closed() -> None:
    first, second, third = state_since(NEVER), state_since(8), state_since(20)
    first.slices = first._add(ROWS)
    group = Handover([first, second, third])
    assert not group.settle(13)
    assert group.states == [first, second, third]  # the first one has an open session
    first.slices = None
    assert group.settle(13)
    assert group.states == [second, third]
    assert second.known == KnownSince(8, {"visit": 13})  # a session may have begun before
    assert group.settle(25)
    assert group.states == [third]
    assert third.known.time == 25
    assert group.settle(30)
    assert third.known.is_always
    assert not group.settle(31)
