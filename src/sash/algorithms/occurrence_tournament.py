"""Occurrence tournament: a tree of maxima over the window's rows, where the first row of each value plays for its count.

Knuth. The Art of Computer Programming 3, second edition 1998: section 5.2.3 for the tournament (tree selection), section
6.4 for the hash table that finds the first row of a value.

Order: first in, first out. Laws: modal, as mode is: the answer is the most frequent value, of several the one whose first
row in the window is the oldest.
insert and evict O(log n), and O(1) expected comparisons of values, O(n) worst case; query O(1); no combine. Space: n.

    Values 7 5 5 3 5 3, the oldest first, at the positions begin = 3 to end - 1 = 8, in a tree over 8 slots:

                        3                             root: the count of the best, which is row 4
              1                   3                   node v: the larger of its children 2v and 2v + 1
         0         1         3         2
      0    0    0    1    3    0    2    0            leaf of slot s at 8 + s: a count for a value's first row, else 0
     [3]  [ ]  [ ]  [7]  [5]  [5]  [3]  [5]           slot of position p at p mod 8

    The rows with a 5 are linked: 4 following→ 5 following→ 7 = newest[4]. When row 4 leaves, its count less 1 goes to row 5.

Invariants:
  1. the table finds the first position of each different value (with the invariants of the occurrence table)
  2. newest[first] is the last position of a value, and following[p] the next one with the value of row p
  3. tree[leaf(first)] is how often a value occurs; other leaves are 0; tree[v] = max(tree[2v], tree[2v + 1])
  4. best is the smallest position whose leaf equals tree[1]     if begin < end
"""

from __future__ import annotations

from itertools import pairwise
from typing import cast

from sash.aggregates.base import P
from sash.algorithms.base import About, Array, Column, SlideCost, SpaceCost
from sash.algorithms.occurrence_table import FREE, ROOM, PositionTable, only_key


class OccurrenceTournament(PositionTable[P]):
    """Keeps the winner of the tournament, and searches for another only when its first row leaves.

    >>> from sash import agg
    >>> usual = agg.mode()
    >>> window = OccurrenceTournament(usual)
    >>> for value in (7, 5, 5, 3, 5, 3):
    ...     window.insert(usual.lift(value))
    >>> window.query()
    {5: 3}
    >>> for _ in range(3):
    ...     window.evict()
    >>> usual.lower(window.query())  # 3 5 3
    3
    """

    about = About(
        name="occurrence_tournament",
        title="Occurrence tournament",
        needs="modal",
        amortised=SlideCost("O(log n)", "", expected=True),
        worst=SlideCost("O(n)", "comparisons"),
        space=SpaceCost(1),
        paper="Knuth (TAOCP 3, 1998), sections 5.2.3 and 6.4",
    )
    following: Column[int]
    newest: Column[int]
    tree: Array[int]
    leaves: int = 0
    best: int = 0

    def insert(self, partial: P) -> None:
        """Add the only value of the partial, and one to the count at the first row that has it: O(log n)."""
        if ROOM * (self.end - self.begin) == self.capacity:
            self._resize(2 * self.capacity)
        key = only_key(partial)
        place = self._place_of(key)
        first = self.table[place]
        if first == FREE:
            first = self.end
            self.table[place] = first
        else:
            self.following[self.newest[first]] = self.end
        self.newest[first] = self.end
        self.values[self.end] = only_key(partial)
        self.end += 1
        leaf = self._leaf(first)
        count = self.tree[leaf] + 1
        if count > self.tree[1] or (count == self.tree[1] and first < self.best):
            self.best = first
        self._raise(leaf, count)

    def evict(self) -> None:
        """Remove the oldest row, which is the first of its value, and pass its count to the next row: O(log n)."""
        leaf = self._leaf(self.begin)
        place = self._place_at(self.begin)
        count = self.tree[leaf]
        if count == 1:
            self._free(place)
        else:
            heir = self.following[self.begin]
            self.table[place] = heir
            self.newest[heir] = self.newest[self.begin]
            heirs_leaf = self._leaf(heir)
            self._raise(heirs_leaf, count - 1)
            del self.following[self.begin]
        self._clear(leaf)
        del self.values[self.begin]
        del self.newest[self.begin]
        self.begin += 1
        if self.best < self.begin < self.end:
            self.best = self._first_of_the_best()

    def query(self) -> P:
        """Return the most frequent value with its count, as the partial of a window with no other values: O(1)."""
        return cast("P", {self.values[self.best]: self.tree[1]})

    def result(self) -> P:
        """Return the most frequent value, for a kernel: equal to `lower` of the query."""
        return self.values[self.best]

    def _leaf(self, position: int) -> int:
        return self.leaves + (position & (self.leaves - 1))

    def _raise(self, leaf: int, count: int) -> None:
        """Write a leaf that is not 0, and the nodes above that it wins."""
        node = leaf
        self.tree[node] = count
        while node > 1 and self.tree[node >> 1] < count:
            node >>= 1
            self.tree[node] = count

    def _clear(self, leaf: int) -> None:
        """Write 0 into a leaf, and compute the nodes above that it had won."""
        node = leaf
        self.tree[node] = 0
        while node > 1 and self.tree[node >> 1] > max(self.tree[node], self.tree[node ^ 1]):
            self.tree[node >> 1] = max(self.tree[node], self.tree[node ^ 1])
            node >>= 1

    def _first_of_the_best(self) -> int:
        """Return the oldest position with the largest count: up from the oldest leaf, to the right, and down again.

        Where nothing to the right has it, it is left of the oldest leaf, beyond the end of the array: down from the root.
        """
        most = self.tree[1]
        node = self._leaf(self.begin)
        if self.tree[node] != most:
            while node > 1 and (node & 1 == 1 or self.tree[node + 1] != most):
                node >>= 1
            if node > 1:
                node += 1
            while node < self.leaves:
                node = 2 * node
                if self.tree[node] != most:
                    node += 1
        return self.begin + ((node - self.begin) & (self.leaves - 1))

    def _resize(self, capacity: int) -> None:
        """Enlarge the table and build a larger tree with the same counts."""
        super()._resize(capacity)
        firsts = [position for position in self.table if position != FREE]
        counts = [self.tree[self._leaf(first)] for first in firsts]
        self.leaves = capacity // ROOM
        self.tree = [0] * (2 * self.leaves)
        for first, count in zip(firsts, counts, strict=True):
            self._raise(self._leaf(first), count)

    def _check(self) -> None:
        super()._check()
        rows: dict[P, list[int]] = {}
        for position, key in self.values.items():
            rows.setdefault(key, []).append(position)
        firsts = {positions[0]: positions for positions in rows.values()}
        assert {position for position in self.table if position != FREE} == set(firsts)
        assert self.newest == {first: positions[-1] for first, positions in firsts.items()}
        following = {older: newer for positions in rows.values() for older, newer in pairwise(positions)}
        assert self.following == following
        assert len(self.tree) == 2 * self.leaves
        leaves = {self._leaf(first): len(positions) for first, positions in firsts.items()}
        assert self.tree[self.leaves :] == [leaves.get(self.leaves + slot, 0) for slot in range(self.leaves)]
        assert all(self.tree[v] == max(self.tree[2 * v], self.tree[2 * v + 1]) for v in range(1, self.leaves))
        if firsts:
            assert self.best == max(firsts, key=lambda first: len(firsts[first]))
