"""What is kept of a stream as slices: their partials, whatever order the rows came in.

Rows of a piece are cut into slices, and slices of a key, kept or new, are combined where no border is between them: so a row
that comes late goes to its slice, or makes one of two. That is for aggregates that commute, over windows whose borders are
known from times alone: periodic ones and sessions. Of others the rows are kept (kept.py).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from sash.engine.joined import Heads, heads_of, join_windows
from sash.engine.keys import number_keys, order_rows
from sash.engine.local import Local
from sash.engine.passes import PassOver, Slices, is_number
from sash.engine.row_block import Block, make_block
from sash.engine.schedule import Counts
from sash.engine.slice_block import SliceBlock, arrange_slices
from sash.kernels.kernel_io import NO_BITS
from sash.slices.borders import Borders, latest_so_far
from sash.slices.cuts import Flags, Records
from sash.state.row_state import first_due, in_order_of_time
from sash.state.watermark import Piece
from sash.windows import Window
from sash.windows.base import FOREVER, Ints
from sash.windows.by_gap import Session
from sash.windows.by_time import Periodic

KEYLESS = ""
"""A column that stands for the rows of a table of keys that has none."""


def keeps_slices(local: Local) -> bool:
    """Tell whether a stream of this query can be kept as slices: by time alone, with partials of numbers that commute."""
    by_time = all(isinstance(window, Periodic | Session) for window in local.plan.windows.values())
    columns = [column for aggregate in local.declared.aggregates.values() for column in aggregate.columns]
    numbers = all(is_number(local.schema.field(column).type) for column in columns)
    return bool(local.plan.technique) and by_time and numbers and all(one.keeps_slices for one in local.plan.passes)


@dataclass
class KeptSlices:
    """Slices by key and time, and the partials of each pass."""

    local: Local

    def __post_init__(self) -> None:
        """Begin with nothing."""
        windows = self.local.plan.windows
        self.borders = borders_of(self.local, list(windows.values()))
        self.own_borders = {name: borders_of(self.local, [window]) for name, window in windows.items()}
        self.keys: pa.Table | None = None
        """The key of each slice."""
        self.sizes: Ints = np.empty(0, np.int64)
        """By key: how many slices are kept."""
        self.times: Ints = np.empty(0, np.int64)
        """When the first row of each came, or, if there are no sessions, the edge before that."""
        self.lasts: Ints = np.empty(0, np.int64)
        """When the last row of each came; empty if there are no sessions."""
        self.slices: list[Slices] = []

    def __len__(self) -> int:
        """Return how many slices are kept."""
        return len(self.times)

    def due(self, now: int) -> int:
        """Return the earliest watermark after this one at which a window ends."""
        lasts = self.lasts if len(self.lasts) else None
        return first_due(self.local, self.times, self.sizes, np.zeros_like(self.sizes), now, lasts)

    def take(self, piece: Piece) -> pa.Table:
        """Take a piece, and return the results that are complete with it."""
        local = self.local
        block = make_block(piece.table, local.layout, local.run_loop)
        passes = [PassOver(one, block) for one in local.plan.passes]
        held = self._add(block, passes)
        results, needed = held.answer(local, passes, piece.after, piece.watermark)
        self._let_go(held, needed, passes)
        return in_order_of_time(join_windows([results], local.declared))

    def _add(self, block: Block, passes: list[PassOver]) -> SliceBlock:
        """Cut the rows of a block into slices, and combine them with those that are kept."""
        local = self.local
        records, lasts = self.borders.cut(local.rows_of(block), local.run_loop)
        new = [over.cut(records) for over in passes]
        owners = np.repeat(np.arange(block.keys), np.diff(records.firsts))
        keys = heads_of(block).keys
        if not local.declared.by:
            keys = pa.table({KEYLESS: pa.nulls(min(1, len(block)), pa.int8())})
        keys = keys.take(pa.array(owners))
        times = records.times
        if self.keys is not None:
            keys = pa.concat_tables([self.keys, keys])
            times, lasts = np.concatenate([self.times, times]), np.concatenate([self.lasts, lasts])
            new = [join(old, fresh) for old, fresh in zip(self.slices, new, strict=True)]
        codes, count = number_keys(keys, local.declared.by or (KEYLESS,), local.run_loop)
        order, self.times = order_rows(codes, count, times, local.run_loop)
        codes = order.arrange(codes)
        self.lasts = latest_so_far(order.arrange(lasts), codes, local.run_loop)
        self.slices = [arrange_slices(slices, order) for slices in new]
        firsts = self._combine(codes, self.borders.between(self.times, self.lasts), passes)
        self.keys = keys.take(pa.array(firsts if order.rows is None else order.rows[firsts])).combine_chunks()
        by_key = np.searchsorted(codes[firsts], np.arange(count + 1))
        every = np.ones(len(self), np.bool_)
        records = Records(np.arange(1, len(self) + 1), every, self.times, by_key)
        heads = Heads(self.keys.take(pa.array(by_key[:-1])), by_key)
        return SliceBlock(heads, records, self.slices, lasts=self.lasts if len(self.lasts) else None)

    def _combine(self, codes: Ints, apart: Flags, passes: list[PassOver]) -> Ints:
        """Make one of neighbouring slices of a key that nothing keeps apart, and return the first of each."""
        apart[1:] |= codes[1:] != codes[:-1]
        firsts = np.flatnonzero(apart)
        self.slices = [merge(over, slices, firsts) for over, slices in zip(passes, self.slices, strict=True)]
        self.times = self.times[firsts]
        if len(self.lasts):
            self.lasts = self.lasts[np.append(firsts[1:], len(self.lasts)) - 1]
        return firsts

    def _let_go(self, held: SliceBlock, needed: Mapping[str, Ints], passes: list[PassOver]) -> None:
        """Forget the slices that no window reaches back to any more, and borders that only windows had that are over."""
        assert self.keys is not None
        counts = np.diff(held.heads.firsts)
        places = np.arange(len(self))
        stays = places >= np.repeat(np.minimum.reduce(list(needed.values())), counts)
        self.keys = self.keys.filter(pa.array(stays))
        self.times = self.times[stays]
        self.lasts = self.lasts[stays] if len(self.lasts) else self.lasts
        self.slices = [select(one, stays) for one in self.slices]
        codes = np.repeat(np.arange(len(counts)), counts)[stays]
        self.sizes = sizes_of(codes)
        since: dict[Borders, Ints] = {}
        for name, first in needed.items():
            own = self.own_borders[name]
            since[own] = np.minimum(since.get(own, first), first)
        if len(since) == 1:
            return
        apart = np.zeros(len(self), np.bool_)
        for own, first in since.items():
            is_needed = (places >= np.repeat(first, counts))[stays]
            apart |= is_needed & own.between(self.times, self.lasts)
        firsts = self._combine(codes, apart, passes)
        self.keys, self.sizes = self.keys.take(pa.array(firsts)), sizes_of(codes[firsts])


def sizes_of(codes: Ints) -> Ints:
    """Return how many there are of each number, where those of one stand together.

    >>> sizes_of(np.array([0, 0, 3])).tolist()
    [2, 1]
    """
    sizes: Ints = np.diff(np.flatnonzero(np.diff(codes, prepend=-1, append=-1)))
    return sizes


def borders_of(local: Local, windows: Sequence[Window]) -> Borders:
    """Return what keeps the slices of some windows apart."""
    assert local.time is not None
    edges = local.edges_by("panes" if local.plan.technique == "panes" else "pairs", windows)
    gaps = [window.gap.in_ticks(local.time.tick, local.time.name) for window in windows if isinstance(window, Session)]
    return Borders(edges, min(gaps, default=FOREVER))


def join(old: Slices, new: Slices) -> Slices:
    """Return slices one behind the other."""
    fields = [np.concatenate([mine, yours]) for mine, yours in zip(old.fields, new.fields, strict=True)]
    return Slices(fields, old.shape, all_closing(np.concatenate([old.counts.values, new.counts.values])))


def select(slices: Slices, chosen: Flags) -> Slices:
    """Return the chosen slices."""
    return Slices([field[chosen] for field in slices.fields], slices.shape, all_closing(slices.counts.values[chosen]))


def all_closing(values: Ints) -> Counts:
    """Return the counts of slices that have closed."""
    return Counts(values, np.ones(len(values), np.bool_))


def merge(over: PassOver, slices: Slices, firsts: Ints) -> Slices:
    """Return slices, combined to one from each of the `firsts` to the next."""
    values = slices.counts.values
    if len(firsts) == len(values):
        return slices
    kernel = over.combining(slices.shape)
    validity = NO_BITS if (values > 0).all() else np.packbits(values > 0, bitorder="little")
    closes = np.ones(len(firsts), np.bool_)
    with over.telling():
        merged = kernel.cut_slices(tuple(slices.fields), np.append(firsts[1:], len(values)), closes, validity)
    return Slices(merged, slices.shape, all_closing(np.add.reduceat(values, firsts)))
