"""LabelQuery: point-in-time features on Spark. Events and labels meet in the buckets of their keys, or in time ranges.

    events ──► keys, time, values, null ──┐
                                          ├─ union ──► hash of the key, or time range ──► LabelWorker ──► labels + results
    labels ──► keys, time, nulls, label ──┘

No join: a label is sent to one task. An event is sent to one task, or, with time ranges, to each range that reaches back to it.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 — the usual name
from pyspark.sql.types import StructType, TimestampNTZType, TimestampType

from sash.aggregates.sql import quote
from sash.engine.check_columns import check_columns
from sash.engine.labels import check_labels, check_names, label_query, of_other_kind
from sash.options import NO_LABELS, SparkTableOptions
from sash.plan.query_spec import QuerySpec
from sash.plan.tree import Branch, and_between
from sash.spark.batch.batch_query import BatchQuery
from sash.spark.batch.ranges import group_rows, shares_of, split_rows, with_hash_and_ticks
from sash.spark.batch.sql_slices import INTEGERS
from sash.spark.computed import in_own_case, with_computed
from sash.spark.spark_query import read_schema, refuse_same_names
from sash.windows.base import Reach
from sash.workers.bucket_worker import BucketWorker
from sash.workers.label_worker import LabelWorker
from sash.workers.own_columns import LABEL, RANGE


class LabelQuery(BatchQuery):
    """A query, its events and its labels."""

    def __init__(self, query: QuerySpec, frame: DataFrame, options: SparkTableOptions) -> None:
        labels, at_time = options["at"], options["at_time"]
        check_labels(query, at_time)
        if not isinstance(labels, DataFrame):
            raise of_other_kind(labels, "PySpark DataFrame")
        if labels.isStreaming:
            raise TypeError(f"at= does not take a streaming DataFrame: {NO_LABELS}")
        frame, _ = in_own_case(query, frame)
        check_columns(query, frame.columns)
        frame, computed = with_computed(query, frame)
        of_labels = label_query(query, at_time)
        labels, own_names = in_own_case(of_labels, labels)
        self.label_fields = labels.schema.fields
        self.labels, of_labels = with_computed(of_labels, labels)
        check_names(query, self.labels.columns)
        refuse_same_names(query, self.labels)
        read_schema(of_labels, self.labels)
        super().__init__(computed, frame.select(*map(quote, computed.columns)), options)
        assert of_labels.time is not None
        self.own_names = own_names
        self.at_time = of_labels.time
        for name in (*self.query.by, self.at_time):
            self._check_type(name)
        self.sent = self._united()

    def why_not_native(self) -> str:
        """Return why Spark cannot compute the results alone."""
        return "at= was given, and Python evaluates windows as of labels."

    @property
    def results(self) -> StructType:
        """The columns of the result: those of labels, and one for each aggregate and window."""
        return StructType([*self.label_fields, *self.added])

    def _check_type(self, name: str) -> None:
        """Raise TypeError if keys or times of labels do not fit those of events."""
        events = self.frame.schema[self.query.time if name == self.at_time else name].dataType  # type: ignore[index]
        labels = self.labels.schema[name].dataType
        own, other = labels.simpleString(), events.simpleString()
        if {type(labels), type(events)} == {TimestampType, TimestampNTZType}:
            raise TypeError(
                f"Column {name!r} of the labels is {own}, but that of the events is {other}: only one has a time zone. Cast one of them."
            )
        width, most = (INTEGERS.index(dtype) if dtype in INTEGERS else -1 for dtype in (own, other))
        if own != other and not 0 <= width <= most:
            raise TypeError(
                f"Column {name!r} of the labels is {own} and does not fit that of the events, {other}. Cast one of them."
            )

    def _united(self) -> DataFrame:
        """Return events and labels as rows of one frame. Labels have all their columns in LABEL, which is null for events."""
        names = {name: name for name in self.query.by} | {self.query.time: self.at_time}
        columns = []
        for name in self.query.columns:
            value = F.col(quote(names[name])) if name in names else F.lit(None)
            columns.append(value.cast(self.frame.schema[name].dataType).alias(name))
        fields = [F.col(quote(field.name)).alias(f"f{number}") for number, field in enumerate(self.label_fields)]
        labels = self.labels.select(*columns, F.struct(*fields).alias(LABEL))
        no_label = F.lit(None).cast(labels.schema[LABEL].dataType).alias(LABEL)
        return self.frame.select(*map(quote, self.query.columns), no_label).union(labels)

    @property
    def worker(self) -> LabelWorker:
        """What is sent to Python workers."""
        return LabelWorker(**vars(super().worker), at_time=self.at_time)

    @cached_property
    def reach(self) -> Reach | str:
        """How far windows of labels reach back, or why the time axis cannot be split."""
        reach = super().reach
        if isinstance(reach, str):
            return reach
        # Labels do not count as rows: rows(1) needs the event before it. A window of time reaches back by ticks alone.
        splits = [window.time_split for window in self.query.windows.values() if window.time_split is not None]
        counts = any(split.reach(self.prepared.unit).ticks == 0 for split in splits)
        return reach._replace(rows=reach.rows + 1) if counts else reach

    def in_ranges(self) -> tuple[DataFrame, BucketWorker]:
        """Return events and labels in groups: time ranges of keys with very many rows, and buckets of the others.

        A range has the labels whose time it owns, and all events that their windows reach back to.
        """
        rows = with_hash_and_ticks(self)
        is_label: Column = F.col(LABEL).isNotNull()
        windows = self.range_windows(has_partials=False)
        counted = rows.where(~is_label) if windows.reach.rows else rows  # windows that count rows count events
        split = split_rows(counted, shares_of(rows, self), windows, self.prepared.unit)
        ranges = F.when(is_label, F.expr(split.ranges_sql(owned=True))).otherwise(F.expr(split.ranges_sql()))
        grouped, _ = group_rows(rows.withColumn(RANGE, F.expr(split.cell_sql())), ranges, len(split.numbered), self)
        return grouped, self.worker

    def describe(self) -> Branch:
        """Return the branch of an explanation that says what Spark does."""
        branch = super().describe()
        sent = f"{and_between(self.query.columns)} of all events, and the labels with their columns"
        leaves = {name: text.replace("all columns of all rows", sent) for name, text in branch.leaves.items()}
        leaves["labels"] = f"each goes to the task with the events up to its {self.at_time}; there is no join"
        return replace(branch, leaves=leaves)
