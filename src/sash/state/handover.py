"""Handover: the states of a group of windows, one after the other. There is one, unless the query has changed.

The query changes at a time E, the evolution: no row before it may be missing, so it is after the watermark and after all rows that have
arrived. What is new begins there.

    windows of time        older state ├─────────────────────┤ drops out when its last window that began before E is closed
                           newer state        E├──────────────────────────►
    all other windows      one state, whose new results are null while their windows hold rows before E

The older state has the kept aggregates and windows. While it lasts, it says which windows there are, and the newer state adds the new
aggregates of those that begin at E or later. So no state is converted to partials that its rows were never part of. If all its aggregates
are removed later, it goes on without any: only it knows which sessions began before E. Windows that follow the order of rows cannot be
handed over: a key without new rows would hold its rows, and the count of its windows, in the older state forever.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sash.columns.buffers import as_arrow
from sash.engine.assemble import CHANGE
from sash.engine.executors.execute import execute
from sash.engine.group_ids import number_keys
from sash.engine.prepare import Prepared, prepare
from sash.engine.stream_plan import stream_plan
from sash.plan.query_spec import ADDED
from sash.state.known_since import ALWAYS, KnownSince, NewResult
from sash.state.stored_items import StoredItems
from sash.state.watermark import MicroBatch
from sash.windows.base import NEVER


class StateOf(NamedTuple):
    """Which windows and aggregates a state is of, and since when it knows them."""

    windows: list[str]
    aggregates: list[str]
    """Empty if a newer state has all that are left: then it only says which windows there are."""
    known: KnownSince = ALWAYS


@dataclass
class Handover:
    """The states of a group of windows, the oldest first. Windows that begin before the rows of a state belong to an older one."""

    states: list[StoredItems]

    @property
    def described(self) -> dict[str, Any]:
        """Of what the states are, as JSON."""
        return describe([state_of(state) for state in self.states])

    def advance(self, batch: MicroBatch) -> pa.Table:
        """Add a micro-batch. Return the results that are complete with it."""
        first, *others = self.states
        results, windows = advance_known(first, batch), set(first.prepared.query.windows)
        for newer in others:
            results = with_new_aggregates(results, advance_known(newer, batch), windows, newer)
            windows |= set(newer.prepared.query.windows)
        return results

    def settle(self, watermark: int) -> bool:
        """Drop states whose windows are all closed, and what no window reaches back to any more; return whether there was any."""
        count, known = len(self.states), self.states[0].known
        for number in range(count - 1, 0, -1):
            begin = self.states[number].known.rows_since
            if all(older.is_past(begin, watermark) for older in self.states[:number]):
                self.states = self.states[number:]
                break
        first = self.states[0]
        if first.known.time > NEVER and first.is_past(first.known.time, watermark):
            first.known = KnownSince(new=first.known.new)
        return len(self.states) < count or first.known is not known


# -- the description of states ---------------------------------------------------------------------------------------


def state_of(state: StoredItems) -> StateOf:
    """Return of what a state is."""
    query = state.prepared.query
    return StateOf(list(query.windows), list(query.aggregates), state.known)


def describe(states: Sequence[StateOf]) -> dict[str, Any]:
    """Return of what the states of a handover are, as JSON.

    >>> newer = StateOf(["w"], ["n"], KnownSince(rows_since=5))
    >>> describe([StateOf(["w"], []), newer])["older"]
    {'windows': ['w'], 'aggregates': []}
    >>> read_description(describe([StateOf(["w"], []), newer])) == [StateOf(["w"], []), newer]
    True
    """
    *older, newest = states
    described = {"windows": newest.windows, "aggregates": newest.aggregates}
    described |= {} if newest.known.is_always else asdict(newest.known)
    return {"at": newest.known.rows_since, "older": describe(older), "newer": described} if older else described


def read_description(described: Mapping[str, Any]) -> list[StateOf]:
    """Return of what the states of a handover are, from `describe`."""
    if "at" in described:
        [newest] = read_description(described["newer"])
        known = replace(newest.known, rows_since=described["at"])
        return [*read_description(described["older"]), newest._replace(known=known)]
    limits = {name: described[name] for name in ("rows_since", "emits_since") if name in described}
    new = [NewResult(**entry) for entry in described.get("new", ())]
    return [StateOf(described["windows"], described["aggregates"], KnownSince(**limits, new=new))]


def part_of(prepared: Prepared, of: StateOf) -> Prepared:
    """Return a query with some of its windows and aggregates, prepared once for a prepared query."""
    query = prepared.query
    if of.aggregates == list(query.aggregates):
        for group in stream_plan(prepared).groups:
            if list(group.query.windows) == of.windows:
                return group
    key = ("part", tuple(of.windows), tuple(of.aggregates))
    if key not in prepared.derived:
        part = replace(query.part(of.windows), aggregates={name: query.aggregates[name] for name in of.aggregates})
        reasons = {name: reason for name, reason in prepared.interpreted.items() if name in of.aggregates}
        prepared.derived[key] = prepare(part, prepared.schema, compiled=prepared.compiled, interpreted=reasons)
    prepared_part: Prepared = prepared.derived[key]
    return prepared_part


# -- a micro-batch ---------------------------------------------------------------------------------------------------


def advance_known(state: StoredItems, batch: MicroBatch) -> pa.Table:
    """Add the rows of a micro-batch that a state can know. Return the results that it knows."""
    results = advance(state, rows_in_time(state.prepared, batch, state.known.rows_since))
    return state.known.known_windows(state.prepared, results)


def rows_in_time(prepared: Prepared, batch: MicroBatch, since: int = NEVER) -> MicroBatch:
    """Return a micro-batch without the rows that are late for the windows of a state, or older than a time."""
    assert prepared.time is not None
    assert batch.marks is not None
    times = prepared.time.read(batch.table[prepared.time.name])
    in_time = (stream_plan(prepared).late_from(times) > batch.marks) & (times >= since)
    return batch if in_time.all() else replace(batch, table=batch.table.filter(as_arrow(in_time)))


def advance(state: StoredItems, batch: MicroBatch) -> pa.Table:
    """Add a micro-batch to a state, compiled or with NumPy. Both store the same."""
    whole = state.prepared

    def work(query: Prepared) -> pa.Table:
        state.prepared = query
        return state.advance(batch)

    try:  # a state changes after everything was evaluated, so that a run may try again
        return execute(whole, len(batch.table) + len(state), work, on_stream=True)
    finally:
        state.prepared = whole


def with_new_aggregates(older: pa.Table, newer: pa.Table, known: set[str], state: StoredItems) -> pa.Table:
    """Return the results of an older state with the new aggregates of those of a newer state, and the windows that are not `known`."""
    names, query = newer.column_names, state.prepared.query
    identity = (*query.by, *(name for name in ADDED if name in names), *((CHANGE,) if state.update else ()))
    together = pa.concat_tables([older.select(identity), newer.select(identity)], promote_options="permissive")
    ids, count = number_keys(together, identity, state.prepared.loops)
    places = np.full(count, -1, np.int64)
    places[ids[len(older) :]] = np.arange(len(newer))
    found = places[ids[: len(older)]]
    for name in names:
        if name not in older.column_names:
            older = older.append_column(name, newer[name].combine_chunks().take(pa.array(found, mask=found < 0)))
    if "window" not in names:  # the only window is known
        return older.select(names)
    is_new = pc.invert(pc.is_in(newer["window"].cast(pa.string()), pa.array(sorted(known))))
    return pa.concat_tables([older, newer.filter(is_new)], promote_options="permissive").select(names)
