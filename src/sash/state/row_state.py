"""RowState: the rows of a stream that later windows reach back to, or that wait for the watermark."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
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
from sash.engine.evaluate import Block, Evaluated, Memories, evaluate
from sash.engine.row_block import RowBlock
from sash.state.codec import as_schema
from sash.state.key_epochs import KeyEpochs, first_end, split_epochs
from sash.state.state_log import Origins
from sash.state.stored_items import StoredItems, first_due
from sash.state.watermark import MicroBatch
from sash.windows.base import FOREVER, Ints, Memory, Span


class RowState(StoredItems):
    """Rows by key and time, and the memory of windows for each key."""

    def due(self, now: int) -> int:
        """Return the earliest watermark after now at which there is something to emit or to drop, if no more rows arrive."""
        assert self.prepared.time is not None
        times = self.prepared.time.read(self.rows[self.prepared.time.name])
        due = first_due(self.prepared, times, self.sizes, self.done, now)
        return due if self.forget is None else min(due, first_end(times, self.sizes, self.forget))

    def block(self) -> Block:
        """Return the rows."""
        return self.prepared.block(self.rows, self.dropped)

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
        epochs = split_epochs(prepared.block(table, self.dropped), self.forget, batch.watermark)
        block, span = epochs.block, self._span(epochs, batch)
        evaluated = self._evaluate(block, span, self._memory(epochs))
        results = prepared.no_rows if self.for_lookup else self._results(block, span, evaluated, by_keys=batch.by_keys)
        keep = self._keep(block, span, evaluated)
        if batch.by_keys:
            keep[:-1] = block.firsts[1:-1]  # no more rows of these keys arrive
        self._retain(epochs, span, evaluated, keep)
        self._count_forgotten(epochs, batch)
        return results

    def _evaluate(self, block: Block, span: Span, memory: Memories | None = None) -> Evaluated:
        """Evaluate the windows of a block; for lookups without results, and with what the window of a point may need among what is kept."""
        if not self.for_lookup:
            return evaluate(self.prepared, block, span, memory)
        evaluated = evaluate(self.prepared.with_passes(()), block, span, memory)
        keep = {}
        for name, first in evaluated.keep.items():
            frame = self._windows[name].frame
            keep[name] = np.maximum(first - frame.rows_of_points, block.firsts[:-1])
        return replace(evaluated, keep=keep)

    def _results(self, block: RowBlock, span: Span, evaluated: Evaluated, *, by_keys: bool) -> pa.Table:
        """Return the results that are complete: by key if keys arrive one after the other, otherwise in order of time."""
        prepared = self.prepared
        evaluated = self.known.known_results(prepared, block, span, evaluated)
        if prepared.plan.per_row:
            results = with_input_rows(prepared, block, span, evaluated, by_keys=by_keys)
        else:
            results = join_windows(prepared, [window_tables(prepared, block, evaluated)])
            results = results if by_keys else in_order_of_time(results)
        return with_changes(prepared, prepared.block(self.rows), block, results) if self.update else results

    def _count_forgotten(self, epochs: KeyEpochs, batch: MicroBatch) -> None:
        """Count the epochs that have ended; those that end with the stream are not forgotten."""
        if not batch.is_last:
            self.forgotten += int(np.count_nonzero(epochs.ended))

    def _span(self, epochs: KeyEpochs, batch: MicroBatch) -> Span:
        """Return which rows are context, which are final, and which windows to emit."""
        block = epochs.block
        after, closed = batch.by_key(block.keys)
        done = np.zeros(block.keys, np.int64)
        done[epochs.heads[: len(self.done)]] = self.done
        final = np.diff(block.firsts)
        if len(block.times):  # a row before the watermark is final: rows that would come before it are late
            older = np.zeros(len(block) + 1, np.int64)
            np.cumsum(block.times < np.repeat(closed, final), out=older[1:])
            final = np.where(closed == FOREVER, final, older[block.firsts[1:]] - older[block.firsts[:-1]])
        if not self.update:
            span = Span(done, final, after, closed, closed, ended=batch.ended(block.keys) | epochs.ended)
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

    def _memory(self, epochs: KeyEpochs) -> dict[str, Memory]:
        """Return the memory of windows, with that of new keys; of the epochs of a key, the first is the one that they know."""
        memory = {}
        for name, window in self._windows.items():
            memory[name] = window.memory.new(epochs.block.keys, self.rows_before)
            for part, known in self.memory[name].items():
                memory[name][part][epochs.heads[: len(known)]] = known
        return memory

    def _keep(self, block: RowBlock, span: Span, evaluated: Evaluated) -> Ints:
        """Return the first row of each key that is still needed.

        The memory of windows is stored by key, and a key exists only if it has rows. So the newest row stays if a window
        remembers something.
        """
        keep: Ints = block.firsts[:-1] + span.final
        if self.forget is not None:
            keep = np.maximum(block.firsts[:-1], keep - 1)
        for needed in evaluated.keep.values():
            keep = np.minimum(keep, needed)
        newest = np.maximum(block.firsts[:-1], block.firsts[1:] - 1)
        for name, window in self._windows.items():
            if window.memory.parts:
                keep = np.where(window.memory.differs(evaluated.memory[name]), np.minimum(keep, newest), keep)
        return keep

    def _retain(self, epochs: KeyEpochs, span: Span, evaluated: Evaluated, keep: Ints) -> None:
        """Store the rows from `keep` on, and drop epochs that have ended and keys without rows."""
        block, firsts = epochs.block, epochs.block.firsts
        keep = np.where(epochs.ended, firsts[1:], keep)
        left = np.flatnonzero(keep < firsts[1:])
        # Of the epochs of a key that are left, windows have seen the first one alone.
        owners = epochs.owners[left]
        is_first = np.diff(owners, prepend=-1) > 0
        stays, keys = left[is_first], owners[is_first]
        sources = block.source_rows(runs_of(keep, firsts[1:]))
        # In the table of a micro-batch, stored rows come before new ones, and so do the keys that have them.
        self.row_origins = Origins(
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
