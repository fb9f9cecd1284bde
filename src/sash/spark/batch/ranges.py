"""The strategy "ranges": the rows of one key go to several tasks. Jobs over the time column find where to split.

    sketch   how times are distributed: a KLL sketch of each partition, merged here         always
    count    how many rows lie between fine edges                                           for windows that count rows
    gaps     where, after each bound, a session begins                                      for sessions
    slices   of rows that ranges do not need one by one, from all columns of the query      for windows wider than ranges

With keys, only those with more than a task's share of all rows are split. The others go into buckets.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
from datasketches import kll_doubles_sketch
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 — the usual name
from pyspark.sql.types import StructType

from sash.aggregates.sql import quote
from sash.durations import TimeUnit
from sash.engine.prepare import Prepared
from sash.spark.batch.cells import RangeSplit, place_sql
from sash.spark.batch.sql_slices import ticks_sql
from sash.spark.groups import bucket_of, hash_of, numbered, run_groups, spread_out
from sash.windows.base import Reach
from sash.workers.bucket_worker import BucketWorker
from sash.workers.own_columns import GROUP, HASH, RANGE, TICKS
from sash.workers.range_worker import RangeWorker, SliceWorker, slices_compile
from sash.workers.time_ranges import KeyAxis, as_ticks, even_bounds, first_start, move_to_gaps, sample_axis
from sash.workers.zones import RangeWindows

ACCURACY = 4000
"""Of sketches: the error of ranks is below a thousandth."""
EDGES_PER_RANGE = 256
"""Rows are counted between this many edges in each range, so that a range gets little more than it needs."""
NO_KEY = 0
"""The hash of rows without a key."""


@dataclass(frozen=True)
class RangePlan:
    """What the strategy needs to know of a query."""

    frame: DataFrame
    prepared: Prepared
    worker: BucketWorker
    results: StructType
    reach: Reach
    ranges: int
    buckets: int
    has_partials: bool
    """Whether slices can be sent in place of rows."""

    @property
    def windows(self) -> RangeWindows:
        """The windows, as ranges are made for them."""
        return RangeWindows(tuple(self.prepared.query.windows.values()), self.reach, self.has_partials)


def run_ranges(plan: RangePlan) -> DataFrame:
    """Return the results, with the rows of a key in several tasks."""
    grouped, worker = split_frame(plan)
    return run_groups(grouped, worker, plan.results)


def split_frame(plan: RangePlan) -> tuple[DataFrame, RangeWorker]:
    """Return rows in groups, time ranges or buckets, and the worker for them; this runs the jobs that find where to split."""
    query, frame = plan.prepared.query, plan.frame
    assert query.time is not None
    rows = rows_with_times(frame, query.by, ticks_sql(query.time, frame.schema[query.time].dataType))
    shares = shares_of(rows, query.by, plan.ranges)
    times = rows.select(HASH, TICKS)
    split = split_rows(times, shares, plan.windows, plan.prepared.unit)
    if split.sliced_cells and not slices_compile(plan.prepared):
        split = split_rows(times, shares, replace(plan.windows, has_partials=False), plan.prepared.unit)
    rows = rows.withColumn(RANGE, F.expr(split.cell_sql()))
    slices = cut_cells_to_slices(rows, split, plan.worker) if split.sliced_cells else {}
    ranges = split.all_ranges
    places = F.expr(split.places_sql(RANGE))
    grouped, numbers = group_rows(rows, places, len(ranges), query.by, plan.buckets if query.by else 0)
    sent = [[one for cell in cells for one in slices.get(cell, ())] for cells in split.between]
    own = dict(zip(numbers, ranges, strict=False)), dict(zip(numbers, sent, strict=False))
    return grouped, RangeWorker(plan.worker, *own)


def group_rows(
    rows: DataFrame, places: Column, ranges: int, by: tuple[str, ...], buckets: int
) -> tuple[DataFrame, list[int]]:
    """Return rows in groups, and the numbers of groups: those of ranges, then those of buckets.

    Rows have their cells, null for a key that is not split; `places` are the ranges that need a row of a cell.
    """
    numbers = spread_out(max(1, ranges + buckets))
    bucket = F.array(F.lit(ranges) + bucket_of(by, rows.schema, buckets or 1))
    # Not coalesce: Spark assumes that element_at never returns null here.
    placed = rows.withColumn(GROUP, F.explode(F.when(F.col(RANGE).isNull(), bucket).otherwise(places)))
    grouped = placed.withColumn(GROUP, numbered(F.col(GROUP), numbers)).drop(HASH, TICKS, RANGE)
    return grouped.repartition(len(numbers), GROUP), numbers


def split_rows(times: DataFrame, shares: Mapping[int, int], windows: RangeWindows, unit: TimeUnit) -> RangeSplit:
    """Return the ranges of keys, given the hash and the ticks of rows, and into how many ranges each key is split."""
    if not shares:
        return RangeSplit({})
    reach = windows.reach
    heavy = times.where(F.col(HASH).isin(list(shares)))
    sketches = sketch_times(heavy)
    if not sketches:  # there are no rows
        return RangeSplit({})
    cuts = {key: as_ticks(sketches[key].get_quantiles(_ranks(EDGES_PER_RANGE * shares[key]))) for key in sketches}
    bounds = {key: even_bounds(quantiles, shares[key]) for key, quantiles in cuts.items()}
    if reach.gap >= 0:
        bounds = at_gaps(heavy, bounds, reach.gap)
    axes = {key: sample_axis(quantiles, sketches[key].n) for key, quantiles in cuts.items()}
    if reach.rows:
        axes = count_rows(heavy, {key: axes[key].edges for key in axes})
    return RangeSplit(
        {
            key: windows.ranges(bounds[key], shares[key], replace(axes[key], unit=unit), sketches[key].get_max_value())
            for key in sorted(bounds)
        }
    )


def shares_of(rows: DataFrame, by: tuple[str, ...], ranges: int) -> dict[int, int]:
    """Return the keys, by hash, with more rows than a task's share, and into how many ranges each is split.

    xxhash64 skips nulls, so that (1, null) and (null, 1) have the same hash. Keys that share a hash are not split.
    """
    if not by:
        return {NO_KEY: ranges}
    counts = rows.groupBy(HASH, *(F.col(quote(name)) for name in by)).count()
    hashes = counts.groupBy(HASH).agg(F.sum("count").alias("rows"), F.count("*").alias("keys"))
    total = counts.agg(F.sum("count")).collect()[0][0] or 0
    most = hashes.where("keys = 1").orderBy(F.desc("rows")).limit(ranges).collect()
    return {row[HASH]: -(-row["rows"] * ranges // total) for row in most if row["rows"] * ranges > total}


def sketch_times(times: DataFrame) -> dict[int, Any]:
    """Return a sketch of the times of each key."""
    merged: dict[int, Any] = {}
    for row in times.mapInArrow(sketch_batches, f"{HASH} long, sketch binary").collect():
        own = kll_doubles_sketch.deserialize(bytes(row["sketch"]))
        if row[HASH] in merged:
            merged[row[HASH]].merge(own)
        else:
            merged[row[HASH]] = own
    return merged


def sketch_batches(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield sketches of the times of each key in a partition."""
    made: dict[int, Any] = {}
    for key, ticks in by_key(batches):
        sketch = made.setdefault(key, kll_doubles_sketch(ACCURACY))
        sketch.update(ticks.astype(np.float64))
    yield _records({HASH: pa.int64(), "sketch": pa.binary()}, [(key, made[key].serialize()) for key in made])


def count_rows(times: DataFrame, edges: dict[int, Any]) -> dict[int, KeyAxis]:
    """Return how many rows of each key lie before edges."""

    def count(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        made = {key: np.zeros(len(own) + 1, np.int64) for key, own in edges.items()}
        for key, ticks in by_key(batches):
            made[key] += np.bincount(np.searchsorted(edges[key], ticks, side="right"), minlength=len(made[key]))
        yield _records({HASH: pa.int64(), "counts": pa.list_(pa.int64())}, list(made.items()))

    totals = {key: np.zeros(len(own) + 1, np.int64) for key, own in edges.items()}
    for row in times.mapInArrow(count, f"{HASH} long, counts array<long>").collect():
        totals[row[HASH]] += np.array(row["counts"], np.int64)
    return {key: KeyAxis(edges[key], np.cumsum(total)[:-1], int(total.sum())) for key, total in totals.items()}


def at_gaps(times: DataFrame, bounds: dict[int, list[int]], gap: int) -> dict[int, list[int]]:
    """Return bounds moved to where sessions begin."""
    cases = " ".join(f"WHEN {HASH} = {key} THEN {place_sql(TICKS, own)}" for key, own in bounds.items())
    placed = times.withColumn(RANGE, F.expr(f"CASE {cases} END"))
    kinds = {HASH: "long", RANGE: "int", "first": "long", "newest": "long", "start": "long"}
    schema = ", ".join(f"{name} {kind}" for name, kind in kinds.items())
    found: dict[int, dict[int, tuple[int, int, int | None]]] = {key: {} for key in bounds}
    for row in placed.groupBy(HASH, RANGE).applyInArrow(gap_finder(gap), schema).collect():
        if row["first"] is not None:
            found[row[HASH]][row[RANGE]] = (row["first"], row["newest"], row["start"])
    return {key: move_to_gaps(own, gap) for key, own in found.items()}


def gap_finder(gap: int) -> Callable[[pa.Table], pa.Table]:
    """Return a function that finds where in a range a session begins."""

    def find(rows: pa.Table) -> pa.Table:
        ticks = np.sort(rows[TICKS].drop_null().to_numpy())
        where = [rows[name][0].as_py() for name in (HASH, RANGE)]
        known = [int(ticks[0]), int(ticks[-1]), first_start(ticks, gap)] if len(ticks) else [None] * 3
        kinds = [pa.int64(), pa.int32(), pa.int64(), pa.int64(), pa.int64()]
        columns = [pa.array([value], kind) for value, kind in zip([*where, *known], kinds, strict=True)]
        return pa.table(columns, names=[HASH, RANGE, "first", "newest", "start"])

    return find


def cut_cells_to_slices(rows: DataFrame, split: RangeSplit, worker: BucketWorker) -> dict[int, list[bytes]]:
    """Return the encoded slices of each cell of which ranges need no rows, in order of time; rows have their cells."""
    names = [F.col(quote(name)) for name in worker.query.columns]
    chosen = rows.where(F.col(RANGE).isin(split.sliced_cells)).select(*names, F.col(RANGE).alias(GROUP))
    found: dict[int, list[bytes]] = {}
    made = run_groups(chosen, SliceWorker(worker), SliceWorker.columns).collect()
    for row in sorted(made, key=lambda row: (row["cell"], row["place"])):
        found.setdefault(row["cell"], []).append(bytes(row["slices"]))
    return found


def by_key(batches: Iterator[pa.RecordBatch]) -> Iterator[tuple[int, Any]]:
    """Yield the times of each key in each batch, without nulls: the query itself reports those."""
    for batch in batches:
        table = pa.table({name: batch[name] for name in (HASH, TICKS)}).drop_null()
        keys, ticks = table[HASH].to_numpy(), table[TICKS].to_numpy()
        for key in np.unique(keys).tolist():
            yield key, ticks[keys == key]


def _records(kinds: dict[str, pa.DataType], rows: list[tuple[Any, ...]]) -> pa.RecordBatch:
    columns = [pa.array([row[place] for row in rows], kind) for place, kind in enumerate(kinds.values())]
    return pa.RecordBatch.from_arrays(columns, names=list(kinds))


def _ranks(count: int) -> list[float]:
    return [number / count for number in range(1, count)]


def rows_with_times(frame: DataFrame, by: tuple[str, ...], ticks: str) -> DataFrame:
    """Return a frame with the hash of each row's key and its time in ticks."""
    key = hash_of(by, frame.schema) if by else F.lit(NO_KEY).cast("long")
    return frame.withColumn(HASH, key).withColumn(TICKS, F.expr(ticks))
