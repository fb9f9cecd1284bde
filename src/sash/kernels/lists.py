"""Which rows make up the lists of different values of windows. Bounds of windows never move back.

A row enters some window and leaves a later one, so it is in a run of windows. So is a value while its first row stays the same:

    windows                 0        1        2                    row          0  1  2  3  4
    rows                    0 1 2    1 2 3    2 3 4                enters       0  0  0  1  2
    values                  5 3 5    3 5 3    5 3 8                leaves       1  2  3  3  3
    different values        5 3      3 5      5 3 8                is first in  0  01 12  2  2

To sort values takes O(n log n) steps, all lists together O(rows + entries of all lists).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from sash.windows.arrays import ranges
from sash.windows.base import Flags, Ints, LoopCompiler
from sash.windows.numpy_forms import numpy_form_of

Numbers = npt.NDArray[Any]
Entries = npt.NDArray[np.int32]
AT_ONCE = 1 << 20
"""Entries that NumPy writes at once."""
SHORT = 1 << 16
"""Windows whose numbers, counted from the first one, have 16 bits: NumPy sorts these in linear time."""


class WindowRuns(NamedTuple):
    """The run of windows that each row is in."""

    enters: Ints
    """The first window that ends after the row."""
    leaves: Ints
    """The first window that begins after the row."""


def windows_of_rows(begins: Ints, ends: Ints, rows: int) -> WindowRuns:
    """Return the run of windows that each of the rows is in.

    >>> enters, leaves = windows_of_rows(np.array([0, 1, 2]), np.array([3, 4, 5]), 5)
    >>> enters.tolist(), leaves.tolist()
    ([0, 0, 0, 1, 2], [1, 2, 3, 3, 3])
    """
    counts = (np.bincount(bounds, minlength=rows + 1)[:rows] for bounds in (ends, begins))
    return WindowRuns(*(np.cumsum(count, dtype=np.int64) for count in counts))


class EqualValues(NamedTuple):
    """Rows in the order of their values; those of equal values are neighbours, in the order of rows."""

    order: Ints
    same: Flags
    """By place in the order, but for the first: whether the value equals the one before it. NaN equals NaN, and -0.0 equals 0.0."""

    @property
    def earlier(self) -> Ints:
        """For each row, the newest earlier row with the same value, -1 if there is none."""
        earlier = np.full(len(self.order), -1)
        earlier[self.order[1:][self.same]] = self.order[:-1][self.same]
        return earlier


def sort_equals(values: Numbers) -> EqualValues:
    """Return the rows in the order of their values.

    >>> sort_equals(np.array([5, 3, 8, 3, 5, 5])).earlier.tolist()
    [-1, -1, -1, 1, 0, 4]
    """
    order = np.argsort(values, kind="stable")
    ordered = values[order]
    same = ordered[1:] == ordered[:-1]
    if values.dtype.kind == "f":
        same |= np.isnan(ordered[:-1])  # NaN come last
    return EqualValues(order, same)


class Entry(NamedTuple):
    """Runs of windows, and the row that each adds to their lists."""

    rows: Ints
    starts: Ints
    stops: Ints


def first_rows(equals: EqualValues, runs: WindowRuns) -> Entry:
    """Return in which windows each row is the first of its value.

    >>> runs = windows_of_rows(np.array([0, 1, 2]), np.array([3, 4, 5]), 5)
    >>> [column.tolist() for column in first_rows(sort_equals(np.array([5, 3, 5, 3, 8])), runs)]
    [[0, 1, 2, 3, 4], [0, 0, 1, 2, 2], [1, 2, 3, 3, 3]]
    """
    earlier = equals.earlier
    starts = np.where(earlier >= 0, np.maximum(runs.enters, runs.leaves[earlier]), runs.enters)
    rows = np.flatnonzero(starts < runs.leaves)
    return Entry(rows, starts[rows], runs.leaves[rows])


def runs_of_equals(equals: EqualValues, runs: WindowRuns, windows: int, run: LoopCompiler) -> tuple[Entry, Ints, Ints]:
    """Return in which windows the rows of a value are the same ones, and these rows: two bounds in the order of values.

    >>> runs = windows_of_rows(np.array([0, 1, 2]), np.array([3, 4, 5]), 5)
    >>> from sash.windows.base import as_it_stands
    >>> entry, begins, ends = runs_of_equals(sort_equals(np.array([5, 3, 5, 3, 8])), runs, 3, as_it_stands)
    >>> begins.tolist(), ends.tolist(), entry.starts.tolist(), entry.stops.tolist()
    ([0, 0, 1, 2, 3, 4], [1, 2, 2, 4, 4, 5], [0, 1, 2, 0, 1, 2], [1, 2, 3, 1, 3, 3])
    """
    order, same = equals
    # The windows of each value after those of the value before: so one search serves all values.
    offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(~same)])[: len(order)] * (windows + 1)
    enters, leaves = runs.enters[order] + offsets, runs.leaves[order] + offsets
    columns = [np.empty(2 * len(order), np.int64) for _ in range(4)]
    count = run(merge_runs)(enters, leaves, *columns)
    begins, ends, starts, stops = (column[:count] for column in columns)
    return Entry(order[begins], starts - offsets[begins], stops - offsets[begins]), begins, ends


def merge_runs(enters: Ints, leaves: Ints, begins: Ints, ends: Ints, starts: Ints, stops: Ints) -> int:
    """Write the rows that windows hold from one change to the next, and these windows, unless they hold none. Return how many there are."""
    rows = len(enters)
    entered = 0
    left = 0
    count = 0
    while left < rows:
        change = leaves[left] if entered == rows else min(enters[entered], leaves[left])
        while entered < rows and enters[entered] == change:
            entered += 1
        while left < rows and leaves[left] == change:
            left += 1
        if left < entered:
            begins[count] = left
            ends[count] = entered
            starts[count] = change
            stops[count] = leaves[left] if entered == rows else min(enters[entered], leaves[left])
            count += 1
    return count


@numpy_form_of(merge_runs)
def merge_runs_in_numpy(enters: Ints, leaves: Ints, begins: Ints, ends: Ints, starts: Ints, stops: Ints) -> int:
    """Write the rows that windows hold from one change to the next, and these windows, unless they hold none. Return how many there are."""
    if not len(enters):
        return 0
    changes = np.sort(np.concatenate([enters, leaves]), kind="stable")  # two ascending runs, which it merges
    changes = changes[np.concatenate([np.ones(1, np.bool_), changes[1:] != changes[:-1]])]
    left, entered = np.searchsorted(leaves, changes, "right"), np.searchsorted(enters, changes, "right")
    held = np.flatnonzero(left < entered)  # a row that is held leaves later: there is another change
    for column, found in zip(
        (begins, ends, starts, stops), (left[held], entered[held], changes[held], changes[held + 1]), strict=True
    ):
        column[: len(held)] = found
    return len(held)


def list_entries(entry: Entry, windows: int, run: LoopCompiler) -> tuple[Ints, Entries]:
    """Return how many entries each window has, and the numbers of all entries, window by window.

    >>> from sash.windows.base import as_it_stands
    >>> columns = (np.array(column) for column in ([0, 1, 2], [0, 0, 1], [1, 2, 2]))
    >>> [column.tolist() for column in list_entries(Entry(*columns), 2, as_it_stands)]
    [[2, 2], [0, 1, 1, 2]]
    """
    changes = np.bincount(entry.starts, minlength=windows + 1) - np.bincount(entry.stops, minlength=windows + 1)
    counts = np.cumsum(changes)[:windows]
    entries = np.empty(int(counts.sum()), np.int32)
    run(write_entries)(entry.starts, entry.stops, np.cumsum(counts) - counts, entries)
    return counts, entries


def write_entries(starts: Ints, stops: Ints, places: Ints, entries: Entries) -> None:
    """Write the number of each entry into the lists of its windows; `places` are the next places in them."""
    for number in range(len(starts)):
        for window in range(starts[number], stops[number]):
            entries[places[window]] = number
            places[window] += 1


@numpy_form_of(write_entries)
def write_entries_in_numpy(starts: Ints, stops: Ints, places: Ints, entries: Entries) -> None:
    """Write the number of each entry into the lists of its windows, some entries at a time."""
    lengths = stops - starts
    ends = np.cumsum(lengths)
    first = 0
    while first < len(starts):
        done = int(ends[first]) - int(lengths[first])
        last = max(first + 1, int(np.searchsorted(ends, done + AT_ONCE)))
        numbers = np.repeat(np.arange(first, last, dtype=np.int32), lengths[first:last])
        windows = ranges(starts[first:last], lengths[first:last])
        least = int(windows.min(initial=0))
        windows -= least
        is_short = int(windows.max(initial=0)) < SHORT
        order = np.argsort(windows.astype(np.uint16) if is_short else windows, kind="stable")
        counts = np.bincount(windows)
        # The entries of a window are neighbours in this order, and go to its next places.
        moves = places[least : least + len(counts)] - (np.cumsum(counts) - counts)
        entries[np.repeat(moves, counts) + np.arange(len(order))] = numbers[order]
        places[least : least + len(counts)] += counts
        first = last
