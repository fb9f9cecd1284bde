"""The history of a stream as the initial state of a new checkpoint: a DataFrame of the rows before a time T.

    history ──► hash of the key ──► states at T, by task ──► split by bucket ──► joined by bucket ──► Spark's initial state
                shuffle             history_worker.py, mapInArrow               groupBy

Nothing runs on the driver. The job is a part of the first micro-batch, and of no other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from pyspark.sql import Column, DataFrame, GroupedData
from pyspark.sql import functions as F  # noqa: N812 — the usual name
from pyspark.sql.types import DataType, DecimalType, NullType, StructField, TimestampNTZType, TimestampType

from sash.aggregates.sql import quote
from sash.columns.buffers import as_arrow, as_numpy
from sash.engine.bad_times import check_times, split_times
from sash.engine.time_column import TimeColumn
from sash.spark.groups import hash_of, plain_names
from sash.spark.private import tasks_with_state
from sash.spark.spark_query import SparkQuery, zone_of
from sash.spark.streaming.bucket import OLDEST, STATES
from sash.spark.streaming.checkpoint import Batches
from sash.spark.streaming.initial_state import PIECE
from sash.spark.streaming.stream_task import StreamTask
from sash.state.codec import as_schema
from sash.state.history import is_limited, reach_in_ticks, read_until
from sash.state.regroup import split_state
from sash.windows.base import FOREVER
from sash.workers.history_worker import HistoryWorker
from sash.workers.own_columns import GROUP, HASH
from sash.workers.packing import bucket_places, pack_state
from sash.workers.spread import spread_out
from sash.workers.worker_function import marked_errors, titled

if TYPE_CHECKING:
    from sash.spark.streaming.stream_query import StreamQuery

OWN_SHUFFLE = "sash: the history of a key"
PIECES = f"{GROUP} int, {PIECE} binary, {OLDEST} bigint"


def read_until_on_spark(streaming: SparkQuery, time: TimeColumn, until: Any) -> int:
    """Return the time `until` in ticks; one without a zone is in that of the session, as in Spark's SQL."""
    is_instant = isinstance(streaming.frame.schema[time.name].dataType, TimestampType)
    return read_until(time, until, zone_of(streaming.frame.sparkSession) if is_instant else "")


def check_history(history: Any, frame: DataFrame) -> None:
    """Raise TypeError or ValueError if a history is not a batch DataFrame of the same session."""
    if not isinstance(history, DataFrame):
        raise TypeError(
            "history= of a streaming DataFrame must be a batch DataFrame of Spark, but it is a "
            f"{type(history).__module__.partition('.')[0]}.{type(history).__name__}. spark.createDataFrame(…) makes one."
        )
    if history.isStreaming:
        raise TypeError(
            "history= is a streaming DataFrame, but it must be a batch DataFrame: spark.read, not spark.readStream."
        )
    if history.sparkSession is not frame.sparkSession and not hasattr(history, "_plan"):
        raise ValueError("history= belongs to another Spark session than the stream. Read both with the same session.")


def history_state(streaming: StreamQuery) -> GroupedData:
    """Return the initial state of a stream from its history."""
    rows = history_rows(streaming)
    names = rows.columns
    sent = rows.toDF(*plain_names(names))
    job = HistoryJob(streaming.task, tasks_with_state(streaming.buckets), tuple(names))

    def compute(batches: Batches) -> Batches:
        yield from job.states(batches)

    states = sent.mapInArrow(titled(compute, f"history of {streaming.query.title}"), PIECES)
    every = streaming.frame.sparkSession.range(0, 1, 1, 1).mapInArrow(job.every_bucket, PIECES)
    collected = [F.collect_list(PIECE).alias(STATES), F.min(OLDEST).alias(OLDEST)]
    return every.union(states).groupBy(GROUP).agg(*collected).groupBy(GROUP)


def history_rows(streaming: StreamQuery) -> DataFrame:
    """Return the rows of the history before T, with the columns and types of the stream, those of a key in one partition."""
    query, by = streaming.query, streaming.query.by
    history = SparkQuery(streaming.identified.query, streaming.options["history"], streaming.options)
    known = set(history.frame.columns)
    missing = [name for name in streaming.schema.names if name not in known]
    if missing and any(window.frame and window.frame.looks_ahead for window in query.windows.values()):
        raise ValueError(
            f"history: column {missing[0]!r} is missing, and results of its rows need it, as windows look ahead."
        )
    columns = []
    for field in (streaming.frame.schema[name] for name in streaming.schema.names):
        column = F.lit(None) if field.name in missing else F.col(quote(field.name))
        is_same = field.name not in missing and history.frame.schema[field.name].dataType == field.dataType
        if not is_same and field.name not in missing:
            _check_type(field, history.frame.schema[field.name])
        columns.append((column if is_same else column.cast(field.dataType)).alias(field.name))
    rows = history.frame.select(*columns).where(_matters(streaming))
    if not by:
        return rows.repartition(1)
    hashed = rows.withColumn(HASH, hash_of(by, rows.schema))
    return hashed.repartition(F.xxhash64(F.lit(OWN_SHUFFLE), F.col(HASH)))


def _check_type(field: StructField, older: StructField) -> None:
    """Raise TypeError if a cast of a column of the history to the type in the stream may change a value."""
    has_none = any(isinstance(each.dataType, TimestampNTZType) for each in (field, older))
    of_history, of_stream = older.dataType.simpleString(), field.dataType.simpleString()
    if has_none and any(isinstance(each.dataType, TimestampType) for each in (field, older)):
        raise TypeError(
            f"Column {field.name!r} of the history is {of_history}, but that of the stream is {of_stream}: only one has a time zone."
        )
    if of_history != of_stream and not holds_all(field.dataType, older.dataType):
        raise TypeError(
            f"Column {field.name!r} of the history is {of_history} and does not fit that of the stream, {of_stream}. Cast one of them."
        )


def holds_all(wide: DataType, narrow: DataType) -> bool:
    """Return whether a type holds all values of another one without loss.

    >>> from pyspark.sql.types import DoubleType, IntegerType, LongType
    >>> holds_all(LongType(), IntegerType()), holds_all(DoubleType(), IntegerType()), holds_all(LongType(), DoubleType())
    (True, True, False)
    """
    digits = {"tinyint": 3, "smallint": 5, "int": 10, "bigint": 19}
    name = narrow.simpleString()
    if isinstance(narrow, NullType):
        return True
    if isinstance(wide, DecimalType):
        whole, scale = (digits.get(name), 0)
        if isinstance(narrow, DecimalType):
            whole, scale = narrow.precision - narrow.scale, narrow.scale
        return whole is not None and wide.scale >= scale and wide.precision - wide.scale >= whole
    wider = {
        "smallint": ("tinyint",),
        "int": ("tinyint", "smallint"),
        "bigint": ("tinyint", "smallint", "int"),
        "float": ("tinyint", "smallint"),
        "double": ("tinyint", "smallint", "int", "float"),
    }
    return name in wider.get(wide.simpleString(), ())


def _matters(streaming: StreamQuery) -> Column:
    """Return which rows to shuffle: those before T, and those without a time, which may be an error.

    Without `partial`, older rows than windows need show that nothing is missing.
    """
    assert streaming.until is not None
    time = F.col(quote(str(streaming.query.time)))
    matters = time < F.timestamp_micros(F.lit(streaming.until))
    if streaming.options["partial"] and is_limited(streaming.prepared):
        reach = reach_in_ticks(streaming.prepared) or 0
        matters &= time >= F.timestamp_micros(F.lit(streaming.until - reach))
    return matters | time.isNull()


@dataclass(frozen=True)
class HistoryJob:
    """What workers do with the history."""

    task: StreamTask
    count_buckets: Callable[[], int]
    """Returns the number of buckets, in a task."""
    names: tuple[str, ...]

    def every_bucket(self, _: Batches) -> Batches:
        """Yield the state of no keys, for each bucket: those without keys must know the watermark, too."""
        assert self.task.until is not None
        empty = self.task.new_state()
        empty.watermark = self.task.until
        empty.newest = self.task.until - 1
        piece = pack_state(empty.encode(self.task.fingerprint))
        for bucket in spread_out(self.count_buckets()):
            yield _row(bucket, piece, FOREVER)

    def states(self, batches: Batches) -> Batches:
        """Yield the pieces of the state, with their buckets; and for each bucket the oldest time of the history."""
        task = self.task
        assert task.until is not None
        with marked_errors():
            places = spread_out(buckets := self.count_buckets())
            worker = HistoryWorker(task.prepared(), task.new_state, task.until)
            for state in worker.states(map(self._named, self._good(batches))):
                for place, part in split_state(state, task.new_state, lambda hashes: bucket_places(hashes, buckets)):
                    yield _row(places[place], pack_state(part.encode(task.fingerprint)), FOREVER)
            if worker.rows.oldest < FOREVER:
                for bucket in places:
                    yield _row(bucket, None, worker.rows.oldest)

    def _good(self, batches: Batches) -> Iterator[pa.RecordBatch]:
        """Yield the rows with a usable time."""
        query = self.task.worker.query
        assert query.time is not None
        for batch in batches:
            if not len(batch):
                continue
            table = pa.Table.from_batches([batch.rename_columns(list(self.names))])
            good, without, ahead = split_times(table, query.time, None)
            if self.task.on_bad_time == "error":
                check_times(without, ahead, query.by, query.time)
            yield from good.to_batches()

    def _named(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        table = pa.Table.from_batches([batch])
        prepared = self.task.prepared()
        if HASH in batch.schema.names:
            hashes = as_numpy(batch[HASH]).astype(np.int32)  # the last 32 bits, as in packed rows
            table = table.set_column(table.column_names.index(HASH), HASH, as_arrow(hashes))
        return as_schema(table.select(prepared.schema.names), prepared.schema).combine_chunks().to_batches()[0]


def _row(bucket: int, piece: bytes | None, oldest: int) -> pa.RecordBatch:
    arrays = [pa.array([bucket], pa.int32()), pa.array([piece], pa.binary()), pa.array([oldest], pa.int64())]
    return pa.record_batch(arrays, names=[GROUP, PIECE, OLDEST])
