"""The data: events of households, the same in every run."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import pyarrow as pa

SEED = 20
FIRST = np.datetime64("2024-03-01T00:00:00", "us").astype(np.int64)
SPAN = 100_000_000_000
"""Microseconds, almost 28 hours: with 10,000 rows a key has one each 10 seconds."""
ROWS_OF_A_KEY = {"by time": 10_000, "by key": 10_000, "many keys": 10}
AT_LEAST = 3
"""Keys, however few the rows are."""


@lru_cache(maxsize=6)
def events(name: str, rows: int) -> pa.Table:
    """Return a stream of events, keys at random: in order of time, also of "many keys"; or sorted "by key", then time.

    >>> events("by time", 6).schema.names, len(events("many keys", 50)["household"].unique())
    (['household', 'ts', 'load'], 5)
    """
    random = np.random.default_rng(SEED)
    keys = max(AT_LEAST, rows // ROWS_OF_A_KEY[name])
    table = pa.table(
        {
            "household": random.permutation(np.arange(rows) % keys),
            "ts": pa.array(FIRST + np.sort(random.integers(0, SPAN, rows)), pa.timestamp("us")),
            "load": random.normal(100.0, 15.0, rows),
        }
    )
    return table.take(np.argsort(table["household"].to_numpy(), kind="stable")) if name == "by key" else table
