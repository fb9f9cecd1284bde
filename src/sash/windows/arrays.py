"""Array operations that NumPy lacks: ranges one after the other, searches within each key, checks that stop early."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sash.windows.base import Flags, Ints

BLOCK = 1 << 16
"""Rows that are compared at once: a check stops at the first block that fails, and temporary arrays stay in the processor cache."""
FIRST_BLOCK = 1 << 10
"""Rows that are searched first for values that have not occurred yet."""
SEARCH = 16
"""One binary search takes as long as counting through this many flags."""
LARGEST = 2**63 - 1
"""The largest int64."""


def ranges(begins: Ints, counts: Ints, step: int = 1) -> Ints:
    """Return ranges one after the other: of each, `count` numbers from `begin` on, `step` apart.

    All elements times the step may not fit 64 bits: 60 keys with two years of windows each day, in nanoseconds. Arrays of integers wrap,
    so the sum of two such products is exact wherever it fits.

    >>> ranges(np.array([10, 20]), np.array([3, 2])).tolist()
    [10, 11, 12, 20, 21]
    >>> ranges(np.array([0, 7]), np.array([2, 2]), 2**62).tolist() == [0, 2**62, 7, 7 + 2**62]
    True
    """
    if not len(counts):
        return np.empty(0, np.int64)
    begin, end = int(begins[0]), int(begins[0]) + step * int(counts.sum())
    follow = begins[1:] == begins[:-1] + step * counts[:-1]
    if end <= LARGEST and follow.all():  # they are one range: ten times as fast
        return np.arange(begin, end, step)
    numbers = np.repeat(begins - step * (np.cumsum(counts) - counts), counts)
    places = np.arange(len(numbers))
    places *= step
    numbers += places
    return numbers


def is_sorted(numbers: Ints) -> bool:
    """Return whether numbers are in ascending order.

    >>> is_sorted(np.array([1, 1, 3])), is_sorted(np.array([2, 1]))
    (True, False)
    """
    if len(numbers) <= BLOCK:
        return all_set(numbers[:-1] <= numbers[1:])
    return all(all_set(numbers[older] <= numbers[newer]) for older, newer in neighbours(len(numbers)))


def all_set(flags: Flags) -> bool:
    """Return whether all flags are set. To count them takes a fifth of the time of `all` if there are few.

    >>> all_set(np.array([True, False])), all_set(np.array([], np.bool_))
    (False, True)
    """
    return int(np.count_nonzero(flags)) == len(flags)


def neighbours(rows: int) -> Iterator[tuple[slice, slice]]:
    """Yield blocks of rows but the last one, and of the rows after each of them."""
    for begin in range(0, rows - 1, BLOCK):
        end = min(begin + BLOCK, rows - 1)
        yield slice(begin, end), slice(begin + 1, end + 1)


def growing_blocks(rows: int) -> Iterator[slice]:
    """Yield blocks that cover all rows, each twice as large as the one before: most values occur in the first rows.

    >>> [block.start for block in growing_blocks(9000)]
    [0, 1024, 3072, 7168]
    """
    begin, size = 0, min(FIRST_BLOCK, BLOCK)
    while begin < rows:
        yield slice(begin, min(begin + size, rows))
        begin, size = begin + size, min(2 * size, BLOCK)


def count_before(flags: Flags, set_places: Ints, places: Ints) -> Ints:
    """Return how many flags are set before each of some places; `set_places` are the places of all flags that are set.

    >>> count_before(np.array([True, False, True]), np.array([0, 2]), np.array([0, 1, 3])).tolist()
    [0, 1, 2]
    """
    if SEARCH * len(places) < len(flags):
        return np.searchsorted(set_places, places)
    return sums_before(flags)[places]


def sums_before(counts: Ints | Flags) -> Ints:
    """Return the sum of the counts before each place, and of all of them.

    >>> sums_before(np.array([3, 0, 2])).tolist()
    [0, 3, 3, 5]
    """
    sums = np.zeros(len(counts) + 1, np.int64)
    counts.cumsum(out=sums[1:])
    return sums


def starts_of_runs(times: Ints, firsts: Ints) -> Flags:
    """Return which rows begin another time, or another key: the first ones of their peers.

    >>> starts_of_runs(np.array([1, 1, 2, 2]), np.array([0, 3, 4])).tolist()
    [True, False, True, True]
    """
    is_first: Flags = np.ones(int(firsts[-1]), np.bool_)
    if len(times):
        np.not_equal(times[1:], times[:-1], out=is_first[1:])
    is_first[firsts[:-1][np.diff(firsts) > 0]] = True
    return is_first


def search_in_keys(times: Ints, firsts: Ints, wanted: Ints, counts: Ints) -> Ints:
    """Return for each wanted time the first item of its key that is not earlier; if there is none, the end of the key.

    Items are sorted by key and time; `firsts` are the first items of keys. `wanted` are the times to search for, by key, `counts`
    of them for each key.

    One binary search covers as many keys as fit 64 bits: times plus a distance for each key ascend over all of them.

    >>> search_in_keys(np.array([1, 5, 9, 2, 5]), np.array([0, 3, 5]), np.array([4, 9, 3, 8]), np.array([2, 2])).tolist()
    [1, 2, 4, 5]
    """
    if len(counts) == 1 or not len(times):
        return np.searchsorted(times, wanted)
    least, most = int(times.min()), int(times.max())
    width = most - least + 2
    together = max(1, LARGEST // width)
    first_items = np.empty(len(wanted), np.int64)
    ends = np.cumsum(counts)
    for key in range(0, len(counts), together):
        after = min(key + together, len(counts))
        items = slice(int(firsts[key]), int(firsts[after]))
        searches = slice(int(ends[key] - counts[key]), int(ends[after - 1]))
        if after == key + 1:
            first_items[searches] = np.searchsorted(times[items], wanted[searches])
        else:
            distances = np.arange(0, (after - key) * width, width)
            places = np.repeat(distances, np.diff(firsts[key : after + 1])) + (times[items] - least)
            clipped = np.clip(wanted[searches], least, min(most + 1, LARGEST)) - least
            first_items[searches] = np.searchsorted(places, np.repeat(distances, counts[key:after]) + clipped)
        first_items[searches] += items.start
    return first_items
