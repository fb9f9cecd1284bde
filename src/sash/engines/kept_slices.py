"""What is kept of a stream as slices: their partials, whatever order the rows came in.

Rows of a piece are cut into slices, and slices of the same key and edge, kept or new, are combined: so a row that comes
late goes to its slice. That is for aggregates that commute; of others the rows are kept (kept.py).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from sash.aggregates.base import Aggregate
from sash.engines.block import Block, make_block
from sash.engines.kept import in_order_of_time
from sash.engines.keys import Order, number_keys, order_rows
from sash.engines.local import Found, Heads, Local, heads_of, join_windows, slide_all
from sash.engines.pace import Piece
from sash.engines.passes import PassOver, Results, Slices, is_number
from sash.engines.turns import Counts
from sash.kernels import Kernel, loops
from sash.kernels.kernel import NO_BITS
from sash.slices.cuts import all_closed, cut_by_edges
from sash.slices.edges import Edges
from sash.slices.open_slice import OpenSlice
from sash.windows.base import Ints, Rows

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
        self.times: Ints = np.empty(0, np.int64)
        self.slices: list[Slices] = []

    def __len__(self) -> int:
        """Return how many slices are kept."""
        return len(self.times)

    def take(self, piece: Piece) -> pa.Table:
        """Take a piece, and return the results that are complete with it."""
        local = self.local
        block = make_block(piece.table, local.layout, local.run_loop)
        passes = [PassOver(one, block) for one in local.plan.passes]
        self._add(block, passes)
        heads, rows = self._rows(piece)
        found = {}
        keep = rows.firsts[1:]
        for name, window in local.plan.windows.items():
            bounds = window.bounds(rows, {}, local.run_loop)
            found[name] = Found(window, bounds, None, all_closed(bounds))
            keep = np.minimum(keep, bounds.keep)
        answers: dict[str, Results] = {name: {} for name in found}
        for over, slices in zip(passes, self.slices, strict=True):
            for name, own in slide_all(over, slices, found).items():
                answers[name] |= own
        results = join_windows([local.of_windows(heads, rows.times, found, answers)], local.declared)
        self._let_go(rows, keep)
        return in_order_of_time(results)

    def _add(self, block: Block, passes: list[PassOver]) -> None:
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
        self._owners = codes[firsts]

    def _rows(self, piece: Piece) -> tuple[Heads, Rows]:
        """Return the slices in the place of rows."""
        assert self.keys is not None
        count = int(self._owners[-1]) + 1 if len(self._owners) else 0
        firsts = np.searchsorted(self._owners, np.arange(count + 1))
        after, now = np.full(count, piece.after, np.int64), np.full(count, piece.watermark, np.int64)
        time = self.local.time
        assert time is not None
        nothing, final = np.zeros(count, np.int64), np.diff(firsts)
        rows = Rows(self.times, firsts, {}, nothing, final, after, now, time.tick, time.name)
        return Heads(self.keys.take(pa.array(firsts[:-1])), firsts), rows

    def _let_go(self, rows: Rows, keep: Ints) -> None:
        """Forget the slices that no window reaches back to any more."""
        assert self.keys is not None
        stays = np.arange(len(self.times)) >= np.repeat(keep, np.diff(rows.firsts))
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
    merged = kernel.cut_slices(fields, ends, closes, validity)
    return Slices(merged, slices.shape, all_closing(np.add.reduceat(values, firsts)))
