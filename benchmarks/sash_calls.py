"""How Sash is called: the one place to change when its interface does."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa

import sash
from benchmarks.case import Call
from benchmarks.column_case import ColumnContestant, Ranges, Values
from benchmarks.references import QUANTILE
from sash import agg
from sash.aggregates.base import Aggregate
from sash.algorithms import find_algorithm
from sash.kernels import Kernel, loops
from sash.kernels.kernel_state import KernelState

Run = tuple[Any, tuple[Any, ...], tuple[Any, ...]]
"""A compiled loop, its arguments before the column and those after it."""


AGGREGATES: dict[str, Aggregate[Any]] = {
    "max": agg.max(),
    "min": agg.min(),
    "sum": agg.sum(),
    "mean": agg.mean(),
    "stddev": agg.stddev(),
    "median": agg.median(),
    "quantile": agg.quantile(q=QUANTILE),
    "variance by sums": sash.aggregate(
        "variance by sums",
        lift=lambda x: (1, x, x * x),
        combine=lambda older, newer: (older[0] + newer[0], older[1] + newer[1], older[2] + newer[2]),
        lower=lambda sums: sums[2] / sums[0] - (sums[1] / sums[0]) ** 2,
        commutative=True,
    ),
}
"""By name; the last one is written as users do, of three fields."""


def slide(aggregate: str, algorithm: str, values: Values, length: int) -> Any:
    """Return each row's aggregate of the newest `length` rows."""
    return _compiled(aggregate, algorithm, values, length)


def slide_many(aggregate: str, algorithm: str, values: Values, ranges: Ranges) -> Any:
    """Return each row's aggregate of every range, in one pass."""
    return _compiled(aggregate, algorithm, values, list(ranges))


def _compiled(aggregate: str, algorithm: str, values: Values, length: int | list[int]) -> Any:
    window = sash.Aggregator(AGGREGATES[aggregate], algorithm=algorithm)
    answers = window.slide(values, length)
    if not window.explain().endswith("compiled"):
        message = f"Only what is compiled is timed here: {window.explain()}."
        raise AssertionError(message)
    return answers


def kept_window(aggregate: str, algorithm: str, dtype: str, length: int) -> tuple[Run, Values]:
    """Return an empty compiled window of at most `length` rows, to be stepped row by row, and where its answer will be.

    The fused loop itself: a call of it from compiled code takes a few nanoseconds, one of `Aggregator` some microseconds.
    """
    run, answer, _ = steps_of(_advancing(aggregate, algorithm, dtype), length)
    return run, answer


def steps_of(kernel: Kernel, length: int) -> tuple[Run, Values, KernelState]:
    """Return an empty window of a compiled loop `advance`, to be stepped row by row, where its answer will be, and its state."""
    state = kernel.new_state((length,))
    lengths, numbers = np.array([length]), np.zeros(1, np.int64)
    own = (1, 1, length, 1, lengths, numbers, state.span, state.before, len(state.before) - 1, kernel.at_least)
    answer, is_valid = np.zeros((1, 1), kernel.results[0]), np.zeros((1, 1), np.uint8)
    nulls, progress = np.empty(0, np.uint8), np.zeros(1, np.int64)
    return (kernel.run, own, (nulls, answer, is_valid, progress, *state.arguments)), answer[0], state


@cache  # the loop that calls it is compiled for this very kernel
def _advancing(aggregate: str, algorithm: str, dtype: str) -> Kernel:
    chosen = AGGREGATES[aggregate]
    return Kernel(find_algorithm(algorithm, chosen), chosen, (dtype,), loops.advance)


def by_sash(aggregate: str, algorithm: str = "auto", name: str = "Sash") -> ColumnContestant:
    """Return Sash's one call for one range."""
    return sash_contestant(
        name, aggregate, algorithm, lambda values, ranges: slide(aggregate, algorithm, values, ranges[0])
    )


QUERY = "Sash Query"
"""The contestant that users call for a table; "Sash" is `Aggregator.slide` over a single column."""


def by_query(aggregate: str) -> ColumnContestant:
    """Return the same windows by `Query.run` over an Arrow table of one column."""

    def prepare(values: Values, ranges: Ranges) -> Call:
        table = pa.table({"x": values})
        named = AGGREGATES[aggregate]("x")
        query = sash.Query({"answer": named}, sash.window.rows(ranges[0]))

        def run() -> Any:
            return query.run(table)["answer"].combine_chunks()

        return run

    return ColumnContestant(name=QUERY, prepare=prepare, answers=aggregate, role="sash", algorithm="auto")


def by_sash_in_one_pass(aggregate: str, algorithm: str) -> ColumnContestant:
    """Return Sash's one call for several ranges, under the algorithm's name."""
    return sash_contestant(
        algorithm, aggregate, algorithm, lambda values, ranges: slide_many(aggregate, algorithm, values, ranges)
    )


def sash_contestant(
    name: str, aggregate: str, algorithm: str, call: Callable[[Values, Ranges], Any]
) -> ColumnContestant:
    """Return a contestant that makes a call of Sash."""

    def prepare(values: Values, ranges: Ranges) -> Call:
        return lambda: call(values, ranges)

    return ColumnContestant(name=name, prepare=prepare, answers=aggregate, role="sash", algorithm=algorithm)
