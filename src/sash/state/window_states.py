"""WindowStates: the state of all windows of a query, one RowState, SliceState or TailState for each group with the same late rows.

A row may be late for one window and in time for another. Windows of one group can share a state: periodic windows, because each
emits only what ends after the watermark; windows that follow the order of rows, because the same rows are late for all. A session
shares with sessions of the same gap only, because a row that is late for it could join two of its sessions.

    rows ──► late for the periodic windows? ──► SliceState of "hop" and "day"  ──┐
         └─► late for this gap? ──────────────► SliceState of "visit" ──────────┴──► results
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sash.columns.buffers import as_arrow
from sash.durations import Duration
from sash.engine.assemble import CHANGE, in_order_of_time
from sash.engine.executors.execute import execute
from sash.engine.prepare import Prepared
from sash.engine.stream_plan import stream_plan
from sash.kernels.array_codec import Arrays
from sash.state.carried_partials import parts_of
from sash.state.lives import keeps_forever
from sash.state.row_state import RowState
from sash.state.slice_state import SliceState
from sash.state.state_log import arrays_by_group
from sash.state.stored_items import StateSize, StoredItems
from sash.state.tail_state import TailState
from sash.state.watermark import MicroBatch
from sash.windows.base import NEVER

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
        self, prepared: Prepared, mode: str = "append", order: str = "time", forget: Duration | None = None
    ) -> None:
        # Keys one after the other, or rows without a time, are never late: all windows share one state.
        has_late_rows = order == "time" and prepared.time is not None
        self.prepared = prepared
        self.update = mode == "update"
        parts = stream_plan(prepared).groups if has_late_rows else [prepared]
        self.states = [new_state(part, mode, order, forget) for part in parts]

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
        """Add a micro-batch. Return the results that are complete with it, in order of time; deleted windows come first."""
        if len(self.states) == 1:
            return advance(self.states[0], batch)
        return self._in_order([advance(state, rows_in_time(state.prepared, batch)) for state in self.states])

    def _in_order(self, results: list[pa.Table]) -> pa.Table:
        """Return the results of several groups in order."""
        together = in_order_of_time(pa.concat_tables(results, promote_options="permissive"))
        if not self.update:
            return together
        deleted = pc.equal(together[CHANGE], "delete")
        return pa.concat_tables([together.filter(deleted), together.filter(pc.invert(deleted))])

    @property
    def described(self) -> list[Any] | None:
        """Which windows and aggregates each state is of, as JSON; None if that follows from the query."""
        return None

    @property
    def is_changed(self) -> bool:
        """Whether the last micro-batch changed of what the states are, so that a delta cannot say it."""
        return False

    def settle(self, watermark: int) -> None:
        """Forget what no window reaches back to any more at a watermark; there is nothing unless the query has changed."""

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
            own = state.to_delta(theirs.get(number, {}), ours.get(number, {}))
            delta |= {f"{number} {name}": array for name, array in own.items()}
        return delta

    def from_arrays(self, arrays: Arrays) -> None:
        """Continue from the arrays of other states of the same query."""
        for number, own in arrays_by_group(arrays):
            self.states[number].from_arrays(own)


def arrays_of(states: Sequence[StoredItems]) -> Arrays:
    """Return states as named arrays: the number of the state, then the name in it."""
    arrays: Arrays = {}
    for number, state in enumerate(states):
        own = state.to_arrays()
        if own:
            own[WINDOWS] = np.frombuffer(json.dumps(list(state.prepared.query.windows)).encode(), np.uint8)
        arrays |= {f"{number} {name}": array for name, array in own.items()}
    return arrays


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


def new_state(prepared: Prepared, mode: str, order: str = "time", forget: Duration | None = None) -> StoredItems:
    """Return an empty state: of slices, or of slices and the rows after them, if that is possible, or else of rows.

    Keys are forgotten where windows would need them forever.
    """
    update = mode == "update"
    ticks = forget.in_ticks(prepared.unit) if forget is not None and keeps_forever(prepared) else None
    if order == "time" and prepared.time is not None:
        if stream_plan(prepared).stores_slices:
            return SliceState(prepared, update)
        if stream_plan(prepared).stores_tails:
            return TailState(prepared, forget=ticks)
    return RowState(prepared, update, forget=ticks)
