"""cut(prepared, rows): rows → closed slices, for callers that store or send slices."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa

from sash.engine.executors import naming_pass, open_pass
from sash.engine.prepare import Prepared
from sash.engine.row_block import RowBlock
from sash.engine.slice_block import NO_KEYS, SliceBlock
from sash.slices.cuts import Borders, SliceRecords
from sash.windows.base import Flags, Ints, whole_span


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
    last_times = block.last_times
    return replace(
        block,
        codes=block.codes[starts],
        times=block.times[starts],
        partials=tuple(partials),
        last_times=None if last_times is None else last_times[np.append(starts[1:], len(block)) - 1],
        row_counts=None if block.row_counts is None else np.add.reduceat(block.row_counts, starts),
        origins=None if block.origins is None else _unmerged(block.origins, starts),
    )


def _unmerged(origins: Ints, starts: Ints) -> Ints:
    """Return the origin of each slice that was not merged, and -1 for others."""
    alone = np.diff(starts, append=len(origins)) == 1
    return np.where(alone, origins[starts], -1)


def _slices(prepared: Prepared, block: RowBlock, records: SliceRecords, last_times: Ints | None = None) -> SliceBlock:
    keys = block.key_index.keys
    if not block.layout.by:
        keys = pa.table({NO_KEYS: pa.nulls(block.keys, pa.int8())})
    partials = []
    for plan_pass in prepared.plan.passes:
        with naming_pass(plan_pass):
            partials.append(open_pass(prepared, plan_pass, block).cut(records))
    codes = np.repeat(np.arange(block.keys), np.diff(records.firsts))
    return SliceBlock(block.layout, keys, codes, records.times, tuple(partials), last_times)
