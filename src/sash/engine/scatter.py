"""Scatters rows to their keys in one pass, and moves columns the same way.

A thousand keys have a thousand places where the next row goes. They fit a processor cache, so that one pass over all rows takes
2 ns per row. To take values by row number costs 10 to 20 ns: each is anywhere in memory. A thread moves the rows of a share of the
table: the number of rows of each key in the shares before says where its own begin.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from itertools import pairwise
from threading import Lock
from typing import Any

import numpy as np
import numpy.typing as npt

from sash.columns.buffers import empty_array
from sash.engine.group_ids import Codes
from sash.engine.threads import in_threads
from sash.windows.arrays import sums_before
from sash.windows.base import Ints, LoopCompiler
from sash.windows.numpy_forms import numpy_form_of

Values = npt.NDArray[Any]
NOTHING: Ints = np.empty(0, np.int64)
PLAIN = {1: np.uint8, 4: np.uint32, 8: np.uint64}
"""The types as which columns are moved, by the size of a value."""
SHARE_ROWS = 1 << 18
"""Rows of a share, at least: for fewer, starting a thread takes longer than it saves."""
ROWS_PER_KEY = 32
"""Rows of a key in each share, at least: the places of keys take memory and time, too."""


def count_keys(codes: Codes, counts: Ints) -> None:
    """Count the rows of each key."""
    for row in range(len(codes)):
        counts[codes[row]] += 1


@numpy_form_of(count_keys)
def count_keys_in_numpy(codes: Codes, counts: Ints) -> None:
    """Count the rows of each key."""
    counts += np.bincount(codes, minlength=len(counts))


def scatter_by_key(codes: Codes, sequence: Ints, rows: Ints, positions: Ints) -> None:
    """Write the rows of each key together, from its first place on, in the order of `sequence`, or in input order if that is empty."""
    for number in range(len(codes)):
        row = sequence[number] if len(sequence) > 0 else number
        key = codes[row]
        rows[positions[key]] = row
        positions[key] += 1


@numpy_form_of(scatter_by_key)
def scatter_by_key_in_numpy(codes: Codes, sequence: Ints, rows: Ints, positions: Ints) -> None:
    """Write the rows of each key together, in the order of `sequence`, or in input order if that is empty."""
    keys = len(positions)
    rows[:] = sequence[sort_codes(codes[sequence], keys)] if len(sequence) else sort_codes(codes, keys)


def sort_codes(codes: Codes, keys: int) -> Ints:
    """Return rows in order of their keys; those of one key in input order.

    >>> sort_codes(np.array([1, 0, 1, 0]), 2).tolist()
    [1, 3, 0, 2]
    """
    if keys <= 1 << 8:
        return np.argsort(codes.astype(np.uint8), kind="stable")  # small integers in linear time, digit by digit
    order = np.argsort(codes.astype(np.uint16), kind="stable")  # the lower 16 bits
    return order if keys <= 1 << 16 else order.take(sort_codes(codes.take(order) >> 16, (keys >> 16) + 1))


def scatter_in_chunks(codes: Codes, cuts: Ints, counts: Ints, rows: Ints, owners: Codes, firsts: Ints) -> int:
    """Write the rows of each key together within each chunk. Return the number of groups (a key in a chunk).

    `owners` are the keys of the groups and `firsts` their first places. A chunk fits a processor cache, so scattering its
    rows and taking columns in their order costs a fraction of the time over the whole table.
    """
    groups = 0
    for chunk in range(len(cuts) - 1):
        for row in range(cuts[chunk], cuts[chunk + 1]):
            counts[codes[row]] += 1
        first = cuts[chunk]
        for key in range(len(counts)):
            if counts[key] > 0:
                owners[groups] = key
                firsts[groups] = first
                first += counts[key]
                counts[key] = firsts[groups]
                groups += 1
        for row in range(cuts[chunk], cuts[chunk + 1]):
            key = codes[row]
            rows[counts[key]] = row
            counts[key] += 1
        for key in range(len(counts)):
            counts[key] = 0
    firsts[groups] = cuts[len(cuts) - 1]
    return groups


@numpy_form_of(scatter_in_chunks)
def scatter_in_chunks_in_numpy(codes: Codes, cuts: Ints, counts: Ints, rows: Ints, owners: Codes, firsts: Ints) -> int:
    """Write the rows of each key together within each chunk. Return the number of groups."""
    groups = 0
    for begin, end in pairwise(cuts.tolist()):
        chunk_codes = codes[begin:end]
        rows[begin:end] = sort_codes(chunk_codes, len(counts)) + begin
        sizes = np.bincount(chunk_codes, minlength=len(counts))
        held = np.flatnonzero(sizes)
        owners[groups : groups + len(held)] = held
        firsts[groups : groups + len(held)] = begin + np.cumsum(sizes[held]) - sizes[held]
        groups += len(held)
    firsts[groups] = cuts[-1]
    return groups


# -- columns -------------------------------------------------------------------------------------------------------


class ScatteredRows:
    """Rows that are brought together by key, each key's in input order. Columns follow in one pass, and go back.

    >>> from sash.windows.numpy_forms import numpy_form
    >>> scattered = ScatteredRows(np.array([0, 1, 0]), 2, numpy_form)
    >>> scattered.firsts.tolist(), scattered.rows.tolist(), scattered.by_key(np.array([7.0, 8.0, 9.0])).tolist()
    ([0, 2, 3], [0, 2, 1], [7.0, 9.0, 8.0])
    """

    def __init__(self, codes: Codes, keys: int, run: LoopCompiler, threads: int = 1) -> None:
        self.codes = codes
        """The group id of each row."""
        self.run = run
        most = 1 if run(scatter_values) in BY_ROW_NUMBERS else threads
        shares = max(1, min(most, len(codes) // SHARE_ROWS, len(codes) // (ROWS_PER_KEY * max(1, keys))))
        ends = [len(codes) * share // shares for share in range(shares + 1)]
        self._shares = [slice(*share) for share in pairwise(ends)]
        counts = np.zeros((shares, keys), np.int64)
        self._in_threads(lambda share: run(count_keys)(self.codes[self._shares[share]], counts[share]))
        self.firsts = sums_before(counts.sum(axis=0))
        """Where the rows of each key begin, and where those of the last key end."""
        self._counts = counts
        """By share and key: the number of rows."""
        self._lock = Lock()

    @cached_property
    def _starts(self) -> Ints:
        """By share and key: the place of the first row."""
        starts = self._counts.cumsum(axis=0)
        starts += self.firsts[:-1] - self._counts
        return starts

    @cached_property
    def _rows(self) -> Ints:
        rows = np.empty(len(self.codes), np.int64)
        self.run(scatter_by_key)(self.codes, NOTHING, rows, self.firsts[:-1].copy())
        return rows

    @property
    def rows(self) -> Ints:
        """The row at each position. Columns are moved without these numbers, which take as much memory as a column."""
        with self._lock:
            return self._rows

    def by_key(self, column: Values) -> Values:
        """Return a column in order of keys."""
        values, moved = as_plain(column)
        self._move(scatter_values, lambda share: (values[share], moved))
        return moved.view(column.dtype)

    def in_input_order(self, column: Values) -> Values:
        """Return a column that is in order of keys in input order."""
        values, moved = as_plain(column)
        self._move(gather_to_input, lambda share: (values, moved[share]))
        return moved.view(column.dtype)

    def _move(self, loop: Any, arrays: Callable[[slice], tuple[Values, Values]]) -> None:
        """Run a loop over each share, and the arrays that it reads and writes there."""
        form = self.run(loop)
        rows = self.rows if form in BY_ROW_NUMBERS else NOTHING

        def move(share: int) -> None:
            own = self._shares[share]
            form(self.codes[own], rows, self._starts[share].copy(), *arrays(own))

        self._in_threads(move)

    def _in_threads(self, work: Any) -> None:
        in_threads(len(self._shares), work, range(len(self._shares)))


def as_plain(column: Values) -> tuple[Values, Values]:
    """Return a column as numbers to move, and memory for them: the values do not matter, so one loop serves all types of a size."""
    plain = column.view(PLAIN[column.dtype.itemsize])
    return plain, empty_array((len(plain),), plain.dtype)


def compile_moves(run: LoopCompiler) -> None:
    """Compile the loops that move columns, which only large tables need."""
    scattered = ScatteredRows(np.zeros(1, np.int32), 1, run)
    for dtype in PLAIN.values():
        scattered.in_input_order(scattered.by_key(np.zeros(1, dtype)))


def scatter_values(codes: Codes, rows: Ints, positions: Ints, values: Values, scattered: Values) -> None:  # noqa: ARG001 — for NumPy
    """Write the values of each key together; `positions` are the places for its first one."""
    for row in range(len(codes)):
        key = codes[row]
        scattered[positions[key]] = values[row]
        positions[key] += 1


@numpy_form_of(scatter_values)
def scatter_values_in_numpy(codes: Codes, rows: Ints, positions: Ints, values: Values, scattered: Values) -> None:  # noqa: ARG001 — for the loop
    """Write the values of each key together."""
    values.take(rows, out=scattered)


def gather_to_input(codes: Codes, rows: Ints, positions: Ints, scattered: Values, values: Values) -> None:  # noqa: ARG001 — for NumPy
    """Write values that are together by key in input order."""
    for row in range(len(codes)):
        key = codes[row]
        values[row] = scattered[positions[key]]
        positions[key] += 1


@numpy_form_of(gather_to_input)
def gather_to_input_in_numpy(codes: Codes, rows: Ints, positions: Ints, scattered: Values, values: Values) -> None:  # noqa: ARG001 — for the loop
    """Write values that are together by key in input order."""
    values[rows] = scattered


BY_ROW_NUMBERS = (scatter_values_in_numpy, gather_to_input_in_numpy)
"""The forms that read `rows`. With them, all rows are one share."""


def is_plain(dtype: np.dtype[Any]) -> bool:
    """Return whether a NumPy column can be moved as numbers."""
    return dtype.kind != "O" and dtype.itemsize in PLAIN
