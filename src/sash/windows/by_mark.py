"""Punctuated windows: rows up to a row that ends the window."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sash.windows.arguments import check_column, check_count, options_text
from sash.windows.arrays import count_before, ranges
from sash.windows.base import Bounds, Items, LoopCompiler, Memory
from sash.windows.capabilities import ColumnRule, Cuts, WindowMemory
from sash.windows.window import Window


@dataclass(frozen=True)
class Punctuated(Window):
    """Rows up to one whose column is true, that row included."""

    kind: ClassVar[str] = "punctuated"
    cuts: ClassVar[Cuts] = Cuts(per_window=1)
    memory: ClassVar[WindowMemory] = WindowMemory({"behind": "int64"})
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
