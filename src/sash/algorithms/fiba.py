"""FiBA: a finger B-tree aggregator, for elements that arrive out of order.

Tangwongsan, Hirzel, Schneider. Optimal and General Out-of-Order Sliding-Window Aggregation. VLDB 2019.
Tangwongsan, Hirzel, Schneider. Out-of-Order Sliding-Window Aggregation with Efficient Bulk Evictions and Insertions.
VLDB 2023, for the bulk evict, the bulk insert and the deferred free list.

Order: any; elements are kept by time, then by arrival. Laws: associative.
insert amortised O(log d), d elements away from the nearer end of the window, so O(1) in order; worst O(log n).
insert_many O(log d + m(1 + log(d/m))) for m elements, the farthest of them d away.
evict amortised O(1), worst O(log n); evict(before) amortised O(log m), m elements evicted.
query at most 2 combines; query_between O(log n). Space: n elements, at most as many nodes.

A B-tree with elements in all its nodes. What a node's total covers depends on where the node is, so that a change
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
  6. counts[v] is the number of elements that the total covers; a total of 0 elements is undefined.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce
from itertools import pairwise
from operator import itemgetter
from typing import Any

from sash.aggregates.base import P
from sash.algorithms.base import About, SlideCost, SpaceCost
from sash.algorithms.finger_tree import (
    INNER,
    LEFT,
    LINKS,
    MIN_ARITY,
    NOTHING,
    RIGHT,
    ROOT,
    SLOTS,
    FingerTree,
    Time,
    in_order,
)

time_of = itemgetter(0)


class FiBA(FingerTree[P]):
    """A B-tree searched and repaired from its two ends.

    >>> from sash import agg
    >>> window = FiBA(agg.concat())
    >>> for time, letter in ((10, "a"), (40, "d"), (20, "b"), (30, "c")):
    ...     window.insert(letter, time)
    >>> window.query(), window.query_between(20, 40)
    ('abcd', 'bc')
    >>> window.evict(before=25)
    >>> window.insert_many([(50, "f"), (35, "-")])
    >>> window.query()
    'c-df'
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
    interpreted_only = "FiBA is compiled only for whole columns of rows with times: Aggregator.slide(…, times=…)."

    def insert(self, partial: P, time: Time = None) -> None:
        """Add a partial after all partials of its time or older. Without a time it gets newest + 1, or 0 in an empty window."""
        if time is None:
            time = 0 if self.begin == self.end else next_time(self.newest)
        refuse_unordered(time)
        self.insert_at(partial, time)

    def insert_at(self, partial: P, time: Time) -> None:
        """Add a partial after all partials of its time or older."""
        node = self._find_leaf(time)
        self._put(node, time, partial)
        left = 0
        right = 0
        while self.roles[node] == INNER or self.sizes[node] == SLOTS:
            newer = 0
            if self.sizes[node] == SLOTS:
                newer = self._split(node)
            for number in range(2):
                half = node if number == 0 else newer
                if half != 0:
                    left = 1 if self.roles[half] == LEFT else left
                    right = 1 if self.roles[half] == RIGHT else right
                    if self.roles[half] == INNER:
                        self._refresh(half)
            node = self.parents[node]
        left = 1 if self.roles[node] == LEFT else left
        right = 1 if self.roles[node] == RIGHT else right
        self._refresh_spines(node, left, right)

    def insert_many(self, elements: Iterable[tuple[Time, P]]) -> None:
        """Add many partials with their times, in order of arrival: each node that changes is combined once."""
        ordered = sorted(elements, key=time_of)
        for time, _ in ordered:
            refuse_unordered(time)
        changed: list[set[int]] = [set()]
        """By level, the leaves first: the nodes whose totals change, besides those above an inner node."""
        leaf = 0
        for time, partial in ordered:
            leaf = self._find_leaf(time) if leaf == 0 else self._find_leaf_after(leaf, time)
            self._put(leaf, time, partial)
            self._split_upward(leaf, changed)
        tops: dict[int, int] = {}
        """By role, the highest node outside the inner ones that changes."""
        height = 0
        level = changed[0]
        while level:
            for node in level:
                if self.roles[node] == INNER:
                    self._refresh(node)
                else:
                    tops[self.roles[node]] = node
            above = {self.parents[node] for node in level if self.roles[node] == INNER}
            height += 1
            level = above | changed[height] if height < len(changed) else above
        for role, node in tops.items():
            self._refresh_spines(node, int(role == LEFT), int(role == RIGHT))

    def evict(self, before: Time = None) -> None:
        """Remove the oldest partial, or all partials whose time is less than `before`."""
        if before is None:
            self.evict_oldest()
        elif self.begin < self.end and self.oldest < before:
            top = self._cut(before)
            self._refresh_spines(top, 1, int(self.roles[top] == ROOT))
            self.begin = self.end - self._count()

    def evict_oldest(self) -> None:
        """Remove the oldest partial."""
        node = self.left_finger
        self._drop_first(node, 1)
        self.begin += 1
        top = self._repair(node, MIN_ARITY)
        right = 1 if self.roles[top] == ROOT else 0  # neighbours on the right spine are the root's children
        self._refresh_spines(top, 1, right)

    def query(self) -> P:
        """Combine the totals of the fingers and the root: at most 2 combines."""
        if self.children[self.root * LINKS] == 0:
            return self.totals[self.root]
        older = self.combine(self.totals[self.left_finger], self.totals[self.root])
        return self.combine(older, self.totals[self.right_finger])

    def query_between(self, start: Time, end: Time) -> P:
        """Return the ordered combination of the partials with start ≤ time < end: O(log n) combines."""
        total = self._total_between(self.root, start, end) if start < end else NOTHING
        if total is NOTHING:
            raise LookupError(
                f"The window has no element with a time in [{start}, {end}). Query an interval that holds one."
            )
        return total  # type: ignore[no-any-return]

    def oldest_time(self) -> Time:
        """Return the time of the oldest element; any time if there is none."""
        return self.times[self.left_finger * SLOTS]

    @property
    def oldest(self) -> Time:
        """The time of the oldest element."""
        return self.oldest_time()

    @property
    def newest(self) -> Time:
        """The time of the newest element."""
        return self.times[self.right_finger * SLOTS + self.sizes[self.right_finger] - 1]

    def _find_leaf(self, time: Time) -> int:
        """Climb from both fingers at once until one of them has the time's place below it, then go down to it."""
        left = self.left_finger
        node = self.right_finger
        while (
            self.roles[node] != ROOT
            and time < self.times[self.parents[node] * SLOTS + self.sizes[self.parents[node]] - 1]
        ):
            if time < self.times[self.parents[left] * SLOTS]:
                node = left
                break
            left = self.parents[left]
            node = self.parents[node]
        while self.children[node * LINKS] != 0:
            place = self._place_of(node, time)
            node = self.children[node * LINKS + place]
        return node

    def _find_leaf_after(self, leaf: int, time: Time) -> int:
        """Return the leaf for a time that is not older than those before a leaf: climb from it no higher than needed."""
        node = leaf
        while self.roles[node] in (INNER, LEFT):
            above = self.parents[node]
            place = self.children.index(node, above * LINKS) - above * LINKS
            if place < self.sizes[above] and time < self.times[above * SLOTS + place]:
                break
            node = above
        while self.children[node * LINKS] != 0:
            node = self.children[node * LINKS + self._place_of(node, time)]
        return node

    def _split_upward(self, leaf: int, changed: list[set[int]]) -> None:
        """Split a leaf if it is too wide, and those above it as needed; add what changes to its level."""
        node, height = leaf, 0
        changed[0].add(leaf)
        while self.sizes[node] == SLOTS:
            newer, above = self._split(node), self.parents[node]
            changed[height].update((node, newer))
            height += 1
            if height == len(changed):
                changed.append(set())
            changed[height].add(above)
            node = above

    def _repair(self, start: int, arity: int) -> int:
        """Widen a node of the left spine to an arity, and those above it as needed; return the highest that changed."""
        node = start
        least = arity
        while self.roles[node] == LEFT and self.sizes[node] + 1 < least:
            above = self.parents[node]
            neighbour = self.children[above * LINKS + 1]
            missing = least - 1 - self.sizes[node]
            self._take(node, neighbour, missing)
            if self.roles[neighbour] == INNER and self.sizes[neighbour] > 0:
                self._refresh(neighbour)
            node = above
            least = MIN_ARITY
        if self.roles[node] == ROOT and self.sizes[node] == 0 and self.children[node * LINKS] != 0:
            emptied = node
            node = self.children[emptied * LINKS]
            self.children[emptied * LINKS] = 0
            self._release(emptied)
            self.root = node
            self.roles[node] = ROOT
            self.parents[node] = 0
        return node

    def _cut(self, before: Time) -> int:
        """Drop all older elements along one path down to the new left finger; return the highest node that changed."""
        node = self.left_finger
        while self.roles[node] == LEFT and self.times[self.parents[node] * SLOTS] < before:
            node = self.parents[node]
        path = []
        while True:
            older = 0
            while older < self.sizes[node] and self.times[node * SLOTS + older] < before:
                older += 1
            is_leaf = self.children[node * LINKS] == 0
            for number in range(0 if is_leaf else older):
                self._release(self.children[node * LINKS + number])
            self._drop_first(node, older)
            path.append(node)
            if is_leaf:
                break
            node = self.children[node * LINKS]
            self.roles[node] = LEFT
        self.left_finger = node
        # From the top down, make a parent one wider than the minimum: then the next node has a neighbour to borrow from.
        tops = [self._repair(one, MIN_ARITY + (self.children[one * LINKS] != 0)) for one in path]
        return self.root if self.roles[tops[0]] == ROOT or self.parents[tops[0]] == 0 else tops[0]

    def _count(self) -> int:
        ends = (self.left_finger, self.right_finger) if self.children[self.root * LINKS] else ()
        return self.counts[self.root] + sum(self.counts[finger] for finger in ends)

    def _total_between(self, node: int, start: Time, end: Time) -> Any:
        """Combine the elements below a node in [start, end), where None is no bound: one path for each bound."""
        if start is None and end is None and self.roles[node] == INNER:
            return self.totals[node]
        elements, children = self.elements_of(node), self.children_of(node)
        first = 0 if start is None else sum(time < start for time, _ in elements)
        last = len(elements) if end is None else sum(time < end for time, _ in elements)
        below = [
            self._total_between(child, start if place == first else None, end if place == last else None)
            for place, child in enumerate(children[first : last + 1], first)
        ]
        parts = in_order(below, [value for _, value in elements[first:last]])
        return reduce(self.combine, [part for part in parts if part is not NOTHING] or [NOTHING])

    def _check(self) -> None:
        assert self.parents[self.root] == 0
        times = [time for time, _ in self._elements_below(self.root)]
        assert not any(newer < older for older, newer in pairwise(times))
        assert len(times) == self._count() == len(self)
        depths = self._check_node(self.root, ROOT, [])
        assert len(depths) == 1


def refuse_unordered(time: Time) -> None:
    """Raise ValueError for NaN, which has no place in an order."""
    if time != time:  # noqa: PLR0124
        raise ValueError(f"The time {time!r} cannot be ordered. Pass comparable times.")


def next_time(newest: Time) -> Time:
    """Return the time of a row without a time. Raise ValueError if times are not numbers."""
    try:
        return newest + 1
    except TypeError as error:
        raise ValueError(
            f"The newest time is {newest!r}, which is not a number, so there is no next time. Pass a time for every row."
        ) from error
