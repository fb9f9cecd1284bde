"""A case on a stream: as one on a frame, with rows that arrive in batches."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

from benchmarks.spark_batch.case import SparkCase

FEWEST_BATCHES = 2


@dataclass(frozen=True, kw_only=True)
class StreamCase(SparkCase):
    """A question on a stream. Its rows are those of a batch, and so are a contestant's: with fewer there are fewer keys."""

    batches: int = 6
    """So many after the first, which is not timed."""
    repeats: int = 2
    """Of the whole stream."""
    checked: int = 1_000

    def at_most(self, rows: int) -> Self:
        """Return the case with fewer rows, fewer keys and fewer batches."""
        few = {"rows": min(rows, self.rows), "checked": min(rows, self.checked)}
        return replace(self, **few, batches=min(FEWEST_BATCHES, self.batches))  # type: ignore[arg-type]
