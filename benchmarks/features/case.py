"""A case of labels in this process: four windows and five aggregates for each label."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pyarrow as pa

from benchmarks.case import Call, Case, Contestant
from benchmarks.features.data import DAY

WINDOWS = {"1h": DAY // 24, "1d": DAY, "7d": 7 * DAY, "30d": 30 * DAY}
"""In microseconds. A window ends with the time of its label, and an event exactly at its begin is outside it."""
AGGREGATES = ("n", "total", "mean", "peak", "sd")
NAMES = tuple(f"{name}_{length}" for name in AGGREGATES for length in WINDOWS)
"""The columns of answers."""


@dataclass(frozen=True, kw_only=True)
class FeatureContestant(Contestant):
    """One way to answer the case."""

    prepare: Callable[[pa.Table, pa.Table], Call]
    """From events and labels to the call that is timed. It returns a table of all answers, in the order of the ids of labels."""


@dataclass(frozen=True, kw_only=True)
class FeatureCase(Case):
    """Features of labels."""

    contestants: tuple[FeatureContestant, ...]
    aggregate: str = "count, sum, mean, max, stddev"
    tolerance: float = 1e-9
    repeats: int = 3

    @property
    def range(self) -> str:
        """The windows."""
        return ", ".join(WINDOWS)
