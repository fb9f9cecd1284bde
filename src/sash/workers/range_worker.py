"""Workers for time ranges: the results that a range owns, from its rows, its context, and slices in place of rows.

rows of a cell ──SliceWorker──► one slice
rows of a range, its context, slices ──RangeWorker──► the results that the range owns
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
import pyarrow as pa

from sash.engine.assemble import join_windows, window_tables, with_input_rows
from sash.engine.evaluate import evaluate
from sash.engine.executors import PassFailedError
from sash.engine.executors.bind import compile_ahead
from sash.engine.executors.execute import execute
from sash.engine.prepare import Prepared
from sash.engine.row_block import RowBlock
from sash.engine.slice_block import SliceBlock, concat_by_key, cut_each_row, cut_whole
from sash.kernels.array_codec import decode_arrays, encode_arrays
from sash.state.handover import advance
from sash.state.row_state import RowState
from sash.state.stored_items import slices_from_arrays, slices_to_arrays
from sash.state.watermark import MicroBatch
from sash.windows.base import Span
from sash.workers.bucket_worker import BucketWorker, gather_table
from sash.workers.spill import sort_on_disk
from sash.workers.time_ranges import TimeRange


@dataclass(frozen=True)
class RangeWorker(BucketWorker):
    """A worker for groups of which some are time ranges of a key, and the others buckets of keys."""

    ranges: Mapping[int, TimeRange] = field(default_factory=dict)
    slices: Mapping[int, Sequence[bytes]] = field(default_factory=dict)
    """By group: encoded slices in place of rows that it does not need one by one."""

    def evaluate_group(self, group: int, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the results that a group owns."""
        time_range = self.ranges.get(group)
        if time_range is None:
            yield from super().evaluate_group(group, batches)
            return
        # Slices keep the rows of a range few, so these always fit memory.
        rows = gather_table(iter(batches), sys.maxsize if time_range.slice_intervals else self.most_bytes)
        if isinstance(rows, pa.Table):
            yield from self.as_declared(self.run_range(time_range, rows, self.slices.get(group, ())))
        else:
            for table in self.run_range_sorted(time_range, rows):
                yield from self.as_declared(table)

    def run_range(self, time_range: TimeRange, table: pa.Table, slices: Sequence[bytes]) -> pa.Table:
        """Return the results that a range owns, beside their rows if every row has one.

        Rows before the range are context. Their own windows belong to other ranges, and might fail here because some of their
        rows are missing, so they are not evaluated.
        """
        rows = self.readable_rows(table)

        def run(prepared: Prepared) -> pa.Table:
            block = one_key(prepared.block(rows))
            context = int(np.searchsorted(block.times, time_range.begin))
            before = time_range.rows_before + context  # windows that count rows go on from the earlier ranges
            memory = {name: window.memory.new(block.keys, before) for name, window in prepared.plan.windows.items()}
            items = with_slices(prepared, block, slices) if slices else block
            span = range_span(time_range, items, context + len(slices))
            evaluated = evaluate(prepared, items, span, None if slices else memory)
            if prepared.plan.per_row:
                return with_input_rows(prepared, block, range_span(time_range, block, context), evaluated, table)
            return join_windows(prepared, [window_tables(prepared, items, evaluated)])

        return execute(compile_ahead(self.prepare(rows.schema)), len(rows), run, on_stream=True)

    def run_range_sorted(self, time_range: TimeRange, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.Table]:
        """Yield the results that a range owns for more rows than fit memory: sorted on disk, and evaluated as a stream."""
        state: RowState | None = None
        after = time_range.begin
        with sort_on_disk(batches, self.query, self.most_bytes) as pieces:
            for piece in pieces:
                if state is None:
                    state = RowState(compile_ahead(self.prepare(piece.schema)), rows_before=time_range.rows_before)
                assert state.prepared.time is not None
                times = state.prepared.time.read(piece[state.prepared.time.name])
                context = int(np.searchsorted(times, time_range.begin))
                if context:
                    state.preload(piece.slice(0, context))
                if context < len(piece):
                    watermark = int(times[-1])
                    yield advance(state, MicroBatch(piece.slice(context), after, watermark))
                    after = watermark
        if state is not None:
            yield advance(state, MicroBatch(state.prepared.no_rows, after, time_range.end))


def range_span(time_range: TimeRange, items: RowBlock | SliceBlock, context: int) -> Span:
    """Return the span of a range: its context, and the windows that it owns."""
    numbers = (context, len(items), time_range.begin, time_range.end)
    done, final, after, now = (np.full(len(items.firsts) - 1, number, np.int64) for number in numbers)
    return Span(done, final, after, now, now)


def with_slices(prepared: Prepared, block: RowBlock, encoded: Sequence[bytes]) -> SliceBlock:
    """Return rows as slices of one row each, together with the slices that stand for many rows."""
    sent = [slices_from_arrays(prepared, decode_arrays(data)) for data in encoded]
    return concat_by_key([*sent, cut_each_row(prepared, block)], prepared.loops)


class SliceWorker(BucketWorker):
    """A worker that combines each group of rows into one slice."""

    columns: ClassVar[str] = "cell int, place int, slices binary"

    @property
    def title(self) -> str:
        """What plans of Spark show."""
        return f"slices of {super().title}"

    def evaluate_group(self, group: int, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the slice of a group; several, one after the other in time, if its rows do not fit memory."""
        for place, table in enumerate(self._in_order(batches)):
            arrays = [pa.array([group], pa.int32()), pa.array([place], pa.int32()), pa.array([self._encode(table)])]
            yield pa.RecordBatch.from_arrays(arrays, names=["cell", "place", "slices"])

    def _in_order(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.Table]:
        rows = gather_table(iter(batches), self.most_bytes)
        if isinstance(rows, pa.Table):
            yield rows
            return
        with sort_on_disk(rows, self.query, self.most_bytes) as pieces:
            yield from pieces

    def _encode(self, table: pa.Table) -> bytes:
        rows = self.readable_rows(table)

        def cut(prepared: Prepared) -> SliceBlock:
            return cut_whole(prepared, one_key(prepared.block(rows)))

        slices = execute(self.prepare(rows.schema), len(rows), cut, on_stream=True)
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
        raise RuntimeError(
            'Two keys have the same hash, and one of them has very many rows. Run this query with strategy="buckets".'
        )
    return block
