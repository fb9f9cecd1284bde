"""Recalculate from scratch: keep the window, combine all of it at every query.

Hirzel, Schneider, Tangwongsan. Tutorial: Sliding-Window Aggregation Algorithms. DEBS 2017, figure 1.

Order: first in, first out. Laws: associative. insert and evict 0 combines; query n - 1. Space: n.
The baseline of every comparison, and the fastest for windows of a few rows.

    ┌───────┬─────┬─────┬─────┬─────┬─────┐
    │ begin │     │     │     │     │     │ end
    └───────┴─────┴─────┴─────┴─────┴─────┘
        a     b     c     d     e     f        query_last(3) = d⊕e⊕f

Invariants:
  1. values holds exactly the positions begin ≤ i < end
"""

from __future__ import annotations

from sash.aggregates.base import P
from sash.algorithms.base import About, Column, SharedAlgorithm, SlideCost, SpaceCost


class Recalculate(SharedAlgorithm[P]):
    """All partials of the window, combined again at each query.

    >>> from sash import agg
    >>> window = Recalculate(agg.max())
    >>> for price in (9, 1, 3):
    ...     window.insert(price)
    >>> window.query(), window.query_last(2)
    (9, 3)
    """

    about = About(
        name="recalculate",
        title="Recalculate from scratch",
        ranges="many",
        amortised=SlideCost("n - 1"),
        worst=SlideCost("n - 1"),
        amortised_many=SlideCost("q(n - 1)"),
        space=SpaceCost(1),
        paper="Tutorial (DEBS 2017)",
    )
    values: Column[P]

    def insert(self, partial: P) -> None:
        """Keep the newest partial."""
        self.values[self.end] = partial
        self.end += 1

    def evict(self) -> None:
        """Drop the oldest partial."""
        del self.values[self.begin]
        self.begin += 1

    def query_last(self, last: int) -> P:
        """Combine the newest `last` partials: last - 1 combines."""
        position = self.end - last
        answer = self.values[position]
        while position < self.end - 1:
            position += 1
            answer = self.combine(answer, self.values[position])
        return answer

    def _check(self) -> None:
        assert list(self.values) == list(range(self.begin, self.end))
