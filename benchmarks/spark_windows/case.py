"""A case of WindowBenchmark: one aggregate over the rows around each row, all rows in one order."""

from __future__ import annotations

from dataclasses import dataclass

from benchmarks.spark_batch.case import SparkCase


@dataclass(frozen=True, kw_only=True)
class AroundCase(SparkCase):
    """A frame around each row. `readings` of its contestants are the column that is aggregated."""

    rows: int = 256 * 1024

    @property
    def dtype(self) -> str:
        """The type of what is aggregated."""
        return {"v": "int32", "word": "string"}[self.contestants[0].readings]
