"""The states that a stream emits, from `foreachBatch` to a store: in pieces to the driver, or written by the tasks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.utils import is_remote

from sash.spark.arrow_types import arrow_schema
from sash.state.key_states import HEADER
from sash.workers.worker_function import marked_errors, titled

QUERY_ID = "sql.streaming.queryId"
"""The local property that Spark sets while it runs a micro-batch."""


def schema_of(frame: DataFrame) -> pa.Schema:
    """Return the columns of a DataFrame, with the headers of states in their metadata."""
    schema = arrow_schema(frame.schema, "UTC")
    for place, field in enumerate(frame.schema):
        header = field.metadata.get(HEADER)
        if header is not None:
            schema = schema.set(place, schema.field(place).with_metadata({HEADER: header}))
    return schema


def streaming_query_id(frame: DataFrame) -> str:
    """Return the id of the streaming query that a micro-batch belongs to. Raise RuntimeError if Spark does not tell."""
    found = None if is_remote() else frame.sparkSession.sparkContext.getLocalProperty(QUERY_ID)
    if not found:
        raise RuntimeError('The id of the stream is not known here. Name the stream: store.writer(name, run="…").')
    return str(found)


def collect_packed(frame: DataFrame, pack: Callable[[pa.RecordBatch], bytes]) -> Iterator[bytes]:
    """Return the rows of a DataFrame in pieces that its tasks have packed. The driver holds one partition at a time.

    The rows are computed once, by all cores; Spark keeps the pieces until the driver has read them.
    """

    def packed(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        with marked_errors():
            for batch in batches:
                if len(batch):
                    yield pa.record_batch({"packed": pa.array([pack(batch)], pa.binary())})

    pieces = frame.mapInArrow(titled(packed, "pack states"), "packed binary").persist()
    try:
        pieces.count()  # toLocalIterator alone would compute one partition after the other
        for row in pieces.toLocalIterator():
            yield bytes(row[0])
    finally:
        pieces.unpersist()


def compute(frame: DataFrame) -> None:
    """Compute all rows of a micro-batch, and drop them. Spark writes the state of a stream only where rows are computed.

    Without it, a micro-batch that a store skips would end the stream: Spark 4.3 says STATE_STORE_COMMIT_VALIDATION_FAILED.
    """
    frame.write.format("noop").mode("overwrite").save()


def run_tasks(frame: DataFrame, write: Callable[[pa.RecordBatch], Any]) -> None:
    """Have each task write its rows, and wait for all."""

    def written(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        with marked_errors():
            for batch in batches:
                write(batch)
            yield pa.record_batch({"written": pa.array([True])})

    frame.mapInArrow(titled(written, "write states"), "written boolean").collect()
