"""DABA: the De-Amortised Banker's Aggregator, in DABA Lite's layout of one value per row.

Tangwongsan, Hirzel, Schneider. Low-Latency Sliding-Window Aggregation in Worst-Case Constant Time. DEBS 2017.
The same authors. In-Order Sliding-Window Aggregation in Worst-Case Constant Time. VLDB Journal 2021 (DABA Lite).

Order: first in, first out. Laws: associative.
insert 3 combines, evict 2, query 1, all in the worst case. Space: n + 2.

Two-Stacks, but the flip is spread over the operations between two flips: each insert or evict moves one step.
The paper's pointers F ≤ L ≤ R ≤ A ≤ B ≤ E cut the window into sublists:

    begin        left       right      accum                      back, end
      F            L          R          A                          B, E
      │  to back   │ to right │  alone   │         to back           │  alone: none yet
      └─ a⊕b⊕…⊕f ──┴─── b ────┴─── c ────┴─ d⊕e⊕f ──── e⊕f ──── f ───┘

Invariants:
  1. begin ≤ left ≤ right ≤ accum ≤ back ≤ end
  2. partials[i] reaches from row i to: back (begin ≤ i < left and accum ≤ i < back), right (left ≤ i < right),
     i + 1 (right ≤ i < accum and back ≤ i < end)
  3. middle = rows right to back (aggRA), if left < right;   newest = rows back to end (aggB), if back < end
  4. right - left = accum - right, if left < right
  5. left - begin = (end - back) + 1, unless the window is empty: the finished rows are one more than the newest, so
     begin < left (the oldest row reaches to back), and when left gets to back the next flip has equal halves
"""

from __future__ import annotations

from sash.aggregates.base import P
from sash.algorithms.base import About, Algorithm, Column, SlideCost, SpaceCost, alike


class DABA(Algorithm[P]):
    """Two stacks whose flip takes one step with each insert and evict.

    >>> from sash import agg
    >>> window = DABA(agg.concat())
    >>> for letter in "abcd":
    ...     window.insert(letter)
    >>> window.evict()
    >>> window.query()
    'bcd'
    """

    about = About(
        name="daba",
        title="DABA (Lite)",
        amortised=SlideCost(6),
        worst=SlideCost(6),
        space=SpaceCost(1, "n + 2"),
        paper="DABA (DEBS 2017, VLDBJ 2021)",
    )
    partials: Column[P]
    middle: P
    newest: P
    left: int = 0
    right: int = 0
    accum: int = 0
    back: int = 0

    def insert(self, partial: P) -> None:
        """Append, and take one step of the flip: at most 3 combines."""
        self.partials[self.end] = partial
        self.newest = partial if self.back == self.end else self.combine(self.newest, partial)
        self.end += 1
        self._step()

    def evict(self) -> None:
        """Drop the oldest, and take one step of the flip: at most 2 combines."""
        del self.partials[self.begin]
        self.begin += 1
        self._step()

    def query(self) -> P:
        """Combine the front with the newest rows: at most 1 combine."""
        # The oldest row always reaches to back (invariant 5), so the front is one partial.
        if self.back == self.end:
            return self.partials[self.begin]
        return self.combine(self.partials[self.begin], self.newest)

    def _step(self) -> None:
        if self.begin == self.back:
            self.left = self.end
            self.right = self.end
            self.accum = self.end
            self.back = self.end
        else:
            if self.left == self.back:
                self._begin_flip()
            if self.left == self.right:
                self.left += 1
                self.right += 1
                self.accum += 1
            else:
                self._shrink()

    def _begin_flip(self) -> None:
        self.left = self.begin
        self.right = self.back
        self.accum = self.end
        self.back = self.end
        self.middle = self.newest

    def _shrink(self) -> None:
        self.partials[self.left] = self.combine(self.partials[self.left], self.middle)
        self.left += 1
        self.accum -= 1
        if self.accum < self.back - 1:
            self.partials[self.accum] = self.combine(self.partials[self.accum], self.partials[self.accum + 1])

    def _check(self) -> None:
        assert self.begin <= self.left <= self.right <= self.accum <= self.back <= self.end
        assert list(self.partials) == list(range(self.begin, self.end))
        if self.left < self.right:
            assert self.right - self.left == self.accum - self.right
        if self.begin < self.end:
            assert self.left - self.begin == (self.end - self.back) + 1
        if self.back < self.end:
            assert alike(self.newest, self._combined(self.partials, self.back, self.end))
        if self.left < self.right:
            done = self.accum + (self.accum < self.back)  # the first row after accum reaches to back
            assert alike(self.middle, self._combined(self.partials, self.right, done))
