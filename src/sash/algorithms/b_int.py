"""B-Int: base intervals, the partials of all dyadic intervals of stream positions that lie within the shared window.

Arasu, Widom. Resource Sharing in Continuous Sliding-Window Aggregates. VLDB 2004.
Hirzel, Schneider, Tangwongsan. Tutorial: Sliding-Window Aggregation Algorithms. DEBS 2017, section 4.7.

Order: first in, first out. Laws: associative.
insert amortised 1 combine, worst log2 n; evict none; query of any k > 1 positions in a row at most 2 log2 k - 1.
Growing copies and combines nothing. Space: 2n.

    Six elements b…g at the positions begin = 1 to end - 1 = 6, with capacity n = 8:

    level 2                   ·              ·       places 2 and 3: 0-3 begins too early, 4-7 is not complete
    level 1          [ c ⊕ d ] [ e ⊕ f ]     ·       places 4 to 7
    level 0     [b]  [c]  [d]  [e]  [f]  [g]         places 8 to 15
    position     1    2    3    4    5    6

    Interval k of level l holds the positions from k 2^l to (k + 1) 2^l - 1; its place is n/2^l + (k mod n/2^l).
    query() = b ⊕ (c ⊕ d) ⊕ (e ⊕ f) ⊕ g: always the longest interval that begins here and does not reach too far.

Invariants:
  1. end - begin ≤ capacity, a power of two
  2. the place of every base interval within begin to end - 1 holds the combination of its positions
"""

from __future__ import annotations

from functools import reduce
from typing import Any

from sash.aggregates.base import Aggregate, P
from sash.algorithms.base import About, Array, SharedAlgorithm, alike


class BInt(SharedAlgorithm[P]):
    """One circular array per level, all of them in one flat array with the longest interval at place 1.

    >>> from sash import agg
    >>> window = BInt(agg.concat())
    >>> for letter in "abcdefg":
    ...     window.insert(letter)
    >>> window.evict()
    >>> window.query(), window.query_last(2), window.query_between(2, 5)
    ('bcdefg', 'fg', 'cde')
    """

    about = About(
        name="b_int",
        title="B-Int",
        order="FIFO",
        ranges="many",
        amortised="2 log2 n",
        worst="3 log2 n",
        amortised_many="1 + 2q log2 n",
        space="2n",
        paper="Arasu and Widom (VLDB 2004), Tutorial (DEBS 2017)",
    )
    tree: Array[P]
    capacity: int

    def __init__(self, aggregate: Aggregate[P], ranges: tuple[int, ...] = ()) -> None:
        super().__init__(aggregate, ranges)
        self._allocate(1 << (max(ranges, default=8) - 1).bit_length())

    def insert(self, partial: P) -> None:
        """Complete the base intervals that end with the new position: 1 combine, amortised."""
        if self.end - self.begin == self.capacity:
            self._resize(2 * self.capacity)
        place = self.capacity + (self.end & (self.capacity - 1))
        self.tree[place] = partial
        self.end += 1
        length = 2
        while place & 1 == 1 and place > 1 and self.end - length >= self.begin:  # it lies within the shared window
            place >>= 1
            self.tree[place] = self.combine(self.tree[2 * place], self.tree[2 * place + 1])
            length <<= 1

    def evict(self) -> None:
        """Step over the oldest position: no combine."""
        self.begin += 1

    def query_last(self, last: int) -> P:
        """Combine the base intervals that make up the newest `last` positions."""
        return self.query_between(self.end - last, self.end)

    def query_between(self, start: int, stop: int) -> P:
        """Combine the base intervals that make up the stream positions from `start` to `stop - 1`, oldest first."""
        level = self._longest(start, stop, 0)
        total = self._interval(start, level)
        position = start + (1 << level)
        while position < stop:
            level = self._longest(position, stop, level)
            newer = self._interval(position, level)
            total = self.combine(total, newer)
            position += 1 << level
        return total

    def _longest(self, position: int, stop: int, known: int) -> int:
        """Return the level of the longest base interval that begins at the position and ends before `stop`.

        A base interval of the `known` level begins there; since one after the other gets longer and then shorter
        again, all the calls of a query together take O(log n) steps.
        """
        level = known
        while (position >> level) & 1 == 0 and position + (2 << level) <= stop:
            level += 1
        while position + (1 << level) > stop:
            level -= 1
        return level

    def _interval(self, position: int, level: int) -> P:
        """Return the partial of the base interval of the level that the position is in."""
        width = self.capacity >> level
        return self.tree[width + ((position >> level) & (width - 1))]

    def _allocate(self, capacity: int) -> None:
        nothing: Any = None
        self.capacity = capacity
        self.tree = [nothing] * (2 * capacity)

    def _resize(self, capacity: int) -> None:
        """Copy the base intervals within the window to wider levels: no combine."""
        kept = {(level, k): self._interval(k << level, level) for level, k in self._complete()}
        self._allocate(capacity)
        for (level, k), partial in kept.items():
            width = capacity >> level
            self.tree[width + (k & (width - 1))] = partial

    def _complete(self) -> list[tuple[int, int]]:
        """Return level and number of every base interval within the window."""
        levels = range(self.capacity.bit_length())
        return [(level, k) for level in levels for k in range(-(-self.begin >> level), self.end >> level)]

    def _check(self) -> None:
        assert 0 <= self.end - self.begin <= self.capacity
        assert self.capacity & (self.capacity - 1) == 0
        for level, k in self._complete():
            positions = range(k << level, (k + 1) << level)
            elements = [self._interval(position, 0) for position in positions]
            assert alike(self._interval(k << level, level), reduce(self.combine, elements))
