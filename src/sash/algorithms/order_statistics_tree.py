"""Order statistics tree: a balanced search tree of the window's values that knows the size of every subtree.

Hirzel, Schneider, Tangwongsan. Tutorial: Sliding-Window Aggregation Algorithms. DEBS 2017, section 4.3 and figure 3.
Adelson-Velsky, Landis. An algorithm for the organization of information. 1962, for the balance.

Order: first in, first out. Laws: ranked, as median and quantile are: the answer is read with `len` and `select(rank)`.
insert, evict and select O(log n) worst case, in comparisons of values; query O(1); no combine. Space: n.

    Values 5 3 8 3 9 7, the oldest first, in the queue; the tree has one node for each different value:

                    5 (size 6)
            3 × 2           8 (size 3)            select(2): 2 values are left of 5, so 5 is the one of rank 2
                         7      9

Nodes are numbers; node 0 is the empty tree, with size and height 0. Free nodes are linked through `right`.

Invariants:
  1. the keys left of a node come before its key, those right of it after; NaN comes last and equals NaN
  2. size[v] = size[left[v]] + multiplicity[v] + size[right[v]], and size[root] = end - begin
  3. height[v] = 1 + max(height[left[v]], height[right[v]]), and the two differ by at most 1 (AVL)
  4. parent[left[v]] = parent[right[v]] = v, and parent[root] = 0
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from sash.aggregates.base import Aggregate, P
from sash.aggregates.comparison import is_above
from sash.algorithms.base import About, Array, Column, RankedAlgorithm, SlideCost, SpaceCost, same
from sash.algorithms.sorted_block import SortedBlock


class BalancedTree(RankedAlgorithm[P]):
    """A queue of values, and an AVL tree with a node for each different value, in flat columns."""

    values: Column[P]
    keys: Array[P]
    left: Array[int]
    right: Array[int]
    parent: Array[int]
    size: Array[int]
    height: Array[int]
    multiplicity: Array[int]
    root: int = 0
    free: int = 0

    def __init__(self, aggregate: Aggregate[P], ranges: tuple[int, ...] = ()) -> None:
        super().__init__(aggregate, ranges)
        self.keys = [None]  # type: ignore[list-item]  # node 0 is the empty tree
        self.left, self.right, self.parent = [0], [0], [0]
        self.size, self.height, self.multiplicity = [0], [0], [0]
        self._resize(1 + max(ranges, default=8))

    def _nearest(self, key: P) -> int:
        """Return the node with the key or, if there is none, the parent that a node with it would have."""
        near = 0
        node = self.root
        while node != 0:
            near = node
            if is_above(self.keys[node], key):
                node = self.left[node]
            elif is_above(key, self.keys[node]):
                node = self.right[node]
            else:
                node = 0
        return near

    def _attach(self, key: P, above: int) -> None:
        if self.free == 0:
            self._resize(2 * len(self.keys))
        node = self.free
        self.free = self.right[node]
        self.keys[node] = key
        self.multiplicity[node] = 1
        self.size[node] = 1
        self.height[node] = 1
        self.left[node] = 0
        self.right[node] = 0
        self.parent[node] = above
        if above == 0:
            self.root = node
        elif is_above(self.keys[above], key):
            self.left[above] = node
        else:
            self.right[above] = node

    def _remove(self, node: int) -> None:
        gone = node
        if self.left[node] != 0 and self.right[node] != 0:  # the next larger key moves here: its node has no left child
            gone = self.right[node]
            while self.left[gone] != 0:
                gone = self.left[gone]
            self.keys[node] = self.keys[gone]
            self.multiplicity[node] = self.multiplicity[gone]
        above = self.parent[gone]
        self._replace(gone, self.left[gone] if self.left[gone] != 0 else self.right[gone])
        self._forget(gone)
        self.right[gone] = self.free
        self.free = gone
        self._retrace(above)

    def _replace(self, node: int, other: int) -> None:
        """Replace a node by another node, or by none, as child of its parent."""
        above = self.parent[node]
        if above == 0:
            self.root = other
        elif self.left[above] == node:
            self.left[above] = other
        else:
            self.right[above] = other
        if other != 0:
            self.parent[other] = above

    def _retrace(self, start: int) -> None:
        """Measure and balance the nodes from here up to the root."""
        node = start
        while node != 0:
            left = self.left[node]
            right = self.right[node]
            if self.height[left] > self.height[right] + 1:
                if self.height[self.left[left]] < self.height[self.right[left]]:
                    self._rotate_left(left)
                self._rotate_right(node)
            elif self.height[right] > self.height[left] + 1:
                if self.height[self.right[right]] < self.height[self.left[right]]:
                    self._rotate_right(right)
                self._rotate_left(node)
            else:
                self._measure(node)
            node = self.parent[node]

    def _rotate_left(self, node: int) -> None:
        """Make a node the left child of its right child."""
        risen = self.right[node]
        self._replace(node, risen)
        self.right[node] = self.left[risen]
        if self.left[risen] != 0:
            self.parent[self.left[risen]] = node
        self.left[risen] = node
        self.parent[node] = risen
        self._measure(node)
        self._measure(risen)

    def _rotate_right(self, node: int) -> None:
        """Make a node the right child of its left child."""
        risen = self.left[node]
        self._replace(node, risen)
        self.left[node] = self.right[risen]
        if self.right[risen] != 0:
            self.parent[self.right[risen]] = node
        self.right[risen] = node
        self.parent[node] = risen
        self._measure(node)
        self._measure(risen)

    def _measure(self, node: int) -> None:
        left = self.left[node]
        right = self.right[node]
        self.size[node] = self.size[left] + self.multiplicity[node] + self.size[right]
        self.height[node] = 1 + max(self.height[left], self.height[right])

    def _forget(self, node: int) -> None:
        self.keys[node] = None  # type: ignore[assignment]  # free the value

    def _resize(self, capacity: int) -> None:
        """Add free nodes up to a capacity, node 0 included."""
        more = range(len(self.keys), capacity)
        self.keys += [None] * len(more)  # type: ignore[list-item]
        for column in (self.left, self.right, self.parent, self.size, self.height, self.multiplicity):
            column.extend([0] * len(more))
        for node in reversed(more):
            self.right[node] = self.free
            self.free = node


class OrderStatisticsTree(BalancedTree[P]):
    """A tree that is read by rank: `query` returns the tree itself.

    >>> from sash import agg
    >>> median = agg.median()
    >>> window = OrderStatisticsTree(median)
    >>> for value in (5, 3, 8, 3, 9, 7):
    ...     window.insert(median.lift(value))
    >>> window.select(2), window.select(5)
    (5, 9)
    >>> window.evict()
    >>> median.lower(window.query())
    7.0
    """

    about = About(
        name="order_statistics_tree",
        title="Order statistics tree",
        needs="ranked",
        amortised=SlideCost("O(log n)", "comparisons"),
        worst=SlideCost("O(log n)", "comparisons"),
        space=SpaceCost(1),
        paper="Tutorial (DEBS 2017), section 4.3",
    )
    sorted_in_advance = SortedBlock

    def insert(self, partial: P) -> None:
        """Add the only value of the partial to the queue and to the tree: O(log n)."""
        self.values[self.end] = only_value(partial)
        key = only_value(partial)
        self.end += 1
        near = self._nearest(key)
        if near == 0 or is_above(key, self.keys[near]) or is_above(self.keys[near], key):
            self._attach(key, near)
        else:
            self.multiplicity[near] += 1
        self._retrace(near)

    def evict(self) -> None:
        """Remove the oldest value from the queue and from the tree: O(log n)."""
        node = self._nearest(self.values[self.begin])
        del self.values[self.begin]
        self.begin += 1
        if self.multiplicity[node] > 1:
            self.multiplicity[node] -= 1
            self._retrace(node)
        else:
            self._remove(node)

    def result(self) -> Any:
        """Return the result at the aggregate's rank, for a kernel: equal to `lower` of the tree."""
        place = self.rank(self.end - self.begin)
        first = int(place)
        below = self._value_at(first)
        above = below
        if place > first:
            above = self._value_at(first + 1)
        return self.between(below, above, place - first)

    def place_of_newest(self) -> Any:
        """Return the result for the rank of the newest value, for a kernel: equal to `lower` of the tree, O(log n)."""
        key = self.values[self.end - 1]
        smaller = 0
        equal = 0
        node = self.root
        while node != 0:
            if is_above(self.keys[node], key):
                node = self.left[node]
            else:
                smaller += self.size[self.left[node]]
                if is_above(key, self.keys[node]):
                    smaller += self.multiplicity[node]
                    node = self.right[node]
                else:
                    equal = self.multiplicity[node]
                    node = 0
        return self.place(smaller, equal, self.end - self.begin)

    def make_room(self, rows: int) -> None:
        """Add nodes for a window of `rows` values."""
        self._resize(1 + rows)

    def _value_at(self, rank: int) -> P:
        node = self.root
        smaller = self.size[self.left[node]]
        while rank < smaller or rank >= smaller + self.multiplicity[node]:
            if rank < smaller:
                node = self.left[node]
            else:
                rank -= smaller + self.multiplicity[node]
                node = self.right[node]
            smaller = self.size[self.left[node]]
        return self.keys[node]

    def _check(self) -> None:
        assert self.size[0] == self.height[0] == self.multiplicity[0] == self.left[0] == self.right[0] == 0
        assert self.size[self.root] == self.end - self.begin == len(self.values)
        assert self.parent[self.root] == 0
        in_order: list[int] = []
        self._collect(self.root, in_order)
        for node in in_order:
            left, right = self.left[node], self.right[node]
            assert self.multiplicity[node] > 0
            assert self.size[node] == self.size[left] + self.multiplicity[node] + self.size[right]
            assert self.height[node] == 1 + max(self.height[left], self.height[right])
            assert abs(self.height[left] - self.height[right]) <= 1
            assert all(self.parent[child] == node for child in (left, right) if child != 0)
        keys = [self.keys[node] for node in in_order]
        assert all(is_above(larger, smaller) for smaller, larger in pairwise(keys))
        for node in in_order:
            assert self.multiplicity[node] == sum(same(value, self.keys[node]) for value in self.values.values())
        unused, node = 0, self.free
        while node != 0:
            unused, node = unused + 1, self.right[node]
        assert 1 + len(in_order) + unused == len(self.keys)

    def _collect(self, node: int, in_order: list[int]) -> None:
        if node != 0:
            self._collect(self.left[node], in_order)
            in_order.append(node)
            self._collect(self.right[node], in_order)


def only_value(partial: Any) -> Any:
    """Return the value of a partial of one row; compiled, such a partial is the value."""
    return partial.select(0)
