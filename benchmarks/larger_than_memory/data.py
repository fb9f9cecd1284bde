"""The rows: a Parquet file with 32 bytes a row, in no order. It is written in parts, as it may be larger than memory."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from math import gcd
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.first_answer.data import FIRST, folder

SEED = 23
ROW_BYTES = 32
PART = 1 << 20
ROW_GROUP = 1 << 17
SPAN = 30 * 86_400_000_000
"""Microseconds: 30 days."""
ROWS_OF_A_KEY = 3_200
STRIDE = 7_368_787
"""A prime: times are taken in strides of it, so that they come in no order, and none twice."""
SCHEMA = pa.schema({"key": pa.int64(), "ts": pa.timestamp("us"), "x": pa.float64(), "y": pa.float64()})


def parts_of(rows: int) -> Iterator[pa.Table]:
    """Yield the rows in parts.

    >>> sum(len(part) for part in parts_of(10))
    10
    """
    random = np.random.default_rng(SEED)
    stride = STRIDE if gcd(STRIDE, rows) == 1 else 1
    for first in range(0, rows, PART):
        count = min(PART, rows - first)
        places = (np.arange(first, first + count) * stride) % rows
        yield pa.table(
            {
                "key": random.integers(0, max(3, rows // ROWS_OF_A_KEY), count),
                "ts": pa.array(FIRST + places * (SPAN // rows), SCHEMA.field("ts").type),
                "x": random.normal(100.0, 15.0, count),
                "y": random.normal(100.0, 15.0, count),
            },
            schema=SCHEMA,
        )


@cache
def written(rows: int) -> Path:
    """Return the file of the rows."""
    path = folder() / f"larger_than_memory_{rows}.parquet"
    with pq.ParquetWriter(path, SCHEMA) as writer:
        for part in parts_of(rows):
            writer.write_table(part, row_group_size=ROW_GROUP)
    return path
