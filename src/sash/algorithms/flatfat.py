"""FlatFAT: the flat fixed-sized aggregator, a complete binary tree of partials in one array.

Tangwongsan, Hirzel, Schneider, Wu. General Incremental Sliding-Window Aggregation. PVLDB 8(7), 2015, section 4.
Shein, Chrysanthis, Labrinidis. FlatFIT. SSDBM 2017, section 2.2, for several ranges from one tree.

Order: first in, first out. Laws: associative.
insert amortised 1 combine, worst log2 n; evict none; query of any range at most 2 log2 n - 1. Growing combines nothing.
new n - 1; update of m places m(1 + ⌈log2(n/m)⌉); prefix and suffix log2 n; aggregate none. Space: 2n.
The paper updates all ancestors of a new leaf at once: log2 n. A query reads none that later leaves will change, so an insert
computes those that it completes, and aggregate, prefix or suffix the others, once after any number of inserts: log2 n.
(The papers' tables say log2 n a slide: they read the root, which is in order only while the buffer is not inverted.)
n is the capacity, a power of two, and stays at that of the largest window so far: the Reactive Aggregator shrinks again.

    Six elements d…i at the positions begin = 3 to end - 1 = 8, in a tree with capacity n = 8:

                        1                             root
              2                   3                   parent of v at v / 2
         4         5         6         7              children of v at 2v and 2v + 1
      8    9    10   11   12   13   14   15           leaf of slot s at n + s
     [i]  [ ]   [ ]  [d]  [e]  [f]  [g]  [h]          slot of position p at p mod n

    The buffer is inverted: d…i is suffix(slot of d) ⊕ prefix(slot of i) = (d ⊕ T(3)) ⊕ i.

Invariants:
  1. end - begin ≤ capacity, a power of two
  2. T(v) = T(left(v)) ⊕ T(right(v)), the paper's (4.1), for every node v whose leaves are all in the window;
     a query reads no others, and until `_refresh_postponed` the ancestors of the newest leaf that are not complete are out of date
  3. a node without any element written below it is never read: x ⊕ ⊥ = x while the first lap fills the leaves
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sash.aggregates.base import Aggregate, P
from sash.algorithms.base import About, SharedAlgorithm, SlideCost, SpaceCost, TreeAlgorithm, alike
from sash.algorithms.bit_words import lowest_one


class FlatTree(TreeAlgorithm[P]):
    """The paper's tree: its numbering, and the walks from a leaf to the root. The places of leaves count from 0."""

    def _leaf(self, position: int) -> int:
        return self.capacity + (position & (self.capacity - 1))

    def _filled(self, node: int, leaves: int) -> bool:
        """Tell whether a node with `leaves` leaves has an element below it; if not, it is the paper's ⊥."""
        raise NotImplementedError

    def _mark(self, node: int, filled: bool) -> None:
        """Store whether the node has an element below it, in subclasses that need it."""

    def _refresh(self, node: int, leaves: int) -> None:
        """Compute a node from its children, of `leaves` leaves each: T(v) = T(left(v)) ⊕ T(right(v))."""
        older_filled = self._filled(2 * node, leaves)
        newer_filled = self._filled(2 * node + 1, leaves)
        if older_filled and newer_filled:
            self.tree[node] = self.combine(self.tree[2 * node], self.tree[2 * node + 1])
        elif older_filled:
            self.tree[node] = self.tree[2 * node]
        elif newer_filled:
            self.tree[node] = self.tree[2 * node + 1]
        self._mark(node, older_filled or newer_filled)

    def _is_hole(self, node: int) -> bool:  # noqa: ARG002 — for subclasses with holes
        """Tell whether a node between the oldest and the newest element has no element below it."""
        return False

    def _node(self, start: int, leaves: int) -> int:
        """Return the node above `leaves` slots, a power of two, from `start`: (n + start) / leaves.

        A division would take half of the time of a query: the compiler can't know that it is by a power of two.
        """
        return (self.capacity + start) >> lowest_one(leaves)

    def _prefix(self, start: int, stop: int) -> P:
        """Combine the slots from `start`, a multiple of a power of two ≥ stop - start, to `stop - 1` (algorithm 3).

        Like `_suffix` it steps over the levels that add nothing: which do is hard to predict, so that testing each
        level for it took twice the time.
        """
        length = stop - start
        leaves = length & -length
        length -= leaves
        node = self._node(start + length, leaves)
        total = self.tree[node]
        while length > 0:
            leaves = length & -length
            length -= leaves
            node = self._node(start + length, leaves)
            is_hole = self._is_hole(node)
            if not is_hole:
                total = self.combine(self.tree[node], total)
        return total

    def _suffix(self, start: int, stop: int) -> P:
        """Combine the slots from `start` to before `stop`, a multiple of a power of two ≥ stop - start."""
        length = stop - start
        leaves = length & -length
        node = self._node(start, leaves)
        total = self.tree[node]
        length -= leaves
        while length > 0:
            leaves = length & -length
            node = self._node(stop - length, leaves)
            is_hole = self._is_hole(node)
            if not is_hole:
                total = self.combine(total, self.tree[node])
            length -= leaves
        return total

    def _around(self, start: int, split: int, stop: int) -> P:
        """Combine from the slot `start` to before `split`, and on from there, or from slot 0 after the last one."""
        older = self._suffix(start, split)
        if split == stop:
            return older
        newer = self._prefix(split & (self.capacity - 1), stop)
        return self.combine(older, newer)


class FlatFAT(FlatTree[P], SharedAlgorithm[P]):
    """A tree over the slots of a circular buffer; an insert updates the nodes that a query reads.

    >>> from sash import agg
    >>> window = FlatFAT(agg.concat())
    >>> for letter in "abcdef":
    ...     window.insert(letter)
    >>> window.evict()
    >>> window.query(), window.query_last(3)
    ('bcdef', 'def')
    """

    about = About(
        name="flatfat",
        title="FlatFAT",
        ranges="many",
        amortised=SlideCost("2 log2 n"),
        worst=SlideCost("3 log2 n"),
        amortised_many=SlideCost("1 + 2q log2 n"),
        space=SpaceCost(2),
        paper="FlatFAT (PVLDB 2015)",
    )
    settled: int = 0
    """The `end` at which all ancestors of the newest leaf were last up to date."""

    @classmethod
    def new(cls, aggregate: Aggregate[P], values: Sequence[P]) -> FlatFAT[P]:
        """Make a tree over the partials: n - 1 combines for n = a power of two (algorithm 1).

        >>> from sash import agg
        >>> FlatFAT.new(agg.concat(), "abcdefgh").prefix(6)
        'abcdefg'
        """
        made = cls(aggregate, (len(values),))
        made.end = len(values)
        made.settled = made.end
        made.update(range(len(values)), values)
        return made

    def update(self, places: Iterable[int], partials: Iterable[P]) -> None:
        """Overwrite m different places, each with its partial: at most m(1 + ⌈log2(n/m)⌉) combines (algorithm 2)."""
        changed = []
        for place, partial in zip(places, partials, strict=True):
            self.tree[self.capacity + place] = partial
            changed.append(self.capacity + place)
        leaves = 1
        while changed := sorted({node >> 1 for node in changed if node > 1}):
            for node in changed:
                self._refresh(node, leaves)
            leaves <<= 1

    def aggregate(self) -> P:
        """Return a[0] ⊕ … ⊕ a[n - 1]: no combine."""
        self._refresh_postponed()
        return self.tree[1]

    def prefix(self, place: int) -> P:
        """Return a[0] ⊕ … ⊕ a[place]: at most log2 n combines (algorithm 3)."""
        self._refresh_postponed()
        return self._prefix(0, min(place + 1, self.end))

    def suffix(self, place: int) -> P:
        """Return a[place] ⊕ … ⊕ a[n - 1]: at most log2 n combines."""
        self._refresh_postponed()
        return self._between(place, min(self.capacity, self.end))

    def insert(self, partial: P) -> None:
        """Write the leaf and compute the ancestors that it completes: 1 combine, amortised (algorithm 2 for m = 1)."""
        if self.end - self.begin == self.capacity:
            self._resize(2 * self.capacity)
        node = self._leaf(self.end)
        self.tree[node] = partial
        self.end += 1
        while node & 1 == 1 and node > 1:
            node >>= 1
            self.tree[node] = self.combine(self.tree[2 * node], self.tree[2 * node + 1])

    def evict(self) -> None:
        """Step over the oldest leaf: no combine, since no query reads a node that is not wholly in the window."""
        self.begin += 1

    def query_last(self, last: int) -> P:
        """Combine the fewest nodes that cover the newest `last` leaves: at most 2 log2 n - 1 combines."""
        oldest = (self.end - last) & (self.capacity - 1)
        newest = (self.end - 1) & (self.capacity - 1)
        return self._between(oldest, newest + 1)

    def _between(self, start: int, stop: int) -> P:
        """Combine the slots from `start` to `stop - 1`: a suffix and a prefix, of all or of neighbouring subtrees."""
        split = self.capacity if stop <= start else stop  # inverted, or a multiple of ever higher powers of two
        while split & (split - 1) > start:
            split &= split - 1
        return self._around(start, split, stop)

    def _refresh_postponed(self) -> None:
        """Compute the ancestors of the newest leaf that inserts have postponed."""
        node = self._leaf(self.end - 1)
        leaves = 1
        while node > 1 and self.settled < self.end:
            node >>= 1
            self._refresh(node, leaves)
            leaves <<= 1
        self.settled = self.end

    def _filled(self, node: int, leaves: int) -> bool:
        return self.end >= self.capacity or node * leaves < self.capacity + self.end

    def _resize(self, capacity: int) -> None:
        """Put two copies of the tree side by side, so that a position finds its leaf in one of them: no combine."""
        while self.capacity < capacity:
            tree = self.tree[:2]
            width = 1
            while width <= self.capacity:
                tree += 2 * self.tree[width : 2 * width]
                width *= 2
            self.tree = tree
            self.capacity *= 2

    def _check(self) -> None:
        assert 0 <= self.end - self.begin <= self.capacity
        assert self.capacity & (self.capacity - 1) == 0
        assert len(self.tree) == 2 * self.capacity
        for height in range(self.capacity.bit_length()):
            leaves = 1 << height
            for interval in range(-(-self.begin // leaves), self.end // leaves):
                first = self._leaf(interval * leaves)
                assert alike(self.tree[first >> height], self._combined(self.tree, first, first + leaves))
