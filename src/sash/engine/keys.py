"""Keys as group ids, and rows in order of key and time.

Sorting ten million rows by two columns takes seconds, so Sash avoids it: keys get group ids in the order of their first rows,
one pass distributes rows to their keys and keeps their order, and only if the rows of some key are then not in order of time
does Sash sort them first.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from sash.aggregator.columns import Column, to_arrow
from sash.engine.deal import BYTE, DealtRows, collect_values, deal_rows, deal_values, has_plain_values, is_plain
from sash.engine.nested_keys import Codes, number_nested, number_together
from sash.kernels.kernel_io import NOTHING, as_arrow, as_numpy
from sash.windows.arrays import growing_blocks, is_sorted, neighbours
from sash.windows.base import Ints, LoopCompiler
from sash.windows.numpy_forms import numpy_form_of

LARGE = 1 << 16
"""From this many rows on, Arrow takes rows faster than NumPy, which checks each index."""
WORD = 63
"""Bits of a non-negative int64."""
SMALL = 1 << 16
"""Integers within this distance get group ids through a lookup table, however few rows there are."""


@dataclass(frozen=True)
class KeyOrder:
    """Rows in order of key and time."""

    rows: Ints | None
    """The row at each place; None if rows are in order already."""
    firsts: Ints
    """Where the rows of each key begin, and where those of the last key end."""
    begin: int = 0
    """The first row, if rows are in order already."""
    dealt: DealtRows | None = None
    """How rows came into this order, if the rows of each key kept their order: columns follow faster than by row numbers."""

    def arrange(self, column: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return a column in this order; an empty column stays empty."""
        if self.rows is None or len(column) == 0:
            return column[self.begin : self.begin + int(self.firsts[-1])]
        if self.dealt is not None and len(column) >= LARGE and is_plain(column.dtype):
            return self.dealt.move(deal_values, column, self.rows, self.firsts)
        return take_rows(column, self.rows)

    def arrange_column(self, column: Column) -> Column:
        """Return a column for kernels in this order."""
        bits = column.bits
        if self.rows is None:
            return column.slice(self.begin, int(self.firsts[-1]))
        if len(bits):
            valid = np.unpackbits(bits, count=len(column), bitorder="little")
            bits = np.packbits(self.arrange(valid), bitorder="little")
        return Column(self.arrange(column.values), bits, column.type, column.flipped)

    def arrange_arrow(self, column: pa.ChunkedArray | pa.Array) -> pa.Array:
        """Return an Arrow column in this order."""
        array = to_arrow(column)
        if self.rows is None:
            return array.slice(self.begin, int(self.firsts[-1]))
        return array.take(as_arrow(self.rows))

    def restore(self, column: pa.Array) -> pa.Array:
        """Return results, which are in this order, in input order."""
        if self.rows is None:
            return column
        if len(column) < LARGE or not has_plain_values(column.type):
            return column.take(as_arrow(self._places))
        # Values and validity apart: Arrow takes values with nulls five times slower than values without.
        back = partial(take_rows, rows=self._places)
        if self.dealt is not None:
            back = partial(self.dealt.move, collect_values, rows=self.rows, firsts=self.firsts)
        values = np.frombuffer(column.buffers()[1], f"u{column.type.bit_width // BYTE}")
        validity = None
        if column.null_count:
            valid = np.unpackbits(np.frombuffer(column.buffers()[0], np.uint8), bitorder="little")
            valid = valid[column.offset : column.offset + len(column)]
            validity = pa.py_buffer(np.packbits(back(column=valid), bitorder="little"))
        made = back(column=values[column.offset : column.offset + len(column)])
        return pa.Array.from_buffers(column.type, len(column), [validity, pa.py_buffer(made)])

    @cached_property
    def _places(self) -> Ints:
        """The place of each row."""
        assert self.rows is not None
        places = np.empty(len(self.rows), np.int64)
        places[self.rows] = np.arange(len(self.rows))
        return places


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


def number_keys(table: pa.Table, by: tuple[str, ...], run: LoopCompiler) -> tuple[Codes, int]:
    """Return the group id of each row's key, in the order of first rows, and the number of keys.

    >>> from sash.windows.numpy_forms import numpy_form
    >>> number_keys(pa.table({"a": ["x", "y", None, "x"], "b": [1, 1, 1, 1]}), ("a", "b"), numpy_form)[0].tolist()
    [0, 1, 2, 0]
    """
    columns = [to_arrow(table[name]) for name in by]
    return number_together(columns, len(table), partial(_number_column, run=run))


def _number_column(column: pa.Array, run: LoopCompiler) -> tuple[Codes, int]:
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()  # a dictionary may hold a value twice
    if pa.types.is_nested(column.type):
        return number_nested(column, partial(_number_column, run=run))
    if pa.types.is_integer(column.type) and column.null_count == 0 and len(column):
        values = as_numpy(column)
        least, most = int(values.min()), int(values.max())
        if most - least < max(len(column), SMALL) and most < 2**63:
            values = values.astype(np.int64, copy=False)  # differences must fit 64 bits
            codes, numbers = np.empty(len(column), np.int64), np.full(most - least + 1, -1, np.int64)
            return codes, int(run(number_integers)(values, least, numbers, codes))
    if pa.types.is_floating(column.type):
        column = column.cast(pa.float64())
        column = pc.if_else(
            pc.is_nan(column), math.nan, pc.add(column, 0.0)
        )  # one key for all NaN, and for 0.0 and -0.0
    encoded = column.dictionary_encode(null_encoding="encode")
    return as_numpy(encoded.indices).astype(np.int64), len(encoded.dictionary)


def number_integers(values: npt.NDArray[Any], least: int, numbers: Codes, codes: Codes) -> int:
    """Write the group ids of integers that are close together. Return the number of keys."""
    count = 0
    for row in range(len(values)):
        place = values[row] - least
        if numbers[place] < 0:
            numbers[place] = count
            count += 1
        codes[row] = numbers[place]
    return count


@numpy_form_of(number_integers)
def number_integers_in_numpy(values: npt.NDArray[Any], least: int, numbers: Codes, codes: Codes) -> int:
    """Write the group ids of integers that are close together. Return the number of keys."""
    count = 0
    for block in growing_blocks(len(values)):
        places = values[block] - least
        own = numbers.take(places, out=codes[block], mode="clip")  # clip: without a copy of the result
        if own.min() < 0:
            new = places[own < 0]
            numbers[new[::-1]] = np.arange(
                len(new) - 1, -1, -1
            )  # of several rows with a new value, the first one stays
            different = new[numbers[new] == np.arange(len(new))]
            numbers[different] = np.arange(count, count + len(different))
            count += len(different)
            numbers.take(places, out=own, mode="clip")
    return count


def order_rows(
    codes: Codes, keys: int, times: Ints, run: LoopCompiler, ties: pa.Table | None = None
) -> tuple[KeyOrder, Ints]:
    """Return rows by key, time, the columns of `ties`, and input order; and the times in that order."""
    if ties is None and is_in_order(codes, times):
        return KeyOrder(None, np.searchsorted(codes, np.arange(keys + 1))), times
    if ties is None:
        order = order_by_key(codes, keys, run)
        arranged = order.arrange(times)
        if is_sorted(times) or is_in_time(arranged, order.firsts):
            return order, arranged
        order = order_by_key(codes, keys, run, sort_times(times))
    else:
        columns = {f"{place}": sortable(column) for place, column in enumerate(ties.columns)}
        if len(times):
            columns = {"time": as_arrow(times), **columns}
        names = [(name, "ascending") for name in columns]
        sorted_rows = pc.sort_indices(pa.table(columns), sort_keys=names)
        sorted_rows = as_numpy(sorted_rows).astype(np.int64)
        order = order_by_key(codes, keys, run, sorted_rows)
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
    if not pa.types.is_dictionary(array.type):
        return array
    return array.indices if array.type.ordered else array.dictionary_decode()


def order_by_key(codes: Codes, keys: int, run: LoopCompiler, given: Ints = NOTHING) -> KeyOrder:
    """Return rows by key; those of one key in the order of `given`, or in input order if that is empty."""
    rows = np.empty(len(codes), np.int64)
    firsts = np.zeros(keys + 1, np.int64)
    run(deal_rows)(codes, given, rows, firsts)
    return KeyOrder(rows, firsts, dealt=None if len(given) else DealtRows(codes, run))


def is_in_order(codes: Codes, times: Ints) -> bool:
    """Return whether rows are in order of key and time.

    >>> is_in_order(np.array([0, 0, 1]), np.array([3, 7, 2]))
    True
    """
    if not len(times):
        return is_sorted(codes)
    for older, newer in neighbours(len(codes)):
        if not (codes[older] <= codes[newer]).all():
            return False
        in_time = times[older] <= times[newer]
        if not in_time.all() and not (in_time | (codes[older] < codes[newer])).all():
            return False
    return True


def is_in_time(times: Ints, firsts: Ints) -> bool:
    """Return whether the rows of each key are in order of time.

    >>> is_in_time(np.array([3, 7, 2]), np.array([0, 2, 3]))
    True
    """
    for older, newer in neighbours(len(times)):
        back = np.flatnonzero(times[newer] < times[older])
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
