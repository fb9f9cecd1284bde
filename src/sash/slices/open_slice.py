"""Slices that rows go into, written as algorithms are, so that they are compiled as those are."""

from __future__ import annotations

from sash.aggregates.base import Aggregate, P
from sash.algorithms.base import About, Algorithm, Column


class OpenSlice(Algorithm[P]):
    """The rows since the last edge, combined: one partial, read at any time, begun anew when it is closed."""

    about = About(
        name="open_slice",
        title="Partial of the open slice",
        order="FIFO",
        amortised="1",
        worst="1",
        space="1",
        paper="Cutty (CIKM 2016)",
    )
    whole: P

    def insert(self, partial: P) -> None:
        """Add a row's partial."""
        if self.end == self.begin:
            self.whole = partial
        else:
            self.whole = self.combine(self.whole, partial)
        self.end += 1

    def evict(self) -> None:
        """Close the slice: the next row begins a new one."""
        self.begin = self.end

    def query(self) -> P:
        """Return the slice's partial, whether it is complete or not."""
        return self.whole

    def _check(self) -> None:
        assert self.begin <= self.end


class OpenSlices(Algorithm[P]):
    """The slices of many keys at once: a partial for each, by its place."""

    about = About(
        name="open_slices",
        title="Partials of open slices",
        order="FIFO",
        amortised="1",
        worst="1",
        space="n",
        paper="Cutty (CIKM 2016)",
    )
    wholes: Column[P]
    held: Column[int]

    def __init__(self, aggregate: Aggregate[P], ranges: tuple[int, ...] = ()) -> None:
        super().__init__(aggregate, ranges)
        self.wholes = {}
        self.held = {place: 0 for place in range(max(ranges, default=0))}

    def insert_into(self, place: int, partial: P) -> None:
        """Add a row's partial to the slice at a place."""
        if self.held[place] == 0:
            self.wholes[place] = partial
        else:
            self.wholes[place] = self.combine(self.wholes[place], partial)
        self.held[place] += 1

    def _check(self) -> None:
        assert set(self.wholes) == {place for place, held in self.held.items() if held}
