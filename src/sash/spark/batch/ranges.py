"""Ranges: the rows of one key go to many tasks. Where to cut is asked of Spark in jobs over the time column alone.

    sketch   how times are spread: a KLL sketch of each partition, merged here         always
    count    how many rows lie between fine edges                                      for windows that count rows
    gaps     where, after each bound, a session begins                                 for sessions
    partials of rows that ranges don't need one by one, from all columns of the query  for windows wider than ranges

With keys, those that have more than a task's share of all rows are cut; the others go into buckets.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import pyarrow as pa
from datasketches import kll_doubles_sketch
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 — as everyone calls it

from sash.aggregates.sql import quote
from sash.spark.batch.cells import Split, place_sql
from sash.spark.batch.split import Counted, even_bounds, first_start, move_to_gaps, sample
from sash.spark.batch.wide import Stretch, StretchWorker
from sash.spark.batch.worker import Worker
from sash.spark.batch.zones import Windows
from sash.spark.groups import answer_groups, hash_of
from sash.spark.schema import GROUP, HASH, RANGE, TICKS

ACCURACY = 4000
"""Of sketches: ranks are off by less than a thousandth."""
EDGES_OF_A_RANGE = 256
"""Rows are counted between so many edges in each range, so that a range gets little more than it needs."""
NO_KEY = 0
"""The hash of rows that have no key."""


def split_rows(times: DataFrame, shares: Mapping[int, int], windows: Windows) -> Split:
    """Return how rows are cut, given the hash of their key and their time in ticks, and which keys into how many ranges."""
    if not shares:
        return Split({})
    reach = windows.reach
    heavy = times.where(F.col(HASH).isin(list(shares)))
    sketches = sketch_times(heavy)
    if not sketches:  # nor are there rows
        return Split({})
    cuts = {key: sketches[key].get_quantiles(_ranks(EDGES_OF_A_RANGE * shares[key])) for key in sketches}
    bounds = {key: even_bounds(quantiles, shares[key]) for key, quantiles in cuts.items()}
    if reach.gap >= 0:
        bounds = at_gaps(heavy, bounds, reach.gap)
    counted = {key: sample(quantiles, sketches[key].n) for key, quantiles in cuts.items()}
    if reach.rows:
        counted = count_rows(heavy, {key: counted[key].edges for key in counted})
    return Split(
        {
            key: windows.parts(bounds[key], shares[key], counted[key], sketches[key].get_max_value())
            for key in sorted(bounds)
        }
    )


def shares_of(rows: DataFrame, by: tuple[str, ...], ranges: int) -> dict[int, int]:
    """Return the keys, by hash, that have more rows than a task should, and into how many ranges each is cut.

    Hashes leave nulls out, so that (1, null) and (null, 1) have the same one: where several keys have, they are not cut.
    """
    if not by:
        return {NO_KEY: ranges}
    counts = rows.groupBy(HASH, *(F.col(quote(name)) for name in by)).count()
    hashes = counts.groupBy(HASH).agg(F.sum("count").alias("rows"), F.count("*").alias("keys"))
    total = counts.agg(F.sum("count")).collect()[0][0] or 0
    most = hashes.where("keys = 1").orderBy(F.desc("rows")).limit(ranges).collect()
    return {row[HASH]: -(-row["rows"] * ranges // total) for row in most if row["rows"] * ranges > total}


def sketch_times(times: DataFrame) -> dict[int, Any]:
    """Return a sketch of each key's times."""
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


def count_rows(times: DataFrame, edges: dict[int, Any]) -> dict[int, Counted]:
    """Return how many rows of each key lie before edges."""

    def count(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        made = {key: np.zeros(len(own) + 1, np.int64) for key, own in edges.items()}
        for key, ticks in by_key(batches):
            made[key] += np.bincount(np.searchsorted(edges[key], ticks, side="right"), minlength=len(made[key]))
        yield _records({HASH: pa.int64(), "counts": pa.list_(pa.int64())}, list(made.items()))

    totals = {key: np.zeros(len(own) + 1, np.int64) for key, own in edges.items()}
    for row in times.mapInArrow(count, f"{HASH} long, counts array<long>").collect():
        totals[row[HASH]] += np.array(row["counts"], np.int64)
    return {key: Counted(edges[key], np.cumsum(total)[:-1], int(total.sum())) for key, total in totals.items()}


def at_gaps(times: DataFrame, bounds: dict[int, list[int]], gap: int) -> dict[int, list[int]]:
    """Return bounds moved on to where sessions begin."""
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
    """Return the function that finds where in a range a session begins."""

    def find(rows: pa.Table) -> pa.Table:
        ticks = np.sort(rows[TICKS].drop_null().to_numpy())
        where = [rows[name][0].as_py() for name in (HASH, RANGE)]
        told = [int(ticks[0]), int(ticks[-1]), first_start(ticks, gap)] if len(ticks) else [None] * 3
        kinds = [pa.int64(), pa.int32(), pa.int64(), pa.int64(), pa.int64()]
        columns = [pa.array([value], kind) for value, kind in zip([*where, *told], kinds, strict=True)]
        return pa.table(columns, names=[HASH, RANGE, "first", "newest", "start"])

    return find


def find_stretches(rows: DataFrame, split: Split, worker: Worker) -> dict[int, list[Stretch]]:
    """Return what stands for the rows of each cell of which only partials are needed, in order; rows know their cells."""
    names = [F.col(quote(name)) for name in worker.declared.columns]
    chosen = rows.where(F.col(RANGE).isin(split.sums)).select(*names, F.col(RANGE).alias(GROUP))
    found: dict[int, list[Stretch]] = {}
    made = answer_groups(chosen, StretchWorker(worker), StretchWorker.columns).collect()
    for row in sorted(made, key=lambda row: (row["cell"], row["place"])):
        fields = tuple(bytes(field) for field in row["fields"])
        found.setdefault(row["cell"], []).append(Stretch(row["time"], row["rows"], tuple(row["counts"]), fields))
    return found


def by_key(batches: Iterator[pa.RecordBatch]) -> Iterator[tuple[int, Any]]:
    """Yield the times of each key in each batch, without nulls, of which the query itself says that they are there."""
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
    """Return a frame with the hash of each row's key and its time in ticks, the two that ranges are told by."""
    key = hash_of(by, frame.schema) if by else F.lit(NO_KEY).cast("long")
    return frame.withColumn(HASH, key).withColumn(TICKS, F.expr(ticks))
