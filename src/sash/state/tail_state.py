"""TailState: slices of the older rows of each key, and the rows after them.

    rows      ●●●●●●●│●●●●●●●│●●●●●●●●│●●●●●│●●●●
    state     slices, as long as the  │ rows that other windows │ rows that wait
              tails of windows        │ reach back to           │ for the watermark

Windows such as `time("30d", tail="1h")` begin at edges alone, so that one partial can stand for the rows between two edges once no later
row can arrive among them: when the watermark has passed them. Windows such as `expanding()` begin with the first row, so that one partial stands
for all older rows. A query may also have windows that begin anywhere, with a limited reach: rows are stored as far as these reach back. Where
windows have different tails, older slices become longer, since short windows do not reach them any more. Rows enter slices in order
of time, so aggregates need not commute.
"""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

import numpy as np
import pyarrow as pa

from sash.columns.buffers import as_arrow
from sash.engine.evaluate import Evaluated
from sash.engine.keys import KeyOrder
from sash.engine.slice_block import NO_KEYS, SliceBlock, cut_each_row, join_by_key, merge
from sash.kernels.array_codec import Arrays
from sash.state.codec import as_schema
from sash.state.key_epochs import KeyEpochs, split_epochs
from sash.state.row_state import RowState
from sash.state.state_log import Origins
from sash.state.stored_items import first_due
from sash.state.watermark import MicroBatch
from sash.windows.arrays import sums_before
from sash.windows.base import Flags, Ints, Span

EPOCH = " epoch"
"""The column of keys that numbers their epochs, while slices and rows are brought together."""


class TailState(RowState):
    """Slices of older rows, and the rows after them, by key and time."""

    stores_partials: ClassVar[bool] = True

    def due(self, now: int) -> int:
        """Return the earliest watermark after now at which there is something to emit or to drop, if no more rows arrive."""
        due = super().due(now)
        if self.slices is None:
            return due
        slices = self.slices
        return min(due, first_due(self.prepared, slices.times, slices.sizes, slices.sizes, now))

    def block(self) -> SliceBlock:
        """Return all that is stored as a block: slices, and then each row as a slice of its own."""
        return self._with_slices(split_epochs(self.prepared.block(self.rows, self.dropped), None, 0))

    def advance(self, batch: MicroBatch) -> pa.Table:
        """Add a micro-batch. Return the results that are complete with it."""
        prepared = self.prepared
        table = pa.concat_tables([self.rows, as_schema(batch.table, self.rows.schema)])
        epochs = split_epochs(prepared.block(table, self.dropped), self.forget, batch.watermark)
        block, span = epochs.block, self._span(epochs, batch)
        items = self._with_slices(epochs)
        counts = items.sizes  # by key, how many slices come before its rows
        counts[: block.keys] -= np.diff(block.firsts)
        of_items = _with_context(span, counts, batch)
        evaluated = self._evaluate(items, of_items)
        results = prepared.no_rows if self.for_lookup else self._results(block, span, evaluated, by_keys=batch.by_keys)
        first_rows = np.maximum(self._first_rows(items, of_items, evaluated), items.firsts[:-1] + counts)
        places, sizes = np.arange(len(items)), items.sizes
        is_older = places < np.repeat(first_rows, sizes)
        is_older &= places >= np.repeat(_first_needed(evaluated), sizes)
        if self.forget is not None:
            is_older &= ~np.repeat(of_items.has_ended, sizes)
        slices = self._in_order(items, is_older, self._borders(items, evaluated))
        own = slice(0, block.keys)
        self._retain(epochs, span, evaluated, block.firsts[:-1] + (first_rows - items.firsts[:-1] - counts)[own])
        self._count_forgotten(epochs, batch)
        self.slices = slices
        return results

    def from_arrays(self, arrays: Arrays) -> None:
        """Continue from the arrays of another state, also of a query that had other windows and counted rows, or did not.

        Windows that count rows do not reach slices that do not tell how many rows they hold: these are older than the window.
        """
        super().from_arrays(arrays)
        if self.slices is not None:
            counts = self.slices.row_counts
            if counts is None and self._counts_rows:
                counts = np.ones(len(self.slices), np.int64)
            self.slices = replace(self.slices, row_counts=counts if self._counts_rows else None)

    def _with_slices(self, epochs: KeyEpochs) -> SliceBlock:
        """Return each row as a slice, after the slices of its key; the epochs of the rows come first, in their order."""
        rows = cut_each_row(self.prepared, epochs.block)
        if not self._counts_rows:
            rows = replace(rows, row_counts=None)
        if self.slices is None:
            return rows
        known = replace(self.slices, origins=np.arange(len(self.slices)))
        rows = replace(rows, origins=np.full(len(rows), -1))
        if self.forget is None:
            return join_by_key(known, rows, self.prepared.loops)
        # Slices are of the first epoch of their key: that of the newest row that windows have seen.
        of_first = np.zeros(len(known.keys), np.int64)
        together = join_by_key(with_numbers(known, of_first), with_numbers(rows, epochs.numbers), self.prepared.loops)
        return replace(together, layout=rows.layout, keys=together.keys.drop_columns([EPOCH]))

    @property
    def _counts_rows(self) -> bool:
        """Whether some window counts rows, so that slices must tell how many they hold."""
        return any(not window.frame.reads_times for window in self._windows.values())

    def _first_rows(self, items: SliceBlock, span: Span, evaluated: Evaluated) -> Ints:
        """Return the first item of each key that must stay a row: a later window may begin or end with it."""
        firsts = items.firsts[:-1]
        rest: Ints = firsts + span.final
        seen = items.items((), span)
        for name, window in self._windows.items():
            edged = window.frame.begins_at_edges(self.prepared.unit)
            rest = np.minimum(rest, window.frame.held(seen) if edged else evaluated.keep[name])
        rest = np.maximum(rest, _first_needed(evaluated))
        if self.forget is not None:
            rest = np.minimum(rest, np.maximum(firsts, firsts + span.final - 1))
        return rest

    def _borders(self, items: SliceBlock, evaluated: Evaluated) -> Flags:
        """Return which items must not be merged with those before them: a later window may begin with them."""
        apart = np.zeros(len(items), np.bool_)
        places, sizes = np.arange(len(items)), items.sizes
        for name, window in self._windows.items():
            tail = window.frame.begin_edges(self.prepared.unit)
            if tail is not None:
                numbers = items.times // tail
                differs = np.diff(numbers, prepend=numbers[:1]) != 0
                apart |= differs & (places >= np.repeat(evaluated.keep[name], sizes))
        return apart

    def _in_order(self, items: SliceBlock, is_older: Flags, apart: Flags) -> SliceBlock:
        """Return the older items, merged unless they are apart; keys are in the order that they had before, and new ones after them."""
        before = self._places_before(items)
        places = np.flatnonzero(is_older)
        keys = np.flatnonzero(np.bincount(items.codes[places], minlength=len(items.keys)))
        keys = keys[np.argsort(np.where(before[keys] < 0, len(items.keys), before[keys]), kind="stable")]
        numbers = np.empty(len(items.keys), np.int64)
        numbers[keys] = np.arange(len(keys))
        codes = numbers[items.codes[places]]
        places = places[np.argsort(codes, kind="stable")]
        firsts = sums_before(np.bincount(codes, minlength=len(keys)))
        older = replace(items, codes=numbers[items.codes]).arrange(KeyOrder(places, firsts))
        older = replace(older, keys=items.keys.take(as_arrow(keys)).combine_chunks())
        slices = merge(self.prepared, older, apart[places])
        self.slice_origins = None if slices.origins is None else Origins(slices.origins, before[keys])
        return replace(slices, origins=None)

    def _places_before(self, items: SliceBlock) -> Ints:
        """Return the place of each key among those of the stored slices; -1 if it has none."""
        before = np.full(len(items.keys), -1)
        if self.slices is not None and items.origins is not None:
            known = items.origins >= 0
            before[items.codes[known]] = self.slices.codes[items.origins[known]]
        return before


def with_numbers(slices: SliceBlock, numbers: Ints) -> SliceBlock:
    """Return slices whose keys have one more column: the numbers of epochs."""
    layout = replace(slices.layout, by=(*(slices.layout.by or (NO_KEYS,)), EPOCH))
    return replace(slices, layout=layout, keys=slices.keys.append_column(EPOCH, as_arrow(numbers)))


def _first_needed(evaluated: Evaluated) -> Ints:
    """Return the first item of each key that a later window may hold."""
    first: Ints = np.minimum.reduce(list(evaluated.keep.values()))
    return first


def _with_context(span: Span, slices: Ints, batch: MicroBatch) -> Span:
    """Return the span of rows with slices before them, as context; more keys may have slices only."""
    keys = len(slices)
    done, final = slices.copy(), slices.copy()
    done[: len(span.done)] += span.done
    final[: len(span.final)] += span.final
    ended = batch.ended(keys)
    ended[: len(span.done)] |= span.has_ended
    after, closed = batch.by_key(keys)
    return Span(done, final, after, closed, closed, ended=ended)
