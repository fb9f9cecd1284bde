"""Reactive Aggregator: a circular buffer in FlatFAT's leaves, updated only by a query.

Tangwongsan, Hirzel, Schneider, Wu. General Incremental Sliding-Window Aggregation. PVLDB 8(7), 2015, section 5.

Order: ReactiveAggregator evicts any element, FifoReactiveAggregator the oldest. Laws: associative.
insert and evict no combine; query after m of them at most m(1 + ⌈log2(n/m)⌉) to update the tree (a resize or compact
between them counts as one more change of each element that it moves: amortised O(1)), then none, or at most
2 log2 n - 1 if the buffer is inverted. n is the capacity: at most 4 times the window, or the first one. Space: 2n.

    Six elements in a buffer of 8; e was evicted out of order and left the hole ⊥:

     [i]  [ ]  [c]  [d]  [⊥]  [f]  [g]  [h]          slot of place p at p mod n
      B         F                                    F = slot of begin, B = slot of the newest element

    B precedes F, so the buffer is inverted: suffix(F) ⊕ prefix(B) = (c ⊕ d ⊕ f ⊕ g ⊕ h) ⊕ i. Else it is aggregate().

Invariants:
  1. begin ≤ back ≤ end ≤ begin + capacity, a power of two; the slot of place p is p mod capacity
  2. T(v) = T(left(v)) ⊕ T(right(v)), where x ⊕ ⊥ = x = ⊥ ⊕ x, for every node v with no scheduled leaf below it
  3. changed[:changes] are the leaves that insert and evict wrote since the last query, each once
FIFO: back = end, a place is a stream position, and exactly the slots of begin to end - 1 are not ⊥.
General:
  4. filled[v] tells whether v is not ⊥; the leaves of begin and back - 1 are filled; `count` leaves are
  5. positions[s], the stream position of the element in slot s, ascends from begin to end - 1, the holes included
"""

from __future__ import annotations

from bisect import bisect_left
from functools import reduce
from itertools import pairwise

from sash.aggregates.base import Aggregate, P
from sash.algorithms.base import About, Array, SlideCost, SpaceCost, alike
from sash.algorithms.flatfat import FlatTree


class FifoReactiveAggregator(FlatTree[P]):
    """The form without ⊥ (section 5.2): begin and end tell which nodes have elements.

    >>> from sash import agg
    >>> window = FifoReactiveAggregator(agg.concat())
    >>> for letter in "abcdef":
    ...     window.insert(letter)
    >>> window.evict()
    >>> window.query()
    'bcdef'
    """

    about = About(
        name="reactive_aggregator_fifo",
        title="Reactive Aggregator, FIFO form",
        amortised=SlideCost("m(1 + log2(n/m)) + 2 log2 n"),
        worst=SlideCost("n"),
        space=SpaceCost(2),
        paper="FlatFAT (PVLDB 2015), section 5.2",
    )
    changed: Array[int]
    scheduled: Array[bool]
    changes: int
    smallest: int

    def __init__(self, aggregate: Aggregate[P], ranges: tuple[int, ...] = ()) -> None:
        super().__init__(aggregate, ranges)
        self.smallest = self.capacity

    def insert(self, partial: P) -> None:
        """Write the next leaf of the circular buffer, in a tree of twice the size if it is full: no combine."""
        if self.end - self.begin == self.capacity:
            self._resize(2 * self.capacity)
        leaf = self._leaf(self.end)
        self.tree[leaf] = partial
        self._schedule(leaf)
        self.end += 1

    def evict(self) -> None:
        """Step over the oldest leaf; halve the tree when it is less than a quarter full: no combine."""
        leaf = self._leaf(self.begin)
        self._schedule(leaf)
        self.begin += 1
        if 4 * (self.end - self.begin) < self.capacity and self.capacity > self.smallest:
            self._resize(self.capacity // 2)

    def query(self) -> P:
        """Update the tree, then read the root, or both ends of an inverted buffer."""
        return self._combine_to(self.end - 1)

    def _combine_to(self, newest: int) -> P:
        """Combine from begin to the place of the newest element (section 5.1.2)."""
        self._update()
        front = self.begin & (self.capacity - 1)
        back = newest & (self.capacity - 1)
        if back < front:
            return self._around(front, self.capacity, back + 1)
        return self.tree[1]

    def _schedule(self, leaf: int) -> None:
        """Record that a leaf changed."""
        if not self.scheduled[leaf]:
            self.scheduled[leaf] = True
            self.changed[self.changes] = leaf
            self.changes += 1

    def _update(self) -> None:
        """Compute the ancestors of all changed leaves, each once, level by level (algorithm 2, lines 3 to 9)."""
        leaves = 1
        while leaves < self.capacity:
            parents = 0
            for i in range(self.changes):
                node = self.changed[i]
                self.scheduled[node] = False
                if not self.scheduled[node >> 1]:
                    self.scheduled[node >> 1] = True
                    self._refresh(node >> 1, leaves)
                    self.changed[parents] = node >> 1
                    parents += 1
            self.changes = parents
            leaves <<= 1
        self.scheduled[1] = False
        self.changes = 0

    def _filled(self, node: int, leaves: int) -> bool:
        """Compare the node's slots with the occupied area between the front and the back pointer."""
        length = self.end - self.begin
        first = node * leaves - self.capacity
        starts_inside = (first - self.begin) & (self.capacity - 1) < length
        holds_the_front = (self.begin - first) & (self.capacity - 1) < leaves
        return starts_inside or (holds_the_front and length > 0)

    def _allocate(self, capacity: int) -> None:
        super()._allocate(capacity)
        self.changed = [0] * capacity
        self.scheduled = [False] * (2 * capacity)
        self.changes = 0

    def _resize(self, capacity: int) -> None:
        """Copy the elements to a tree of another size; the next query computes its inner nodes."""
        partials = [self.tree[self._leaf(position)] for position in range(self.begin, self.end)]
        self._allocate(capacity)
        for position, partial in enumerate(partials, self.begin):
            leaf = self._leaf(position)
            self.tree[leaf] = partial
            self._schedule(leaf)

    def _check(self) -> None:
        assert 0 <= self.end - self.begin <= self.capacity
        assert self.capacity & (self.capacity - 1) == 0
        self._check_nodes({self._leaf(position) for position in range(self.begin, self.end)})

    def _check_nodes(self, leaves_filled: set[int]) -> None:
        waiting = set(self.changed[: self.changes])
        assert len(waiting) == self.changes
        assert waiting == {node for node, is_scheduled in enumerate(self.scheduled) if is_scheduled}
        for height in range(self.capacity.bit_length()):
            for node in range(self.capacity >> height, 2 * self.capacity >> height):
                leaves = range(node << height, (node + 1) << height)
                if waiting.isdisjoint(leaves):
                    below = [self.tree[leaf] for leaf in leaves if leaf in leaves_filled]
                    assert self._filled(node, 1 << height) == bool(below)
                    assert not below or alike(self.tree[node], reduce(self.combine, below))


class ReactiveAggregator(FifoReactiveAggregator[P]):
    """The general form: ⊥ in the empty slots, so that any element can be evicted.

    >>> from sash import agg
    >>> window = ReactiveAggregator(agg.concat())
    >>> for letter in "abcdef":
    ...     window.insert(letter)
    >>> window.evict_at(2)
    >>> window.query()
    'abdef'
    """

    about = About(
        name="reactive_aggregator",
        title="Reactive Aggregator",
        order="evicts any",
        amortised=SlideCost("m(1 + log2(n/m)) + 2 log2 n"),
        worst=SlideCost("n"),
        space=SpaceCost(2),
        paper="FlatFAT (PVLDB 2015), section 5.1",
    )
    evicts_any = True
    filled: Array[bool]
    positions: Array[int]
    count: int = 0
    back: int = 0

    def insert(self, partial: P) -> None:
        """Write the next leaf; if the buffer is full compact it, or double it when more than ¾ is used: no combine."""
        if self.end - self.begin == self.capacity:
            self._resize(self.capacity if 4 * self.count <= 3 * self.capacity else 2 * self.capacity)
        leaf = self._leaf(self.end)
        self._put(leaf, partial, self.end)
        self.count += 1
        self.end += 1
        self.back = self.end

    def evict(self) -> None:
        """Put ⊥ in the place of the oldest element: no combine."""
        self._empty(self.begin)

    def evict_at(self, position: int) -> None:
        """Put ⊥ in the place of the element that was inserted as number `position`, counted from 0: no combine.

        Compacting moves elements, but they keep the order of their positions, so a binary search finds them.
        """
        places = range(self.begin, self.back)
        at = bisect_left(places, position, key=lambda place: self.positions[place & (self.capacity - 1)])
        place = self.begin + at
        leaf = self._leaf(place)
        if at == len(places) or self.positions[leaf - self.capacity] != position or not self.filled[leaf]:
            raise ValueError(
                f"Position {position} is not in the window: give one that was inserted and not evicted since."
            )
        self._empty(place)

    def query(self) -> P:
        """Update the tree, then read the root, or both ends of an inverted buffer."""
        return self._combine_to(self.back - 1)

    def __len__(self) -> int:
        """Return the number of partials in the window."""
        return self.count

    def _empty(self, place: int) -> None:
        leaf = self._leaf(place)
        self.filled[leaf] = False
        self._schedule(leaf)
        self.count -= 1
        while self.begin < self.end and not self.filled[self.capacity + (self.begin & (self.capacity - 1))]:
            self.begin += 1
        while self.begin < self.back and not self.filled[self.capacity + ((self.back - 1) & (self.capacity - 1))]:
            self.back -= 1
        self.back = max(self.back, self.begin)
        if 4 * self.count < self.capacity and self.capacity > self.smallest:
            self._resize(self.capacity // 2)

    def _filled(self, node: int, leaves: int) -> bool:  # noqa: ARG002 — stored, so the leaves are not needed
        return self.filled[node]

    def _is_hole(self, node: int) -> bool:
        return not self.filled[node]

    def _mark(self, node: int, filled: bool) -> None:
        self.filled[node] = filled

    def _allocate(self, capacity: int) -> None:
        super()._allocate(capacity)
        self.filled = [False] * (2 * capacity)
        self.positions = [0] * capacity

    def _resize(self, capacity: int) -> None:
        """Copy the elements without the holes to a tree of another size; compact it if it is the same size."""
        if capacity == self.capacity:
            self._compact()
            return
        leaves = [self._leaf(place) for place in range(self.begin, self.back)]
        kept = [(self.tree[leaf], self.positions[leaf - self.capacity]) for leaf in leaves if self.filled[leaf]]
        self._allocate(capacity)
        self.begin = self.end - len(kept)
        self.back = self.end
        for place, (partial, position) in enumerate(kept, self.begin):
            self._put(self._leaf(place), partial, position)

    def _compact(self) -> None:
        """Shift the elements over the holes, towards the back so that `end` stays the next stream position."""
        place = self.end
        for source in map(self._leaf, reversed(range(self.begin, self.back))):
            if self.filled[source]:
                place -= 1
                target = self._leaf(place)
                if target != source:
                    self._put(target, self.tree[source], self.positions[source - self.capacity])
                    self.filled[source] = False
                    self._schedule(source)
        self.begin = place
        self.back = self.end

    def _put(self, leaf: int, partial: P, position: int) -> None:
        self.tree[leaf] = partial
        self.filled[leaf] = True
        self.positions[leaf - self.capacity] = position
        self._schedule(leaf)

    def _check(self) -> None:
        assert self.begin <= self.back <= self.end <= self.begin + self.capacity
        places = [place for place in range(self.begin, self.back) if self.filled[self._leaf(place)]]
        assert len(places) == self.count == sum(self.filled[self.capacity :])
        assert not places or (places[0], places[-1]) == (self.begin, self.back - 1)
        stamps = [self.positions[place & (self.capacity - 1)] for place in range(self.begin, self.end)]
        assert all(earlier < later for earlier, later in pairwise(stamps))
        self._check_nodes({self._leaf(place) for place in places})
