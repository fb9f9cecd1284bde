"""The loops that move a window over columns. Interpreted as they stand, or fused with an algorithm and compiled.

`window` is the algorithm; `lifted(row)` is the partial of one row, `emit(row, partial)` writes the result of one row.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from sash.algorithms.base import Algorithm


def slide_rows(
    window: Algorithm[Any],
    rows: int,
    length: int,
    at_least: int,
    lifted: Callable[[int], Any],
    emit: Callable[[int, Any], None],
) -> None:
    """Give each row the aggregate of the newest `length` rows."""
    for row in range(rows):
        if row >= length:
            window.evict()
        window.insert(lifted(row))
        if min(row + 1, length) >= at_least:
            emit(row, window.query())


def slide_between(
    window: Algorithm[Any],
    rows: int,
    begins: Sequence[int],
    ends: Sequence[int],
    at_least: int,
    lifted: Callable[[int], Any],
    emit: Callable[[int, Any], None],
) -> None:
    """Give each row the aggregate of the rows begins[row] … ends[row] - 1; neither bound ever moves back."""
    inserted = 0
    evicted = 0
    for row in range(rows):
        while evicted < begins[row] and evicted < inserted:
            window.evict()
            evicted += 1
        while inserted < ends[row]:
            window.insert(lifted(inserted))
            inserted += 1
            if evicted < begins[row]:  # a row between two windows: no window sees it
                window.evict()
                evicted += 1
        if inserted > evicted and inserted - evicted >= at_least:
            emit(row, window.query())
