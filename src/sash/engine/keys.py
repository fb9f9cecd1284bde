"""Rows in order of key and time.

Sorting ten million rows by two columns takes seconds, so Sash avoids it: keys get group ids in the order of their first rows
(`group_ids.py`), one pass scatters rows to their keys and keeps their order (`scatter.py`), and only if the rows of some key are
then not in order of time does Sash sort them first.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from sash.columns.buffers import as_arrow, as_numpy, pack, unpack
from sash.columns.column_types import column_type
from sash.columns.read_column import Column, plain_array, to_arrow
from sash.engine.group_ids import Codes, code_type
from sash.engine.scatter import ScatteredRows, is_plain, scatter_by_key
from sash.kernels.kernel_arrays import NOTHING
from sash.windows.arrays import all_set, is_sorted, neighbours
from sash.windows.base import Ints, LoopCompiler

LARGE = 1 << 16
"""From this many rows on, Arrow takes rows faster than NumPy, which checks each index."""
WORD = 63
"""Bits of a non-negative int64."""


@dataclass(frozen=True)
class KeyOrder:
    """Rows in order of key and time."""

    numbers: Ints | None
    """The input row at each position; None if rows are in order already, or scattered."""
    firsts: Ints
    """Where the rows of each key begin, and where those of the last key end."""
    begin: int = 0
    """The first row or, if rows are scattered, the first position."""
    scattered: ScatteredRows | None = None
    """How rows came into this order, if the rows of each key kept their order: columns follow faster than by row numbers."""

    @property
    def rows(self) -> Ints | None:
        """The input row at each position; None if rows are in order already. Rows that are scattered are numbered on demand."""
        if self.scattered is None:
            return self.numbers
        return self.scattered.rows[self.begin : self.begin + int(self.firsts[-1])]

    @property
    def is_input_order(self) -> bool:
        """Whether rows are in order already."""
        return self.numbers is None and self.scattered is None

    def section(self, first: int, last: int) -> KeyOrder:
        """Return the order of the keys from `first` on, without `last` and later ones."""
        begin, end = int(self.firsts[first]), int(self.firsts[last])
        numbers = None if self.numbers is None else self.numbers[begin:end]
        return KeyOrder(numbers, self.firsts[first : last + 1] - begin, self.begin + begin, self.scattered)

    def arrange(self, column: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return a column in this order; an empty column stays empty."""
        if self.is_input_order or len(column) == 0:
            return column[self.begin : self.begin + int(self.firsts[-1])]
        if self._moves(len(column)) and is_plain(column.dtype):
            assert self.scattered is not None
            return self.scattered.by_key(column)
        rows = self.rows
        assert rows is not None
        return take_rows(column, rows)

    def _moves(self, rows: int) -> bool:
        """Return whether a whole column moves as its rows were scattered; a few rows of it are taken by their numbers."""
        return self.scattered is not None and rows >= LARGE and rows == int(self.firsts[-1])

    def arrange_column(self, column: Column) -> Column:
        """Return a column for kernels in this order."""
        bits = column.bits
        if self.is_input_order:
            return column.slice(self.begin, int(self.firsts[-1]))
        if len(bits):
            bits = pack(self.arrange(unpack(bits, len(column))))
        return Column(self.arrange(column.values), bits, column.type, column.flipped)

    def arrange_arrow(self, column: pa.ChunkedArray | pa.Array) -> pa.Array:
        """Return an Arrow column in this order."""
        array = to_arrow(column)
        if self.is_input_order:
            return array.slice(self.begin, int(self.firsts[-1]))
        rows = self.rows
        assert rows is not None
        return array.take(as_arrow(rows))

    def restore(self, column: pa.Array) -> pa.Array:
        """Return results, which are in this order, in input order."""
        if self.is_input_order:
            return column
        if len(column) < LARGE or not column_type(column.type).is_word:
            return column.take(as_arrow(self.positions))
        # Values and validity apart: Arrow takes values with nulls five times slower than values without.
        back = partial(take_rows, rows=self.positions) if self.scattered is None else self.scattered.in_input_order
        values = np.frombuffer(column.buffers()[1], f"u{column.type.byte_width}")
        validity = None
        if column.null_count:
            validity = pa.py_buffer(pack(back(as_numpy(column.is_valid()))))
        restored = back(values[column.offset : column.offset + len(column)])
        return pa.Array.from_buffers(column.type, len(column), [validity, pa.py_buffer(restored)])

    @cached_property
    def positions(self) -> Ints:
        """The position of each input row in this order, if rows are not in order already."""
        rows = self.rows
        assert rows is not None
        positions = np.empty(len(rows), np.int64)
        positions[rows] = np.arange(len(rows))
        return positions


def take_rows(column: npt.NDArray[Any], rows: Ints) -> npt.NDArray[Any]:
    """Return a column in the order of rows.

    >>> take_rows(np.array([True, False, True]), np.array([1, 0])).tolist()
    [False, True]
    """
    if len(rows) < LARGE or column.dtype.kind == "O":
        return column.take(rows)
    plain = column.view(np.uint8) if column.dtype == np.bool_ else column  # Arrow's booleans are bits
    taken = pc.take(as_arrow(plain), as_arrow(rows), boundscheck=False)
    return np.frombuffer(taken.buffers()[1], column.dtype, len(rows))


def order_rows(
    codes: Codes, keys: int, times: Ints, run: LoopCompiler, ties: pa.Table | None = None, threads: int = 1
) -> tuple[KeyOrder, Ints]:
    """Return rows by key, time, the columns of `ties`, and input order; and the times in that order."""
    if ties is None and is_in_order(codes, times):
        return KeyOrder(None, codes.searchsorted(np.arange(keys + 1, dtype=codes.dtype))), times
    if ties is None:
        scattered = ScatteredRows(codes, keys, run, threads)
        order = KeyOrder(None, scattered.firsts, scattered=scattered)
        arranged = order.arrange(times)
        if is_sorted(times) or is_in_time(arranged, order.firsts):
            return order, arranged
        order = order_by_key(codes, keys, run, sort_times(times))
    else:
        columns = {f"{number}": sortable(column) for number, column in enumerate(ties.columns)}
        if len(times):
            columns = {"time": as_arrow(times), **columns}
        sort_keys = [(name, "ascending") for name in columns]
        sorted_rows = as_numpy(pc.sort_indices(pa.table(columns), sort_keys=sort_keys))
        order = order_by_key(codes, keys, run, sorted_rows.astype(np.int64))
    return order, order.arrange(times)


def sort_times(times: Ints) -> Ints:
    """Return rows in order of time; those of equal time in input order.

    NumPy sorts integers several times faster than it computes an argsort, so a time and its row are sorted as one integer
    where both fit.

    >>> sort_times(np.array([30, 10, 30, 20])).tolist()
    [1, 3, 0, 2]
    """
    bits = max(1, (len(times) - 1).bit_length())
    least = int(times.min())
    if (int(times.max()) - least).bit_length() + bits > WORD:
        return np.argsort(times, kind="stable")
    together = times - least
    together <<= bits
    together |= np.arange(len(times))
    together.sort()
    together &= (1 << bits) - 1
    return together


def sortable(column: pa.ChunkedArray) -> pa.Array:
    """Return a column that Arrow can sort: the values of a dictionary, or its indices if it is ordered."""
    array = to_arrow(column)
    return array.indices if getattr(array.type, "ordered", False) else plain_array(array)


def order_by_key(codes: Codes, keys: int, run: LoopCompiler, sequence: Ints = NOTHING) -> KeyOrder:
    """Return rows by key, as row numbers; those of one key in the order of `sequence`, or in input order if that is empty."""
    scattered = ScatteredRows(codes.astype(code_type(len(codes)), copy=False), keys, run)
    if not len(sequence):
        return KeyOrder(scattered.rows, scattered.firsts)
    rows = np.empty(len(codes), np.int64)
    run(scatter_by_key)(scattered.codes, sequence, rows, scattered.firsts[:-1].copy())
    return KeyOrder(rows, scattered.firsts)


def is_in_order(codes: Codes, times: Ints) -> bool:
    """Return whether rows are in order of key and time.

    >>> is_in_order(np.array([0, 0, 1]), np.array([3, 7, 2]))
    True
    """
    if not len(times):
        return is_sorted(codes)
    for older, newer in neighbours(len(codes)):
        if not all_set(codes[older] <= codes[newer]):
            return False
        in_time = times[older] <= times[newer]
        if not all_set(in_time) and not (in_time | (codes[older] < codes[newer])).all():
            return False
    return True


def is_in_time(times: Ints, firsts: Ints) -> bool:
    """Return whether the rows of each key are in order of time.

    >>> is_in_time(np.array([3, 7, 2]), np.array([0, 2, 3]))
    True
    """
    for older, newer in neighbours(len(times)):
        back = (times[newer] < times[older]).nonzero()[0]
        if len(back):  # time may go back only where a key begins
            back += newer.start
            if not (firsts[np.searchsorted(firsts, back)] == back).all():
                return False
    return True


def cut_evenly(firsts: Ints, count: int) -> list[tuple[int, int]]:
    """Return ranges of keys with about equally many rows: the first key of each, and the one after its last.

    >>> cut_evenly(np.array([0, 2, 3, 9, 10]), 2)
    [(0, 3), (3, 4)]
    """
    if count == 1 or len(firsts) == 1:
        return [(0, len(firsts) - 1)]
    targets = np.linspace(0, int(firsts[-1]), count + 1)[1:-1]
    cuts = np.unique([0, *np.searchsorted(firsts, targets).tolist(), len(firsts) - 1])
    return [(int(first), int(last)) for first, last in pairwise(cuts)]
