"""The rows, in files of a temporary folder: the processes read them, and the time to read is not counted."""

from __future__ import annotations

import atexit
import shutil
import tempfile
from functools import cache
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import feather

SEED = 20
FIRST = 1_709_251_200_000_000
"""The first of March 2024, in microseconds."""
KEYS = 10
SECOND = 1_000_000


def rows_of(rows: int) -> pa.Table:
    """Return rows in order of time, one a second on average, each of one of ten keys; no two have the same time.

    >>> rows_of(3).schema.names
    ['key', 'ts', 'x']
    """
    random = np.random.default_rng(SEED)
    steps = 1 + random.exponential(SECOND, rows).astype(np.int64)
    return pa.table(
        {
            "key": random.integers(0, KEYS, rows),
            "ts": pa.array(FIRST + np.cumsum(steps), pa.timestamp("us")),
            "x": random.normal(100.0, 15.0, rows),
        }
    )


@cache
def written(rows: int) -> Path:
    """Return the folder with the rows as `rows.arrow` and, for readers without Arrow, `rows.parquet`."""
    made = folder() / str(rows)
    (made / "parquet").mkdir(parents=True)
    table = rows_of(rows)
    feather.write_feather(table, str(made / "rows.arrow"), compression="uncompressed")
    pq.write_table(table, made / "parquet" / "rows.parquet")
    return made


@cache
def folder() -> Path:
    """Return the folder of all that is written: it is removed when Python ends."""
    made = tempfile.mkdtemp(prefix="sash-first-answer-")
    atexit.register(shutil.rmtree, made, ignore_errors=True)
    return Path(made)
