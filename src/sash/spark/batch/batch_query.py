"""A query on a Spark DataFrame as a whole, by one of three strategies. Nothing runs before the result is asked for.

slices   Spark aggregates slices itself; only they are shuffled, and only they reach Python
buckets  the rows of a key go to one task, those of many keys together
ranges   the rows of one key go to many tasks: the time axis is split, for no key or one that has most of the rows
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 — as everyone calls it

from sash.engine.local import Local
from sash.plan.declared import Declared
from sash.spark.arrow_types import arrow_schema
from sash.spark.batch.range_worker import RangeWorker
from sash.spark.batch.ranges import find_stretches, rows_with_times, shares_of, split_rows
from sash.spark.batch.split import Reach, reach_of
from sash.spark.batch.sql_slices import slice_frame, ticks_sql, why_not
from sash.spark.batch.wide import compiles, why_copied
from sash.spark.batch.worker import Worker
from sash.spark.batch.zones import Windows
from sash.spark.groups import answer_groups, bucket_of, numbered, spread_out
from sash.spark.schema import GROUP, HASH, RANGE, TICKS, ZONE, has_maps
from sash.spark.spark_query import Prepared

PARTITIONS = "spark.sql.shuffle.partitions"
USUAL = 200
"""Partitions, unless Spark is told otherwise."""
STRATEGIES = ("slices", "buckets", "ranges")


@dataclass(frozen=True)
class Options:
    """How a query is run on Spark, where that is not left to Sash."""

    compiled: bool = True
    strategy: str = "auto"
    buckets: int | None = None
    """Groups of keys; as many as Spark has partitions after a shuffle, unless said."""
    ranges: int | None = None
    """Ranges of time that the rows of a key are cut into; as many."""
    types: Mapping[str, Any] | None = None
    """What aggregates give, by name, where that can't be known before they run."""


def prepare(declared: Declared, frame: DataFrame, options: dict[str, Any]) -> Batch:
    """Return a query made ready for a frame, or say what is wrong with it."""
    return Batch(declared, frame, Options(**options))


class Batch(Prepared):
    """A query and the frame that it is for, checked."""

    def __init__(self, declared: Declared, frame: DataFrame, options: Options) -> None:
        super().__init__(declared, frame, compiled=options.compiled, types=options.types)
        self.options = options
        self.strategy = choose(self)
        self.answered = self._in_python()
        self.answered.settle()

    def _in_python(self) -> Local:
        """Return the query that Python answers: over rows, or over slices."""
        if self.strategy.name != "slices":
            return self.local
        slices, declared = slice_frame(self.declared, self.local, self.frame)
        self.needed = slices
        schema = arrow_schema(slices.schema, slices.sparkSession.conf.get(ZONE) or "UTC")
        time = schema.get_field_index(declared.time)
        assert self.local.time is not None
        schema = schema.set(time, pa.field(declared.time, self.local.time.type))
        return Local(declared, schema, compiled=self.options.compiled, threads=1)

    @property
    def cuts_pairs(self) -> bool:
        """Whether Spark cuts slices, where windows begin and where they end."""
        return self.strategy.name == "slices"

    @property
    def tasks(self) -> int:
        """How many tasks Spark has after a shuffle; some platforms leave that open."""
        told = self.frame.sparkSession.conf.get(PARTITIONS) or ""
        return int(told) if told.isdigit() else USUAL

    @property
    def buckets(self) -> int:
        """How many groups keys are put into."""
        return self.options.buckets or self.tasks

    @property
    def ranges(self) -> int:
        """Into how many ranges time is cut."""
        return self.options.ranges or self.tasks

    @cached_property
    def reach(self) -> Reach | str:
        """How far windows look back; or why the time axis can't be cut."""
        time = self.local.time
        if time is None:
            return "there is no time= whose axis could be cut"
        if has_maps(self.declared, self.frame.schema):
            return "keys with maps in them are not told apart by Spark, where these have nulls"
        return reach_of(self.declared.windows.values(), time.tick, time.name)

    @property
    def windows(self) -> Windows:
        """The windows, as ranges are cut for them."""
        assert isinstance(self.reach, Reach)
        assert self.local.time is not None
        every = tuple(self.declared.windows.values())
        partials = not why_copied(self.answered)
        return Windows(every, self.local.time.tick, self.local.time.name, self.reach, partials)

    @property
    def worker(self) -> Worker:
        """What is sent to Python workers."""
        ticks = self.strategy.name == "slices" and self.local.time
        return replace(super().worker, time=ticks.type if ticks else None)

    def run(self) -> DataFrame:
        """Return the results."""
        return by_ranges(self) if self.strategy.name == "ranges" else by_buckets(self)


@dataclass(frozen=True)
class Strategy:
    """A way to run a query on Spark, and why it was taken."""

    name: str
    reason: str


def choose(batch: Batch) -> Strategy:
    """Return the strategy that was asked for, or the first that fits."""
    asked = batch.options.strategy
    if asked not in ("auto", *STRATEGIES):
        message = f"run: strategy={asked!r}: it is auto, {', '.join(STRATEGIES)}."
        raise ValueError(message)
    no_slices = why_not(batch.declared, batch.local, batch.frame.schema)
    no_ranges = batch.reach if isinstance(batch.reach, str) else ""
    refused = {"slices": no_slices, "ranges": no_ranges}.get(asked, "")
    if refused:
        message = f'run: strategy="{asked}" does not fit: {refused.rstrip(".")}.'
        raise ValueError(message)
    if asked != "auto":
        return Strategy(asked, "it was asked for")
    if not no_slices:
        return Strategy("slices", "windows are periodic, and Spark itself can aggregate what is in a slice")
    if batch.declared.by:
        return Strategy("buckets", f"not slices: {no_slices}")
    if not no_ranges:
        return Strategy("ranges", f"there is no key to spread rows by; not slices: {no_slices}")
    return Strategy("buckets", f"all rows go to one task, as there is no key, and {no_ranges}")


def by_buckets(batch: Batch) -> DataFrame:
    """Return the results, with the rows or the slices of a key in one task."""
    place = numbered(bucket_of(batch.declared.by, batch.frame.schema, batch.buckets), spread_out(batch.buckets))
    return answer_groups(batch.needed.withColumn(GROUP, place), batch.worker, batch.results)


def by_ranges(batch: Batch) -> DataFrame:
    """Return the results, with the rows of a key in many tasks."""
    grouped, worker = cut_ranges(batch)
    return answer_groups(grouped, worker, batch.results)


def cut_ranges(batch: Batch) -> tuple[DataFrame, RangeWorker]:
    """Return rows by groups, in ranges of time or in buckets, and what answers these; jobs find where to cut."""
    declared = batch.declared
    assert declared.time is not None
    ticks = ticks_sql(declared.time, batch.frame.schema[declared.time].dataType)
    rows = rows_with_times(batch.needed, declared.by, ticks)
    shares = shares_of(rows, declared.by, batch.ranges)
    split = split_rows(rows.select(HASH, TICKS), shares, batch.windows)
    if split.sums and not compiles(batch.answered):
        split = split_rows(rows.select(HASH, TICKS), shares, replace(batch.windows, has_partials=False))
    rows = rows.withColumn(RANGE, F.expr(split.cell_sql()))
    found = find_stretches(rows, split, batch.worker) if split.sums else {}
    parts = split.all_parts
    buckets = batch.buckets if declared.by else 0
    numbers = spread_out(max(1, len(parts) + buckets))
    whole = F.array(F.lit(len(parts)) + bucket_of(declared.by, batch.frame.schema, buckets or 1))
    # Not coalesce: Spark takes what element_at gives for null to be never null.
    places = F.when(F.col(RANGE).isNull(), whole).otherwise(F.expr(split.places_sql(RANGE)))
    placed = rows.withColumn(GROUP, F.explode(places))
    grouped = placed.withColumn(GROUP, numbered(F.col(GROUP), numbers)).drop(HASH, TICKS, RANGE)
    sent = [[stretch for cell in cells for stretch in found.get(cell, ())] for cells in split.between]
    own = dict(zip(numbers, parts, strict=False)), dict(zip(numbers, sent, strict=False))
    return grouped.repartition(len(numbers), GROUP), RangeWorker(batch.worker, *own)
