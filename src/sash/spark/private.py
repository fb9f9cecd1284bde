"""What Sash needs of Spark and Spark does not offer as public API, or not in each version. One function each, with the reason.

A new version of Spark may change any of these; tests/spark/test_private.py tests them on each supported version.
"""

from __future__ import annotations

import re

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import DataType, StructField, UserDefinedType

LARGE = "spark.sql.execution.arrow.useLargeVarTypes"
WATERMARK_DELAY = "spark.watermarkDelayMs"
OPERATOR = re.compile(r"^[\s:+-]*~(\w+)", re.MULTILINE)
"""A streaming operator in the text of a plan. Spark marks them by a tilde."""
WAITING = re.compile(r"Aggregate|TransformWithState\w*|FlatMapGroups\w*WithState")
"""Streaming operators that emit a row only when the watermark has passed it. So does an outer join of two streams."""


def watermark_delay(field: StructField) -> int | None:
    """Return the watermark delay of a column in milliseconds, or None if the stream has no watermark on it.

    `withWatermark` writes it into the metadata of the column. No function of Spark reads it.
    """
    delay = field.metadata.get(WATERMARK_DELAY)
    return None if delay is None else int(delay)


def with_watermark_delay(field: StructField, delay: int) -> StructField:
    """Return a column of results that carries on the watermark of the input.

    `DataFrame.withWatermark` would define a second watermark. The metadata make the column the event time of the results,
    so that later operators see the watermark of the stream.
    """
    metadata = {**field.metadata, WATERMARK_DELAY: delay}
    return StructField(field.name, field.dataType, field.nullable, metadata)


def waits_for_watermark(stream: DataFrame) -> bool:
    """Tell whether a stream is the output of a stateful operator, which emits rows behind the watermark.

    Spark has no public form of a plan but its text: PySpark's classic frames have private JVM objects, those of Connect
    have an unresolved plan on the client. `EXPLAIN` as SQL returns the text on both. (`DataFrame.explain` prints it, and
    to capture the standard output of the process is not safe with threads.)
    """
    text: str = stream.sparkSession.sql("EXPLAIN EXTENDED SELECT * FROM {stream}", stream=stream).collect()[0][0]
    operators = OPERATOR.findall(text.partition("== Analyzed")[2].partition("== Optimized")[0])
    joined = "Join" in operators and sum(name.startswith("StreamingRelation") for name in operators) > 1
    return joined or any(map(WAITING.fullmatch, operators))


def expects_large_types(session: SparkSession) -> bool:
    """Tell whether `applyInArrow` takes large strings and binaries from Python.

    It should if `useLargeVarTypes` is set, but Spark 4.1 and 4.2 send large types then and reject them as results.
    """
    return session.conf.get(LARGE) == "true" and not session.version.startswith(("4.1.", "4.2."))


def storage_type(kind: DataType) -> DataType:
    """Return the type in which Spark stores a user-defined type; other types as they are.

    `UserDefinedType` is internal since Spark 2, but columns of `pyspark.ml.linalg` have such types.
    """
    return storage_type(kind.sqlType()) if isinstance(kind, UserDefinedType) else kind
