"""Rows of text files that do not fit the types of a stream, such as 1.5 in a column of integers: left out, and counted.

Spark would replace such a value with null, and say nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 — the usual name
from pyspark.sql.types import StringType, StructType

CORRUPT = "sash_corrupt"
"""The column with the text of a row that does not fit, and the name of their count among Spark's observed metrics."""
TEXT_FORMATS = ("csv", "json")


def stream_of_files(session: SparkSession, schema: StructType, path: str, options: Mapping[str, Any]) -> DataFrame:
    """Return the rows of the files of a growing folder, without those that do not fit the schema. `options` has the format."""
    if options["format"] not in TEXT_FORMATS:
        return session.readStream.load(path, schema=schema, **options)
    whole = StructType([*schema.fields]).add(CORRUPT, StringType())
    rows = session.readStream.load(path, schema=whole, columnNameOfCorruptRecord=CORRUPT, **options)
    counted = rows.observe(CORRUPT, F.count(F.col(CORRUPT)).alias("rows"))
    return counted.filter(F.col(CORRUPT).isNull()).drop(CORRUPT)


def count_corrupt(progress: Any) -> int:
    """Return how many rows of a micro-batch did not fit."""
    observed = progress["observedMetrics"]
    return int(observed[CORRUPT]["rows"]) if CORRUPT in observed else 0
