"""StreamQuery: a query on a streaming DataFrame. Rows packed by bucket, one stateful operator, results as arrays.

    rows ──► packed by bucket ──► transformWithState ──► results as arrays ──► rows
             mapInArrow           bucket.py, RocksDB     inline, or mapInArrow if results have lists, maps or structs

With a state for each key, Spark would call Python for each key of each micro-batch. A bucket holds many keys, and their state
is one value. The number of buckets is part of the state.

NativeStream: a stream that Spark aggregates alone, with its own state; `strategy="native"` asks for it. Nothing goes to Python.

    rows ──► groupBy(keys, window or session_window).agg(…) ──► results
"""

from __future__ import annotations

import uuid
from base64 import b64encode
from collections.abc import Mapping
from datetime import timedelta
from functools import cached_property
from itertools import chain, count
from typing import Any

import pyarrow as pa
from pyspark.sql import Column, DataFrame, GroupedData
from pyspark.sql import functions as F  # noqa: N812 — the usual name
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    LongType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from sash.aggregates.sql import quote
from sash.columns.read_column import readable_schema
from sash.durations import TimeUnit, read_duration, standard_text
from sash.engine.assemble import CHANGE
from sash.engine.executors.bind import compile_ahead
from sash.engine.prepare import prepare
from sash.engine.stream_plan import stream_plan
from sash.options import SparkStreamOptions
from sash.plan.query_spec import QuerySpec
from sash.plan.tree import Branch, and_between
from sash.spark import COUNTED, METRICS
from sash.spark.batch.native import in_own_windows
from sash.spark.batch.native_choice import MOST_COPIES, copies_of_rows, why_not_native
from sash.spark.batch.native_forms import checked_time
from sash.spark.batch.sql_slices import ticks_sql, with_ticks
from sash.spark.column_identity import identify_columns
from sash.spark.computed import ignores_case
from sash.spark.groups import hash_of, plain_names
from sash.spark.local_session import ROCKSDB, STORE
from sash.spark.private import tasks_with_state, watermark_delay, with_watermark_delay
from sash.spark.spark_query import SparkQuery, read_schema
from sash.spark.streaming.bucket import COUNTS, defer
from sash.spark.streaming.history_state import check_history, history_state, read_until_on_spark
from sash.spark.streaming.initial_state import state_of_checkpoint
from sash.spark.streaming.stream_task import StreamTask
from sash.state.codec import nullable_schema
from sash.state.erased_keys import erased_keys
from sash.state.fingerprint import KEYS, Fingerprint, describe_state, fingerprint_query
from sash.state.history import describe_history, text_of
from sash.state.key_epochs import read_forget
from sash.state.key_layout import KeyLayout
from sash.state.key_states import HEADER, STATE, STATE_TIME, check_lookup, check_options, key_layout
from sash.state.late_rows import LATE, check_late
from sash.state.reader import check_mode, check_stream
from sash.workers.own_columns import GROUP, HASH, TICKS
from sash.workers.packing import PACKED, RESULTS, packing, unpacking
from sash.workers.result_arrays import fit_arrays, null_bit, null_names, value_names

OPERATOR_MODE = "append"
"""Spark only compares it with that of the checkpoint. It is the same for all modes, so that Sash reports a changed mode itself."""
_metrics_names = chain([METRICS], map(f"{METRICS}_{{}}".format, count(2)))
"""Names for the counts of the queries that this process runs on streams. Spark rejects a stream with two observed metrics of one name,
and a query does not know which others will be in its stream."""
LATE_TEXT = {"drop": "dropped", "error": "an error,", "keep": f"kept in the column {LATE!r}"}
BARRIER = "spark_partition_id() >= 0"
"""A condition that is true, and that Spark does not consider deterministic: it moves no filter, such as that of rows without a time, before it."""
MILLISECONDS = TimeUnit("lateness", 1_000_000)
HELD = {
    "slices": "slices of open windows",
    "prefixes": "one partial for the older rows of each key, and the rows after them",
    "tails": "slices of older rows, and the rows after them",
    "rows": "rows that open or later windows need",
}
"""What the state of each kind holds."""
ONLY = {
    "mode": "append",
    "emit": "results",
    "late": "drop",
    "forget": None,
    "erase": None,
    "evolve": False,
    "state_from": None,
    "on_bad_time": "error",
}
ONLY |= {"history": None, "until": None, "partial": False}
"""The options of Sash's own operator, with what Spark's does."""
UNUSED = {"ahead": "1d", "buckets": None, "metrics": None}
"""Further options that Spark's own operator does not have, with their defaults."""


class StreamQuery(SparkQuery):
    """A query and its streaming DataFrame."""

    def __init__(self, query: QuerySpec, frame: DataFrame, options: SparkStreamOptions) -> None:
        _check_time(query)
        check_stream(query)
        self.identified = identify_columns(query, frame)
        super().__init__(self.identified.query, frame, options)
        self.options = options
        self.emits_states = options["emit"] == "state"
        """Whether it emits the states of keys in place of results."""
        if self.emits_states:
            check_options(options)
            check_lookup(self.query)
            self.schema = pa.schema([self.schema.field(str(name)) for name in self.query.columns])
            self.sent = self.frame.select(*map(quote, self.schema.names))
        self.late = options["late"] or "drop"
        self.keeps_late = self.late == "keep"
        """Whether results have a column of late rows."""
        self.buckets = options["buckets"] if query.by else 1
        """The number of groups of keys; None for one in each task that has state."""
        self.delay = _read_delay(self.query, self.frame)
        check_mode(self.query, options["mode"])
        self.until = self._read_until()
        """Where a history ends and the stream begins, in ticks; None without one."""
        _check_ends(self.query)
        check_late(self.query, self.late, self.frame.columns, ignore_case=ignores_case(self.frame))
        self.forget = read_forget(self.prepared, options["forget"])
        self.sent_schema = self.schema
        if self.keeps_late:
            self.sent = self.frame
            self.sent_schema = read_schema(self.query, self.frame, all_columns=True)
        _check_lateness(self.query, self.delay)
        _check_store(frame)
        for window in self.query.windows.values():
            window.memory.check_restart()
        self.prepared = self.in_python = compile_ahead(self.prepared)
        self.state_kinds = sorted(stream_plan(self.prepared).state_kinds, reverse=True)
        """What the state holds: slices, rows, or both, for different windows."""
        self.cuts_pairs = self.state_kinds == ["slices"]

    def run(self) -> DataFrame:
        """Return the results."""
        by = self.query.by
        rows = self.sent.withColumn(HASH, hash_of(by, self.frame.schema)) if by else self.sent
        names = rows.columns
        pack = packing(names, self.query.title, tasks_with_state(self.buckets), self.erased)
        packed = rows.toDF(*plain_names(names)).mapInArrow(pack, PACKED)
        processor, states = defer(self.task), self._initial_state()
        emitted = packed.groupBy(GROUP).transformWithState(processor, self.emitted, OPERATOR_MODE, "EventTime", states)
        counts = [_sum_at(place).alias(name) for place, name in enumerate(COUNTED)]
        metrics = self.options["metrics"] or next(_metrics_names)
        return self._as_rows(emitted.observe(metrics, *counts))

    def _read_until(self) -> int | None:
        """Return where a history ends. Raise TypeError or ValueError if the options about it do not fit."""
        options, time = self.options, self.prepared.time
        if options["history"] is not None:
            check_history(options["history"], self.frame)
            if options["state_from"] is not None:
                raise ValueError("A checkpoint starts from history= or from state_from=, not from both. Leave one out.")
        return None if options["until"] is None or time is None else read_until_on_spark(self, time, options["until"])

    def _initial_state(self) -> GroupedData | None:
        """Return the initial state of a new checkpoint; None if it starts from nothing."""
        if self.options["history"] is not None:
            return history_state(self)
        checkpoint = self.options["state_from"]
        return None if checkpoint is None else state_of_checkpoint(self, checkpoint)

    @cached_property
    def erased(self) -> pa.Table | None:
        """The keys to erase, with the hashes that Spark computes of them."""
        by, schema, spark = self.query.by, self.frame.schema, self.frame.sparkSession
        keys = erased_keys(self.query, self.options["erase"], nullable_schema(readable_schema(self.schema)))
        if keys is None:
            return None
        rows = spark.createDataFrame(keys.to_pylist(), StructType([schema[name] for name in by]).toNullable())
        hashes = rows.select(hash_of(by, schema).alias(HASH)).collect()
        return keys.append_column(HASH, pa.array([row[0] for row in hashes], pa.int64()))

    @property
    def emitted(self) -> StructType:
        """The columns of the operator: results, as arrays or packed, and counts."""
        counts = StructField(COUNTS, ArrayType(LongType()))
        if not fit_arrays(self.worker.results):
            return StructType([StructField(RESULTS, BinaryType()), counts])
        columns = len(self.results)
        values = [
            StructField(name, ArrayType(field.dataType))
            for name, field in zip(value_names(columns), self.results, strict=True)
        ]
        nulls = [StructField(name, ArrayType(LongType())) for name in null_names(columns)]
        return StructType([*values, *nulls, counts])

    def _as_rows(self, emitted: DataFrame) -> DataFrame:
        """Return the results as rows."""
        if not fit_arrays(self.worker.results):
            return emitted.select(RESULTS).mapInArrow(unpacking(self.query.title), self.results)
        values = value_names(len(self.results))
        zipped = emitted.select(F.inline(F.arrays_zip(*values, *null_names(len(values)))))
        columns = []
        for place, field in enumerate(self.results):
            name, bit = null_bit(place)
            is_null = F.coalesce(F.col(name), F.lit(0)).bitwiseAND(F.lit(bit).cast("long")) != 0
            columns.append(F.when(~is_null, F.col(values[place])).alias(field.name, metadata=field.metadata))
        return zipped.select(*columns)

    @property
    def results(self) -> StructType:
        """The columns of the result, with the watermark on the time of a row, or on the end of a window.

        A result that waited for later rows is older than the watermark: operators that follow would drop it without a word. So
        there is no watermark then, and Spark rejects such operators.
        """
        if self.emits_states:
            return self._state_fields
        event_time = self.query.time if self.query.per_row else "window_end"
        waits = any(window.frame and window.frame.looks_ahead for window in self.query.windows.values())
        delay = None if waits else self.delay
        changes = [StructField(CHANGE, StringType())] if self.options["mode"] == "update" else []
        fields = [*super().results.fields, *changes]
        fields = [with_watermark_delay(field, delay) if field.name == event_time else field for field in fields]
        if self.keeps_late:
            return StructType([*fields, StructField(LATE, self._late_type({}))]).toNullable()
        return StructType(fields)

    @property
    def _state_fields(self) -> StructType:
        """The columns of the states of keys."""
        assert self.query.time is not None
        schema = self.frame.schema
        header = b64encode(self.layout.header).decode()
        time = StructField(STATE_TIME, schema[self.query.time].dataType)
        state = StructField(STATE, BinaryType(), metadata={HEADER: header})
        return StructType([*(schema[name] for name in self.query.by), time, state])

    @cached_property
    def layout(self) -> KeyLayout:
        """The layout of the states of keys: with times in UTC, whatever the zone of the session."""
        rows = nullable_schema(readable_schema(self.schema))
        types = [
            pa.timestamp(field.type.unit, "UTC") if getattr(field.type, "tz", None) else field.type for field in rows
        ]
        in_utc = pa.schema([field.with_type(dtype) for field, dtype in zip(rows, types, strict=True)])
        known = self.in_python
        prepared = prepare(known.query, in_utc, compiled=self.compiled, interpreted=known.interpreted)
        return key_layout(prepared, self.forget)

    def _late_type(self, own_names: Mapping[str, str]) -> StructType:
        """Return the type of a late row: the columns of the stream, which may have other names here."""
        rows = StructType(self.row_fields).toNullable()
        return StructType([StructField(own_names.get(field.name, field.name), field.dataType) for field in rows])

    def in_own_case(self, frame: DataFrame) -> DataFrame:
        """Return results whose input rows have the names of the data, if the query writes them in another case."""
        frame = super().in_own_case(frame)
        if not (self.keeps_late and self.own_names):
            return frame
        return frame.withColumn(LATE, F.col(LATE).cast(self._late_type(self.own_names)))

    @property
    def result_schema(self) -> StructType:
        """The columns of the result as the user sees them."""
        if not self.keeps_late:
            return super().result_schema
        *fields, late = super().result_schema.fields
        return StructType([*fields, StructField(late.name, self._late_type(self.own_names))])

    @property
    def fingerprint(self) -> Fingerprint:
        """The fingerprint of the query, which the state must have."""
        more: dict[str, Any] = {"mode": self.options["mode"], **describe_state(self.state_kinds, self.query.slicing)}
        more |= {"emit": "state"} if self.emits_states else {}
        more |= {} if self.forget is None else {"forget": standard_text(self.forget)}
        more |= {KEYS: self.identified.keys} if self.identified.keys else {}
        if self.until is not None and self.prepared.time is not None:
            more["until"] = text_of(self.prepared.time, self.until)
        columns = {name: self.frame.schema[name].dataType.simpleString() for name in self.schema.names}
        return fingerprint_query(self.query, columns, self.identified.functions, **more)

    @cached_property
    def task(self) -> StreamTask:
        """What is sent to Python workers."""
        ahead = self.options["ahead"]
        unit = TimeUnit("ahead", self.prepared.unit.tick)
        return StreamTask(
            uuid.uuid4().hex,
            self.worker,
            nullable_schema(readable_schema(self.schema)),
            self.fingerprint,
            self.options["mode"],
            self.options["on_bad_time"],
            None if ahead is None else read_duration(ahead, "ahead").in_ticks(unit),
            self.late,
            nullable_schema(readable_schema(self.sent_schema)),
            self.forget,
            self.layout if self.emits_states else None,
            self.options["evolve"],
            self.until,
            any(self.options[name] is not None for name in ("history", "state_from")),
            self.options["partial"],
        )

    def describe(self) -> Branch:
        """Return the branch of an explanation that says what Spark does."""
        query, options, mode = self.query, self.options, self.options["mode"]
        keys = "one bucket of keys for each task" if self.buckets is None else f"{self.buckets} buckets of keys"
        keys = keys if query.by else "one bucket, as there is no key"
        emitted = f"once, when the watermark has passed {'its window' if query.per_row else 'it'}"
        emitted = emitted if mode == "append" else "whenever rows change it"
        bad = "stop the stream" if options["on_bad_time"] == "error" else "are dropped and counted"
        name = "" if options["metrics"] is None else f', "{options["metrics"]}"'
        state = " and ".join(HELD[kind] for kind in self.state_kinds)
        if self.forget is not None:
            state += f"; a key is forgotten {self.forget} after its last row"
        leaves = {
            "watermark": f"{query.time}, {timedelta(milliseconds=self.delay)} behind the newest; rows of closed windows are {LATE_TEXT[self.late]} and counted as late",
            "shuffled": f"{'all columns' if (query.per_row and not self.emits_states) or self.keeps_late else and_between(self.sent.columns)} of all rows, packed into {keys}",
            "state": f"{state}; by bucket, a base and its changes, in RocksDB; the number of buckets is fixed for a checkpoint",
            "results": self.layout.described
            if self.emits_states
            else f"{mode}: {'the result of a row' if query.per_row else 'a window'} {emitted}",
            "times": f"rows without a usable time {bad}",
            "counts": f"rows, late, bad_times, overlap and forgotten of each micro-batch, and its state: sash.spark.counts(progress{name})",
        }
        if mode == "append":
            leaves["history"] = describe_history(self.prepared)
        if mode == "append" and not _why_not_native_stream(self) and copies_of_rows(self) <= MOST_COPIES:
            without = "late=, forget=, evolve=, history= and state_from="
            leaves["native"] = f'strategy="native" runs it by Spark\'s own operator, without {without}'
        return Branch("spark", ("a stream: packed buckets of keys over transformWithState",), leaves)


class NativeStream(SparkQuery):
    """A query and its streaming DataFrame."""

    emits_states = False

    def __init__(self, query: QuerySpec, frame: DataFrame, options: SparkStreamOptions) -> None:
        _check_time(query)
        super().__init__(query, frame, options)
        self.delay = _read_delay(self.query, self.frame)
        _check_lateness(self.query, self.delay)
        given = {**options, "late": options["late"] or "drop"}
        for name, value in (ONLY | UNUSED).items():
            if given[name] != value:
                raise ValueError(
                    f'run: {name}={given[name]!r} does not go with strategy="native": Spark\'s own operator does not have it. '
                    f"Leave out {name} or strategy."
                )
        if reason := _why_not_native_stream(self):
            raise ValueError(f'run: strategy="native" does not fit: {reason.rstrip(".")}.')

    def run(self) -> DataFrame:
        """Return the results. Spark finds the watermark only if its functions get the column itself."""
        time = str(self.query.time)
        ticks = checked_time(self, ticks_sql(time, self.frame.schema[time].dataType), BARRIER)
        rows = with_ticks(self.frame, self.query, ticks).where(F.col(quote(TICKS)).isNotNull())
        return in_own_windows(self, rows, F.col(quote(time)))

    @property
    def results(self) -> StructType:
        """The columns of the result, with the watermark on the end of a window."""
        fields = super().results.fields
        delays = {"window_end": self.delay}
        return StructType([with_watermark_delay(field, delays.get(field.name)) for field in fields])

    def describe(self) -> Branch:
        """Return the branch of an explanation that says what Spark does."""
        keys = ", ".join([*self.query.by, "window"])
        leaves = {
            "watermark": f"{self.query.time}, {timedelta(milliseconds=self.delay)} behind the newest; Spark drops rows of closed "
            "windows, and counts them as numRowsDroppedByWatermark",
            "in SQL": f"groupBy({keys}), and the results of its aggregates",
            "state": "Spark's own: the partials of each key and open window",
            "results": "append: a window once, when the watermark has passed it",
            "in Python": "nothing",
        }
        return Branch("spark", ("a stream, native: it was asked for",), leaves, evaluates_all=True)


def _sum_at(place: int) -> Column:
    """Return the sum of the counts at a place.

    For each sum of its own, Spark would generate code in each task, which takes longer than all additions.
    """
    counts = F.collect_list(COUNTS)
    return F.aggregate(counts, F.lit(0).cast("long"), lambda total, one: total + one[place])


def _check_time(query: QuerySpec) -> None:
    """Raise ValueError if a query on a stream has no time column."""
    if query.time is None:
        raise ValueError('Sash cannot sort a stream. Name the column that holds the time of rows: Query(time="ts", …).')


def _read_delay(query: QuerySpec, frame: DataFrame) -> int:
    """Return the delay of the watermark in milliseconds. Raise ValueError or TypeError if there is no watermark."""
    assert query.time is not None
    field = frame.schema[query.time]
    delay = watermark_delay(field)
    if delay is not None:
        return delay
    late = "10 minutes" if query.lateness is None else f"{query.lateness.in_ticks(MILLISECONDS)} milliseconds"
    line = f'df = df.withWatermark("{query.time}", "{late}")'
    others = [other.name for other in frame.schema.fields if watermark_delay(other) is not None]
    if not isinstance(field.dataType, TimestampType):
        raise TypeError(
            f"Column {query.time!r} is of type {field.dataType.simpleString()}, but a watermark needs a timestamp. Cast it, "
            f'df.withColumn("{query.time}", …cast("timestamp")), and then {line}.'
        )
    if others:
        raise ValueError(
            f"The watermark of this stream is on {others[0]!r}, but the query has time={query.time!r}. Set the watermark on "
            f"that column, {line}, or use time={others[0]!r}."
        )
    raise ValueError(f"This stream has no watermark, so no window would ever be final. Set one before run: {line}.")


def _check_ends(query: QuerySpec) -> None:
    endless = [str(window) for window in query.windows.values() if window.frame and window.frame.needs_end]
    if endless:
        raise ValueError(
            f"{endless[0]} holds all later rows of the key, but a stream has no last row: no result would ever be final, and the "
            "state would grow with every row. Limit after=, or run the query on a DataFrame that is not a stream."
        )


def _check_lateness(query: QuerySpec, delay: int) -> None:
    """Raise ValueError if the lateness of a query is not the delay of the watermark, in milliseconds."""
    if query.lateness is not None and query.lateness.in_ticks(MILLISECONDS) != delay:
        raise ValueError(
            f"Query(lateness={str(query.lateness)!r}) differs from the watermark of the stream, {delay} ms. On Spark the "
            "watermark decides which rows are late. Leave lateness out, or set both to the same delay."
        )


def _why_not_native_stream(stream: SparkQuery) -> str:
    """Return why Spark's own operator cannot run a query on a stream; empty if it can."""
    return "Spark has no frames on streams." if stream.query.per_row else why_not_native(stream)


def _check_store(frame: DataFrame) -> None:
    if frame.sparkSession.conf.get(STORE, "") != ROCKSDB:
        raise ValueError(
            f'This stream needs the RocksDB state store. Before it starts, spark.conf.set("{STORE}", "{ROCKSDB}").'
        )
