"""Workers for time ranges: the results that a range owns, from its rows, its context, and slices in place of rows.

rows of a cell ──SliceWorker──► one slice
rows of a range, its context, slices ──RangeWorker──► the results that the range owns
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
import pyarrow as pa

from sash.engine.assemble import join_windows, window_tables, with_input_rows
from sash.engine.cut import cut_each_row, cut_whole
from sash.engine.evaluate import Evaluated, evaluate
from sash.engine.executors import PassFailedError
from sash.engine.executors.bind import compile_ahead
from sash.engine.executors.execute import execute
from sash.engine.prepare import Prepared
from sash.engine.row_block import RowBlock
from sash.engine.slice_block import SliceBlock, concat_by_key
from sash.kernels.array_codec import decode_arrays, encode_arrays
from sash.state.row_state import RowState
from sash.state.slice_state import slices_from_arrays, slices_to_arrays
from sash.state.watermark import MicroBatch
from sash.state.window_states import advance
from sash.windows.base import Span
from sash.workers.bucket_worker import BucketWorker, gather_table
from sash.workers.spill import sort_on_disk
from sash.workers.time_ranges import TimeRange


@dataclass(frozen=True)
class RangeWorker:
    """A worker for groups of which some are time ranges of a key, and the others buckets of keys."""

    worker: BucketWorker
    ranges: Mapping[int, TimeRange]
    slices: Mapping[int, Sequence[bytes]] = field(default_factory=dict)
    """By group: encoded slices in place of rows that it does not need one by one."""

    @property
    def title(self) -> str:
        """What plans of Spark show."""
        return self.worker.title

    def evaluate_group(self, group: int, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the results that a group owns."""
        one = self.ranges.get(group)
        if one is None:
            yield from self.worker.evaluate_group(group, batches)
            return
        for table in self._tables(one, self.slices.get(group, ()), batches):
            yield from self.worker.as_declared(table)

    def _tables(self, one: TimeRange, slices: Sequence[bytes], batches: Iterable[pa.RecordBatch]) -> Iterator[pa.Table]:
        if one.between:
            yield run_range(self.worker, one, pa.Table.from_batches(batches), slices)
            return
        rows = gather_table(iter(batches), self.worker.most_bytes)
        if isinstance(rows, pa.Table):
            yield run_range(self.worker, one, rows)
        else:
            yield from run_range_sorted(self.worker, one, rows)


def run_range(worker: BucketWorker, one: TimeRange, table: pa.Table, slices: Sequence[bytes] = ()) -> pa.Table:
    """Return the results that a range owns, beside their rows if every row has one.

    Rows before the range are context. Their own windows belong to other ranges, and might fail here because some of their
    rows are missing, so they are not evaluated.
    """
    rows = worker.readable_rows(table)
    prepared = compile_ahead(worker.prepare(rows.schema))
    return execute(prepared, len(rows), lambda bound: _run_range(bound, one, table, rows, slices), on_stream=True)


def _run_range(
    prepared: Prepared, one: TimeRange, table: pa.Table, rows: pa.Table, slices: Sequence[bytes]
) -> pa.Table:
    block = one_key(prepared.block(rows))
    context = int(np.searchsorted(block.times, one.begin))
    span = range_span(one, block.keys, context, len(block))
    if slices:
        items = with_slices(prepared, block, slices)
        of_slices = range_span(one, len(items.keys), context + len(slices), len(items))
        evaluated = evaluate(prepared, items, of_slices)
        return _assembled(prepared, items, block, span, evaluated, table)
    memory = {  # windows that count rows continue the count of the earlier ranges
        name: window.memory.new(block.keys, one.rows_before + context) for name, window in prepared.plan.windows.items()
    }
    evaluated = evaluate(prepared, block, span, memory)
    return _assembled(prepared, block, block, span, evaluated, table)


def run_range_sorted(worker: BucketWorker, one: TimeRange, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.Table]:
    """Yield the results that a range owns for more rows than fit memory: sorted on disk, and evaluated as a stream."""
    state: RowState | None = None
    after = one.begin
    with sort_on_disk(batches, worker.query, worker.most_bytes) as pieces:
        for piece in pieces:
            if state is None:
                state = RowState(compile_ahead(worker.prepare(piece.schema)), rows_before=one.rows_before)
            assert state.prepared.time is not None
            times = state.prepared.time.read(piece[state.prepared.time.name])
            context = int(np.searchsorted(times, one.begin))
            if context:
                state.preload(piece.slice(0, context))
            if context < len(piece):
                watermark = int(times[-1])
                yield advance(state, MicroBatch(piece.slice(context), after, watermark))
                after = watermark
    if state is not None:
        yield advance(state, MicroBatch(state.prepared.no_rows, after, one.end))


def range_span(one: TimeRange, keys: int, context: int, items: int) -> Span:
    """Return the span of a range: its context, and the windows that it owns."""
    done, final, after, now = (np.full(keys, number, np.int64) for number in (context, items, one.begin, one.end))
    return Span(done, final, after, now, now)


def with_slices(prepared: Prepared, block: RowBlock, encoded: Sequence[bytes]) -> SliceBlock:
    """Return rows as slices of one row each, together with the slices that stand for many rows."""
    sent = [slices_from_arrays(prepared, decode_arrays(data)) for data in encoded]
    return concat_by_key([*sent, cut_each_row(prepared, block)], prepared.loops)


def _assembled(
    prepared: Prepared,
    items: RowBlock | SliceBlock,
    block: RowBlock,
    span: Span,
    evaluated: Evaluated,
    table: pa.Table,
) -> pa.Table:
    if prepared.plan.per_row:
        return with_input_rows(prepared, block, span, evaluated, table)
    return join_windows(prepared, [window_tables(prepared, items, evaluated)])


@dataclass(frozen=True)
class SliceWorker:
    """A worker that combines each group of rows into one slice."""

    worker: BucketWorker
    columns: ClassVar[str] = "cell int, place int, slices binary"

    @property
    def title(self) -> str:
        """What plans of Spark show."""
        return f"slices of {self.worker.title}"

    def evaluate_group(self, group: int, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the slice of a group; several, one after the other in time, if its rows do not fit memory."""
        for place, table in enumerate(self._in_order(batches)):
            arrays = [pa.array([group], pa.int32()), pa.array([place], pa.int32()), pa.array([self._encode(table)])]
            yield pa.RecordBatch.from_arrays(arrays, names=["cell", "place", "slices"])

    def _in_order(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.Table]:
        table = gather_table(batches, self.worker.most_bytes)
        if isinstance(table, pa.Table):
            yield table
            return
        with sort_on_disk(table, self.worker.query, self.worker.most_bytes) as pieces:
            yield from pieces

    def _encode(self, table: pa.Table) -> bytes:
        rows = self.worker.readable_rows(table)
        prepared = self.worker.prepare(rows.schema)
        slices = execute(
            prepared, len(rows), lambda bound: cut_whole(bound, one_key(bound.block(rows))), on_stream=True
        )
        return encode_arrays(slices_to_arrays(slices), {})


def slices_compile(prepared: Prepared) -> bool:
    """Return whether rows can be cut into slices and evaluated as slices, by doing it without rows."""
    try:
        evaluate(prepared, cut_each_row(prepared, prepared.empty_block()))
    except PassFailedError:
        return False
    return True


def one_key(block: RowBlock) -> RowBlock:
    """Return a block of one key. Raise RuntimeError if two keys share a 64-bit hash."""
    if block.keys > 1:
        message = (
            'Two keys have the same hash, and one of them has very many rows. Run this query with strategy="buckets".'
        )
        raise RuntimeError(message)
    return block
