"""What the results of a stream come to, from the raw rows: how many windows there are, and the sums of what is in them."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from benchmarks.first_answer.data import FIRST
from benchmarks.stream_growth.data import MINUTE, rows_of

Minutes = npt.NDArray[np.int64]
LATE_SECONDS = 10
PRIME = 97
"""Totals are weighted by the remainder of the key, so that a value at the wrong key is noticed."""


def expected(keys: int, rows: int, batches: int, slices: int, slide: int) -> dict[str, float]:
    """Return the digest of all windows that the watermark has passed when all rows have come.

    Windows have a number of slices of one minute, and begin at each multiple of `slide` minutes.
    """
    parts = [rows_of(keys, rows, batch) for batch in range(batches)]
    key, times, x = (np.concatenate(column) for column in zip(*parts, strict=True))
    first = FIRST // MINUTE
    minute = times // MINUTE
    last_start = (int(times.max()) - LATE_SECONDS * 1_000_000) // MINUTE - slices
    windows = _windows(minute, minute - slices, last_start, slide)
    pairs = np.unique(key * (1 << 20) + (minute - first))
    of_key, at = pairs >> 20, (pairs & ((1 << 20) - 1)) + first
    before = np.where(np.diff(of_key, prepend=-1) == 0, np.concatenate([[0], at[:-1]]), 0)
    return {
        "windows": int(_windows(at, np.maximum(before, at - slices), last_start, slide).sum()),
        "n": int(windows.sum()),
        "total": float((windows * x * (key % PRIME)).sum()),
    }


def _windows(last: Minutes, after: Minutes, latest: int, slide: int) -> Minutes:
    """Return how many windows begin after some minutes, and up to others, and not later than the latest."""
    windows: Minutes = np.maximum(0, np.minimum(last, latest) // slide - after // slide)
    return windows
