"""BucketProcessor: what runs for each bucket of keys in each micro-batch. State in, rows in, results out, state out.

packed rows ──► StreamState ──► packed results, row counts
                 ▲ │
                 │ ▼
RocksDB: the shards of the bucket, and a timer, in case no rows arrive

There is one bucket per task, unless the user chooses their number. `defer` returns the processor as Spark sends it: the query is
unpickled, and Sash imported, when the first rows arrive.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyspark import cloudpickle
from pyspark.sql import Row
from pyspark.sql.streaming import stateful_processor as api

from sash.columns.buffers import as_arrow
from sash.columns.read_column import readable
from sash.engine.bad_times import check_times, split_times
from sash.spark import COUNTED
from sash.spark.streaming.shards import (
    LOG,
    LOG_KEY,
    MILLISECOND,
    STATE,
    STORED,
    BucketStore,
    Shard,
    compressed,
    decompressed,
)
from sash.spark.streaming.stream_task import StreamTask
from sash.state.codec import as_schema, encode_state, read_state_header, read_table
from sash.state.erased_keys import is_among
from sash.state.evolve import StoredState, check_evolves
from sash.state.fingerprint import changes, check_same_query
from sash.state.history import check_length, split_overlap
from sash.state.regroup import join_states
from sash.state.stored_items import StateSize
from sash.state.stream_state import Emitted, first_in_time
from sash.workers.packing import BUCKETS, ERASED, GUARD, ROWS, unpack_state
from sash.workers.result_arrays import as_emitted
from sash.workers.worker_function import marked_errors

NOT_EMITTED = 1
"""When a shard from another checkpoint is due, in milliseconds, if no store has the states of its keys yet: at the first watermark."""
STATES = "sash_states"
"""The column of the initial state: the states of parts of the keys of a bucket, as bytes."""
OLDEST = "sash_oldest"
"""The column of the initial state with the time of the oldest row of a history, in ticks."""
COUNTS = "sash_counts"
"""The column of what was counted, an array in the order of COUNTED."""


@dataclass
class BucketProcessor:
    """What Spark calls for each bucket, through a `DeferredProcessor`, with the state variables that it has opened."""

    task: StreamTask
    handle: api.StatefulProcessorHandle
    state: api.ValueState
    log: api.MapState

    def add_rows(self, key: Any, rows: Iterator[Row], times: api.TimerValues) -> Iterator[Row]:
        """Add the rows of a bucket that arrived in this micro-batch."""
        with marked_errors():
            tables = [read_table(row[ROWS]) for row in rows]
            if key[0] == GUARD:
                self._guard(int(tables[0].schema.metadata[BUCKETS]))
                return
            erased = [table for table in tables if ERASED in (table.schema.metadata or {})]
            arrived = [table for table in tables if ERASED not in (table.schema.metadata or {})]
            table = pa.concat_tables(arrived) if arrived else None
            yield from self._advance(key[0], table, times, None, erased[0] if erased else None)

    def pass_time(self, key: Any, times: api.TimerValues, expired: int) -> Iterator[Row]:
        """Emit what is due in a bucket that may have no new rows, as a timer has expired."""
        with marked_errors():
            yield from self._advance(key[0], None, times, expired)

    def start_from(self, key: Any, initial: Mapping[str, Any]) -> None:
        """Store the state of a bucket that comes from another checkpoint or from a history, before its first rows."""
        task = self.task
        with marked_errors():
            if task.until is not None and not task.partial and OLDEST in initial:
                check_length(task.prepared(), initial[OLDEST], task.until)
            state = join_states(task.new_state, map(unpack_state, initial[STATES]), task.fingerprint)
            store = self._store(key[0])
            stored = store.store(Shard(), state)
            if self.task.layout is not None:
                stored = [shard if shard.token is None else shard._replace(due=NOT_EMITTED) for shard in stored]
            store.close(state.watermark, stored)
            self._set_timer(None, None, store.head.due)

    def _store(self, bucket: int) -> BucketStore:
        return BucketStore(self.task, bucket, self.state, self.log)

    def _guard(self, buckets: int) -> None:
        """Raise ValueError if the checkpoint belongs to a different query. The guard always has state, other buckets may have none."""
        task, known = self.task, self.state.get()
        now = {**task.fingerprint, "buckets": buckets}
        if known is not None:
            then = read_state_header(decompressed(known))["query"]
            if not changes(then, now):
                return
            if task.evolve:  # buckets evolve when they are next used; what they could not do is an error now
                check_evolves(then, now)
                task.new_state().evolve(StoredState({**then, "buckets": None}, {}, 0, 0), {**now, "buckets": None})
            else:
                check_same_query(then, now)
        elif task.until is not None and not task.starts:
            raise ValueError(
                "until= is where a history ends, but this checkpoint is new and has none. Pass history=, or leave until= out."
            )
        self.state.update(compressed(encode_state({}, 0, now)))

    def _advance(
        self,
        bucket: int,
        table: pa.Table | None,
        times: api.TimerValues,
        expired: int | None,
        erased: pa.Table | None = None,
    ) -> Iterator[Row]:
        """Yield the packed results of a bucket, for its new rows and the watermark: those of each shard that has some."""
        task, prepared = self.task, self.task.prepared()
        assert prepared.unit.tick is not None
        ticks, watermark = MILLISECOND // prepared.unit.tick, times.getCurrentWatermarkInMs()
        store = self._store(bucket)
        before = store.head
        rows, arrived, bad_times, overlap = pa.Table.from_batches([], task.arriving), 0, 0, 0
        if table is not None:
            arrived, clock = len(table), times.getCurrentProcessingTimeInMs() * ticks
            rows, bad_times = self._good_rows(as_schema(readable(table), task.arriving), clock)
            if task.until is not None and prepared.time is not None:
                rows, overlap = split_overlap(rows, prepared.time, task.until)
        if erased is not None:
            rows = rows.filter(as_arrow(~is_among(rows, erased, task.worker.query.by)))
        erased_of = [None] * len(before.shards) if erased is None else store.split_rows(erased)
        now = max(before.watermark, first_in_time(prepared, watermark * ticks))
        stored: list[Shard] = []
        for shard, own, keys in zip(before.shards, store.split_rows(rows), erased_of, strict=True):
            if not len(own) and not keys and (shard.due is None or shard.due > watermark):
                stored.append(shard)
                continue
            state = store.load(shard)
            if shard.due == NOT_EMITTED:
                state.emit_all()
            if keys:
                state.erase(keys)
            emitted = state.advance(own, now)
            written = store.written
            stored += store.store(shard, state)
            counted = self._counted(emitted, state.size, store.written - written)
            yield from self._rows(
                emitted.results, {**counted, "rows": arrived, "bad_times": bad_times, "overlap": overlap}
            )
            arrived = bad_times = overlap = 0
        store.close(now, stored)
        if erased is not None:
            store.remove_old_entries()
        self._set_timer(before.due, expired, store.head.due)
        if arrived:
            yield from self._rows(None, {"rows": arrived, "bad_times": bad_times, "overlap": overlap})

    def _counted(self, emitted: Emitted, size: StateSize, written: int) -> dict[str, int]:
        state = {"keys": size.keys, "slices": size.slices, "state_rows": size.rows, "state_bytes": written}
        return {"late": emitted.late, "forgotten": emitted.forgotten, **state}

    def _rows(self, results: pa.Table | None, counted: dict[str, int]) -> Iterator[Row]:
        """Yield results as arrays or packed, with what was counted in the first row."""
        parts = [] if results is None else list(self.task.worker.as_declared(results))
        for part in parts or [None]:
            emitted = as_emitted(self.task.worker.results, part)
            yield Row(**emitted, **{COUNTS: [counted.get(name, 0) for name in COUNTED]})
            counted = {}

    def _good_rows(self, table: pa.Table, clock: int) -> tuple[pa.Table, int]:
        """Return the rows with a usable time, and the number of others."""
        task, query = self.task, self.task.worker.query
        assert query.time is not None
        latest = None if task.ahead is None else clock + task.ahead
        good, without, ahead = split_times(table, query.time, latest)
        if task.on_bad_time == "error":
            check_times(without, ahead, query.by, query.time)
        return good, len(without) + len(ahead)

    def _set_timer(self, before: int | None, expired: int | None, due: int | None) -> None:
        """Register the timer of a bucket; Spark removes a timer that has expired."""
        if before == due and expired != due:  # it is registered already
            return
        if before is not None and before != expired:
            self.handle.deleteTimer(before)
        if due is not None:
            self.handle.registerTimer(due)


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
            self.opened = (handle, handle.getValueState(STATE, STORED), handle.getMapState(LOG, LOG_KEY, STORED))
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
            """Store the state of a bucket that comes from another checkpoint or from a history."""
            self.in_worker().start_from(key, initialState.asDict())

        def close(self) -> None:
            """Spark calls this at the end of a task; there is nothing to close."""

        def in_worker(self) -> Any:
            """Return the BucketProcessor, made when the first rows arrive."""
            if self.processor is None:
                from sash.spark.streaming.bucket import BucketProcessor  # noqa: PLC0415 — in workers only

                self.processor = BucketProcessor(pickle.loads(pickled), *self.opened)  # noqa: S301 — Spark has unpickled this class, too
            return self.processor

    return DeferredProcessor()
