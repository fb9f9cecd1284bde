"""StreamState: the state of a stream that may continue in another process. Rows and a watermark in, results out.

bytes ──► StreamState ──► bytes
            ▲ │
rows, watermark └─► results, late rows
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from sash.columns.buffers import as_arrow
from sash.durations import Duration
from sash.engine.prepare import Prepared
from sash.engine.stream_plan import stream_plan
from sash.kernels.array_codec import Arrays
from sash.state.codec import encode_state
from sash.state.evolve import StoredState, check_evolves, evolve, stored_state
from sash.state.fingerprint import Fingerprint, changes, check_same_query
from sash.state.key_layout import KeyLayout
from sash.state.key_states import KeyStates
from sash.state.late_rows import LateRows
from sash.state.state_log import encode_delta, read_log
from sash.state.stored_items import StateSize
from sash.state.watermark import MicroBatch
from sash.state.window_states import StateOptions, WindowStates
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
    >>> from sash.plan.query_spec import parse_query
    >>> query = parse_query({"n": agg.count()}, window.tumbling(10), time="at")
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
        layout: KeyLayout | None = None,
    ) -> None:
        self.prepared = prepared
        self.late_rows = LateRows(prepared.query, prepared.schema) if late_rows is None else late_rows
        self.options = StateOptions(mode, forget)
        self.states = WindowStates(prepared, mode, forget=forget)
        if layout is not None:  # it emits the states of keys
            self.states = KeyStates(prepared, layout, forget)
        self.watermark = NEVER
        self.newest = NEVER
        """The time of the newest row so far."""
        self._before: Arrays | None = None
        """The arrays that the state continues from, until the second micro-batch after them."""
        self._micro_batches = 0
        self._arrays: Arrays | None = None
        """The state as arrays, made once for a state and its delta."""

    def __len__(self) -> int:
        """Return the number of stored rows or slices."""
        return len(self.states)

    @property
    def is_empty(self) -> bool:
        """Whether the state of new keys could replace it: nothing is stored, and what a changed query may not know is past."""
        return not len(self.states) and self.newest < self.watermark and self.states.described is None

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
        late_from = stream_plan(self.prepared).late_from(times)
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
        self.newest = max(self.newest, int(times.max(initial=NEVER)))
        self._micro_batches += 1
        self._arrays = None
        return Emitted(
            self.late_rows.beside(results), self.late_rows.count - counted, self.states.forgotten - forgotten
        )

    def erase(self, keys: pa.Table) -> None:
        """Delete the state of some keys. The state can be stored as a whole only, so that no delta has them."""
        self.states.erase(keys)
        self._before, self._arrays = None, None

    def emit_all(self) -> None:
        """Emit the states of all keys with the next micro-batch, if states are emitted: they come from elsewhere."""
        self.states.emit_all()

    def finish(self) -> pa.Table:
        """Return the remaining results: no more rows arrive."""
        return self.advance(self.prepared.no_rows, FOREVER).results

    @property
    def due(self) -> int:
        """The earliest watermark at which there is something to emit or to drop, if no more rows arrive; else FOREVER."""
        return self.states.due(self.watermark)

    def encode(self, fingerprint: Fingerprint, token: str = "") -> bytes:
        """Return the state as bytes, with the fingerprint of the query, and a name that deltas refer to."""
        arrays = self._as_arrays()
        more = {"newest": self.newest, "states": self.states.described, "partials": self.states.partials}
        return encode_state(arrays, self.watermark, fingerprint, token, **more)

    def encode_delta(self, before: str, after: str) -> bytes | None:
        """Return what a micro-batch changed, as bytes; None unless the state continues from another one with one micro-batch.

        `before` and `after` are the tokens of both states.
        """
        if self._before is None or self._micro_batches != 1 or self.states.is_changed:
            return None
        delta = self.states.to_delta(self._before, self._as_arrays())
        return encode_delta(delta, self.watermark, before, after, newest=self.newest)

    def decode(self, data: bytes | memoryview, fingerprint: Fingerprint, *, evolves: bool = False) -> None:
        """Continue from bytes. Raise ValueError if they are damaged, or belong to a different query that must not evolve."""
        self.decode_log(data, (), fingerprint, evolves=evolves)

    def decode_log(
        self,
        base: bytes | memoryview,
        deltas: Sequence[bytes],
        fingerprint: Fingerprint,
        token: str | None = None,
        *,
        evolves: bool = False,
        newest: int = NEVER,
    ) -> None:
        """Continue from a base and deltas. Raise ValueError if they do not lead to the state with this token.

        If the state `evolves`, it may belong to a query with other aggregates and windows. What is new then begins after `newest`, the
        time of the newest row of all buckets, so that it begins at the same time in all of them.
        """
        arrays, header = read_log(base, deltas, token)
        if evolves and changes(header["query"], fingerprint):
            stored = stored_state(arrays, header)
            self.evolve(stored._replace(newest=max(stored.newest, newest)), fingerprint)
            return
        check_same_query(header["query"], fingerprint)
        self._continue(arrays, header)

    def continue_empty(self, query: Fingerprint, fingerprint: Fingerprint, *, evolves: bool = False) -> None:
        """Continue from a state of a query that is empty at the watermark: no window that is open has rows."""
        if changes(query, fingerprint):
            if not evolves:
                check_same_query(query, fingerprint)
            self.evolve(StoredState(query, {}, self.watermark, self.watermark - 1), fingerprint)

    def evolve(self, stored: StoredState, fingerprint: Fingerprint) -> None:
        """Continue from the state of another query. Raise ValueError if more than aggregates and windows differ."""
        check_evolves(stored.query, fingerprint)
        if stored.newest > NEVER:  # else no row has arrived yet
            self.states = evolve(self.prepared, self.options, stored, fingerprint)
        self.watermark, self.newest = stored.watermark, stored.newest
        self._before, self._micro_batches, self._arrays = None, 0, None

    def absorb(self, other: StreamState) -> None:
        """Add the state of other keys of the same query."""
        for ours, theirs in zip(self.states.states, other.states.states, strict=True):
            ours.absorb(theirs)
        self.watermark, self.newest = max(self.watermark, other.watermark), max(self.newest, other.newest)
        self._before, self._arrays = None, None

    def _as_arrays(self) -> Arrays:
        if self._arrays is None:
            self._arrays = self.states.to_arrays()
        return self._arrays

    def _continue(self, arrays: Arrays, header: Mapping[str, Any]) -> None:
        if header.get("states") is not None:
            self.states = WindowStates.like(self.prepared, self.options, header["states"])
        self.states.from_arrays(arrays)
        self.watermark, self.newest = header["watermark"], header["newest"]
        self._before, self._micro_batches, self._arrays = arrays, 0, None


def first_in_time(prepared: Prepared, watermark: int) -> int:
    """Return the oldest time, in ticks, that is in time at a watermark of Spark's, in ticks too.

    Spark treats a row at the watermark as late, and a window that ends there as closed. So half-open windows are final up to
    the watermark, and others up to and including it. Spark's watermark starts at 1970, before any row has arrived: a row at that
    time is in time.
    """
    half_open = all(window.lateness.half_open for window in prepared.plan.windows.values())
    return watermark if half_open or watermark <= 0 else watermark + 1
