"""Punctuated windows: rows up to one that says that the window ends."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from sash.windows.base import Bounds, Ints, Memory, Rows, Run, Window
from sash.windows.checks import check_column


@dataclass(frozen=True)
class Punctuated(Window):
    """Rows up to one whose column is true, that row included."""

    kind: ClassVar[str] = "punctuated"
    memory: ClassVar[Mapping[str, str]] = {"behind": "int64"}
    slices_per_window: ClassVar[int] = 1
    drawn_column: ClassVar[str] = "mark"
    column: str

    @property
    def columns(self) -> tuple[str, ...]:
        """The column that marks the ends."""
        return (self.column,)

    def sample_column(self, rows: int) -> npt.NDArray[Any]:
        """Return marks at irregular distances."""
        return np.isin(np.arange(rows), (4, 9, 11, 19))

    def bounds(self, rows: Rows, memory: Memory, run: Run) -> Bounds:
        """Return the windows that have ended."""
        marks = rows.columns[self.column]
        room = [np.empty(int(np.count_nonzero(marks)), np.int64) for _ in range(2)]
        keep = np.empty(rows.keys, np.int64)
        given = (rows.firsts, rows.done, rows.final, memory["behind"])
        count = run(find_marked)(marks, *given, *room, keep)
        return Bounds(room[0][:count], room[1][:count], None, None, keep)

    def __repr__(self) -> str:
        """Show it as it is written."""
        return f"punctuated({self.column!r})"


def punctuated(column: str) -> Window:
    """Return windows that end with the rows whose `column` is true; the next row begins the next one.

    Rows after the last such row are in no window yet.

    >>> from sash import window
    >>> window.punctuated("is_checkout")
    punctuated('is_checkout')
    """
    check_column(column, "punctuated")
    return Punctuated(column)


def find_marked(
    marks: npt.NDArray[np.bool_],
    firsts: Ints,
    done: Ints,
    final: Ints,
    behind: Ints,
    begins: Ints,
    ends: Ints,
    keep: Ints,
) -> int:
    """Write the windows that end at marks, and return how many; `behind` rows before those that are new wait for one."""
    count = 0
    for key in range(len(firsts) - 1):
        fresh = firsts[key] + done[key]
        end = firsts[key] + final[key]
        begin = fresh - behind[key]
        for row in range(fresh, end):
            if marks[row]:
                begins[count] = begin
                ends[count] = row + 1
                count += 1
                begin = row + 1
        behind[key] = end - begin
        keep[key] = begin
    return count
