"""Delta windows: rows whose column is close to that of the newest row (SPL's delta windows)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from sash.windows.arguments import check_column, check_count, min_rows_text
from sash.windows.arrays import ranges
from sash.windows.base import Bounds, Ints, Items, LoopCompiler, Memory, Window, new_bounds
from sash.windows.numpy_forms import numpy_form_of

Number = int | float


@dataclass(frozen=True)
class DeltaFrame(Window):
    """For each row, the rows up to it; the oldest row leaves while its column is more than `threshold` from this row's."""

    kind: ClassVar[str] = "delta"
    column_kind: ClassVar[str] = "number"
    per_row: ClassVar[bool] = True
    sliced: ClassVar[bool] = False
    memory: ClassVar[Mapping[str, str]] = {"behind": "int64"}
    column: str
    threshold: Number
    least: int = 1

    @property
    def min_rows(self) -> int:
        """How many values a window must hold to have a result."""
        return self.least

    @property
    def columns(self) -> tuple[str, ...]:
        """The column whose changes count."""
        return (self.column,)

    def sample_column(self, rows: int) -> npt.NDArray[Any]:
        """Return values that rise by irregular steps, some of them within the threshold of each other."""
        steps: npt.NDArray[Any] = 0.08 + 0.3 * (np.arange(rows) * 0.618 % 1)
        return np.cumsum(steps) * self.threshold

    def bounds(self, items: Items, memory: Memory, run: LoopCompiler) -> Bounds:
        """Return a window for each row."""
        span = items.span
        begins, ends = new_bounds(int((span.final - span.done).sum()))
        keep = np.empty(items.keys, np.int64)
        values = items.columns[self.column]
        behind = memory["behind"].copy()
        check_distances(self.column, values)
        limit = limit_for(values, self.threshold, reached=False)
        with np.errstate(invalid="ignore"):  # infinity minus infinity is NaN, which exceeds no threshold
            run(find_near)(values, items.firsts, span.done, span.final, behind, limit, begins, ends, keep)
        return Bounds(begins, ends, None, None, keep, {"behind": behind})

    def __repr__(self) -> str:
        """Return the call that makes the window."""
        return f"delta({self.column!r}, {self.threshold}{min_rows_text(self.least)})"


@dataclass(frozen=True)
class SlidingDelta(DeltaFrame):
    """The windows of DeltaFrame, but a result only when the column has moved by `slide` since the last result."""

    per_row: ClassVar[bool] = False
    memory: ClassVar[Mapping[str, str]] = {
        "behind": "int64",
        "float_mark": "float64",
        "integer_mark": "int64",
        "seen": "bool",
    }
    slide: Number = 0

    def bounds(self, items: Items, memory: Memory, run: LoopCompiler) -> Bounds:
        """Return a window each time that the column has moved by `slide`."""
        every = super().bounds(items, memory, run)
        values = items.columns[self.column]
        is_result = np.zeros(len(every), np.bool_)
        new = every.memory | {name: memory[name].copy() for name in ("float_mark", "integer_mark", "seen")}
        mark = new["float_mark" if values.dtype.kind == "f" else "integer_mark"]
        check_distances(self.column, values, mark[new["seen"]])
        span, limit = items.span, limit_for(values, self.slide, reached=True)
        run(find_moves)(values, items.firsts, span.done, span.final, mark, new["seen"], limit, is_result)
        return Bounds(every.begins[is_result], every.ends[is_result], None, None, every.keep, new)

    def __repr__(self) -> str:
        """Return the call that makes the window."""
        return f"delta({self.column!r}, {self.threshold}, slide={self.slide}{min_rows_text(self.least)})"


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
    if slide is None:
        return DeltaFrame(column, threshold, least)
    _check_number(slide, "slide")
    return SlidingDelta(column, threshold, least, slide)


def _check_number(given: Any, name: str) -> None:
    if isinstance(given, bool) or not isinstance(given, int | float):
        message = f"window.delta: {name}={given!r} is not a number."
        raise TypeError(message)
    if not 0 < given < float("inf"):
        message = f"window.delta: {name}={given!r} must be more than 0, and finite."
        raise ValueError(message)


def limit_for(values: npt.NDArray[Any], limit: Number, *, reached: bool) -> Number:
    """Return the largest distance within a limit; if the limit itself counts as too far (`reached`), the one below it."""
    if values.dtype.kind == "f":
        return float(np.nextafter(limit, 0)) if reached else float(limit)
    return min(math.ceil(limit) - 1 if reached else math.floor(limit), 2**63 - 1)


def check_distances(column: str, *parts: npt.NDArray[Any]) -> None:
    """Raise OverflowError if the distance of two integers needs more than 64 bits."""
    ends = [end for part in parts if part.dtype.kind != "f" and len(part) for end in (int(part.min()), int(part.max()))]
    if ends and max(ends) - min(ends) >= 2**63:
        message = f"window.delta: integers of column {column!r} are more than 2**63 apart. Cast the column to float64."
        raise OverflowError(message)


def find_near(
    values: npt.NDArray[Any],
    firsts: Ints,
    done: Ints,
    final: Ints,
    behind: Ints,
    threshold: Number,
    begins: Ints,
    ends: Ints,
    keep: Ints,
) -> None:
    """Write the window of each row. `behind` context rows are in the window of the first new row."""
    count = 0
    for key in range(len(firsts) - 1):
        fresh = firsts[key] + done[key]
        end = firsts[key] + final[key]
        begin = fresh - behind[key]
        for row in range(fresh, end):
            while abs(values[row] - values[begin]) > threshold:
                begin += 1
            begins[count] = begin
            ends[count] = row + 1
            count += 1
        behind[key] = end - begin
        keep[key] = begin


@numpy_form_of(find_near)
def near_in_lists(
    values: npt.NDArray[Any],
    firsts: Ints,
    done: Ints,
    final: Ints,
    behind: Ints,
    threshold: Number,
    begins: Ints,
    ends: Ints,
    keep: Ints,
) -> None:
    """Write the window of each row. Where a window begins depends on the window before, so this is no array operation.

    A loop over Python numbers takes a fraction of the time of a loop over the elements of an array.
    """
    # Compiled, the difference of two float32 is a float32, and so it is here; Python's own numbers are faster, but wider.
    numbers = list(values) if values.dtype == np.float32 else values.tolist()
    limit = np.float64(threshold) if values.dtype == np.float32 else threshold
    fresh, last = firsts[:-1] + done, firsts[:-1] + final
    ends[:] = ranges(fresh + 1, final - done)
    keep[:] = fresh - behind
    found: list[int] = []
    for key in range(len(keep)):
        begin = int(keep[key])
        for number in numbers[fresh[key] : last[key]]:
            while abs(number - numbers[begin]) > limit:
                begin += 1
            found.append(begin)
        keep[key] = begin
    begins[:] = found
    behind[:] = last - keep


def find_moves(
    values: npt.NDArray[Any],
    firsts: Ints,
    done: Ints,
    final: Ints,
    mark: npt.NDArray[Any],
    seen: npt.NDArray[np.bool_],
    limit: Number,
    is_result: npt.NDArray[np.bool_],
) -> None:
    """Mark the rows whose column has moved by `slide` or more since the last marked row, or the first row."""
    count = 0
    for key in range(len(firsts) - 1):
        for row in range(firsts[key] + done[key], firsts[key] + final[key]):
            if not seen[key]:
                seen[key] = True
                mark[key] = values[row]
            elif abs(values[row] - mark[key]) > limit:
                mark[key] = values[row]
                is_result[count] = True
            count += 1


@numpy_form_of(find_moves)
def moves_in_lists(
    values: npt.NDArray[Any],
    firsts: Ints,
    done: Ints,
    final: Ints,
    mark: npt.NDArray[Any],
    seen: npt.NDArray[np.bool_],
    limit: Number,
    is_result: npt.NDArray[np.bool_],
) -> None:
    """Mark the rows whose column has moved. What a row is compared with depends on the rows before, as in `near_in_lists`."""
    numbers = values.tolist()
    count = 0
    for key, (first, end) in enumerate(zip((firsts[:-1] + done).tolist(), (firsts[:-1] + final).tolist(), strict=True)):
        if first < end:
            marked = mark[key].item() if seen[key] else numbers[first]
            for place, number in enumerate(numbers[first:end], count):
                if abs(number - marked) > limit:
                    marked = number
                    is_result[place] = True
            mark[key], seen[key] = marked, True
            count += end - first
