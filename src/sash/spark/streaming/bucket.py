"""What runs for each bucket of keys in each micro-batch: state in, rows in, results out, state out.

packed rows ──► keeper ──► packed results, rows counted
                 ▲ │
                 │ ▼
RocksDB: one value for a bucket, and the time at which it must be looked at again, if no rows come
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyspark.sql import Row
from pyspark.sql.streaming.stateful_processor import (
    ExpiredTimerInfo,
    StatefulProcessor,
    StatefulProcessorHandle,
    TimerValues,
)

from sash.engine.column_types import readable
from sash.engine.local import Local
from sash.spark.batch.worker import Worker
from sash.spark.streaming import state_cache as nearby
from sash.spark.streaming.bad_times import refuse_bad_times, split_times
from sash.spark.streaming.packing import GUARD, RESULTS, ROWS
from sash.state.codec import as_columns, read_table, table_bytes
from sash.state.fingerprint import Described
from sash.state.stream_state import THEN, WHAT, Keeper, first_in_time, read_state, refuse_another
from sash.windows.base import FOREVER

HEAD, STATE = "sash_head", "sash_state"
"""The names of what a bucket keeps: a little that is read each time, and all of it."""
HEAD_COLUMNS, STATE_COLUMNS = "token string, due bigint", "size bigint, state binary"
CODEC = "lz4"
COUNTED = ("rows", "late", "bad_times")
"""What is counted in each micro-batch: rows that came, those that came too late, those without a time that can be used."""
ANSWERED = ", ".join([f"{RESULTS} binary", *(f"{name} bigint" for name in COUNTED)])
MILLISECOND = 1_000_000
MOST_QUERIES = 16
_ready: dict[str, Local] = {}
"""Queries made ready: a Python worker is sent the same ones in each micro-batch."""


@dataclass(frozen=True)
class Standing:
    """A query on a stream, as it is sent to workers."""

    name: str
    """Unlike that of any other."""
    worker: Worker
    schema: pa.Schema
    """The columns that rows are read as."""
    described: Described
    mode: str
    on_bad_time: str
    ahead: int | None
    """How many ticks before the clock a time may be; None if that doesn't matter."""
    chained: bool = False
    """Whether rows come from an operator that has state itself: it gives them when the watermark passes them."""

    def ready(self) -> Local:
        """Return the query made ready, once in a process."""
        if self.name not in _ready:
            while len(_ready) >= MOST_QUERIES:
                del _ready[next(iter(_ready))]
            _ready[self.name] = self.worker.local(self.worker.declared, self.schema)
        return _ready[self.name]


class Bucket(StatefulProcessor):
    """What Spark calls for each bucket."""

    def __init__(self, standing: Standing) -> None:
        self.standing = standing

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Make ready for a task."""
        self.handle = handle
        self.head = handle.getValueState(HEAD, HEAD_COLUMNS)
        self.state = handle.getValueState(STATE, STATE_COLUMNS)

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: TimerValues) -> Iterator[Row]:  # noqa: N802, N803
        """Take the rows of a bucket that came in this micro-batch."""
        tables = [read_table(row[ROWS]) for row in rows]
        if key[0] == GUARD:
            self._guard()
        else:
            yield self._go_on(key[0], pa.concat_tables(tables), timerValues, None)

    def handleExpiredTimer(  # noqa: N802
        self,
        key: Any,
        timerValues: TimerValues,  # noqa: N803
        expiredTimerInfo: ExpiredTimerInfo,  # noqa: N803
    ) -> Iterator[Row]:
        """Give what is due in a bucket, whether rows of it came or not."""
        yield self._go_on(key[0], None, timerValues, expiredTimerInfo.getExpiryTimeInMs())

    def close(self) -> None:
        """Nothing is open."""

    def _guard(self) -> None:
        """Say so if the state is of another query; a bucket can't, where it has none yet."""
        known = self.state.get()
        if known is not None:
            refuse_another(read_state(decompressed(known))["query"], self.standing.described)
        else:
            self.state.update(
                compressed(Keeper(self.standing.ready(), self.standing.mode).freeze(self.standing.described))
            )

    def _go_on(self, group: int, table: pa.Table | None, times: TimerValues, expired: int | None) -> Row:
        """Return what came of a bucket's rows and its time, packed."""
        local = self.standing.ready()
        assert local.time is not None
        assert local.time.tick is not None
        keeper = Keeper(local, self.standing.mode)
        due = self._thaw(group, keeper)
        ticks = MILLISECOND // local.time.tick
        rows, bad_times = local.schema.empty_table(), 0
        if table is not None:
            rows, bad_times = self._good_rows(
                as_columns(readable(table), local.schema), times.getCurrentProcessingTimeInMs() * ticks
            )
        now = first_in_time(local, times.getCurrentWatermarkInMs() * ticks)
        taken = keeper.take(rows, now, before_it=self.standing.chained)
        next_due = due_in_milliseconds(keeper)
        self._freeze(group, keeper, next_due)
        self._wake(due, expired, next_due)
        results = None
        if len(taken.results):
            answered = pa.Table.from_batches(self.standing.worker.as_declared(taken.results))
            results = table_bytes(answered).tobytes()
        counted = (0 if table is None else len(table), taken.late, bad_times)
        return Row(**{RESULTS: results, **dict(zip(COUNTED, counted, strict=True))})

    def _good_rows(self, table: pa.Table, clock: int) -> tuple[pa.Table, int]:
        """Return the rows whose times can be used, and how many can't."""
        standing, declared = self.standing, self.standing.worker.declared
        assert declared.time is not None
        latest = None if standing.ahead is None else clock + standing.ahead
        good, without, ahead = split_times(table, declared.time, latest)
        if standing.on_bad_time == "error":
            refuse_bad_times(without, ahead, declared.by, declared.time)
        return good, len(without) + len(ahead)

    def _thaw(self, group: int, keeper: Keeper) -> int | None:
        """Let a keeper go on from what the bucket has, and return when it was to be looked at."""
        head = self.head.get()
        if head is None:
            return None
        token, due = head
        copy = nearby.read(self._place(group), token)
        try:
            keeper.thaw(copy or b"", self.standing.described)
        except ValueError:  # there is none, or it was damaged
            keeper.thaw(decompressed(self.state.get()), self.standing.described)
        return None if due is None else int(due)

    def _freeze(self, group: int, keeper: Keeper, due: int | None) -> None:
        """Keep what a keeper has."""
        if not len(keeper):
            self.head.clear()
            self.state.clear()
            nearby.forget(self._place(group))
            return
        state = keeper.freeze(self.standing.described)
        token = nearby.new_token()
        self.head.update((token, due))
        self.state.update(compressed(state))
        nearby.write(self._place(group), token, state)

    def _wake(self, before: int | None, expired: int | None, due: int | None) -> None:
        """See to it that the bucket is looked at when something is due; Spark removes a timer that has expired."""
        if before == due and expired != due:
            return
        if before is not None and before != expired:
            self.handle.deleteTimer(before)
        if due is not None:
            self.handle.registerTimer(due)

    def _place(self, group: int) -> str:
        return f"{self.standing.name}-{group}"


def due_in_milliseconds(keeper: Keeper) -> int | None:
    """Return the watermark of Spark's at which there is something to do; None if there will be nothing."""
    tick = keeper.local.time.tick if keeper.local.time else None
    due = keeper.due
    if due == FOREVER or tick is None:
        return None
    return -((first_in_time(keeper.local, 0) - due) * tick // MILLISECOND)


def compressed(state: bytes) -> tuple[int, bytes]:
    """Return a state as it goes to the store."""
    return len(state), pa.compress(state, CODEC, asbytes=True)


def decompressed(stored: tuple[Any, ...] | None) -> bytes:
    """Return a state as it was before it went to the store, or say that it isn't that any more."""
    try:
        size, state = stored or (0, b"")
        raw: bytes = pa.decompress(bytes(state), size, CODEC, asbytes=True)
    except (pa.ArrowInvalid, OSError) as error:
        message = f"The bytes of this {WHAT} were cut short or changed: {THEN}."
        raise ValueError(message) from error
    return raw
