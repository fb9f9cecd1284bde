"""Windows of a number of rows: `rows(range)`, `rows(range, slide=k)`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import gcd
from typing import ClassVar

import numpy as np

from sash.windows.base import Bounds, Cycle, Flags, Ints, Memory, Rows, Run, Window, new_bounds
from sash.windows.checks import check_count, refuse_wide_slide


@dataclass(frozen=True)
class LastRows(Window):
    """The last `range` rows, for each row."""

    kind: ClassVar[str] = "rows"
    per_row: ClassVar[bool] = True
    sliced: ClassVar[bool] = False
    range: int
    least: int = 1

    @property
    def length(self) -> int:
        """The range."""
        return self.range

    @property
    def min_rows(self) -> int:
        """How many values a window must hold to have a result."""
        return self.least

    def bounds(self, rows: Rows, memory: Memory, run: Run) -> Bounds:  # noqa: ARG002 — nothing to remember
        """Return a window for each row."""
        begins, ends = new_bounds(int((rows.final - rows.done).sum()))
        keep = np.empty(rows.keys, np.int64)
        run(find_last_rows)(rows.firsts, rows.done, rows.final, self.range, begins, ends, keep)
        return Bounds(begins, ends, None, None, keep)

    def bounds_over(self, rows: Rows, sizes: Ints) -> Bounds:
        """Return a window for each row, where some of those given stand for many, at none of which a window begins later.

        >>> from sash.windows.base import whole_rows
        >>> rows(4).bounds_over(whole_rows([1, 2, 7, 8]), np.array([1, 2, 1, 1])).begins.tolist()
        [0, 0, 0, 1]
        """
        before = np.cumsum(sizes) - sizes
        owners = np.repeat(np.arange(rows.keys), np.diff(rows.firsts))
        places = np.flatnonzero(np.arange(len(sizes)) >= (rows.firsts[:-1] + rows.done)[owners])
        begins = np.searchsorted(before, before[places] + 1 - self.range)
        begins = np.maximum(begins, rows.firsts[owners[places]])
        return Bounds(begins, places + 1, None, None, rows.firsts[:-1])

    def __repr__(self) -> str:
        """Show it as it is written."""
        return f"rows({self.range}{least_to_text(self.least)})"


@dataclass(frozen=True)
class EveryRows(Window):
    """The last `range` rows, every `slide` rows."""

    kind: ClassVar[str] = "rows"
    memory: ClassVar[Mapping[str, str]] = {"seen": "int64"}
    range: int
    slide: int
    least: int = 1

    @property
    def length(self) -> int:
        """The range."""
        return self.range

    @property
    def row_cycle(self) -> Cycle:
        """Where windows repeat."""
        return Cycle(self.range, self.slide, self.range, -self.range % self.slide)

    @property
    def min_rows(self) -> int:
        """How many values a window must hold to have a result."""
        return self.least

    def bounds(self, rows: Rows, memory: Memory, run: Run) -> Bounds:
        """Return a window for every `slide` rows of a key."""
        seen = memory["seen"]
        fresh = rows.final - rows.done
        begins, ends = new_bounds(int(((seen + fresh) // self.slide - seen // self.slide).sum()))
        keep = np.empty(rows.keys, np.int64)
        loop = run(find_every_rows)
        loop(rows.firsts, rows.done, rows.final, seen, self.range, self.slide, begins, ends, keep)
        return Bounds(begins, ends, None, None, keep)

    def remembers(self, memory: Memory) -> Flags:
        """Tell of which keys the next row is not the first of a slide."""
        known: Flags = memory["seen"] % self.slide != 0
        return known

    def panes(self, rows: Rows, memory: Memory) -> Ints:
        """Return the rows that panes begin with, once the bounds were found: each so many that all edges are among them."""
        before = np.repeat(memory["seen"] - rows.final - rows.firsts[:-1], np.diff(rows.firsts))
        return np.flatnonzero((before + np.arange(len(before))) % gcd(self.range, self.slide) == 0)

    def __repr__(self) -> str:
        """Show it as it is written."""
        return f"rows({self.range}, slide={self.slide}{least_to_text(self.least)})"


def rows(range: int, *, slide: int | None = None, min_rows: int = 1) -> Window:  # noqa: A002 — the papers' word
    """Return windows of the last `range` rows: for each row, or with `slide` after every so many rows of a key.

    >>> from sash import window
    >>> window.rows(3)
    rows(3)
    >>> window.rows(100, slide=10)
    rows(100, slide=10)
    """
    length = check_count(range, "range", "rows")
    least = check_count(min_rows, "min_rows", "rows")
    if slide is None:
        return LastRows(length, least)
    every = check_count(slide, "slide", "rows")
    refuse_wide_slide(every, length, slide, range)
    return EveryRows(length, every, least)


def least_to_text(least: int) -> str:
    """Return how `min_rows` is written, if it says anything."""
    return f", min_rows={least}" if least > 1 else ""


def find_last_rows(firsts: Ints, done: Ints, final: Ints, length: int, begins: Ints, ends: Ints, keep: Ints) -> None:
    """Write the window of each row: the last `length` rows of its key."""
    count = 0
    for key in range(len(firsts) - 1):
        first = firsts[key]
        end = first + final[key]
        for row in range(first + done[key], end):
            begins[count] = max(first, row + 1 - length)
            ends[count] = row + 1
            count += 1
        keep[key] = max(first, end - length + 1)


def find_every_rows(
    firsts: Ints, done: Ints, final: Ints, seen: Ints, length: int, slide: int, begins: Ints, ends: Ints, keep: Ints
) -> None:
    """Write the window of every row whose number, counted from 1, is a multiple of `slide`."""
    count = 0
    for key in range(len(firsts) - 1):
        first = firsts[key]
        end = first + final[key]
        number = seen[key]
        row = first + done[key] + slide - number % slide
        while row <= end:
            begins[count] = max(first, row - length)
            ends[count] = row
            count += 1
            row += slide
        seen[key] = number + final[key] - done[key]
        keep[key] = max(first, end - length + 1)
