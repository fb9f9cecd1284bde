"""The rows of WindowBenchmark: a number for each, drawn from a million, and a word that is its place five times."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyspark.sql import DataFrame

from benchmarks.spark_batch.data import folder
from benchmarks.spark_batch.session import spark

SEED, LARGEST = 42, 1_000_000


def numbers(rows: int) -> DataFrame:
    """Return rows in order, in one file, as WindowBenchmark has them in one partition."""
    return spark().read.schema("id long, v int, word string").parquet(str(_written(rows)))


@cache
def _written(rows: int) -> Path:
    place = pa.array(np.arange(rows))
    number = np.random.default_rng(SEED).integers(0, LARGEST, rows, dtype=np.int32)
    path = folder() / f"numbers_{rows}.parquet"
    pq.write_table(pa.table({"id": place, "v": number, "word": pc.binary_repeat(place.cast("string"), 5)}), path)
    return path
