"""A source of Spark's that makes readings of smart plugs: a stream at a set rate, or the same rows as a table.

An offset is the number of the next row and when the stream began, so that what Spark reads again after a restart are the
same rows, and the stream goes on as if meters had been read all the time.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, MutableMapping, Sequence
from itertools import pairwise
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader, InputPartition
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StructType

from sash.testing.readings import SCHEMA, Readings

try:
    from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit, ReadMaxRows, SupportsTriggerAvailableNow
except ModuleNotFoundError as error:
    raise ImportError(
        "The source of readings needs Spark 4.2 or later: it limits how many rows a batch has."
    ) from error

NAME = "sash_readings"
ROWS_OF_A_PARTITION = 200_000
"""Some tenths of a second of work: less is not worth a task."""
ROWS_OF_A_BATCH = 50_000
MICROSECONDS = 1_000_000


def stream(spark: SparkSession, options: Mapping[str, str]) -> DataFrame:
    """Return a stream of readings, and let the session know their source."""
    Readings.read(options)
    spark.dataSource.register(ReadingsSource)
    return spark.readStream.format(NAME).options(**options).load()


class ReadingsSource(DataSource):
    """What `spark.readStream.format("sash_readings")` and `spark.read.format("sash_readings")` find."""

    def __init__(self, options: MutableMapping[str, str]) -> None:
        super().__init__(options)
        self.readings = Readings.read(options)

    @classmethod
    def name(cls) -> str:
        """Return the format."""
        return NAME

    def schema(self) -> StructType:
        """Return the columns."""
        return from_arrow_schema(SCHEMA)

    def reader(self, schema: StructType) -> DataSourceReader:  # noqa: ARG002 — Spark passes it by name
        """Return what reads all rows as a table."""
        return ReadingsTable(self.readings)

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: ARG002, N802 — Spark's names
        """Return what reads rows as they come."""
        return ReadingsStream(self.readings)


class ReadingsTable(DataSourceReader):
    """All rows at once."""

    def __init__(self, readings: Readings) -> None:
        if readings.rows is None:
            raise ValueError("A table of readings has an end: give the option rows, or read a stream.")
        self.readings = readings
        self.rows = readings.rows

    def partitions(self) -> Sequence[InputPartition]:
        """Return stretches of rows."""
        return partitions(0, self.rows)

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Make the rows of a stretch."""
        return batches(self.readings, partition)


class ReadingsStream(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Rows as they come: so many a second since the stream began."""

    def __init__(self, readings: Readings) -> None:
        self.readings = readings
        self.last_look: float | None = None

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802 — Spark's name, as those below
        """Begin now."""
        return {"row": 0, "began": int(time.time() * MICROSECONDS), "readings": str(self.readings)}

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        """Return how many rows to take at once."""
        most = self.readings.rows_per_batch
        return ReadAllAvailable() if most is None else ReadMaxRows(most)

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        """Let nothing come any more."""
        self.last_look = time.time()

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:  # noqa: N802
        """Return up to which row the next batch goes."""
        self.check(start)
        row = self.come(start["began"])
        if isinstance(limit, ReadMaxRows):
            row = min(row, start["row"] + limit.max_rows)
        return {**start, "row": max(row, start["row"])}

    def check(self, start: dict[str, Any]) -> None:
        """Say so if a checkpoint counts other rows than these."""
        if start["readings"] != str(self.readings):
            message = (
                f"The checkpoint is of a stream of other readings, those of {start['readings']}, while these are of "
                f"{self.readings}: give the same options, or another checkpoint."
            )
            raise ValueError(message)

    def come(self, began: int) -> int:
        """Return how many rows have come since then; all that there are, if nobody waits for them."""
        if self.last_look is not None and self.readings.rows is not None:
            return self.readings.rows
        seconds = (self.last_look or time.time()) - began / MICROSECONDS
        row = int(seconds * self.readings.rows_per_second)
        return row if self.readings.rows is None else min(row, self.readings.rows)

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        """Return stretches of a batch's rows."""
        self.check(start)
        return partitions(start["row"], end["row"])

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Make the rows of a stretch."""
        return batches(self.readings, partition)


def partitions(begin: int, end: int) -> list[InputPartition]:
    """Cut rows into stretches of about the same length."""
    parts = -(-(end - begin) // ROWS_OF_A_PARTITION)
    edges = [begin + (end - begin) * part // parts for part in range(parts + 1)] if parts else []
    return [InputPartition(edge) for edge in pairwise(edges)]


def batches(readings: Readings, partition: InputPartition) -> Iterator[pa.RecordBatch]:
    """Make the rows of a stretch, some at a time."""
    begin, end = partition.value
    for first in range(begin, end, ROWS_OF_A_BATCH):
        yield readings.batch(first, min(end, first + ROWS_OF_A_BATCH))
