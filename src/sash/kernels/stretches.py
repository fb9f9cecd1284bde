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

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from sash.kernels.sort import compile_plain

Bounds = npt.NDArray[np.int64]

WINDOWS_LONG = 4
"""A stretch is so many times as long as its longest window: longer takes more memory, shorter has more rows twice."""
AT_LEAST_LONG = 1 << 13
"""But not shorter than this, so that what a stretch costs beside its rows doesn't count."""
AT_ONCE = 1 << 14
"""How many bounds are made at once: few enough to stay in a near cache."""


class Stretch(NamedTuple):
    """The windows first … last - 1, which lie in the rows begin … end - 1."""

    first: int
    last: int
    begin: int
    end: int


class Windows(Protocol):
    """Where windows begin and end, one for each result."""

    def __len__(self) -> int:
        """Return how many windows there are."""

    def stretches(self) -> Iterator[Stretch]:
        """Yield stretches that hold all windows, in order."""

    def parts(self, first: int, last: int) -> Iterator[tuple[slice, Bounds, Bounds, int]]:
        """Yield these windows part by part, with the first row of each, the one behind its last, and what both lack."""

    def which_hold(self, at_least: int) -> npt.NDArray[np.bool_]:
        """Tell of each window whether it has so many rows."""


@dataclass(frozen=True)
class LastRows:
    """Each row's window is the newest `length` rows.

    >>> [(part, begins.tolist(), ends.tolist()) for part, begins, ends, _ in LastRows(4, length=3).parts(0, 4)]
    [(slice(0, 4, None), [-2, -1, 0, 1], [1, 2, 3, 4])]
    """

    rows: int
    length: int

    def __len__(self) -> int:
        """Return how many windows there are."""
        return self.rows

    def stretches(self) -> Iterator[Stretch]:
        """Yield stretches that hold all windows, in order."""
        most = max(AT_LEAST_LONG, WINDOWS_LONG * self.length)
        last = 0
        while last < self.rows:
            first, begin = last, max(0, last + 1 - self.length)
            last = min(self.rows, begin + most)
            yield Stretch(first, last, begin, last)

    def parts(self, first: int, last: int) -> Iterator[tuple[slice, Bounds, Bounds, int]]:
        """Yield these windows part by part: all with the same bounds, but for how far along they are."""
        ends = np.arange(1, min(last - first, AT_ONCE) + 1)
        begins = ends - self.length
        for start in range(first, last, AT_ONCE):
            many = min(last - start, AT_ONCE)
            yield slice(start, start + many), begins[:many], ends[:many], start

    def which_hold(self, at_least: int) -> npt.NDArray[np.bool_]:
        """Tell of each window whether it has so many rows."""
        enough = np.full(self.rows, self.length >= at_least)
        enough[: at_least - 1] = False
        return enough


@dataclass(frozen=True)
class Between:
    """Windows with bounds of their own, which never move back.

    >>> windows = Between(np.array([0, 0, 100_000]), np.array([2, 5, 100_001]))
    >>> [tuple(stretch) for stretch in windows.stretches()]
    [(0, 2, 0, 5), (2, 3, 100000, 100001)]
    """

    begins: Bounds
    ends: Bounds

    def __len__(self) -> int:
        """Return how many windows there are."""
        return len(self.begins)

    def stretches(self) -> Iterator[Stretch]:
        """Yield stretches that hold all windows, in order."""
        find_last = compile_plain(find_last_window).find_last_window
        last = 0
        while last < len(self):
            first = last
            last = find_last(self.begins, self.ends, first, AT_LEAST_LONG, WINDOWS_LONG)
            yield Stretch(first, last, int(self.begins[first]), int(self.ends[last - 1]))

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


def find_last_window(begins: Bounds, ends: Bounds, first: int, at_least: int, windows_long: int) -> int:
    """Return the window behind the last that fits into the stretch which begins with the first.

    >>> find_last_window(np.array([0, 1, 2, 3]), np.array([2, 3, 4, 5]), first=0, at_least=3, windows_long=2)
    3
    """
    most = at_least
    last = first
    while last < len(begins):
        most = max(most, windows_long * (ends[last] - begins[last]))
        if ends[last] - begins[first] > most:
            break
        last += 1
    return last
