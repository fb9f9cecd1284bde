"""The readings of `generated_readings.py` as a Spark source: a stream at a fixed rate, or a table of the same rows."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, MutableMapping, Sequence
from itertools import pairwise
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader, InputPartition
from pyspark.sql.types import StructType

from sash.spark import check_version
from sash.spark.arrow_types import spark_schema
from sash.spark.generated_readings import MILLION, SCHEMA, Readings

try:
    from pyspark.sql.streaming import datasource as read_limits
except ImportError:  # Spark 4.1
    read_limits = None  # type: ignore[assignment]

NAME = "sash_readings"
PARTITION_ROWS = 200_000
"""Some tenths of a second of work: less is not worth a task."""
BATCH_ROWS = 50_000


def stream(spark: SparkSession, options: Mapping[str, str]) -> DataFrame:
    """Register the source and return a stream of it."""
    Readings.read(options)
    check_version("this session", spark.version)
    spark.dataSource.register(ReadingsSource)
    return spark.readStream.format(NAME).options(**options).load()


class ReadingsSource(DataSource):
    """The format "sash_readings"."""

    def __init__(self, options: MutableMapping[str, str]) -> None:
        super().__init__(options)
        self.readings = Readings.read(options)

    @classmethod
    def name(cls) -> str:
        """Return the name of the format."""
        return NAME

    def schema(self) -> StructType:
        """Return the columns."""
        return spark_schema(SCHEMA)

    def reader(self, schema: StructType) -> DataSourceReader:  # noqa: ARG002 — Spark passes it by name
        """Return the reader of a table."""
        if self.readings.rows is None:
            raise ValueError("A table of readings needs the option rows. Set it, or read a stream.")
        return ReadingsTable(self.readings)

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: ARG002, N802 — Spark's names
        """Return the reader of a stream."""
        if self.readings.rows_per_batch is not None and read_limits is None:
            raise ValueError("rows_per_batch needs Spark 4.2 or later. Leave it out.")
        return ReadingsStream(self.readings)


class RowReader:
    """Generates the rows of a partition, in this process or in a worker."""

    def __init__(self, readings: Readings) -> None:
        self.readings = readings

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Generate the rows of a range, batch by batch."""
        begin, end = partition.value
        for first in range(begin, end, BATCH_ROWS):
            yield self.readings.batch(first, min(end, first + BATCH_ROWS))


class ReadingsTable(RowReader, DataSourceReader):
    """All rows at once."""

    def partitions(self) -> Sequence[InputPartition]:
        """Return ranges of rows."""
        return partitions(0, self.readings.rows or 0)


class ReadingsStream(RowReader, DataSourceStreamReader):
    """Rows at a fixed rate since the stream began.

    An offset has the number of the next row and the time at which the stream began, so that after a restart the stream
    continues as if it had never stopped.
    """

    last_time: float | None = None
    """The time at which the clock was stopped."""
    offset: dict[str, Any] | None = None
    """The newest offset that Spark has passed: Spark 4.1 calls latestOffset without one."""

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802 — Spark's name, as those below
        """Begin now."""
        return {"row": 0, "began": int(time.time() * MILLION), "readings": str(self.readings)}

    def getDefaultReadLimit(self) -> read_limits.ReadLimit:  # noqa: N802
        """Return the limit of a micro-batch."""
        most = self.readings.rows_per_batch
        return read_limits.ReadAllAvailable() if most is None else read_limits.ReadMaxRows(most)

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        """Stop the clock."""
        self.last_time = time.time()

    def latestOffset(self, start: dict[str, Any] | None = None, limit: Any = None) -> dict[str, Any]:  # noqa: N802
        """Return the end of the next micro-batch."""
        if start is None:
            start = self.offset = self.offset or self.initialOffset()
        self.check(start)
        row = self.available(start["began"])
        if read_limits is not None and isinstance(limit, read_limits.ReadMaxRows):
            row = min(row, start["row"] + limit.max_rows)
        return {**start, "row": max(row, start["row"])}

    def check(self, offset: dict[str, Any]) -> None:
        """Raise ValueError if an offset belongs to a stream with other options."""
        if offset["readings"] != str(self.readings):
            raise ValueError(
                f"The checkpoint belongs to readings with other options: {offset['readings']}, not {self.readings}. Use the "
                "same options, or a new checkpoint."
            )

    def available(self, began: int) -> int:
        """Return the number of rows that have arrived; all rows if the trigger is availableNow, or unknown as on Spark 4.1."""
        rows = self.readings.rows
        if rows is not None and (self.last_time is not None or read_limits is None):
            return rows
        seconds = (self.last_time or time.time()) - began / MILLION
        row = int(seconds * self.readings.rows_per_second)
        return row if rows is None else min(row, rows)

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        """Return ranges of the rows of a micro-batch."""
        self.check(start)
        self.offset = end
        return partitions(start["row"], end["row"])

    def commit(self, end: dict[str, Any]) -> None:
        """Remember the offset."""
        self.offset = end


if read_limits is not None:
    read_limits.SupportsTriggerAvailableNow.register(ReadingsStream)


def partitions(begin: int, end: int) -> list[InputPartition]:
    """Cut rows into ranges of about the same length."""
    count = -(-(end - begin) // PARTITION_ROWS)
    edges = [begin + (end - begin) * number // count for number in range(count + 1)] if count else []
    return [InputPartition(edge) for edge in pairwise(edges)]
