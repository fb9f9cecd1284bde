"""The data: readings of households in Parquet files, two for each batch. The first batch is an hour, each other a minute."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 — as everyone calls it

from benchmarks.spark_batch.data import FEWEST_KEYS, FIRST, SEED, folder
from benchmarks.spark_batch.session import spark

MINUTE = 60_000_000
HISTORY = 60
"""Minutes that the first batch has, with a row for each minute of each key."""
FILES = 2
SCHEMA = "household long, ts timestamp, load double"
LATE = "10 seconds"


@dataclass(frozen=True)
class Arrivals:
    """How many rows a key has in a batch."""

    rows_of_a_key: int

    def keys(self, rows: int) -> int:
        """Return how many keys a batch of so many rows has.

        >>> ARRIVALS["25 rows a key"].keys(500_000), ARRIVALS["25 rows a key"].keys(10)
        (20000, 2)
        """
        return max(FEWEST_KEYS, rows // self.rows_of_a_key)


ARRIVALS = {f"{rows} {'row' if rows == 1 else 'rows'} a key": Arrivals(rows) for rows in (25, 2000, 1)}


def arriving(name: str, rows: int, batches: int) -> DataFrame:
    """Return a stream of readings whose batches have so many rows, after the first; none is late."""
    reader = spark().readStream.schema(SCHEMA).option("maxFilesPerTrigger", FILES)
    return reader.parquet(str(_written(name, rows, batches))).withWatermark("ts", LATE)


def arrived(name: str, rows: int, batches: int) -> DataFrame:
    """Return the same readings as a frame."""
    return spark().read.schema(SCHEMA).parquet(str(_written(name, rows, batches)))


def passed(windows: DataFrame, readings: DataFrame) -> DataFrame:
    """Return the windows that the watermark has passed when all readings have come."""
    (latest,) = readings.agg(F.max(F.unix_micros("ts"))).first() or (None,)
    last = F.timestamp_micros(F.lit(latest)) - F.expr(f"INTERVAL {LATE}")
    return windows.filter(F.col("window_end") <= last)


@cache
def _written(name: str, rows: int, batches: int) -> Path:
    data = ARRIVALS[name]
    path = folder() / f"{name.replace(' ', '_')}_{rows}_{batches}"
    path.mkdir()
    draw = np.random.default_rng(SEED)
    households = np.arange(data.keys(rows))
    minutes = np.tile(np.arange(HISTORY), len(households))
    _write(path, 0, draw, np.repeat(households, HISTORY), minutes)
    for batch in range(1, batches + 1):
        many = np.repeat(households, data.rows_of_a_key)
        _write(path, batch, draw, many, np.full(len(many), HISTORY + batch - 1))
    return path


def _write(path: Path, batch: int, draw: np.random.Generator, households: Any, minutes: Any) -> None:
    """Write the files of a batch, whose rows come in no order, each at some instant of its minute."""
    order = draw.permutation(len(households))
    instants = FIRST + minutes[order] * MINUTE + draw.integers(0, MINUTE, len(order))
    table = pa.table(
        {
            "household": households[order].astype(np.int64),
            "ts": pa.array(instants, pa.timestamp("us", "UTC")),
            "load": draw.normal(100, 15, len(order)),
        }
    )
    for part in range(FILES):
        begin, end = (len(table) * edge // FILES for edge in (part, part + 1))
        file = path / f"{batch:03}_{part}.parquet"
        pq.write_table(table.slice(begin, end - begin), file)
        age = batch * FILES + part
        os.utime(file, (age, age))  # Spark takes files in order of their age
