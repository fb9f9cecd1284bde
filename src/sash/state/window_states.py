"""WindowStates: the state of all windows of a query, one RowState, SliceState or TailState for each group with the same late rows.

A row may be late for one window and in time for another. Windows of one group can share a state: periodic windows, because each
emits only what ends after the watermark; windows that follow the order of rows, because the same rows are late for all. A session
shares with sessions of the same gap only, because a row that is late for it could join two of its sessions.

    rows ──► late for the periodic windows? ──► SliceState of "hop" and "day"  ──┐
         └─► late for this gap? ──────────────► SliceState of "visit" ──────────┴──► results
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sash.durations import Duration
from sash.engine.assemble import CHANGE, in_order_of_time
from sash.engine.prepare import Prepared
from sash.engine.stream_plan import stream_plan
from sash.kernels.array_codec import Arrays
from sash.state.carried_partials import parts_of
from sash.state.erased_keys import is_among
from sash.state.handover import Handover, StateOf, advance, describe, part_of, read_description
from sash.state.key_epochs import keeps_forever
from sash.state.row_state import RowState
from sash.state.slice_state import SliceState
from sash.state.state_log import arrays_by_group
from sash.state.stored_items import StateSize, StoredItems
from sash.state.tail_state import TailState
from sash.state.watermark import MicroBatch

WINDOWS = "windows"
"""The array with the names of the windows of a group, as JSON."""


class StateOptions(NamedTuple):
    """The options of a stream that decide how its states work."""

    mode: str = "append"
    forget: Duration | None = None
    """How long after its last row a key is forgotten."""


class WindowStates:
    """The states of the groups of windows of a query."""

    def __init__(
        self,
        prepared: Prepared,
        mode: str = "append",
        order: str = "time",
        forget: Duration | None = None,
        evolved: Sequence[Sequence[StateOf]] | None = None,
        *,
        for_lookup: bool = False,
    ) -> None:
        """`evolved` says of what the states of each group are, if that does not follow from the query."""
        # Keys one after the other, or rows without a time, are never late: all windows share one state.
        has_late_rows = order == "time" and prepared.time is not None
        self.prepared = prepared
        self.update = mode == "update"
        groups = stream_plan(prepared).groups if has_late_rows else [prepared]
        self._plain = [describe([StateOf(list(group.query.windows), list(group.query.aggregates))]) for group in groups]
        if evolved is None:
            self.groups = [Handover([new_state(group, mode, order, forget, for_lookup=for_lookup)]) for group in groups]
        else:
            self.groups = [
                Handover([_known_since(new_state(part_of(prepared, of), mode, order, forget), of) for of in states])
                for states in evolved
            ]
        self.is_changed = False
        """Whether the last micro-batch changed of what the states are, so that a delta cannot say it."""

    @classmethod
    def like(cls, prepared: Prepared, options: StateOptions, described: Sequence[Mapping[str, Any]]) -> WindowStates:
        """Return empty states as `described` says."""
        evolved = [read_description(group) for group in described]
        return cls(prepared, options.mode, forget=options.forget, evolved=evolved)

    @property
    def states(self) -> list[StoredItems]:
        """All states, in the order of their numbers."""
        return [state for group in self.groups for state in group.states]

    def __len__(self) -> int:
        """Return the number of stored rows or slices."""
        return sum(map(len, self.states))

    @property
    def size(self) -> StateSize:
        """What is stored; a key counts once for each group of windows that has state of it."""
        sizes = [state.size for state in self.states]
        return StateSize(*map(sum, zip(*sizes, strict=True)))

    @property
    def forgotten(self) -> int:
        """How often a key was dropped because it had no rows for so long."""
        return sum(state.forgotten for state in self.states)

    def due(self, now: int) -> int:
        """Return the earliest watermark after now at which there is something to emit or to drop, if no more rows arrive."""
        return min(state.due(now) for state in self.states)

    def advance(self, batch: MicroBatch) -> pa.Table:
        """Add a micro-batch. Return the results that are complete with it, in order of time or of keys; deleted windows come first."""
        [first, *others] = self.states
        if not others and first.known.is_always:
            self.is_changed = False
            return advance(first, batch)
        results = [group.advance(batch) for group in self.groups]
        self.settle(batch.watermark)
        return self._in_order(results, by_keys=batch.by_keys) if others else results[0]

    def _in_order(self, results: list[pa.Table], *, by_keys: bool) -> pa.Table:
        """Return the results of several groups in order."""
        together = pa.concat_tables(results, promote_options="permissive")
        together = together if by_keys else in_order_of_time(together)
        if not self.update:
            return together
        deleted = pc.equal(together[CHANGE], "delete")
        return pa.concat_tables([together.filter(deleted), together.filter(pc.invert(deleted))])

    def emit_all(self) -> None:
        """Emit the states of all keys with the next micro-batch; only where states are emitted in place of results."""

    def erase(self, keys: pa.Table) -> None:
        """Delete the state of some keys."""
        by = self.prepared.query.by
        for group in self.groups:
            group.states = [state.selected([~is_among(own, keys, by) for own in state.keys]) for state in group.states]

    @property
    def described(self) -> list[Any] | None:
        """Of what the states of each group are, as JSON; None if that follows from the query."""
        described = [group.described for group in self.groups]
        return None if described == self._plain else described

    def settle(self, watermark: int) -> None:
        """Drop older states whose windows are all closed, and what no window reaches back to any more."""
        changed = [group.settle(watermark) for group in self.groups]
        self.is_changed = any(changed)

    @property
    def partials(self) -> list[Any]:
        """By state: the parts of its partials, which a changed query may need."""
        return [parts_of(state.prepared) if state.stores_partials else [] for state in self.states]

    def to_arrays(self) -> Arrays:
        """Return the states as named arrays: the number of the group, then the name in its state."""
        return arrays_of(self.states)

    def to_delta(self, before: Arrays, after: Arrays) -> Arrays:
        """Return what the last micro-batch changed between the arrays before and after it."""
        ours, theirs = dict(arrays_by_group(after)), dict(arrays_by_group(before))
        delta: Arrays = {}
        for number, state in enumerate(self.states):
            changed = state.to_delta(theirs.get(number, {}), ours.get(number, {}))
            delta |= {f"{number} {name}": array for name, array in changed.items()}
        return delta

    def from_arrays(self, arrays: Arrays) -> None:
        """Continue from the arrays of other states of the same query."""
        for number, arrays_of_group in arrays_by_group(arrays):
            self.states[number].from_arrays(arrays_of_group)


def arrays_of(states: Sequence[StoredItems]) -> Arrays:
    """Return states as named arrays: the number of the state, then the name in it."""
    arrays: Arrays = {}
    for number, state in enumerate(states):
        arrays_of_state = state.to_arrays()
        if arrays_of_state:
            arrays_of_state[WINDOWS] = np.frombuffer(json.dumps(list(state.prepared.query.windows)).encode(), np.uint8)
        arrays |= {f"{number} {name}": array for name, array in arrays_of_state.items()}
    return arrays


def new_state(
    prepared: Prepared, mode: str, order: str = "time", forget: Duration | None = None, *, for_lookup: bool = False
) -> StoredItems:
    """Return an empty state: of slices, or of slices and the rows after them, if that is possible, or else of rows.

    Keys are forgotten where windows would need them forever. `for_lookup` is as in `StoredItems`.
    """
    update = mode == "update"
    ticks = forget.in_ticks(prepared.unit) if forget is not None and keeps_forever(prepared) else None
    if order == "time" and prepared.time is not None:
        if stream_plan(prepared).stores_slices:
            return SliceState(prepared, update)
        if stream_plan(prepared).stores_tails:
            return TailState(prepared, forget=ticks, for_lookup=for_lookup)
    return RowState(prepared, update, forget=ticks, for_lookup=for_lookup)


def _known_since(state: StoredItems, of: StateOf) -> StoredItems:
    state.known = of.known
    return state
