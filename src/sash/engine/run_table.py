"""A table as a whole: rows sorted by key and time, or, if the table is in order of time, slices cut chunk by chunk.

Sorting ten million rows by key takes longer than all computation on them, because most rows are not in the processor cache. If the
table is in order of time, Sash cuts it into chunks at edges of slices and sorts the rows of each chunk by key, within the cache.
Only the slices of all chunks are then sorted by key.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
import pyarrow as pa

from sash.columns.buffers import as_arrow
from sash.columns.lists import ListColumn
from sash.columns.read_column import to_arrow
from sash.engine.assemble import join_rows, join_windows, row_columns, window_tables
from sash.engine.evaluate import Block, check_compiles, evaluate
from sash.engine.executors import Results
from sash.engine.executors.execute import execute
from sash.engine.executors.kernel_executor import codings
from sash.engine.group_ids import first_rows
from sash.engine.keys import KeyOrder
from sash.engine.prepare import Prepared
from sash.engine.row_block import TICKS, InputRows, RowBlock, RowSource, read_rows, rows_in_order
from sash.engine.scatter import scatter_in_chunks
from sash.engine.slice_block import SliceBlock, concat_in_time, cut
from sash.engine.threads import CORES, in_threads
from sash.windows.arrays import is_sorted
from sash.windows.base import Ints, whole_span

S = TypeVar("S")
T = TypeVar("T")

SECTION_ROWS = 1 << 18
"""Blocks are evaluated in sections of about this many rows. For smaller ones, starting a thread takes longer than it saves. Larger
sections need fresh memory for their results, which costs more than the work on it."""
CHUNK_ROWS = 1 << 16
"""Rows of a chunk, at least: times, values and group ids of this many rows fit a processor cache."""
SEVERAL = 2
NO_TIMES: Ints = np.empty(0, np.int64)


def run_table(prepared: Prepared, table: pa.Table, threads: int | None = None) -> pa.Table:
    """Return the results of a table.

    For results per row, the table has only the columns of results, in input order.
    """
    workers = threads or CORES
    return execute(prepared, len(table), lambda bound: TableRun(bound, workers).run(table))


@dataclass(frozen=True)
class TableRun:
    """A run of a bound query over a table."""

    prepared: Prepared
    threads: int

    def run(self, table: pa.Table) -> pa.Table:
        """Return the results."""
        block = rows_in_order(table, self.prepared.layout)
        if block is not None:
            return self.run_block(block)
        rows = read_rows(table, self.prepared.layout, self.prepared.loops)
        if self._pays_to_cut_first(rows):
            return self.run_chunks(rows)
        if not (self.prepared.reads_times or rows.layout.order_by) and is_sorted(rows.times):
            rows = replace(rows, times=NO_TIMES)  # they are in order already, and nothing else reads them
        return self.run_block(rows.sorted(self.prepared.loops, self.threads))

    def run_block(self, block: RowBlock) -> pa.Table:
        """Return the results of rows sorted by key and time."""
        prepared = self.prepared
        count = section_count(len(block))
        if count >= SEVERAL:
            self._check_limits(block)
            convert_columns(prepared, block)
        sections = block.sections(count)
        if prepared.plan.per_row:

            def run(section: RowBlock) -> Results:
                return row_columns(prepared, evaluate(prepared, section, copies=False))

            results = run_sections(prepared, self.threads, run, sections)
            del sections, run
            block.drop_columns()
            return in_input_order(block.order, results, self.threads if len(block) >= SECTION_ROWS else 1)
        return self._run_windows(sections)

    def run_chunks(self, rows: InputRows) -> pa.Table:
        """Return the results of rows in order of time."""
        prepared = self.prepared
        prepared.check_times(rows.times)
        cuts = self._chunk_cuts(rows)
        convert_columns(prepared, rows.source)
        shares = np.array_split(np.arange(len(cuts) - 1), min(section_count(len(rows.codes)), self.threads))
        keys = rows.source.table.select(list(rows.layout.by)).take(as_arrow(first_rows(rows.codes, rows.keys)))

        def run(share: Ints) -> SliceBlock:
            return self._cut_chunks(rows, keys, cuts[share[0] : share[-1] + 2])

        cut_shares = run_sections(prepared, self.threads, run, [share for share in shares if len(share)])
        slices = concat_in_time(cut_shares).by_key(prepared.loops)
        self._check_limits(slices)
        return self._run_windows(slices.sections(max(self.threads, section_count(len(slices)))))

    def _run_windows(self, sections: Sequence[Block]) -> pa.Table:
        """Return one row per window."""
        prepared = self.prepared

        def run(section: Block) -> dict[str, pa.Table]:
            return window_tables(prepared, section, evaluate(prepared, section))

        return join_windows(prepared, run_sections(prepared, self.threads, run, sections))

    def _check_limits(self, block: Block) -> None:
        """Raise ValueError if a window has too many results for all sections of a block together."""
        items = block.items([], whole_span(np.diff(block.firsts)))
        for window in self.prepared.plan.windows.values():
            window.check_limit(items)

    # -- chunks ------------------------------------------------------------------------------------------------------

    def _pays_to_cut_first(self, rows: InputRows) -> bool:
        """Return whether rows are in order of time, keys alternate, and every pass goes over slices."""
        prepared = self.prepared
        if prepared.edges is None or rows.layout.order_by or not rows.layout.by:
            return False
        if len(rows.codes) < SEVERAL * max(CHUNK_ROWS, rows.keys):
            return False
        if not is_sorted(rows.times) or is_sorted(rows.codes):
            return False
        check_compiles(prepared)  # a pass that does not compile may be interpreted in the next attempt
        return all(plan_pass.over_slices and not plan_pass.over_objects for plan_pass in prepared.plan.passes)

    def _chunk_cuts(self, rows: InputRows) -> Ints:
        """Return where chunks begin and end: every CHUNK_ROWS rows, moved back to the last edge that closes slices."""
        count = len(rows.codes)
        targets = rows.times[np.arange(0, count, max(CHUNK_ROWS, SEVERAL * rows.keys))]
        begins = np.searchsorted(rows.times, self.prepared.borders.edges.before(targets))
        return np.unique(np.concatenate([np.zeros(1, np.int64), begins, np.array([count])])).astype(np.int64)

    def _cut_chunks(self, rows: InputRows, keys: pa.Table, cuts: Ints) -> SliceBlock:
        """Return the slices of some chunks, by chunk and key."""
        begin, end = int(cuts[0]), int(cuts[-1])
        order = np.empty(end - begin, np.int64)
        owners, firsts = np.empty(end - begin, np.int64), np.empty(end - begin + 1, np.int64)
        counts = np.zeros(rows.keys, np.int64)
        scatter = self.prepared.loops(scatter_in_chunks)
        groups = scatter(rows.codes[begin:end], cuts - begin, counts, order, owners, firsts)
        order += begin
        by_group = KeyOrder(order, firsts[: groups + 1].copy())
        block = RowBlock(rows.source, rows.layout, by_group, by_group.arrange(rows.times))
        slices = cut(self.prepared, block)
        return replace(slices, keys=keys, codes=owners[slices.codes])


def run_sections(prepared: Prepared, threads: int, work: Callable[[S], T], tasks: Sequence[S]) -> list[T]:
    """Return the result of each task, in order; threads run them.

    If nothing is compiled yet, the first task runs alone: it compiles, or finds what does not compile.
    """
    alone = 1 if threads >= SEVERAL and not prepared.kernels.has_any else 0
    return [work(task) for task in tasks[:alone]] + in_threads(threads, work, tasks[alone:])


def in_input_order(order: KeyOrder, results: Sequence[Results], threads: int) -> pa.Table:
    """Return the results per row of the sections of a block as one table, in input order. It frees the results of sections."""

    def column(name: str) -> pa.ChunkedArray | pa.Array:
        return restore(join_rows([section.pop(name) for section in results]), order)

    names = list(results[0])
    together = (
        threads if order.scattered is None else 1
    )  # scattered rows move in threads, so one column at a time needs less memory
    return pa.table(dict(zip(names, in_threads(together, column, names), strict=True)))


def restore(column: pa.ChunkedArray | ListColumn, order: KeyOrder) -> pa.ChunkedArray | pa.Array:
    """Return a column of results in input order."""
    if isinstance(column, ListColumn):
        return column.chunks(None if order.is_input_order else order.positions)
    if order.is_input_order:
        return column
    joined = to_arrow(column)
    del column  # its sections are as large
    return order.restore(joined)


def convert_columns(prepared: Prepared, source: RowSource | RowBlock) -> None:
    """Convert the columns once, and arrange those of a block, so that threads do not do it several times."""
    for plan_pass in prepared.plan.passes:
        for name, coding in [] if plan_pass.over_objects or plan_pass.lists else codings(plan_pass, prepared.schema):
            if coding != TICKS:
                source.coded(name, coding)


def section_count(rows: int) -> int:
    """Return the number of sections of a block; threads evaluate them, and later ones reuse the memory of earlier ones."""
    return max(1, rows // SECTION_ROWS)
