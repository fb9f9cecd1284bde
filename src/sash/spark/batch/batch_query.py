"""BatchQuery: a query on a batch DataFrame of Spark, by one of four strategies. Nothing runs before the result is used.

native   Spark computes the results alone; nothing goes to Python
slices   Spark aggregates slices itself; only slices are shuffled, and only slices reach Python
buckets  the rows of a key go to one task, together with those of other keys
ranges   the rows of one key go to several tasks: the time axis is split, for no key or one that dominates

LabelQuery: point-in-time features. Events and labels meet in the buckets of their keys, or in time ranges.

    events ──► keys, time, values, null ──┐
                                          ├─ union ──► hash of the key, or time range ──► LabelWorker ──► labels + results
    labels ──► keys, time, nulls, label ──┘

No join: a label is sent to one task. An event is sent to one task, or, with time ranges, to each range that reaches back to it.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from itertools import zip_longest

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 — the usual name
from pyspark.sql.types import StructField, StructType, TimestampNTZType, TimestampType

from sash.aggregates.sql import quote
from sash.engine.check_columns import check_columns, check_result_names
from sash.engine.executors.bind import compile_ahead
from sash.engine.labels import check_labels, check_names, label_query, of_other_kind
from sash.engine.prepare import Prepared, prepare
from sash.options import NO_LABELS, SparkTableOptions
from sash.plan.query_spec import QuerySpec
from sash.plan.tree import Branch, and_between
from sash.spark.arrow_types import arrow_schema, has_maps
from sash.spark.batch.label_join import is_grouped, join_labels, why_not_joined
from sash.spark.batch.large_keys import LargeKey, describe_skew, find_large_keys, looks_for_skew
from sash.spark.batch.native import native_frame
from sash.spark.batch.native_choice import why_no_aggregates, why_not_native, why_slower
from sash.spark.batch.ranges import group_rows, split_frame, split_rows, with_hash_and_ticks
from sash.spark.batch.sql_slices import INTEGERS, slice_frame, why_not
from sash.spark.computed import in_own_case, with_computed
from sash.spark.given_schema import runs_no_job
from sash.spark.groups import hash_of, run_groups, run_keys
from sash.spark.spark_query import SparkQuery, read_schema, refuse_same_names, zone_of
from sash.windows.base import Reach
from sash.workers.bucket_worker import BucketWorker, LabelWorker
from sash.workers.own_columns import LABEL, RANGE
from sash.workers.time_ranges import RangeWindows, no_partials, reach_of

PARTITIONS = "spark.sql.shuffle.partitions"
DEFAULT_PARTITIONS = 200
FEW_TASKS = 64
"""Up to this many tasks, the number of partitions is fixed. With more, small data would be slow, so adaptive execution may join
partitions. Joined partitions of more than 64 MB are sorted on disk, which is slower than in memory."""
BATCH = "spark.sql.execution.arrow.maxRecordsPerBatch"
FEW_ROWS = 10_000
"""Spark's default number of rows in a batch."""
STEPS = ("in SQL", "shuffled", "in Python", "before")
"""What an explanation tells of a strategy."""
NO_JOB = "no job runs before the result is used"


class BatchQuery(SparkQuery):
    """A query and its DataFrame."""

    has_slices = True

    def __init__(self, query: QuerySpec, frame: DataFrame, options: SparkTableOptions) -> None:
        super().__init__(query, frame, options)
        self.options = options
        setting = self.frame.sparkSession.conf.get(PARTITIONS) or ""  # some platforms leave it open
        tasks = int(setting) if setting.isdigit() else DEFAULT_PARTITIONS
        self.buckets, self.ranges = options["buckets"] or tasks, options["ranges"] or tasks
        """The numbers of groups of keys, and of time ranges."""
        self._fixed_buckets = options["buckets"] or (tasks if tasks <= FEW_TASKS else None)
        """The number of tasks if adaptive execution should not join small partitions; None if it should."""
        self.strategy, self.reason = choose_strategy(self)
        self.looks_for_skew = looks_for_skew(self)
        self.cuts_pairs = self.strategy == "slices"
        if self.strategy != "native":
            self.in_python = compile_ahead(self._over_slices() if self.cuts_pairs else self.prepared)

    def _over_slices(self) -> Prepared:
        """Return the query over slices that Spark aggregates."""
        self.sent, query = slice_frame(self.query, self.prepared, self.frame)
        schema = arrow_schema(self.sent.schema, zone_of(self.sent.sparkSession))
        assert self.prepared.time is not None
        schema = schema.set(schema.get_field_index(query.time), pa.field(query.time, self.prepared.time.type))
        return prepare(query, schema, compiled=self.compiled)

    def run(self) -> DataFrame:
        """Return the results."""
        self._split_if_skewed()
        if self.strategy == "native":
            return self.in_sql()
        if self.strategy == "ranges":
            grouped, worker = self.in_ranges()
            return run_groups(grouped, worker, self.results)
        key = hash_of(self.query.by, self.frame.schema) if self.query.by else None
        return run_keys(self.sent, key, self._fixed_buckets, self.worker, self.results)

    def in_sql(self) -> DataFrame:
        """Return the results of the strategy "native"."""
        return native_frame(self)

    def _split_if_skewed(self) -> None:
        """Choose "ranges" if skew="auto" was given and there are large keys. This runs the job that finds them."""
        if self.looks_for_skew and self.large_keys:
            self.strategy, self.reason = "ranges", 'skew="auto" was given, and there are large keys'
            self.in_python = compile_ahead(self.prepared)

    @cached_property
    def large_keys(self) -> dict[int, LargeKey]:
        """The keys whose time axis is split, by their hashes. This runs the job that finds them."""
        return find_large_keys(with_hash_and_ticks(self), self)

    def in_ranges(self) -> tuple[DataFrame, BucketWorker]:
        """Return rows in groups, time ranges or buckets, and the worker for them. This runs the jobs that find where to split."""
        return split_frame(self)

    def why_not_native(self) -> str:
        """Return why Spark cannot compute the results alone; empty if it can."""
        return why_not_native(self)

    def describe(self) -> Branch:
        """Return the branch of an explanation that says what Spark does."""
        self._split_if_skewed()
        name = self.strategy
        say = {"native": _of_native, "slices": _of_slices, "buckets": _of_buckets, "ranges": _of_ranges}[name]
        leaves = dict(zip_longest(STEPS, say(self), fillvalue=NO_JOB))
        if self.options["skew"]:
            leaves["skew"] = describe_skew(self)
            if self.looks_for_skew and name != "ranges":
                leaves["before"] = f"run() starts a job that counts a sample of {and_between(self.query.by)}"
        elif name == "buckets" and self.query.by and isinstance(self.reach, Reach):
            leaves["skew"] = 'if few keys have most of the rows, skew="auto" distributes these over several tasks'
        if name in ("slices", "native"):  # Spark has sketches
            estimates = [
                f"{name}: {one.result.error}" for name, one in self.query.aggregates.items() if one.result.error
            ]
            leaves |= {"estimates": "; ".join(estimates)} if estimates else {}
        rows = int(self.frame.sparkSession.conf.get(BATCH) or 0)
        if name != "native" and 0 < rows <= FEW_ROWS:
            leaves["batches"] = f"{rows:,} rows go to Python at a time; {BATCH}=100000 is faster by about a third"
        return Branch("spark", (f"{name}: {self.reason.rstrip('.')}",), leaves, evaluates_all=name == "native")

    @cached_property
    def reach(self) -> Reach | str:
        """How far windows reach back, or why the time axis cannot be split."""
        if self.prepared.time is None:
            return "there is no time= whose axis could be split"
        if runs_no_job():
            return "splitting the time axis needs a job, and only the schema of the rows is known"
        if has_maps(self.query.by, self.frame.schema):
            return "Spark groups different keys together if they contain maps with nulls"
        return reach_of(self.query.windows.values(), self.prepared.unit)

    def range_windows(self, *, has_partials: bool) -> RangeWindows:
        """Return the windows, as time ranges are made for them."""
        assert isinstance(self.reach, Reach)
        return RangeWindows(tuple(self.query.windows.values()), self.reach, has_partials)

    @property
    def worker(self) -> BucketWorker:
        """What is sent to Python workers."""
        time = self.prepared.time.type if self.cuts_pairs and self.prepared.time else None
        return replace(super().worker, time=time)


class LabelQuery(BatchQuery):
    """A query, its events and its labels."""

    def __init__(self, query: QuerySpec, frame: DataFrame, options: SparkTableOptions) -> None:
        labels, at_time = options["at"], options["at_time"]
        check_labels(query, options)
        if not isinstance(labels, DataFrame):
            raise of_other_kind(labels, "PySpark DataFrame")
        if labels.isStreaming:
            raise TypeError(f"at= does not take a streaming DataFrame: {NO_LABELS}")
        frame, _ = in_own_case(query, frame)
        check_columns(query, frame.columns)
        check_result_names(query, frame.columns)
        frame, computed = with_computed(query, frame)
        of_labels = label_query(query, at_time)
        labels, own_names = in_own_case(of_labels, labels)
        self.label_fields = labels.schema.fields
        self.labels, of_labels = with_computed(of_labels, labels)
        check_names(query, self.labels.columns, at_time)
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
        """Return why Spark should not compute the results alone, or cannot if that was asked for; empty if it can."""
        if self.options["strategy"] != "native":
            return "at= was given, and Spark would join events and labels."
        return why_not_joined(self) or why_no_aggregates(self)

    def in_sql(self) -> DataFrame:
        """Return the results of a join of labels and events."""
        return join_labels(self)

    @property
    def results(self) -> StructType:
        """The columns of the result: those of labels, and one for each aggregate and window."""
        fields = self.label_fields
        if self.strategy == "native":  # Spark does not know that columns that are aggregated have no nulls
            fields = [
                StructField(it.name, it.dataType, it.nullable or not is_grouped(it.dataType), it.metadata)
                for it in fields
            ]
        return StructType([*fields, *self.added])

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
        """Return events and labels as rows of one frame. Labels have their other columns in LABEL, which is null for events."""
        names = {name: name for name in self.query.by} | {self.query.time: self.at_time}
        columns = []
        for name in self.query.columns:
            value = F.col(quote(names[name])) if name in names else F.lit(None)
            columns.append(value.cast(self.frame.schema[name].dataType).alias(name))
        fields = [F.col(quote(name)).alias(f"f{number}") for number, name in enumerate(self.carried)]
        carried = F.struct(*fields) if fields else F.lit(True)
        labels = self.labels.select(*columns, carried.alias(LABEL))
        no_label = F.lit(None).cast(labels.schema[LABEL].dataType).alias(LABEL)
        return self.frame.select(*map(quote, self.query.columns), no_label).union(labels)

    @cached_property
    def carried(self) -> tuple[str, ...]:
        """The columns of labels that events do not have: all but keys and the time, unless these are of another type."""
        types = {name: self.frame.schema[name].dataType for name in self.query.by}
        types[self.at_time] = self.frame.schema[str(self.query.time)].dataType
        return tuple(field.name for field in self.label_fields if types.get(field.name) != field.dataType)

    @property
    def worker(self) -> LabelWorker:
        """What is sent to Python workers."""
        return LabelWorker(**vars(super().worker), at_time=self.at_time, carried=self.carried)

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
        split = split_rows(counted, windows, self)
        ranges = F.when(is_label, F.expr(split.ranges_sql(owned=True))).otherwise(F.expr(split.ranges_sql()))
        grouped, _ = group_rows(rows.withColumn(RANGE, F.expr(split.cell_sql())), ranges, len(split.numbered), self)
        return grouped, self.worker

    def describe(self) -> Branch:
        """Return the branch of an explanation that says what Spark does."""
        branch = super().describe()
        sent = f"{and_between(self.query.columns)} of all events, and the labels with their columns"
        leaves = {name: text.replace("all columns of all rows", sent) for name, text in branch.leaves.items()}
        events = "all events of its key" if self.query.future_columns else f"the events up to its {self.at_time}"
        leaves["labels"] = f"each goes to the task with {events}; there is no join"
        if self.strategy == "native":
            keys = and_between(self.query.by)
            leaves["in SQL"] = (
                f"a left join of labels and events by {keys} and time; aggregates of each label, with FILTER for a window"
            )
            leaves["shuffled"] = f"{sent}, by {keys}"
            leaves["labels"] = (
                "each is joined with all events in its longest window, so many events per key make it slow"
            )
        return replace(branch, leaves=leaves)


def choose_strategy(batch: BatchQuery) -> tuple[str, str]:
    """Return the strategy that was asked for, or the first that fits, and the reason for it.

    Raise ValueError if the one that was asked for does not fit.
    """
    asked = batch.options["strategy"]
    no_native = batch.why_not_native()
    no_slices = why_not(batch.query, batch.prepared, batch.frame.schema)
    no_ranges = batch.reach if isinstance(batch.reach, str) else ""
    reason = {"native": no_native, "slices": no_slices, "ranges": no_ranges}.get(asked, "")
    if reason:
        raise ValueError(f'run: strategy="{asked}" does not fit: {reason.rstrip(".")}.')
    if asked != "auto":
        return asked, "it was asked for"
    slower = no_native or why_slower(batch)
    if not slower:
        return "native", "Spark has all aggregates, and a row is in few windows"
    if not no_slices:
        return "slices", f"Spark itself can aggregate slices; not native: {slower}"
    if batch.query.by:
        return "buckets", f"not slices: {no_slices}"
    if not no_ranges:
        return "ranges", f"there is no key to distribute rows by; not slices: {no_slices}"
    return "buckets", f"all rows go to one task, as there is no key, and {no_ranges}"


def _of_native(batch: BatchQuery) -> tuple[str, ...]:
    query = batch.query
    if query.per_row:
        keys = f"PARTITION BY {', '.join(query.by)} " if query.by else ""
        over = f"aggregates OVER ({keys}ORDER BY {query.time} …)"
        return over, f"{_columns(batch)} of all rows, by the key", "nothing"
    if any(window.cuts and window.cuts.gap(batch.prepared.unit) is not None for window in query.windows.values()):
        grouped = f"groupBy({', '.join([*query.by, 'slice'])}), and slices grouped by session"
        return grouped, f"{_columns(batch)} of all rows, by the key", "nothing"
    grouped = f"groupBy({', '.join([*query.by, 'window'])}), and the results of its aggregates"
    return grouped, "partials of windows, which Spark combines within a partition before the shuffle", "nothing"


def _of_slices(batch: BatchQuery) -> tuple[str, ...]:
    keys = [*batch.query.by, "slice"]
    partials = [name for name in batch.sent.columns if name not in (*batch.query.by, batch.in_python.query.time)]
    grouped = (
        f"groupBy({', '.join(keys)}), with {len(partials)} column(s) of partials; slices are cut where windows begin and "
        "end, and combined within a partition before the shuffle"
    )
    return grouped, f"slices, by {and_between(keys)}, and again {_buckets(batch)}", "slices are combined into windows"


def _of_buckets(batch: BatchQuery) -> tuple[str, ...]:
    query = batch.query
    sorted_by = [*query.by, *([query.time] if query.time else []), *query.order_by]
    in_python = (
        f"rows are sorted by {and_between(sorted_by)}, and windows evaluated; a bucket of more than "
        f"{batch.worker.most_bytes >> 20} MB is sorted on disk"
    )
    hashed = "the hash of the key" if query.by else "nothing"
    return hashed, f"{_columns(batch)} of all rows, {_buckets(batch)}", in_python


def _of_ranges(batch: BatchQuery) -> tuple[str, ...]:
    reach, time = batch.reach, batch.query.time
    assert isinstance(reach, Reach)
    jobs = [f"a sketch of the distribution of {time}"]
    if batch.query.by:
        jobs.insert(0, "which keys are large")
    if reach.gap >= 0:
        jobs.append("where sessions begin")
    if reach.rows:
        jobs.append("how many rows lie between times")
    read = and_between([*batch.query.by, str(time)])
    before = f"run() starts jobs that read {read} alone: {and_between(jobs)}"
    copied = no_partials(batch.in_python)
    wide = f"; as {copied}, that may be most rows, if windows are wider than ranges" if copied else ""
    if not copied:
        before += "; and, if windows are wider than ranges, a job that makes slices"
        wide = "; rows where none of its windows begins or ends arrive as slices instead"
    cut = f"{batch.ranges} ranges of {time} with about equally many rows"
    if batch.query.by:
        cut += ", for large keys; the others into buckets"
    return (
        "the range of each row, and the later ones whose windows reach back to it",
        f"{_columns(batch)} of all rows, into {cut}; a row goes to each range that needs it{wide}",
        "rows are sorted by time, and the windows evaluated that a range owns",
        before,
    )


def _columns(batch: BatchQuery) -> str:
    return "all columns" if batch.query.per_row else and_between(batch.sent.columns)


def _buckets(batch: BatchQuery) -> str:
    return f"into {batch.buckets} buckets of keys" if batch.query.by else "to one task, as there is no key"
