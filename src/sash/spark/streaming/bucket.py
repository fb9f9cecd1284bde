"""BucketProcessor: what runs for each bucket of keys in each micro-batch. State in, rows in, results out, state out.

packed rows ──► StreamState ──► packed results, row counts
                 ▲ │
                 │ ▼
RocksDB: a base per bucket, the deltas since then, and the time of its timer, in case no rows arrive

`defer` returns the processor as Spark sends it: the query is unpickled, and Sash imported, when the first rows arrive.
"""

from __future__ import annotations

import json
import pickle
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import pyarrow as pa
from pyspark import cloudpickle
from pyspark.sql import Row
from pyspark.sql.streaming import stateful_processor as api
from pyspark.sql.types import BinaryType, LongType, StringType, StructField, StructType

from sash.columns.read_column import readable
from sash.durations import Duration
from sash.engine.prepare import Prepared, Recent
from sash.spark import COUNTED
from sash.spark.streaming import state_cache
from sash.state.codec import REMEDY, WHAT, as_schema, read_state_header, read_table, table_bytes
from sash.state.evolve import StoredState
from sash.state.fingerprint import Fingerprint, changes, check_same_query
from sash.state.late_rows import LateRows
from sash.state.regroup import join_states
from sash.state.state_log import is_due
from sash.state.stream_state import StreamState, first_in_time
from sash.windows.base import FOREVER
from sash.workers.bad_times import check_times, split_times
from sash.workers.bucket_worker import BucketWorker
from sash.workers.packing import GUARD, RESULTS, ROWS
from sash.workers.worker_function import marked_errors

HEAD, STATE, LOG = "sash_head", "sash_state", "sash_log"
"""The state variables of a bucket: a small head that each call reads; and a base and the deltas after it, by number, which are
read only if no copy is cached."""
STATES = "sash_states"
"""The column of the initial state: the states of parts of the keys of a bucket, as bytes."""
# As types: Spark would send a string to the JVM to be parsed, twice, in each task.
STATE_COLUMNS = StructType([StructField("size", LongType()), StructField("state", BinaryType())])
LOG_KEY = StructType([StructField("number", LongType())])
COMPRESSION = "zstd"
EMITTED = ", ".join([f"{RESULTS} binary", *(f"{name} bigint" for name in COUNTED)])
MILLISECOND = 1_000_000
MOST_QUERIES = 16
_prepared: Recent[str, Prepared] = Recent(MOST_QUERIES)
"""Prepared queries by name of the task: a Python worker process gets the same task in each micro-batch."""


@dataclass(frozen=True)
class StreamTask:
    """A query on a stream, as it is sent to workers."""

    name: str
    """Unique."""
    worker: BucketWorker
    schema: pa.Schema
    """The types of the rows."""
    fingerprint: Fingerprint
    mode: str
    on_bad_time: str
    ahead: int | None
    """How many ticks ahead of the clock a time may be; None for any."""
    late: str = "drop"
    sent: pa.Schema | None = None
    """The types of all columns that arrive, if late rows are kept with more columns than the query reads."""
    forget: Duration | None = None
    """How long after its last row a key is forgotten."""
    evolve: bool = False
    """Whether aggregates and windows may differ from those of the checkpoint."""

    def prepared(self) -> Prepared:
        """Return the prepared query, made once per process."""
        if self.name not in _prepared:
            _prepared[self.name] = self.worker.prepare(self.schema)
        return _prepared[self.name]

    def new_state(self) -> StreamState:
        """Return an empty state."""
        prepared = self.prepared()
        late_rows = LateRows(prepared.query, self.sent or prepared.schema, self.late)
        return StreamState(prepared, self.mode, late_rows, self.forget)


class Head(NamedTuple):
    """What is known of a bucket without reading its state."""

    token: str | None
    """The name of its state; None if it has none."""
    due: int | None
    """The time of its timer, in milliseconds."""
    watermark: int
    base_bytes: int = 0
    log_bytes: int = 0
    deltas: int = 0
    """How many deltas came after the base."""
    query: str | None = None
    """The fingerprint of the query, JSON, if the bucket has no state that has it."""


HEAD_COLUMNS = StructType(
    [StructField(name, StringType() if name in ("token", "query") else LongType()) for name in Head._fields]
)


@dataclass
class BucketProcessor:
    """What Spark calls for each bucket, through a `DeferredProcessor`, with the state variables that it has opened."""

    task: StreamTask
    handle: api.StatefulProcessorHandle
    head: api.ValueState
    state: api.ValueState
    log: api.MapState

    def add_rows(self, key: Any, rows: Iterator[Row], times: api.TimerValues) -> Iterator[Row]:
        """Add the rows of a bucket that arrived in this micro-batch."""
        with marked_errors():
            tables = [read_table(row[ROWS]) for row in rows]
            if key[0] == GUARD:
                self._guard()
            else:
                yield self._advance(key[0], pa.concat_tables(tables), times, None)

    def pass_time(self, key: Any, times: api.TimerValues, expired: int) -> Iterator[Row]:
        """Emit what is due in a bucket that may have no new rows, as a timer has expired."""
        with marked_errors():
            yield self._advance(key[0], None, times, expired)

    def start_from(self, key: Any, states: Iterable[Any]) -> None:
        """Store the state of a bucket that comes from another checkpoint, before its first rows."""
        with marked_errors():
            state = join_states(self.task.new_state, [bytes(piece) for piece in states], self.task.fingerprint)
            due = due_in_milliseconds(state)
            self._store(key[0], state, Head(None, None, state.watermark), due)
            self._set_timer(None, None, due)

    def _guard(self) -> None:
        """Raise ValueError if the checkpoint belongs to a different query. The guard always has state, other buckets may have none."""
        known = self.state.get()
        task = self.task
        if known is not None:
            then = read_state_header(decompressed(known))["query"]
            if not changes(then, task.fingerprint):
                return
            if task.evolve:  # buckets evolve when they are next used; what they could not do is an error now
                task.new_state().evolve(StoredState(then, {}, 0, 0), task.fingerprint)
            else:
                check_same_query(then, task.fingerprint)
        self.state.update(compressed(task.new_state().encode(task.fingerprint)))

    def _advance(self, group: int, table: pa.Table | None, times: api.TimerValues, expired: int | None) -> Row:
        """Return the packed results of a bucket, for its new rows and the watermark."""
        prepared = self.task.prepared()
        assert prepared.unit.tick is not None
        ticks = MILLISECOND // prepared.unit.tick
        state = self.task.new_state()
        head = self._load(group, state)
        sent = self.task.sent or prepared.schema
        rows, bad_times = sent.empty_table(), 0
        if table is not None:
            clock = times.getCurrentProcessingTimeInMs() * ticks
            rows, bad_times = self._good_rows(as_schema(readable(table), sent), clock)
        now = first_in_time(prepared, times.getCurrentWatermarkInMs() * ticks)
        emitted = state.advance(rows, now)
        next_due = due_in_milliseconds(state)
        stored = self._store(group, state, head, next_due)
        self._set_timer(head.due, expired, next_due)
        results = None
        if len(emitted.results):
            declared = pa.Table.from_batches(self.task.worker.as_declared(emitted.results))
            results = table_bytes(declared).tobytes()
        arrived, size = 0 if table is None else len(table), state.size
        counted = (arrived, emitted.late, bad_times, emitted.forgotten, size.keys, size.slices, size.rows, stored)
        return Row(**{RESULTS: results, **dict(zip(COUNTED, counted, strict=True))})

    def _good_rows(self, table: pa.Table, clock: int) -> tuple[pa.Table, int]:
        """Return the rows with a usable time, and the number of others."""
        task, query = self.task, self.task.worker.query
        assert query.time is not None
        latest = None if task.ahead is None else clock + task.ahead
        good, without, ahead = split_times(table, query.time, latest)
        if task.on_bad_time == "error":
            check_times(without, ahead, query.by, query.time)
        return good, len(without) + len(ahead)

    def _load(self, group: int, state: StreamState) -> Head:
        """Load the state of a bucket, and return its head."""
        stored = self.head.get()
        if stored is None:
            state.watermark = first_in_time(state.prepared, 0)  # Spark's watermark starts at 1970
            return Head(None, None, state.watermark)
        head = Head(*stored)
        state.watermark = int(head.watermark)
        if head.token is None:
            state.continue_empty(json.loads(head.query or "null"), self.task.fingerprint, evolves=self.task.evolve)
        else:
            cached = state_cache.read(self._place(group), head.token)
            try:
                state.decode(cached or b"", self.task.fingerprint)
            except ValueError:  # not cached, or damaged
                deltas = read_deltas(self.log.iterator() if head.deltas else ())
                base = decompressed(self.state.get())
                state.decode_log(base, deltas, self.task.fingerprint, head.token, evolves=self.task.evolve)
        return head

    def _store(self, group: int, state: StreamState, head: Head, due: int | None) -> int:
        """Store what changed in a bucket, or a new base, and return the bytes that were written.

        The watermark stays if nothing else is left: windows before it are closed.
        """
        if state.is_empty:
            query = json.dumps(self.task.fingerprint)
            self.head.update(tuple(Head(None, None, state.watermark, query=query)))
            self.state.clear()
            self._clear_log(head)
            state_cache.remove(self._place(group))
            return 0
        token = state_cache.new_token()
        data = state.encode(self.task.fingerprint, token)
        delta = None if head.token is None else state.encode_delta(head.token, token)
        log_bytes, deltas = head.log_bytes + len(delta or b""), head.deltas + 1
        if delta is None or is_due(head.base_bytes, log_bytes, deltas, group):
            written = compressed(data)
            self.head.update(tuple(Head(token, due, state.watermark, len(data))))
            self.state.update(written)
            self._clear_log(head)
        else:
            written = compressed(delta)
            self.head.update(tuple(Head(token, due, state.watermark, head.base_bytes, log_bytes, deltas)))
            self.log.updateValue((deltas,), written)
        state_cache.write(self._place(group), token, data)
        return len(written[1])

    def _clear_log(self, head: Head) -> None:
        if head.deltas:
            self.log.clear()

    def _set_timer(self, before: int | None, expired: int | None, due: int | None) -> None:
        """Register the timer of a bucket; Spark removes a timer that has expired."""
        if before == due and expired != due:  # it is registered already
            return
        if before is not None and before != expired:
            self.handle.deleteTimer(before)
        if due is not None:
            self.handle.registerTimer(due)

    def _place(self, group: int) -> str:
        return f"{self.task.name}-{group}"


def defer(task: StreamTask) -> api.StatefulProcessor:
    """Return the processor of a task, which calls a `BucketProcessor`.

    Before the first micro-batch, Spark starts a Python process beside the driver, which only asks which state variables there are.
    Importing Sash there would delay the first micro-batch by half a second. A class that is defined in a function is pickled by value,
    together with the constants that it names, so that process does not import this module. Functions and classes are not constants:
    the pickle of one that this class names would import it.
    """
    pickled: bytes = cloudpickle.dumps(task)  # type: ignore[no-untyped-call]

    class DeferredProcessor(api.StatefulProcessor):
        """Opens the state variables; a BucketProcessor does everything else."""

        def init(self, handle: api.StatefulProcessorHandle) -> None:
            """Open the state variables, in the driver too."""
            head, state = handle.getValueState(HEAD, HEAD_COLUMNS), handle.getValueState(STATE, STATE_COLUMNS)
            self.opened = (handle, head, state, handle.getMapState(LOG, LOG_KEY, STATE_COLUMNS))
            self.processor: Any = None

        def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: api.TimerValues) -> Iterator[Row]:  # noqa: N802, N803
            """Add the rows of a bucket."""
            yield from self.in_worker().add_rows(key, rows, timerValues)

        def handleExpiredTimer(  # noqa: N802
            self,
            key: Any,
            timerValues: api.TimerValues,  # noqa: N803
            expiredTimerInfo: api.ExpiredTimerInfo,  # noqa: N803
        ) -> Iterator[Row]:
            """Emit what is due in a bucket."""
            yield from self.in_worker().pass_time(key, timerValues, expiredTimerInfo.getExpiryTimeInMs())

        def handleInitialState(self, key: Any, initialState: Row, timerValues: api.TimerValues) -> None:  # noqa: N802, N803, ARG002
            """Store the state of a bucket that comes from another checkpoint."""
            self.in_worker().start_from(key, initialState[STATES])

        def close(self) -> None:
            """Spark calls this at the end of a task; there is nothing to close."""

        def in_worker(self) -> Any:
            """Return the BucketProcessor, made when the first rows arrive."""
            if self.processor is None:
                from sash.spark.streaming.bucket import BucketProcessor  # noqa: PLC0415 — in workers only

                self.processor = BucketProcessor(pickle.loads(pickled), *self.opened)  # noqa: S301 — Spark has unpickled this class, too
            return self.processor

    return DeferredProcessor()


def due_in_milliseconds(state: StreamState) -> int | None:
    """Return the Spark watermark, in milliseconds, at which the state is due; None if it never is."""
    tick, due = state.prepared.unit.tick, state.due
    if due == FOREVER or tick is None:
        return None
    # The inverse of first_in_time, rounded up: Spark's watermark is in whole milliseconds.
    offset = first_in_time(state.prepared, due) - due
    return max(-((offset - due) * tick // MILLISECOND), 1)


def read_deltas(stored: Iterable[tuple[Any, Any]]) -> list[bytes]:
    """Return the deltas of a bucket in order. Spark stores them in any order."""
    return [decompressed(value) for _, value in sorted((int(number[0]), value) for number, value in stored)]


def compressed(state: bytes) -> tuple[int, bytes]:
    """Return a state for the store."""
    return len(state), pa.compress(state, COMPRESSION, asbytes=True)


def decompressed(stored: tuple[Any, ...] | None) -> bytes:
    """Return a state from the store. Raise ValueError if it is damaged."""
    try:
        size, state = stored or (0, b"")
        raw: bytes = pa.decompress(bytes(state), size, COMPRESSION, asbytes=True)
    except (pa.ArrowInvalid, OSError) as error:
        raise ValueError(f"The bytes of this {WHAT} are damaged. To continue, {REMEDY}.") from error
    return raw
