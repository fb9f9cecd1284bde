"""A table as a whole: in order of key and time, or, if it came in order of time, slice by slice.

Laying ten million rows out by key takes longer than all that is computed with them, since every row is fetched from far away.
Rows that are in order of time already are cut into chunks at edges of slices first, and laid out by key within each
chunk, which fits a near cache. Only slices are then brought into the order of keys.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from sash.engine.joined import Heads, join_windows
from sash.engine.keys import Order, deal_in_chunks, deal_rows, is_sorted
from sash.engine.local import Local
from sash.engine.passes import PassOver, Slices
from sash.engine.row_block import Block, Given, read_given
from sash.engine.schedule import Counts
from sash.engine.slice_block import SliceBlock, arrange_slices
from sash.slices.cuts import Records, cut_by_edges
from sash.slices.edges import Edges
from sash.windows.base import FOREVER, NEVER, Ints

CHUNK = 1 << 16
"""Rows of a chunk, at least: times, values and numbers of so many fit a near cache."""


def run_whole(local: Local, table: pa.Table) -> pa.Table:
    """Return the results for rows that are all there is."""
    given = read_given(table, local.layout, local.run_loop)
    edges = local.edges
    if edges is not None and comes_in_time(local, given):
        return run_chunks(local, given, edges)
    return local.run_block(given.in_order(local.run_loop))


def comes_in_time(local: Local, given: Given) -> bool:
    """Tell whether rows came in order of time, with keys in turns, and only slices are asked for."""
    if given.layout.order_by or len(given.codes) < 2 * max(CHUNK, given.keys) or not given.layout.by:
        return False
    run = local.run_loop
    if not run(is_sorted)(given.times) or run(is_sorted)(given.codes):
        return False
    local.settle()
    return all(one.over_slices and not one.interpreted for one in local.plan.passes)


@dataclass(frozen=True)
class Part:
    """The slices of some chunks, by chunk and key."""

    owners: Ints
    """The key of each slice."""
    records: Records
    slices: list[Slices]


def run_chunks(local: Local, given: Given, edges: Edges) -> pa.Table:
    """Return the results for rows in order of time."""
    local.rows_of(Block(given.source, given.layout, Order(None, np.array([0, len(given.codes)])), given.times))
    cuts = cut_at_edges(given, edges)
    parts = local.parts_for(len(given.codes))
    local.prepare(given.source, parts)
    shares = [share for share in np.array_split(np.arange(len(cuts) - 1), min(parts, local.threads)) if len(share)]
    made = local.in_threads(lambda share: cut_chunks(local, given, edges, cuts[share[0] : share[-1] + 2]), shares)
    block = by_key(local, given, made)
    empty = Block(given.source, given.layout, Order(None, np.zeros(1, np.int64)), np.empty(0, np.int64))
    passes = [PassOver(one, empty) for one in local.plan.passes]
    shown = block.parts(max(local.threads, local.parts_for(len(block.records))))
    answered = local.in_threads(lambda part: part.answer(local, passes, NEVER, FOREVER)[0], shown)
    return join_windows(answered, local.declared)


def cut_at_edges(given: Given, edges: Edges) -> Ints:
    """Return where chunks begin and end: about each so many rows, at the last edge before that closes slices."""
    rows = len(given.codes)
    targets = given.times[np.arange(0, rows, max(CHUNK, 2 * given.keys))]
    places = np.searchsorted(given.times, edges.before(targets))
    return np.unique(np.concatenate([np.zeros(1, np.int64), places, np.array([rows])])).astype(np.int64)


def cut_chunks(local: Local, given: Given, edges: Edges, cuts: Ints) -> Part:
    """Return the slices of some chunks."""
    begin, end = int(cuts[0]), int(cuts[-1])
    rows = np.empty(end - begin, np.int64)
    owners, firsts = np.empty(end - begin, np.int64), np.empty(end - begin + 1, np.int64)
    counts = np.zeros(given.keys, np.int64)
    groups = local.run_loop(deal_in_chunks)(given.codes[begin:end], cuts - begin, counts, rows, owners, firsts)
    rows += begin
    order = Order(rows, firsts[: groups + 1].copy())
    block = Block(given.source, given.layout, order, order.arrange(given.times))
    records = cut_by_edges(block.rows(()), edges, local.run_loop)
    slices = [PassOver(one, block).cut(records) for one in local.plan.passes]
    return Part(np.repeat(owners[:groups], np.diff(records.firsts)), records, slices)


def by_key(local: Local, given: Given, parts: list[Part]) -> SliceBlock:
    """Return slices by key; those of a key are in order of time."""
    owners = np.concatenate([part.owners for part in parts])
    places, firsts = np.empty(len(owners), np.int64), np.zeros(given.keys + 1, np.int64)
    local.run_loop(deal_rows)(owners, np.empty(0, np.int64), places, firsts)
    order = Order(places, firsts)
    times = order.arrange(np.concatenate([part.records.times for part in parts]))
    closes = order.arrange(np.concatenate([part.records.closes for part in parts]))
    records = Records(np.empty(len(times), np.int64), closes, times, firsts)
    slices = [
        arrange_slices(join_slices([part.slices[number] for part in parts]), order)
        for number in range(len(local.plan.passes))
    ]
    return SliceBlock(Heads(first_rows(local, given), firsts), records, slices)


def join_slices(parts: list[Slices]) -> Slices:
    """Return slices one behind the other."""
    first, *others = parts
    if not others:
        return first
    fields = [np.concatenate([part.fields[number] for part in parts]) for number in range(len(first.fields))]
    counts = [np.concatenate([getattr(part.counts, name) for part in parts]) for name in ("values", "closes")]
    return Slices(fields, first.shape, Counts(counts[0], counts[1]))


def first_rows(local: Local, given: Given) -> pa.Table:
    """Return the keys, a row for each, in the order of their numbers."""
    heads = np.empty(given.keys, np.int64)
    local.run_loop(find_heads)(given.codes, heads)
    return given.source.table.select(list(given.layout.by)).take(pa.array(heads))


def find_heads(codes: Ints, heads: Ints) -> None:
    """Write the first row of each key; keys are numbered in the order of these."""
    found = 0
    for row in range(len(codes)):
        if codes[row] == found:
            heads[found] = row
            found += 1
        if found == len(heads):
            break
