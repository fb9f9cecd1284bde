"""What Sash needs of Spark and Spark does not offer as public API, or not in each version. One function each, with the reason.

A new version of Spark may change any of these; tests/spark/test_private.py tests them on each supported version.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import DataType, StructField, UserDefinedType

LARGE = "spark.sql.execution.arrow.useLargeVarTypes"
VALIDATE = "spark.sql.execution.arrow.pyspark.validateSchema.enabled"
WATERMARK_DELAY = "spark.watermarkDelayMs"
FORBIDDEN = "ATTEMPT_ANALYSIS_IN_PIPELINE_QUERY_FUNCTION"
"""The error of Spark if the query function of a pipeline asks for the schema of a DataFrame."""


def tasks_with_state(buckets: int | None) -> Callable[[], int]:
    """Return the function by which a task counts the tasks of its stream that have state; `buckets` is the answer if it is given.

    Spark fixes their number in the checkpoint, whatever the session says later. Only tasks know it: since Spark 4.2, as a setting of their
    job that is internal. The function is defined in a function, so that it is pickled by value, and workers need not import this module.
    """

    def count() -> int:
        from pyspark import TaskContext  # noqa: PLC0415 — in workers only

        if buckets is not None:
            return buckets
        task = TaskContext.get()
        assert task is not None
        names = ("spark.sql.streaming.internal.stateStore.partitions", "spark.sql.shuffle.partitions")
        known = [value for name in names if (value := task.getLocalProperty(name))]
        return int(known[0]) if known else 200  # Spark's default

    return count


def watermark_delay(field: StructField) -> int | None:
    """Return the watermark delay of a column in milliseconds, or None if the stream has no watermark on it.

    `withWatermark` writes it into the metadata of the column. No function of Spark reads it.
    """
    delay = field.metadata.get(WATERMARK_DELAY)
    return None if delay is None else int(delay)


def with_watermark_delay(field: StructField, delay: int | None) -> StructField:
    """Return a column of results that carries on the watermark of the input; without a delay, one that has no watermark.

    `DataFrame.withWatermark` would define a second watermark. The metadata make the column the event time of the results,
    so that later operators see the watermark of the stream.
    """
    metadata = {name: value for name, value in field.metadata.items() if name != WATERMARK_DELAY}
    metadata |= {} if delay is None else {WATERMARK_DELAY: delay}
    return StructField(field.name, field.dataType, field.nullable, metadata)


def expects_large_types(session: SparkSession) -> bool:
    """Tell whether `applyInArrow` takes large strings and binaries from Python.

    It should if `useLargeVarTypes` is set, but Spark 4.1 and 4.2 send large types then and reject them as results.
    """
    return session.conf.get(LARGE) == "true" and not session.version.startswith(("4.1.", "4.2."))


def validates_results(session: SparkSession) -> bool:
    """Tell whether `mapInArrow` compares the Arrow types of results with the declared types, which it does not by default.

    The check knows no types that Arrow lacks, such as intervals of days, collations and user-defined types, and rejects
    them. `applyInArrow` has no such check.
    """
    return session.conf.get(VALIDATE, "false") == "true"


def storage_type(dtype: DataType) -> DataType:
    """Return the type in which Spark stores a user-defined type; other types as they are.

    `UserDefinedType` is internal since Spark 2, but columns of `pyspark.ml.linalg` have such types.
    """
    return storage_type(dtype.sqlType()) if isinstance(dtype, UserDefinedType) else dtype


def is_connect(frame: DataFrame) -> bool:
    """Tell whether a frame is one of Spark Connect, whose plan is in this process; a classic one is in the JVM."""
    return type(frame).__module__.startswith("pyspark.sql.connect")


def is_stream_plan(frame: DataFrame) -> bool:
    """Tell whether a frame of Spark Connect is a stream, from its plan: `isStreaming` would have Spark analyse it."""
    return any(node.DESCRIPTOR.name == "Read" and node.is_streaming for node in _nodes(_plan(frame)))


def watermarks_of(frame: DataFrame) -> list[tuple[str, str]]:
    """Return the columns of a frame of Spark Connect that have a watermark, and its delay, from its plan; see `is_stream_plan`."""
    nodes = [node for node in _nodes(_plan(frame)) if node.DESCRIPTOR.name == "WithWatermark"]
    return [(node.event_time, node.delay_threshold) for node in nodes]


def replace_input(frame: DataFrame, other: DataFrame) -> None:
    """Replace the input of a frame of Spark Connect, which is one operator over it, and of everything that was made from the frame.

    Spark has no lazy frame whose input is set later, and pipelines forbid the views that could be one.
    """
    frame._plan._child = other._plan  # type: ignore[attr-defined]  # noqa: SLF001


def _plan(frame: Any) -> Any:
    return frame._plan.plan(frame.sparkSession.client)  # noqa: SLF001


def _nodes(message: Any) -> Iterator[Any]:
    """Yield a Protobuf message and all messages in it."""
    yield message
    for field, value in message.ListFields():
        if field.message_type is None or field.message_type.GetOptions().map_entry:
            continue
        for inner in [value] if hasattr(value, "ListFields") else value:
            yield from _nodes(inner)
