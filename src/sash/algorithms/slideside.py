"""SlideSide: Two-Stacks for many ranges over one stream, in an invertible and a non-invertible form.

Theodorakis, Pietzuch, Pirk. SlideSide: A Fast Incremental Stream Processing Algorithm for Multiple Queries. EDBT 2020.

Order: first in, first out. Laws: associative, and invertible for the first form.
Invertible: 3 a slide for one range amortised, n worst (the suffix scan); q + 2 for q ranges. Space: 3n.
Non-invertible: 3 amortised, n worst. For q ranges, the narrowest r long: q + 1 + n/r, because a scan of up to n rows runs
every r rows; for aggregates like max it stops early and costs little (table 1 says q). Space: n + 1 (table 1: 2n).

Invertible: the stream is cut into laps as long as the widest range. A prefix scan runs along the lap (the back stack);
when the lap is full, a suffix scan over it (the front stack) answers the ranges that reach back into it.

               lap that is over             current lap
    ┌──────────┬──────────┬──────────┐┌──────────┬──────────┬──────────┐
    │  begin   │          │          ││   lap    │          │          │ end
    └──────────┴──────────┴──────────┘└──────────┴──────────┴──────────┘
      suffix a⊕b⊕c   b⊕c       c          prefix d    d⊕e       d⊕e⊕f

    newest 3: the prefix d⊕e⊕f;   newest 2: d⊕e⊕f ⊖ d;   newest 5: b⊕c ⊕ d⊕e⊕f

Non-invertible: no ⊖, so a suffix scan runs whenever the narrowest range would begin behind the last one (`flip`). It stops
as soon as a suffix does not change, because then no older one changes either.

Invariants:
  1. prefixes[i] = rows lap … i,  for max(lap, begin - 1) ≤ i < end        (invertible; backStack)
  2. suffixes[i] = rows i … lap - 1,  for begin ≤ i < lap                  (invertible; frontStack)
  3. partials[i] = rows i … flip - 1,  for begin ≤ i < flip; row i itself, for flip ≤ i < end       (non-invertible)
  4. back = rows flip … end - 1, if flip < end                             (non-invertible; HammerSlide's back value)
"""

from __future__ import annotations

from sash.aggregates.base import Aggregate, P
from sash.algorithms.base import About, Column, SharedAlgorithm, SlideCost, SpaceCost, alike, same


class SlideSideInvertible(SharedAlgorithm[P]):
    """A prefix scan along the current lap and a suffix scan of the lap before (algorithms 1 to 3).

    >>> from sash import agg
    >>> window = SlideSideInvertible(agg.sum(), ranges=(3, 4))
    >>> for value in (3, 4, 2, 8):
    ...     window.insert(value)
    >>> window.query_last(3), window.query_last(4)
    (14, 17)
    """

    about = About(
        name="slideside",
        title="SlideSide, invertible",
        needs="invertible",
        ranges="many",
        amortised=SlideCost(3),
        worst=SlideCost("n"),
        amortised_many=SlideCost("q + 2"),
        space=SpaceCost(3),
        paper="SlideSide (EDBT 2020)",
    )
    rows_behind = 1
    values: Column[P]
    prefixes: Column[P]
    suffixes: Column[P]
    lap: int = 0
    widest: int

    def __init__(self, aggregate: Aggregate[P], ranges: tuple[int, ...] = ()) -> None:
        super().__init__(aggregate, ranges)
        self.widest = max(ranges, default=1)

    def insert(self, partial: P) -> None:
        """Extend the prefix scan; where a lap is over, scan its suffixes and begin the next."""
        # Without announced ranges, a lap begins as soon as the lap before has left the window.
        if self.end - self.lap >= self.widest and self.begin >= self.lap and self.begin < self.end:
            self._scan_suffixes()
        if self.begin == self.end:
            self._forget_prefix_before_window()
            self.lap = self.end
        self.values[self.end] = partial
        self.prefixes[self.end] = (
            partial if self.end == self.lap else self.combine(self.prefixes[self.end - 1], partial)
        )
        self.end += 1

    def evict(self) -> None:
        """Forget the oldest row: no combine."""
        del self.values[self.begin]
        if self.begin < self.lap:
            del self.suffixes[self.begin]
        self._forget_prefix_before_window()
        self.begin += 1

    def query_last(self, last: int) -> P:
        """Combine or subtract two scans: at most 1 operation."""
        start = self.end - last
        whole = self.prefixes[self.end - 1]
        if start == self.lap:
            return whole
        if start > self.lap:
            return self.inverse(whole, self.prefixes[start - 1])
        return self.combine(self.suffixes[start], whole)

    def _scan_suffixes(self) -> None:
        self._forget_prefix_before_window()
        position = self.end - 1
        suffix = self.values[position]
        self.suffixes[position] = suffix
        del self.prefixes[position]
        while position > self.begin:
            position -= 1
            suffix = self.combine(self.values[position], suffix)
            self.suffixes[position] = suffix
            del self.prefixes[position]
        self.lap = self.end

    def _forget_prefix_before_window(self) -> None:
        if self.begin > self.lap:  # ⊖ reads the prefix one row before the window
            del self.prefixes[self.begin - 1]

    def _check(self) -> None:
        assert list(self.values) == list(range(self.begin, self.end))
        for i in range(self.begin, self.lap):
            assert alike(self.suffixes[i], self._combined(self.values, i, self.lap))
        if self.begin <= self.lap < self.end:
            for i in range(self.lap, self.end):
                assert alike(self.prefixes[i], self._combined(self.values, self.lap, i + 1))


class SlideSideNonInvertible(SharedAlgorithm[P]):
    """Two-Stacks overlaid for all ranges, with suffix scans that stop where nothing changes (section 3.2).

    >>> from sash import agg
    >>> window = SlideSideNonInvertible(agg.min(), ranges=(2, 4))
    >>> for value in (3, 1, 4, 2):
    ...     window.insert(value)
    >>> window.query_last(4), window.query_last(2)
    (1, 2)
    """

    about = About(
        name="slideside",
        title="SlideSide, non-invertible",
        ranges="many",
        amortised=SlideCost(3),
        worst=SlideCost("n"),
        amortised_many=SlideCost("q + 1 + n/r"),
        space=SpaceCost(1, "n + 1"),
        paper="SlideSide (EDBT 2020)",
    )
    branches_on_data = True
    partials: Column[P]
    back: P
    flip: int = 0

    def insert(self, partial: P) -> None:
        """Add to the back value: 1 combine."""
        self.partials[self.end] = partial
        self.back = partial if self.end == self.flip else self.combine(self.back, partial)
        self.end += 1

    def evict(self) -> None:
        """Forget the oldest row: no combine."""
        del self.partials[self.begin]
        self.begin += 1

    def query_last(self, last: int) -> P:
        """Combine a suffix with the back value: 1 combine, after a scan if the range begins behind the last one."""
        start = self.end - last
        if start > self.flip:
            self._scan_suffixes()
        if start == self.flip:
            return self.back
        if self.flip == self.end:
            return self.partials[start]
        return self.combine(self.partials[start], self.back)

    def _scan_suffixes(self) -> None:
        position = self.end - 1
        suffix = self.partials[position]
        while position > max(self.flip, self.begin):
            position -= 1
            suffix = self.combine(self.partials[position], suffix)
            self.partials[position] = suffix
        changing = position > self.begin
        while changing:
            position -= 1
            longer = self.combine(self.partials[position], self.back)
            changing = position > self.begin and not same(longer, self.partials[position])
            self.partials[position] = longer
        self.flip = self.end

    def _check(self) -> None:
        assert self.flip <= self.end
        assert list(self.partials) == list(range(self.begin, self.end))
        if self.begin <= self.flip < self.end:
            assert alike(self.back, self._combined(self.partials, self.flip, self.end))
