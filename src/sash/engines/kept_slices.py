"""What is kept of a stream as slices: their partials, whatever order the rows came in.

Rows of a piece are cut into slices, and slices of the same key and edge, kept or new, are combined: so a row that comes
late goes to its slice. That is for aggregates that commute; of others the rows are kept (kept.py).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from sash.aggregates.base import Aggregate
from sash.engines.block import Block, make_block
from sash.engines.joined import Heads, heads_of, join_windows
from sash.engines.kept import in_order_of_time
from sash.engines.keys import Order, number_keys, order_rows
from sash.engines.local import Local
from sash.engines.pace import Piece
from sash.engines.passes import PassOver, Slices, is_number
from sash.engines.slice_block import SliceBlock
from sash.engines.turns import Counts
from sash.kernels import Kernel, loops
from sash.kernels.answers import NO_BITS
from sash.slices.cuts import Records, cut_by_edges
from sash.slices.edges import Edges
from sash.slices.open_slice import OpenSlice
from sash.windows.base import FOREVER, Ints, whole_rows

KEYLESS = ""
"""A column that stands for the rows of a table of keys that has none."""


def keeps_slices(local: Local) -> bool:
    """Tell whether a stream of this query can be kept as slices: periodic windows, and partials of numbers that commute."""
    columns = [column for aggregate in local.declared.aggregates.values() for column in aggregate.columns]
    numbers = all(is_number(local.schema.field(column).type) for column in columns)
    return local.edges is not None and numbers and all(one.keeps_slices for one in local.plan.passes)


@dataclass
class KeptSlices:
    """Slices by key and time, and the partials of each pass."""

    local: Local

    def __post_init__(self) -> None:
        """Begin with nothing."""
        self.edges: Edges = self.local.edges_by("panes" if self.local.plan.technique == "panes" else "pairs")
        self.keys: pa.Table | None = None
        """A row for each slice."""
        self.sizes: Ints = np.empty(0, np.int64)
        """By key: how many slices are kept."""
        self.times: Ints = np.empty(0, np.int64)
        self.slices: list[Slices] = []

    def __len__(self) -> int:
        """Return how many slices are kept."""
        return len(self.times)

    def due(self, now: int) -> int:
        """Return the earliest watermark after this one at which a window ends."""
        if not len(self.times):
            return FOREVER
        time = self.local.time
        assert time is not None
        rows = replace(whole_rows(self.times), now=np.array([now]), tick=time.tick, time=time.name)
        return min(window.due(rows) for window in self.local.plan.windows.values())

    def take(self, piece: Piece) -> pa.Table:
        """Take a piece, and return the results that are complete with it."""
        local = self.local
        block = make_block(piece.table, local.layout, local.run_loop)
        passes = [PassOver(one, block) for one in local.plan.passes]
        held = self._add(block, passes)
        results, keep = held.answer(local, passes, piece.after, piece.watermark)
        self._let_go(held, keep)
        return in_order_of_time(join_windows([results], local.declared))

    def _add(self, block: Block, passes: list[PassOver]) -> SliceBlock:
        """Cut the rows of a block into slices, and combine them with those that are kept."""
        local = self.local
        records = cut_by_edges(local.rows_of(block), self.edges, local.run_loop)
        new = [over.cut(records) for over in passes]
        owners = np.repeat(np.arange(block.keys), np.diff(records.firsts))
        keys = heads_of(block).keys
        if not local.declared.by:
            keys = pa.table({KEYLESS: pa.nulls(min(1, len(block)), pa.int8())})
        keys = keys.take(pa.array(owners))
        times = records.times
        if self.keys is not None:
            keys = pa.concat_tables([self.keys, keys])
            times = np.concatenate([self.times, times])
            new = [join(old, fresh) for old, fresh in zip(self.slices, new, strict=True)]
        by = local.declared.by or (KEYLESS,)
        codes, count = number_keys(keys, by, local.run_loop)
        order, times = order_rows(codes, count, times, local.run_loop)
        codes = order.arrange(codes)
        differs = np.ones(len(times), np.bool_)
        differs[1:] = (np.diff(times) != 0) | (np.diff(codes) != 0)
        firsts = np.flatnonzero(differs)
        self.slices = [merge(over, slices, order, firsts) for over, slices in zip(passes, new, strict=True)]
        self.times = times[firsts]
        self.keys = keys.take(pa.array(firsts if order.rows is None else order.rows[firsts])).combine_chunks()
        owners = codes[firsts]
        by_key = np.searchsorted(owners, np.arange(count + 1))
        closes = np.ones(len(firsts), np.bool_)
        records = Records(np.arange(1, len(firsts) + 1), closes, self.times, by_key)
        return SliceBlock(Heads(self.keys.take(pa.array(by_key[:-1])), by_key), records, self.slices)

    def _let_go(self, held: SliceBlock, keep: Ints) -> None:
        """Forget the slices that no window reaches back to any more."""
        assert self.keys is not None
        owners = np.repeat(np.arange(len(keep)), np.diff(held.heads.firsts))
        stays = np.arange(len(self.times)) >= keep[owners]
        sizes = np.bincount(owners[stays], minlength=len(keep))
        self.sizes = sizes[sizes > 0]
        self.keys = self.keys.filter(pa.array(stays))
        self.times = self.times[stays]
        self.slices = [
            Slices([field[stays] for field in one.fields], one.shape, all_closing(one.counts.values[stays]))
            for one in self.slices
        ]


def join(old: Slices, new: Slices) -> Slices:
    """Return slices one behind the other."""
    fields = [np.concatenate([mine, yours]) for mine, yours in zip(old.fields, new.fields, strict=True)]
    return Slices(fields, old.shape, all_closing(np.concatenate([old.counts.values, new.counts.values])))


def all_closing(values: Ints) -> Counts:
    """Return the counts of slices that have closed."""
    return Counts(values, np.ones(len(values), np.bool_))


def merge(over: PassOver, slices: Slices, order: Order, firsts: Ints) -> Slices:
    """Return slices in order, those of the same key and edge combined to one; each begins at one of the `firsts`."""
    values = order.arrange(slices.counts.values)
    fields = tuple(order.arrange(field) for field in slices.fields)
    closes = np.ones(len(firsts), np.bool_)
    if len(firsts) == len(values):
        return Slices(list(fields), slices.shape, all_closing(values))
    aggregates: list[Aggregate[object]] = over.aggregates
    kernel = Kernel(OpenSlice, aggregates, over.inputs, loops.cut_slices, nullable=True, over=slices.shape)
    validity = NO_BITS if (values > 0).all() else np.packbits(values > 0, bitorder="little")
    ends = np.append(firsts[1:], len(values))
    with over.telling():
        merged = kernel.cut_slices(fields, ends, closes, validity)
    return Slices(merged, slices.shape, all_closing(np.add.reduceat(values, firsts)))
