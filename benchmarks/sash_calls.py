"""How Sash is called: the one place to change when its interface does.

Until `Aggregator.slide` exists, the calls go to `sash.kernels` directly, with two loops of their own: several ranges in one
pass, and a window that is kept between calls.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np

import sash
from benchmarks.case import Ranges, Values
from benchmarks.references import QUANTILE
from sash import agg
from sash.aggregates.base import Aggregate
from sash.algorithms import find_algorithm
from sash.algorithms.base import SharedAlgorithm
from sash.kernels import Kernel, loops
from sash.kernels.kernel import KINDS
from sash.plan.choose import choose_algorithm

Run = tuple[Any, tuple[Any, ...], tuple[Any, ...]]
"""A compiled loop, its arguments before the column and those after it."""


def variation(moments: tuple[int, float, float]) -> float:
    """Return the sample deviation as a part of the mean; NaN for one value."""
    count, total, squares = moments
    if count == 1:
        return np.nan
    return float(np.sqrt((squares - total * total / count) / (count - 1)) / (total / count))


AGGREGATES: dict[str, Aggregate[Any]] = {
    "max": agg.max(),
    "min": agg.min(),
    "sum": agg.sum(),
    "mean": agg.mean(),
    "stddev": agg.stddev(),
    "median": agg.median(),
    "quantile": agg.quantile(q=QUANTILE),
    "variation": sash.aggregate(
        "variation",
        lift=lambda x: (1, x, x * x),
        combine=lambda older, newer: (older[0] + newer[0], older[1] + newer[1], older[2] + newer[2]),
        lower=variation,
        commutative=True,
    ),
}
"""By name; `variation` is the user-written one, of three fields."""


def slide(aggregate: str, algorithm: str, values: Values, length: int) -> Any:
    """Return each row's aggregate of the newest `length` rows."""
    aggregator: Any = sash.Aggregator
    if hasattr(aggregator, "slide"):
        return aggregator(AGGREGATES[aggregate], algorithm=algorithm).slide(values, length)
    results, valid = _kernel(aggregate, algorithm, str(values.dtype), loops.slide_rows).slide_rows((values,), length)
    if valid[-1] and not valid.all():
        results[~valid] = np.nan
    return results


def slide_many(aggregate: str, algorithm: str, values: Values, ranges: Ranges) -> dict[int, Any]:
    """Return each row's aggregate of every range, in one pass."""
    aggregator: Any = sash.Aggregator
    if hasattr(aggregator, "slide"):
        answers: dict[int, Any] = aggregator(AGGREGATES[aggregate], algorithm=algorithm).slide(values, list(ranges))
        return answers
    kernel = _kernel(aggregate, algorithm, str(values.dtype), slide_ranges)
    lengths = np.array(sorted(ranges, reverse=True))
    results = np.empty((len(lengths), len(values)), kernel.result)
    state = kernel.arguments((values,), results.reshape(-1), int(lengths[0]))
    kernel.run(len(values), lengths, len(lengths), *state)
    return dict(zip(lengths.tolist(), results, strict=True))


def kept_window(aggregate: str, algorithm: str, dtype: str, length: int) -> tuple[Run, Values]:
    """Return an empty compiled window of at most `length` rows, to be stepped row by row, and where its answer will be."""
    kernel = _kernel(aggregate, algorithm, dtype, step_rows)
    answer = np.zeros(1, kernel.result)
    _, *rest = kernel.arguments((np.empty(0, dtype),), answer, length)
    return (kernel.run, (1, length), tuple(rest)), answer


def slide_ranges(
    window: SharedAlgorithm[Any],
    rows: int,
    lengths: Sequence[int],
    ranges: int,
    lifted: Callable[[int], Any],
    emit: Callable[[int, Any], None],
) -> None:
    """Give each row the aggregates of several ranges, the widest first."""
    for row in range(rows):
        if row >= lengths[0]:
            window.evict()
        window.insert(lifted(row))
        for number in range(ranges):
            emit(number * rows + row, window.query_last(min(lengths[number], row + 1)))


def step_rows(
    window: Any, rows: int, length: int, lifted: Callable[[int], Any], emit: Callable[[int, Any], None]
) -> None:
    """Go on with a window, one row after the other."""
    for row in range(rows):
        if window.end - window.begin == length:
            window.evict()
        window.insert(lifted(row))
        emit(row, window.query())


class _OwnLoop(Kernel):
    """A kernel of a loop that `Kernel` doesn't know how to start."""

    def _compile_now(self, loop: str) -> None:
        """Leave it to the first call, which is not timed either."""


@cache
def _kernel(aggregate: str, algorithm: str, dtype: str, loop: Any) -> Kernel:
    chosen = AGGREGATES[aggregate].of_kind(KINDS[dtype])
    name = choose_algorithm(chosen).algorithm if algorithm == "auto" else algorithm
    kind = Kernel if loop is loops.slide_rows else _OwnLoop
    return kind(find_algorithm(name, chosen), AGGREGATES[aggregate], (dtype,), loop)
