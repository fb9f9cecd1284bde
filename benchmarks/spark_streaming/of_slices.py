"""The other way to answer a stream: Spark's own aggregation makes slices, and Sash combines those that are closed.

    rows ──► groupBy(key, window of a minute).agg(partials) ──► packed by bucket ──► transformWithState ──► results
             append mode: each slice once, when it is closed    as rows are

The partials are those with which the batch engine has slices made. A slice is closed by the very watermark that rows of its
time are late by; so what is late here is told by the watermark before.
"""

from __future__ import annotations

from unittest.mock import patch

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 — as everyone calls it

import sash
from benchmarks.spark_batch.sash_calls import AGGREGATES
from sash.engines.keeper import Keeper, Taken
from sash.engines.spark import streaming
from sash.engines.spark.bucket import Bucket
from sash.engines.spark.partials import sql_form
from sash.windows.base import Window

COLUMNS = pa.schema({"load": pa.float64()})
FIRST = 0
"""The watermark that Spark begins with."""


class PatientKeeper(Keeper):
    """Takes what comes at the watermark that it had, and then gives what is complete at the new one."""

    def take(self, table: pa.Table, watermark: int) -> Taken:
        """Return the results that are complete."""
        late = super().take(table, max(self.watermark, FIRST)).late
        return Taken(super().take(table.slice(0, 0), watermark).results, late)


class SliceBucket(Bucket):
    """A bucket to which slices come."""

    def _thaw(self, group: int, keeper: Keeper) -> int | None:
        keeper.__class__ = PatientKeeper
        return super()._thaw(group, keeper)


def combine_closed(windows: Window, slide: str, frame: DataFrame) -> DataFrame:
    """Return the windows of a stream, put together from slices as long as the slide."""
    forms = {name: sql_form(name, aggregate, COLUMNS, "", ()) for name, aggregate in AGGREGATES.items()}
    partials: dict[str, str] = {}
    merged = {}
    for name, form in forms.items():
        assert not isinstance(form, str), form
        partials |= form.expressions
        merged[name] = form.aggregate
    slices = frame.groupBy("household", F.window("ts", slide)).agg(
        *(F.expr(text).alias(name) for name, text in partials.items())
    )
    closed = slices.select("household", F.window_time("window").alias("ts"), *(F.col(f"`{name}`") for name in partials))
    with patch.object(streaming, "Bucket", SliceBucket):
        answered: DataFrame = sash.Query(merged, windows, by="household", time="ts").run(closed)
    return answered
