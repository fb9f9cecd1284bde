"""The tree of FiBA: nodes of elements in flat arrays, split and merged, with the totals that FiBA's invariants ask for.

Nodes are numbers, 0 is none. The elements of node v are in the slots v · SLOTS and after, its children in the links v · LINKS and after.
Free nodes are linked through `parents`. The nodes below a free node are free too, and found when it is used again (the deferred free list
of the VLDB 2023 paper), so that a cut takes no time for what it drops.
"""

from __future__ import annotations

from functools import reduce
from itertools import chain
from typing import Any, TypeAlias

from sash.aggregates.base import Aggregate, P
from sash.algorithms.base import Algorithm, Array, Item, alike

MIN_ARITY = 2
MAX_ARITY = 2 * MIN_ARITY
SLOTS = MAX_ARITY
"""One more than a node may keep: it is split when all are in use."""
LINKS = SLOTS + 1

INNER, LEFT, RIGHT, ROOT = 0, 1, 2, 3
"""The role of a node: its position, which determines what its total covers. The root is on both spines, so it has both bits."""

Time: TypeAlias = Any
"""Anything with an order: numbers, datetimes, …"""
NOTHING: Any = object()
"""The partial in a slot without an element: partials need not have an identity."""


class Nodes(Algorithm[P]):
    """Nodes of elements and links in flat arrays, in use or free."""

    times: Array[int]
    values: Array[P]
    children: Array[int]
    parents: Array[int]
    sizes: Array[int]
    roles: Array[int]
    totals: Array[P]
    counts: Array[int]
    root: int = 1
    left_finger: int = 1
    right_finger: int = 1
    free: int = 0
    fresh: int = 2
    """The first node that was never used."""

    def __init__(self, aggregate: Aggregate[P], ranges: tuple[int, ...] = ()) -> None:
        super().__init__(aggregate, ranges)
        self.times, self.values, self.children, self.parents = [], [], [], []
        self.sizes, self.roles, self.totals, self.counts = [], [], [], []
        self._resize(6)
        self.roles[self.root] = ROOT

    def make_room(self, rows: int) -> None:
        """Add nodes for a window of `rows` partials."""
        self._resize(rows + 2)

    def _copy(self, source: int, slot: int) -> None:
        self.times[slot] = self.times[source]
        self.values[slot] = self.values[source]

    def _adopt(self, node: int, place: int, child: int) -> None:
        self.children[node * LINKS + place] = child
        self.parents[child] = node

    def _shift(self, node: int, place: int) -> None:
        """Make room for an element before those of a place and after."""
        slot = node * SLOTS + self.sizes[node]
        while slot > node * SLOTS + place:
            self._copy(slot - 1, slot)
            slot -= 1
        self.sizes[node] += 1

    def _drop_first(self, node: int, dropped: int) -> None:
        """Remove the first elements of a node, and as many children."""
        kept = self.sizes[node] - dropped
        for number in range(kept):
            self._copy(node * SLOTS + dropped + number, node * SLOTS + number)
        if self.children[node * LINKS] != 0:
            for number in range(kept + 1):
                self.children[node * LINKS + number] = self.children[node * LINKS + dropped + number]
        self.sizes[node] = kept
        self._forget(node)

    def _new_node(self, role: int) -> int:
        node = self.free
        if node == 0:
            node = self.fresh
            self._resize(2 * node if node == len(self.sizes) else 0)
            self.fresh += 1
        else:
            self.free = self.parents[node]
            if self.children[node * LINKS] != 0:  # the nodes below it are free too
                for number in range(self.sizes[node] + 1):
                    self._release(self.children[node * LINKS + number])
        self.roles[node] = role
        self.sizes[node] = 0
        self.parents[node] = 0
        self.children[node * LINKS] = 0
        return node

    def _release(self, node: int) -> None:
        self.parents[node] = self.free
        self.free = node

    def _forget(self, node: int) -> None:
        """Free the elements of a node that it does not hold any more."""
        for slot in range(node * SLOTS + self.sizes[node], (node + 1) * SLOTS):
            self.values[slot] = NOTHING

    def _resize(self, nodes: int) -> None:
        """Add nodes up to a number, node 0 included."""
        missing = max(0, nodes - len(self.sizes))
        self.times.extend([0] * (SLOTS * missing))
        self.values.extend([NOTHING] * (SLOTS * missing))
        self.children.extend([0] * (LINKS * missing))
        self.totals.extend([NOTHING] * missing)
        for numbers in (self.parents, self.sizes, self.roles, self.counts):
            numbers.extend([0] * missing)


class FingerTree(Nodes[P]):
    """A B-tree of elements with times, and the totals of its nodes."""

    def _place_of(self, node: int, time: Time) -> int:
        """Return how many elements of a node are not newer than a time."""
        place = 0
        while place < self.sizes[node] and not time < self.times[node * SLOTS + place]:
            place += 1
        return place

    def _put(self, node: int, time: Time, partial: P) -> None:
        """Add an element to a leaf."""
        place = self._place_of(node, time)
        self._shift(node, place)
        self.times[node * SLOTS + place] = time
        self.values[node * SLOTS + place] = partial
        self.end += 1

    def _split(self, node: int) -> int:
        """Move the newer half of a node that is too wide to a new neighbour, and the element between them up. Return the neighbour."""
        newer = self._new_node(INNER)
        for moved in range(SLOTS - MIN_ARITY - 1):
            self._copy(node * SLOTS + MIN_ARITY + 1 + moved, newer * SLOTS + moved)
        if self.children[node * LINKS] != 0:
            for moved in range(SLOTS - MIN_ARITY):
                self._adopt(newer, moved, self.children[node * LINKS + MIN_ARITY + 1 + moved])
        self.sizes[newer] = SLOTS - MIN_ARITY - 1
        self.sizes[node] = MIN_ARITY
        if self.roles[node] == ROOT:
            self.root = self._new_node(ROOT)
            self._adopt(self.root, 0, node)
            self.roles[node] = LEFT
            self.roles[newer] = RIGHT
        elif self.roles[node] == RIGHT:
            self.roles[node] = INNER
            self.roles[newer] = RIGHT
        if node == self.right_finger:
            self.right_finger = newer
        above = self.parents[node]
        place = 0
        while self.children[above * LINKS + place] != node:
            place += 1
        link = above * LINKS + self.sizes[above]
        while link > above * LINKS + place:
            self.children[link + 1] = self.children[link]
            link -= 1
        self._shift(above, place)
        self._copy(node * SLOTS + MIN_ARITY, above * SLOTS + place)
        self._adopt(above, place + 1, newer)
        self._forget(node)
        return newer

    def _take(self, node: int, neighbour: int, missing: int) -> None:
        """Move elements from the right neighbour, through the parent's first, to this first child; all, if too few would be left."""
        above = self.parents[node]
        size = self.sizes[node]
        merges = self.sizes[neighbour] + 1 - missing < MIN_ARITY
        moved = self.sizes[neighbour] if merges else missing - 1
        self._copy(above * SLOTS, node * SLOTS + size)
        for number in range(moved):
            self._copy(neighbour * SLOTS + number, node * SLOTS + size + 1 + number)
        if self.children[neighbour * LINKS] != 0:
            for number in range(moved + 1):
                self._adopt(node, size + 1 + number, self.children[neighbour * LINKS + number])
        self.sizes[node] = size + 1 + moved
        if merges:
            first = self.children[above * LINKS]
            self._drop_first(above, 1)
            self.children[above * LINKS] = first
            self.children[neighbour * LINKS] = 0
            self.sizes[neighbour] = 0
            self._release(neighbour)
            if neighbour == self.right_finger:
                self.right_finger = node
        else:
            self._copy(neighbour * SLOTS + moved, above * SLOTS)
            self._drop_first(neighbour, missing)

    def _refresh_spines(self, top: int, left: int, right: int) -> None:
        """Recompute the totals of a node and of the changed spines below it, which include it."""
        node = top
        side = LEFT
        while node != 0:
            self._refresh(node)
            if side == LEFT:
                node = self.children[node * LINKS] if left == 1 else 0
                if node == 0:
                    side = RIGHT
                    node = self.children[top * LINKS + self.sizes[top]] if right == 1 else 0
                    if self.children[top * LINKS] == 0:
                        node = 0
            else:
                is_leaf = self.children[node * LINKS] == 0
                node = 0 if is_leaf else self.children[node * LINKS + self.sizes[node]]

    def _refresh(self, node: int) -> None:
        """Recompute a total and a count (invariants 5 and 6) from the children's, and on a spine from the parent's."""
        role = self.roles[node]
        size = self.sizes[node]
        above = self.parents[node]
        first = role & LEFT
        last = size - (role & RIGHT) // RIGHT
        total = self.values[node * SLOTS]
        count = 0
        if role == RIGHT and self.roles[above] != ROOT:
            total = self.totals[above]
            count = self.counts[above]
        for place in range(size + 1):
            child = self.children[node * LINKS + place] if first <= place <= last else 0
            if self.children[node * LINKS] != 0 and child != 0:
                total = self.totals[child] if count == 0 else self.combine(total, self.totals[child])
                count += self.counts[child]
            if place < size:
                value = self.values[node * SLOTS + place]
                total = value if count == 0 else self.combine(total, value)
                count += 1
        if role == LEFT and self.roles[above] != ROOT:
            total = self.totals[above] if count == 0 else self.combine(total, self.totals[above])
            count += self.counts[above]
        self.totals[node] = total
        self.counts[node] = count

    def elements_of(self, node: int) -> list[tuple[Time, P]]:
        """Return the times and partials of a node's own elements, the oldest first."""
        slots = range(node * SLOTS, node * SLOTS + self.sizes[node])
        return [(self.times[slot], self.values[slot]) for slot in slots]

    def children_of(self, node: int) -> list[int]:
        """Return the children of a node; none if it is a leaf."""
        first = node * LINKS
        return self.children[first : first + self.sizes[node] + 1] if self.children[first] else []

    def _elements_below(self, node: int, *, first: bool = True, last: bool = True) -> list[tuple[Time, P]]:
        """List all elements below a node in order, with or without those of its first and its last child."""
        below = [self._elements_below(child) for child in self.children_of(node)]
        if below and not first:
            below[0] = []
        if below and not last:
            below[-1] = []
        parts = in_order(below, [[element] for element in self.elements_of(node)])
        return [element for part in parts for element in part]

    def _check_node(self, node: int, role: int, beyond: list[tuple[Time, P]]) -> set[int]:
        """Assert the invariants of a node and its descendants; `beyond` is what its spine adds. Return the depths of leaves."""
        on_left, on_right = role in (LEFT, ROOT), role in (RIGHT, ROOT)
        below = self._elements_below(node, first=not on_left, last=not on_right)
        covered = beyond + below if role == RIGHT else below + beyond
        assert self.roles[node] == role
        assert self.counts[node] == len(covered)
        if covered:
            assert alike(self.totals[node], reduce(self.combine, [value for _, value in covered]))
        arity, children = self.sizes[node] + 1, self.children_of(node)
        assert arity <= MAX_ARITY
        assert arity >= MIN_ARITY or (node == self.root and not children)
        if not children:
            assert (node == self.left_finger, node == self.right_finger) == (on_left, on_right)
            return {0}
        assert all(self.parents[child] == node for child in children)
        oldest, *inner, newest = children
        shared = [] if role == ROOT else covered
        depths = self._check_node(oldest, LEFT, shared) if on_left else self._check_node(oldest, INNER, [])
        depths |= self._check_node(newest, RIGHT, shared) if on_right else self._check_node(newest, INNER, [])
        depths = depths.union(*(self._check_node(child, INNER, []) for child in inner))
        return {depth + 1 for depth in depths}


def in_order(children: list[Item], elements: list[Item]) -> list[Item]:
    """Interleave the items of the children and of the elements of a node in the order of time.

    >>> in_order(["older", "newer"], ["between"])
    ['older', 'between', 'newer']
    >>> in_order([], ["leaf's", "own"])
    ["leaf's", 'own']
    """
    if not children:
        return elements
    pairs = zip(elements, children[1:], strict=True)
    return [children[0], *chain.from_iterable(pairs)]
