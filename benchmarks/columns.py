"""The data: the same random columns in every run."""

from __future__ import annotations

from functools import cache

import numpy as np

from benchmarks.column_case import Values

SEED = 20
FAR_AWAY = 1e9
"""Where a spread of 1 is lost by formulas that subtract squares: 1e18 ± 1 needs 60 bits."""
SPIKE = 1e90


@cache
def column(name: str, rows: int) -> Values:
    """Return a column by its name: float64, int64, far_away (1e9 and noise), spike (one 1e90 in the first quarter), rising, falling.

    >>> column("int64", 3).dtype, len(column("spike", 100))
    (dtype('int64'), 100)
    """
    random = np.random.default_rng(SEED)
    if name == "int64":
        return random.integers(0, 1_000_000, rows)
    if name == "far_away":
        return FAR_AWAY + random.normal(0.0, 1.0, rows)
    values = random.normal(100.0, 15.0, rows)
    if name in ("rising", "falling"):
        return np.sort(values) if name == "rising" else np.sort(values)[::-1].copy()
    if name == "spike":
        values[spike_row(rows)] = SPIKE
    return values


def spike_row(rows: int) -> int:
    """Return the row of the spike."""
    return rows // 4
