"""B-Int: base intervals, the partials of all dyadic intervals of stream positions that lie within the shared window.

Arasu, Widom. Resource Sharing in Continuous Sliding-Window Aggregates. VLDB 2004.
Hirzel, Schneider, Tangwongsan. Tutorial: Sliding-Window Aggregation Algorithms. DEBS 2017, section 4.7.

Order: first in, first out. Laws: associative.
insert amortised 1 combine, worst log2 n; evict none; query of any k > 1 positions in a row at most 2 log2 k - 1.
Growing copies and combines nothing. Space: 2n.

    Six elements b…g at the positions begin = 1 to end - 1 = 6, with capacity n = 8:

    length 4                  ·              ·       0-3 begins too early, 4-7 is not complete
    length 2         [ c ⊕ d ] [ e ⊕ f ]     ·       places 5 and 9
    length 1    [b]  [c]  [d]  [e]  [f]  [g]         places 2, 4, 6, 8, 10 and 12
    position     1    2    3    4    5    6

    A base interval of length 2^l holds the positions from k 2^l to (k + 1) 2^l - 1. Its place is in the middle of theirs,
    at 2(first mod n) + 2^l - 1: no division by the length finds it.
    query() = b ⊕ (c ⊕ d) ⊕ (e ⊕ f) ⊕ g: always the longest interval that begins here and does not reach too far. Up to
    the position that is a multiple of the highest power of two (4), those are as long as the lowest bit of where they
    begin; after it, read backwards, as the lowest bit of where they end.

Invariants:
  1. end - begin ≤ capacity, a power of two
  2. the place of every base interval within begin to end - 1 holds the combination of its positions
  3. places is the stack of one query, scratch between two
"""

from __future__ import annotations

from functools import reduce

from sash.aggregates.base import P
from sash.algorithms.base import About, Array, SharedAlgorithm, SlideCost, SpaceCost, TreeAlgorithm, alike


class BInt(TreeAlgorithm[P], SharedAlgorithm[P]):
    """One circular array per length, all of them interleaved in one flat array, as a tree is read from left to right.

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
        ranges="many",
        amortised=SlideCost("2 log2 n"),
        worst=SlideCost("3 log2 n"),
        amortised_many=SlideCost("1 + 2q log2 n"),
        space=SpaceCost(2),
        paper="Arasu and Widom (VLDB 2004), Tutorial (DEBS 2017)",
    )
    places: Array[int]

    def insert(self, partial: P) -> None:
        """Complete the base intervals that end with the new position: 1 combine, amortised."""
        if self.end - self.begin == self.capacity:
            self._resize(2 * self.capacity)
        position = self.end & (self.capacity - 1)
        place = 2 * position
        self.tree[place] = partial
        self.end += 1
        length = 1
        while position & length > 0 and self.end - 2 * length >= self.begin:  # it lies within the shared window
            self.tree[place - length] = self.combine(self.tree[place - 2 * length], self.tree[place])
            place -= length
            length <<= 1

    def evict(self) -> None:
        """Step over the oldest position: no combine."""
        self.begin += 1

    def query_last(self, last: int) -> P:
        """Combine the base intervals that make up the newest `last` positions."""
        return self.query_between(self.end - last, self.end)

    def query_between(self, start: int, stop: int) -> P:
        """Combine the base intervals that make up the stream positions from `start` to `stop - 1`, oldest first."""
        split = stop
        count = 0
        length = split & -split
        while split > start and split - length >= start:
            split -= length
            place = self._place(split, length)
            self.places[count] = place
            count += 1
            length = split & -split
        if split == start:
            count -= 1
            total = self.tree[self.places[count]]
        else:
            length = self._longest(start)
            place = self._place(start, length)
            total = self.tree[place]
            position = start + length
            while position < split:
                length = self._longest(position)
                place = self._place(position, length)
                total = self.combine(total, self.tree[place])
                position += length
        while count > 0:
            count -= 1
            total = self.combine(total, self.tree[self.places[count]])
        return total

    def _longest(self, position: int) -> int:
        """Return the length of the longest base interval that begins at the position."""
        bits = position | self.capacity
        return bits & -bits

    def _place(self, position: int, length: int) -> int:
        """Return the place of the base interval of the length that begins at the position."""
        return 2 * (position & (self.capacity - 1)) + length - 1

    def _allocate(self, capacity: int) -> None:
        super()._allocate(capacity)
        self.places = [0] * capacity.bit_length()

    def _resize(self, capacity: int) -> None:
        """Copy the base intervals within the window to wider levels: no combine."""
        kept = {(first, length): self.tree[self._place(first, length)] for first, length in self._complete()}
        self._allocate(capacity)
        for (first, length), partial in kept.items():
            self.tree[self._place(first, length)] = partial

    def _complete(self) -> list[tuple[int, int]]:
        """Return first position and length of every base interval within the window."""
        lengths = [1 << level for level in range(self.capacity.bit_length())]
        return [(k * n, n) for n in lengths for k in range(-(-self.begin // n), self.end // n)]

    def _check(self) -> None:
        assert 0 <= self.end - self.begin <= self.capacity
        assert self.capacity & (self.capacity - 1) == 0
        for first, length in self._complete():
            elements = [self.tree[self._place(position, 1)] for position in range(first, first + length)]
            assert alike(self.tree[self._place(first, length)], reduce(self.combine, elements))
