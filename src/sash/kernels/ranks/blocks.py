"""Where a column is cut into blocks. A block holds all rows of some consecutive windows, so neighbouring blocks overlap.

    rows      ├───────────────────────────────────────────────────────────┤
    block 1   ├──────────────────────────┤
    block 2                       ├──────────────────────────┤                four times as long as its longest window,
    block 3                                           ├───────────────────┤   so at most a third of the rows repeat

The first window that does not fit into a block is shorter than a quarter of the block that would hold it. So the next
block begins at least three of its lengths after the begin of this one and repeats at most one length: a third, however
the lengths of windows vary.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from sash.kernels.kernel_arrays import short_windows
from sash.kernels.plain import compile_loop

Bounds = npt.NDArray[np.int64]

WINDOWS_LONG = 4
"""The length of a block in lengths of its longest window: longer takes more memory, shorter repeats more rows."""
LITTLE = 1 << 13
"""Up to this many rows memory does not matter, and a block is twice as long."""
LEAST = 1 << 10
"""The minimum length of a block, so that the fixed cost of a block does not matter."""
BATCH = 1 << 14
"""The number of rows of short blocks that are sorted at once."""
AT_ONCE = 1 << 14
"""The number of bounds that are made at once: few enough for the processor's cache."""
TOGETHER = 1 << 15
"""The number of rows in blocks of equal length that NumPy works on at once: few enough for the processor's cache."""
LEAST_BITS = 6
"""Shorter blocks of equal length are not faster."""


class RankBlock(NamedTuple):
    """The windows first … last - 1, which lie in the rows begin … end - 1."""

    first: int
    last: int
    begin: int
    end: int


def in_batches(blocks: Iterable[RankBlock]) -> Iterator[list[RankBlock]]:
    """Group short blocks, so that the fixed cost of a batch is shared.

    >>> batches = in_batches([RankBlock(0, 9, 0, 9), RankBlock(9, 12, 9, 12), RankBlock(12, 13, 12, 99_999)])
    >>> [len(batch) for batch in batches]
    [2, 1]
    """
    batch: list[RankBlock] = []
    rows = 0
    for block in blocks:
        rows += block.end - block.begin
        if batch and rows > BATCH:
            yield batch
            batch, rows = [], block.end - block.begin
        batch.append(block)
    if batch:
        yield batch


@dataclass(frozen=True)
class FixedLengthWindows:
    """For each row, the window of the newest `length` rows.

    >>> windows = FixedLengthWindows(4, length=3)
    >>> [(numbers, begins.tolist(), ends.tolist()) for numbers, begins, ends, _ in windows.bounds(0, 4)]
    [(slice(0, 4, None), [-2, -1, 0, 1], [1, 2, 3, 4])]
    """

    rows: int
    length: int

    def __len__(self) -> int:
        """Return the number of windows."""
        return self.rows

    def blocks(self) -> Iterator[RankBlock]:
        """Yield blocks that hold all windows, in order."""
        most = find_room(self.length, WINDOWS_LONG, LITTLE, LEAST)
        last = 0
        while last < self.rows:
            first, begin = last, max(0, last + 1 - self.length)
            last = min(self.rows, begin + most)
            yield RankBlock(first, last, begin, last)

    def bounds(self, first: int, last: int) -> Iterator[tuple[slice, Bounds, Bounds, int]]:
        """Yield the numbers of some windows, their begins and ends, and the offset to add to both: some windows at a time."""
        begins, ends = self._first_bounds
        for start in range(first, last, AT_ONCE):
            many = min(last - start, AT_ONCE)
            yield slice(start, start + many), begins[:many], ends[:many], start

    @cached_property
    def _first_bounds(self) -> tuple[Bounds, Bounds]:
        ends = np.arange(1, min(self.rows, AT_ONCE) + 1)
        return ends - self.length, ends

    def with_few(self, at_least: int) -> Bounds:
        """Return the windows that hold fewer rows than that."""
        return short_windows(np.array([0, self.rows]), self.length, at_least)


@dataclass(frozen=True)
class BoundedWindows:
    """Windows with their own bounds, which never move back.

    >>> windows = BoundedWindows(np.array([0, 0, 100_000]), np.array([2, 5, 100_001]))
    >>> [tuple(block) for block in windows.blocks()]
    [(0, 2, 0, 5), (2, 3, 100000, 100001)]
    """

    begins: Bounds
    ends: Bounds

    def __len__(self) -> int:
        """Return the number of windows."""
        return len(self.begins)

    def blocks(self) -> Iterator[RankBlock]:
        """Yield blocks that hold all windows, in order."""
        find_last = compile_loop(find_last_window)
        last = 0
        while last < len(self):
            first = last
            last = find_last(self.begins, self.ends, first, WINDOWS_LONG, LITTLE, LEAST)
            yield RankBlock(first, last, int(self.begins[first]), int(self.ends[last - 1]))

    def bounds(self, first: int, last: int) -> Iterator[tuple[slice, Bounds, Bounds, int]]:
        """Yield the numbers of some windows, their begins and ends, and the offset to add to both: all windows at once."""
        yield slice(first, last), self.begins[first:last], self.ends[first:last], 0

    def with_few(self, at_least: int) -> npt.NDArray[np.bool_]:
        """Return which windows hold fewer rows than that."""
        few = np.empty(len(self), np.bool_)
        for start in range(0, len(self), AT_ONCE):
            windows = slice(start, start + AT_ONCE)
            few[windows] = self.ends[windows] - self.begins[windows] < at_least
        return few


class BlockBatch(NamedTuple):
    """Blocks of equal length, one after the other, and the windows in them."""

    windows: slice
    """The numbers of the windows."""
    starts: Bounds
    """The first row of each block."""
    offsets: Bounds
    """For each window, the number to add to its bounds: from rows of the column to rows of the batch."""


@dataclass(frozen=True)
class EqualBlocks:
    """Blocks of 2**bits rows that begin at equal distances, for windows whose bounds never move back; found without a loop.

    >>> blocks = EqualBlocks(np.array([0, 1, 900]), np.array([2, 4, 905]), rows=1000)
    >>> [(batch.windows, batch.starts.tolist(), batch.offsets.tolist()) for batch in blocks.batches()]
    [(slice(0, 3, None), [0, 900], [0, 0, -836])]
    """

    begins: Bounds
    ends: Bounds
    rows: int

    @cached_property
    def longest(self) -> int:
        """The length of the longest window."""
        return int((self.ends - self.begins).max(initial=1))

    @cached_property
    def bits(self) -> int:
        """The bits of a row number in a block: it is about as long as four of the longest windows, or holds all rows."""
        wanted = max((WINDOWS_LONG * self.longest - 1).bit_length(), LEAST_BITS)
        return min(wanted, max(1, (self.rows - 1).bit_length()))

    def batches(self) -> Iterator[BlockBatch]:
        """Yield blocks that hold all windows, in order; blocks without windows are left out."""
        size = 1 << self.bits
        distance = size if size >= self.rows else size + 1 - self.longest
        blocks = self.begins // distance
        firsts = np.flatnonzero(np.diff(blocks, prepend=-1))  # the first window of each block
        many = max(1, TOGETHER >> self.bits)
        for first in range(0, len(firsts), many):
            chosen = firsts[first : first + many]
            last = int(firsts[first + many]) if first + many < len(firsts) else len(blocks)
            starts = blocks[chosen] * distance
            moves = np.arange(len(chosen)) * size - starts
            yield BlockBatch(slice(int(chosen[0]), last), starts, np.repeat(moves, np.diff(chosen, append=last)))


def find_room(longest: int, windows_long: int, little: int, least: int) -> int:
    """Return the maximum length of a block for its longest window.

    >>> [find_room(longest, WINDOWS_LONG, LITTLE, LEAST) for longest in (16, 256, 1024, 4096)]
    [1024, 2048, 8192, 16384]
    """
    return max(windows_long * longest, min(2 * windows_long * longest, little), least)


def find_last_window(begins: Bounds, ends: Bounds, first: int, windows_long: int, little: int, least: int) -> int:
    """Return the number after the last window that fits into the block that begins with window `first`.

    >>> find_last_window(np.array([0, 1, 2, 3]), np.array([2, 3, 4, 5]), first=0, windows_long=1, little=4, least=0)
    3
    """
    longest = 0
    last = first
    while last < len(begins):
        longest = max(longest, ends[last] - begins[last])
        if ends[last] - begins[first] > find_room(longest, windows_long, little, least):
            break
        last += 1
    return last
