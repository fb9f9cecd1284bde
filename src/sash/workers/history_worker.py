"""HistoryWorker: the rows of some keys before a time T in, their states at T out.

batches ──► slices take any order: table by table ────────────────► one state
        └─► rows that fit memory: as a whole ─────────────────────► one state
        └─► more rows: sorted on disk by key and time ──► piece by piece ──► a state for each run of whole keys
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from sash.columns.read_column import readable
from sash.engine.group_ids import number_keys
from sash.engine.prepare import Prepared
from sash.kernels.plain import compile_loop
from sash.state.history import HistoryRows, add_history, closed_batch, takes_any_order
from sash.state.stream_state import StreamState
from sash.workers.bucket_worker import gather_table
from sash.workers.spill import gather, sort_on_disk

MOST_BYTES = 1 << 26
"""Rows of up to this many bytes are evaluated as a whole, which takes several times as much memory."""


@dataclass
class HistoryWorker:
    """The history of a stream, as a task sees it: the rows of some keys."""

    prepared: Prepared
    new_state: Callable[[], StreamState]
    until: int
    most_bytes: int = MOST_BYTES

    def __post_init__(self) -> None:
        """Start without rows."""
        self.rows = HistoryRows(self.prepared, self.until)

    def states(self, batches: Iterator[pa.RecordBatch]) -> Iterator[StreamState]:
        """Yield the states of the keys in the rows, each of different keys."""
        selected = (batch for table in gather(batches, self.most_bytes >> 2) for batch in self._select(table))
        if takes_any_order(self.new_state().states):
            yield self._whole(gather(selected, self.most_bytes >> 2))
            return
        gathered = gather_table(selected, self.most_bytes)
        if isinstance(gathered, pa.Table):
            yield self._whole([gathered])
        else:
            yield from self._sorted(gathered)

    def _select(self, table: pa.Table) -> list[pa.RecordBatch]:
        batches: list[pa.RecordBatch] = self.rows.select(readable(table)).to_batches()
        return batches

    def _whole(self, tables: Iterable[pa.Table]) -> StreamState:
        """Return the state of all keys in some tables."""
        state = self.new_state()
        add_history(state.states, tables, self.until)
        return self._at_end(state)

    def _at_end(self, state: StreamState) -> StreamState:
        """Return a state that knows the watermark, and the newest row of this task."""
        state.watermark, state.newest = self.until, self.rows.newest
        return state

    def _sorted(self, batches: Iterator[pa.RecordBatch]) -> Iterator[StreamState]:
        """Yield the states of more rows than fit memory. The rows of a key may be in several pieces."""
        opened: OpenKey | None = None
        query = replace(self.prepared.query, lateness=None)
        with sort_on_disk(batches, query, self.most_bytes) as pieces:
            for piece in pieces:
                begin, last = self._runs(piece, opened)
                if opened is not None:
                    opened.add(piece.slice(0, begin))
                    if begin == len(piece):
                        continue
                    yield self._at_end(opened.finish(self.until))
                if last > begin:
                    yield self._whole([piece.slice(begin, last - begin)])
                opened = OpenKey(self.new_state(), piece.slice(last))
        if opened is not None:
            yield self._at_end(opened.finish(self.until))

    def _runs(self, piece: pa.Table, opened: OpenKey | None) -> tuple[int, int]:
        """Return the first row of a piece that is not of the open key, and the first row of its last key."""
        by = self.prepared.query.by
        if not by:
            return (0 if opened is None else len(piece)), 0
        before = [] if opened is None else [opened.key]
        keys = [table.select(by) for table in [*before, piece]]
        codes, _ = number_keys(readable(pa.concat_tables(keys)), by, compile_loop)
        own = codes[len(before) :]
        last = int(np.argmax(own == own[-1]))  # the rows of a key follow each other
        if opened is None:
            return 0, last
        others = np.flatnonzero(own != codes[0])
        begin = int(others[0]) if len(others) else len(own)
        return begin, max(begin, last)


class OpenKey:
    """The state of a key whose rows arrive in order of time, in several tables."""

    def __init__(self, state: StreamState, rows: pa.Table) -> None:
        self.state = state
        self.key = rows.slice(0, 1)
        self.add(rows)

    def add(self, rows: pa.Table) -> None:
        """Add rows. Those that no later window needs are dropped."""
        time = self.state.prepared.time
        if not len(rows) or time is None:
            return
        self._advance(rows, int(time.read(rows[time.name])[-1]))

    def finish(self, until: int) -> StreamState:
        """Return the state at the end of the history."""
        self._advance(self.state.prepared.no_rows, until)
        return self.state

    def _advance(self, rows: pa.Table, watermark: int) -> None:
        state = self.state
        state.states.advance(closed_batch(rows.select(state.prepared.schema.names), watermark))
