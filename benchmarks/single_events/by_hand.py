"""Other ways to keep the aggregate of the last rows: deques and running sums by hand, NumPy, pandas and river."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from math import sqrt
from typing import Any

import numpy as np
import pandas as pd
from river import stats, utils

from benchmarks.case import Call


class MaxByHand:
    """A deque of the values that no later value exceeds."""

    def __init__(self, length: int) -> None:
        self.length, self.row = length, 0
        self.largest: deque[tuple[int, float]] = deque()

    def move(self, value: float) -> float:
        """Add a value, remove the oldest one, and return the maximum."""
        largest = self.largest
        while largest and largest[-1][1] < value:
            largest.pop()
        largest.append((self.row, value))
        if largest[0][0] <= self.row - self.length:
            largest.popleft()
        self.row += 1
        return largest[0][1]


class SumByHand:
    """A deque of all values, and their sum: subtracting leaves rounding errors behind."""

    def __init__(self, length: int) -> None:
        self.held = deque([0.0] * length)
        self.total = 0.0

    def move(self, value: float) -> float:
        """Add a value, remove the oldest one, and return the sum."""
        self.held.append(value)
        self.total += value - self.held.popleft()
        return self.total


class MeanByHand(SumByHand):
    """A deque of all values, and their sum."""

    def move(self, value: float) -> float:
        """Add a value, remove the oldest one, and return the mean."""
        return super().move(value) / len(self.held)


class DeviationByHand:
    """A deque of all values, their sum and the sum of their squares."""

    def __init__(self, length: int) -> None:
        self.held, self.length = deque([0.0] * length), length
        self.total = self.squares = 0.0

    def move(self, value: float) -> float:
        """Add a value, remove the oldest one, and return the sample deviation."""
        oldest = self.held.popleft()
        self.held.append(value)
        self.total += value - oldest
        self.squares += value * value - oldest * oldest
        return sqrt(max(0.0, self.squares - self.total * self.total / self.length) / (self.length - 1))


BY_HAND: dict[str, Callable[[int], Any]] = {
    "max": MaxByHand,
    "sum": SumByHand,
    "mean": MeanByHand,
    "stddev": DeviationByHand,
}


def by_hand(aggregate: str, values: list[float], length: int) -> Call:
    """Return the run of a window that is kept by hand."""
    move = BY_HAND[aggregate](length).move
    for value in values[-length:]:
        move(value)
    return lambda: [move(value) for value in values]


RECOMPUTED: dict[str, Callable[[Any], float]] = {
    "max": np.max,
    "sum": np.sum,
    "mean": np.mean,
    "stddev": lambda held: held.std(ddof=1),
}


def by_numpy(aggregate: str, values: list[float], length: int) -> Call:
    """Return the run of a ring of values that is recomputed after each event."""
    recompute = RECOMPUTED[aggregate]

    def run() -> list[float]:
        ring = np.array(values[-length:])
        results, place = [], 0
        for value in values:
            ring[place] = value
            place = place + 1 if place + 1 < length else 0
            results.append(float(recompute(ring)))
        return results

    return run


def by_pandas(aggregate: str, values: list[float], length: int) -> Call:
    """Return the run of a Series of the last values after each event."""
    name = "std" if aggregate == "stddev" else aggregate

    def run() -> list[float]:
        held, results = deque(values[-length:], maxlen=length), []
        for value in values:
            held.append(value)
            results.append(float(getattr(pd.Series(held), name)()))
        return results

    return run


def by_river(aggregate: str, values: list[float], length: int) -> Call:
    """Return the run of river's rolling statistics."""
    kept: dict[str, Callable[[], Any]] = {
        "max": lambda: stats.RollingMax(window_size=length),
        "sum": lambda: utils.Rolling(stats.Sum(), window_size=length),
        "mean": lambda: utils.Rolling(stats.Mean(), window_size=length),
        "stddev": lambda: utils.Rolling(stats.Var(), window_size=length),
    }
    window = kept[aggregate]()
    for value in values[-length:]:
        window.update(value)

    def run() -> list[float]:
        results = []
        for value in values:
            window.update(value)
            result = window.get()
            results.append(sqrt(result) if aggregate == "stddev" else result)
        return results

    return run
