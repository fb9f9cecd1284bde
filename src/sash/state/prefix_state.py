"""PrefixState: one partial for the older rows of each key, and the rows after them.

    rows      ●●●●●●●●●●●●●●│●●●●●│●●●●
    state     one partial   │ rows that other windows │ rows that wait
              of the prefix │ reach back to           │ for the watermark

A window such as `expanding()` holds all rows of a key, so rows would never leave the state. But it holds those before the watermark as a
whole: no later row can arrive among them. So one partial stands for them. Beside such windows, a query may have windows with a limited
reach, which hold none of these rows any more. Rows enter the partial in order of time, so aggregates need not commute.
"""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

import numpy as np
import pyarrow as pa

from sash.columns.buffers import as_arrow
from sash.engine.evaluate import Evaluated
from sash.engine.keys import KeyOrder
from sash.engine.slice_block import NO_KEYS, SliceBlock, concat_by_key, cut_each_row, merge
from sash.state.codec import as_schema
from sash.state.key_epochs import KeyEpochs, split_epochs
from sash.state.row_state import RowState
from sash.state.state_log import Origins
from sash.state.watermark import MicroBatch
from sash.windows.base import NEVER, Ints, Span

EPOCH = " epoch"
"""The column of keys that numbers their epochs, while prefixes and rows are brought together."""


class PrefixState(RowState):
    """The partials of prefixes, and the rows after them, by key and time."""

    stores_partials: ClassVar[bool] = True

    def advance(self, batch: MicroBatch) -> pa.Table:
        """Add a micro-batch. Return the results that are complete with it."""
        prepared = self.prepared
        table = pa.concat_tables([self.rows, as_schema(batch.table, self.rows.schema)])
        epochs = split_epochs(prepared.block(table, self.dropped), self.forget, batch.watermark)
        block, span = epochs.block, self._span(epochs, batch)
        items = self._with_prefixes(epochs)
        has_prefix = items.sizes
        has_prefix[: block.keys] -= np.diff(block.firsts)
        of_items = _with_context(span, has_prefix, batch)
        evaluated = self._evaluate(items, of_items)
        results = prepared.no_rows if self.for_lookup else self._results(block, span, evaluated)
        rest = np.maximum(self._rest(items, of_items, evaluated), items.firsts[:-1] + has_prefix)
        is_older = np.arange(len(items)) < np.repeat(rest, items.sizes)
        if self.forget is not None:
            is_older &= ~np.repeat(of_items.has_ended, items.sizes)
        older = items.select(is_older)
        prefixes = merge(prepared, older, np.zeros(len(older), np.bool_))
        prefixes = self._in_order(items, replace(prefixes, times=prefixes.times + has_prefix[prefixes.codes]))
        of_rows = slice(0, block.keys)
        self._retain(epochs, span, evaluated, block.firsts[:-1] + (rest - items.firsts[:-1] - has_prefix)[of_rows])
        self._count_forgotten(epochs, batch)
        self.slices = prefixes
        return results

    def _with_prefixes(self, epochs: KeyEpochs) -> SliceBlock:
        """Return each row as a slice, after the prefix of its key; the epochs of the rows come first, in their order."""
        rows = cut_each_row(self.prepared, epochs.block)
        if self.slices is None:
            return rows
        # The rows after a prefix may be peers of all its rows. One tick earlier, it is sorted before them.
        earlier = np.maximum(self.slices.times, NEVER + 1) - 1
        known = replace(self.slices, times=earlier, origins=np.arange(len(self.slices)))
        rows = replace(rows, origins=np.full(len(rows), -1))
        if self.forget is None:
            return concat_by_key([rows, known], self.prepared.loops)
        # A prefix is of the first epoch of its key: that of the newest row that windows have seen.
        of_first = np.zeros(len(known.keys), np.int64)
        blocks = [with_numbers(rows, epochs.numbers), with_numbers(known, of_first)]
        together = concat_by_key(blocks, self.prepared.loops)
        return replace(together, layout=rows.layout, keys=together.keys.drop_columns([EPOCH]))

    def _in_order(self, items: SliceBlock, prefixes: SliceBlock) -> SliceBlock:
        """Return prefixes in the order that they had before, and new ones after them."""
        self.slice_origins = None
        if items.origins is None:
            return prefixes.without_empty_keys()
        known = items.origins >= 0
        places = np.full(len(items.keys), -1)
        places[items.codes[known]] = items.origins[known]
        before = places[prefixes.codes]
        order = np.argsort(np.where(before < 0, len(places), before), kind="stable")
        arranged = prefixes.arrange(KeyOrder(order, np.arange(len(order) + 1)))
        assert arranged.origins is not None
        self.slice_origins = Origins(arranged.origins, before[order])
        keys = prefixes.keys.take(as_arrow(arranged.codes)).combine_chunks()
        return replace(arranged, keys=keys, codes=np.arange(len(order)), origins=None)

    def _rest(self, items: SliceBlock, span: Span, evaluated: Evaluated) -> Ints:
        """Return the first item of each key that does not belong to its prefix: a later window may begin or end with it."""
        rest: Ints = items.firsts[:-1] + span.final
        if self.forget is not None:
            rest = np.maximum(items.firsts[:-1], rest - 1)
        seen = items.items((), span)
        for name, window in self._windows.items():
            frame = window.frame
            held = frame.held(seen) if frame and frame.held else evaluated.keep[name]
            rest = np.minimum(rest, held)
        return rest


def with_numbers(slices: SliceBlock, numbers: Ints) -> SliceBlock:
    """Return slices whose keys have one more column: the numbers of epochs."""
    layout = replace(slices.layout, by=(*(slices.layout.by or (NO_KEYS,)), EPOCH))
    return replace(slices, layout=layout, keys=slices.keys.append_column(EPOCH, as_arrow(numbers)))


def _with_context(span: Span, has_prefix: Ints, batch: MicroBatch) -> Span:
    """Return the span of rows with prefixes before them, as context; more keys may have a prefix only."""
    keys = len(has_prefix)
    done, final = has_prefix.copy(), has_prefix.copy()
    done[: len(span.done)] += span.done
    final[: len(span.final)] += span.final
    ended = batch.ended(keys)
    ended[: len(span.done)] |= span.has_ended
    after, closed = batch.by_key(keys)
    return Span(done, final, after, closed, closed, ended=ended)
