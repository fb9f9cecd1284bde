"""BatchQuery: a query on a batch DataFrame of Spark, by one of four strategies. Nothing runs before the result is used.

native   Spark computes the results alone; nothing goes to Python
slices   Spark aggregates slices itself; only slices are shuffled, and only slices reach Python
buckets  the rows of a key go to one task, together with those of other keys
ranges   the rows of one key go to several tasks: the time axis is split, for no key or one that dominates
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from itertools import zip_longest

import pyarrow as pa
from pyspark.sql import DataFrame

from sash.engine.executors.bind import compile_ahead
from sash.engine.prepare import Prepared, prepare
from sash.options import SparkTableOptions
from sash.plan.query_spec import QuerySpec
from sash.plan.tree import Branch, and_between
from sash.spark.arrow_types import arrow_schema, has_maps
from sash.spark.batch.native import native_frame, why_not_native, why_slower
from sash.spark.batch.ranges import split_frame
from sash.spark.batch.sql_slices import slice_frame, why_not
from sash.spark.given_schema import runs_no_job
from sash.spark.groups import hash_of, run_groups, run_keys
from sash.spark.spark_query import SparkQuery, zone_of
from sash.windows.base import Reach
from sash.workers.bucket_worker import BucketWorker
from sash.workers.time_ranges import no_partials, reach_of
from sash.workers.zones import RangeWindows

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
        if self.strategy == "native":
            return native_frame(self)
        if self.strategy == "ranges":
            grouped, worker = self.in_ranges()
            return run_groups(grouped, worker, self.results)
        key = hash_of(self.query.by, self.frame.schema) if self.query.by else None
        return run_keys(self.sent, key, self._fixed_buckets, self.worker, self.results)

    def in_ranges(self) -> tuple[DataFrame, BucketWorker]:
        """Return rows in groups, time ranges or buckets, and the worker for them. This runs the jobs that find where to split."""
        return split_frame(self)

    def why_not_native(self) -> str:
        """Return why Spark cannot compute the results alone; empty if it can."""
        return why_not_native(self)

    def describe(self) -> Branch:
        """Return the branch of an explanation that says what Spark does."""
        name = self.strategy
        say = {"native": _of_native, "slices": _of_slices, "buckets": _of_buckets, "ranges": _of_ranges}[name]
        leaves = dict(zip_longest(STEPS, say(self), fillvalue=NO_JOB))
        if name == "buckets" and self.query.by and isinstance(self.reach, Reach):
            leaves["one key"] = 'if one key has most of the rows, strategy="ranges" distributes them over several tasks'
        rows = int(self.frame.sparkSession.conf.get(BATCH) or 0)
        if name != "native" and 0 < rows <= FEW_ROWS:
            leaves["batches"] = f"{rows:,} rows go to Python at a time; {BATCH}=100000 is faster by about a third"
        return Branch("spark", (f"{name}: {self.reason.rstrip('.')}",), leaves)

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


def choose_strategy(batch: BatchQuery) -> tuple[str, str]:
    """Return the strategy that was asked for, or the first that fits, and the reason for it. Raise ValueError if the one asked for does not."""
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
        jobs.insert(0, "which keys have more rows than a task's share")
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
        cut += ", for keys with more than a task's share; the others into buckets"
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
