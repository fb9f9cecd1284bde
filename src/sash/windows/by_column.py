"""Windows that the values of a column begin and end.

delta        rows whose column is close to that of the newest row (SPL's delta windows)
punctuated   rows up to a row whose column is true
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from sash.windows.arguments import check_column, check_count, hints_names, options_text
from sash.windows.arrays import count_before, ranges
from sash.windows.base import Bounds, Flags, Ints, Items, LoopCompiler, Memory, new_bounds
from sash.windows.capabilities import ColumnRule, Cuts, Frame, WindowMemory
from sash.windows.numpy_forms import numpy_form_of
from sash.windows.window import Window

Number = int | float
Array = npt.NDArray[Any]

FRAME = Frame()
BEHIND = WindowMemory({"behind": "int64"})
BEHIND_AND_MARK = WindowMemory({"behind": "int64", "float_mark": "float64", "integer_mark": "int64", "seen": "bool"})


# -- delta -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Delta(Window):
    """For each row, the rows up to it; the oldest row leaves while its column is more than `threshold` from this row's.

    With `slide`, there is a result only when the column has moved by `slide` since the last result.
    """

    kind: ClassVar[str] = "delta"
    cuts: ClassVar[None] = None
    column: str
    threshold: Number
    slide: Number | None = None

    @property
    def frame(self) -> Frame | None:
        """The window of a row; None if only some rows have results."""
        return FRAME if self.slide is None else None

    @property
    def memory(self) -> WindowMemory:
        """How many rows of the context are in the window; the value at the last result."""
        return BEHIND if self.slide is None else BEHIND_AND_MARK

    @property
    def columns(self) -> dict[str, ColumnRule]:
        """The column whose changes count."""
        return {self.column: ColumnRule("number", self._sample)}

    def _sample(self, rows: int) -> Array:
        """Return values that rise by irregular steps, some of them within the threshold of each other."""
        steps: Array = 0.08 + 0.3 * (np.arange(rows) * 0.618 % 1)
        return np.cumsum(steps) * self.threshold

    def bounds(self, items: Items, memory: Memory, compiler: LoopCompiler) -> Bounds:
        """Return a window for each row, or each time that the column has moved by `slide`."""
        values, firsts = items.columns[self.column], items.firsts[:-1]
        fresh, last = firsts + items.span.done, firsts + items.span.final
        count = int((last - fresh).sum())
        begins, ends = new_bounds(count)
        keep = np.empty(items.keys, np.int64)
        new = {name: part.copy() for name, part in memory.items()}
        check_distances(self.column, values)
        limit = limit_for(values, self.threshold, reached=False)
        with np.errstate(invalid="ignore"):  # infinity minus infinity is NaN, which exceeds no threshold
            compiler(find_near)(values, fresh, last, new["behind"], limit, begins, ends, keep)
        if self.slide is not None:
            mark, seen = new["float_mark" if values.dtype.kind == "f" else "integer_mark"], new["seen"]
            is_result = np.zeros(count, np.bool_)
            check_distances(self.column, values, mark[seen])
            limit = limit_for(values, self.slide, reached=True)
            compiler(find_moves)(values, fresh, last, mark, seen, limit, is_result)
            begins, ends = begins[is_result], ends[is_result]
        return Bounds(begins, ends, None, None, keep, new)

    def __repr__(self) -> str:
        """Return the call that makes the window."""
        slide = "" if self.slide is None else f", slide={self.slide}"
        return f"delta({self.column!r}, {self.threshold}{slide}{options_text(min_rows=self.min_rows)})"


@hints_names
def delta(column: str, threshold: Number, *, slide: Number | None = None, min_rows: int = 1) -> Window:
    """Return windows of the newest rows whose `column` differs by at most `threshold` from the newest row.

    `column` holds numbers. Rows leave in order, the oldest first, as soon as the oldest row is further away than `threshold`;
    they never return. Without `slide` every row has a result. With `slide` there is a result each time that the column has
    moved by `slide` since the last result, at first since the first row; `slide` may be more than `threshold`. If fewer than `min_rows`
    rows of a window have a value, the result is null.

    Nulls and NaN: a null or NaN in `column` is an error; `min_rows` counts non-null values.
    Result: one per row, beside the input row; with `slide` one per window.
    Errors: TypeError if an argument or the column has a wrong type. ValueError if `threshold`, `slide` or `min_rows` is not
    positive. OverflowError if two integers in `column` are more than 2**63 apart.

    >>> import pyarrow as pa
    >>> import sash
    >>> from sash import agg, window
    >>> rows = pa.table({"km": [0, 6, 12, 30], "fuel": [9, 8, 7, 4]})
    >>> sash.Query({"most": agg.max("fuel")}, window.delta("km", 10)).run(rows)["most"].to_pylist()
    [9, 9, 8, 4]
    """
    check_column(column, "delta")
    _check_number(threshold, "threshold")
    least = check_count(min_rows, "min_rows", "delta")
    if slide is not None:
        _check_number(slide, "slide")
    return Delta(column, threshold, slide, min_rows=least)


def _check_number(value: Any, name: str) -> None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"window.delta: {name}={value!r} is not a number.")
    if not 0 < value < float("inf"):
        raise ValueError(f"window.delta: {name}={value!r} must be more than 0, and finite.")


def limit_for(values: Array, limit: Number, *, reached: bool) -> Number:
    """Return the largest distance within a limit; if the limit itself counts as too far (`reached`), the one below it."""
    if values.dtype.kind == "f":
        return float(np.nextafter(limit, 0)) if reached else float(limit)
    return min(math.ceil(limit) - 1 if reached else math.floor(limit), 2**63 - 1)


def check_distances(column: str, *arrays: Array) -> None:
    """Raise OverflowError if the distance of two integers needs more than 64 bits."""
    integers = [array for array in arrays if array.dtype.kind != "f" and len(array)]
    ends = [end for array in integers for end in (int(array.min()), int(array.max()))]
    if ends and max(ends) - min(ends) >= 2**63:
        raise OverflowError(
            f"window.delta: integers of column {column!r} are more than 2**63 apart. Cast the column to float64."
        )


def find_near(
    values: Array, fresh: Ints, last: Ints, behind: Ints, limit: Number, begins: Ints, ends: Ints, keep: Ints
) -> None:
    """Write the window of each row from `fresh` to `last`. `behind` context rows are in the window of the first new row."""
    count = 0
    for key in range(len(fresh)):
        begin = fresh[key] - behind[key]
        for row in range(fresh[key], last[key]):
            while abs(values[row] - values[begin]) > limit:
                begin += 1
            begins[count] = begin
            ends[count] = row + 1
            count += 1
        behind[key] = last[key] - begin
        keep[key] = begin


@numpy_form_of(find_near)
def near_in_lists(
    values: Array, fresh: Ints, last: Ints, behind: Ints, limit: Number, begins: Ints, ends: Ints, keep: Ints
) -> None:
    """Write the window of each row. Where a window begins depends on the window before it, which array operations cannot express.

    A loop over Python numbers takes a fraction of the time of a loop over the elements of an array.
    """
    # Compiled, the difference of two float32 is a float32, and so it is here; Python's own numbers are faster, but wider.
    numbers = list(values) if values.dtype == np.float32 else values.tolist()
    limit = np.float64(limit) if values.dtype == np.float32 else limit
    ends[:] = ranges(fresh + 1, last - fresh)
    keep[:] = fresh - behind
    first_rows: list[int] = []
    for key in range(len(keep)):
        begin = int(keep[key])
        for number in numbers[fresh[key] : last[key]]:
            while abs(number - numbers[begin]) > limit:
                begin += 1
            first_rows.append(begin)
        keep[key] = begin
    begins[:] = first_rows
    behind[:] = last - keep


def find_moves(
    values: Array, fresh: Ints, last: Ints, mark: Array, seen: Flags, limit: Number, is_result: Flags
) -> None:
    """Mark the rows whose column has moved by `slide` or more since the last marked row, or the first row."""
    count = 0
    for key in range(len(fresh)):
        for row in range(fresh[key], last[key]):
            if not seen[key]:
                seen[key] = True
                mark[key] = values[row]
            elif abs(values[row] - mark[key]) > limit:
                mark[key] = values[row]
                is_result[count] = True
            count += 1


@numpy_form_of(find_moves)
def moves_in_lists(
    values: Array, fresh: Ints, last: Ints, mark: Array, seen: Flags, limit: Number, is_result: Flags
) -> None:
    """Mark the rows whose column has moved, by the loop over lists: what a row is compared with depends on the rows before."""
    marks, seen_keys, results = mark.tolist(), seen.tolist(), is_result.tolist()
    find_moves(values.tolist(), fresh.tolist(), last.tolist(), marks, seen_keys, limit, results)
    mark[:], seen[:], is_result[:] = marks, seen_keys, results


# -- punctuated --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Punctuated(Window):
    """Rows up to one whose column is true, that row included."""

    kind: ClassVar[str] = "punctuated"
    cuts: ClassVar[Cuts] = Cuts(per_window=1)
    memory: ClassVar[WindowMemory] = BEHIND
    column: str

    @property
    def columns(self) -> dict[str, ColumnRule]:
        """The column that marks the ends; in pictures, at irregular distances."""
        return {self.column: ColumnRule("mark", lambda rows: np.isin(np.arange(rows), (4, 9, 11, 19)))}

    def bounds(self, items: Items, memory: Memory, compiler: LoopCompiler) -> Bounds:  # noqa: ARG002 — NumPy is as fast as a compiled loop
        """Return the windows that have ended."""
        span, firsts = items.span, items.firsts[:-1]
        fresh, final = firsts + span.done, firsts + span.final
        marks = items.columns[self.column]
        marked = np.flatnonzero(marks)
        first_marks = count_before(marks, marked, fresh)
        counts = count_before(marks, marked, final) - first_marks
        ends = marked[ranges(first_marks, counts)] + 1  # without those of rows that are context, or not final yet
        # A window begins where the window before it in its key ends, or else with the rows of the open window.
        begins = np.empty_like(ends)
        begins[1:] = ends[:-1]
        held = counts > 0
        keep = fresh - memory["behind"]
        after = np.cumsum(counts)[held]
        begins[after - counts[held]] = keep[held]
        keep[held] = ends[after - 1]
        return Bounds(begins, ends, None, None, keep, {"behind": final - keep})

    def __repr__(self) -> str:
        """Return the call that makes the window."""
        return f"punctuated({self.column!r}{options_text(min_rows=self.min_rows)})"


@hints_names
def punctuated(column: str, *, min_rows: int = 1) -> Window:
    """Return windows that end with each row whose `column` is true; the next row begins the next window.

    `column` holds booleans. Rows after the last true row belong to no window yet and have no result. If fewer
    than `min_rows` rows of a window have a value, the result is null.

    Nulls and NaN: a null in `column` counts as false; `min_rows` counts non-null values.
    Result: one per window.
    Errors: TypeError if `column` is not the name of a column, or if the column is not boolean. TypeError or ValueError if `min_rows` is
    not a positive integer.

    >>> import pyarrow as pa
    >>> import sash
    >>> from sash import agg, window
    >>> rows = pa.table({"paid": [False, True, None, True, False], "price": [3, 9, 2, 4, 5]})
    >>> sash.Query({"total": agg.sum("price")}, window.punctuated("paid")).run(rows).to_pylist()
    [{'total': 12}, {'total': 6}]
    """
    check_column(column, "punctuated")
    return Punctuated(column, min_rows=check_count(min_rows, "min_rows", "punctuated"))
