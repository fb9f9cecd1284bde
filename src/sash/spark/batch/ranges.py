"""The strategy "ranges": the rows of one key go to several tasks. Jobs over the time column find where to split.

    sketch   how times are distributed: a KLL sketch of the times of each large key         always
    count    how many rows lie between fine edges                                           for windows that count rows
    gaps     where, after each bound, a session begins                                      for sessions
    slices   of rows that ranges do not need one by one, from all columns of the query      for windows wider than ranges

With keys, only large ones are split (`large_keys.py`). The others go into buckets.

`RangeSplit` writes the SQL that sends a row to its ranges. All rows between two neighbouring edges of ranges, a cell, go to the same
ranges, one by one or as slices.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from datasketches import kll_doubles_sketch
from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812 — the usual name

from sash.aggregates.sql import quote
from sash.spark.batch.large_keys import NO_KEY
from sash.spark.batch.sql_slices import ticks_sql
from sash.spark.groups import bucket_of, hash_of, numbered, run_groups
from sash.windows.base import FOREVER, NEVER, Interval
from sash.workers import time_ranges
from sash.workers.bucket_worker import BucketWorker
from sash.workers.own_columns import GROUP, HASH, RANGE, TICKS
from sash.workers.range_worker import RangeWorker, SliceWorker, slices_compile
from sash.workers.spread import spread_out
from sash.workers.time_ranges import RangeWindows

if TYPE_CHECKING:
    from sash.spark.batch.batch_query import BatchQuery

ACCURACY = 4000
"""Of sketches: the error of ranks is below a thousandth."""
EDGES_PER_RANGE = 256
"""Rows are counted between this many edges in each range, so that a range gets little more than it needs."""


def split_frame(batch: BatchQuery) -> tuple[DataFrame, RangeWorker]:
    """Return rows in groups, time ranges or buckets, and the worker for them; this runs the jobs that find where to split."""
    rows = with_hash_and_ticks(batch)
    windows = batch.range_windows(has_partials=not time_ranges.no_partials(batch.in_python))
    split = split_rows(rows, windows, batch)
    if split.sliced_cells and not slices_compile(batch.in_python):
        split = split_rows(rows, replace(windows, has_partials=False), batch)
    rows = rows.withColumn(RANGE, F.expr(split.cell_sql()))
    slices = cut_cells_to_slices(rows, split, batch.worker) if split.sliced_cells else {}
    grouped, groups = group_rows(rows, F.expr(split.ranges_sql()), len(split.numbered), batch)
    ranges = {group: time_range for group, (_, time_range) in zip(groups, split.numbered, strict=False)}
    sent = [[each for cell in cells for each in slices.get(cell, ())] for cells in split.slice_cells]
    return grouped, RangeWorker(**vars(batch.worker), ranges=ranges, slices=dict(zip(groups, sent, strict=False)))


def with_hash_and_ticks(batch: BatchQuery) -> DataFrame:
    """Return what goes to Python, with the hash of each row's key and its time in ticks."""
    frame, query = batch.sent, batch.query
    assert query.time is not None
    key = hash_of(query.by, frame.schema) if query.by else F.lit(NO_KEY).cast("long")
    ticks = ticks_sql(query.time, frame.schema[query.time].dataType)
    return frame.withColumn(HASH, key).withColumn(TICKS, F.expr(ticks))


def group_rows(rows: DataFrame, places: Column, ranges: int, batch: BatchQuery) -> tuple[DataFrame, list[int]]:
    """Return rows in groups, and the numbers of groups: those of ranges, then those of buckets.

    Rows have their cells, null for a key that is not split; `places` are the ranges that need a row of a cell.
    """
    by = batch.query.by
    numbers = spread_out(max(1, ranges + (batch.buckets if by else 0)))
    bucket = F.array(F.lit(ranges) + bucket_of(by, rows.schema, batch.buckets))
    # Not coalesce: Spark assumes that element_at never returns null here.
    placed = rows.withColumn(GROUP, F.explode(F.when(F.col(RANGE).isNull(), bucket).otherwise(places)))
    grouped = placed.withColumn(GROUP, numbered(F.col(GROUP), numbers)).drop(HASH, TICKS, RANGE)
    return grouped.repartition(len(numbers), GROUP), numbers


def split_rows(rows: DataFrame, windows: RangeWindows, batch: BatchQuery) -> RangeSplit:
    """Return the ranges of large keys, given the hash and the ticks of rows."""
    keys = batch.large_keys
    # Rows without a time are left out: the query itself reports them.
    heavy = rows.where(F.col(HASH).isin(list(keys)) & F.col(TICKS).isNotNull())
    sketches = sketch_times(heavy, batch.query.by) if keys else {}
    if not sketches:  # there are no rows
        return RangeSplit({})
    heavy = heavy.select(HASH, TICKS).where(F.col(HASH).isin(list(sketches)))
    shares = {key: keys[key].ranges for key in sketches}
    quantiles = {}
    for key, sketch in sketches.items():
        count = EDGES_PER_RANGE * shares[key]
        quantiles[key] = time_ranges.as_ticks(sketch.get_quantiles([number / count for number in range(1, count)]))
    bounds = {key: time_ranges.even_bounds(quantiles[key], shares[key]) for key in sketches}
    if windows.reach.gap >= 0:
        bounds = at_gaps(heavy, bounds, windows.reach.gap)
    axes = {key: time_ranges.sample_axis(quantiles[key], sketch.n) for key, sketch in sketches.items()}
    if windows.reach.rows:
        axes = count_rows(heavy, {key: axis.edges for key, axis in axes.items()})
    ranges = {}
    for key in sorted(bounds):
        newest = min(int(math.nextafter(sketches[key].get_max_value(), math.inf)) + 1, FOREVER - 1)
        ranges[key] = windows.ranges(
            bounds[key], shares[key], replace(axes[key], unit=batch.in_python.unit, newest=newest)
        )
    return RangeSplit(ranges)


def sketch_times(rows: DataFrame, by: Sequence[str]) -> dict[int, Any]:
    """Return a sketch of the times of each key.

    xxhash64 skips nulls, so that (1, null) and (null, 1) have the same hash. Keys that share a hash are left out.
    """
    sketch = F.kll_sketch_agg_double(F.col(TICKS).cast("double"), ACCURACY)
    found = rows.groupBy(HASH, *(F.col(quote(name)) for name in by)).agg(sketch).collect()
    keys = Counter(row[0] for row in found)
    return {row[0]: kll_doubles_sketch.deserialize(bytes(row[-1])) for row in found if keys[row[0]] == 1}


def count_rows(times: DataFrame, edges: dict[int, Any]) -> dict[int, time_ranges.KeyAxis]:
    """Return how many rows of each key lie before edges."""

    def count(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        counts = {key: np.zeros(len(own_edges) + 1, np.int64) for key, own_edges in edges.items()}
        for batch in batches:
            keys, ticks = batch[HASH].to_numpy(), batch[TICKS].to_numpy()
            for key in np.unique(keys).tolist():
                places = np.searchsorted(edges[key], ticks[keys == key], side="right")
                counts[key] += np.bincount(places, minlength=len(counts[key]))
        columns = [pa.array(list(counts), pa.int64()), pa.array(list(counts.values()), pa.list_(pa.int64()))]
        yield pa.RecordBatch.from_arrays(columns, names=[HASH, "counts"])

    totals = {key: np.zeros(len(own_edges) + 1, np.int64) for key, own_edges in edges.items()}
    for row in times.mapInArrow(count, f"{HASH} long, counts array<long>").collect():
        totals[row[HASH]] += np.array(row["counts"], np.int64)
    axis = time_ranges.KeyAxis
    return {key: axis(edges[key], np.cumsum(total)[:-1], int(total.sum())) for key, total in totals.items()}


def at_gaps(times: DataFrame, bounds: dict[int, list[int]], gap: int) -> dict[int, list[int]]:
    """Return bounds moved to where sessions begin."""
    cases = when_hash({key: place_sql(own_bounds) for key, own_bounds in bounds.items()})
    placed = times.withColumn(RANGE, F.expr(f"CASE {cases} END"))
    ticks = F.col(TICKS)
    before = F.lag(ticks).over(Window.partitionBy(HASH, RANGE).orderBy(TICKS))
    starts = placed.withColumn("start", F.when(F.try_subtract(ticks, before) > gap, ticks))
    times_by_range: dict[int, dict[int, tuple[int, int, int | None]]] = {key: {} for key in bounds}
    for row in starts.groupBy(HASH, RANGE).agg(F.min(ticks), F.max(ticks), F.min("start")).collect():
        key, number, first, newest, start = row
        times_by_range[key][number] = (first, newest, start)
    return {key: time_ranges.move_to_gaps(own_times, gap) for key, own_times in times_by_range.items()}


def cut_cells_to_slices(rows: DataFrame, split: RangeSplit, worker: BucketWorker) -> dict[int, list[bytes]]:
    """Return the encoded slices of each cell of which ranges need no rows, in order of time; rows have their cells."""
    names = [F.col(quote(name)) for name in worker.query.columns]
    chosen = rows.where(F.col(RANGE).isin(split.sliced_cells)).select(*names, F.col(RANGE).alias(GROUP))
    slices: dict[int, list[bytes]] = {}
    answers = run_groups(chosen, SliceWorker(**vars(worker)), SliceWorker.columns).collect()
    for row in sorted(answers, key=lambda row: (row["cell"], row["place"])):
        slices.setdefault(row["cell"], []).append(bytes(row["slices"]))
    return slices


@dataclass(frozen=True)
class RangeSplit:
    """The ranges of some keys, by the hashes of the keys. Ranges and cells are numbered through all keys."""

    ranges: Mapping[int, Sequence[time_ranges.TimeRange]]

    @cached_property
    def numbered(self) -> list[tuple[int, time_ranges.TimeRange]]:
        """All ranges, with their keys, in the order of their numbers."""
        return [(key, time_range) for key, ranges in self.ranges.items() for time_range in ranges]

    @cached_property
    def cells(self) -> dict[int, tuple[int, list[int]]]:
        """By key: the number of its first cell, and where each of its cells begins."""
        cells: dict[int, tuple[int, list[int]]] = {}
        first = 0
        for key, ranges in self.ranges.items():
            intervals = chain.from_iterable((*each.row_intervals, *(each.zones or ())) for each in ranges)
            begins = sorted({NEVER, *chain.from_iterable(intervals)} - {FOREVER})
            cells[key] = first, begins
            first += len(begins)
        return cells

    def _inside(self, key: int, intervals: Iterable[Interval]) -> Iterator[int]:
        """Yield the cells of a key that intervals consist of."""
        first, begins = self.cells[key]
        for begin, end in intervals:
            yield from range(first + bisect_left(begins, begin), first + bisect_left(begins, end))

    def ranges_by_cell(self, *, owned: bool = False) -> list[list[int]]:
        """Return, by cell, the ranges that are sent its rows one by one; or the one range that owns them."""
        ranges: list[list[int]] = [[] for _, begins in self.cells.values() for _ in begins]
        for number, (key, time_range) in enumerate(self.numbered):
            for cell in self._inside(key, [(time_range.begin, time_range.end)] if owned else time_range.row_intervals):
                ranges[cell].append(number)
        return ranges

    @cached_property
    def slice_cells(self) -> list[list[int]]:
        """By range: the cells of which it is sent slices."""
        return [[*self._inside(key, time_range.slice_intervals)] for key, time_range in self.numbered]

    @property
    def sliced_cells(self) -> list[int]:
        """The cells of which some range is sent slices."""
        return sorted({cell for cells in self.slice_cells for cell in cells})

    def cell_sql(self) -> str:
        """Return an SQL expression for the cell of a row; null for a key that is not split."""
        places = {key: f"{first} + {place_sql(begins[1:])}" for key, (first, begins) in self.cells.items()}
        return f"CASE {when_hash(places)} END" if places else "CAST(NULL AS INT)"

    def ranges_sql(self, *, owned: bool = False) -> str:
        """Return an SQL expression for the ranges that are sent a row of a cell; or for the one range that owns the row.

        >>> from sash.workers.time_ranges import TimeRange
        >>> split = RangeSplit({7: [TimeRange(NEVER, 10, NEVER), TimeRange(10, FOREVER, 6)]})
        >>> split.ranges_sql()
        'element_at(array(array(0), array(0, 1), array(1)), sash_range + 1)'
        >>> split.ranges_sql(owned=True)
        'element_at(array(array(0), array(0), array(1)), sash_range + 1)'
        """
        arrays = [f"array({', '.join(map(str, numbers))})" for numbers in self.ranges_by_cell(owned=owned)]
        return f"element_at(array({', '.join(arrays)}), {RANGE} + 1)" if arrays else "CAST(NULL AS ARRAY<INT>)"


def when_hash(values: Mapping[int, str]) -> str:
    """Return the cases of an SQL expression that has a value for each key."""
    return " ".join(f"WHEN {HASH} = {key} THEN {value}" for key, value in values.items())


def place_sql(edges: Sequence[int]) -> str:
    """Return an SQL expression for the number of edges at or before the time of a row; 0 for null.

    >>> place_sql([10, 20])
    'CASE WHEN sash_ticks >= 10 THEN CASE WHEN sash_ticks >= 20 THEN 2 ELSE 1 END ELSE 0 END'
    """

    def between(low: int, high: int) -> str:
        if low == high:
            return str(low)
        middle = (low + high + 1) // 2
        later, earlier = between(middle, high), between(low, middle - 1)
        return f"CASE WHEN {TICKS} >= {edges[middle - 1]} THEN {later} ELSE {earlier} END"

    return between(0, len(edges))
