"""Windows of a number of rows: `rows(range)` for each row, `rows(range, slide=k)` for each window."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from math import gcd
from typing import ClassVar

import numpy as np

from sash.durations import TimeUnit
from sash.windows.arguments import check_count, check_slide, min_rows_text
from sash.windows.arrays import ranges
from sash.windows.base import (
    Bounds,
    Cycle,
    Flags,
    Interval,
    Ints,
    Items,
    Memory,
    NewestRows,
    Reach,
    Run,
    TimeAxis,
    Window,
)


class FrameBounds(Bounds):
    """A window for each row of keys without context. Begins and ends are computed only if somebody needs them.

    >>> bounds = FrameBounds(NewestRows(np.array([0, 3, 5]), 2), np.array([2, 4]))
    >>> bounds.begins.tolist(), bounds.ends.tolist()
    ([0, 0, 1, 3, 3], [1, 2, 3, 4, 5])
    """

    def __init__(self, frame: NewestRows, keep: Ints) -> None:
        vars(self).update(frame=frame, starts=None, stops=None, keep=keep, memory={})

    def __len__(self) -> int:
        """Return the number of rows."""
        assert self.frame is not None
        return int(self.frame.firsts[-1])

    @cached_property
    def _positions(self) -> tuple[Ints, Ints]:
        assert self.frame is not None
        firsts = self.frame.firsts
        return bounds_of_rows(firsts[:-1], firsts[:-1] + 1, np.diff(firsts), 1, self.frame.length)

    @cached_property
    def begins(self) -> Ints:
        """The first row of each window."""
        return self._positions[0]

    @cached_property
    def ends(self) -> Ints:
        """The row after the last one of each window."""
        return self._positions[1]


@dataclass(frozen=True)
class RowFrame(Window):
    """For each row, the last `range` rows."""

    kind: ClassVar[str] = "rows"
    per_row: ClassVar[bool] = True
    sliced: ClassVar[bool] = False
    range: int
    least: int = 1

    @property
    def min_rows(self) -> int:
        """How many values a window must hold to have a result."""
        return self.least

    def bounds(self, items: Items, memory: Memory, run: Run) -> Bounds:  # noqa: ARG002 — NumPy is as fast as a compiled loop
        """Return a window for each row."""
        if items.row_counts is not None:
            return self._bounds_of_slices(items, items.row_counts)
        span = items.span
        if not span.done.any() and (span.final == np.diff(items.firsts)).all():
            return FrameBounds(NewestRows(items.firsts, self.range), kept_rows(items, self.range))
        firsts = items.firsts[:-1]
        bounds = bounds_of_rows(firsts, firsts + span.done + 1, span.final - span.done, 1, self.range)
        return Bounds(*bounds, None, None, kept_rows(items, self.range))

    def _bounds_of_slices(self, items: Items, row_counts: Ints) -> Bounds:
        """Return a window for each item; an item of several rows is context, and no window begins inside it.

        >>> from sash.windows.base import whole_items
        >>> items = whole_items([1, 2, 7, 8], row_counts=np.array([1, 2, 1, 1]))
        >>> rows(4).bounds(items, {}, None).begins.tolist()
        [0, 0, 0, 1]
        """
        before = np.cumsum(row_counts) - row_counts
        owners = np.repeat(np.arange(items.keys), np.diff(items.firsts))
        places = np.flatnonzero(np.arange(len(row_counts)) >= (items.firsts[:-1] + items.span.done)[owners])
        begins = np.searchsorted(before, before[places] + 1 - self.range)
        begins = np.maximum(begins, items.firsts[owners[places]])
        return Bounds(begins, places + 1, None, None, items.firsts[:-1])

    @property
    def length(self) -> int:
        """The range."""
        return self.range

    @property
    def rows_held(self) -> int:
        """How many rows a window holds at most."""
        return self.range

    def reach(self, unit: TimeUnit) -> Reach:  # noqa: ARG002 — it reaches back by rows
        """Return how far windows reach back."""
        return Reach(rows=self.range - 1)

    def begin_zones(self, begin: int, end: int, axis: TimeAxis) -> list[Interval]:
        """Return where the windows of rows in a time range begin: `range` rows earlier."""
        first, _ = axis.edge_with(self.range - 1, begin)
        last = axis.edge_after(axis.rows_before(end) - self.range)
        return [(first, max(first, min(last, begin)))]

    def __repr__(self) -> str:
        """Return the call that makes the window."""
        return f"rows({self.range}{min_rows_text(self.least)})"


@dataclass(frozen=True)
class SlidingRows(Window):
    """The last `range` rows, every `slide` rows."""

    kind: ClassVar[str] = "rows"
    memory: ClassVar[Mapping[str, str]] = {"seen": "int64"}
    range: int
    slide: int
    least: int = 1

    @property
    def min_rows(self) -> int:
        """How many values a window must hold to have a result."""
        return self.least

    def bounds(self, items: Items, memory: Memory, run: Run) -> Bounds:  # noqa: ARG002 — NumPy is as fast as a compiled loop
        """Return a window after every `slide` rows of a key."""
        span, firsts, before = items.span, items.firsts[:-1], memory["seen"]
        seen = before + span.final - span.done
        counts = seen // self.slide - before // self.slide
        first_ends = firsts + span.done + self.slide - before % self.slide
        bounds = bounds_of_rows(firsts, first_ends, counts, self.slide, self.range)
        return Bounds(*bounds, None, None, kept_rows(items, self.range), {"seen": seen})

    def pane_starts(self, items: Items, memory: Memory) -> Ints:
        """Return the rows that panes begin with, given the memory after these rows."""
        before = np.repeat(memory["seen"] - items.span.final - items.firsts[:-1], np.diff(items.firsts))
        return np.flatnonzero((before + np.arange(len(before))) % gcd(self.range, self.slide) == 0)

    @property
    def row_cycle(self) -> Cycle:
        """Where windows repeat, in rows."""
        return Cycle(self.range, self.slide, self.range, -self.range % self.slide)

    @property
    def length(self) -> int:
        """The range."""
        return self.range

    @property
    def rows_held(self) -> int:
        """How many rows a window holds at most."""
        return self.range

    def reach(self, unit: TimeUnit) -> Reach:  # noqa: ARG002 — it reaches back by rows
        """Return how far windows reach back."""
        return Reach(rows=self.range - 1)

    def new_memory(self, keys: int, rows_before: int = 0) -> Memory:
        """Return the memory of new keys, each of which had `rows_before` rows earlier."""
        return {"seen": np.full(keys, rows_before, np.int64)}

    def remembers(self, memory: Memory) -> Flags:
        """Return for which keys the next row is not the first of a slide."""
        known: Flags = memory["seen"] % self.slide != 0
        return known

    def __repr__(self) -> str:
        """Return the call that makes the window."""
        return f"rows({self.range}, slide={self.slide}{min_rows_text(self.least)})"


def rows(range: int, *, slide: int | None = None, min_rows: int = 1) -> Window:  # noqa: A002 — the papers' word
    """Return windows of the last `range` rows of a key.

    `range` is the number of rows. Without `slide` every row has a result. With `slide=k` there is a result after every k-th
    row of a key. If fewer than `min_rows` rows of a window have a value, the result is null.

    Nulls and NaN: a row counts for `range` also if its value is null; `min_rows` counts non-null values.
    Result: one per row, beside the input row; with `slide` one per window.
    Errors: TypeError if an argument is not an integer. ValueError if it is less than 1, or if `slide` is more than `range`.

    >>> import pyarrow as pa
    >>> import sash
    >>> from sash import agg, window
    >>> rows = pa.table({"load": [3, 9, None, 4]})
    >>> sash.Query({"n": agg.count("load"), "peak": agg.max("load")}, window.rows(2)).run(rows)["peak"].to_pylist()
    [3, 9, 9, 4]
    >>> sash.Query({"n": agg.count("load"), "peak": agg.max("load")}, window.rows(2, slide=2)).run(rows).to_pylist()
    [{'n': 2, 'peak': 9}, {'n': 1, 'peak': 4}]
    """
    length = check_count(range, "range", "rows")
    least = check_count(min_rows, "min_rows", "rows")
    if slide is None:
        return RowFrame(length, least)
    every = check_count(slide, "slide", "rows")
    check_slide(every, length, {"slide": slide, "range": range})
    return SlidingRows(length, every, least)


def bounds_of_rows(firsts: Ints, first_ends: Ints, counts: Ints, slide: int, length: int) -> tuple[Ints, Ints]:
    """Return windows of the last `length` rows, no earlier than their key: of each key `counts`, the first of which ends at `first_ends`.

    >>> begins, ends = bounds_of_rows(np.array([0, 9]), np.array([2, 11]), np.array([3, 1]), slide=2, length=3)
    >>> begins.tolist(), ends.tolist()
    ([0, 1, 3, 9], [2, 4, 6, 11])
    """
    ends = ranges(first_ends, counts, slide)
    begins = ends - length
    early = np.clip(
        (firsts + length - 1 - first_ends) // slide + 1, 0, counts
    )  # how many windows are cut off by the key
    if 2 * early.sum() < len(ends):
        begins[ranges(np.cumsum(counts) - counts, early)] = np.repeat(firsts, early)
    else:
        np.maximum(begins, np.repeat(firsts, counts), out=begins)
    return begins, ends


def kept_rows(items: Items, length: int) -> Ints:
    """Return the first row of each key that the window of a later row may hold."""
    firsts = items.firsts[:-1]
    first: Ints = np.maximum(firsts, firsts + items.span.final - length + 1)
    return first
