"""A query on a streaming DataFrame: rows packed by bucket, one stateful operator, results unpacked.

    rows ──► packed by bucket ──► transformWithState ──► results unpacked
             mapInArrow           bucket.py, RocksDB     mapInArrow

A state for each key would be called upon for each key in each micro-batch; a bucket has many keys, and all they keep is one
value. How many buckets there are is part of the state.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 — as everyone calls it
from pyspark.sql.types import StructType, TimestampType

from sash.engine.column_types import readable_schema
from sash.plan.declared import Declared
from sash.spark.groups import bucket_of, numbered, plain_names, spread_out
from sash.spark.private import waits_for_watermark, watermark_delay, with_watermark_delay
from sash.spark.schema import GROUP
from sash.spark.spark_query import Prepared
from sash.spark.streaming.bad_times import CHOICES
from sash.spark.streaming.bucket import ANSWERED, COUNTED, Bucket, Standing
from sash.spark.streaming.packing import PACKED, RESULTS, packing, unpack
from sash.state.codec import nullable
from sash.state.fingerprint import Described, describe
from sash.state.reader import refuse_mode
from sash.state.slice_state import keeps_slices
from sash.windows.by_function import Custom
from sash.windows.durations import Given, read_duration

BUCKETS = 64
STORE = "spark.sql.streaming.stateStore.providerClass"
ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
METRICS = "sash"


@dataclass(frozen=True)
class Options:
    """How a query is run on a stream, where that is not left to Sash."""

    compiled: bool = True
    mode: str = "append"
    buckets: int | None = None
    """Groups of keys, each of which has one state."""
    types: Mapping[str, Any] | None = None
    """What aggregates give, by name, where that can't be known before they run."""
    on_bad_time: str = "error"
    """What comes of rows without a time that can be used: the stream stops, or they are dropped and counted."""
    ahead: Given | None = "1d"
    """How far ahead of the clock a time may be; None for any."""
    metrics: str = METRICS
    """The name that counts of rows have among the observed metrics of the stream."""


def prepare(declared: Declared, frame: DataFrame, options: dict[str, Any]) -> Streaming:
    """Return a query made ready for a stream, or say what is wrong with it."""
    return Streaming(declared, frame, Options(**options))


class Streaming(Prepared):
    """A query and the stream that it is for, checked."""

    def __init__(self, declared: Declared, frame: DataFrame, options: Options) -> None:
        _refuse_no_time(declared)
        super().__init__(declared, frame, compiled=options.compiled, types=options.types)
        self.options = options
        self.delay = _read_delay(declared, frame)
        _refuse_options(self.declared, options)
        _refuse_other_lateness(self)
        _refuse_other_store(frame)
        for window in self.declared.windows.values():
            if isinstance(window, Custom):
                window.refuse_lost_state()
        self.local.settle()

    @property
    def buckets(self) -> int:
        """How many groups keys are put into."""
        return (self.options.buckets or BUCKETS) if self.declared.by else 1

    @property
    def results(self) -> StructType:
        """The columns of the result; rows are late by the time of a row, or by the end of a window."""
        fields = super().results.fields
        event_time = self.declared.time if self.declared.per_row else "window_end"
        return StructType(
            [with_watermark_delay(field, self.delay) if field.name == event_time else field for field in fields]
        )

    @property
    def keeps_slices(self) -> bool:
        """Whether the state is slices rather than rows."""
        return self.options.mode == "append" and keeps_slices(self.local)

    @property
    def cuts_pairs(self) -> bool:
        """Whether slices are cut where windows begin and where they end, since they are kept whole."""
        return self.keeps_slices

    @property
    def described(self) -> Described:
        """What tells the query apart from others, whose state it can't go on from."""
        return describe(
            self.declared,
            {name: self.frame.schema[name].dataType.simpleString() for name in self.needed.columns},
            buckets=self.buckets,
            mode=self.options.mode,
            kept=f"slices, {self.declared.slicing}" if self.keeps_slices else "rows",
        )

    @property
    def standing(self) -> Standing:
        """What is sent to Python workers."""
        assert self.local.time is not None
        ahead = self.options.ahead
        return Standing(
            uuid.uuid4().hex,
            self.worker,
            nullable(readable_schema(self.schema)),
            self.described,
            self.options.mode,
            self.options.on_bad_time,
            None if ahead is None else read_duration(ahead, "ahead").in_ticks(self.local.time.tick, "ahead"),
            chained=waits_for_watermark(self.frame),
        )

    def run(self) -> DataFrame:
        """Return the results."""
        place = numbered(bucket_of(self.declared.by, self.frame.schema, self.buckets), spread_out(self.buckets))
        grouped = self.needed.withColumn(GROUP, place)
        names = grouped.columns
        packed = grouped.toDF(*plain_names(names)).mapInArrow(packing(names), PACKED)
        answered = packed.groupBy(GROUP).transformWithState(
            Bucket(self.standing), ANSWERED, self.options.mode, "EventTime"
        )
        counts = [F.coalesce(F.sum(name), F.lit(0)).alias(name) for name in COUNTED]
        return answered.observe(self.options.metrics, *counts).select(RESULTS).mapInArrow(unpack, self.results)


def _refuse_no_time(declared: Declared) -> None:
    if declared.time is None:
        message = 'A stream has no end to be sorted at: name the column that says when rows happened, as in Query(time="ts", …).'
        raise ValueError(message)


def _read_delay(declared: Declared, frame: DataFrame) -> int:
    """Return how many milliseconds late rows may be, or say how to tell Spark that."""
    assert declared.time is not None
    field = frame.schema[declared.time]
    late = (
        "10 minutes"
        if declared.lateness is None
        else f"{declared.lateness.in_ticks(1_000_000, 'lateness')} milliseconds"
    )
    line = f'df = df.withWatermark("{declared.time}", "{late}")'
    delay = watermark_delay(field)
    if delay is not None:
        return delay
    others = [other.name for other in frame.schema.fields if watermark_delay(other) is not None]
    if not isinstance(field.dataType, TimestampType):
        message = (
            f"Column {declared.time!r} is of {field.dataType.simpleString()}, and Spark knows lateness only of timestamps: cast "
            f'it, as in df.withColumn("{declared.time}", …cast("timestamp")), and then {line}.'
        )
        raise TypeError(message)
    if others:
        message = (
            f"The watermark of this stream is on {others[0]!r}, and the query is in order of {declared.time!r}: let it be on "
            f"that column, {line}, or take {others[0]!r} for time=."
        )
        raise ValueError(message)
    message = f"This stream has no watermark, so no window would ever be final: say how late rows may be, before run, as in {line}."
    raise ValueError(message)


def _refuse_options(declared: Declared, options: Options) -> None:
    refuse_mode(declared, options.mode)
    if options.on_bad_time not in CHOICES:
        message = f"run: on_bad_time={options.on_bad_time!r}: it is {' or '.join(map(repr, CHOICES))}."
        raise ValueError(message)
    if not isinstance(options.metrics, str) or not options.metrics:
        message = f'run: metrics={options.metrics!r}: give a name for the counts of rows, as "sash".'
        raise ValueError(message)
    if options.ahead is not None and not read_duration(options.ahead, "ahead").is_time:
        message = f'run: ahead={options.ahead!r}: give a length of time, as "1d", or None.'
        raise ValueError(message)


def _refuse_other_lateness(streaming: Streaming) -> None:
    lateness = streaming.declared.lateness
    if lateness is not None and lateness.in_ticks(1_000_000, "lateness") != streaming.delay:
        message = (
            f"Query(lateness={str(lateness)!r}) and the watermark of the stream, {streaming.delay} ms, differ: on Spark the "
            "watermark says how late rows may be, so leave lateness out or let them be the same."
        )
        raise ValueError(message)


def _refuse_other_store(frame: DataFrame) -> None:
    if frame.sparkSession.conf.get(STORE, "") != ROCKSDB:
        message = (
            "Spark keeps the state of such a stream only in RocksDB: before it starts, "
            f'spark.conf.set("{STORE}", "{ROCKSDB}").'
        )
        raise ValueError(message)
