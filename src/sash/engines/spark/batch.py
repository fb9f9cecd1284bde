"""A query on a Spark DataFrame as a whole, by one of three strategies. Nothing runs before the result is asked for.

slices   Spark aggregates slices itself; only they are shuffled, and only they reach Python
buckets  the rows of a key go to one task, those of many keys together
ranges   the rows of one key go to many tasks: the time axis is split, for no key or one that has most of the rows
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 — as everyone calls it
from pyspark.sql.types import ArrayType, DataType, MapType, StructField, StructType

from sash.engines.local import Local
from sash.engines.spark.schema import arrow_of, has, read_schema, result_fields
from sash.engines.spark.worker import Worker
from sash.engines.types import readable
from sash.plan.declared import Declared

PARTITIONS = "spark.sql.shuffle.partitions"
LARGE = "spark.sql.execution.arrow.useLargeVarTypes"


@dataclass(frozen=True)
class Options:
    """How a query is run on Spark, where that is not left to Sash."""

    compiled: bool = True
    strategy: str = "auto"
    buckets: int | None = None
    """Groups of keys; as many as Spark has partitions after a shuffle, unless said."""
    types: Mapping[str, Any] | None = None
    """What aggregates give, by name, where that can't be known before they run."""


def run(declared: Declared, frame: DataFrame, options: dict[str, Any]) -> DataFrame:
    """Return the results of a query as a frame that is computed when it is asked for."""
    return Batch(declared, frame, Options(**options)).run()


class Batch:
    """A query and the frame that it is for, checked."""

    def __init__(self, declared: Declared, frame: DataFrame, options: Options) -> None:
        self.declared = declared
        self.frame = frame
        self.options = options
        _refuse_streams(frame)
        _refuse_no_order(declared)
        self.schema = read_schema(declared, frame)
        needed = readable(self.schema.empty_table()).select(declared.columns or self.schema.names[:1])
        self.local = Local(declared, needed.schema, compiled=options.compiled, threads=1)
        self.local.settle()

    @cached_property
    def added(self) -> list[StructField]:
        """The columns of results."""
        return result_fields(self.local, self.options.types or {}, self.frame.schema)

    @property
    def results(self) -> StructType:
        """The columns of the result; rows keep theirs."""
        return StructType([*(self.frame.schema.fields if self.declared.per_row else []), *self.added])

    @property
    def buckets(self) -> int:
        """How many groups keys are put into."""
        return self.options.buckets or int(self.frame.sparkSession.conf.get(PARTITIONS) or 200)

    @property
    def worker(self) -> Worker:
        """What is sent to Python workers."""
        large = self.frame.sparkSession.conf.get(LARGE) == "true"
        results = arrow_of(self.results, large)
        return Worker(self.declared, self.local.interpreted, results, compiled=self.options.compiled)

    def run(self) -> DataFrame:
        """Return the results."""
        needed = self.frame if self.declared.per_row else self.frame.select(*map(quoted, self.schema.names))
        return by_buckets(
            needed, bucket_of(self.declared.by, self.frame.schema, self.buckets), self.worker, self.results
        )


def by_buckets(frame: DataFrame, bucket: Column, worker: Worker, results: StructType) -> DataFrame:
    """Return what a worker makes of each group of rows.

    It is groupBy that keeps a key's rows together: after a repartition Spark's adaptive execution may split them again.
    """
    name = free_name("sash_bucket", frame.columns)
    return frame.withColumn(name, bucket).groupBy(name).applyInArrow(group_function(worker, name), results)


def group_function(worker: Worker, bucket: str) -> Callable[..., Any]:
    """Return the function that Spark calls for each group of rows; its types tell Spark to send them in batches."""

    def answer(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return worker.answer(batch.drop_columns([bucket]) for batch in batches)

    answer.__annotations__ = {"batches": Iterator[pa.RecordBatch], "return": Iterator[pa.RecordBatch]}
    return answer


def bucket_of(by: tuple[str, ...], schema: StructType, buckets: int) -> Column:
    """Return the bucket of a row's key; keys that Spark takes for equal, as 0.0 and -0.0, are in the same."""
    if not by:
        return F.lit(0)
    keys = [hashable(quoted(name), schema[name].dataType) for name in by]
    return F.pmod(F.xxhash64(*keys), F.lit(buckets)).cast("int")


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


def quoted(name: str) -> Column:
    """Return a column by its name, whatever is in that."""
    return F.col(in_backticks(name))


def in_backticks(name: str) -> str:
    """Return a name as Spark reads it in one piece.

    >>> in_backticks("a.b`c")
    '`a.b``c`'
    """
    return "`" + name.replace("`", "``") + "`"


def free_name(name: str, taken: list[str]) -> str:
    """Return a name that no column has.

    >>> free_name("x", ["X", "x_"])
    'x__'
    """
    while name.lower() in {each.lower() for each in taken}:
        name += "_"
    return name


def _refuse_streams(frame: DataFrame) -> None:
    if frame.isStreaming:
        message = "This DataFrame is a stream, on which queries don't run yet: read it with spark.read."
        raise NotImplementedError(message)


def _refuse_no_order(declared: Declared) -> None:
    if declared.time is None and not declared.order_by:
        message = (
            "Rows of a Spark DataFrame have no order of their own: say which column orders them, as in "
            'Query(time="ts", …) or Query(order_by="id", …).'
        )
        raise ValueError(message)
