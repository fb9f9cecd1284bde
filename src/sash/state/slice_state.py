"""SliceState: the slices of a stream as partials; rows may arrive in any order.

Each micro-batch is cut into slices. Neighbouring slices of a key, stored or new, are merged unless a border lies between them:
a row that arrives out of order enters its slice, or joins two. This needs aggregates that commute, and windows whose borders
follow from times alone: periodic windows and sessions. For all others the state is rows (row_state.py).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sash.engine.assemble import in_order_of_time, join_windows, window_tables, with_changes
from sash.engine.evaluate import evaluate
from sash.engine.partials import SliceCounts, SlicePartials
from sash.engine.prepare import Prepared
from sash.engine.slice_block import SliceBlock, concat_by_key, cut, merge
from sash.kernels.array_codec import Arrays
from sash.kernels.fused_partial import shape_from
from sash.slices.cuts import Borders, borders_of, latest_so_far
from sash.state.codec import as_schema, read_table, table_bytes
from sash.state.row_state import StateSize, first_due
from sash.state.state_log import Origins, as_slices, diff_group, rows_and_slices
from sash.state.watermark import MicroBatch
from sash.windows.base import FOREVER, Flags, Ints, Span, whole_span


@dataclass
class SliceState:
    """Slices by key and time, with the partials of each pass.

    With `update`, windows are emitted whenever a row changes one of their slices, rather than once when they are final.
    """

    stores_partials: ClassVar[bool] = True
    prepared: Prepared
    update: bool = False

    def __post_init__(self) -> None:
        """Start empty."""
        windows, unit = self.prepared.plan.windows, self.prepared.unit
        technique = self.prepared.plan.technique
        self.own_borders = {name: borders_of([window], unit, technique) for name, window in windows.items()}
        self.slices: SliceBlock | None = None
        self.origins: Origins | None = None
        """Where the slices were before the last micro-batch; None if there were none."""
        self.is_too_fine = False
        """Whether the slices may have borders of windows that the query has no more."""
        self.forgotten = 0
        """Windows of slices need no key for longer than their time, so none is forgotten."""

    def __len__(self) -> int:
        """Return the number of stored slices."""
        return 0 if self.slices is None else len(self.slices)

    @property
    def size(self) -> StateSize:
        """What is stored."""
        return StateSize() if self.slices is None else StateSize(len(self.slices.keys), len(self.slices), 0)

    @property
    def oldest(self) -> int:
        """The time at which the oldest slice begins; FOREVER if there is none."""
        return FOREVER if self.slices is None else int(self.slices.times.min(initial=FOREVER))

    def due(self, now: int) -> int:
        """Return the earliest watermark after now at which a window ends."""
        slices = self.slices
        sizes = np.empty(0, np.int64) if slices is None else slices.sizes
        times = sizes if slices is None else slices.times
        last_times = None if slices is None else slices.last_times
        return first_due(self.prepared, times, sizes, np.zeros_like(sizes), now, last_times)

    def advance(self, batch: MicroBatch) -> pa.Table:
        """Add a micro-batch. Return the results that are complete with it."""
        prepared = self.prepared
        slices = self._add(batch.table)
        evaluated = evaluate(prepared, slices, self._span(slices, batch))
        results = in_order_of_time(join_windows(prepared, [window_tables(prepared, slices, evaluated)]))
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

    def add_rows(self, rows: pa.Table) -> None:
        """Store rows as slices, without results: those of a query that stored rows."""
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
            own = self.own_borders[name]
            since[own] = np.minimum(since.get(own, first), first)
        if len(since) > 1:
            apart = np.zeros(len(left), np.bool_)
            for own, first in since.items():
                apart |= (places >= np.repeat(first, sizes))[stays] & own.between(left.times, left.last_times)
            left = merge(self.prepared, left, apart)
        self.origins = self._origins(left)
        self.slices = replace(left, origins=None).without_empty_keys()

    def _origins(self, left: SliceBlock) -> Origins | None:
        """Return where slices were before; known keys come first in a block with new slices."""
        if self.slices is None or left.origins is None:
            return None
        keys = np.flatnonzero(left.sizes)
        return Origins(left.origins, np.where(keys < len(self.slices.keys), keys, -1))

    # -- by key ------------------------------------------------------------------------------------------------------

    @property
    def keys(self) -> list[pa.Table]:
        """The keys of the slices, in order."""
        return [] if self.slices is None else [self.slices.keys]

    def selected(self, chosen: Sequence[Flags]) -> SliceState:
        """Return the state of some keys; there is an array for each table of keys."""
        made = copy(self)
        if self.slices is not None:
            made.slices = self.slices.select(chosen[0][self.slices.codes]).without_empty_keys()
        return made

    def absorb(self, other: Any) -> None:
        """Add the state of other keys."""
        known = [one for one in (self.slices, other.slices) if one is not None]
        self.slices = concat_by_key(known, self.prepared.loops) if known else None

    # -- as arrays ---------------------------------------------------------------------------------------------------

    def to_arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return the state as named arrays."""
        return {} if self.slices is None or not len(self.slices) else as_slices(slices_to_arrays(self.slices))

    def to_delta(self, before: Arrays, after: Arrays) -> Arrays:
        """Return what the last micro-batch changed between the arrays before and after it."""
        return diff_group(before, after, slices=self.origins)

    def from_arrays(self, arrays: dict[str, npt.NDArray[Any]]) -> None:
        """Continue from the arrays of another state of the same query."""
        _, slices = rows_and_slices(arrays)
        if slices:
            self.slices = slices_from_arrays(self.prepared, slices)


def slices_to_arrays(slices: SliceBlock) -> dict[str, npt.NDArray[Any]]:
    """Return slices, sorted by key and time, as named arrays; each key once."""
    arrays: dict[str, npt.NDArray[Any]] = {
        "keys": table_bytes(slices.keys),
        "sizes": slices.sizes,
        "times": slices.times,
    }
    arrays |= {} if slices.last_times is None else {"last_times": slices.last_times}
    arrays |= {} if slices.row_counts is None else {"row_counts": slices.row_counts}
    for number, one in enumerate(slices.partials):
        arrays[f"shape {number}"] = np.frombuffer(json.dumps(one.shape).encode(), np.uint8)
        arrays[f"values {number}"] = one.counts.values
        arrays |= {f"field {number} {place}": field for place, field in enumerate(one.fields)}
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
