"""SliceState: the slices of a stream as partials; rows may arrive in any order.

Each micro-batch is cut into slices. Neighbouring slices of a key, stored or new, are merged unless a border lies between them:
a row that arrives out of order enters its slice, or joins two. This needs aggregates that commute, and windows whose borders
follow from times alone: periodic windows and sessions. For all others the state is rows (row_state.py).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from sash.engine.assemble import in_order_of_time, join_windows, window_tables, with_changes
from sash.engine.evaluate import evaluate
from sash.engine.slice_block import SliceBlock, concat_by_key, cut, merge
from sash.kernels.array_codec import Arrays
from sash.slices.cuts import Borders, borders_of, latest_so_far
from sash.state.carried_partials import carry_partials
from sash.state.codec import read_table
from sash.state.state_log import Origins, as_slices, rows_and_slices
from sash.state.stored_items import StoredItems, first_due, with_schema
from sash.state.watermark import MicroBatch
from sash.windows.base import FOREVER, Ints, Span, whole_span


class SliceState(StoredItems):
    """Slices by key and time, with the partials of each pass. No key is needed for longer than its windows, so none is forgotten."""

    stores_rows: ClassVar[bool] = False
    stores_partials: ClassVar[bool] = True

    def __post_init__(self) -> None:
        """Start empty."""
        super().__post_init__()
        unit, technique = self.prepared.unit, self.prepared.plan.technique
        self.own_borders = {name: borders_of([window], unit, technique) for name, window in self._windows.items()}
        self.is_too_fine = False
        """Whether the slices may have borders of windows that the query has no more."""

    def due(self, now: int) -> int:
        """Return the earliest watermark after now at which a window ends."""
        slices = self.slices
        sizes = np.empty(0, np.int64) if slices is None else slices.sizes
        times = sizes if slices is None else slices.times
        last_times = None if slices is None else slices.last_times
        return first_due(self.prepared, times, sizes, np.zeros_like(sizes), now, last_times)

    def block(self) -> SliceBlock:
        """Return the slices."""
        return cut(self.prepared, self.prepared.empty_block()) if self.slices is None else self.slices

    def advance(self, batch: MicroBatch) -> pa.Table:
        """Add a micro-batch. Return the results that are complete with it."""
        prepared = self.prepared
        slices = self._add(batch.table)
        evaluated = evaluate(prepared, slices, self._span(slices, batch))
        results = join_windows(prepared, [window_tables(prepared, slices, evaluated)])
        results = results if batch.by_keys else in_order_of_time(results)
        if self.update:
            before = slices.select(slice(0)) if self.slices is None else self.slices
            results = with_changes(prepared, before, slices, results)
        self._retain(slices, evaluated.keep)
        return results

    def _span(self, slices: SliceBlock, batch: MicroBatch) -> Span:
        """Return which windows to emit: those that are complete, or all open ones with a slice that changed."""
        span = whole_span(slices.sizes, batch.after, batch.watermark)
        if not self.update:
            return span
        # A slice that was merged holds a new row: a border separates slices that are stored.
        changed = np.ones(len(slices), np.bool_) if slices.origins is None else slices.origins < 0
        return replace(span, now=np.full_like(span.now, FOREVER), changed=changed)

    def continue_from(
        self,
        arrays: Arrays,
        stored_parts: Sequence[Any],
        kept: Collection[str],  # noqa: ARG002 — slices have no memory
        new: Collection[str] = (),  # noqa: ARG002 — what is new has a state of its own
    ) -> None:
        """Continue from the arrays of a state of another query: its slices, or its rows."""
        rows, slices = rows_and_slices(arrays)
        if "rows" in rows:
            self.slices = self._add(with_schema(read_table(rows["rows"]), self.prepared.schema))
        else:
            self.from_arrays(as_slices(carry_partials(self.prepared, slices, stored_parts)))
            self.is_too_fine = True

    def add_rows(self, rows: pa.Table) -> None:
        """Add rows in any order, without results."""
        self.slices = self._add(rows)

    def _add(self, rows: pa.Table) -> SliceBlock:
        """Return the stored slices together with those of new rows."""
        prepared = self.prepared
        block = prepared.block(rows)
        prepared.check_times(block.times)
        new = cut(prepared, block)
        slices = new
        if self.slices is not None:
            if self.is_too_fine:  # else slices that are merged below would look changed
                self.slices, self.is_too_fine = self._merged(self.slices), False
            known = replace(self.slices, origins=np.arange(len(self.slices)))
            slices = concat_by_key([known, replace(new, origins=np.full(len(new), -1))], prepared.loops)
        if slices.last_times is not None:
            slices = replace(slices, last_times=latest_so_far(slices.last_times, slices.codes))
        return self._merged(slices)

    def _merged(self, slices: SliceBlock) -> SliceBlock:
        """Return slices merged unless a border lies between them."""
        return merge(self.prepared, slices, self.prepared.borders.between(slices.times, slices.last_times))

    def _retain(self, slices: SliceBlock, keep: Mapping[str, Ints]) -> None:
        """Drop the slices that no window needs any more, and merge slices whose border belongs to closed windows only."""
        places, sizes = np.arange(len(slices)), slices.sizes
        stays = places >= np.repeat(np.minimum.reduce(list(keep.values())), sizes)
        left = slices.select(stays)
        since: dict[Borders, Ints] = {}
        for name, first in keep.items():
            borders = self.own_borders[name]
            since[borders] = np.minimum(since.get(borders, first), first)
        if len(since) > 1:
            apart = np.zeros(len(left), np.bool_)
            for borders, first in since.items():
                apart |= (places >= np.repeat(first, sizes))[stays] & borders.between(left.times, left.last_times)
            left = merge(self.prepared, left, apart)
        self.slice_origins = self._origins(left)
        self.slices = replace(left, origins=None).without_empty_keys()

    def _origins(self, left: SliceBlock) -> Origins | None:
        """Return where slices were before; known keys come first in a block with new slices."""
        if self.slices is None or left.origins is None:
            return None
        keys = np.flatnonzero(left.sizes)
        return Origins(left.origins, np.where(keys < len(self.slices.keys), keys, -1))
