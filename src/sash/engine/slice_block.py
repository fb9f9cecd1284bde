"""SliceBlock: closed slices by key and time, with the partials of each pass; `cut` makes them of rows, for callers that store or send slices."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from sash.columns.buffers import as_arrow
from sash.engine.executors import naming_pass, open_pass
from sash.engine.failures import name_row, shown
from sash.engine.group_ids import first_rows, number_keys
from sash.engine.keys import KeyOrder, cut_evenly, order_by_key, order_rows
from sash.engine.partials import SlicePartials, concat_partials
from sash.engine.prepare import Prepared
from sash.engine.row_block import RowBlock, RowLayout
from sash.slices.cuts import Borders, SliceRecords
from sash.windows import Window
from sash.windows.arrays import sums_before
from sash.windows.base import Flags, Ints, Items, LoopCompiler, Span, whole_span

NO_KEYS = ""
"""The column of a table of keys if the query has no key: a table needs a column to have a row."""


@dataclass(frozen=True)
class SliceBlock:
    """Closed slices of some keys.

    `concat` and `merge` return slices sorted by key and time, which `evaluate` needs.
    """

    layout: RowLayout
    keys: pa.Table
    """One row for each key."""
    codes: Ints
    """The key of each slice."""
    times: Ints
    """The edge where each slice begins; with sessions, the time of its first row."""
    partials: tuple[SlicePartials, ...]
    """For each pass."""
    last_times: Ints | None = None
    """The time of the last row of each slice, if sessions need it."""
    row_counts: Ints | None = None
    """How many rows each slice holds, if windows count rows."""
    origins: Ints | None = None
    """Where each slice was in an earlier block, if a caller asks which slices changed; -1 for new and merged ones."""

    def __len__(self) -> int:
        """Return the number of slices."""
        return len(self.codes)

    @cached_property
    def firsts(self) -> Ints:
        """The first slice of each key, and the number of slices."""
        return sums_before(np.bincount(self.codes, minlength=len(self.keys)))

    @property
    def sizes(self) -> Ints:
        """By key: how many slices it has."""
        return np.diff(self.firsts)

    @property
    def key_table(self) -> pa.Table:
        """One row for each key."""
        return self.keys

    def items(self, _: Iterable[Window], span: Span) -> Items:
        """Return the slices as windows see them."""
        assert self.layout.time is not None
        unit = self.layout.time.unit
        return Items(self.times, self.firsts, span, unit, last_times=self.last_times, row_counts=self.row_counts)

    def name(self, slice_number: int) -> str:
        """Return the name of a slice in error messages; its rows are not at hand."""
        assert self.layout.time is not None
        start = shown(self.layout.time.write(self.times[slice_number : slice_number + 1])[0])
        key = int(self.codes[slice_number])
        owner = f"of {name_row(self.keys, self.layout.by, key)} " if self.layout.by else ""
        return f"the slice {owner}from {self.layout.time.name}={start} on"

    # -- select and arrange ------------------------------------------------------------------------------------------

    def sections(self, count: int) -> list[SliceBlock]:
        """Return `count` or fewer blocks with about equally many slices, which together hold all keys in order."""
        sections = []
        for first, last in cut_evenly(self.firsts, count):
            section = self.select(slice(int(self.firsts[first]), int(self.firsts[last])))
            keys, codes = self.keys.slice(first, last - first), section.codes - first
            sections.append(replace(section, keys=keys, codes=codes))
        return sections

    def select(self, chosen: Flags | slice) -> SliceBlock:
        """Return the chosen slices; a key stays even if it has no slices left."""
        partials = tuple(partials.select(chosen) for partials in self.partials)
        return replace(self, partials=partials, **join_columns([self], lambda columns: columns[0][chosen]))

    def arrange(self, order: KeyOrder) -> SliceBlock:
        """Return the slices in another order."""
        if order.is_input_order:
            return self
        partials = tuple(partials.take(order) for partials in self.partials)
        return replace(self, partials=partials, **join_columns([self], lambda columns: order.arrange(columns[0])))

    def by_key(self, run: LoopCompiler) -> SliceBlock:
        """Sort slices that are in order of time by key and time."""
        # By row number: the slices of a key are neighbours within each chunk, so that scattering them one by one takes longer.
        return self.arrange(order_by_key(self.codes, len(self.keys), run))

    def without_empty_keys(self) -> SliceBlock:
        """Return the block without keys that have no slices."""
        has_slices = self.sizes > 0
        if has_slices.all():
            return self
        codes = (np.cumsum(has_slices) - 1)[self.codes]
        return replace(self, keys=self.keys.filter(as_arrow(has_slices)).combine_chunks(), codes=codes)


def concat_in_time(blocks: Sequence[SliceBlock]) -> SliceBlock:
    """Return the slices of blocks that number keys in the same way, one block after the other."""
    first, *others = blocks
    if not others:
        return first
    partials = tuple(map(concat_partials, zip(*(block.partials for block in blocks), strict=True)))
    return replace(first, partials=partials, **join_columns(blocks, np.concatenate))


def concat_by_key(blocks: Sequence[SliceBlock], run: LoopCompiler) -> SliceBlock:
    """Return the slices of blocks that number keys differently, sorted by key and time; ties are in order of blocks."""
    together = concat_in_time(_same_keys(blocks, run))
    order, _ = order_rows(together.codes, len(together.keys), together.times, run)
    return together.arrange(order)


def join_by_key(older: SliceBlock, newer: SliceBlock, run: LoopCompiler) -> SliceBlock:
    """Return by key the slices of one block, then those of a newer one; the keys of the newer one come first."""
    newer, older = _same_keys([newer, older], run)
    return concat_in_time([older, newer]).by_key(run)


def _same_keys(blocks: Sequence[SliceBlock], run: LoopCompiler) -> list[SliceBlock]:
    """Return blocks that number keys in the same way: in the order of blocks."""
    every = pa.concat_tables([block.keys for block in blocks])
    ids, count = number_keys(every, blocks[0].layout.by or (NO_KEYS,), run)
    ids = ids.astype(np.int64, copy=False)  # as the codes of all slices
    keys = every.take(as_arrow(first_rows(ids, count))).combine_chunks()
    offsets = np.cumsum([0, *(len(block.keys) for block in blocks)])
    return [
        replace(block, keys=keys, codes=ids[offset + block.codes])
        for offset, block in zip(offsets, blocks, strict=False)
    ]


def join_columns(blocks: Sequence[SliceBlock], join: Callable[[list[Ints]], Ints]) -> dict[str, Any]:
    """Return the columns that blocks have, each joined by a function."""
    names = ("codes", "times", "last_times", "row_counts", "origins")
    columns = {name: [column for block in blocks if (column := getattr(block, name)) is not None] for name in names}
    return {name: join(present) for name, present in columns.items() if present}


def cut(prepared: Prepared, block: RowBlock, borders: Borders | None = None) -> SliceBlock:
    """Return the slices of rows, cut at the borders of all windows, or at those given."""
    items = block.items((), whole_span(np.diff(block.firsts)))
    records, last_times = (borders or prepared.borders).cut(items)
    return _slices(prepared, block, records, last_times)


def cut_each_row(prepared: Prepared, block: RowBlock) -> SliceBlock:
    """Return each row as a slice of its own."""
    every = np.ones(len(block), np.bool_)
    records = SliceRecords(np.arange(1, len(block) + 1), every, block.times, block.firsts)
    return replace(_slices(prepared, block, records), row_counts=np.ones(len(block), np.int64))


def cut_whole(prepared: Prepared, block: RowBlock) -> SliceBlock:
    """Return all rows of one key as one slice, whose time is that of the first row."""
    records = SliceRecords(np.array([len(block)]), np.ones(1, np.bool_), block.times[:1], np.array([0, 1]))
    return replace(_slices(prepared, block, records), row_counts=np.array([len(block)]))


def merge(prepared: Prepared, block: SliceBlock, apart: Flags) -> SliceBlock:
    """Combine each slice with the one before it, unless they are `apart` or of different keys."""
    apart = apart.copy()
    apart[:1] = True
    apart[1:] |= block.codes[1:] != block.codes[:-1]
    starts = np.flatnonzero(apart)
    if len(starts) == len(block):
        return block
    partials = []
    for plan_pass, stored in zip(prepared.plan.passes, block.partials, strict=True):
        with naming_pass(plan_pass):
            partials.append(open_pass(prepared, plan_pass).merge(stored, starts))
    alone, last_times = np.diff(starts, append=len(block)) == 1, block.last_times
    return replace(
        block,
        codes=block.codes[starts],
        times=block.times[starts],
        partials=tuple(partials),
        last_times=None if last_times is None else last_times[np.append(starts[1:], len(block)) - 1],
        row_counts=None if block.row_counts is None else np.add.reduceat(block.row_counts, starts),
        origins=None if block.origins is None else np.where(alone, block.origins[starts], -1),
    )


def _slices(prepared: Prepared, block: RowBlock, records: SliceRecords, last_times: Ints | None = None) -> SliceBlock:
    keys = block.key_table
    if not block.layout.by:
        keys = pa.table({NO_KEYS: pa.nulls(block.keys, pa.int8())})
    partials = []
    for plan_pass in prepared.plan.passes:
        with naming_pass(plan_pass):
            partials.append(open_pass(prepared, plan_pass, block).cut(records))
    codes = np.repeat(np.arange(block.keys), np.diff(records.firsts))
    return SliceBlock(block.layout, keys, codes, records.times, tuple(partials), last_times)
