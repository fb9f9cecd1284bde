"""The open slice as an algorithm, so that kernels compile it like one."""

from __future__ import annotations

from sash.aggregates.base import P
from sash.algorithms.base import About, Algorithm, SlideCost, SpaceCost


class OpenSlice(Algorithm[P]):
    """The rows since the last edge as one partial: readable at any time, empty again after a close."""

    about = About(
        name="open_slice",
        title="Partial of the open slice",
        amortised=SlideCost(1),
        worst=SlideCost(1),
        space=SpaceCost(0, "1"),
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
        """Close the slice. The next row begins a new one."""
        self.begin = self.end

    def query(self) -> P:
        """Return the partial of the slice, closed or open."""
        return self.whole

    def _check(self) -> None:
        assert self.begin <= self.end
