"""Checks and times a case of Nexmark."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 — as everyone calls it

from benchmarks.nexmark.case import NexmarkCase, NexmarkStreamCase
from benchmarks.nexmark.data import Site, all_events, batches_of_events, watermark
from benchmarks.spark_batch.case import SparkContestant
from benchmarks.spark_batch.field import SparkField
from benchmarks.spark_streaming.field import StreamField


class NexmarkField(SparkField):
    """Contestants that answer a query over frames."""

    def __init__(self, case: NexmarkCase) -> None:
        self.span = case.seconds
        super().__init__(case)

    def rows_of(self, contestant: SparkContestant, rows: int) -> Site:  # noqa: ARG002 — all read the same tables
        """Return the tables."""
        return all_events(rows, self.span)


class NexmarkStreamField(StreamField):
    """Contestants that answer a query over streams."""

    def __init__(self, case: NexmarkStreamCase) -> None:
        self.span = case.seconds
        self._early = {one.name for one in case.contestants if one.is_early}
        super().__init__(case)

    def rows_of(self, contestant: SparkContestant, rows: int) -> Site:  # noqa: ARG002
        """Return all that arrives, as frames."""
        return batches_of_events(rows, self.span, self.batches, arrives=False)

    def arriving(self, contestant: SparkContestant, rows: int) -> Site:  # noqa: ARG002
        """Return the same as streams."""
        return batches_of_events(rows, self.span, self.batches, arrives=True)

    def passed(self, contestant: SparkContestant, answered: DataFrame, rows: int) -> DataFrame:
        """Return the answers that the watermark has passed when all has arrived."""
        time = "window_end" if "window_end" in answered.columns else "expires"
        last = watermark(rows, self.span, self.batches, contestant.readings)
        # Computed first: Spark 4.3 moves a filter of the end of sessions to before it has joined them, and cuts them.
        return answered.localCheckpoint().filter(F.unix_micros(time) <= last)

    def final(self, contestant: SparkContestant, rows: int) -> Callable[[DataFrame], DataFrame]:
        """Return what takes the final answers of those who give others, too."""
        if contestant.name not in self._early:
            return super().final(contestant, rows)
        return lambda batch: self.passed(contestant, batch, rows)

    def rows_in(self, contestant: SparkContestant, batch: Any) -> int:  # noqa: ARG002
        """Return the events of a batch: a join reads a table twice, and most queries do not read all tables."""
        return self.counted(contestant)
