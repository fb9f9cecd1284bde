"""The other way to answer a stream: Spark's own aggregation makes slices, and Sash combines those that are closed.

    rows ──► groupBy(key, window of a minute).agg(partials) ──► packed by bucket ──► transformWithState ──► results
             append mode: each slice once, when it is closed    as rows are

The partials are those with which the batch engine has slices made.
"""

from __future__ import annotations

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 — as everyone calls it

import sash
from benchmarks.spark_batch.sash_calls import AGGREGATES
from sash.aggregates.sql import sql_form
from sash.windows import Window

COLUMNS = pa.schema({"load": pa.float64()})


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
    answered: DataFrame = sash.Query(merged, windows, by="household", time="ts").run(closed)
    return answered
