"""Two-Stacks: a queue of two aggregating stacks, the back one as a single value (HammerSlide).

Hirzel, Schneider, Tangwongsan. Tutorial: Sliding-Window Aggregation Algorithms. DEBS 2017, figure 4.
Theodorakis, Koliousis, Pietzuch, Pirk. Hammer Slide. ADMS 2018, for the back stack's single value.

Order: first in, first out. Laws: associative.
insert 1 combine; evict amortised 1, worst n - 1 (the flip); query 1. At most 3 a slide, amortised. Space: 2n.

            front stack                 back stack
    ┌─────────────┬──────┬──────┐┌──────┬──────┬──────┐
    │   begin     │      │      ││ flip │      │      │ end
    └─────────────┴──────┴──────┘└──────┴──────┴──────┘
     suffix a⊕b⊕c   b⊕c     c          back = d⊕e⊕f
     (top of the stack)               (its only value)

Invariants:
  1. begin ≤ flip ≤ end
  2. suffixes[i] = values[i] ⊕ … ⊕ values[flip - 1]      for begin ≤ i < flip (Σ_F of every stack height)
  3. back = values[flip] ⊕ … ⊕ values[end - 1]           if flip < end (Σ_B)
"""

from __future__ import annotations

from sash.aggregates.base import P
from sash.algorithms.base import About, Algorithm, Column, SlideCost, SpaceCost, alike


class TwoStacks(Algorithm[P]):
    """A front stack of suffixes and a back stack that is one running value.

    >>> from sash import agg
    >>> window = TwoStacks(agg.concat())
    >>> for letter in "abc":
    ...     window.insert(letter)
    >>> window.evict()
    >>> window.insert("d")
    >>> window.query()
    'bcd'
    """

    about = About(
        name="two_stacks",
        title="Two-Stacks",
        amortised=SlideCost(3),
        worst=SlideCost("n"),
        space=SpaceCost(2),
        paper="Tutorial (DEBS 2017), HammerSlide (ADMS 2018)",
    )
    values: Column[P]
    suffixes: Column[P]
    back: P
    flip: int = 0

    def insert(self, partial: P) -> None:
        """Push on the back stack: 1 combine."""
        self.values[self.end] = partial
        self.back = partial if self.end == self.flip else self.combine(self.back, partial)
        self.end += 1

    def evict(self) -> None:
        """Pop from the front stack, flipping the back stack onto it if it is empty."""
        if self.begin == self.flip:
            self._flip()
        del self.values[self.begin], self.suffixes[self.begin]
        self.begin += 1

    def query(self) -> P:
        """Combine the tops of the two stacks: at most 1 combine."""
        if self.begin == self.flip:
            return self.back
        if self.flip == self.end:
            return self.suffixes[self.begin]
        return self.combine(self.suffixes[self.begin], self.back)

    def _flip(self) -> None:
        position = self.end - 1
        suffix = self.values[position]
        self.suffixes[position] = suffix
        while position > self.begin:
            position -= 1
            suffix = self.combine(self.values[position], suffix)
            self.suffixes[position] = suffix
        self.flip = self.end

    def _check(self) -> None:
        assert self.begin <= self.flip <= self.end
        for i in range(self.begin, self.flip):
            assert alike(self.suffixes[i], self._combined(self.values, i, self.flip))
        if self.flip < self.end:
            assert alike(self.back, self._combined(self.values, self.flip, self.end))
