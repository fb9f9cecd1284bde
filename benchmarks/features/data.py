"""Payments of cards over 90 days in order of time, and labels at other times, in no order; the same in every run."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import pyarrow as pa

SEED = 16
FIRST = 1_709_251_200_000_000
"""The first of March 2024, in microseconds."""
DAY = 86_400_000_000
DAYS = 90
EVENTS_OF_A_KEY, EVENTS_OF_A_LABEL = 100, 10
TIME = pa.timestamp("us")


@lru_cache(maxsize=2)
def events(rows: int) -> pa.Table:
    """Return payments in order of time."""
    chooser = np.random.default_rng(SEED)
    return pa.table(
        {
            "card": chooser.integers(0, keys(rows), rows),
            "ts": pa.array(np.sort(chooser.integers(0, DAYS * DAY, rows)) + FIRST).cast(TIME),
            "amount": np.round(chooser.lognormal(3, 1, rows), 2),
        }
    )


@lru_cache(maxsize=2)
def labels(rows: int) -> pa.Table:
    """Return labels in no order."""
    chooser = np.random.default_rng(SEED + 1)
    count = max(1, rows // EVENTS_OF_A_LABEL)
    return pa.table(
        {
            "id": np.arange(count),
            "card": chooser.integers(0, keys(rows), count),
            "ts": pa.array(chooser.integers(0, DAYS * DAY, count) + FIRST).cast(TIME),
        }
    )


def keys(rows: int) -> int:
    """Return the number of cards."""
    return max(1, rows // EVENTS_OF_A_KEY)
