"""Which rows make up the lists of windows: the different values, or the smallest ones. Bounds of windows never move back.

A row enters some window and leaves a later one, so it is in a run of windows. So is a value while its first row stays the same:

    windows                 0        1        2                    row          0  1  2  3  4
    rows                    0 1 2    1 2 3    2 3 4                enters       0  0  0  1  2
    values                  5 3 5    3 5 3    5 3 8                leaves       1  2  3  3  3
    different values        5 3      3 5      5 3 8                is first in  0  01 12  2  2

Both loops write one list after the other. They take O(rows + entries of all lists) steps; the smallest values take k times as many.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from sash.kernels.ranks.blocks import EqualBlocks
from sash.kernels.ranks.numpy_kernels import SortedBlocks
from sash.windows.arrays import ranges
from sash.windows.base import Flags, Ints, LoopCompiler
from sash.windows.numpy_forms import numpy_form_of

Numbers = npt.NDArray[Any]
Entries = npt.NDArray[np.int32]
AT_ONCE = 1 << 20
"""Entries that NumPy writes at once."""
SHORT = 1 << 16
"""Windows whose numbers, counted from the first one, have 16 bits: NumPy sorts these in linear time."""
MOST_SUFFIXES = 1 << 27
"""Numbers that two stacks of sorted lists may hold; beyond that a wavelet matrix takes less memory."""


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


def runs_of_equals(equals: EqualValues, runs: WindowRuns, windows: int) -> tuple[Entry, Ints, Ints]:
    """Return in which windows the rows of a value are the same ones, and these rows: two bounds in the order of values.

    >>> runs = windows_of_rows(np.array([0, 1, 2]), np.array([3, 4, 5]), 5)
    >>> entry, begins, ends = runs_of_equals(sort_equals(np.array([5, 3, 5, 3, 8])), runs, 3)
    >>> begins.tolist(), ends.tolist(), entry.starts.tolist(), entry.stops.tolist()
    ([0, 0, 1, 2, 3, 4], [1, 2, 2, 4, 4, 5], [0, 1, 2, 0, 1, 2], [1, 2, 3, 1, 3, 3])
    """
    order, same = equals
    if not len(order):
        nothing = np.empty(0, np.int64)
        return Entry(nothing, nothing, nothing), nothing, nothing
    # The windows of each value after those of the value before: so one search serves all values.
    offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(~same)]) * (windows + 1)
    enters, leaves = runs.enters[order] + offsets, runs.leaves[order] + offsets
    changes = np.sort(np.concatenate([enters, leaves]), kind="stable")  # two ascending runs, which it merges
    changes = changes[np.concatenate([np.ones(1, np.bool_), changes[1:] != changes[:-1]])]
    begins, ends = np.searchsorted(leaves, changes, "right"), np.searchsorted(enters, changes, "right")
    held = np.flatnonzero(begins < ends)  # a value that is held leaves later: there is another change
    begins, ends = begins[held], ends[held]
    starts, stops = changes[held] - offsets[begins], changes[held + 1] - offsets[begins]
    return Entry(order[begins], starts, stops), begins, ends


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


# -- the smallest values -----------------------------------------------------------------------------------------------


def list_smallest(ranks: Entries, begins: Ints, ends: Ints, k: int, run: LoopCompiler) -> tuple[Ints, Entries]:
    """Return how many ranks each window lists, k or fewer, and its smallest ranks in ascending order. No two rows have the same rank.

    >>> from sash.windows.base import as_it_stands
    >>> ranks = np.array([3, 0, 4, 1, 2], np.int32)
    >>> [column.tolist() for column in list_smallest(ranks, np.array([0, 1]), np.array([3, 5]), 2, as_it_stands)]
    [[2, 2], [0, 3, 0, 1]]
    """
    counts = np.minimum(ends - begins, k)
    smallest = np.empty(int(counts.sum()), np.int32)
    k = min(k, int(counts.max(initial=1)))
    longest = int((ends - begins).max(initial=0))
    write = run(write_smallest) if longest * k <= MOST_SUFFIXES else write_smallest_in_numpy
    suffixes = np.empty((longest if longest * k <= MOST_SUFFIXES else 0, k), np.int32)
    write(ranks, begins, ends, suffixes, smallest)
    return counts, smallest


def write_smallest(ranks: Entries, begins: Ints, ends: Ints, suffixes: Entries, smallest: Entries) -> None:  # noqa: C901 — two stacks
    """Write the smallest ranks of each window, from two sorted lists: of the rows before `middle`, and of those from there on.

    These are two stacks. Row `row` of `suffixes` has the smallest ranks of the rows from base + row up to the middle.
    """
    k = suffixes.shape[1]
    front = np.empty(k, np.int32)
    held = 0
    base = 0
    middle = 0
    end = 0
    place = 0
    for window in range(len(begins)):
        begin = begins[window]
        if begin > middle or middle == 0:
            base = begin
            middle = ends[window]
            end = middle
            held = 0
            for row in range(middle - 1, begin - 1, -1):
                rank = ranks[row]
                older = min(k, middle - 1 - row)  # how many the list of the next row has
                at = 0
                while at < older and suffixes[row + 1 - base, at] < rank:
                    suffixes[row - base, at] = suffixes[row + 1 - base, at]
                    at += 1
                if at < k:
                    suffixes[row - base, at] = rank
                    for later in range(at, min(older, k - 1)):
                        suffixes[row - base, later + 1] = suffixes[row + 1 - base, later]
        while end < ends[window]:
            rank = ranks[end]
            if held < k or rank < front[held - 1]:
                held = min(held + 1, k)
                at = held - 1
                while at > 0 and front[at - 1] > rank:
                    front[at] = front[at - 1]
                    at -= 1
                front[at] = rank
            end += 1
        in_suffix = min(k, max(0, middle - begin))
        older = 0
        newer = 0
        for _ in range(min(k, ends[window] - begin)):
            if newer == held or (older < in_suffix and suffixes[begin - base, older] < front[newer]):
                smallest[place] = suffixes[begin - base, older]
                older += 1
            else:
                smallest[place] = front[newer]
                newer += 1
            place += 1


@numpy_form_of(write_smallest)
def write_smallest_in_numpy(ranks: Entries, begins: Ints, ends: Ints, suffixes: Entries, smallest: Entries) -> None:
    """Write the smallest ranks of each window, from a wavelet matrix of sorted blocks."""
    held = np.flatnonzero(begins < ends)
    begins, ends = begins[held], ends[held]
    counts = np.minimum(ends - begins, suffixes.shape[1])
    last = np.cumsum(counts)
    blocks = EqualBlocks(begins, ends, len(ranks))
    for batch in blocks.batches():
        sorted_blocks = SortedBlocks(ranks, batch.starts, blocks.bits, "quicksort")
        asked = counts[batch.windows]
        first, after = (np.repeat(bound[batch.windows] + batch.offsets, asked) for bound in (begins, ends))
        wanted = ranges(np.zeros(len(asked), np.int64), asked)
        places = slice(int(last[batch.windows.start]) - int(asked[0]), int(last[batch.windows.stop - 1]))
        smallest[places] = sorted_blocks.select(first.astype(np.int32), after.astype(np.int32), wanted.astype(np.int32))
