"""KeyStates: the state of a stream that emits the states of single keys, for lookups, in place of results.

    micro-batch ──► StoredItems.advance ──► keys with new rows        ──► key, state_time, state
                                        └─► keys whose state is gone  ──► key, state_time, null

A state stays exact while its key gets no rows, however far the watermark goes on: a lookup computes windows as of its own time. So only keys
with new rows are emitted, and once more, with null, when nothing is stored of them any more.
"""

from __future__ import annotations

from base64 import b64encode
from typing import Any

import numpy as np
import pyarrow as pa

from sash.columns.buffers import as_arrow
from sash.durations import Duration
from sash.engine.executors.bind import bind
from sash.engine.group_ids import first_rows, number_keys
from sash.engine.prepare import Prepared
from sash.engine.slice_block import NO_KEYS, cut_each_row
from sash.kernels.fused_partial import Shape
from sash.plan.query_spec import QuerySpec
from sash.state.fingerprint import fingerprint_query
from sash.state.handover import advance
from sash.state.key_layout import KeyLayout, KeySlices, layout_of
from sash.state.stored_items import StoredItems
from sash.state.watermark import MicroBatch
from sash.state.window_states import WindowStates
from sash.windows.arrays import ranges, sums_before
from sash.windows.base import FOREVER, NEVER, Ints
from sash.windows.numpy_forms import numpy_form

STATE, STATE_TIME = "state", "state_time"
"""The columns of a result, besides the keys."""
HEADER = "sash.state_header"
"""In the metadata of the column `state`: the header, in base64."""


def check_lookup(query: QuerySpec, called: str = 'emit="state"') -> None:
    """Raise ValueError if the state of a key does not tell the results of a query at a time."""
    if query.time is None:
        raise ValueError(f'{called} needs a time column, which says when an event happened: Query(time="ts", …).')
    use = 'Use windows that end with their row, as window.time("1h"), window.rows(10) or window.expanding().'
    for window in query.windows.values():
        frame = window.frame
        if frame is None:
            raise ValueError(
                f"{called} does not apply to {window}: its result belongs to a window that has ended, and a stream does not keep those. {use}"
            )
        if frame.no_labels:
            raise ValueError(
                f"{called} does not apply to {window}: it {frame.no_labels.replace('labels', 'lookups')}. {use}"
            )
        if frame.looks_ahead:
            raise ValueError(
                f"{called} does not apply to {window}: it looks ahead, to events after the lookup, which nobody knows yet. {use}"
            )
    if taken := [name for name in (STATE, STATE_TIME) if name in query.by]:
        raise ValueError(f"{called} adds a column {taken[0]!r} to the keys. Rename the key of that name.")


def check_options(options: Any) -> None:
    """Raise ValueError if other options do not go with `emit="state"`."""
    plain = {"mode": "append", "order": "time", "wide": False, "evolve": False}
    for name, value in plain.items():
        if options.get(name, value) != value:
            raise ValueError(f'{name}={options[name]!r} does not go with emit="state". Leave {name}= out.')
    if options["late"] == "keep":
        raise ValueError(
            'late="keep" does not go with emit="state", which has no place for rows. Use late="drop" or "error".'
        )


def key_layout(prepared: Prepared, forget: Duration | None = None) -> KeyLayout:
    """Return the layout of the states of keys. Raise ValueError or TypeError if a query has none."""
    query = prepared.query
    check_lookup(query)
    [state] = WindowStates(prepared, forget=forget, for_lookup=True).states
    shapes = _shapes(prepared) if state.stores_partials else []
    columns = {name: str(prepared.schema.field(name).type) for name in map(str, query.columns)}
    return layout_of(query, prepared.schema, fingerprint_query(query, columns), shapes, state.forget)


def _shapes(prepared: Prepared) -> list[Shape]:
    """Return the structure of the partials of each pass, as a stream stores them."""
    bound = bind(prepared, compiles=bool(prepared.compiled), on_stream=True)
    return [partials.shape or () for partials in cut_each_row(bound, bound.empty_block()).partials]


class KeyStates(WindowStates):
    """The state of a stream that emits the states of keys."""

    def __init__(self, prepared: Prepared, layout: KeyLayout, forget: Duration | None = None) -> None:
        super().__init__(prepared, forget=forget, for_lookup=True)
        self.layout = layout
        self.erased: list[pa.Table] = []
        """Keys that were erased, and whose tombstones are emitted next."""
        self.emits_all = False
        """Whether the next micro-batch emits all keys: the state comes from elsewhere, so that no store has them."""

    def emit_all(self) -> None:
        """Emit the states of all keys with the next micro-batch."""
        self.emits_all = True

    def erase(self, keys: pa.Table) -> None:
        """Delete the state of some keys, and emit null for them with the next micro-batch, also if they had none: a store may have it."""
        super().erase(keys)
        self.erased.append(keys.select(list(self.prepared.query.by)))

    @property
    def state(self) -> StoredItems:
        """The state of all windows: the same rows are late for all windows that have a result per row."""
        [state] = self.states
        return state

    def advance(self, batch: MicroBatch) -> pa.Table:
        """Add a micro-batch. Return the states of the keys that it changed; nothing at the end of a stream, which changes no key."""
        known, emits_all = self._keys, self.emits_all
        before = [*known, *self.erased]
        self.erased, self.emits_all = [], False
        advance(self.state, batch)
        if batch.watermark == FOREVER:
            return self._emitted([], self._key_columns(batch.table.slice(0, 0), 0), NEVER)
        rows = self._key_columns(batch.table, len(batch.table))
        new = pa.concat_tables([*known, rows], promote_options="permissive") if emits_all else rows
        return self._emitted(before, new, batch.watermark)

    @property
    def _keys(self) -> list[pa.Table]:
        """The keys of the rows, and those of the slices."""
        slices = self.state.slices
        counts = [len(self.state.sizes), *([] if slices is None else [len(slices.keys)])]
        return [self._key_columns(*one) for one in zip(self.state.keys, counts, strict=True)]

    def _key_columns(self, table: pa.Table, rows: int) -> pa.Table:
        """Return the keys of a table; without keys, a column that is null, as a table needs one to have rows."""
        by = list(self.prepared.query.by)
        return table.select(by) if by else pa.table({NO_KEYS: pa.nulls(rows)})

    def _emitted(self, before: list[pa.Table], changed: pa.Table, watermark: int) -> pa.Table:
        """Return the states of the keys that changed, and null for keys that had a state before and have none now."""
        after = self._keys if before or len(changed) else []
        tables = [*after, *before, changed]
        keys = pa.concat_tables(tables, promote_options="permissive")
        codes, count = number_keys(keys, tuple(keys.column_names), numpy_form)
        owners = np.split(codes.astype(np.int64, copy=False), np.cumsum([len(table) for table in tables])[:-1])
        has_state, had_state, is_new = (np.zeros(count, np.bool_) for _ in range(3))
        for flags, owned in (
            (has_state, owners[: len(after)]),
            (had_state, owners[len(after) : -1]),
            (is_new, owners[-1:]),
        ):
            for own in owned:
                flags[own] = True
        chosen = np.flatnonzero(is_new | (had_state & ~has_state))
        stored = chosen[has_state[chosen]]
        states = self._encoded(owners[: len(after)], stored, count, watermark)
        places = as_arrow(np.cumsum(has_state[chosen]) - 1, ~has_state[chosen])
        heads = keys.take(as_arrow(first_rows(codes, count)[chosen]))
        return self._table(heads, np.full(len(chosen), watermark, np.int64), states.take(places))

    def _encoded(self, owners: list[Ints], chosen: Ints, count: int, since: int) -> pa.Array:
        """Return the states of some keys; `owners` are the keys of the rows and of the slices."""
        if not len(chosen):
            return pa.nulls(0, pa.binary())
        state, time = self.state, self.prepared.time
        assert time is not None
        row_keys, *slice_keys = owners
        begins, sizes = _runs(row_keys, state.sizes, count, chosen)
        rows = state.rows.take(as_arrow(ranges(begins, sizes)))
        slices, slice_sizes = None, np.zeros(len(chosen), np.int64)
        if self.layout.shapes:
            block = state.slices
            slices = self.layout.no_slices
            if block is not None:
                begins, slice_sizes = _runs(slice_keys[0], block.sizes, count, chosen)
                places = ranges(begins, slice_sizes)
                slices = KeySlices(block.times[places], [partials.select(places) for partials in block.partials])
        return self.layout.encode(since, time.read(rows[time.name]), rows, sizes, slices, slice_sizes)

    def _table(self, keys: pa.Table, times: Ints, states: pa.Array) -> pa.Table:
        """Return the result."""
        assert self.prepared.time is not None
        header = {HEADER: b64encode(self.layout.header).decode()}
        columns = {name: keys[name] for name in self.prepared.query.by}
        columns[STATE_TIME] = self.prepared.time.write(times)
        fields = [pa.field(name, column.type) for name, column in columns.items()]
        schema = pa.schema([*fields, pa.field(STATE, pa.binary(), metadata=header)])
        return pa.Table.from_arrays([*columns.values(), states], schema=schema)


def _runs(keys: Ints, sizes: Ints, count: int, chosen: Ints) -> tuple[Ints, Ints]:
    """Return where the items of chosen keys begin, and how many they are; `keys` are the numbers of the keys that have `sizes` items."""
    begins_of, sizes_of = np.zeros(count, np.int64), np.zeros(count, np.int64)
    begins_of[keys], sizes_of[keys] = sums_before(sizes)[:-1], sizes
    return begins_of[chosen], sizes_of[chosen]
