"""The state of an old checkpoint as the initial state of a new one, with another number of buckets.

    old buckets ──► their keys ──► Spark hashes them to new buckets ──► old buckets, split ──► one row per new bucket
    state store     mapInArrow     bucket_of                           mapInArrow            Spark's initial state

Only Spark hashes keys as Spark does, so states are split in two steps. Every new bucket gets a row, because also a bucket without keys must
know the watermark: its windows before that are closed.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import starmap
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, GroupedData, SparkSession
from pyspark.sql import functions as F  # noqa: N812 — the usual name
from pyspark.sql.types import IntegerType, StructField, StructType

from sash.spark.arrow_types import arrow_schema
from sash.spark.groups import bucket_of, numbered, plain_names, spread_out
from sash.spark.streaming.bucket import HEAD, STATES, StreamTask
from sash.spark.streaming.checkpoint import Batches, decoded, only_operator, read_states, read_variable, stored_query
from sash.state.evolve import StoredState, check_evolves
from sash.state.evolved_states import EvolvedStates
from sash.state.fingerprint import Fingerprint, changes, check_same_query
from sash.state.regroup import agree, encode_piece, keys_of, split_state
from sash.state.stream_state import StreamState
from sash.windows.base import NEVER
from sash.workers.own_columns import GROUP
from sash.workers.packing import GUARD
from sash.workers.worker_function import marked_errors

if TYPE_CHECKING:
    from sash.spark.streaming.stream_query import StreamQuery

OLD, STATE_NUMBER, KEYS_NUMBER, PLACE, PLACES, PIECE = (
    "sash_old", "sash_state_number", "sash_keys_number", "sash_place", "sash_places", "sash_piece",
)  # fmt: skip
SUMMARY = "newest bigint, due bigint, described string"
PIECES = f"{GROUP} int, {PIECE} binary"


def initial_state(streaming: StreamQuery) -> GroupedData | None:
    """Return the initial state of a stream; None if it starts from nothing.

    Raise ValueError if the old checkpoint has no state, belongs to a different query, or is not complete.
    """
    checkpoint = streaming.options["state_from"]
    if checkpoint is None:
        return None
    spark, task = streaming.frame.sparkSession, streaming.task
    check_committed(spark, checkpoint)
    stored = only_operator(spark, checkpoint, "state_from=")
    everything = read_states(spark, checkpoint, stored)
    then = stored_query(everything)
    if then is None:
        raise ValueError(
            f"No row has arrived in the stream of {checkpoint!r}, so there is no state. Leave state_from= out."
        )
    now = {**task.fingerprint, "buckets": then.get("buckets")}
    if changes(then, now):
        (check_evolves if task.evolve else check_same_query)(then, now)
    states = everything.filter(f"{GROUP} <> {GUARD}").withColumnRenamed(GROUP, OLD)
    heads = read_variable(spark, checkpoint, stored, HEAD)
    watermark = int(heads.agg(F.max("value.watermark")).collect()[0][0])  # of all buckets, in ticks
    regrouping = Regrouping(task, now, watermark)
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
        empty.states = EvolvedStates.like(empty.prepared, empty.options, agreed)
    encoded = encode_piece(empty, task.fingerprint, agreed)
    return _by_bucket(streaming, states, replace(regrouping, described=agreed), encoded)


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


def _by_bucket(streaming: StreamQuery, states: DataFrame, regrouping: Regrouping, empty: bytes) -> GroupedData:
    """Return one row for each new bucket: an empty state, and the pieces of old buckets that it gets."""
    spark, by = streaming.frame.sparkSession, streaming.query.by
    numbers = spread_out(streaming.buckets)
    fields = [streaming.frame.schema[name] for name in by]
    names = [OLD, STATE_NUMBER, KEYS_NUMBER, PLACE]
    listed = StructType([*(StructField(name, IntegerType()) for name in names), *fields]).toNullable()
    if by:
        sent = zip(plain_names(listed.names), (field.dataType for field in listed), strict=True)
        list_keys = regrouping.listing(arrow_schema(listed, "UTC"))
        keys = states.mapInArrow(list_keys, StructType(list(starmap(StructField, sent)))).toDF(*listed.names)
        keys = keys.withColumn(GROUP, numbered(bucket_of(by, streaming.frame.schema, streaming.buckets), numbers))
        place = F.struct(STATE_NUMBER, KEYS_NUMBER, PLACE, GROUP)
        states = states.join(keys.groupBy(OLD).agg(F.collect_list(place).alias(PLACES)), OLD)
    pieces = states.mapInArrow(regrouping.split if by else regrouping.take_whole, PIECES)
    together = pieces.groupBy(GROUP).agg(F.collect_list(PIECE).alias(PIECE))
    every = spark.createDataFrame([(number,) for number in numbers], f"{GROUP} int").join(together, GROUP, "left")
    own_pieces = F.coalesce(PIECE, F.array().cast("array<binary>"))
    return every.select(GROUP, F.concat(F.array(F.lit(bytearray(empty))), own_pieces).alias(STATES)).groupBy(GROUP)


@dataclass(frozen=True)
class Regrouping:
    """What workers do with the state of each old bucket."""

    task: StreamTask
    now: Fingerprint
    """The fingerprint of the query, with the old number of buckets."""
    watermark: int
    newest: int = NEVER
    """The time of the newest row of all buckets, if it is known."""
    described: list[Any] | None = None
    """Of what the states of all buckets are."""

    def summarise(self, batches: Batches) -> Batches:
        """Yield what must be known of all buckets before one is split."""
        for state, _ in self._states(batches):
            summary = {"newest": state.newest, "due": state.due, "described": json.dumps(state.states.described)}
            yield pa.RecordBatch.from_pylist([summary])

    def listing(self, schema: pa.Schema) -> Callable[[Batches], Batches]:
        """Return the function that yields the keys of each bucket, with their places in its state."""

        def list_keys(batches: Batches) -> Batches:
            for state, row in self._states(batches):
                for number, part, keys in keys_of(state):
                    count = len(keys)
                    numbers = [np.full(count, row[OLD]), np.full(count, number), np.full(count, part), np.arange(count)]
                    columns = [pa.array(one.astype(np.int32)) for one in numbers]
                    columns += [keys[one.name].combine_chunks().cast(one.type) for one in list(schema)[len(columns) :]]
                    yield pa.record_batch(columns, names=plain_names(schema.names))

        return list_keys

    def split(self, batches: Batches) -> Batches:
        """Yield the pieces of each bucket, with the new buckets that they are for."""
        for state, row in self._states(batches):
            places = {(number, part): np.full(len(keys), -1) for number, part, keys in keys_of(state)}
            for place in row[PLACES]:
                places[place[STATE_NUMBER], place[KEYS_NUMBER]][place[PLACE]] = place[GROUP]
            for bucket, piece in split_state(state, places, self.task.fingerprint, self.described):
                yield _piece(bucket, piece)

    def take_whole(self, batches: Batches) -> Batches:
        """Yield the state of the only bucket of a query without keys."""
        for state, _ in self._states(batches):
            yield _piece(spread_out(1)[0], encode_piece(state, self.task.fingerprint, self.described))

    def _states(self, batches: Batches) -> Iterator[tuple[StreamState, dict[str, Any]]]:
        with marked_errors():
            for state, row in decoded(batches, self.task, self.now, self.newest):
                state.states.settle(self.watermark)
                yield state, row


def _piece(bucket: int, piece: bytes) -> pa.RecordBatch:
    return pa.record_batch([pa.array([bucket], pa.int32()), pa.array([piece], pa.binary())], names=[GROUP, PIECE])
