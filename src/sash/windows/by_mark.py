"""Punctuated windows: rows up to a row that ends the window."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from sash.windows.arguments import check_column
from sash.windows.base import Bounds, Ints, Items, Memory, Run, Window


@dataclass(frozen=True)
class Punctuated(Window):
    """Rows up to one whose column is true, that row included."""

    kind: ClassVar[str] = "punctuated"
    slices_per_window: ClassVar[int | None] = 1
    column_kind: ClassVar[str] = "mark"
    memory: ClassVar[Mapping[str, str]] = {"behind": "int64"}
    column: str

    @property
    def columns(self) -> tuple[str, ...]:
        """The column that marks the ends."""
        return (self.column,)

    def sample_column(self, rows: int) -> npt.NDArray[Any]:
        """Return marks at irregular distances."""
        return np.isin(np.arange(rows), (4, 9, 11, 19))

    def bounds(self, items: Items, memory: Memory, run: Run) -> Bounds:
        """Return the windows that have ended."""
        marks = items.columns[self.column]
        room = [np.empty(int(np.count_nonzero(marks)), np.int64) for _ in range(2)]
        keep = np.empty(items.keys, np.int64)
        behind = memory["behind"].copy()
        count = run(find_marked)(marks, items.firsts, items.span.done, items.span.final, behind, *room, keep)
        return Bounds(room[0][:count], room[1][:count], None, None, keep, {"behind": behind})

    def __repr__(self) -> str:
        """Return the call that makes the window."""
        return f"punctuated({self.column!r})"


def punctuated(column: str) -> Window:
    """Return windows that end with each row whose `column` is true; the next row begins the next window.

    `column` holds booleans. Rows after the last true row belong to no window yet and have no result.

    Nulls and NaN: a null in `column` counts as false.
    Result: one per window.
    Errors: TypeError if `column` is not the name of a column, or if the column is not boolean.

    >>> import pyarrow as pa
    >>> import sash
    >>> from sash import agg, window
    >>> rows = pa.table({"paid": [False, True, None, True, False], "price": [3, 9, 2, 4, 5]})
    >>> sash.Query({"total": agg.sum("price")}, window.punctuated("paid")).run(rows).to_pylist()
    [{'total': 12}, {'total': 6}]
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
    """Write the windows that end at marks, and return their number. `behind` context rows are in the open window."""
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
