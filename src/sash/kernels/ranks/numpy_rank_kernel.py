"""The kernel for aggregates that are read by rank, with NumPy: it sorts blocks, and reads all windows of a block at once.

In a block each row is replaced by its rank. A wavelet matrix (`wavelet_matrix`) of these numbers gives the rank in the block of the value
that has a given rank in the window, and with it the value; or the number of values in the window that are smaller than the newest.
Several aggregates, as the entries of a list, share the sorted blocks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sash.aggregates.base import Aggregate
from sash.aggregates.parts import Ranking
from sash.kernels.kernel_arrays import Positions
from sash.kernels.partial_columns import cast
from sash.kernels.ranks.blocks import EqualBlocks
from sash.kernels.ranks.numpy_values_kernel import NumpyValuesKernel
from sash.kernels.ranks.wavelet_matrix import Numbers, Places, count_up_to, select
from sash.kernels.traced import CannotVectorizeError
from sash.kernels.vectorize import VectorFunction, vectorize

SHORT = 16
"""Ranks of this many bits are sorted into levels faster than longer ones."""


class NumpyRankKernel(NumpyValuesKernel):
    """Windows over rows, with the results of a `RankKernel`.

    >>> from sash import agg
    >>> kernel = NumpyRankKernel(agg.median(), ("float64",))
    >>> [result] = kernel.slide_between((np.array([3.0, 1.0, 2.0, 0.0]),), np.array([0, 0, 0, 1]), np.array([1, 2, 3, 4]))
    >>> result.values.tolist()
    [3.0, 2.0, 2.0, 1.0]
    """

    seconds_per_row = 0.5e-6

    def __init__(self, aggregates: Aggregate[Any] | Sequence[Aggregate[Any]], inputs: tuple[str, ...]) -> None:
        """Raise CannotVectorizeError if the functions of an aggregate cannot be vectorised."""
        super().__init__([aggregates] if isinstance(aggregates, Aggregate) else aggregates, inputs)
        value = self.shapes[0]
        assert isinstance(value, str)
        example = np.ones(1, value)
        self.readers = [reader_of(form) for form in self.forms]
        self.results = [reader.example(example).dtype for reader in self.readers]

    def _read_windows(self, values: Numbers, begins: Positions, ends: Positions, results: Sequence[Numbers]) -> None:
        """Write the results of each window. None is empty."""
        blocks = EqualBlocks(begins, ends, len(values))
        sorting: Any = "stable" if has_negative_zero(values) else "quicksort"
        for batch in blocks.batches():
            sorted_blocks = SortedBlocks(values, batch.starts, blocks.bits, sorting)
            first, after = begins[batch.windows] + batch.offsets, ends[batch.windows] + batch.offsets
            for reader, column in zip(self.readers, results, strict=True):
                column[batch.windows] = cast(reader.read(sorted_blocks, first, after), str(column.dtype))


@dataclass(frozen=True)
class RankReader:
    """The vectorised functions of one aggregate, which read windows of sorted blocks."""

    rank: VectorFunction
    between: VectorFunction

    def example(self, value: Numbers) -> Any:
        """Return a result for columns of values, as an example of its type."""
        return self.between.example(value, value, np.ones(1))

    def read(self, blocks: SortedBlocks, begins: Positions, ends: Positions) -> Any:
        """Return the result of each window; its bounds are rows of the blocks."""
        positions = self.rank(ends - begins)
        ranks = positions.astype(np.int64)
        fractions = positions - ranks
        # A rank with a fraction lies between two values, so its window is read twice: two lines, one after the other.
        lines = 1 + (fractions > 0)
        last = np.cumsum(lines) - 1
        asked = np.repeat(np.stack((begins, ends, ranks)).astype(np.int32), lines, axis=1)
        asked[2, last] += lines == 2  # noqa: PLR2004
        values = blocks.select(*asked)
        below, above = values[last + 1 - lines], values[last]
        return self.between(below, above, fractions)


@dataclass(frozen=True)
class PlaceReader:
    """The vectorised function of an aggregate that is read from the place of the newest value."""

    place: VectorFunction

    def example(self, value: Numbers) -> Any:  # noqa: ARG002 — the parameters of all readers
        """Return a result, as an example of its type."""
        return self.place.example(*(np.ones(1, np.int64),) * 3)

    def read(self, blocks: SortedBlocks, begins: Positions, ends: Positions) -> Any:
        """Return the result of each window; its bounds are rows of the blocks."""
        lowest, highest = blocks.ranks_of_equals(ends - 1)
        bounds = begins.astype(np.int32), ends.astype(np.int32)
        smaller = blocks.count_up_to(*bounds, np.maximum(lowest - 1, 0)) * (lowest > 0)
        equal = blocks.count_up_to(*bounds, highest) - smaller
        return self.place(smaller.astype(np.int64), equal.astype(np.int64), ends - begins)


def reader_of(form: Aggregate[Any]) -> RankReader | PlaceReader:
    """Return what reads the results of an aggregate. Raise CannotVectorizeError if nothing can."""
    ranking = form.laws.ranked or Ranking()
    if ranking.place is not None:
        return PlaceReader(vectorize(ranking.place))
    if ranking.rank is None or ranking.between is None:
        raise CannotVectorizeError(f"{form.label} is not read by rank.")
    return RankReader(vectorize(ranking.rank), vectorize(ranking.between))


class SortedBlocks:
    """Blocks of 2**bits rows of a column, one after the other, each sorted.

    >>> blocks = SortedBlocks(np.array([2.5, 1.5, 7.0, 3.0]), starts=np.array([0, 1]), bits=1, sorting="quicksort")
    >>> blocks.sorted.tolist(), blocks.ranks.tolist()
    ([1.5, 2.5, 1.5, 7.0], [1, 0, 0, 1])
    """

    def __init__(self, column: Numbers, starts: Positions, bits: int, sorting: Any) -> None:
        size = 1 << bits
        values = column.take(starts[:, None] + np.arange(size), mode="clip")  # rows after the last are in no window
        order = values.argsort(axis=1, kind=sorting)
        self.bits = bits
        self.sorted = np.take_along_axis(values, order, axis=1).ravel()
        self.ranks = np.empty(values.size, np.uint16 if bits <= SHORT else np.int32)
        order += np.arange(len(starts))[:, None] * size
        self.ranks[order] = np.arange(size)

    def select(self, begins: Places, ends: Places, ranks: Places) -> Numbers:
        """Return the value of a rank in each window. A window lies in one block; the first row of all blocks is row 0."""
        in_block = select(self.ranks, self.bits, begins, ends, ranks)
        return self.sorted.take((begins >> self.bits << self.bits) + in_block)

    def count_up_to(self, begins: Places, ends: Places, ranks: Places) -> Places:
        """Return the number of values in each window whose rank in the block is at most that."""
        return count_up_to(self.ranks, self.bits, begins, ends, ranks)

    def ranks_of_equals(self, rows: Positions) -> tuple[Places, Places]:
        """Return the lowest and the highest rank of the values in a row's block that equal its own; NaN equals NaN.

        >>> blocks = SortedBlocks(np.array([2.5, 1.5, 2.5, 3.0]), starts=np.array([0]), bits=2, sorting="quicksort")
        >>> [ranks.tolist() for ranks in blocks.ranks_of_equals(np.array([0, 1]))]
        [[1, 0], [2, 0]]
        """
        values = self.sorted.reshape(-1, 1 << self.bits)
        differs = values[:, 1:] != values[:, :-1]
        if values.dtype.kind == "f":
            differs &= (values[:, 1:] == values[:, 1:]) | (values[:, :-1] == values[:, :-1])
        ranks = np.arange(values.shape[1], dtype=np.int32)
        lowest = np.zeros(values.shape, np.int32)
        lowest[:, 1:] = ranks[1:] * differs
        np.maximum.accumulate(lowest, axis=1, out=lowest)
        highest = np.full(values.shape, ranks[-1])
        np.copyto(highest[:, :-1], ranks[:-1], where=differs)
        highest = np.minimum.accumulate(highest[:, ::-1], axis=1)[:, ::-1]
        own_ranks = (rows >> self.bits << self.bits) + self.ranks[rows].astype(np.int64)
        return lowest.ravel()[own_ranks], highest.ravel()[own_ranks]


def has_negative_zero(values: Numbers) -> bool:
    """Return whether there is a -0.0: it equals 0.0, so that only a stable sort keeps both in the order of rows.

    >>> has_negative_zero(np.array([-0.0])), has_negative_zero(np.array([0.0, -1.0])), has_negative_zero(np.array([0]))
    (True, False, False)
    """
    return values.dtype.kind == "f" and bool(np.signbit(values[values == 0]).any())
