"""Checks and times a case of WindowBenchmark."""

from __future__ import annotations

from pyspark.sql import DataFrame

from benchmarks.spark_batch.case import SparkContestant
from benchmarks.spark_batch.field import SparkField
from benchmarks.spark_windows.data import numbers


class AroundField(SparkField):
    """Contestants that make a frame of a frame, of numbers."""

    def rows_of(self, contestant: SparkContestant, rows: int) -> DataFrame:
        """Return the place and the value of each row."""
        return numbers(rows).select("id", contestant.readings)
