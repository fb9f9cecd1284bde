"""Concatenation as an aggregate whose calls are recorded, and the bounds of trees that they are compared with."""

from __future__ import annotations

import math

from sash.aggregates.base import Aggregate

LETTERS = "".join(map(chr, range(0x4E00, 0x4E00 + 4000)))
"""Enough different letters that each element of a script has its own."""


class Concatenation:
    """Concatenates and remembers what it was called with: any swapped, lost or doubled element shows."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, str]] = []
        self.aggregate: Aggregate[str] = Aggregate(name="concat", lift=str, combine=self._combine)

    def _combine(self, older: str, newer: str) -> str:
        assert isinstance(older, str)
        assert isinstance(newer, str)
        self.calls.append((older, newer))
        return older + newer

    def count(self) -> int:
        """Return how many calls there were since the last time this was asked."""
        calls, self.calls = self.calls, []
        return len(calls)


def update_bound(capacity: int, changes: int) -> int:
    """Theorem 4.2 (ii)."""
    return changes * (1 + math.ceil(math.log2(capacity / changes))) if changes else 0


def log2(capacity: int) -> int:
    return capacity.bit_length() - 1
