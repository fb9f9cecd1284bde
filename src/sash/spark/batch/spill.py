"""More rows than memory has room for, in order of key and time: sorted in runs, which lie on disk, and merged.

Without a time, the first column of `order_by` takes its place.

    rows ──► run 1  ▁▃▅▇          each run is read batch by batch; what is less than the smallest of the newest rows read
             run 2  ▂▄▆█   ──►    of each run can be given: nothing that is still on disk comes before it
             run 3  ▁▂▅▆
"""

from __future__ import annotations

import math
import os
from bisect import bisect_left
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow as pa

from sash.aggregator.columns import to_arrow
from sash.engine.column_types import readable
from sash.engine.keys import number_keys, order_rows
from sash.engine.time_column import read_time_type
from sash.kernels.plain import compile_loop
from sash.plan.declared import Declared
from sash.windows.base import Ints

KEY, PLACE = "sash key", "sash place"
"""Columns of runs: the number of a row's key, and its time in ticks, or what orders the rows in place of a time."""
BYTES_OF_BATCH = 1 << 18
"""A run is written in batches of about so many, and read by one or more of them."""
COPIES = 4
"""A run is in memory so many times while it is sorted: as it came, as it is written, and what tells its order."""
HALF = 32
"""Bits of dates and of coarse times of day."""

Bound = tuple[int, tuple[int, Any]]
"""A key's number and the rank of a place."""


@contextmanager
def sort_on_disk(
    batches: Iterator[pa.RecordBatch], declared: Declared, most_bytes: int
) -> Iterator[Iterator[pa.Table]]:
    """Give the rows in pieces, in order of key and time, with no more than about `most_bytes` in memory."""
    with TemporaryDirectory(prefix="sash-sort-", dir=folder_to_sort_in()) as folder:
        sorter = Sorter(declared, Path(folder))
        for table in gather(batches, most_bytes // COPIES):
            sorter.add(table)
        share = most_bytes // COPIES // max(1, len(sorter.runs))
        yield merge([Run(path, share) for path in sorter.runs], declared)


def folder_to_sort_in() -> str | None:
    """Return a folder of Spark's for what doesn't fit memory, where one was set; else the system's."""
    first = os.environ.get("SPARK_LOCAL_DIRS", "").split(",")[0]
    return first if first and Path(first).is_dir() else None


def gather(batches: Iterator[pa.RecordBatch], most_bytes: int) -> Iterator[pa.Table]:
    """Yield batches as tables of about so many bytes, of which nothing is kept here."""
    waiting: list[pa.RecordBatch] = []
    size = 0
    for batch in batches:
        waiting.append(batch)
        size += batch.nbytes
        if size >= most_bytes:
            size = 0
            yield join(waiting)
    if waiting:
        yield join(waiting)


def join(waiting: list[pa.RecordBatch]) -> pa.Table:
    """Return batches as one piece, and forget them."""
    table = readable(pa.Table.from_batches(waiting)).combine_chunks()
    waiting.clear()
    return table


def drain(waiting: list[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield batches, and forget each."""
    waiting.reverse()
    while waiting:
        yield waiting.pop()


class Sorter:
    """Writes sorted runs, in which keys have the same numbers."""

    def __init__(self, declared: Declared, folder: Path) -> None:
        self.declared = declared
        self.folder = folder
        self.runs: list[Path] = []
        self.known: pa.Table | None = None
        """The keys, a row for each, in the order of their numbers."""

    def add(self, table: pa.Table) -> None:
        """Write a run."""
        codes, keys = self._number(table)
        places = places_of(table, self.declared)
        order, _ = order_rows(codes, keys, ticks_of(places, self.declared), compile_loop, ties_of(table, self.declared))
        table = table.append_column(KEY, pa.array(codes)).append_column(PLACE, places)
        if order.rows is not None:
            table = table.take(pa.array(order.rows))
        path = self.folder / f"{len(self.runs)}.arrow"
        with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
            writer.write_table(table, max_chunksize=max(1, BYTES_OF_BATCH * len(table) // max(1, table.nbytes)))
        self.runs.append(path)

    def _number(self, table: pa.Table) -> tuple[Ints, int]:
        """Return the numbers of rows' keys, the same for a key in every run: known ones go before the rows."""
        if not self.declared.by:
            return np.zeros(len(table), np.int64), 1
        own = table.select(list(self.declared.by))
        before = 0 if self.known is None else len(self.known)
        every = own if self.known is None else pa.concat_tables([self.known, own])
        codes, keys = number_keys(every, self.declared.by, compile_loop)
        first = np.full(keys, len(every), np.int64)
        np.minimum.at(first, codes, np.arange(len(every)))
        self.known = every.take(pa.array(first)).combine_chunks()
        return codes[before:], keys


def places_of(table: pa.Table, declared: Declared) -> pa.Array:
    """Return the times of rows in ticks; without a time, the first column that orders them, of moments the ticks too."""
    if declared.time is not None:
        return pa.array(
            read_time_type(declared.time, table.schema.field(declared.time).type).read(table[declared.time])
        )
    column = to_arrow(table[declared.order_by[0]])
    if not pa.types.is_temporal(column.type):
        return column
    return column.view(pa.int32() if column.type.bit_width == HALF else pa.int64())  # a clock put back has hours twice


def ticks_of(places: pa.ChunkedArray | pa.Array, declared: Declared) -> Ints:
    """Return the times of rows; none, if they have no time."""
    ticks: Ints = np.empty(0, np.int64) if declared.time is None else places.to_numpy()
    return ticks


def ties_of(table: pa.Table, declared: Declared) -> pa.Table | None:
    """Return the columns that order rows of the same time."""
    return table.select(list(declared.order_by)) if declared.order_by else None


def rank(place: Any) -> tuple[int, Any]:
    """Return what is compared as Arrow sorts: nulls last, and NaN before them.

    >>> sorted([None, math.nan, 1.0, -math.inf], key=rank)
    [-inf, 1.0, nan, None]
    """
    if place is None:
        return 2, 0
    return (1, 0) if isinstance(place, float) and math.isnan(place) else (0, place)


class Run:
    """A sorted run on disk, read batch by batch."""

    def __init__(self, path: Path, share: int) -> None:
        self.share = share
        """Bytes that are read together, in whole batches."""
        self.file = pa.ipc.open_file(pa.OSFile(str(path)))  # mapped, it would count as memory of ours
        self.next = 0
        self.rows: pa.Table = self.file.schema.empty_table()
        """What was read and not given yet."""

    @property
    def ended(self) -> bool:
        """Whether all is read."""
        return bool(self.next == self.file.num_record_batches)

    def read(self) -> None:
        """Read on, by at least one batch."""
        size, pieces = 0, [self.rows] if len(self.rows) else []
        while not self.ended and size <= self.share:
            batch = self.file.get_batch(self.next)
            self.next += 1
            size += batch.nbytes
            pieces.append(pa.Table.from_batches([batch]))
        self.rows = pa.concat_tables(pieces)

    @property
    def newest(self) -> Bound:
        """The key and the place of the newest row that was read."""
        return self.rows[KEY][-1].as_py(), rank(self.rows[PLACE][-1].as_py())

    def give(self, before: Bound | None) -> pa.Table:
        """Return the rows before a key and a place, or all."""
        count = len(self.rows)
        if before is not None:
            key, place = before
            begin, end = np.searchsorted(self.rows[KEY].to_numpy(), [key, key + 1]).tolist()
            places = self.rows[PLACE]
            count = bisect_left(range(end), place, begin, key=lambda row: rank(places[row].as_py()))
        given, self.rows = self.rows.slice(0, count), self.rows.slice(count)
        return given


def merge(runs: list[Run], declared: Declared) -> Iterator[pa.Table]:
    """Yield the rows of all runs in order."""
    while True:
        for run in runs:
            while not len(run.rows) and not run.ended:
                run.read()
        open_runs = [run for run in runs if not run.ended]
        before = min((run.newest for run in open_runs), default=None)
        given = [table for run in runs if len(table := run.give(before))]
        if given:
            yield in_order(pa.concat_tables(given), declared)
        elif before is None:
            return
        else:  # all that was read of a run is of one key and place, which may go on
            for run in open_runs:
                if run.newest == before:
                    run.read()


def in_order(table: pa.Table, declared: Declared) -> pa.Table:
    """Return sorted rows of several runs as one piece."""
    table = table.combine_chunks()
    rows = table.drop_columns([KEY, PLACE])
    different, numbers = np.unique(table[KEY].to_numpy(), return_inverse=True)
    ticks = ticks_of(table[PLACE], declared)
    order, _ = order_rows(numbers, len(different), ticks, compile_loop, ties_of(rows, declared))
    return rows if order.rows is None else rows.take(pa.array(order.rows))
