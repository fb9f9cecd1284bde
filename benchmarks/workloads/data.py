"""The rows: readings of plugs in households, in order of time, with the households in turns."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import pyarrow as pa

SEED = 31
FIRST = np.datetime64("2026-03-01T00:00:00", "us").astype(np.int64)
SPAN = 86_400_000_000
"""Microseconds: a day."""
ROWS_OF_A_HOUSEHOLD = 4_000
PLUGS = 40


@lru_cache(maxsize=3)
def readings(rows: int) -> pa.Table:
    """Return the rows; no two have the same time.

    >>> readings(3).column_names
    ['id', 'household', 'ts', 'plug', 'load']
    """
    random = np.random.default_rng(SEED)
    times = FIRST + np.sort(random.choice(SPAN // 1_000, rows, replace=False)) * 1_000
    return pa.table(
        {
            "id": np.arange(rows),
            "household": random.integers(0, max(3, rows // ROWS_OF_A_HOUSEHOLD), rows),
            "ts": pa.array(times, pa.timestamp("us")),
            "plug": random.integers(0, PLUGS, rows),
            "load": random.normal(100.0, 15.0, rows),
        }
    )
