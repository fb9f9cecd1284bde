"""Where a column is cut into stretches: each the rows of some windows one behind the other, so neighbours overlap.

    rows        ├───────────────────────────────────────────────────────────┤
    stretch 1   ├──────────────────────────┤
    stretch 2                       ├──────────────────────────┤                four times as long as its longest window,
    stretch 3                                           ├───────────────────┤   so that at most a third is there twice

A window that doesn't fit into a stretch any more is shorter than a quarter of what the stretch would be with it. So the next
stretch begins at least three of its lengths behind the beginning of this one, and repeats at most one: a third, however
lengths vary.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from sash.kernels.plain import compile_plain

Bounds = npt.NDArray[np.int64]

WINDOWS_LONG = 4
"""A stretch is so many times as long as its longest window: longer takes more memory, shorter has more rows twice."""
LITTLE = 1 << 13
"""Up to so many rows memory doesn't count, and it is twice as long."""
LEAST = 1 << 10
"""It isn't shorter than this, so that what a stretch costs beside its rows doesn't count."""
SHEET = 1 << 14
"""So many rows of short stretches are sorted at once."""
AT_ONCE = 1 << 14
"""How many bounds are made at once: few enough to stay in a near cache."""


class RankBlock(NamedTuple):
    """The windows first … last - 1, which lie in the rows begin … end - 1."""

    first: int
    last: int
    begin: int
    end: int


def in_batches(stretches: Iterable[RankBlock]) -> Iterator[list[RankBlock]]:
    """Yield short stretches some at once, so that what is done for all of them costs little for each.

    >>> [len(sheet) for sheet in in_batches([RankBlock(0, 9, 0, 9), RankBlock(9, 12, 9, 12), RankBlock(12, 13, 12, 99_999)])]
    [2, 1]
    """
    sheet: list[RankBlock] = []
    rows = 0
    for stretch in stretches:
        rows += stretch.end - stretch.begin
        if sheet and rows > SHEET:
            yield sheet
            sheet, rows = [], stretch.end - stretch.begin
        sheet.append(stretch)
    if sheet:
        yield sheet


class WindowSequence(Protocol):
    """Where windows begin and end, one for each result."""

    def __len__(self) -> int:
        """Return how many windows there are."""

    def stretches(self) -> Iterator[RankBlock]:
        """Yield stretches that hold all windows, in order."""

    def parts(self, first: int, last: int) -> Iterator[tuple[slice, Bounds, Bounds, int]]:
        """Yield these windows part by part, with the first row of each, the one behind its last, and what both lack."""

    def which_hold(self, at_least: int) -> npt.NDArray[np.bool_]:
        """Tell of each window whether it has so many rows."""


@dataclass(frozen=True)
class FixedLengthWindows:
    """Each row's window is the newest `length` rows.

    >>> [(part, begins.tolist(), ends.tolist()) for part, begins, ends, _ in FixedLengthWindows(4, length=3).parts(0, 4)]
    [(slice(0, 4, None), [-2, -1, 0, 1], [1, 2, 3, 4])]
    """

    rows: int
    length: int

    def __len__(self) -> int:
        """Return how many windows there are."""
        return self.rows

    def stretches(self) -> Iterator[RankBlock]:
        """Yield stretches that hold all windows, in order."""
        most = find_room(self.length, WINDOWS_LONG, LITTLE, LEAST)
        last = 0
        while last < self.rows:
            first, begin = last, max(0, last + 1 - self.length)
            last = min(self.rows, begin + most)
            yield RankBlock(first, last, begin, last)

    def parts(self, first: int, last: int) -> Iterator[tuple[slice, Bounds, Bounds, int]]:
        """Yield these windows part by part: all with the same bounds, but for how far along they are."""
        begins, ends = self._first_bounds
        for start in range(first, last, AT_ONCE):
            many = min(last - start, AT_ONCE)
            yield slice(start, start + many), begins[:many], ends[:many], start

    @cached_property
    def _first_bounds(self) -> tuple[Bounds, Bounds]:
        ends = np.arange(1, min(self.rows, AT_ONCE) + 1)
        return ends - self.length, ends

    def which_hold(self, at_least: int) -> npt.NDArray[np.bool_]:
        """Tell of each window whether it has so many rows."""
        enough = np.full(self.rows, self.length >= at_least)
        enough[: at_least - 1] = False
        return enough


@dataclass(frozen=True)
class BoundedWindows:
    """WindowSequence with bounds of their own, which never move back.

    >>> windows = BoundedWindows(np.array([0, 0, 100_000]), np.array([2, 5, 100_001]))
    >>> [tuple(stretch) for stretch in windows.stretches()]
    [(0, 2, 0, 5), (2, 3, 100000, 100001)]
    """

    begins: Bounds
    ends: Bounds

    def __len__(self) -> int:
        """Return how many windows there are."""
        return len(self.begins)

    def stretches(self) -> Iterator[RankBlock]:
        """Yield stretches that hold all windows, in order."""
        find_last = compile_plain(find_room, find_last_window).find_last_window
        last = 0
        while last < len(self):
            first = last
            last = find_last(self.begins, self.ends, first, WINDOWS_LONG, LITTLE, LEAST)
            yield RankBlock(first, last, int(self.begins[first]), int(self.ends[last - 1]))

    def parts(self, first: int, last: int) -> Iterator[tuple[slice, Bounds, Bounds, int]]:
        """Yield all these windows as one part, with their bounds as given."""
        yield slice(first, last), self.begins[first:last], self.ends[first:last], 0

    def which_hold(self, at_least: int) -> npt.NDArray[np.bool_]:
        """Tell of each window whether it has so many rows."""
        enough = np.empty(len(self), np.bool_)
        for start in range(0, len(self), AT_ONCE):
            part = slice(start, start + AT_ONCE)
            enough[part] = self.ends[part] - self.begins[part] >= at_least
        return enough


def find_room(longest: int, windows_long: int, little: int, least: int) -> int:
    """Return how long a stretch may be for its longest window.

    >>> [find_room(longest, WINDOWS_LONG, LITTLE, LEAST) for longest in (16, 256, 1024, 4096)]
    [1024, 2048, 8192, 16384]
    """
    return max(windows_long * longest, min(2 * windows_long * longest, little), least)


def find_last_window(begins: Bounds, ends: Bounds, first: int, windows_long: int, little: int, least: int) -> int:
    """Return the window behind the last that fits into the stretch which begins with the first.

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
