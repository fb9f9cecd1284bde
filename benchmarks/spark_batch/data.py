"""The data: readings of households, made by Spark, the same in every run, in Parquet files of a temporary folder."""

from __future__ import annotations

import atexit
import shutil
import tempfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 — as everyone calls it

from benchmarks.spark_batch.session import spark

SEED = 20
FIRST = 1_709_251_200_000_000
"""The first of March 2024, in microseconds."""
DAY = 86_400_000_000
FEWEST_KEYS = 2
FILES = 4
NOTE_LENGTH = 24


@dataclass(frozen=True)
class Readings:
    """How many rows a key has, and how many microseconds they span. No key: rows of one stream, at that pace."""

    rows_of_a_key: int
    span: int
    has_keys: bool = True
    notes: int = 0
    """The number of further columns: strings of 24 characters."""
    is_skewed: bool = False
    """Whether the first key has nine of ten rows, and the others share the rest."""

    def keys(self, rows: int) -> int:
        """Return how many keys there are: with fewer rows they are fewer, not shorter; but never one that is not whole.

        >>> READINGS["40 K rows a key"].keys(4_000_000), READINGS["40 K rows a key"].keys(10)
        (100, 2)
        """
        return rows // self.rows_of_a_key or FEWEST_KEYS if self.has_keys else 1

    def span_of(self, rows: int) -> int:
        """Return from the first row to the last, in microseconds."""
        return self.span if self.has_keys else self.span * rows // self.rows_of_a_key


READINGS = {
    "40 K rows a key": Readings(40_000, 10 * DAY),
    "10 K rows a key": Readings(10_000, DAY),
    "10 rows a key": Readings(10, DAY),
    "20 rows a key": Readings(20, 90 * DAY),
    "2 K rows a key": Readings(2_000, 90 * DAY),
    "20 more columns": Readings(40_000, 10 * DAY, notes=20),
    "20 K rows a key": Readings(20_000, 10 * DAY),
    "90 % in one key": Readings(20_000, 10 * DAY, is_skewed=True),
    "no key": Readings(24_000, DAY, has_keys=False),
}


def readings(name: str, rows: int) -> DataFrame:
    """Return readings in order of time, of households at random, as they were written before."""
    return spark().read.parquet(_written(name, rows))


@cache
def _written(name: str, rows: int) -> str:
    data = READINGS[name]
    path = f"{folder()}/{name.replace(' ', '_')}_{rows}"
    row = F.col("id")
    instant = F.lit(FIRST) + F.floor(row * F.lit(data.span_of(rows) / rows)).cast("long")
    made = spark().range(0, rows, 1, FILES)
    household = F.pmod(F.xxhash64(row), F.lit(data.keys(rows)))
    if data.is_skewed:
        household = F.when(F.pmod(F.xxhash64(row, F.lit(SEED)), F.lit(10)) > 0, 0).otherwise(household)
    made.select(
        household.alias("household"),
        F.timestamp_micros(instant).alias("ts"),
        (F.randn(SEED) * 15 + 100).alias("load"),
        *(F.lpad(F.hex(F.xxhash64(row, F.lit(n))), NOTE_LENGTH, "-").alias(f"note_{n}") for n in range(data.notes)),
    ).write.parquet(path)
    return path


@cache
def folder() -> Path:
    """Return the folder of all that is written: it goes when Python does."""
    made = tempfile.mkdtemp(prefix="sash-readings-")
    atexit.register(shutil.rmtree, made, ignore_errors=True)
    return Path(made)
