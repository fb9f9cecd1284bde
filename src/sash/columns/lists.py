"""Columns of lists and maps, before and after their values are copied.

A `ListColumn` says where the values of each list are, so that lists of overlapping windows take no copy. Results have Arrow's lists and maps:
these are made last, in the order that users see (`plain_lists`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sash.columns.buffers import NO_BITS, as_arrow, empty_array, from_bits, pack
from sash.columns.column_types import column_type
from sash.windows.arrays import ranges
from sash.windows.base import Flags, Ints, LoopCompiler
from sash.windows.numpy_forms import numpy_form, numpy_form_of

MOST_OFFSET = (1 << 31) - 1
"""The values that the lists of an array can hold, and the bytes of its text."""
LONG = 24
"""Runs of this length or more, on average, are copied one by one; shorter ones faster value by value."""
Bytes = npt.NDArray[np.uint8]


@dataclass(frozen=True)
class ListColumn:
    """Lists whose values are not copied yet.

    >>> column = ListColumn((pa.array([5, 6, 7]),), np.array([0, 1, 0]), np.array([2, 2, 0]), np.array([True, True, False]))
    >>> column.plain().to_pylist(), column.plain(np.array([1])).to_pylist()
    ([[5, 6], [6, 7], None], [[6, 7]])
    """

    values: tuple[pa.Array, ...]
    """The values of lists; the keys and the items of maps."""
    begins: Ints
    """Where each list begins: in the entries, or in the values if there are none."""
    counts: Ints
    """How long each list is; 0 if it is not valid."""
    valid: Flags
    entries: npt.NDArray[np.int32] | None = None
    """The numbers of values, one list after the other; None if each list is a run of the values."""
    run: LoopCompiler = numpy_form
    """Returns the loop that copies entries: compiled, or its NumPy form."""

    def plain(self, positions: Ints | None = None) -> pa.Array:
        """Return Arrow's lists or maps, at some positions if they are given. Raise OverflowError if they are too long for one array."""
        begins, counts, valid = self.begins, self.counts, self.valid
        if positions is not None:
            begins, counts, valid = begins[positions], counts[positions], valid[positions]
        offsets = from_bits(offsets_of(counts), NO_BITS if valid.all() else pack(np.append(valid, True)))
        if self.entries is None:
            columns = [gather_runs(values, begins, counts) for values in self.values]
        else:
            numbers = as_arrow(self.entries if positions is None else _gather(self.entries, begins, counts, self.run))
            columns = [values.take(numbers) for values in self.values]
        return (
            pa.MapArray.from_arrays(offsets, *columns)
            if len(columns) > 1
            else pa.ListArray.from_arrays(offsets, *columns)
        )

    def chunks(self, positions: Ints | None) -> pa.ChunkedArray:
        """Return Arrow's lists or maps, at some positions if they are given, in as many arrays as they need."""
        places = np.arange(len(self.counts)) if positions is None else positions
        room = max(
            1, MOST_OFFSET - int(self.counts.max(initial=0))
        )  # the first list of an array may begin in the one before
        numbers = np.cumsum(self.counts[places]) // room
        cuts = np.flatnonzero(numbers[1:] != numbers[:-1]) + 1
        if not len(cuts):
            return pa.chunked_array([self.plain(positions)])
        return pa.chunked_array([self.plain(part) for part in np.split(places, cuts)])


def plain_lists(column: Any) -> pa.Array:
    """Return a column of results as Arrow's."""
    return column.plain() if isinstance(column, ListColumn) else column


def join_lists(columns: Sequence[ListColumn]) -> ListColumn:
    """Return columns of lists one after the other.

    >>> one = ListColumn((pa.array([5, 6, 7]),), np.array([0]), np.array([2]), np.array([True]))
    >>> join_lists([one, one]).begins.tolist()
    [0, 3]
    """
    first, *others = columns
    if not others:
        return first
    values = tuple(pa.concat_arrays(parts) for parts in zip(*(column.values for column in columns), strict=True))
    before = np.cumsum([0, *(len(column.values[0]) for column in columns)])
    places, entries = before, None
    if first.entries is not None:
        numbered = [column.entries for column in columns if column.entries is not None]
        entries = np.concatenate([part + start for part, start in zip(numbered, before.tolist(), strict=False)])
        entries, places = entries.astype(np.int32), np.cumsum([0, *map(len, numbered)])
    begins = np.concatenate([column.begins + place for column, place in zip(columns, places, strict=False)])
    counts, valid = (np.concatenate([getattr(column, name) for column in columns]) for name in ("counts", "valid"))
    return replace(first, values=values, begins=begins, counts=counts, valid=valid, entries=entries)


def text_of(joined: pa.Array, begins: Ints, ends: Ints, behind: int, valid: Flags) -> pa.Array:
    """Return the text of each run of a column, without the last bytes, as many as `behind`; null where it is not valid.

    >>> words = pa.array(["a, ", "bc, ", "d, "])
    >>> text_of(words, np.array([0, 1]), np.array([2, 3]), 2, np.array([True, True])).to_pylist()
    ['a, bc', 'bc, d']
    """
    offsets, data = _bytes_of(joined)
    first = offsets[begins].astype(np.int64)
    counts = np.where(valid, offsets[ends] - first - behind, 0)
    text = _gather(data, first, counts)
    buffers = [None if valid.all() else pa.py_buffer(pack(valid)), pa.py_buffer(offsets_of(counts)), pa.py_buffer(text)]
    return pa.Array.from_buffers(pa.string(), len(counts), buffers)


def offsets_of(counts: npt.NDArray[Any]) -> npt.NDArray[np.int32]:
    """Return where each list begins, and where the last one ends. Raise OverflowError if all together are too long.

    >>> offsets_of(np.array([2, 0, 1])).tolist()
    [0, 2, 2, 3]
    """
    total = int(counts.sum(dtype=np.int64))
    if total > MOST_OFFSET:
        raise OverflowError(
            f"The lists or texts of {len(counts):,} windows hold {total:,} values or bytes, but an array of Arrow holds 2^31 - 1. Use "
            "shorter windows, or run the query on fewer rows at a time."
        )
    offsets = np.zeros(len(counts) + 1, np.int32)
    np.cumsum(counts, out=offsets[1:])
    return offsets


# -- copies ------------------------------------------------------------------------------------------------------------


def gather_runs(values: pa.Array, begins: Ints, counts: Ints) -> pa.Array:
    """Return the values of runs, one run after the other.

    >>> gather_runs(pa.array(["a", "bc", "d"]), np.array([1, 0]), np.array([2, 2])).to_pylist()
    ['bc', 'd', 'a', 'bc']
    """
    total, dtype = int(counts.sum()), values.type
    if total < max(1, LONG * len(counts)) or values.null_count:
        return values.take(as_arrow(ranges(begins, counts)))
    if dtype in (pa.string(), pa.binary()):
        offsets, data = _bytes_of(values)
        first = offsets[begins].astype(np.int64)
        text = _gather(data, first, offsets[begins + counts] - first)
        ends = offsets_of(_gather(np.diff(offsets), begins, counts))
        return pa.Array.from_buffers(dtype, total, [None, pa.py_buffer(ends), pa.py_buffer(text)])
    if column_type(dtype).numbers is not None and dtype.bit_width in (8, 16, 32, 64):
        words = np.frombuffer(values.buffers()[1], f"u{dtype.bit_width // 8}")[
            values.offset : values.offset + len(values)
        ]
        return pa.Array.from_buffers(dtype, total, [None, pa.py_buffer(_gather(words, begins, counts))])
    return values.take(as_arrow(ranges(begins, counts)))


def _gather(values: npt.NDArray[Any], begins: Ints, counts: Ints, run: LoopCompiler = numpy_form) -> npt.NDArray[Any]:
    """Return the numbers of runs, one run after the other."""
    total = int(counts.sum())
    if total < LONG * len(counts):
        return values.take(ranges(begins, counts))
    gathered = empty_array((total,), values.dtype)
    run(copy_runs)(values, begins, counts, gathered)
    return gathered


def copy_runs(values: npt.NDArray[Any], begins: Ints, counts: Ints, copied: npt.NDArray[Any]) -> None:
    """Copy runs of values, one after the other."""
    place = 0
    for number in range(len(begins)):
        begin = begins[number]
        for step in range(counts[number]):
            copied[place + step] = values[begin + step]
        place += counts[number]


@numpy_form_of(copy_runs)
def copy_runs_in_numpy(values: npt.NDArray[Any], begins: Ints, counts: Ints, copied: npt.NDArray[Any]) -> None:
    """Copy runs of values, one after the other: for runs of hundreds of values as fast as the compiled loop."""
    place = 0
    for begin, count in zip(begins.tolist(), counts.tolist(), strict=True):
        copied[place : place + count] = values[begin : begin + count]
        place += count


def compile_copies(run: LoopCompiler) -> None:
    """Compile the loop that copies entries, which only long lists need."""
    run(copy_runs)(np.zeros(1, np.int32), np.zeros(1, np.int64), np.ones(1, np.int64), np.empty(1, np.int32))


def _bytes_of(values: pa.Array) -> tuple[npt.NDArray[Any], Bytes]:
    """Return where the bytes of each text begin, and of the last one end; and the bytes of all."""
    _, offsets, data = values.buffers()
    dtype = np.int64 if values.type in (pa.large_string(), pa.large_binary()) else np.int32
    places = np.zeros(1, dtype)
    if offsets is not None and len(values):
        places = np.frombuffer(offsets, dtype)[values.offset : values.offset + len(values) + 1]
    return places, np.frombuffer(data, np.uint8) if data else np.empty(0, np.uint8)
