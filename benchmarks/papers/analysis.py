"""Numbers from the CSV: the lines of a figure, ratios of two lines, the fit to a logarithm, the size where one line passes another."""

from __future__ import annotations

from collections.abc import Sequence
from math import log2
from statistics import fmean, geometric_mean
from typing import NamedTuple, TypeAlias

import numpy as np

from benchmarks.case import say
from benchmarks.report import round_off
from benchmarks.results import Reading

Line: TypeAlias = dict[int, float]
"""Values by the place on the x-axis."""
Lines: TypeAlias = dict[str, Line]
"""By contestant."""


def series(readings: Sequence[Reading], figure: str, about: str) -> Lines:
    """Return the lines of a figure, or of one part of it."""
    lines: Lines = {}
    for one in readings:
        if one.case == f"{figure}, {about}, {one.range}":
            lines.setdefault(one.contestant, {})[int(one.range)] = one.least
    return {name: dict(sorted(line.items())) for name, line in lines.items()}


def ratios(above: Line, below: Line) -> Line:
    """Return how many times one line is the other, where both have a value.

    >>> ratios({1: 6.0, 2: 8.0}, {2: 4.0})
    {2: 2.0}
    """
    return {size: above[size] / below[size] for size in above if below.get(size)}


class LogFit(NamedTuple):
    """The best fit of a + b · log2 n."""

    start: float
    slope: float
    explained: float
    """R²: 1 if the points lie on the line."""

    def at(self, size: int) -> float:
        """Return the fitted value."""
        return self.start + self.slope * log2(size)


def fit_log(line: Line) -> LogFit:
    """Return the least-squares fit.

    >>> fit_log({2: 3.0, 4: 5.0, 8: 7.0})
    LogFit(start=1.0, slope=2.0, explained=1.0)
    """
    x, y = np.log2(list(line)), np.array(list(line.values()))
    slope, start = np.polyfit(x, y, 1)
    total = ((y - y.mean()) ** 2).sum()
    explained = 1 - ((y - start - slope * x) ** 2).sum() / total if total else 1.0
    return LogFit(round(float(start), 6), round(float(slope), 6), round(float(explained), 6))


def crossing(ratio: Line, level: float = 1.0) -> float | None:
    """Return the size from which on a ratio stays at or above a level, interpolated on log axes; None if it does not.

    >>> crossing({8: 0.5, 16: 2.0, 32: 4.0}), crossing({8: 0.5}), crossing({8: 3.0})
    (11.313708498984761, None, 8.0)
    """
    sizes = sorted(ratio)
    if not sizes or ratio[sizes[-1]] < level:
        return None
    first = len(sizes) - 1
    while first > 0 and ratio[sizes[first - 1]] >= level:
        first -= 1
    if first == 0:
        return float(sizes[0])
    low, high = sizes[first - 1], sizes[first]
    share = (log2(level) - log2(ratio[low])) / (log2(ratio[high]) - log2(ratio[low]))
    return float(2 ** (log2(low) + share * (log2(high) - log2(low))))


def say_ratio(value: float) -> str:
    """Write a ratio.

    >>> say_ratio(1.234), say_ratio(0.5)
    ('1.2 ×', '0.5 ×')
    """
    return f"{round_off(value)} ×"


def say_mean(ratio: Line) -> str:
    """Write the geometric mean of ratios and their range, with the place of the largest one.

    >>> say_mean({8: 1.0, 1024: 4.0})
    '2 × in the mean, 1 × to 4 × (at 1 K)'
    """
    most = max(ratio, key=lambda size: ratio[size])
    mean = geometric_mean(ratio.values())
    return (
        f"{say_ratio(mean)} in the mean, {say_ratio(min(ratio.values()))} to {say_ratio(ratio[most])} (at {say(most)})"
    )


def mean_of(line: Line) -> float:
    """Return the arithmetic mean, as the papers do."""
    return fmean(line.values())
