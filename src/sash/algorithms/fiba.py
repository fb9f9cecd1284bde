"""FiBA: a finger B-tree aggregator, for elements that arrive out of order.

Tangwongsan, Hirzel, Schneider. Optimal and General Out-of-Order Sliding-Window Aggregation. VLDB 2019.
Tangwongsan, Hirzel, Schneider. Out-of-Order Sliding-Window Aggregation with Efficient Bulk Evictions and Insertions.
VLDB 2023, for the bulk evict.

Order: any; elements are kept by time, then by arrival. Laws: associative. Interpreted only: nodes are split, merged and
linked, so the state is not flat columns.
insert amortised O(log d), d elements away from the nearer end of the window, so O(1) in order; worst O(log n).
evict amortised O(1), worst O(log n); evict(before) amortised O(log m), m elements evicted.
query at most 2 combines; query_between O(log n). Space: n elements, at most as many nodes.

A B-tree with elements in all its nodes. What a node's `total` covers depends on where the node is, so that a change
near an end of the window affects few nodes, and the two fingers and the root together cover the whole window:

                          [d]                       root    d
                  ┌────────┴────────┐
                 [b]               [f]              left    b⊕c        right   e⊕f
              ┌───┴───┐         ┌───┴───┐
             [a]     [c]       [e]     [g]          left    a⊕(b⊕c)    right   (e⊕f)⊕g      inner   c, e
         left finger               right finger
                                                    query   a⊕(b⊕c) ⊕ d ⊕ (e⊕f)⊕g

Invariants:
  1. All leaves have the same depth. A node of k elements has k + 1 children, or none; its arity is k + 1 either way.
  2. MIN_ARITY ≤ arity ≤ MAX_ARITY (µ and 2µ); only the root may have fewer.
  3. Each child is older than the element to its right. Times never fall; equal times are in order of arrival.
  4. The left (right) spine is the root's first (last) child, that node's first (last) child, …, down to the finger.
  5. total of an inner node (Π↑)   = everything below it
     total of the root (Π∘)        = everything below it, without its first and its last child
     total on the left spine (Π↙)  = all below it without its first child ⊕ its parent's total (nothing for the root's)
     total on the right spine (Π↘) = its parent's total (nothing for the root's) ⊕ all below it without its last child
  6. count is the number of elements that total covers, so the size of the window is known without visiting what a cut dropped.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from enum import Enum
from functools import reduce
from itertools import chain, pairwise
from operator import itemgetter
from typing import Any, Generic, TypeAlias

from sash.aggregates.base import Aggregate, P
from sash.algorithms.base import About, Algorithm, Item, SlideCost, SpaceCost, alike

MIN_ARITY = 2
MAX_ARITY = 2 * MIN_ARITY

Time: TypeAlias = Any
"""Anything with an order: numbers, datetimes, …"""
time_of = itemgetter(0)
NOTHING: Any = object()
"""The total of no elements: partials need not have an identity."""


class Role(Enum):
    """The position of a node, which determines what its total covers (invariant 5)."""

    INNER = "inner"
    LEFT = "left"
    RIGHT = "right"
    ROOT = "root"


class Node(Generic[P]):
    """A node of the tree: its elements, oldest first, and the children between them."""

    __slots__ = ("children", "count", "elements", "parent", "role", "total")
    parent: Node[P]  # the root has none

    def __init__(self, role: Role, elements: list[tuple[Time, P]], children: list[Node[P]]) -> None:
        self.role = role
        self.elements = elements
        self.children = children
        self.total: P = NOTHING
        self.count = 0
        for child in children:
            child.parent = self

    @property
    def arity(self) -> int:
        """The number of children, or what it would be if the node were not a leaf."""
        return len(self.elements) + 1

    def borrow(self, neighbour: Node[P], missing: int) -> None:
        """Move elements from the right neighbour, through the parent's first, to the end of this first child."""
        for child in neighbour.children[:missing]:
            child.parent = self
        self.elements += [self.parent.elements[0], *neighbour.elements[: missing - 1]]
        self.children += neighbour.children[:missing]
        self.parent.elements[0] = neighbour.elements[missing - 1]
        del neighbour.elements[:missing], neighbour.children[:missing]

    def merge(self, neighbour: Node[P]) -> None:
        """Add the parent's first element and the whole right neighbour to this first child."""
        for child in neighbour.children:
            child.parent = self
        self.elements += [self.parent.elements.pop(0), *neighbour.elements]
        self.children += neighbour.children
        del self.parent.children[1]


class FiBA(Algorithm[P]):
    """A B-tree searched and repaired from its two ends.

    >>> from sash import agg
    >>> window = FiBA(agg.concat())
    >>> for time, letter in ((10, "a"), (40, "d"), (20, "b"), (30, "c")):
    ...     window.insert(letter, time)
    >>> window.query(), window.query_between(20, 40)
    ('abcd', 'bc')
    >>> window.evict(before=25)
    >>> window.query()
    'cd'
    """

    about = About(
        name="fiba",
        title="FiBA: finger B-tree",
        order="any",
        ranges="any interval",
        amortised=SlideCost("O(log d)", ""),
        worst=SlideCost("O(log n)", ""),
        space=SpaceCost(1, "O(n)"),
        paper="FiBA (VLDB 2019, 2023)",
    )
    takes_nulls = True
    takes_times = True
    interpreted_only = "FiBA's nodes are split, merged and linked, so its state is not flat columns."

    def __init__(self, aggregate: Aggregate[P], ranges: tuple[int, ...] = ()) -> None:
        super().__init__(aggregate, ranges)
        self.root: Node[P] = Node(Role.ROOT, [], [])
        self.left_finger = self.right_finger = self.root

    def insert(self, partial: P, time: Time = None) -> None:
        """Add a partial after all partials of its time or older. Without a time it gets newest + 1, or 0 in an empty window."""
        if time is None:
            time = 0 if self.begin == self.end else next_time(self.newest)
        if time != time:  # noqa: PLR0124 — NaN has no place in an order
            raise ValueError(f"The time {time!r} cannot be ordered. Pass comparable times.")
        node = self._find_leaf(time)
        node.elements.insert(bisect_right(node.elements, time, key=time_of), (time, partial))
        self.end += 1
        changed = set()
        while node.role is Role.INNER or node.arity > MAX_ARITY:
            for half in self._split(node) if node.arity > MAX_ARITY else (node,):
                changed.add(half.role)
                if half.role is Role.INNER:
                    self._refresh(half)
            node = node.parent
        changed.add(node.role)
        self._refresh_spines(node, changed)

    def evict(self, before: Time = None) -> None:
        """Remove the oldest partial, or all partials whose time is less than `before`."""
        changed = {Role.LEFT}
        if before is None:
            del self.left_finger.elements[0]
            top = self._repair(self.left_finger, MIN_ARITY, changed)
        elif self.begin < self.end and self.oldest < before:
            top = self._cut(before, changed)
        else:
            return
        self._refresh_spines(top, changed)
        self.begin = self.end - self._count()

    def query(self) -> P:
        """Combine the totals of the fingers and the root: at most 2 combines."""
        if not self.root.children:
            return self.root.total
        return self.combine(self.combine(self.left_finger.total, self.root.total), self.right_finger.total)

    def query_between(self, start: Time, end: Time) -> P:
        """Return the ordered combination of the partials with start ≤ time < end: O(log n) combines."""
        total = self._total_between(self.root, start, end) if start < end else NOTHING
        if total is NOTHING:
            raise LookupError(
                f"The window has no element with a time in [{start}, {end}). Query an interval that holds one."
            )
        return total

    @property
    def oldest(self) -> Time:
        """The time of the oldest element."""
        return time_of(self.left_finger.elements[0])

    @property
    def newest(self) -> Time:
        """The time of the newest element."""
        return time_of(self.right_finger.elements[-1])

    def _join(self, older: P, newer: P) -> P:
        if older is NOTHING:
            return newer
        return older if newer is NOTHING else self.combine(older, newer)

    def _find_leaf(self, time: Time) -> Node[P]:
        """Climb from both fingers at once until one of them has the time's place below it, then go down to it."""
        left, node = self.left_finger, self.right_finger
        while node.role is not Role.ROOT and time < time_of(node.parent.elements[-1]):
            if time < time_of(left.parent.elements[0]):
                node = left
                break
            left, node = left.parent, node.parent
        while node.children:
            node = node.children[bisect_right(node.elements, time, key=time_of)]
        return node

    def _split(self, node: Node[P]) -> tuple[Node[P], Node[P]]:
        """Move the newer half of a node that is too wide to a new neighbour, and the element between them up."""
        newer = Node(Role.INNER, node.elements[MIN_ARITY + 1 :], node.children[MIN_ARITY + 1 :])
        between = node.elements[MIN_ARITY]
        del node.elements[MIN_ARITY:], node.children[MIN_ARITY + 1 :]
        if node.role is Role.ROOT:
            self.root = Node(Role.ROOT, [], [node])
            node.role, newer.role = Role.LEFT, Role.RIGHT
        elif node.role is Role.RIGHT:
            node.role, newer.role = Role.INNER, Role.RIGHT
        if node is self.right_finger:
            self.right_finger = newer
        newer.parent = node.parent
        place = node.parent.children.index(node)
        node.parent.elements.insert(place, between)
        node.parent.children.insert(place + 1, newer)
        return node, newer

    def _cut(self, before: Time, changed: set[Role]) -> Node[P]:
        """Drop all older elements along one path down to the new left finger; return the highest node that changed.

        Dropped subtrees are not visited: their nodes refer to each other, so the garbage collector frees them.
        """
        node = self.left_finger
        while node.role is Role.LEFT and time_of(node.parent.elements[0]) < before:
            node = node.parent
        path = []
        while True:
            older = bisect_left(node.elements, before, key=time_of)
            del node.elements[:older], node.children[:older]
            path.append(node)
            if not node.children:
                break
            node = node.children[0]
            node.role = Role.LEFT
        self.left_finger = node
        # From the top down, make a parent one wider than the minimum: then the next node has a neighbour to borrow from.
        tops = [self._repair(node, MIN_ARITY + bool(node.children), changed) for node in path]
        return self.root if tops[0].role is Role.ROOT else tops[0]

    def _repair(self, node: Node[P], least: int, changed: set[Role]) -> Node[P]:
        """Widen a node of the left spine to an arity, and those above it as needed; return the highest that changed."""
        while node.role is Role.LEFT and node.arity < least:
            neighbour = node.parent.children[1]
            changed.add(neighbour.role)
            missing = least - node.arity
            if neighbour.arity - missing >= MIN_ARITY:
                node.borrow(neighbour, missing)
                if neighbour.role is Role.INNER:
                    self._refresh(neighbour)
            else:
                node.merge(neighbour)
                if neighbour is self.right_finger:
                    self.right_finger = node
            node, least = node.parent, MIN_ARITY
        if node.role is Role.ROOT and node.children and not node.elements:
            node = self.root = node.children[0]
            node.role = Role.ROOT
            del node.parent
            changed |= {Role.LEFT, Role.RIGHT}
        return node

    def _refresh_spines(self, top: Node[P], changed: set[Role]) -> None:
        """Recompute the totals of a node and of the changed spines below it, which include it."""
        self._refresh(top)
        for side, place in ((Role.LEFT, 0), (Role.RIGHT, -1)):
            node = top
            while side in changed and node.children:
                node = node.children[place]
                self._refresh(node)

    def _refresh(self, node: Node[P]) -> None:
        """Recompute a total and a count (invariants 5 and 6) from the children's, and on a spine from the parent's."""
        below = [(child.total, child.count) for child in node.children]
        if below and node.role in (Role.LEFT, Role.ROOT):
            below[0] = (NOTHING, 0)
        if below and node.role in (Role.RIGHT, Role.ROOT):
            below[-1] = (NOTHING, 0)
        parts = in_order(below, [(value, 1) for _, value in node.elements])
        if node.role in (Role.LEFT, Role.RIGHT) and node.parent.role is not Role.ROOT:
            parts.insert(0 if node.role is Role.RIGHT else len(parts), (node.parent.total, node.parent.count))
        node.total = reduce(self._join, (total for total, _ in parts), NOTHING)
        node.count = sum(count for _, count in parts)

    def _count(self) -> int:
        ends = (self.left_finger, self.right_finger) if self.root.children else ()
        return self.root.count + sum(finger.count for finger in ends)

    def _total_between(self, node: Node[P], start: Time, end: Time) -> P:
        """Combine the elements below a node in [start, end), where None is no bound: one path for each bound."""
        if start is None and end is None and node.role is Role.INNER:
            return node.total
        first = 0 if start is None else bisect_left(node.elements, start, key=time_of)
        last = len(node.elements) if end is None else bisect_left(node.elements, end, key=time_of)
        below = [
            self._total_between(child, start if place == first else None, end if place == last else None)
            for place, child in enumerate(node.children[first : last + 1], first)
        ]
        total: P = reduce(self._join, in_order(below, [value for _, value in node.elements[first:last]]), NOTHING)
        return total

    def _check(self) -> None:
        assert not hasattr(self.root, "parent")
        times = [time for time, _ in elements_below(self.root)]
        assert not any(newer < older for older, newer in pairwise(times))
        assert len(times) == self._count() == len(self)
        depths = self._check_node(self.root, Role.ROOT, [])
        assert len(depths) == 1

    def _check_node(self, node: Node[P], role: Role, beyond: list[tuple[Time, P]]) -> set[int]:
        """Assert the invariants of a node and its descendants; `beyond` is what its spine adds. Return the depths of leaves."""
        on_left, on_right = role in (Role.LEFT, Role.ROOT), role in (Role.RIGHT, Role.ROOT)
        below = elements_below(node, first=not on_left, last=not on_right)
        covered = beyond + below if role is Role.RIGHT else below + beyond
        assert node.role is role
        assert node.count == len(covered)
        assert alike(node.total, reduce(self.combine, [value for _, value in covered]) if covered else NOTHING)
        assert node.arity <= MAX_ARITY
        assert node.arity >= MIN_ARITY or (node is self.root and not node.children)
        if not node.children:
            assert (node is self.left_finger, node is self.right_finger) == (on_left, on_right)
            return {0}
        assert len(node.children) == node.arity
        assert all(child.parent is node for child in node.children)
        oldest, *inner, newest = node.children
        shared = [] if role is Role.ROOT else covered
        depths = self._check_node(oldest, Role.LEFT, shared) if on_left else self._check_node(oldest, Role.INNER, [])
        depths |= self._check_node(newest, Role.RIGHT, shared) if on_right else self._check_node(newest, Role.INNER, [])
        depths = depths.union(*(self._check_node(child, Role.INNER, []) for child in inner))
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


def elements_below(node: Node[P], *, first: bool = True, last: bool = True) -> list[tuple[Time, P]]:
    """List all elements below a node in order, with or without those of its first and its last child."""
    below = [elements_below(child) for child in node.children]
    if below and not first:
        below[0] = []
    if below and not last:
        below[-1] = []
    parts = in_order(below, [[element] for element in node.elements])
    return [element for part in parts for element in part]


def next_time(newest: Time) -> Time:
    """Return the time of a row without a time. Raise ValueError if times are not numbers."""
    try:
        return newest + 1
    except TypeError as error:
        raise ValueError(
            f"The newest time is {newest!r}, which is not a number, so there is no next time. Pass a time for every row."
        ) from error
