"""RowState: the rows of a stream that later windows reach back to, or that wait for the watermark."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sash.columns.buffers import as_arrow
from sash.engine.assemble import (
    in_order_of_time,
    join_windows,
    runs_of,
    window_tables,
    with_changes,
    with_input_rows,
)
from sash.engine.evaluate import Evaluated, evaluate
from sash.engine.prepare import Prepared
from sash.engine.row_block import RowBlock
from sash.kernels.array_codec import Arrays
from sash.state.codec import as_schema, read_table, table_bytes
from sash.state.lives import Lives, first_end, split_lives
from sash.state.state_log import Origins, diff_group
from sash.state.watermark import MicroBatch
from sash.windows.base import FOREVER, NEVER, Flags, Ints, Items, Memory, Span


class NewResults(Protocol):
    """The results that the query did not have when older rows arrived."""

    def without_older(self, prepared: Prepared, block: RowBlock, span: Span, evaluated: Evaluated) -> Evaluated:
        """Return results with null in place of new ones whose window holds older rows, or may hold them."""


class StateSize(NamedTuple):
    """How much a state holds."""

    keys: int = 0
    slices: int = 0
    rows: int = 0


@dataclass
class RowState:
    """Rows by key and time, and the memory of windows for each key.

    With `update`, windows are emitted whenever a row changes them, rather than once when they are final. `rows_before` is the
    number of rows that each key had before the stream begins, for windows that count rows. With `forget`, in ticks, the newest row
    of each key that windows have seen is stored, so that the end of its life is known (see `lives.py`).
    """

    stores_partials: ClassVar[bool] = False
    prepared: Prepared
    update: bool = False
    rows_before: int = 0
    forget: int | None = None

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
        self.origins: Origins | None = None
        """Where the rows were before the last micro-batch."""
        self.forgotten = 0
        """How often a key was dropped because it had no rows for so long."""
        self.since: NewResults | None = None
        """Which results are null, because the query that stored older rows did not have them."""

    @property
    def _windows(self) -> Any:
        return self.prepared.plan.windows

    def __len__(self) -> int:
        """Return the number of stored rows."""
        return len(self.rows)

    @property
    def size(self) -> StateSize:
        """What is stored."""
        return StateSize(len(self.sizes), 0, len(self.rows))

    @property
    def oldest(self) -> int:
        """The time of the oldest row; FOREVER if there is none."""
        assert self.prepared.time is not None
        return int(self.prepared.time.read(self.rows[self.prepared.time.name]).min(initial=FOREVER))

    def due(self, now: int) -> int:
        """Return the earliest watermark after now at which there is something to emit or to drop, if no more rows arrive."""
        assert self.prepared.time is not None
        times = self.prepared.time.read(self.rows[self.prepared.time.name])
        due = first_due(self.prepared, times, self.sizes, self.done, now)
        return due if self.forget is None else min(due, first_end(times, self.sizes, self.forget))

    def preload(self, rows: pa.Table) -> None:
        """Store rows of one key as context, before the first micro-batch."""
        self.rows = pa.concat_tables([self.rows, as_schema(rows, self.rows.schema)])
        self.sizes = self.done = np.array([len(self.rows)])
        self.memory = {
            name: window.memory.new(1, self.rows_before + len(self.rows)) for name, window in self._windows.items()
        }

    def advance(self, batch: MicroBatch) -> pa.Table:
        """Add a micro-batch. Return the results that are complete with it."""
        prepared = self.prepared
        table = pa.concat_tables([self.rows, as_schema(batch.table, self.rows.schema)])
        lives = split_lives(prepared.block(table, self.dropped), self.forget, batch.watermark)
        block, span = lives.block, self._span(lives, batch)
        evaluated = evaluate(prepared, block, span, self._memory(lives))
        if self.since is not None:
            evaluated = self.since.without_older(prepared, block, span, evaluated)
        if prepared.plan.per_row:
            results = with_input_rows(prepared, block, span, evaluated)
        else:
            results = in_order_of_time(join_windows(prepared, [window_tables(prepared, block, evaluated)]))
        if self.update:
            results = with_changes(prepared, prepared.block(self.rows), block, results)
        keep = self._keep(block, span, evaluated)
        if batch.by_keys:
            keep[:-1] = block.firsts[1:-1]  # no more rows of these keys arrive
        self._retain(lives, span, evaluated, keep)
        self._count_forgotten(lives, batch)
        return results

    def _count_forgotten(self, lives: Lives, batch: MicroBatch) -> None:
        """Count the lives that have ended; those that end with the stream are not forgotten."""
        if not batch.is_last:
            self.forgotten += int(np.count_nonzero(lives.ended))

    def _span(self, lives: Lives, batch: MicroBatch) -> Span:
        """Return which rows are context, which are final, and which windows to emit."""
        block = lives.block
        after, closed = batch.by_key(block.keys)
        done = np.zeros(block.keys, np.int64)
        done[lives.heads[: len(self.done)]] = self.done
        final = np.diff(block.firsts)
        if len(block.times):  # a row before the watermark is final: rows that would come before it are late
            older = np.zeros(len(block) + 1, np.int64)
            np.cumsum(block.times < np.repeat(closed, final), out=older[1:])
            final = np.where(closed == FOREVER, final, older[block.firsts[1:]] - older[block.firsts[:-1]])
        if not self.update:
            span = Span(done, final, after, closed, closed, ended=batch.ended(block.keys) | lives.ended)
            return replace(span, final=self._ready(block, span))
        # Stored rows come first in the table of a micro-batch, so rows after them are new.
        is_new = block.source_rows(np.arange(len(block))) >= len(self.rows)
        return Span(done, final, after, np.full(block.keys, FOREVER, np.int64), closed, is_new)

    def _ready(self, block: RowBlock, span: Span) -> Ints:
        """Return how many rows of each key have results now: rows wait for the window that looks ahead furthest."""
        items = block.items([], span)
        frames = [window.frame for window in self._windows.values() if window.frame is not None]
        ready: Ints = np.minimum.reduce([span.final, *(frame.ready(items) for frame in frames)])
        return ready

    def _memory(self, lives: Lives) -> dict[str, Memory]:
        """Return the memory of windows, with that of new keys; of the lives of a key, the first is the one that they know."""
        memory = {}
        for name, window in self._windows.items():
            memory[name] = window.memory.new(lives.block.keys, self.rows_before)
            for part, known in self.memory[name].items():
                memory[name][part][lives.heads[: len(known)]] = known
        return memory

    def _keep(self, block: RowBlock, span: Span, evaluated: Evaluated) -> Ints:
        """Return the first row of each key that is still needed.

        The memory of windows is stored by key, and a key exists only if it has rows. So the newest row stays if a window
        remembers something.
        """
        keep = block.firsts[:-1] + span.final
        if self.forget is not None:
            keep = np.maximum(block.firsts[:-1], keep - 1)
        for own in evaluated.keep.values():
            keep = np.minimum(keep, own)
        newest = np.maximum(block.firsts[:-1], block.firsts[1:] - 1)
        for name, window in self._windows.items():
            if window.memory.parts:
                keep = np.where(window.memory.differs(evaluated.memory[name]), np.minimum(keep, newest), keep)
        return keep

    def _retain(self, lives: Lives, span: Span, evaluated: Evaluated, keep: Ints) -> None:
        """Store the rows from `keep` on, and drop lives that have ended and keys without rows."""
        block, firsts = lives.block, lives.block.firsts
        keep = np.where(lives.ended, firsts[1:], keep)
        left = np.flatnonzero(keep < firsts[1:])
        # Of the lives of a key that are left, windows have seen the first one alone.
        owners = lives.owners[left]
        is_first = np.diff(owners, prepend=-1) > 0
        stays, keys = left[is_first], owners[is_first]
        sources = block.source_rows(runs_of(keep, firsts[1:]))
        # In the table of a micro-batch, stored rows come before new ones, and so do the keys that have them.
        self.origins = Origins(
            np.where(sources < len(self.rows), sources, -1), np.where(keys < len(self.sizes), keys, -1)
        )
        self.rows = block.table.take(as_arrow(sources)).combine_chunks()
        self.dropped += len(block) - len(self.rows)
        counts = (firsts[1:] - keep)[left]
        self.sizes = np.add.reduceat(counts, np.flatnonzero(is_first)) if len(left) else counts
        self.done = np.maximum(firsts[:-1] + span.final - keep, 0)[stays]
        self.memory = {
            name: {part: values[stays] for part, values in memory.items()} for name, memory in evaluated.memory.items()
        }

    # -- by key ------------------------------------------------------------------------------------------------------

    @property
    def keys(self) -> list[pa.Table]:
        """The keys of the rows, in order."""
        first_rows = np.cumsum(self.sizes) - self.sizes
        return [self.rows.select(self.prepared.layout.key_columns).take(as_arrow(first_rows))]

    def selected(self, chosen: Sequence[Flags]) -> RowState:
        """Return the state of some keys; there is an array for each table of keys."""
        made = copy(self)
        own = chosen[0]
        made.rows = self.rows.filter(as_arrow(np.repeat(own, self.sizes))).combine_chunks()
        made.sizes, made.done = self.sizes[own], self.done[own]
        made.memory = {name: {part: values[own] for part, values in one.items()} for name, one in self.memory.items()}
        return made

    def absorb(self, other: Any) -> None:
        """Add the state of other keys."""
        self.rows = pa.concat_tables([self.rows, other.rows]).combine_chunks()
        self.dropped += other.dropped
        self.sizes, self.done = np.concatenate([self.sizes, other.sizes]), np.concatenate([self.done, other.done])
        self.memory = {
            name: {part: np.concatenate([values, other.memory[name][part]]) for part, values in one.items()}
            for name, one in self.memory.items()
        }

    # -- as arrays ---------------------------------------------------------------------------------------------------

    def to_arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return the state as named arrays."""
        arrays: dict[str, npt.NDArray[Any]] = {
            "rows": table_bytes(self.rows),
            "sizes": self.sizes,
            "done": self.done,
            "dropped": np.array([self.dropped]),
        }
        for name, window in self._windows.items():
            for part in window.memory.parts:
                arrays[f"memory {name} {part}"] = window.memory.encode(self.memory[name][part])
        return arrays

    def to_delta(self, before: Arrays, after: Arrays) -> Arrays:
        """Return what the last micro-batch changed between the arrays before and after it."""
        return diff_group(before, after, self.origins)

    def from_arrays(self, arrays: dict[str, npt.NDArray[Any]]) -> None:
        """Continue from the arrays of another state of the same query."""
        self.rows = as_schema(read_table(arrays["rows"]), self.prepared.schema)
        self.sizes, self.done, self.dropped = arrays["sizes"], arrays["done"], int(arrays["dropped"][0])
        for name, window in self._windows.items():
            for part in window.memory.parts:
                self.memory[name][part] = window.memory.decode(arrays[f"memory {name} {part}"])


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
