"""Scatters rows to their keys in one pass, and moves columns the same way.

A thousand keys have a thousand places where the next row goes. They fit a processor cache, so that one pass over all rows takes
2 ns per row. To take values by row number costs 10 to 20 ns: each is anywhere in memory.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from sash.columns.buffers import empty_array
from sash.engine.group_ids import Codes
from sash.windows.base import Ints, LoopCompiler
from sash.windows.numpy_forms import numpy_form_of

Values = npt.NDArray[Any]
PLAIN = {1: np.uint8, 4: np.uint32, 8: np.uint64}
"""The types as which columns are moved, by the size of a value."""


def scatter_by_key(codes: Codes, sequence: Ints, rows: Ints, firsts: Ints) -> None:
    """Write the rows of each key together, in the order of `sequence`, or in input order if that is empty."""
    for row in range(len(codes)):
        firsts[codes[row] + 1] += 1
    for key in range(1, len(firsts)):
        firsts[key] += firsts[key - 1]
    for number in range(len(codes)):
        row = sequence[number] if len(sequence) > 0 else number
        key = codes[row]
        rows[firsts[key]] = row
        firsts[key] += 1
    for key in range(len(firsts) - 1, 0, -1):
        firsts[key] = firsts[key - 1]
    firsts[0] = 0


@numpy_form_of(scatter_by_key)
def scatter_by_key_in_numpy(codes: Codes, sequence: Ints, rows: Ints, firsts: Ints) -> None:
    """Write the rows of each key together, in the order of `sequence`, or in input order if that is empty."""
    keys = len(firsts) - 1
    np.cumsum(np.bincount(codes, minlength=keys), out=firsts[1:])
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


@dataclass(frozen=True)
class ScatteredRows:
    """Rows that one pass scattered to their keys. Columns follow in the same way, and go back."""

    codes: Codes
    """The group id of each row."""
    run: LoopCompiler

    def move(self, loop: Any, column: Values, rows: Ints, firsts: Ints) -> Values:
        """Return a column in order of keys (`scatter_values`) or in input order again (`gather_to_input`)."""
        moved = empty_array((len(column),), column.dtype)
        plain = PLAIN[column.dtype.itemsize]  # the values do not matter: one compiled loop for all types of a size
        self.run(loop)(self.codes, rows, firsts.copy(), column.view(plain), moved.view(plain))
        return moved


def compile_moves(run: LoopCompiler) -> None:
    """Compile the loops that move columns, which only large tables need."""
    scattered = ScatteredRows(np.zeros(1, np.int64), run)
    for loop in (scatter_values, gather_to_input):
        for dtype in PLAIN.values():
            scattered.move(loop, np.zeros(1, dtype), np.zeros(1, np.int64), np.array([0, 1]))


def scatter_values(codes: Codes, rows: Ints, positions: Ints, values: Values, scattered: Values) -> None:  # noqa: ARG001 — for NumPy
    """Write the values of each key together, from its first place on."""
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


def is_plain(dtype: np.dtype[Any]) -> bool:
    """Return whether a NumPy column can be moved as numbers."""
    return dtype.kind != "O" and dtype.itemsize in PLAIN
