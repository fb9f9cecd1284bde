"""StoredItems: what a stream remembers of some windows, by key and time: rows, slices, or slices of older rows and the rows after them.

    rows      ●●●●●●●●●●●●●●│●●●●●●●●●
    slices    ├───┼─────────┤ rows

What is stored of the rows that have arrived is the policy of a subclass: RowState, SliceState or TailState. Here is what follows from the
items alone: their keys, how many they are, their arrays, and how they are split and joined by key.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sash.columns.buffers import as_arrow
from sash.engine.evaluate import Block
from sash.engine.group_ids import number_keys
from sash.engine.partials import SliceCounts, SlicePartials
from sash.engine.prepare import Prepared
from sash.engine.slice_block import SliceBlock, concat_by_key
from sash.engine.stream_plan import stream_plan
from sash.kernels.array_codec import Arrays
from sash.kernels.fused_partial import shape_from
from sash.state.carried_partials import carry_partials, check_new_parts
from sash.state.codec import as_schema, read_table, table_bytes
from sash.state.known_since import ALWAYS
from sash.state.state_log import Origins, as_slices, diff_group, rows_and_slices
from sash.state.watermark import MicroBatch
from sash.windows.base import FOREVER, NEVER, Flags, Ints, Items, Memory, Span


class StateSize(NamedTuple):
    """How much a state holds."""

    keys: int = 0
    slices: int = 0
    rows: int = 0


@dataclass
class StoredItems:
    """Rows and slices by key and time, and the memory of windows for each key with rows.

    With `update`, windows are emitted whenever a row changes them, rather than once when they are final. `rows_before` is the
    number of rows that each key had before the stream begins, for windows that count rows. With `forget`, in ticks, the newest row
    of each key that windows have seen is stored, so that the end of its epoch is known (see `key_epochs.py`). If it is `for_lookup`, it
    stores what windows need that end at any time from the watermark on, and has no results.
    """

    stores_rows: ClassVar[bool] = True
    stores_partials: ClassVar[bool] = False
    prepared: Prepared
    update: bool = False
    rows_before: int = 0
    forget: int | None = None
    for_lookup: bool = False

    def __post_init__(self) -> None:
        """Start empty."""
        self.rows: pa.Table = self.prepared.no_rows
        self.dropped = 0
        """The number of rows that are not stored any more, from which error messages count."""
        self.sizes: Ints = np.zeros(0, np.int64)
        """By key: the number of stored rows."""
        self.done: Ints = np.zeros(0, np.int64)
        """By key: the number of these that are context."""
        self.memory: dict[str, Memory] = {name: window.memory.new(0) for name, window in self._windows.items()}
        self.slices: SliceBlock | None = None
        self.row_origins: Origins | None = None
        """Where the rows were before the last micro-batch."""
        self.slice_origins: Origins | None = None
        """Where the slices were before the last micro-batch; None if there were none."""
        self.forgotten = 0
        """How often a key was dropped because it had no rows for so long."""
        self.known = ALWAYS
        """From when on the state knows what, if the query has changed."""

    def advance(self, batch: MicroBatch) -> pa.Table:
        """Add a micro-batch. Return the results that are complete with it."""
        raise NotImplementedError

    def add_rows(self, rows: pa.Table) -> None:
        """Add rows in any order, without results. Only for states that store slices alone."""
        raise NotImplementedError

    def due(self, now: int) -> int:
        """Return the earliest watermark after now at which there is something to emit or to drop, if no more rows arrive."""
        raise NotImplementedError

    def block(self) -> Block:
        """Return all that is stored, by key and time, as `evaluate` reads it: for frames that end at or after the watermark."""
        raise NotImplementedError

    @property
    def _windows(self) -> Any:
        return self.prepared.plan.windows

    def __len__(self) -> int:
        """Return the number of stored rows and slices."""
        return len(self.rows) + (0 if self.slices is None else len(self.slices))

    @property
    def size(self) -> StateSize:
        """What is stored; a key may have slices, rows, or both."""
        by, counts = self.prepared.query.by, (len(self.sizes), 0 if self.slices is None else len(self.slices.keys))
        keys = max(counts)
        if by and all(counts):
            both = pa.concat_tables([table.select(by) for table in self.keys])
            _, keys = number_keys(both, by, self.prepared.loops)
        return StateSize(keys, len(self) - len(self.rows), len(self.rows))

    def is_past(self, time: int, watermark: int) -> bool:
        """Return whether all windows that began before a time are closed, and nothing that is stored is older."""
        assert self.prepared.time is not None
        times = self.prepared.time.read(self.rows[self.prepared.time.name])
        of_slices = times[:0] if self.slices is None else self.slices.times
        oldest = int(min(times.min(initial=FOREVER), of_slices.min(initial=FOREVER)))
        extent = max(window.extent(self.prepared.unit) for window in self._windows.values())
        return watermark - extent >= time and oldest >= time

    # -- by key ------------------------------------------------------------------------------------------------------

    @property
    def keys(self) -> list[pa.Table]:
        """The keys of the rows, in order, and those of the slices."""
        first_rows = np.cumsum(self.sizes) - self.sizes
        of_rows = [self.rows.select(self.prepared.layout.key_columns).take(as_arrow(first_rows))]
        return [*(of_rows if self.stores_rows else []), *([] if self.slices is None else [self.slices.keys])]

    def selected(self, chosen: Sequence[Flags]) -> Self:
        """Return the state of some keys; there is an array for each table of keys."""
        selected = copy(self)
        if self.stores_rows:
            is_selected = chosen[0]
            selected.rows = self.rows.filter(as_arrow(np.repeat(is_selected, self.sizes))).combine_chunks()
            selected.sizes, selected.done = self.sizes[is_selected], self.done[is_selected]
            selected.memory = {
                name: {part: values[is_selected] for part, values in memory.items()}
                for name, memory in self.memory.items()
            }
        if self.slices is not None:
            selected.slices = self.slices.select(chosen[-1][self.slices.codes]).without_empty_keys()
        return selected

    def absorb(self, other: Any) -> None:
        """Add the state of other keys."""
        self.rows = pa.concat_tables([self.rows, other.rows]).combine_chunks()
        self.dropped += other.dropped
        self.sizes, self.done = np.concatenate([self.sizes, other.sizes]), np.concatenate([self.done, other.done])
        self.memory = {
            name: {part: np.concatenate([values, other.memory[name][part]]) for part, values in memory.items()}
            for name, memory in self.memory.items()
        }
        known = [slices for slices in (self.slices, other.slices) if slices is not None]
        self.slices = concat_by_key(known, self.prepared.loops) if known else None

    # -- as arrays ---------------------------------------------------------------------------------------------------

    def to_arrays(self) -> Arrays:
        """Return the state as named arrays."""
        arrays: Arrays = {}
        if self.stores_rows:
            arrays = {
                "rows": table_bytes(self.rows),
                "sizes": self.sizes,
                "done": self.done,
                "dropped": np.array([self.dropped]),
            }
            for name, window in self._windows.items():
                for part in window.memory.parts:
                    arrays[f"memory {name} {part}"] = window.memory.encode(self.memory[name][part])
        return (
            arrays if self.slices is None or not len(self.slices) else arrays | as_slices(slices_to_arrays(self.slices))
        )

    def to_delta(self, before: Arrays, after: Arrays) -> Arrays:
        """Return what the last micro-batch changed between the arrays before and after it."""
        return diff_group(before, after, self.row_origins, self.slice_origins)

    def from_arrays(self, arrays: Arrays) -> None:
        """Continue from the arrays of another state of the same query."""
        rows, slices = rows_and_slices(arrays)
        if self.stores_rows:
            self.rows = as_schema(read_table(rows["rows"]), self.prepared.schema)
            self.sizes, self.done, self.dropped = rows["sizes"], rows["done"], int(rows["dropped"][0])
            for name, window in self._windows.items():
                for part in window.memory.parts:
                    self.memory[name][part] = window.memory.decode(rows[f"memory {name} {part}"])
        self.slices = slices_from_arrays(self.prepared, slices) if slices else None

    def continue_from(
        self, arrays: Arrays, stored_parts: Sequence[Any], kept: Collection[str], new: Collection[str] = ()
    ) -> None:
        """Continue from the arrays of a state of another query, which may have other columns and partials.

        `stored_parts` are the parts of its partials, `kept` the windows whose memory stays, and `new` the aggregates that it does not have.
        Raise ValueError if it has slices in place of what this state needs.
        """
        rows, slices = rows_and_slices(arrays)
        if "rows" not in rows:
            raise ValueError("The state holds slices, but the changed query needs rows. Use a new checkpoint.")
        rows["rows"] = table_bytes(with_schema(read_table(rows["rows"]), self.prepared.schema))
        for name, window in self._windows.items():
            if name not in kept:
                memory = window.memory.new(len(rows["sizes"]))
                rows |= {f"memory {name} {part}": window.memory.encode(values) for part, values in memory.items()}
        carried: Arrays = {}
        if slices:
            self.check_slices(kept, new)
            carried = carry_partials(self.prepared, slices, stored_parts, new) if self.stores_partials else {}
        self.from_arrays(rows | as_slices(carried))

    def check_slices(self, kept: Collection[str], new: Collection[str]) -> None:
        """Raise ValueError if this state cannot go on with slices in place of older rows: it needs these rows, or other partials."""
        if self.stores_partials:
            check_new_parts(self.prepared, new)
            return
        for name, window in self._windows.items():
            if name in kept and window.frame is not None and window.frame.begins_at_edges(self.prepared.unit):
                raise ValueError(
                    f"evolve=True: the checkpoint holds slices in place of the older rows of window {name!r}, but the changed query needs "
                    f"these rows: {stream_plan(self.prepared).why_rows}. Leave this change out, or use a new checkpoint."
                )


def first_due(
    prepared: Prepared, times: Ints, sizes: Ints, done: Ints, now: int, last_times: Ints | None = None
) -> int:
    """Return the earliest watermark after now at which stored rows or slices emit something, or can be dropped."""
    if not len(sizes):
        return FOREVER
    firsts = np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)])
    limit = np.full(len(sizes), now, np.int64)
    span = Span(done, done, np.full(len(sizes), NEVER, np.int64), limit, limit)
    items = Items(times, firsts, span, prepared.unit, last_times=last_times)
    return min(window.due(items) for window in prepared.plan.windows.values())


def with_schema(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """Return a table with the columns of a schema; those that it lacks are null.

    >>> with_schema(pa.table({"a": [1], "b": [2]}), pa.schema({"b": pa.int64(), "c": pa.string()})).to_pylist()
    [{'b': 2, 'c': None}]
    """
    columns = [
        table[field.name].cast(field.type) if field.name in table.column_names else pa.nulls(len(table), field.type)
        for field in schema
    ]
    return pa.table(columns, schema=pa.schema([field.with_nullable(True) for field in schema])).cast(schema)


def slices_to_arrays(slices: SliceBlock) -> dict[str, npt.NDArray[Any]]:
    """Return slices, sorted by key and time, as named arrays; each key once."""
    arrays: dict[str, npt.NDArray[Any]] = {
        "keys": table_bytes(slices.keys),
        "sizes": slices.sizes,
        "times": slices.times,
    }
    arrays |= {} if slices.last_times is None else {"last_times": slices.last_times}
    arrays |= {} if slices.row_counts is None else {"row_counts": slices.row_counts}
    for number, partials in enumerate(slices.partials):
        arrays[f"shape {number}"] = np.frombuffer(json.dumps(partials.shape).encode(), np.uint8)
        arrays[f"values {number}"] = partials.counts.values
        arrays |= {f"field {number} {place}": field for place, field in enumerate(partials.fields)}
    return arrays


def slices_from_arrays(prepared: Prepared, arrays: Mapping[str, npt.NDArray[Any]]) -> SliceBlock:
    """Return the slices from `slices_to_arrays`."""
    by = [prepared.schema.field(name) for name in prepared.layout.key_columns]
    keys = read_table(arrays["keys"])
    partials = []
    for number in range(len(prepared.plan.passes)):
        fields = sorted((int(name.rsplit(" ", 1)[1]), name) for name in arrays if name.startswith(f"field {number} "))
        shape = shape_from(json.loads(arrays[f"shape {number}"].tobytes()))
        counts = SliceCounts(arrays[f"values {number}"])
        partials.append(SlicePartials([arrays[name] for _, name in fields], shape, counts))
    return SliceBlock(
        prepared.layout,
        as_schema(keys, pa.schema(by)) if by else keys,
        np.repeat(np.arange(len(keys)), arrays["sizes"]),
        arrays["times"],
        tuple(partials),
        arrays.get("last_times"),
        arrays.get("row_counts"),
    )
