"""Sorts more rows than fit memory by key and time: in runs on disk, which are merged.

Without a time, the first column of `order_by` takes its place.

    rows ──► run 1  ▁▃▅▇          each run is read batch by batch. Of the newest rows read of each run take the smallest:
             run 2  ▂▄▆█   ──►    all rows before it can be emitted, since no row on disk comes before it
             run 3  ▁▂▅▆

Rows that are equal keep their order: runs are in the order of the input, and rows of one key and time are never in two pieces. Keys come
in the order of their first rows. Rows that fit into one run are not written to disk.
"""

from __future__ import annotations

import math
import os
import shutil
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory, gettempdir
from typing import Any

import numpy as np
import pyarrow as pa

from sash.columns.column_types import column_type
from sash.columns.read_column import readable, to_arrow
from sash.engine.group_ids import first_rows, number_keys
from sash.engine.keys import order_rows
from sash.engine.time_column import time_column
from sash.kernels.plain import compile_loop
from sash.plan.query_spec import QuerySpec
from sash.windows.base import Ints

KEY, PLACE = "sash key", "sash place"
"""Columns of runs: the group id of a row's key, and its time in ticks, or the column that orders rows instead."""
BYTES_OF_BATCH = 1 << 16
"""A run is written in batches of about this size."""
COPIES = 4
"""How many times a run is in memory while it is sorted: the input, the output, and the order."""
LOADED, PIECES = 8, 16
"""Rows read from runs take an eighth of the memory, and pieces of sorted rows a sixteenth or more: each is in memory several times."""
MOST_RUNS = 128
"""How many runs are open at once. If there are more, some are merged to longer ones first."""

Bound = tuple[int, tuple[int, Any]]
"""The group id of a key, and the rank of a place."""


@dataclass(frozen=True)
class SortFolder:
    """Where rows are sorted, and the words of the error if the disk fails."""

    path: str
    problem: str = "A partition has more rows than fit memory"
    advice: str = (
        "Set spark.local.dir to a larger disk; or use more and smaller partitions, run(df, buckets=…) or ranges=…."
    )

    @contextmanager
    def explained(self) -> Iterator[None]:
        """Add the reason and the remedy to an error of the disk."""
        try:
            yield
        except OSError as error:
            free = f"{max(0, free_bytes(self.path)) >> 20:,} MB free"
            message = f"{self.problem}, and sorting them on disk failed in {self.path} ({free}): {error}. {self.advice}"
            raise OSError(error.errno, message) from error


@contextmanager
def sort_on_disk(
    batches: Iterator[pa.RecordBatch], declared: QuerySpec, most_bytes: int, folder: SortFolder | None = None
) -> Iterator[Iterator[pa.Table]]:
    """Yield the rows as tables, in order of key and time, with about `most_bytes` in memory. Raise OSError if the disk is full.

    The folder is by default one of Spark's. What is in it is removed at the end.
    """
    place = folder or SortFolder(folder_of_spark())
    with place.explained():
        temporary = TemporaryDirectory(prefix="sash-sort-", dir=place.path, ignore_cleanup_errors=True)
    with temporary:
        sorter = Sorter(declared, Path(temporary.name))
        for table in map(combined, gather(batches, most_bytes // COPIES)):
            with place.explained():
                sorter.add(table)
        with place.explained():
            pieces = sorter.finish(most_bytes)
        yield (piece.drop_columns([KEY, PLACE]) for piece in pieces)


def folder_of_spark() -> str:
    """Return Spark's local folder with the most free space; the system's temporary folder if Spark has none."""
    folders = [name for name in os.environ.get("SPARK_LOCAL_DIRS", "").split(",") if name and Path(name).is_dir()]
    return max(folders, key=free_bytes, default="") or gettempdir()


def free_bytes(folder: str) -> int:
    """Return the free space of a disk; -1 if it has failed."""
    try:
        return shutil.disk_usage(folder).free
    except OSError:
        return -1


def bytes_of(batch: pa.RecordBatch) -> int:
    """Return about how many bytes a batch has.

    `nbytes` reads the offsets of lists. Spark 4.1 leaves them out for lists inside of others that hold nothing at all, and Python crashes.
    """
    nested = any(column_type(dtype).is_nested for dtype in batch.schema.types)
    size: int = batch.get_total_buffer_size() if nested else batch.nbytes
    return size


def gather(batches: Iterator[pa.RecordBatch], most_bytes: int) -> Iterator[pa.Table]:
    """Yield batches as tables of about `most_bytes`, and release each table."""
    waiting: list[pa.RecordBatch] = []
    size = 0
    for batch in batches:
        waiting.append(batch)
        size += bytes_of(batch)
        if size >= most_bytes:
            size = 0
            yield pa.Table.from_batches(drain(waiting))
    if waiting:
        yield pa.Table.from_batches(drain(waiting))


def combined(table: pa.Table) -> pa.Table:
    """Return a table that the engine reads, each column in one chunk."""
    return readable(table).combine_chunks()


def drain(waiting: list[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield batches, and release each."""
    waiting.reverse()
    while waiting:
        yield waiting.pop()


class Sorter:
    """Writes sorted runs that share their group ids."""

    def __init__(self, declared: QuerySpec, folder: Path) -> None:
        self.declared = declared
        self.folder = folder
        self.runs: list[Path] = []
        self.written = 0
        """The number of runs so far, merged ones too."""
        self.known: pa.Table | None = None
        """The keys, one row for each, in the order of their group ids."""
        self.newest: pa.Table | None = None
        """The newest run, which is not written yet: it may be the only one."""

    def add(self, table: pa.Table) -> None:
        """Sort a run."""
        if not len(table):
            return
        self._write_newest()
        codes = pa.array(self._number(table))
        table = table.append_column(KEY, codes).append_column(PLACE, places_of(table, self.declared))
        self.newest = in_order(table, self.declared)

    def finish(self, most_bytes: int) -> Iterator[pa.Table]:
        """Return the sorted rows: the only run, or what was merged from those on disk."""
        if not self.runs:
            return iter([] if self.newest is None else [self.newest])
        self._write_newest()
        while len(self.runs) > MOST_RUNS:  # neighbours, so that rows that are equal keep their order
            groups = [self.runs[first : first + MOST_RUNS] for first in range(0, len(self.runs), MOST_RUNS)]
            self.runs = [self._merge(paths, most_bytes) for paths in groups]
        return merge_runs(self.runs, self.declared, most_bytes)

    def _merge(self, paths: Sequence[Path], most_bytes: int) -> Path:
        """Write one run in place of several."""
        merged = self._write(merge_runs(paths, self.declared, most_bytes))
        for path in paths:
            path.unlink()
        return merged

    def _write_newest(self) -> None:
        if self.newest is not None:
            self.runs.append(self._write(iter([self.newest])))
            self.newest = None

    def _write(self, pieces: Iterator[pa.Table]) -> Path:
        """Write a run in batches of about BYTES_OF_BATCH."""
        path = self.folder / f"{self.written}.arrow"
        self.written += 1
        first = next(pieces)
        rows = max(1, BYTES_OF_BATCH * len(first) // max(1, first.nbytes))
        with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, first.schema) as writer:
            for piece in chain([first], pieces):
                writer.write_table(piece, max_chunksize=rows)
        return path

    def _number(self, table: pa.Table) -> Ints:
        """Return the group ids of rows' keys, the same in every run: known keys come before the rows."""
        if not self.declared.by:
            return np.zeros(len(table), np.int64)
        own_keys = table.select(list(self.declared.by))
        before = 0 if self.known is None else len(self.known)
        every = own_keys if self.known is None else pa.concat_tables([self.known, own_keys])
        codes, keys = number_keys(every, self.declared.by, compile_loop)
        self.known = every.take(pa.array(first_rows(codes, keys))).combine_chunks()
        return codes[before:]


def places_of(table: pa.Table, declared: QuerySpec) -> pa.Array:
    """Return the times of rows in ticks; without a time, the first column of `order_by`, times as ticks too."""
    if declared.time is not None:
        return pa.array(time_column(declared.time, table.schema.field(declared.time).type).read(table[declared.time]))
    column = to_arrow(table[declared.order_by[0]])
    row = column_type(column.type)
    return column.view(row.numbers) if row.is_time else column  # an hour occurs twice when clocks are set back


def rank(place: Any) -> tuple[int, Any]:
    """Return a key for comparisons in Arrow's order: nulls last, and NaN before them.

    >>> sorted([None, math.nan, 1.0, -math.inf], key=rank)
    [-inf, 1.0, nan, None]
    """
    if place is None:
        return 2, 0
    return (1, 0) if isinstance(place, float) and math.isnan(place) else (0, place)


class SortedRun:
    """A sorted run on disk, read batch by batch."""

    def __init__(self, path: Path, share: int) -> None:
        self.share = share
        """The bytes to have in memory, in whole batches."""
        self.file = pa.ipc.open_file(pa.OSFile(str(path)))  # a memory map would count as memory of this process
        self.next = 0
        self.rows: pa.Table = self.file.schema.empty_table()
        """Read, but not emitted yet."""

    @property
    def ended(self) -> bool:
        """Whether all batches were read."""
        return bool(self.next == self.file.num_record_batches)

    def fill(self) -> None:
        """Read batches until it has its share, or any rows."""
        size = self.rows.nbytes
        pieces = [self.rows] if len(self.rows) else []
        while not self.ended and (size < self.share or not pieces):
            batch = self._next_batch()
            size += batch.nbytes
            pieces.append(batch)
        self.rows = pa.concat_tables(pieces) if pieces else self.rows

    def read_further(self) -> None:
        """Read one more batch."""
        self.rows = pa.concat_tables([self.rows, self._next_batch()])

    def _next_batch(self) -> pa.Table:
        batch = self.file.get_batch(self.next)
        self.next += 1
        return pa.Table.from_batches([batch])

    @property
    def newest(self) -> Bound:
        """The key and the place of the newest row that was read."""
        return self.rows[KEY][-1].as_py(), rank(self.rows[PLACE][-1].as_py())

    def emit(self, before: Bound | None) -> pa.Table:
        """Return the rows before a key and a place, or all."""
        count = len(self.rows)
        if before is not None:
            key, place = before
            begin, end = np.searchsorted(self.rows[KEY].to_numpy(), [key, key + 1]).tolist()
            places = self.rows[PLACE]
            count = bisect_left(range(end), place, begin, key=lambda row: rank(places[row].as_py()))
        emitted, self.rows = self.rows.slice(0, count), self.rows.slice(count)
        return emitted


def merge_runs(paths: Sequence[Path], declared: QuerySpec, most_bytes: int) -> Iterator[pa.Table]:
    """Yield the rows of all runs in order, with KEY and PLACE, in pieces that are not much smaller than they may be."""
    share = most_bytes // LOADED // len(paths)
    waiting: list[pa.Table] = []
    size = 0
    for tables in _emitted([SortedRun(path, share) for path in paths]):
        waiting += tables
        size += sum(table.nbytes for table in tables)
        if size >= most_bytes // PIECES:
            yield _in_one_piece(waiting, declared)
            waiting, size = [], 0
    if waiting:
        yield _in_one_piece(waiting, declared)


def _in_one_piece(tables: list[pa.Table], declared: QuerySpec) -> pa.Table:
    return in_order(pa.concat_tables(tables).combine_chunks(), declared)


def _emitted(runs: Sequence[SortedRun]) -> Iterator[list[pa.Table]]:
    """Yield rows that come after all before them: for each run those that no row on disk comes before."""
    while True:
        for run in runs:  # all of them, so that few steps are needed: each step looks at every run
            run.fill()
        open_runs = [run for run in runs if not run.ended]
        before = min((run.newest for run in open_runs), default=None)
        emitted = [table for run in runs if len(table := run.emit(before))]
        if emitted:
            yield emitted
        elif before is None:
            return
        else:  # all rows read of a run have one key and place; more may follow
            for run in open_runs:
                if run.newest == before:
                    run.read_further()


def in_order(table: pa.Table, declared: QuerySpec) -> pa.Table:
    """Sort rows by key and time."""
    different, numbers = np.unique(table[KEY].to_numpy(), return_inverse=True)
    ticks = np.empty(0, np.int64) if declared.time is None else table[PLACE].to_numpy()
    ties = table.select(list(declared.order_by)) if declared.order_by else None
    order, _ = order_rows(numbers, len(different), ticks, compile_loop, ties)
    return table if order.is_input_order else table.take(pa.array(order.rows))
