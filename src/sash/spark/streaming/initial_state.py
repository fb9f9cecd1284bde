"""The state of an old checkpoint as the initial state of a new one, with another number of buckets.

    old shards ──► split by the hashes of their keys ──► joined by new bucket ──► Spark's initial state
    state store    mapInArrow                            groupBy

Every new bucket gets a row, because also a bucket without keys must know the watermark: its windows before that are closed.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql import GroupedData, SparkSession
from pyspark.sql import functions as F  # noqa: N812 — the usual name

from sash.spark.private import tasks_with_state
from sash.spark.streaming.bucket import STATES
from sash.spark.streaming.checkpoint import Batches, decoded, only_operator, read_heads, read_states
from sash.spark.streaming.stream_task import StreamTask
from sash.state.evolve import StoredState, check_evolves
from sash.state.fingerprint import changes, check_same_query
from sash.state.regroup import agree, split_state
from sash.state.stream_state import StreamState
from sash.state.window_states import WindowStates
from sash.windows.base import NEVER
from sash.workers.own_columns import GROUP
from sash.workers.packing import bucket_places, pack_state
from sash.workers.spread import spread_out
from sash.workers.worker_function import marked_errors

if TYPE_CHECKING:
    from sash.spark.streaming.stream_query import StreamQuery

PIECE = "sash_piece"
SUMMARY = "newest bigint, due bigint, described string"
PIECES = f"{GROUP} int, {PIECE} binary"


def state_of_checkpoint(streaming: StreamQuery, checkpoint: str) -> GroupedData:
    """Return the state of an old checkpoint as the initial state of a stream.

    Raise ValueError if the old checkpoint has no state, belongs to a different query, or is not complete.
    """
    spark, task = streaming.frame.sparkSession, streaming.task
    check_committed(spark, checkpoint)
    stored = only_operator(spark, checkpoint, "state_from=")
    then, heads = read_heads(spark, checkpoint, stored)
    if then is None:
        raise ValueError(
            f"No row has arrived in the stream of {checkpoint!r}, so there is no state. Leave state_from= out."
        )
    then = {part: then[part] for part in then if part != "buckets"}
    now = task.fingerprint
    if changes(then, now):
        (check_evolves if task.evolve else check_same_query)(then, now)
    states = read_states(spark, checkpoint, stored)
    watermark = max(head.watermark for head in heads)  # of all buckets, in ticks
    regrouping = Regrouping(task, tasks_with_state(streaming.buckets), watermark)
    summaries = states.mapInArrow(regrouping.summarise, SUMMARY).collect()
    if any(summary["due"] <= watermark for summary in summaries):
        raise ValueError(
            f"The last micro-batch of the stream of {checkpoint!r} is not complete. Start this stream again, and stop it after it."
        )
    newest = max([watermark - 1, *(summary["newest"] for summary in summaries)])
    empty = task.new_state()
    empty.watermark, empty.newest = watermark, newest
    evolved = []
    if changes(then, now):  # all buckets evolve now, after the newest row of all
        regrouping = replace(regrouping, newest=newest)
        summaries = states.mapInArrow(regrouping.summarise, SUMMARY).collect()
        empty.evolve(StoredState(then, {}, watermark, newest), now)
        evolved = [empty.states.described]
    described = [*(json.loads(summary["described"]) for summary in summaries), *evolved]
    agreed = agree(described)
    if agreed is not None:
        empty.states = WindowStates.like(empty.prepared, empty.options, agreed)
    regrouping = replace(regrouping, described=agreed, empty=empty.encode(task.fingerprint))
    every = spark.range(0, 1, 1, 1).mapInArrow(regrouping.every_bucket, PIECES)
    pieces = every.union(states.mapInArrow(regrouping.split, PIECES))
    return pieces.groupBy(GROUP).agg(F.collect_list(PIECE).alias(STATES)).groupBy(GROUP)


def check_committed(spark: SparkSession, checkpoint: str) -> None:
    """Raise ValueError if the last micro-batch of a checkpoint is not committed."""
    numbers = []
    for folder in ("offsets", "commits"):
        paths = spark.read.format("binaryFile").load(f"{checkpoint}/{folder}").select("path").collect()
        numbers.append(max((int(name) for row in paths if (name := row.path.rsplit("/", 1)[1]).isdigit()), default=-1))
    if numbers[0] != numbers[1]:
        raise ValueError(
            f"Micro-batch {numbers[0]} of the stream of {checkpoint!r} has begun, but is not committed: the stream still runs, or was stopped "
            "in the midst of it. Let it finish, for example with trigger(availableNow=True), and stop it."
        )


@dataclass(frozen=True)
class Regrouping:
    """What workers do with the state of each old bucket."""

    task: StreamTask
    count_buckets: Callable[[], int]
    """Returns the number of new buckets, in a task."""
    watermark: int
    newest: int = NEVER
    """The time of the newest row of all buckets, if it is known."""
    described: list[Any] | None = None
    """Of what the states of all buckets are."""
    empty: bytes = b""
    """The state of no keys."""

    def summarise(self, batches: Batches) -> Batches:
        """Yield what must be known of all buckets before one is split."""
        for state, _ in self._states(batches):
            summary = {"newest": state.newest, "due": state.due, "described": json.dumps(state.states.described)}
            yield pa.RecordBatch.from_pylist([summary])

    def every_bucket(self, _: Batches) -> Batches:
        """Yield the state of no keys, for each new bucket."""
        for bucket in spread_out(self.count_buckets()):
            yield _piece(bucket, self.empty)

    def split(self, batches: Batches) -> Batches:
        """Yield the pieces of each shard, with the new buckets that they are for."""
        task, buckets = self.task, self.count_buckets()
        for state, _ in self._states(batches):
            pieces = split_state(state, task.new_state, lambda hashes: bucket_places(hashes, buckets), self.described)
            for place, piece in pieces:
                yield _piece(spread_out(buckets)[place], piece.encode(task.fingerprint))

    def _states(self, batches: Batches) -> Iterator[tuple[StreamState, dict[str, Any]]]:
        with marked_errors():
            for state, row in decoded(batches, self.task, self.task.fingerprint, self.newest):
                state.states.settle(self.watermark)
                yield state, row


def _piece(bucket: int, piece: bytes) -> pa.RecordBatch:
    packed = pack_state(piece)
    return pa.record_batch([pa.array([bucket], pa.int32()), pa.array([packed], pa.binary())], names=[GROUP, PIECE])
