"""The smallest values of windows, whose bounds never move back: each row is replaced by its rank in the whole column.

Compiled, two stacks hold sorted lists of k ranks, so that a row takes O(k) steps. With NumPy, a wavelet matrix selects each of the k ranks.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sash.kernels.ranks.blocks import EqualBlocks
from sash.kernels.ranks.numpy_kernels import SortedBlocks
from sash.windows.arrays import ranges
from sash.windows.base import Ints, LoopCompiler
from sash.windows.numpy_forms import numpy_form_of

Ranks = npt.NDArray[np.int32]
MOST_SUFFIXES = 1 << 27
"""Numbers that two stacks of sorted lists may hold; beyond that a wavelet matrix takes less memory."""


def list_smallest(ranks: Ranks, begins: Ints, ends: Ints, k: int, run: LoopCompiler) -> tuple[Ints, Ranks]:
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


def write_smallest(ranks: Ranks, begins: Ints, ends: Ints, suffixes: Ranks, smallest: Ranks) -> None:  # noqa: C901 — two stacks
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
def write_smallest_in_numpy(ranks: Ranks, begins: Ints, ends: Ints, suffixes: Ranks, smallest: Ranks) -> None:
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
