"""SlickDeque: one form for invertible aggregates, one for selective ones.

Shein, Chrysanthis, Labrinidis. SlickDeque: High Throughput and Low Latency Incremental Sliding-Window Aggregation.
EDBT 2018.

Order: first in, first out.
Invertible: 2 a slide for one range, 2q for q ranges, worst case too. Space: n + q.
Selective: fewer than 2 a slide amortised, n worst, for any number of ranges: queries only search. (Table 1 of the SlideSide
paper counts the search as q, and q·n at worst.) Space: 2 to 2n, the births included.

Invertible: a running answer per range over one shared column of partials.

    ┌───────┬─────┬─────┬─────┬─────┬─────┐
    │ begin │     │     │     │     │     │ end        answers = [e⊕f, c⊕d⊕e⊕f]  for lengths = [2, 4]
    └───────┴─────┴─────┴─────┴─────┴─────┘            the next row g: ⊕ g ⊖ e,  ⊕ g ⊖ c
        a     b     c     d     e     f

Selective (here max of 3 9 4 7 5 5): a deque of the rows that some window can still answer with.

         head                     tail
    ┌─────────┬─────────┬─────────┐
    │ 9 (row 1) 7 (row 3) 5 (row 5)            a new row drops those before it that lose to it;
    └─────────┴─────────┴─────────┘            the newest n rows answer with the first node born among them

Invariants:
  1. answers[k] = the newest min(lengths[k], len) partials; lengths ascend                               (invertible)
  2. births ascend from head to tail; the last is the newest row, end - 1                                (selective)
  3. nodes[k] is row births[k], and also the combination of all rows births[k - 1] + 1 … end - 1          (selective)
  4. found[k] is the last answer of the k-th range, where the next search begins                           (selective)
"""

from __future__ import annotations

from itertools import pairwise

from sash.aggregates.base import Aggregate, P
from sash.algorithms.base import About, Array, Column, SharedAlgorithm, SlideCost, SpaceCost, alike, is_newer, same

NO_LIMIT = 2**62


class SlickDequeInvertible(SharedAlgorithm[P]):
    """A running answer per range: each insert adds the newest partial and subtracts the one that leaves the range.

    >>> from sash import agg
    >>> window = SlickDequeInvertible(agg.sum(), ranges=(2, 3))
    >>> for amount in (5, 7, 1):
    ...     window.insert(amount)
    >>> window.query_last(2), window.query_last(3)
    (8, 13)
    """

    about = About(
        name="slickdeque",
        title="SlickDeque, invertible",
        needs="invertible",
        ranges="many",
        amortised=SlideCost(2),
        worst=SlideCost(2),
        amortised_many=SlideCost("2q"),
        space=SpaceCost(1, "n + q"),
        paper="SlickDeque (EDBT 2018)",
    )
    takes_nulls = True
    answers_any_length = False
    values: Column[P]
    answers: Array[P]
    lengths: Array[int]
    count: int

    def __init__(self, aggregate: Aggregate[P], ranges: tuple[int, ...] = ()) -> None:
        super().__init__(aggregate, ranges)
        self.lengths = sorted(set(ranges)) or [NO_LIMIT]
        self.count = len(self.lengths)
        self.answers = [None] * self.count  # type: ignore[list-item]  # read only after an insert has set them

    def insert(self, partial: P) -> None:
        """Update each range's answer: 1 combine and at most 1 inverse for each."""
        self.values[self.end] = partial
        held = self.end - self.begin
        for index in range(self.count):
            if held == 0:
                self.answers[index] = partial
            else:
                self.answers[index] = self.combine(self.answers[index], partial)
                if held >= self.lengths[index]:
                    leaving = self.values[self.end - self.lengths[index]]
                    self.answers[index] = self.inverse(self.answers[index], leaving)
        self.end += 1

    def evict(self) -> None:
        """Subtract the oldest partial from the answers that still hold it."""
        held = self.end - self.begin
        for index in range(self.count):
            if 1 < held <= self.lengths[index]:
                self.answers[index] = self.inverse(self.answers[index], self.values[self.begin])
        del self.values[self.begin]
        self.begin += 1

    def query_last(self, last: int) -> P:
        """Read the answer of the range `last`: no combine."""
        index = 0
        while self.lengths[index] < last:
            index += 1
        return self.answers[index]

    def query_range(self, number: int, last: int) -> P:  # noqa: ARG002 — the range has its own answer
        """Read the answer of the range with that number, without a search: no combine."""
        return self.answers[number]

    def _check(self) -> None:
        assert list(self.values) == list(range(self.begin, self.end))
        assert self.lengths == sorted(set(self.lengths))
        if self.values:
            for length, answer in zip(self.lengths, self.answers, strict=True):
                first = max(self.begin, self.end - length)
                assert alike(answer, self._combined(self.values, first, self.end))


class SlickDequeSelective(SharedAlgorithm[P]):
    """A deque of the rows that win against every row after them.

    >>> from sash import agg
    >>> window = SlickDequeSelective(agg.max())
    >>> for price in (3, 9, 4, 7, 5, 5):
    ...     window.insert(price)
    >>> window.query(), window.query_last(3)
    (9, 7)
    >>> [window.nodes[k] for k in range(window.head, window.tail)]
    [9, 7, 5]
    """

    about = About(
        name="slickdeque",
        title="SlickDeque, selective",
        needs="selective",
        ranges="many",
        amortised=SlideCost(2),
        worst=SlideCost("n"),
        amortised_many=SlideCost(2),
        space=SpaceCost(2, "2 to 2n"),
        paper="SlickDeque (EDBT 2018)",
    )
    one_aggregate = True  # the rows that one aggregate drops may be the results of another
    branches_on_data = True
    nodes: Column[P]
    births: Column[int]
    found: Array[int]
    head: int = 0
    tail: int = 0

    def __init__(self, aggregate: Aggregate[P], ranges: tuple[int, ...] = ()) -> None:
        super().__init__(aggregate, ranges)
        self.found = [0] * max(1, len(ranges))

    def insert(self, partial: P) -> None:
        """Drop the nodes that lose to the new one, then append it: fewer than 2 combines, amortised."""
        while self.head < self.tail and is_newer(
            self.combine(self.nodes[self.tail - 1], partial), self.nodes[self.tail - 1], partial
        ):
            self.tail -= 1
            del self.nodes[self.tail], self.births[self.tail]
        self.nodes[self.tail] = partial
        self.births[self.tail] = self.end
        self.tail += 1
        self.end += 1

    def evict(self) -> None:
        """Drop the head if it is the row that leaves: no combine."""
        if self.births[self.head] == self.begin:
            del self.nodes[self.head], self.births[self.head]
            self.head += 1
        self.begin += 1

    def query(self) -> P:
        """Return the head: no combine."""
        return self.nodes[self.head]

    def query_last(self, last: int) -> P:
        """Return the first node born among the newest `last` rows: no combine, log n steps."""
        low = self.head
        high = self.tail - 1
        while low < high:
            middle = (low + high) // 2
            if self.births[middle] < self.end - last:
                low = middle + 1
            else:
                high = middle
        return self.nodes[low]

    def query_range(self, number: int, last: int) -> P:
        """Return the same, found starting where the range found it before: fewer than 2 steps a slide, amortised."""
        first = min(max(self.found[number], self.head), self.tail - 1)
        while first > self.head and self.births[first - 1] >= self.end - last:  # no query after the last rows
            first -= 1
        while self.births[first] < self.end - last:
            first += 1
        self.found[number] = first
        return self.nodes[first]

    def _check(self) -> None:
        births = [self.births[k] for k in range(self.head, self.tail)]
        nodes = [self.nodes[k] for k in range(self.head, self.tail)]
        assert len(nodes) == len(self.nodes) == len(self.births)
        assert births == sorted(set(births))
        assert births[-1:] == ([self.end - 1] if self.begin < self.end else [])
        for older, newer in pairwise(nodes):
            assert same(self.combine(older, newer), older)
