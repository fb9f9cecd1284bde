"""The kernels for aggregates that read all values of a window, with NumPy: they read all windows of a block at once.

Order statistics: in a block each row is replaced by its rank. A wavelet matrix (`wavelet_matrix`) of these numbers gives the rank in the
block of the value that has a given rank in the window, and with it the value; or the number of values in the window that are smaller than
the newest. Several aggregates, as the entries of a list, share the sorted blocks.

Distinct values: a row counts if its value occurs nowhere before it in the window. In a block each row is replaced by its earlier row. A
wavelet matrix of these numbers counts the rows of a window whose earlier row lies before the window:

    row                0  1  2  3  4  5
    value              5  3  8  3  5  5
    earlier row        -  -  -  1  0  4        the newest earlier row with the same value

The window of rows 1 to 4 holds 3 8 3 5. The earlier row of the second 3 is row 1, which is in the window, so this 3 does not count. The
other three rows count: three distinct values.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from sash.aggregates.base import Aggregate
from sash.aggregates.parts import Ranking
from sash.algorithms.recalculate import Recalculate
from sash.columns.buffers import empty_array
from sash.columns.column_types import KINDS
from sash.kernels.fused_partial import as_values
from sash.kernels.kernel_arrays import Positions
from sash.kernels.lists import Entry, list_entries, runs_of_equals, sort_equals, windows_of_rows
from sash.kernels.numpy_kernel import NumpyKernel
from sash.kernels.ranks.blocks import EqualBlocks
from sash.kernels.ranks.wavelet_matrix import Numbers, Places, count_up_to, select
from sash.kernels.traced import CannotVectorizeError
from sash.kernels.vectorize import Partial, VectorFunction, cast, empty_like, put, vectorize
from sash.windows.numpy_forms import numpy_form

MOST_DIFFERENT = 64
"""Different values of a window, on average, up to which lists of them are made; beyond that compiling takes less time."""
POSITION_BITS = 32
"""Lists of one column have fewer entries than a number of this many bits."""
SHORT = 16
"""Ranks of this many bits are sorted into levels faster than longer ones."""


class NumpyValuesKernel(NumpyKernel):
    """Windows over rows only: the partial of a row is its value, and the results of a window take the place of its partial.

    Several aggregates are the entries of a list: they read the same values, and need the same number of them.
    """

    def __init__(self, aggregates: Sequence[Aggregate[Any]], inputs: tuple[str, ...]) -> None:
        self.forms = [aggregate.of_kind(KINDS[inputs[0]]) for aggregate in aggregates]
        if len({(form.result.rows_needed, form.result.gives) for form in self.forms}) > 1:
            raise CannotVectorizeError(
                f"{' and '.join(form.label for form in self.forms)} read different values of a window."
            )
        super().__init__(Recalculate, [as_values(form) for form in self.forms], inputs)
        outputs = enumerate(self.fused.outputs)
        self.fused = replace(self.fused, outputs=tuple(replace(output, component=number) for number, output in outputs))

    def _slide(self, items: Partial, begins: Positions, ends: Positions) -> Partial:
        """Return the results of windows, one column for each aggregate; undefined where there are too few values."""
        enough = ends - begins >= self.forms[0].result.rows_needed
        results = tuple(empty_array((int(enough.sum()),), dtype) for dtype in self.results)
        if enough.all():
            self._read_windows(items[0], begins, ends, results)
            return results
        self._read_windows(items[0], begins[enough], ends[enough], results)
        whole = empty_like(results, len(begins))
        put(whole, enough, results)
        return whole

    def _read_windows(self, values: Numbers, begins: Positions, ends: Positions, results: Sequence[Numbers]) -> None:
        """Write the results of each window. None is empty."""
        raise NotImplementedError


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
        count = partial(count_up_to, blocks.ranks, blocks.bits, begins.astype(np.int32), ends.astype(np.int32))
        smaller = count(np.maximum(lowest - 1, 0)) * (lowest > 0)
        equal = count(highest) - smaller
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


class NumpyDistinctKernel(NumpyValuesKernel):
    """Windows over rows, with the results of a compiled kernel of OccurrenceTable.

    >>> from sash import agg
    >>> kernel = NumpyDistinctKernel(agg.count_distinct(), ("int64",))
    >>> [result] = kernel.slide_between((np.array([5, 3, 8, 3, 5, 5]),), np.array([0, 1, 3]), np.array([2, 5, 6]))
    >>> result.values.tolist()
    [2, 3, 2]
    """

    seconds_per_row = 0.4e-6

    def __init__(self, aggregate: Aggregate[Any], inputs: tuple[str, ...]) -> None:
        super().__init__([aggregate], inputs)
        self.results = [np.dtype(np.int64)]

    def _read_windows(self, values: Numbers, begins: Positions, ends: Positions, results: Sequence[Numbers]) -> None:
        """Write the number of distinct values of each window."""
        [numbers] = results
        earlier = sort_equals(values).earlier
        blocks = EqualBlocks(begins, ends, len(earlier))
        in_block = np.arange(1 << blocks.bits)
        for batch in blocks.batches():
            rows = batch.starts[:, None] + in_block
            # 1 + the earlier row in the block; 0 if there is none. Rows after the last are in no window.
            numbers_in_block = earlier.take(rows, mode="clip") + 1
            numbers_in_block -= batch.starts[:, None]
            sequence = numbers_in_block.clip(0, len(in_block) - 1).ravel().astype(np.int32)
            first, after = ((bound[batch.windows] + batch.offsets).astype(np.int32) for bound in (begins, ends))
            numbers[batch.windows] = count_up_to(sequence, blocks.bits, first, after, first & (len(in_block) - 1))


class NumpyModeKernel(NumpyValuesKernel):
    """Windows over rows, with the results of a compiled kernel of OccurrenceTournament: it lists the different values of each window.

    >>> from sash import agg
    >>> kernel = NumpyModeKernel(agg.mode(), ("int64",))
    >>> [result] = kernel.slide_between((np.array([5, 3, 8, 3, 5, 5]),), np.array([0, 1, 3]), np.array([2, 5, 6]))
    >>> result.values.tolist()
    [5, 3, 5]
    """

    seconds_per_row = 2e-6

    def __init__(self, aggregate: Aggregate[Any], inputs: tuple[str, ...]) -> None:
        super().__init__([aggregate], inputs)
        self.results = [np.dtype(inputs[0])]

    def _read_windows(self, values: Numbers, begins: Positions, ends: Positions, results: Sequence[Numbers]) -> None:
        """Write the most frequent value of each window. Raise CannotVectorizeError if windows have too many different values."""
        [modes] = results
        if not len(begins):
            return
        equals, runs = sort_equals(values), windows_of_rows(begins, ends, len(values))
        entry, first, after = runs_of_equals(equals, runs, len(begins), numpy_form)
        if int((entry.stops - entry.starts).sum()) > MOST_DIFFERENT * (len(values) + len(begins)):
            raise CannotVectorizeError(f"windows have more than {MOST_DIFFERENT} different values on average.")
        by_row = np.argsort(entry.rows, kind="stable")
        entry, occurrences = Entry(*(column[by_row] for column in entry)), (after - first)[by_row]
        counts, entries = list_entries(entry, len(begins), numpy_form)
        # The most occurrences win, and of equal ones the first in the list.
        weights = (occurrences[entries] << POSITION_BITS) - np.arange(len(entries))
        best = np.maximum.reduceat(weights, np.cumsum(counts) - counts)
        modes[:] = values[entry.rows[entries[-best & ((1 << POSITION_BITS) - 1)]]]
