"""What is kept of a stream as rows: those that later windows reach back to, and those that wait for the watermark."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from sash.engine.found import Found
from sash.engine.joined import heads_of, join_windows
from sash.engine.local import Local
from sash.engine.passes import Results
from sash.engine.row_block import Block, make_block
from sash.slices.cuts import Records
from sash.state.watermark import Piece
from sash.windows.base import FOREVER, NEVER, Ints, Memory, Rows


@dataclass
class KeptRows:
    """Rows by key and time, and what each window remembers of each key."""

    local: Local
    update: bool = False
    """Whether windows are given when they end, and again when a row changes them, rather than once when they are final."""

    def __post_init__(self) -> None:
        """Begin with nothing."""
        self.rows: pa.Table = self.local.schema.empty_table()
        self.gone = 0
        """How many rows are not kept any more."""
        self.sizes: Ints = np.zeros(0, np.int64)
        """By key: how many rows are kept."""
        self.done: Ints = np.zeros(0, np.int64)
        """By key: how many of them were dealt with."""
        self.memory: dict[str, Memory] = {
            name: window.new_memory(0) for name, window in self.local.plan.windows.items()
        }

    def __len__(self) -> int:
        """Return how many rows are kept."""
        return len(self.rows)

    def due(self, now: int) -> int:
        """Return the earliest watermark after this one at which anything happens, if no more rows come."""
        assert self.local.time is not None
        times = self.local.time.read(self.rows[self.local.time.name])
        return first_due(self.local, times, self.sizes, self.done, now)

    def take(self, piece: Piece) -> pa.Table:
        """Take a piece, and return the results that are complete with it."""
        local = self.local
        table = pa.concat_tables([self.rows, piece.table.cast(self.rows.schema)])
        block = make_block(table, local.layout, local.run_loop, self.gone)
        rows = self._rows(block, piece)
        self._remember(block.keys)
        if self.update:
            results = self._results(block, replace(rows, now=np.full(block.keys, piece.seen, np.int64)), piece)
            keep = self._keep(rows, *local.find(rows, self.memory))
        else:
            records, found = local.find(rows, self.memory)
            results = self._answer(block, rows, records, found)
            keep = self._keep(rows, records, found)
        if piece.by_keys:
            keep[:-1] = rows.firsts[1:-1]  # nothing more comes of these keys
        self._let_go(block, rows, keep)
        return results

    def _rows(self, block: Block, piece: Piece) -> Rows:
        """Return what windows see: what was done before, and what is final now."""
        after, now = piece.by_key(block)
        done = np.zeros(block.keys, np.int64)
        done[: len(self.done)] = self.done
        final = np.diff(block.firsts)
        if len(block.times):
            older = np.zeros(len(block) + 1, np.int64)
            np.cumsum(block.times < np.repeat(now, final), out=older[1:])
            forever = now == FOREVER
            final = np.where(forever, final, older[block.firsts[1:]] - older[block.firsts[:-1]])
        return self.local.rows_of(block, done=done, final=final, after=after, now=now)

    def _remember(self, keys: int) -> None:
        """Make room for the keys that are new."""
        for name, window in self.local.plan.windows.items():
            known = self.memory[name]
            new = self.local.new_memory(window, keys - len(self.done))
            self.memory[name] = {part: np.concatenate([known[part], new[part]]) for part in known}

    def _answer(self, block: Block, rows: Rows, records: Records | None, found: dict[str, Found]) -> pa.Table:
        answers = self.local.answer(block, records, found)
        if not self.local.plan.per_row:
            return self._of_windows(block, records, found, answers)
        fresh = pieces_of(rows.firsts[:-1] + rows.done, rows.firsts[:-1] + rows.final)
        places = np.argsort(rows.times[fresh], kind="stable") if len(rows.times) else given_order(block, fresh)
        table = block.table.take(pa.array(block.given(fresh[places])))
        for name, column in self.local.of_rows(answers).items():
            table = table.append_column(name, column.take(pa.array(places)))
        return table

    def _of_windows(
        self, block: Block, records: Records | None, found: dict[str, Found], answers: dict[str, Results]
    ) -> pa.Table:
        parts = self.local.of_windows(heads_of(block), block.times, found, answers, records)
        return in_order_of_time(join_windows([parts], self.local.declared))

    def _results(self, block: Block, rows: Rows, piece: Piece) -> pa.Table:
        """Return the windows that ended since the last piece, and those before that a row of this one is in."""
        records, found = self.local.find(rows, self.memory)
        is_new = np.zeros(len(block) + 1, np.int64)
        np.cumsum(block.given(np.arange(len(block))) >= len(self.rows), out=is_new[1:])
        for one in found.values():
            begins, ends = one.bounds.begins, one.bounds.ends
            if one.rows is None and records is not None:
                positions = np.concatenate([np.zeros(1, np.int64), records.positions])
                begins, ends = positions[begins], positions[ends]
            changed = is_new[ends] > is_new[begins]
            stops = one.bounds.stops
            assert stops is not None
            not_yet = stops >= piece.seen_before if one.window.grows_at_end else stops > piece.seen_before
            one.select(changed | not_yet)
        answers = self.local.answer(block, records, found)
        return self._of_windows(block, records, found, answers)

    def _keep(self, rows: Rows, records: Records | None, found: dict[str, Found]) -> Ints:
        """Return the first row of each key that is still needed; one stays where windows remember something."""
        keep = rows.firsts[:-1] + rows.final
        for one in found.values():
            if one.rows is not None:
                keep = np.minimum(keep, one.rows.keep)
            elif one.records is not None and records is not None:
                begins = np.concatenate([np.zeros(1, np.int64), records.positions])
                keep = np.minimum(keep, np.maximum(begins[one.records.keep], rows.firsts[:-1]))
        for name, window in self.local.plan.windows.items():
            if window.memory:
                newest = np.maximum(rows.firsts[:-1], rows.firsts[1:] - 1)
                keep = np.where(window.remembers(self.memory[name]), np.minimum(keep, newest), keep)
        return keep

    def _let_go(self, block: Block, rows: Rows, keep: Ints) -> None:
        """Forget the rows, and the keys, that nothing needs any more."""
        stays = keep < rows.firsts[1:]
        places = pieces_of(keep, rows.firsts[1:])
        self.rows = block.table.take(pa.array(block.given(places))).combine_chunks()
        self.gone += len(block) - len(self.rows)
        self.sizes = (rows.firsts[1:] - keep)[stays]
        self.done = np.maximum(rows.firsts[:-1] + rows.final - keep, 0)[stays]
        self.memory = {
            name: {part: values[stays] for part, values in memory.items()} for name, memory in self.memory.items()
        }


def first_due(local: Local, times: Ints, sizes: Ints, done: Ints, now: int, lasts: Ints | None = None) -> int:
    """Return the earliest watermark after this one at which rows or slices, so many by key, give anything or can go."""
    if not len(sizes):
        return FOREVER
    assert local.time is not None
    firsts = np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)])
    span = (np.full(len(sizes), NEVER, np.int64), np.full(len(sizes), now, np.int64))
    rows = Rows(times, firsts, {}, done, done, *span, local.time.tick, local.time.name, lasts)
    return min(window.due(rows) for window in local.plan.windows.values())


def pieces_of(begins: Ints, ends: Ints) -> Ints:
    """Return the numbers begins[i] … ends[i] - 1 for each i, one behind the other.

    >>> pieces_of(np.array([2, 9]), np.array([4, 10])).tolist()
    [2, 3, 9]
    """
    lengths = ends - begins
    before = np.cumsum(lengths) - lengths
    made: Ints = np.repeat(begins - before, lengths) + np.arange(int(lengths.sum()))
    return made


def given_order(block: Block, places: Ints) -> Ints:
    """Return the places of rows in the order that they were given in."""
    order: Ints = np.argsort(block.given(places), kind="stable")
    return order


def in_order_of_time(table: pa.Table) -> pa.Table:
    """Return results for windows in the order of their ends."""
    if "window_end" not in table.column_names or not len(table):
        return table
    ends = table["window_end"].combine_chunks()
    ticks = ends.cast(pa.int64()) if ends.type.bit_width == 64 else ends.cast(pa.int32())  # noqa: PLR2004
    return table.take(pa.array(np.argsort(ticks.to_numpy(zero_copy_only=False), kind="stable")))
