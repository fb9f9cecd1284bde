"""What kernels take and return: columns, bounds and schedules of windows, results in Arrow's memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from sash.columns.buffers import Bits, Flags, empty_array, pack, unpack
from sash.windows.arrays import BLOCK, is_sorted, ranges

Values = npt.NDArray[Any]
Columns = tuple[Values, ...]
Positions = npt.NDArray[np.int64]
NOTHING: Positions = np.empty(0, np.int64)


@dataclass(frozen=True)
class ResultColumn:
    """One column of results. `bits` is Arrow's validity bitmap; None if no result is null."""

    values: Values
    bits: Bits | None

    @property
    def valid(self) -> Flags:
        """Which results are not null."""
        return np.ones(self.values.shape, np.bool_) if self.bits is None else unpack(self.bits, self.values.shape[-1])

    def null_if_short(self, firsts: Positions, length: int, at_least: int) -> ResultColumn:
        """Return results that are null for the first rows of each key, as long as their windows of `length` rows hold too few."""
        return null_if_few(self.values, short_windows(firsts, length, at_least))

    def shifted(self, ahead: int) -> ResultColumn:
        """Return for each row the result of the row `ahead` rows later, or earlier if it is negative; undefined where there is none.

        >>> ResultColumn(np.array([1, 2, 3]), None).shifted(1).values[:2].tolist()
        [2, 3]
        """
        return ResultColumn(_shifted(self.values, ahead), self.shifted_bits(ahead))

    def shifted_bits(self, ahead: int) -> Bits | None:
        """Return the validity bitmap of the shifted results."""
        return None if self.bits is None else pack(_shifted(self.valid, ahead))

    @staticmethod
    def joined(sections: Sequence[ResultColumn]) -> ResultColumn:
        """Return the sections of a column of results as one column."""
        if len(sections) == 1:
            return sections[0]
        values = empty_array((sum(len(section.values) for section in sections),), sections[0].values.dtype)
        np.concatenate([section.values for section in sections], out=values)
        if all(section.bits is None for section in sections):
            return ResultColumn(values, None)
        return ResultColumn(values, pack(np.concatenate([section.valid for section in sections])))


Results = list[ResultColumn]


def without_nulls(validity: Bits, rows: int, *bounds: Positions) -> tuple[Any, list[Positions]]:
    """Return which rows have values, and bounds of windows in these rows. Without nulls: all rows, and the same bounds.

    >>> present, [ends] = without_nulls(pack(np.array([True, False, True])), 3, np.array([1, 2, 3]))
    >>> present.tolist(), ends.tolist()
    ([True, False, True], [1, 1, 2])
    """
    if not len(validity):
        return slice(None), list(bounds)
    present = unpack(validity, rows)
    before = np.zeros(rows + 1, np.int64)
    np.cumsum(present, out=before[1:])
    return present, [before[bound] for bound in bounds]


def null_if_few(values: Values, few: Values, empty: Any = None) -> ResultColumn:
    """Return results that are null, or `empty` if it is not None, where windows hold too few values. It changes them in place.

    `few` are these windows, as positions or as flags. Loops that count the values of a window anyway mark such results themselves
    (`fuse.py`).

    >>> null_if_few(np.array([1, 2, 3]), np.array([0])).valid.tolist()
    [False, True, True]
    """
    if not (few.any() if few.dtype == np.bool_ else len(few)):
        return ResultColumn(values, None)
    values[few] = 0 if empty is None else empty
    if empty is not None:
        return ResultColumn(values, None)
    valid = np.ones(len(values), np.bool_)
    valid[few] = False
    return ResultColumn(values, pack(valid))


def short_windows(firsts: Positions, length: int, at_least: int) -> Positions:
    """Return the rows whose window of the newest `length` rows of their key holds too few of them; keys begin at `firsts`.

    >>> short_windows(np.array([0, 3, 4]), 5, 3).tolist()
    [0, 1, 3]
    """
    counts = np.diff(firsts)
    return ranges(firsts[:-1], np.minimum(counts, max(0, at_least - 1)) if at_least <= length else counts)


def _shifted(array: Values, ahead: int) -> Values:
    kept = max(0, len(array) - abs(ahead))
    if ahead > 0:
        array[:kept] = array[len(array) - kept :]
    else:
        array[len(array) - kept :] = array[:kept]
    return array


def put_results(column: ResultColumn, rows: Positions, others: ResultColumn) -> ResultColumn:
    """Return results with others at some rows. It changes the values in place.

    >>> put_results(ResultColumn(np.array([1, 2, 3]), None), np.array([2]), ResultColumn(np.array([9]), None)).values.tolist()
    [1, 2, 9]
    """
    column.values[rows] = others.values
    if column.bits is None and others.valid.all():
        return column
    valid = column.valid
    valid[rows] = others.valid
    return ResultColumn(column.values, pack(valid))


class Schedule(NamedTuple):
    """Windows ordered by their ends: the arguments of `loops.slide_slices`, in its order."""

    begins: Positions
    ends: Positions
    lasts: Positions
    numbers: Positions
    opens: Positions
    values: Positions
    ranges: tuple[int, ...] = ()
    """The maximum number of slices in the windows of each kind, ascending; empty if there is one kind."""


def check_bounds(begins: Positions, ends: Positions, rows: int) -> int:
    """Return the length of the longest window. Raise ValueError if the bounds are invalid."""
    if len(begins) != len(ends):
        raise ValueError(f"bounds has {len(begins)} begins but {len(ends)} ends. Pass one of each per window.")
    longest = find_longest(begins, ends)
    if longest < 0:
        raise ValueError("bounds must not move back, and no window may end before it begins.")
    if len(begins) and not 0 <= begins[0] <= ends[-1] <= rows:
        raise ValueError(f"bounds reach from row {begins[0]} to {ends[-1]}, but the column has {rows} rows.")
    return longest


def find_longest(begins: Positions, ends: Positions) -> int:
    """Return the length of the longest window, or -1 if a bound moves back or a window ends before it begins.

    >>> find_longest(np.array([0, 0, 2]), np.array([1, 3, 4])), find_longest(np.array([3]), np.array([2]))
    (3, -1)
    """
    if not is_sorted(begins) or not is_sorted(ends):
        return -1
    longest = 0
    for begin in range(0, len(begins), BLOCK):
        lengths = ends[begin : begin + BLOCK] - begins[begin : begin + BLOCK]
        if lengths.min() < 0:
            return -1
        longest = max(longest, int(lengths.max()))
    return longest
