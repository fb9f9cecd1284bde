"""EXCLUDE, as in SQL: the frame of a row without the row, without its peers, or without both."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from sash.windows.arguments import check_choice
from sash.windows.arrays import ranges, starts_of_runs
from sash.windows.base import Bounds, Flags, Ints, Items

EXCLUDE = ("row", "ties", "group")
"""What a frame leaves out: the row itself, its peers but not the row, or both."""


def check_exclude(value: Any, window: str) -> str:
    """Return what to exclude; "" for nothing. Raise ValueError if it does not exist."""
    if value is None:
        return ""
    check_choice(value, EXCLUDE, "exclude", window)
    return str(value)


def without_peers(exclude: str, items: Items, *, by_order: bool = False) -> str:
    """Return what to exclude; if no row has peers, "row" in place of "group", and nothing in place of "ties".

    >>> from sash.windows.base import whole_items
    >>> without_peers("group", whole_items([1, 2, 3])), without_peers("ties", whole_items([1, 2, 2]))
    ('row', 'ties')
    """
    if exclude not in ("ties", "group") or not _starts_peers(items, by_order=by_order).all():
        return exclude
    return "row" if exclude == "group" else ""


def without(bounds: Bounds, items: Items, exclude: str, *, by_order: bool = False) -> Bounds:
    """Return frames without the rows that they exclude: each has up to three runs of rows.

    Peers have equal times; `by_order`, also equal values in the columns that break ties.

    >>> from sash.windows.base import whole_items
    >>> frames = Bounds(np.array([0, 0, 0]), np.array([3, 3, 3]), None, None, np.array([0]))
    >>> [(begins.tolist(), ends.tolist()) for begins, ends in without(frames, whole_items([1, 2, 2]), "row").runs]
    [([0, 0, 0], [0, 1, 2]), ([1, 2, 3], [3, 3, 3])]
    """
    if not exclude:
        return bounds
    rows = ranges(items.firsts[:-1] + items.span.done, items.span.final - items.span.done)
    firsts, ends = (rows, rows + 1) if exclude == "row" else _peers(items, rows, by_order=by_order)

    def within(places: Ints) -> Ints:
        return np.clip(places, bounds.begins, bounds.ends)

    runs = [(bounds.begins, within(firsts)), (within(ends), bounds.ends)]
    if exclude == "ties":
        runs.insert(1, (within(rows), within(rows + 1)))
    runs = [run for run in runs if (run[0] < run[1]).any()] or runs[:1]
    if len(runs) == 1:
        [(begins, stops)] = runs
        return Bounds(begins, stops, None, None, bounds.keep)
    return replace(bounds, runs=tuple(runs))


def _peers(items: Items, rows: Ints, *, by_order: bool) -> tuple[Ints, Ints]:
    """Return the first of each row's peers, and the row after the last one."""
    is_first = _starts_peers(items, by_order=by_order)
    starts = np.append(np.flatnonzero(is_first), len(is_first))
    number = (np.cumsum(is_first) - 1)[rows]
    return starts[number], starts[number + 1]


def _starts_peers(items: Items, *, by_order: bool) -> Flags:
    """Return which rows are not peers of the row before them."""
    is_first = starts_of_runs(items.times, items.firsts)
    return is_first | items.differs if by_order and items.differs is not None else is_first
