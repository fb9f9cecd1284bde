"""LabelQuery: point-in-time features on Spark. Events and labels meet in the buckets of their keys, or in time ranges.

    events ──► keys, time, values, null ──┐
                                          ├─ union ──► hash of the key, or time range ──► LabelWorker ──► labels + results
    labels ──► keys, time, nulls, label ──┘

No join: a label is sent to one task. An event is sent to one task, or, with time ranges, to each range that reaches back to it.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 — the usual name
from pyspark.sql.types import (
    ByteType,
    DataType,
    IntegerType,
    LongType,
    ShortType,
    StructType,
    TimestampNTZType,
    TimestampType,
)

from sash.aggregates.sql import quote
from sash.engine.column_types import check_columns
from sash.engine.labels import check_labels, check_names, label_query
from sash.options import SparkTableOptions
from sash.plan.declared import Declared
from sash.plan.tree import Branch, and_between
from sash.spark.batch.batch_query import BatchQuery
from sash.spark.batch.cells import RangeSplit
from sash.spark.batch.ranges import group_rows, rows_with_times, shares_of, split_rows
from sash.spark.batch.sql_slices import ticks_sql
from sash.spark.computed import in_own_case, with_computed
from sash.spark.groups import hash_of, run_groups, run_keys
from sash.spark.schema import read_schema, refuse_same_names
from sash.windows.base import Reach
from sash.workers.label_worker import LabelWorker
from sash.workers.own_columns import HASH, LABEL, RANGE, TICKS
from sash.workers.zones import RangeWindows

INTEGERS = (ByteType, ShortType, IntegerType, LongType)
"""From the narrowest to the widest."""


class LabelQuery(BatchQuery):
    """A query, its events and its labels."""

    def __init__(self, query: Declared, frame: DataFrame, options: SparkTableOptions) -> None:
        labels, at_time = options["at"], options["at_time"]
        check_labels(query, at_time)
        _check_frame(labels)
        frame, _ = in_own_case(query, frame)
        check_columns(query, frame.columns)
        frame, computed = with_computed(query, frame)
        of_labels = label_query(query, at_time)
        labels, own_names = in_own_case(of_labels, labels)
        labels, of_labels = with_computed(of_labels, labels)
        check_names(query, labels.columns)
        refuse_same_names(query, labels)
        read_schema(of_labels, labels)
        super().__init__(computed, frame.select(*map(quote, computed.columns)), options)
        assert of_labels.time is not None
        self.own_names = own_names
        self.labels = labels
        self.at_time = of_labels.time
        self.same = {name: self._has_same_type(name) for name in (*self.query.by, self.at_time)}
        self.sent = self._tagged_events().union(self._tagged_labels())

    @property
    def results(self) -> StructType:
        """The columns of the result: those of labels, and one for each aggregate and window."""
        own = [field for field in self.labels.schema.fields if field.name not in set(self.query.by) or field.name in self._key_names]  # fmt: skip
        return StructType([*own, *self.added])

    @property
    def _key_names(self) -> set[str]:
        """The keys that are columns of labels, not computed."""
        return {name for name in self.query.by if name not in set(self.query.computed)}

    def _has_same_type(self, name: str) -> bool:
        """Return whether keys or times of labels have the type of those of events. Raise TypeError if they do not fit."""
        events = self.frame.schema[self.query.time if name == self.at_time else name].dataType  # type: ignore[index]
        given = self.labels.schema[name].dataType
        if given.simpleString() == events.simpleString():
            return True
        if {type(given), type(events)} == {TimestampType, TimestampNTZType}:
            message = (
                f"Column {name!r} of the labels is {given.simpleString()}, but that of the events is {events.simpleString()}: only "
                "one has a time zone. Cast one of them."
            )
            raise TypeError(message)
        if _width(given) < 0 or _width(given) > _width(events):
            message = (
                f"Column {name!r} of the labels is {given.simpleString()} and does not fit that of the events, "
                f"{events.simpleString()}. Cast one of them."
            )
            raise TypeError(message)
        return False

    @property
    def _packed(self) -> list[str]:
        """The columns of labels that are sent as fields of LABEL: events have no such columns."""
        sent = {name for name, same in self.same.items() if same} | set(self.query.by) - self._key_names
        return [name for name in self.labels.columns if name not in sent]

    def _tagged_events(self) -> DataFrame:
        label = F.lit(None).cast(self._tagged_labels().schema[LABEL].dataType)
        return self.frame.select(*map(quote, self.query.columns), label.alias(LABEL))

    def _tagged_labels(self) -> DataFrame:
        names = {name: name for name in self.query.by} | {self.query.time: self.at_time}
        columns = []
        for name in self.query.columns:
            own = F.col(quote(names[name])) if name in names else F.lit(None)
            columns.append(own.cast(self.frame.schema[name].dataType).alias(name))
        fields = [F.col(quote(name)).alias(f"f{number}") for number, name in enumerate(self._packed)]
        made: DataFrame = self.labels.select(*columns, F.struct(*fields or [F.lit(True).alias("f0")]).alias(LABEL))
        return made

    @property
    def worker(self) -> LabelWorker:
        """What is sent to Python workers."""
        packed = self._packed
        sources: list[tuple[str, str | int]] = []
        for field in self.results.fields[: len(self.results) - len(self.added)]:
            shared = self.query.time if field.name == self.at_time else field.name
            assert shared is not None
            sources.append((field.name, packed.index(field.name) if field.name in packed else shared))
        given = super().worker
        return LabelWorker(
            given.query, given.interpreted, given.results, given.compiled, at_time=self.at_time, sources=tuple(sources)
        )

    def run(self) -> DataFrame:
        """Return the labels with their results, in no order."""
        if self.strategy.name == "ranges":
            return run_groups(self._in_ranges(), self.worker, self.results)
        key = hash_of(self.query.by, self.sent.schema) if self.query.by else None
        return run_keys(self.sent, key, self._fixed_buckets, self.worker, self.results)

    @cached_property
    def reach(self) -> Reach | str:
        """How far windows of labels reach back, or why the time axis cannot be split."""
        reach = super().reach
        if isinstance(reach, str):
            return reach
        # A label is no row: rows(1) needs the event before it. A window of time reaches back by ticks alone.
        splits = [window.time_split for window in self.query.windows.values() if window.time_split is not None]
        counts = any(split.reach(self.prepared.unit).ticks == 0 for split in splits)
        return reach._replace(rows=reach.rows + 1) if counts else reach

    def _in_ranges(self) -> DataFrame:
        """Return events and labels in groups: time ranges of keys with very many rows, and buckets of the others.

        A range has the labels whose time it owns, and all events that their windows reach back to. This runs the jobs that find where
        to split.
        """
        assert isinstance(self.reach, Reach)
        query, time = self.query, self.query.time
        assert time is not None
        rows = rows_with_times(self.sent, query.by, ticks_sql(time, self.sent.schema[time].dataType))
        is_label: Column = F.col(LABEL).isNotNull()
        shares = shares_of(rows, query.by, self.ranges)
        counted = rows.where(~is_label) if self.reach.rows else rows  # windows that count rows count events
        windows = RangeWindows(tuple(query.windows.values()), self.reach, has_partials=False)
        split = split_rows(counted.select(HASH, TICKS), shares, windows, self.prepared.unit)
        owned = RangeSplit(
            {key: [replace(one, since=one.begin) for one in ranges] for key, ranges in split.ranges.items()}
        )
        cell = F.when(is_label, F.expr(owned.cell_sql())).otherwise(F.expr(split.cell_sql()))
        places = F.when(is_label, F.expr(owned.places_sql(RANGE))).otherwise(F.expr(split.places_sql(RANGE)))
        rows = rows.withColumn(RANGE, cell)
        grouped, _ = group_rows(rows, places, len(split.all_ranges), query.by, self.buckets if query.by else 0)
        return grouped

    def describe(self) -> Branch:
        """Return the branch of an explanation that says what Spark does."""
        made = super().describe()
        sent = f"{and_between(self.query.columns)} of all events, and the labels with their columns"
        leaves = {name: text.replace("all columns of all rows", sent) for name, text in made.leaves.items()}
        leaves["labels"] = f"each goes to the task with the events up to its {self.at_time}; there is no join"
        return replace(made, leaves=leaves)


def _check_frame(labels: Any) -> None:
    """Raise TypeError if labels are no DataFrame of Spark, or a stream."""
    if not isinstance(labels, DataFrame):
        given = f"{type(labels).__module__.partition('.')[0]}.{type(labels).__name__}"
        message = f"at= must be of the same kind as the events, a PySpark DataFrame, but it is a {given}."
        raise TypeError(message)
    if labels.isStreaming:
        message = (
            "at= does not take a streaming DataFrame: the result of a label needs all events up to its time, and more may arrive. "
            "Run it on data that is no stream; foreachBatch gives the labels of a micro-batch as such."
        )
        raise TypeError(message)


def _width(kind: DataType) -> int:
    """Return the place of an integer type among all, and -1 for other types."""
    return INTEGERS.index(type(kind)) if isinstance(kind, INTEGERS) else -1
