"""FlatFIT: the Flat and Fast Index Traverser.

Shein, Chrysanthis, Labrinidis. FlatFIT: Accelerated Incremental Sliding-Window Aggregation. SSDBM 2017, algorithm 1.

Order: first in, first out. Laws: associative.
One range: query 3 combines amortised, n - 1 worst (wReset). All ranges 1 … n: n - 1 a slide, the widest asked first.
Space: 2n. (Section 3.3 has up to n/2 more for the Positions stack. The places that a query comes through all have their
pointers changed on its way back, so on its way forth they can hold the stack.)

Each place of the window keeps a partial and a pointer: the partial covers the rows from here up to the pointer. A query
jumps along the pointers to the end, and makes each place that it came through point to the end for the next query:

    position      0      1      2      3      4      5      end
    pointers      1      4      3      4      5      6
    partials      a    b⊕c⊕d    c      d      e      f          the query from 1 visits 1, 4, 5:
                                                                answer = f; e⊕f is kept at 4; b⊕c⊕d ⊕ e⊕f

Invariants:
  1. partials[i] = the rows i ≤ j < pointers[i];  i < pointers[i] ≤ end     (Partials, Pointers)
  2. pointers[i] = i + 1 for every i > touched: those rows were not combined yet, so a query that starts there resets
     the whole window from its end backwards and needs no stack (wReset)
  3. while a query is on its way, pointers[i] of a place between the first and the last is the place before (Positions)
"""

from __future__ import annotations

from sash.aggregates.base import P
from sash.algorithms.base import About, Column, SharedAlgorithm, SlideCost, SpaceCost


class FlatFIT(SharedAlgorithm[P]):
    """A jump table over the window that each query leaves shorter for the next.

    >>> from sash import agg
    >>> window = FlatFIT(agg.concat())
    >>> for letter in "abcdef":
    ...     window.insert(letter)
    >>> window.query(), window.query_last(2)
    ('abcdef', 'ef')
    """

    about = About(
        name="flatfit",
        title="FlatFIT",
        ranges="many",
        amortised=SlideCost(3),
        worst=SlideCost("n"),
        amortised_many=SlideCost("n - 1 for all n ranges"),
        space=SpaceCost(2),
        paper="FlatFIT (SSDBM 2017)",
    )
    partials: Column[P]
    pointers: Column[int]
    touched: int = -1

    def insert(self, partial: P) -> None:
        """Write the newest place: no combine."""
        self.partials[self.end] = partial
        self.pointers[self.end] = self.end + 1
        self.end += 1

    def evict(self) -> None:
        """Forget the oldest place: no combine."""
        del self.partials[self.begin], self.pointers[self.begin]
        self.begin += 1

    def query_last(self, last: int) -> P:
        """Jump from the first of the newest `last` places to the end, then combine backwards."""
        start = self.end - last
        if start > self.touched:
            return self._window_reset(start)
        return self._jump(start)

    def _jump(self, start: int) -> P:
        # The first place is left as it is (in a single query it is the next to be evicted), and the last one already
        # points to the end: only those between are turned around.
        first = self.partials[start]
        place = self.pointers[start]
        if place == self.end:
            return first
        before = start
        pointer = self.pointers[place]
        while pointer != self.end:
            self.pointers[place] = before
            before = place
            place = pointer
            pointer = self.pointers[place]
        answer = self.partials[place]
        while before != start:
            place = before
            before = self.pointers[place]
            answer = self.combine(self.partials[place], answer)  # the paper's order, older part on the left
            self._point_to_end(place, answer)
        return self.combine(first, answer)

    def _window_reset(self, start: int) -> P:
        place = self.end - 1
        answer = self.partials[place]
        while place > start + 1:
            place -= 1
            answer = self.combine(self.partials[place], answer)
            self._point_to_end(place, answer)
        if place == start:
            return answer
        return self.combine(self.partials[start], answer)

    def _point_to_end(self, place: int, answer: P) -> None:
        self.partials[place] = answer
        self.pointers[place] = self.end
        self.touched = max(self.touched, place)

    def _check(self) -> None:
        assert list(self.partials) == list(self.pointers) == list(range(self.begin, self.end))
        for place, pointer in self.pointers.items():
            assert place < pointer <= self.end
            assert place <= self.touched or pointer == place + 1
