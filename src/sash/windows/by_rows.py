"""Windows of a number of rows: `rows(range)` and `rows(before=…, after=…)` for each row, `rows(range, slide=k)` for each window."""

from __future__ import annotations

from dataclasses import dataclass
from math import gcd
from numbers import Integral
from typing import Any, ClassVar, Literal

import numpy as np

from sash.windows.arguments import check_choice, check_count, check_exclude, check_sides, hints_names, options_text
from sash.windows.arrays import ranges
from sash.windows.base import NOT_GIVEN, Bounds, Cycle, Ints, Items, LoopCompiler, Memory, Reach
from sash.windows.capabilities import Cuts, RowCount, TimeSplit
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


@hints_names
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
        _check_around(before, after, {"range": range, "slide": slide, "closed": closed})
        return _frame(before, 0 if after is NOT_GIVEN else after, least, excluded)
    if range is None:
        raise TypeError("window.rows needs a number of rows, as in window.rows(100), or before= and after=.")
    length = check_count(range, "range", "rows")
    if slide is None:
        return _frame(*around_closed(length, closed), least, excluded)
    for name, value in {"exclude": exclude, "closed": closed}.items():
        if value is not None:
            raise ValueError(f"window.rows: {name}= applies to the window of a row. Leave slide= or {name}= out.")
    every = check_count(slide, "slide", "rows")
    _check_room(least, length)
    return SlidingRows(length, every, min_rows=least)


def _frame(before: int | None, after: int | None, least: int, exclude: str) -> RowFrame:
    """Return the frame of each row. Raise ValueError if it can never hold enough rows."""
    if before is not None and after is not None:
        holds_row = before >= 0 and after >= 0
        _check_room(least, before + after + 1 - (holds_row and exclude in ("row", "group")))
    return RowFrame(before, after, exclude, min_rows=least)


def _check_around(before: Any, after: Any, others: dict[str, Any]) -> None:
    """Raise TypeError or ValueError if a frame of rows is invalid: its numbers, or other arguments beside them."""
    check_sides(before, after, others, "rows", "the number of rows before the row. Use before=0 to begin with")
    for name, value in {"before": before, "after": after}.items():
        if value is None or value is NOT_GIVEN:
            continue
        if isinstance(value, bool) or not isinstance(value, Integral):
            raise TypeError(
                f"window.rows: {name}={value!r} is not a whole number of rows, nor None for all rows on that side."
            )
        if abs(value) >= 2**62:  # type: ignore[operator]
            raise ValueError(
                f"window.rows: {name}={value} must be less than 2**62. Use None for all rows on that side."
            )
    until = 0 if after is NOT_GIVEN else after
    if before is not None and until is not None and before + until < 0:
        raise ValueError(
            f"window.rows: before={before} and after={until} leave no rows. before + after must be at least 0."
        )


@hints_names
def lag(n: int = 1) -> Window:
    """Return for each row the row `n` rows before it: `rows(before=n, after=-n)`.

    `agg.last("load")` over it is SQL's `lag(load)`. A negative `n` is a row after it.

    Nulls and NaN: rows are counted whether or not their values are null, so the result is null if that row has a null.
    Result: one per row, beside the input row; null, and a count of 0, for the first `n` rows of a key.
    Errors: TypeError if `n` is not an integer.

    >>> import pyarrow as pa
    >>> import sash
    >>> from sash import agg, window
    >>> rows = pa.table({"day": [1, 2, 5], "load": [3, None, 4]})
    >>> sash.Query({"before": agg.last("load"), "day_before": agg.last("day")}, window.lag(), time="day").run(rows).to_pydict()
    {'day': [1, 2, 5], 'load': [3, None, 4], 'before': [None, 3, None], 'day_before': [None, 1, 2]}
    """
    steps = _check_steps(n, "lag")
    return rows(before=steps, after=-steps)


@hints_names
def lead(n: int = 1) -> Window:
    """Return for each row the row `n` rows after it: `rows(before=-n, after=n)`.

    `agg.first("load")` over it is SQL's `lead(load)`. In a stream, a result waits for that row.

    Nulls and NaN: rows are counted whether or not their values are null, so the result is null if that row has a null.
    Result: one per row, beside the input row; null, and a count of 0, for the last `n` rows of a key.
    Errors: TypeError if `n` is not an integer.

    >>> import pyarrow as pa
    >>> import sash
    >>> from sash import agg, window
    >>> rows = pa.table({"day": [1, 2, 5], "load": [3, None, 4]})
    >>> sash.Query({"next": agg.first("load")}, window.lead(), time="day").run(rows)["next"].to_pylist()
    [None, 4, None]
    """
    steps = _check_steps(n, "lead")
    return rows(before=-steps, after=steps)


def _check_steps(n: Any, window: str) -> int:
    """Return a number of rows. Raise TypeError if it is not an integer."""
    if isinstance(n, bool) or not isinstance(n, Integral):
        hint = (
            f' Name the column in the aggregate: agg.last("{n}") over window.{window}().' if isinstance(n, str) else ""
        )
        raise TypeError(f"window.{window}: n={n!r} is not a whole number of rows.{hint}")
    return int(n)


def around_closed(length: int, closed: Any) -> tuple[int, int]:
    """Return how many rows before and after a row `rows(length, closed=…)` holds. Raise ValueError if it holds none.

    >>> around_closed(3, None), around_closed(3, "left")
    ((2, 0), (3, -1))
    """
    sides = {"right": (length - 1, 0), "both": (length, 0), "left": (length, -1), "neither": (length - 1, -1)}
    closed = "right" if closed is None else closed
    check_choice(closed, sides, "closed", "rows")
    before, after = sides[closed]
    if before + after < 0:
        raise ValueError(f'window.rows: range={length} with closed="{closed}" leaves no rows. Use a larger range.')
    return before, after


def _check_room(least: int, most: int) -> None:
    """Raise ValueError if a window can never hold as many rows as it needs for a result."""
    if least > max(most, 1):
        raise ValueError(
            f"window.rows: min_rows={least} is more than the {most} row{'s' * (most != 1)} that a window can hold, so no window "
            "would have a result. Use a smaller min_rows, or a longer window."
        )


def bounds_of_rows(firsts: Ints, first_ends: Ints, counts: Ints, slide: int, length: int) -> tuple[Ints, Ints]:
    """Return windows of the last `length` rows, no earlier than their key: of each key `counts`, the first of which ends at `first_ends`.

    >>> begins, ends = bounds_of_rows(np.array([0, 9]), np.array([2, 11]), np.array([3, 1]), slide=2, length=3)
    >>> begins.tolist(), ends.tolist()
    ([0, 1, 3, 9], [2, 4, 6, 11])
    """
    ends = ranges(first_ends, counts, slide)
    begins = ends - length
    # How many windows are cut off by the key.
    early = np.clip((firsts + length - 1 - first_ends) // slide + 1, 0, counts)
    if 2 * early.sum() < len(ends):
        begins[ranges(np.cumsum(counts) - counts, early)] = np.repeat(firsts, early)
    else:
        np.maximum(begins, np.repeat(firsts, counts), out=begins)
    return begins, ends
