"""Chooses the kernel for columns that are known as a whole, compiled or with NumPy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sash.aggregates.base import Aggregate
from sash.algorithms.base import Algorithm
from sash.kernels import loops
from sash.kernels.exact_sums import ExactSumKernel, suits
from sash.kernels.fused_partial import Shape
from sash.kernels.kernel import Kernel
from sash.kernels.numpy_kernel import NumpyKernel
from sash.kernels.ranks.numpy_kernels import NumpyDistinctKernel, NumpyModeKernel, NumpyRankKernel
from sash.kernels.ranks.rank_kernel import RankKernel
from sash.kernels.read import read_algorithm

LANES = 2
"""Measured for max: one lane waits for its last combine (5.2 ns per row); two take 2.9 ns, four 2.3 ns if they fit the cache."""
LANES_OF_SMALL = 4
SMALL = 1 << 13
"""Up to this many rows per window, more lanes fit into the processor's cache."""


def column_kernel(
    algorithm: type[Algorithm[Any]],
    aggregates: Sequence[Aggregate[Any]],
    inputs: tuple[str, ...],
    loop: Any,
    *,
    nullable: bool = False,
    length: int = 0,
    over: Shape | None = None,
) -> Kernel:
    """Return a kernel for whole columns: sorted in advance where the algorithm allows it, in lanes where that is faster.

    `length` is the length of the windows of `loops.slide_rows`, `over` the shape of partials that replace rows.

    >>> from sash import agg
    >>> from sash.algorithms import OrderStatisticsTree
    >>> type(column_kernel(OrderStatisticsTree, [agg.median()], ("float64",), loops.slide_rows)).__name__
    'RankKernel'
    """
    if algorithm.sorted_in_advance is not None and aggregates[0].laws.place is None:
        return RankKernel(aggregates, inputs)
    wide = any(aggregate.coding.wide for aggregate in aggregates)
    lanes = count_lanes(algorithm, length) if loop is loops.slide_rows and not (nullable or wide) else 1
    if loop is loops.slide_rows and not nullable and over is None and suits(algorithm, aggregates, inputs):
        return ExactSumKernel(algorithm, aggregates, inputs, loop, lanes=lanes)
    return Kernel(algorithm, aggregates, inputs, loop, nullable=nullable, lanes=lanes, over=over)


def numpy_column_kernel(
    algorithm: type[Algorithm[Any]],
    aggregates: Sequence[Aggregate[Any]],
    inputs: tuple[str, ...],
    over: Shape | None = None,
) -> NumpyKernel:
    """Return a kernel for whole columns that compiles nothing. Raise CannotVectorizeError if NumPy cannot evaluate the aggregates."""
    if algorithm.sorted_in_advance is not None:
        return NumpyRankKernel(aggregates, inputs)
    if algorithm.keeps_values and aggregates[0].laws.distinct:
        return NumpyDistinctKernel(aggregates[0], inputs)
    if algorithm.keeps_values and aggregates[0].laws.modal:
        return NumpyModeKernel(aggregates[0], inputs)
    return NumpyKernel(algorithm, aggregates, inputs, over)


def count_lanes(algorithm: type[Algorithm[Any]], length: int) -> int:
    """Return the best number of lanes: all lanes take the same branches and must fit into the cache together.

    Columns that are read from the input leave memory for another lane.
    """
    if algorithm.branches_on_data:
        return 1
    if length <= SMALL:
        return LANES_OF_SMALL
    source = read_algorithm(algorithm)
    declared = source.attributes("Column[P]", "Array[P]")
    stored = [attribute for attribute in declared if attribute not in source.from_input]
    return LANES if LANES * len(stored) <= len(declared) else 1
