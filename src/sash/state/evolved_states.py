"""EvolvedStates: the states of a query that continues from the state of another one, with other aggregates or windows.

The query changes at a time E, the evolution: no row before it may be missing, so it is after the watermark and after all rows that have
arrived. What is new begins there.

    windows of time        older state ├─────────────────────┤ drops out when its last window that began before E is closed
                           newer state        E├──────────────────────────►
    all other windows      one state, whose new results are null while their windows hold rows before E

The older state has the kept aggregates and windows. While it lasts, it says which windows there are, and the newer state adds the new
aggregates of those that begin at E or later. So no state is converted to partials that its rows were never part of. If all its aggregates
are removed later, it goes on without any: only it knows which sessions began before E.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sash.columns.buffers import as_arrow
from sash.engine.assemble import CHANGE, runs_of
from sash.engine.evaluate import Evaluated
from sash.engine.group_ids import number_keys
from sash.engine.prepare import Prepared, prepare
from sash.engine.row_block import RowBlock
from sash.engine.stream_plan import stream_plan
from sash.engine.window_bounds import WindowResults
from sash.plan.query_spec import ADDED
from sash.state.erased_keys import is_among
from sash.state.row_state import RowState
from sash.state.stored_items import StoredItems
from sash.state.watermark import MicroBatch
from sash.state.window_states import StateOptions, WindowStates, advance, new_state, rows_in_time
from sash.windows.base import NEVER, Flags, LoopCompiler, Span


@dataclass(frozen=True)
class NewResult:
    """Results that are null while their window may hold rows before a time."""

    since: int
    aggregates: list[str]
    """Of all windows."""
    windows: list[str]
    """All aggregates of these."""


@dataclass(frozen=True)
class StateOf:
    """Which windows and aggregates a state is of."""

    windows: list[str]
    aggregates: list[str]
    """None if a newer state has all that are left: then it only says which windows there are."""
    rows_since: int = NEVER
    """It gets no older rows."""
    emits_since: dict[str, int] = field(default_factory=dict)
    """By window: the time at which its first window begins."""
    new: list[NewResult] = field(default_factory=list)

    @property
    def is_whole(self) -> bool:
        """Whether it has all results."""
        return self.rows_since == NEVER and not self.emits_since and not self.new

    def without_older(self, prepared: Prepared, block: RowBlock, span: Span, evaluated: Evaluated) -> Evaluated:
        """Return results with null in place of new ones whose window holds rows before they were new, or may hold them."""
        windows = dict(evaluated.windows)
        for new in self.new:
            for name, results in windows.items():
                columns = dict(results.columns)
                unknown = list(columns) if name in new.windows else new.aggregates
                if not unknown:
                    continue
                is_older = _begins_before(prepared, name, new.since, block, span, results)
                for aggregate in unknown:
                    column = columns[aggregate]
                    columns[aggregate] = pc.if_else(as_arrow(is_older), pa.nulls(len(column), column.type), column)
                windows[name] = replace(results, columns=columns)
        return replace(evaluated, windows=windows)


def _begins_before(
    prepared: Prepared, name: str, since: int, block: RowBlock, span: Span, results: WindowResults
) -> Flags:
    """Return which windows hold rows before a time, or may hold them."""
    window = prepared.plan.windows[name]
    if window.frame is None:
        assert results.starts is not None
        return results.starts < since
    reach = window.frame.reach(prepared.unit)
    assert reach is not None  # evolve() has checked it
    firsts = block.firsts
    rows = runs_of(firsts[:-1] + span.done, firsts[:-1] + span.final)
    older = np.zeros(len(block) + 1, np.int64)
    np.cumsum(block.times < since, out=older[1:])
    first_new = firsts[:-1] + older[firsts[1:]] - older[firsts[:-1]]  # rows of a key are in order of time
    since_then = rows - np.repeat(first_new, span.final - span.done)
    # Older rows may have left the state, so that a key without them need not be new.
    return (block.times[rows] - reach.ticks < since) | (since_then < reach.rows)


@dataclass
class Leaf:
    """A state of some windows and aggregates."""

    of: StateOf
    state: StoredItems

    @property
    def leaves(self) -> list[Leaf]:
        """All states."""
        return [self]

    @property
    def described(self) -> dict[str, Any]:
        """The description as JSON."""
        of = self.of
        more = {"rows_since": of.rows_since, "emits_since": of.emits_since, "new": [vars(new) for new in of.new]}
        return {"windows": of.windows, "aggregates": of.aggregates, **({} if of.is_whole else more)}

    def advance(self, batch: MicroBatch) -> pa.Table:
        """Add a micro-batch. Return the results that are complete with it."""
        results = advance(self.state, rows_in_time(self.state.prepared, batch, self.of.rows_since))
        return results if not self.of.emits_since else results.filter(self._is_emitted(results))

    def _is_emitted(self, results: pa.Table) -> pa.Array:
        time = self.state.prepared.time
        assert time is not None
        starts = time.read(results["window_start"])
        if "window" not in results.column_names:
            return as_arrow(starts >= max(self.of.emits_since.values()))
        names = results["window"].cast(pa.string()).to_pylist()
        return as_arrow(starts >= np.array([self.of.emits_since.get(name, NEVER) for name in names], np.int64))

    def first_start(self, window: str) -> int:
        """Return the time from which on windows are emitted."""
        return self.of.emits_since.get(window, NEVER)

    def settled(self, watermark: int) -> Leaf:
        """Return the state without limits that no window reaches back to any more."""
        limits = [self.of.rows_since, *self.of.emits_since.values()]
        if max(limits) > NEVER and self.is_past(max(limits), watermark):
            self.of = replace(self.of, rows_since=NEVER, emits_since={})
        return self

    def is_past(self, time: int, watermark: int) -> bool:
        """Return whether all windows that began before a time are closed."""
        prepared = self.state.prepared
        extent = max(window.extent(prepared.unit) for window in prepared.plan.windows.values())
        return watermark - extent >= time and self.state.oldest >= time


@dataclass
class Handover:
    """An older state that hands over to a newer one: windows that begin before a time are those of the older state."""

    older: Node
    newer: Leaf
    at: int

    @property
    def leaves(self) -> list[Leaf]:
        """All states."""
        return [*self.older.leaves, self.newer]

    @property
    def described(self) -> dict[str, Any]:
        """The description as JSON."""
        return {"at": self.at, "older": self.older.described, "newer": self.newer.described}

    def advance(self, batch: MicroBatch) -> pa.Table:
        """Add a micro-batch. Return the results that are complete with it."""
        older, newer = self.older.advance(batch), self.newer.advance(batch)
        prepared = self.newer.state.prepared
        kept = {name for leaf in self.older.leaves for name in leaf.of.windows}
        return with_new_aggregates(older, newer, kept, prepared.query.by, prepared.loops)

    def first_start(self, window: str) -> int:
        """Return the time from which on windows are emitted."""
        known = any(window in leaf.of.windows for leaf in self.older.leaves)
        return self.older.first_start(window) if known else self.newer.first_start(window)

    def settled(self, watermark: int) -> Node:
        """Return the newer state alone if all windows of the older one that began before are closed."""
        if self.older.is_past(self.at, watermark):
            return self.newer.settled(watermark)
        self.older, self.newer = self.older.settled(watermark), self.newer.settled(watermark)
        return self

    def is_past(self, time: int, watermark: int) -> bool:
        """Return whether all windows that began before a time are closed."""
        return all(leaf.is_past(time, watermark) for leaf in self.leaves)


Node = Leaf | Handover


def with_new_aggregates(
    older: pa.Table, newer: pa.Table, kept: set[str], by: tuple[str, ...], run: LoopCompiler
) -> pa.Table:
    """Return the windows of an older state with the new aggregates of a newer one, and the new windows of the newer one."""
    names = newer.column_names
    is_kept = pc.is_in(newer["window"].cast(pa.string()), pa.array(sorted(kept))) if "window" in names else None
    others = newer.slice(0, 0) if is_kept is None else newer.filter(pc.invert(is_kept))
    same = newer if is_kept is None else newer.filter(is_kept)
    is_result = np.ones(len(older), np.bool_)
    if CHANGE in names:
        same = same.filter(pc.equal(same[CHANGE], "upsert"))
        is_result = pc.equal(older[CHANGE], "upsert").to_numpy()
    identity = (*by, *(name for name in ADDED if name in names))
    together = pa.concat_tables([older.select(identity), same.select(identity)], promote_options="permissive")
    ids, count = number_keys(together, identity, run)
    places = np.full(count, -1, np.int64)
    places[ids[len(older) :]] = np.arange(len(same))
    found = places[ids[: len(older)]]
    taken = pa.array(np.maximum(found, 0), mask=(found < 0) | ~is_result)
    for name in names:
        if name not in older.column_names:
            older = older.append_column(
                name, same[name].combine_chunks().take(taken) if len(same) else _nulls(older, same, name)
            )
    return pa.concat_tables([older, others], promote_options="permissive").select(names)


def _nulls(older: pa.Table, newer: pa.Table, name: str) -> pa.Array:
    return pa.nulls(len(older), newer.schema.field(name).type)


class EvolvedStates(WindowStates):
    """The states of a query that continues from the state of another one."""

    def __init__(self, prepared: Prepared, options: StateOptions, roots: Sequence[Node]) -> None:
        self.prepared = prepared
        self.update = options.mode == "update"
        self.roots = list(roots)
        self._was = self._as_json()

    @classmethod
    def like(cls, prepared: Prepared, options: StateOptions, described: Sequence[Mapping[str, Any]]) -> EvolvedStates:
        """Return empty states as `described` says."""
        return cls(prepared, options, [node_like(prepared, options, one) for one in described])

    def erase(self, keys: pa.Table) -> None:
        """Delete the state of some keys."""
        by = self.prepared.query.by
        for root in self.roots:
            for leaf in root.leaves:
                leaf.state = leaf.state.selected([~is_among(own, keys, by) for own in leaf.state.keys])

    @property
    def states(self) -> list[StoredItems]:  # type: ignore[override]  # they follow from the roots
        """All states, in the order of their numbers."""
        return [leaf.state for root in self.roots for leaf in root.leaves]

    @property
    def described(self) -> list[Any] | None:
        """Which windows and aggregates each state is of, as JSON; None if that follows from the query again."""
        described = self._as_json()
        query = self.prepared.query
        plain = [
            {"windows": list(part.query.windows), "aggregates": list(query.aggregates)}
            for part in stream_plan(self.prepared).groups
        ]
        return None if described == plain else described

    def _as_json(self) -> list[Any]:
        return [root.described for root in self.roots]

    @property
    def is_changed(self) -> bool:
        """Whether the last micro-batch changed of what the states are."""
        return self._as_json() != self._was

    def settle(self, watermark: int) -> None:
        """Drop older states whose windows are all closed, and limits that no window reaches back to any more."""
        self.roots = [root.settled(watermark) for root in self.roots]

    def advance(self, batch: MicroBatch) -> pa.Table:
        """Add a micro-batch. Return the results that are complete with it, in order of time; deleted windows come first."""
        self._was = self._as_json()
        results = [root.advance(batch) for root in self.roots]
        self.settle(batch.watermark)
        if self.prepared.query.per_row:
            return results[0]
        names = list(dict.fromkeys(name for table in results for name in table.column_names))
        names = [name for name in names if name not in self.prepared.query.aggregates and name != CHANGE]
        ends = [CHANGE] if self.update else []
        return self._in_order(results).select([*names, *self.prepared.query.aggregates, *ends])


def node_like(prepared: Prepared, options: StateOptions, described: Mapping[str, Any]) -> Node:
    """Return empty states as a description says."""
    if "at" in described:
        newer = node_like(prepared, options, described["newer"])
        assert isinstance(newer, Leaf)
        return Handover(node_like(prepared, options, described["older"]), newer, described["at"])
    own = dict(described)
    return new_leaf(prepared, options, StateOf(**{**own, "new": [NewResult(**new) for new in own.get("new", ())]}))


def new_leaf(prepared: Prepared, options: StateOptions, of: StateOf) -> Leaf:
    """Return an empty state."""
    state = new_state(part_of(prepared, of), options.mode, "time", options.forget)
    if of.new:
        assert isinstance(state, RowState)  # slices have no windows whose new results could be told apart
        state.since = of
    return Leaf(of, state)


def part_of(prepared: Prepared, of: StateOf) -> Prepared:
    """Return a query with some of its windows and aggregates, prepared once for a prepared query."""
    query = prepared.query
    if of.aggregates == list(query.aggregates):
        for one in stream_plan(prepared).groups:
            if list(one.query.windows) == of.windows:
                return one
    key = ("part", tuple(of.windows), tuple(of.aggregates))
    if key not in prepared.derived:
        own = replace(query.part(of.windows), aggregates={name: query.aggregates[name] for name in of.aggregates})
        reasons = {name: reason for name, reason in prepared.interpreted.items() if name in of.aggregates}
        prepared.derived[key] = prepare(own, prepared.schema, compiled=prepared.compiled, interpreted=reasons)
    part: Prepared = prepared.derived[key]
    return part
