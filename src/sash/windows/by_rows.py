"""Windows of a number of rows: `rows(range)` and `rows(before=…, after=…)` for each row, `rows(range, slide=k)` for each window."""

from __future__ import annotations

from dataclasses import dataclass
from math import gcd
from typing import ClassVar, Literal

import numpy as np

from sash.windows.arguments import check_closed_rows, check_count, check_room, check_rows_around, options_text
from sash.windows.arrays import ranges
from sash.windows.base import NOT_GIVEN, Bounds, Cycle, Ints, Items, LoopCompiler, Memory, Reach
from sash.windows.capabilities import Cuts, RowCount, TimeSplit
from sash.windows.exclude import check_exclude
from sash.windows.row_frame import RowFrame
from sash.windows.window import Window


@dataclass(frozen=True)
class SlidingRows(Window):
    """The last `range` rows, every `slide` rows."""

    kind: ClassVar[str] = "rows"
    range: int
    slide: int

    @property
    def length(self) -> int:
        """The range."""
        return self.range

    def bounds(self, items: Items, memory: Memory, compiler: LoopCompiler) -> Bounds:  # noqa: ARG002 — NumPy is as fast as a compiled loop
        """Return a window after every `slide` rows of a key."""
        span, firsts, before = items.span, items.firsts[:-1], memory["seen"]
        seen = before + span.final - span.done
        counts = seen // self.slide - before // self.slide
        first_ends = firsts + span.done + self.slide - before % self.slide
        bounds = bounds_of_rows(firsts, first_ends, counts, self.slide, self.range)
        keep = np.maximum(firsts, firsts + span.final - self.range + 1)
        return Bounds(*bounds, None, None, keep, {"seen": seen})

    @property
    def cuts(self) -> Cuts:
        """Windows repeat after a number of rows."""
        cycle = Cycle(self.range, self.slide, self.range, -self.range % self.slide)
        return Cuts(row_cycle=cycle, pane_starts=self._pane_starts)

    def _pane_starts(self, items: Items, memory: Memory) -> Ints:
        """Return the rows that panes begin with, given the memory after these rows."""
        before = np.repeat(memory["seen"] - items.span.final - items.firsts[:-1], np.diff(items.firsts))
        return np.flatnonzero((before + np.arange(len(before))) % gcd(self.range, self.slide) == 0)

    @property
    def memory(self) -> RowCount:
        """The number of rows so far."""
        return RowCount(every=self.slide)

    @property
    def time_split(self) -> TimeSplit:
        """Windows reach back by rows."""
        return TimeSplit(lambda _: Reach(rows=self.range - 1))

    def __repr__(self) -> str:
        """Return the call that makes the window."""
        return f"rows({self.range}, slide={self.slide}{options_text(min_rows=self.min_rows)})"


def rows(
    range: int | None = None,  # noqa: A002 — the papers' word
    *,
    before: int | None = NOT_GIVEN,
    after: int | None = NOT_GIVEN,
    exclude: Literal["row", "ties", "group"] | None = None,
    closed: Literal["right", "both", "left", "neither"] | None = None,
    slide: int | None = None,
    min_rows: int = 1,
) -> Window:
    """Return windows of a number of rows of a key.

    `range` is the number of rows: those before a row, and the row itself. Instead, `before` and `after` are the numbers of rows
    before and after the row, as in `rows(before=49, after=50)`; `rows(n)` is `rows(before=n - 1)`. None means all rows on that
    side. A negative number leaves out rows: `rows(before=10, after=-1)` holds the ten rows before the row, not the row itself.
    `closed` is as in pandas: `rows(n, closed="left")` holds the n rows before the row, "both" these and the row, "neither" the n - 1 rows
    before it; "right" is the default. `exclude` leaves out rows, as EXCLUDE in SQL: "row" the row itself, "ties" the other rows of its
    time and its values in `order_by`, "group" both; without a time column, "group" is the row alone. Without `slide` every row has a result. With `slide=k` there is a result after every
    k-th row of a key; if k is more than `range`, the first rows of each slide belong to no window. If fewer than `min_rows` rows of a
    window have a value, the result is null. In a stream, the result of a row waits for the rows after it.

    Nulls and NaN: a row counts for `range`, `before` and `after` also if its value is null; `min_rows` counts non-null values.
    Result: one per row, beside the input row; with `slide` one per window. A window without rows has null, and a count of 0.
    Errors: TypeError if an argument is not an integer. ValueError if `range`, `slide` or `min_rows` is less than 1, if a window
    can never hold `min_rows` rows, if `before + after` is negative, if `range`, `closed` or `slide` is given with `before` or
    `after`, or if `exclude` or `closed` is given with `slide`.

    >>> import pyarrow as pa
    >>> import sash
    >>> from sash import agg, window
    >>> rows = pa.table({"load": [3, 9, None, 4]})
    >>> sash.Query({"n": agg.count("load"), "peak": agg.max("load")}, window.rows(2)).run(rows)["peak"].to_pylist()
    [3, 9, 9, 4]
    >>> sash.Query(agg.max("load"), window.rows(before=1, after=1)).run(rows)["max"].to_pylist()
    [9, 9, 9, 4]
    >>> sash.Query({"n": agg.count("load"), "peak": agg.max("load")}, window.rows(2, slide=2)).run(rows).to_pylist()
    [{'n': 2, 'peak': 9}, {'n': 1, 'peak': 4}]
    """
    least = check_count(min_rows, "min_rows", "rows")
    excluded = check_exclude(exclude, "rows")
    if before is not NOT_GIVEN or after is not NOT_GIVEN:
        check_rows_around(before, after, {"range": range, "slide": slide, "closed": closed})
        return _frame(before, 0 if after is NOT_GIVEN else after, least, excluded)
    if range is None:
        message = "window.rows needs a number of rows, as in window.rows(100), or before= and after=."
        raise TypeError(message)
    length = check_count(range, "range", "rows")
    if slide is None:
        return _frame(*check_closed_rows(length, closed), least, excluded)
    for name, given in {"exclude": exclude, "closed": closed}.items():
        if given is not None:
            message = f"window.rows: {name}= applies to the window of a row. Leave slide= or {name}= out."
            raise ValueError(message)
    every = check_count(slide, "slide", "rows")
    check_room(least, length, "rows")
    return SlidingRows(length, every, min_rows=least)


def _frame(before: int | None, after: int | None, least: int, exclude: str) -> RowFrame:
    """Return the frame of each row. Raise ValueError if it can never hold enough rows."""
    if before is not None and after is not None:
        holds_row = before >= 0 and after >= 0
        check_room(least, before + after + 1 - (holds_row and exclude in ("row", "group")), "rows")
    return RowFrame(before, after, exclude, min_rows=least)


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
