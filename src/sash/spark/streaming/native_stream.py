"""NativeStream: a stream that Spark aggregates alone, with its own state; `strategy="native"` asks for it. Nothing goes to Python.

rows ──► groupBy(keys, window or session_window).agg(…) ──► results
"""

from __future__ import annotations

from datetime import timedelta

from pyspark.sql import DataFrame
from pyspark.sql.types import StructType

from sash.options import SparkStreamOptions
from sash.plan.query_spec import QuerySpec
from sash.plan.tree import Branch
from sash.spark.batch.native import in_own_windows
from sash.spark.private import with_watermark_delay
from sash.spark.spark_query import SparkQuery
from sash.spark.streaming.stream_query import check_lateness, check_time, read_delay, why_not_native_stream

ONLY = {"mode": "append", "late": "drop", "forget": None, "evolve": False, "state_from": None, "on_bad_time": "error"}
"""The options of Sash's own operator, with what Spark's does."""
UNUSED = {"ahead": "1d", "buckets": None, "metrics": None}
"""Further options that Spark's own operator does not have, with their defaults."""


class NativeStream(SparkQuery):
    """A query and its streaming DataFrame."""

    def __init__(self, query: QuerySpec, frame: DataFrame, options: SparkStreamOptions) -> None:
        check_time(query)
        super().__init__(query, frame, options)
        self.delay = read_delay(self.query, self.frame)
        check_lateness(self.query, self.delay)
        given = {**options, "late": options["late"] or "drop"}
        for name, value in (ONLY | UNUSED).items():
            if given[name] != value:
                raise ValueError(
                    f'run: {name}={given[name]!r} does not go with strategy="native": Spark\'s own operator does not have it. '
                    f"Leave out {name} or strategy."
                )
        if reason := why_not_native_stream(self):
            raise ValueError(f'run: strategy="native" does not fit: {reason.rstrip(".")}.')

    def run(self) -> DataFrame:
        """Return the results."""
        return in_own_windows(self)

    @property
    def results(self) -> StructType:
        """The columns of the result, with the watermark on the end of a window."""
        fields = super().results.fields
        delays = {"window_end": self.delay}
        return StructType([with_watermark_delay(field, delays.get(field.name)) for field in fields])

    def describe(self) -> Branch:
        """Return the branch of an explanation that says what Spark does."""
        keys = ", ".join([*self.query.by, "window"])
        leaves = {
            "watermark": f"{self.query.time}, {timedelta(milliseconds=self.delay)} behind the newest; Spark drops rows of closed "
            "windows, and counts them as numRowsDroppedByWatermark",
            "in SQL": f"groupBy({keys}), and the results of its aggregates",
            "state": "Spark's own: the partials of each key and open window",
            "results": "append: a window once, when the watermark has passed it",
            "in Python": "nothing",
        }
        return Branch("spark", ("a stream, native: it was asked for",), leaves)
