"""The answers, recomputed from the raw rows of a window. They share nothing with any contestant."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.column_case import ColumnCase, ColumnContestant, Values, without_nulls

PEER_TOLERANCE = 1e-6
"""Peers are checked to have done the same work, not to be as accurate."""
QUANTILE = 0.9
ELEMENTS = 8_000_000
SAMPLES = 2_000
"""How many rows are read at most, and in how many windows, for a check: all of a small case, a few of a large one."""


def exact_sum(window: Values) -> float:
    """Add without rounding."""
    return int(window.sum()) if window.dtype.kind == "i" else math.fsum(window.tolist())


def exact_stddev(window: Values) -> float:
    """Take the sample deviation in two passes, summed without rounding, from distances that are small."""
    if len(window) == 1:
        return math.nan
    near = (window - window[0]).astype(float)  # exact for values of one size
    distances = near - math.fsum(near.tolist()) / len(near)
    squares = math.fsum((distances * distances).tolist()) - math.fsum(distances.tolist()) ** 2 / len(near)
    return math.sqrt(squares / (len(near) - 1))


REFERENCES: dict[str, Callable[[Values], Any]] = {
    "max": np.max,
    "min": np.min,
    "sum": exact_sum,
    "mean": lambda window: exact_sum(window) / len(window),
    "stddev": exact_stddev,
    "variance by sums": lambda window: exact_stddev(window) ** 2 * (1 - 1 / len(window)) if len(window) > 1 else 0.0,
    "median": np.median,
    "quantile": lambda window: np.quantile(window, QUANTILE),
    "copy": lambda window: window[-1],
}


class Reference:
    """The expected answers of one case, each recomputed once however many contestants are checked against it."""

    def __init__(self, values: Values) -> None:
        self.values = values
        self._known: dict[tuple[str, int, int], Any] = {}

    def expected(self, aggregate: str, row: int, length: int) -> Any:
        """Return the aggregate of the newest `length` rows at `row`."""
        key = aggregate, row, length
        if key not in self._known:
            self._known[key] = REFERENCES[aggregate](self.values[max(0, row + 1 - length) : row + 1])
        return self._known[key]

    def error(self, aggregate: str, answers: Values | TwoPasses, length: int, rows: list[int]) -> float:
        """Return the largest relative error of the answers at these rows."""
        return max(relative_error(answers[row], self.expected(aggregate, row, length)) for row in rows)

    def check(self, case: ColumnCase, contestant: ColumnContestant, given: Any, rows: int) -> None:
        """Raise if the contestant has not answered every row, or has answered a sampled one wrongly."""
        tolerance = case.tolerance if contestant.role == "sash" else PEER_TOLERANCE
        by_range = given if isinstance(given, dict) else {case.ranges[0]: given}
        if sorted(by_range) != sorted(case.ranges):
            message = f"{case.name}: {contestant.name} answered the ranges {sorted(by_range)}, not {case.ranges}."
            raise AssertionError(message)
        for length, held in by_range.items():
            answers = without_nulls(held)
            if len(answers) != rows:
                message = f"{case.name}: {contestant.name} gave {len(answers)} answers for {rows} rows."
                raise AssertionError(message)
            for row in sample(rows, length, contestant.lead, len(by_range)):
                expected = self.expected(contestant.answers, row, length)
                if relative_error(answers[row], expected) > tolerance:
                    message = (
                        f"{case.name}: {contestant.name} answers {answers[row]} for the {length} rows up to row {row}, "
                        f"which is {expected} (tolerance {tolerance:g})."
                    )
                    raise AssertionError(message)


class TwoPasses:
    """NumPy's stddev of the window that ends at a row: the mean first, then the squares of the distances to it."""

    def __init__(self, values: Values, length: int) -> None:
        self.values = values
        self.length = length

    def __getitem__(self, row: int) -> float:
        """Compute the answer of one row."""
        window = self.values[max(0, row + 1 - self.length) : row + 1]
        return float(np.std(window, ddof=1))


def relative_error(given: Any, expected: Any) -> float:
    """Return the distance as a part of what was expected; 0 if neither is a number.

    >>> relative_error(99.0, 100.0), relative_error(float("nan"), float("nan")), relative_error(float("nan"), 1.0)
    (0.01, 0.0, inf)
    """
    if given != given or expected != expected:  # noqa: PLR0124 — only NaN differs from itself
        return 0.0 if given != given and expected != expected else math.inf  # noqa: PLR0124
    if given == expected:
        return 0.0
    return abs(float(given) - float(expected)) / abs(float(expected)) if expected else math.inf


def sample(rows: int, length: int, first: int = 0, shares: int = 1) -> list[int]:
    """Return the rows to check, from `first` on: all if that is cheap, else those at the edges and some in between.

    >>> sample(4, 2), len(sample(1 << 20, 1 << 10)) > 1000, len(sample(1 << 22, 1 << 20))
    ([0, 1, 2, 3], True, 11)
    """
    affordable = min(ELEMENTS // length, SAMPLES) // shares
    if rows - first <= affordable:
        return list(range(first, rows))
    edges = {first, length - 1, length, rows - 1}
    between = np.random.default_rng(rows).integers(first, rows, max(6, affordable))
    return sorted({row for row in edges | set(between.tolist()) if first <= row < rows})
