"""Delta windows: rows whose column is near that of the newest row (SPL's delta windows)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from sash.windows.base import Bounds, Ints, Memory, Rows, Run, Window, new_bounds
from sash.windows.checks import check_column, refuse_wide_slide

Number = int | float


@dataclass(frozen=True)
class Delta(Window):
    """The newest rows, from the first on whose column is within `threshold` of the newest row's."""

    kind: ClassVar[str] = "delta"
    per_row: ClassVar[bool] = True
    sliced: ClassVar[bool] = False
    memory: ClassVar[Mapping[str, str]] = {"behind": "int64"}
    drawn_column: ClassVar[str] = "height"
    column: str
    threshold: Number

    @property
    def columns(self) -> tuple[str, ...]:
        """The column whose changes count."""
        return (self.column,)

    def sample_column(self, rows: int) -> npt.NDArray[Any]:
        """Return values that rise by irregular steps, some of them within the threshold of each other."""
        steps: npt.NDArray[Any] = 0.08 + 0.3 * (np.arange(rows) * 0.618 % 1)
        return np.cumsum(steps) * self.threshold

    def bounds(self, rows: Rows, memory: Memory, run: Run) -> Bounds:
        """Return a window for each row."""
        begins, ends = new_bounds(int((rows.final - rows.done).sum()))
        keep = np.empty(rows.keys, np.int64)
        values = rows.columns[self.column]
        given = (rows.firsts, rows.done, rows.final, memory["behind"])
        refuse_wide_integers(self.column, values)
        with np.errstate(invalid="ignore"):  # infinities are not further apart than any threshold
            run(find_near)(values, *given, limit_for(values, self.threshold, reached=False), begins, ends, keep)
        return Bounds(begins, ends, None, None, keep)

    def __repr__(self) -> str:
        """Show it as it is written."""
        return f"delta({self.column!r}, {self.threshold})"


@dataclass(frozen=True)
class DeltaEvery(Delta):
    """The same, each time that the column has moved by `slide` since the last result."""

    per_row: ClassVar[bool] = False
    memory: ClassVar[Mapping[str, str]] = {"behind": "int64", "turned": "float64", "turned_at": "int64", "seen": "bool"}
    slide: Number = 0

    def bounds(self, rows: Rows, memory: Memory, run: Run) -> Bounds:
        """Return a window for each time that the column has moved by `slide`."""
        every = super().bounds(rows, memory, run)
        values = rows.columns[self.column]
        is_result = np.zeros(len(every), np.bool_)
        turned = memory["turned" if values.dtype.kind == "f" else "turned_at"]
        given = (rows.firsts, rows.done, rows.final)
        refuse_wide_integers(self.column, values, turned[memory["seen"]])
        run(find_turns)(values, *given, turned, memory["seen"], limit_for(values, self.slide, reached=True), is_result)
        return Bounds(every.begins[is_result], every.ends[is_result], None, None, every.keep)

    def __repr__(self) -> str:
        """Show it as it is written."""
        return f"delta({self.column!r}, {self.threshold}, slide={self.slide})"


def delta(column: str, threshold: Number, *, slide: Number | None = None) -> Window:
    """Return windows of the newest rows whose `column` is within `threshold` of the newest row's.

    Rows leave in their order, oldest first: as soon as the oldest is further away than `threshold`, and for good. With
    `slide` there is a result each time that the column has moved by so much since the last one (at first: since the
    first row).

    >>> from sash import window
    >>> window.delta("odometer", 10)
    delta('odometer', 10)
    """
    check_column(column, "delta")
    _check_number(threshold, "threshold")
    if slide is None:
        return Delta(column, threshold)
    _check_number(slide, "slide")
    refuse_wide_slide(slide, threshold, slide, threshold)
    return DeltaEvery(column, threshold, slide)


def _check_number(given: Any, name: str) -> None:
    if isinstance(given, bool) or not isinstance(given, int | float):
        message = f"window.delta: {name}={given!r} is not a number."
        raise TypeError(message)
    if not 0 < given < float("inf"):
        message = f"window.delta: {name}={given!r} must be more than 0, and finite."
        raise ValueError(message)


def limit_for(values: npt.NDArray[Any], limit: Number, *, reached: bool) -> Number:
    """Return the distance that values may not be further apart than; if it may not even be `reached`, the one below."""
    if values.dtype.kind == "f":
        return float(np.nextafter(limit, 0)) if reached else float(limit)
    return min(math.ceil(limit) - 1 if reached else math.floor(limit), 2**63 - 1)


def refuse_wide_integers(column: str, *parts: npt.NDArray[Any]) -> None:
    """Say so if integers lie so far apart that their distance is none."""
    ends = [end for part in parts if part.dtype.kind != "f" and len(part) for end in (int(part.min()), int(part.max()))]
    if ends and max(ends) - min(ends) >= 2**63:
        message = f"window.delta: integers of {column} lie more than 64 bits apart: cast the column to float64."
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
    """Write the window of each row; `behind` rows before those that are new are in the window of the first."""
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


def find_turns(
    values: npt.NDArray[Any],
    firsts: Ints,
    done: Ints,
    final: Ints,
    turned: npt.NDArray[Any],
    seen: npt.NDArray[np.bool_],
    limit: Number,
    is_result: npt.NDArray[np.bool_],
) -> None:
    """Mark the rows whose column has moved by `slide` or more since the last one that was marked, or the first."""
    count = 0
    for key in range(len(firsts) - 1):
        for row in range(firsts[key] + done[key], firsts[key] + final[key]):
            if not seen[key]:
                seen[key] = True
                turned[key] = values[row]
            elif abs(values[row] - turned[key]) > limit:
                turned[key] = values[row]
                is_result[count] = True
            count += 1
