"""The rows, in files of a temporary folder: the processes read them, and the time to read is not counted."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import feather

from benchmarks.first_answer.data import folder

SEED = 19
COLUMNS = ("a", "b", "c", "d")


def rows_of(rows: int, keys: int) -> pa.Table:
    """Return rows in order of time, each of a key drawn at random; no two have the same time.

    >>> rows_of(2, 1).column_names
    ['key', 'ts', 'a', 'b', 'c', 'd']
    """
    random = np.random.default_rng(SEED)
    return pa.table(
        {
            "key": random.integers(0, keys, rows),
            "ts": np.cumsum(random.integers(1, 100, rows)),
            **{name: random.normal(100, 15, rows) for name in COLUMNS},
        }
    )


@cache
def written(rows: int, keys: int) -> Path:
    """Return the file of the rows."""
    path = folder() / f"growth_{rows}_{keys}.arrow"
    feather.write_feather(rows_of(rows, keys), str(path), compression="uncompressed")
    return path
