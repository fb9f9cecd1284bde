"""StreamState: the state of a stream that may continue in another process. Rows and a watermark in, results out.

bytes ──► StreamState ──► bytes
            ▲ │
rows, watermark └─► results, late rows
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from sash.durations import Duration
from sash.engine.prepare import Prepared
from sash.kernels.array_codec import Arrays
from sash.kernels.kernel_io import as_arrow
from sash.state.codec import decode_state, encode_state
from sash.state.fingerprint import Fingerprint, check_same_query
from sash.state.late_rows import LateRows
from sash.state.row_state import StateSize
from sash.state.state_log import encode_delta, read_log
from sash.state.watermark import MicroBatch
from sash.state.window_states import WindowStates
from sash.windows.base import FOREVER, NEVER


@dataclass(frozen=True)
class Emitted:
    """The outcome of a micro-batch."""

    results: pa.Table
    late: int
    """The number of late rows."""
    forgotten: int = 0
    """How often a key was forgotten."""


class StreamState:
    """The state of some keys of a stream.

    >>> from sash import agg, window
    >>> from sash.engine.prepare import prepare
    >>> from sash.plan.declared import declare
    >>> query = declare({"n": agg.count()}, window.tumbling(10), (), "at", (), "auto", "throughput", "auto", None)
    >>> state = StreamState(prepare(query, pa.schema({"at": pa.int64()}), compiled=False))
    >>> state.advance(pa.table({"at": [1, 7, 12]}), 0).results.num_rows
    0
    >>> state.due
    10
    >>> state.advance(pa.table({"at": [3, 13]}), 10)  # doctest: +ELLIPSIS
    Emitted(results=pyarrow.Table
    ...
    n: [[3]], late=0, forgotten=0)
    >>> state.advance(pa.table({"at": [4]}), 10).late
    1
    """

    def __init__(
        self,
        prepared: Prepared,
        mode: str = "append",
        late_rows: LateRows | None = None,
        forget: Duration | None = None,
    ) -> None:
        self.prepared = prepared
        self.late_rows = LateRows(prepared.query, prepared.schema) if late_rows is None else late_rows
        self.states = WindowStates(prepared, mode, forget=forget)
        self.watermark = NEVER
        self._before: Arrays | None = None
        """The arrays that the state continues from, until the second micro-batch after them."""
        self._micro_batches = 0
        self._arrays: Arrays | None = None
        """The state as arrays, made once for a state and its delta."""

    def __len__(self) -> int:
        """Return the number of stored rows or slices."""
        return len(self.states)

    @property
    def size(self) -> StateSize:
        """What is stored."""
        return self.states.size

    def advance(self, table: pa.Table, watermark: int) -> Emitted:
        """Add rows, and return the results that are complete at a watermark.

        A row is late if all its windows were closed at the watermark of the previous call. So no row is dropped that
        belongs to a window which is still to be emitted. Rows may have more columns than the query reads, for late rows that are
        kept; the state does not store them.
        """
        assert self.prepared.time is not None
        watermark = max(watermark, self.watermark)
        times = self.prepared.time.read(table[self.prepared.time.name])
        self.prepared.check_times(times)
        late_from = self.prepared.late_from(times)
        in_time = late_from > self.watermark
        counted, forgotten = self.late_rows.count, self.states.forgotten
        self.late_rows.add(table, ~in_time & (late_from > NEVER))  # rows that no window holds are not late
        table = table.select(self.prepared.schema.names)
        if not in_time.all():
            table = table.filter(as_arrow(in_time))
        marks = np.full(len(table), self.watermark, np.int64)
        results = self.states.advance(
            MicroBatch(table, self.watermark, watermark, marks=marks, is_last=watermark == FOREVER)
        )
        self.watermark = watermark
        self._micro_batches += 1
        self._arrays = None
        return Emitted(
            self.late_rows.beside(results), self.late_rows.count - counted, self.states.forgotten - forgotten
        )

    def finish(self) -> pa.Table:
        """Return the remaining results: no more rows arrive."""
        return self.advance(self.prepared.schema.empty_table(), FOREVER).results

    @property
    def due(self) -> int:
        """The earliest watermark at which there is something to emit or to drop, if no more rows arrive; else FOREVER."""
        return self.states.due(self.watermark)

    def encode(self, fingerprint: Fingerprint, token: str = "") -> bytes:
        """Return the state as bytes, with the fingerprint of the query, and a name that deltas refer to."""
        return encode_state(self._as_arrays(), self.watermark, fingerprint, token)

    def encode_delta(self, before: str, after: str) -> bytes | None:
        """Return what a micro-batch changed, as bytes; None unless the state continues from another one with one micro-batch.

        `before` and `after` are the tokens of both states.
        """
        if self._before is None or self._micro_batches != 1:
            return None
        return encode_delta(self.states.to_delta(self._before, self._as_arrays()), self.watermark, before, after)

    def decode(self, data: bytes | memoryview, fingerprint: Fingerprint) -> None:
        """Continue from bytes. Raise ValueError if they are damaged, or belong to a different query."""
        arrays, watermark = decode_state(data, fingerprint)
        self._continue(arrays, watermark)

    def decode_log(
        self, base: bytes | memoryview, deltas: Sequence[bytes], fingerprint: Fingerprint, token: str | None = None
    ) -> None:
        """Continue from a base and deltas. Raise ValueError if they do not lead to the state with this token."""
        arrays, header = read_log(base, deltas, token)
        check_same_query(header["query"], fingerprint)
        self._continue(arrays, header["watermark"])

    def _as_arrays(self) -> Arrays:
        if self._arrays is None:
            self._arrays = self.states.to_arrays()
        return self._arrays

    def _continue(self, arrays: Arrays, watermark: int) -> None:
        self.states.from_arrays(arrays)
        self.watermark, self._before, self._micro_batches, self._arrays = watermark, arrays, 0, None


def first_in_time(prepared: Prepared, watermark: int) -> int:
    """Return the oldest time, in ticks, that is in time at a watermark of Spark's, in ticks too.

    Spark treats a row at the watermark as late, and a window that ends there as closed. So half-open windows are final up to
    the watermark, and others up to and including it.
    """
    half_open = all(window.half_open for window in prepared.plan.windows.values())
    return watermark if half_open else watermark + 1
