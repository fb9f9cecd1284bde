"""Subtract on evict: one running value; the inverse subtracts the partials that leave the window.

Hirzel, Schneider, Tangwongsan. Tutorial: Sliding-Window Aggregation Algorithms. DEBS 2017, figure 2.

Order: first in, first out. Laws: associative, invertible.
insert 1 combine; evict 1 inverse; query 0. 2 a slide, worst case too. Space: n.

    ┌───────┬─────┬─────┬─────┬─────┬─────┐
    │ begin │     │     │     │     │     │ end
    └───────┴─────┴─────┴─────┴─────┴─────┘
        a     b     c     d     e     f        total = a⊕b⊕c⊕d⊕e⊕f, and ⊖ a when a leaves

Invariants:
  1. total = values[begin] ⊕ … ⊕ values[end - 1]     if begin < end (the paper's agg)
"""

from __future__ import annotations

from sash.aggregates.base import P
from sash.algorithms.base import About, Algorithm, Column, SlideCost, SpaceCost, alike


class SubtractOnEvict(Algorithm[P]):
    """A running total that each evicted partial is subtracted from.

    >>> from sash import agg
    >>> window = SubtractOnEvict(agg.sum())
    >>> for amount in (5, 7, 1):
    ...     window.insert(amount)
    >>> window.evict()
    >>> window.query()
    8
    """

    about = About(
        name="subtract_on_evict",
        title="Subtract-on-Evict",
        needs="invertible",
        amortised=SlideCost(2),
        worst=SlideCost(2),
        space=SpaceCost(1),
        paper="Tutorial (DEBS 2017)",
    )
    values: Column[P]
    total: P

    def insert(self, partial: P) -> None:
        """Add to the total: 1 combine."""
        self.values[self.end] = partial
        # An empty window restarts the total, so that no identity is needed and no rounding outlives its window.
        self.total = partial if self.begin == self.end else self.combine(self.total, partial)
        self.end += 1

    def evict(self) -> None:
        """Subtract the oldest from the total: 1 inverse."""
        if self.end - self.begin > 1:
            self.total = self.inverse(self.total, self.values[self.begin])
        del self.values[self.begin]
        self.begin += 1

    def query(self) -> P:
        """Return the total."""
        return self.total

    def _check(self) -> None:
        assert list(self.values) == list(range(self.begin, self.end))
        if self.values:
            assert alike(self.total, self._combined(self.values, self.begin, self.end))
