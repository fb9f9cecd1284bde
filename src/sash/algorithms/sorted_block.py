"""Sorted block: a block of the column is sorted in advance, then a window in it is a set of ranks.

Suomela. Median Filtering is Equivalent to Sorting. 2014 (arXiv 1406.1717), for sorting first and O(1) a row thereafter.
The set is a bitmap with bitmaps above it, after van Emde Boas. Preserving order in a forest in less than logarithmic
time. 1975, but 64-ary; Suomela's linked lists need blocks as long as the window, and a bitmap takes any bounds.

Order: first in, first out. Laws: ranked. It knows every value before the first insert, so it is not an online algorithm and
not in `ALGORITHMS`: `kernels/ranks/` cuts columns into blocks for it. insert and evict O(1), query O(1) amortised for
ranks that move by at most one with each row, as quantiles do; all times log_64 s where the window is sparse in its block
of s rows. Space: the block.

    Values 5 3 8 3 9 7, of which the first was evicted and the last is not inserted yet; words of 4 bits instead of 64:

        ranks    2 0 4 1 5 3        the rank of each row: ties in any order, NaN last
        order    1 3 0 5 2 4        the row of each rank
        leaves   1 1 0 0 │ 1 1      the set of ranks {0, 1, 4, 5}: values 3 3 8 9
                       root 1 1     the leaves that are not empty
        word     ↑  below = 0       the leaf that was read last, and the number of ranks in the leaves before it

Nodes are numbers as in a heap: the root is 0, the children of v are 64v + 1 to 64v + 64, and all leaves are equally deep.

Invariants:
  1. ranks and order are inverse to each other, and values[order[r]] never decreases with r
  2. bit r of the leaves is set if and only if begin ≤ order[r] < end
  3. bit b of an inner node v is set if and only if words[64v + 1 + b] is not 0
  4. below = the number of set bits in the leaves before word
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cmp_to_key
from itertools import pairwise
from typing import Any

from sash.aggregates.base import Aggregate, P
from sash.aggregates.comparison import is_above
from sash.algorithms.base import About, Array, RankedAlgorithm, SlideCost, SpaceCost
from sash.algorithms.bit_words import WIDTH, count_ones, highest_one, lowest_one, select_one

SHIFT = 6
PLACES = WIDTH - 1


class SortedBlock(RankedAlgorithm[P]):
    """A window in a block whose values are known and sorted. `query` returns the window, which is read by rank.

    >>> from sash import agg
    >>> median = agg.median()
    >>> window = SortedBlock(median, values=(5, 3, 8, 3, 9, 7))
    >>> for value in (5, 3, 8, 3, 9):
    ...     window.insert(median.lift(value))
    >>> window.evict()
    >>> window.select(2), median.lower(window.query())
    (8, 5.5)
    """

    about = About(
        name="sorted_block",
        title="Sorted block",
        order="FIFO, all values known",
        needs="ranked",
        amortised=SlideCost("O(1) after sorting", ""),
        worst=SlideCost("O(n) after sorting", ""),
        space=SpaceCost(1),
        paper="Median filtering (2014)",
    )
    values: Array[P]
    order: Array[int]
    ranks: Array[int]
    words: Array[int]
    leaves: int
    word: int
    below: int = 0

    def __init__(self, aggregate: Aggregate[P], ranges: tuple[int, ...] = (), values: Sequence[P] = ()) -> None:
        super().__init__(aggregate, ranges)
        self.values = list(values)
        self.order = sorted(range(len(values)), key=cmp_to_key(self._compare_rows))
        self.ranks = [0] * len(values)
        for rank, row in enumerate(self.order):
            self.ranks[row] = rank
        self.leaves, nodes = lay_out(len(values))
        self.words = [0] * nodes
        self.word = self.leaves

    def insert(self, partial: P) -> None:  # noqa: ARG002 — it is the next value of the block, whose rank is known
        """Add the rank of the next row to the set: O(1)."""
        rank = self.ranks[self.end]
        self.end += 1
        leaf = self.leaves + (rank >> SHIFT)
        if self.words[leaf] == 0:
            self._mark(leaf)
        self.words[leaf] |= 1 << (rank & PLACES)
        self.below += int(leaf < self.word)

    def evict(self) -> None:
        """Remove the rank of the oldest row from the set: O(1)."""
        rank = self.ranks[self.begin]
        self.begin += 1
        leaf = self.leaves + (rank >> SHIFT)
        self.words[leaf] ^= 1 << (rank & PLACES)
        if self.words[leaf] == 0:
            self._unmark(leaf)
        self.below -= int(leaf < self.word)

    def result(self) -> Any:
        """Return the result at the aggregate's rank, for a kernel: equal to `lower` of the window."""
        place = self.rank(self.end - self.begin)
        first = int(place)
        below = self._at(first)
        above = below
        if place > first:
            above = self._after(below)
        return self.between(self.values[self.order[below]], self.values[self.order[above]], place - first)

    def _value_at(self, rank: int) -> P:
        """Return the value of a rank: O(1) near the rank selected last."""
        return self.values[self.order[self._at(rank)]]

    def _at(self, before: int) -> int:
        """Return the rank in the block of the row that has `before` rows of the window before it."""
        while self.below > before:
            self.word = self._earlier(self.word)
            self.below -= count_ones(self.words[self.word])
        held = count_ones(self.words[self.word])
        while self.below + held <= before:
            self.below += held
            self.word = self._later(self.word)
            held = count_ones(self.words[self.word])
        return ((self.word - self.leaves) << SHIFT) + select_one(self.words[self.word], before - self.below)

    def _after(self, rank: int) -> int:
        """Return the next higher rank in the set."""
        leaf = self.leaves + (rank >> SHIFT)
        higher = self.words[leaf] & -(2 << (rank & PLACES))
        if higher == 0:
            leaf = self._later(leaf)
            higher = self.words[leaf]
        return ((leaf - self.leaves) << SHIFT) + lowest_one(higher)

    def _later(self, leaf: int) -> int:
        """Return the next leaf that isn't empty; there must be one."""
        node = leaf + 1
        if self.words[node] == 0:  # rare, unless the window is sparse in its block
            bit = (leaf - 1) & PLACES
            node = (leaf - 1) >> SHIFT
            while self.words[node] & -(2 << bit) == 0:
                bit = (node - 1) & PLACES
                node = (node - 1) >> SHIFT
            node = (node << SHIFT) + 1 + lowest_one(self.words[node] & -(2 << bit))
            while node < self.leaves:
                node = (node << SHIFT) + 1 + lowest_one(self.words[node])
        return node

    def _earlier(self, leaf: int) -> int:
        """Return the nearest leaf before this one that isn't empty; there must be one."""
        node = leaf - 1
        if self.words[node] == 0:
            bit = (leaf - 1) & PLACES
            node = (leaf - 1) >> SHIFT
            while self.words[node] & ((1 << bit) - 1) == 0:
                bit = (node - 1) & PLACES
                node = (node - 1) >> SHIFT
            node = (node << SHIFT) + 1 + highest_one(self.words[node] & ((1 << bit) - 1))
            while node < self.leaves:
                node = (node << SHIFT) + 1 + highest_one(self.words[node])
        return node

    def _mark(self, leaf: int) -> None:
        """Mark a leaf as not empty in the nodes above it, up to one that was not empty itself."""
        node = leaf
        while node > 0:
            bit = (node - 1) & PLACES
            node = (node - 1) >> SHIFT
            was_empty = self.words[node] == 0
            self.words[node] |= 1 << bit
            if not was_empty:
                break

    def _unmark(self, leaf: int) -> None:
        """Mark a leaf as empty in the nodes above it, up to one that is not empty itself."""
        node = leaf
        while node > 0 and self.words[node] == 0:
            bit = (node - 1) & PLACES
            node = (node - 1) >> SHIFT
            self.words[node] ^= 1 << bit

    def _compare_rows(self, one: int, other: int) -> int:
        return is_above(self.values[one], self.values[other]) - is_above(self.values[other], self.values[one])

    def _check(self) -> None:
        assert all(self.ranks[row] == rank for rank, row in enumerate(self.order))
        assert not any(is_above(self.values[one], self.values[other]) for one, other in pairwise(self.order))
        for rank, row in enumerate(self.order):
            is_set = self.words[self.leaves + rank // WIDTH] >> rank % WIDTH & 1
            assert is_set == (self.begin <= row < self.end)
        assert sum(map(count_ones, self.words[self.leaves :])) == len(self)
        for node in range(1, len(self.words)):
            is_marked = self.words[(node - 1) // WIDTH] >> (node - 1) % WIDTH & 1
            assert is_marked == (self.words[node] != 0)
        assert self.below == sum(map(count_ones, self.words[self.leaves : self.word]))


def lay_out(rows: int) -> tuple[int, int]:
    """Return the first leaf and the number of nodes of the bitmaps for `rows` ranks.

    >>> lay_out(64), lay_out(65), lay_out(4096), lay_out(4097)
    ((0, 1), (1, 3), (1, 65), (65, 130))
    """
    leaves, room = 0, WIDTH
    while room < rows:
        leaves, room = leaves * WIDTH + 1, room * WIDTH
    return leaves, leaves + max(1, -(-rows // WIDTH))
