"""The naive twin of `sash.Aggregator`: a list of rows, from which the oracle recomputes every result."""

from __future__ import annotations

from typing import Any

from sash.aggregates.base import Aggregate
from sash.testing import recompute


class NaiveAggregator:
    """Rows by the number of their insertion. With ranges it holds as many as the longest one, counting those that are left."""

    def __init__(self, aggregate: Aggregate[Any], ranges: list[int] | None = None) -> None:
        self.aggregate = aggregate
        self.limit = max(ranges or [0])
        self.rows: dict[int, Any] = {}
        self.inserted = 0

    def insert(self, row: Any) -> None:
        """Add the newest row: a value, or a tuple of values."""
        if self.limit and len(self.rows) == self.limit:
            self.evict()
        self.rows[self.inserted] = row
        self.inserted += 1

    def slide(self, rows: list[Any], lengths: list[int]) -> dict[int, list[Any]]:
        """Add rows; before each, evict what is older than the longest range."""
        results: dict[int, list[Any]] = {length: [] for length in lengths}
        for row in rows:
            while len(self.rows) >= (self.limit or max(lengths)):
                self.evict()
            self.insert(row)
            for length in lengths:
                results[length].append(self.query(length))
        return results

    def evict(self, at: int | None = None) -> None:
        """Remove the oldest row, or the one that was inserted as number `at`."""
        del self.rows[min(self.rows) if at is None else at]

    def query(self, last: int | None = None) -> Any:
        """Return the result of all rows, or of the last ones."""
        held = list(self.rows.values())[-(last or len(self.rows)) :] if self.rows else []
        newest = held[-1:] if self.aggregate.inputs < 2 else list(held[-1]) if held else []
        if self.aggregate.result.of_newest and None in newest:
            return None
        return recompute(self.aggregate, held)

    def __len__(self) -> int:
        return len(self.rows)
