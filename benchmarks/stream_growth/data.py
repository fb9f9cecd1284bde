"""The rows: each micro-batch is half a minute, with keys drawn at random, in two Parquet files."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.first_answer.data import FIRST, SEED, folder

MINUTE = 60_000_000
BATCH = MINUTE // 2
FILES = 2
SCHEMA = "key long, ts timestamp, x double"
Columns = tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.float64]]


@cache
def rows_of(keys: int, rows: int, batch: int) -> Columns:
    """Return keys, times in microseconds and values of a micro-batch, in no order."""
    draw = np.random.default_rng([SEED, keys, rows, batch])
    times = FIRST + batch * BATCH + draw.integers(0, BATCH, rows)
    return draw.integers(0, keys, rows), times, draw.normal(50, 10, rows)


@cache
def arrivals(keys: int, rows: int, batches: int) -> Path:
    """Write the files of a stream, and return their folder."""
    path = folder() / f"{keys}_{rows}_{batches}"
    path.mkdir()
    for batch in range(batches):
        key, times, x = rows_of(keys, rows, batch)
        table = pa.table({"key": key, "ts": pa.array(times, pa.timestamp("us", "UTC")), "x": x})
        for part in range(FILES):
            begin, end = (rows * edge // FILES for edge in (part, part + 1))
            file = path / f"{batch:03}_{part}.parquet"
            pq.write_table(table.slice(begin, end - begin), file)
            age = batch * FILES + part
            os.utime(file, (age, age))  # Spark takes files in order of their age
    return path
