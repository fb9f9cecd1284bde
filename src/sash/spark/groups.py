"""Groups of rows, one task each: how Spark brings the rows of a group together, and the function that it calls for a group.

run_keys     shuffle by a hash of the key; a group is whatever keys Spark puts into a partition
run_groups   groupBy(group number), for time ranges; Spark also sorts the rows by group
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import chain
from typing import Any

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 — as everyone calls it
from pyspark.sql.types import ArrayType, DataType, MapType, StructType

from sash.aggregates.sql import quote
from sash.spark.arrow_types import has, is_exact
from sash.spark.private import validates_results
from sash.workers.bucket_worker import BucketWorker
from sash.workers.own_columns import GROUP
from sash.workers.worker_function import marked_errors, titled

OWN_SHUFFLE = "sash: the rows of a key stay together"
GROUPS = 64
"""The number of groups where `run_keys` needs groups, and the user does not say how many."""


def run_keys(
    frame: DataFrame, key: Column | None, buckets: int | None, worker: BucketWorker, results: StructType
) -> DataFrame:
    """Return the results of a worker for the rows of each partition, after a shuffle that brings the rows of a key together.

    `key` is a hash of the key from `hash_of`, or None if all rows belong together. Without `buckets`, Spark chooses the
    number of partitions.

    Spark never splits a partition of a shuffle that `repartition` asked for. Adaptive execution may join several, which is
    harmless, and splits only those of joins, of aggregations and of rebalance hints. But Spark leaves the shuffle out if the
    rows are partitioned by an equal expression already, and then it may split that partition. So the expression has a
    constant that no other expression has.
    """
    if validates_results(frame.sparkSession) and not is_exact(results):
        group = F.lit(0) if key is None else F.pmod(key, F.lit(buckets or GROUPS)).cast("int")
        return run_groups(frame.withColumn(GROUP, group), worker, results)
    names = frame.columns
    if key is None:
        together = frame.repartition(1)
    else:
        place = F.xxhash64(F.lit(OWN_SHUFFLE), key)
        together = frame.repartition(place) if buckets is None else frame.repartition(buckets, place)
    return together.toDF(*plain_names(names)).mapInArrow(group_function(worker, names), results)


def run_groups(grouped: DataFrame, worker: BucketWorker, results: StructType | str) -> DataFrame:
    """Return the results of a worker for each group of rows.

    groupBy keeps a group together. After a repartition alone, adaptive execution may split it.
    """
    names = grouped.columns
    sent = grouped.toDF(*plain_names(names))
    return sent.groupBy(sent.columns[names.index(GROUP)]).applyInArrow(group_function(worker, names), results)


def plain_names(names: list[str]) -> list[str]:
    """Return names without dots and backticks, by which applyInArrow would not find a column.

    >>> plain_names(["a", "b c"]), plain_names(["a", "b.c"])
    (['a', 'b c'], ['column_0', 'column_1'])
    """
    if not any(character in name for name in names for character in ".`"):
        return names
    return [f"column_{place}" for place in range(len(names))]


def group_function(worker: BucketWorker, names: list[str]) -> Callable[..., Any]:
    """Return the function that Spark calls for each group, or for each partition, whose rows have no group.

    Its annotations make Spark send the rows of a group in batches.
    """

    def evaluate(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        named = (batch.rename_columns(names) for batch in batches if len(batch))
        first = next(named, None)
        if first is None:
            return
        rows = chain([first], named)
        with marked_errors():
            if GROUP not in names:
                yield from worker.evaluate_group(0, rows)
            else:
                group = first[GROUP][0].as_py()
                yield from worker.evaluate_group(group, (batch.drop_columns([GROUP]) for batch in rows))

    evaluate.__annotations__ = {"batches": Iterator[pa.RecordBatch], "return": Iterator[pa.RecordBatch]}
    return titled(evaluate, worker.title)


def bucket_of(by: tuple[str, ...], schema: StructType, buckets: int) -> Column:
    """Return the number of the bucket that a row's key is in."""
    return F.pmod(hash_of(by, schema), F.lit(buckets)).cast("int") if by else F.lit(0)


def hash_of(by: tuple[str, ...], schema: StructType) -> Column:
    """Return the hash of a row's key; keys that Spark considers equal, such as 0.0 and -0.0, have the same hash."""
    return F.xxhash64(*(hashable(F.col(quote(name)), schema[name].dataType) for name in by))


def hashable(column: Column, dtype: DataType) -> Column:
    """Return a column with maps, which Spark does not hash, as arrays of their entries in the order of keys."""
    if not has(MapType, dtype):
        return column
    if isinstance(dtype, ArrayType):
        return F.transform(column, lambda item: hashable(item, dtype.elementType))
    if isinstance(dtype, MapType):
        entries = F.map_entries(column)  # keys hold no maps, and are distinct
        pairs = F.transform(entries, lambda each: F.struct(each["key"], hashable(each["value"], dtype.valueType)))
        return F.array_sort(pairs)
    assert isinstance(dtype, StructType)
    return F.struct(*[hashable(column.getField(field.name), field.dataType) for field in dtype])


def numbered(place: Column, numbers: list[int]) -> Column:
    """Return the number of the group at a place."""
    return F.element_at(F.array(*map(F.lit, numbers)), place + 1)
