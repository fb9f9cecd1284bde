"""Groups of rows that go to one task each: their numbers, and the function that Spark calls for each of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import chain
from typing import Any, Protocol

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 — as everyone calls it
from pyspark.sql.types import ArrayType, DataType, MapType, StructType

from sash.aggregates.sql import quote
from sash.spark.schema import GROUP, has

SEED = 42
BITS = 0xFFFFFFFF


class Answers(Protocol):
    """What is sent to Python workers."""

    def answer(self, group: int, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the results of a group of rows."""


def answer_groups(grouped: DataFrame, worker: Answers, results: StructType | str) -> DataFrame:
    """Return what a worker makes of each group of rows.

    It is groupBy that keeps a group together: after a repartition alone adaptive execution may split it again.
    """
    names = grouped.columns
    sent = grouped.toDF(*plain_names(names))
    return sent.groupBy(sent.columns[names.index(GROUP)]).applyInArrow(group_function(worker, names), results)


def plain_names(names: list[str]) -> list[str]:
    """Return names that applyInArrow finds columns by, which is not so where there is a point or a backtick in them.

    >>> plain_names(["a", "b c"]), plain_names(["a", "b.c"])
    (['a', 'b c'], ['column_0', 'column_1'])
    """
    if not any(character in name for name in names for character in ".`"):
        return names
    return [f"column_{place}" for place in range(len(names))]


def group_function(worker: Answers, names: list[str]) -> Callable[..., Any]:
    """Return the function that Spark calls for each group; its types tell Spark to send the rows in batches."""

    def answer(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        named = (batch.rename_columns(names) for batch in batches)
        first = next(named)
        group = first[GROUP][0].as_py()
        return worker.answer(group, (batch.drop_columns([GROUP]) for batch in chain([first], named)))

    answer.__annotations__ = {"batches": Iterator[pa.RecordBatch], "return": Iterator[pa.RecordBatch]}
    return answer


def bucket_of(by: tuple[str, ...], schema: StructType, buckets: int) -> Column:
    """Return the number of the bucket that a row's key is in."""
    return F.pmod(hash_of(by, schema), F.lit(buckets)).cast("int") if by else F.lit(0)


def hash_of(by: tuple[str, ...], schema: StructType) -> Column:
    """Return the hash of a row's key, the same for keys that Spark takes for equal, as 0.0 and -0.0."""
    return F.xxhash64(*(hashable(F.col(quote(name)), schema[name].dataType) for name in by))


def hashable(column: Column, kind: DataType) -> Column:
    """Return a column in which maps, which Spark doesn't hash, are their entries in the order of keys."""
    if not has(MapType, kind):
        return column
    if isinstance(kind, ArrayType):
        return F.transform(column, lambda item: hashable(item, kind.elementType))
    if isinstance(kind, MapType):
        entries = F.map_entries(column)  # whose keys have no maps in them, and are all different
        return F.array_sort(
            F.transform(entries, lambda entry: F.struct(entry["key"], hashable(entry["value"], kind.valueType)))
        )
    assert isinstance(kind, StructType)
    return F.struct(*[hashable(column.getField(field.name), field.dataType) for field in kind])


def numbered(place: Column, numbers: list[int]) -> Column:
    """Return the number that the group at a place goes by."""
    return F.element_at(F.array(*map(F.lit, numbers)), place + 1)


def spread_out(groups: int) -> list[int]:
    """Return numbers for groups such that Spark sends each to a partition of its own, if there are as many.

    Spark sends a number to where its hash says, so that of sixteen groups in a row three may meet in one task and others
    have none.

    >>> sorted(hash_int(number) % 4 for number in spread_out(4))
    [0, 1, 2, 3]
    """
    numbers: dict[int, int] = {}
    candidate = 0
    while len(numbers) < groups:
        numbers.setdefault(hash_int(candidate) % groups, candidate)
        candidate += 1
    return [numbers[partition] for partition in range(groups)]


def hash_int(value: int) -> int:
    """Return Spark's hash of an int, which is 32 bits of Murmur3 (Appleby 2008), as a signed integer.

    >>> hash_int(1)
    -559580957
    """
    mixed = _rotated(value * 0xCC9E2D51 & BITS, 15) * 0x1B873593 & BITS
    state = (_rotated(SEED ^ mixed, 13) * 5 + 0xE6546B64) & BITS
    state ^= 4  # bytes
    state = (state ^ state >> 16) * 0x85EBCA6B & BITS
    state = (state ^ state >> 13) * 0xC2B2AE35 & BITS
    state ^= state >> 16
    return state - (1 << 32) if state >> 31 else state


def _rotated(value: int, bits: int) -> int:
    return (value << bits | value >> 32 - bits) & BITS
