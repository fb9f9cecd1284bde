"""The tables of Nexmark on Spark: Parquet files, of which a micro-batch reads those of 100,000 events."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Mapping
from functools import cache, partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame

from benchmarks.engines.nexmark.events import TABLES, AuctionEvents
from benchmarks.engines.nexmark.queries import SiteJob
from benchmarks.engines.nexmark.sash_run import table_of
from benchmarks.nexmark import sash_queries as sash
from benchmarks.nexmark import spark_queries as spark
from benchmarks.nexmark.data import FILES_OF_A_BATCH, Site

EVENTS_OF_A_FILE = 50_000
WAYS: Mapping[str, Mapping[int, Callable[[Site], DataFrame]]] = {
    "sash": {
        5: partial(sash.hot_items, "10s", "2s"),
        7: sash.highest_bid,
        8: sash.new_sellers,
        11: sash.bids_of_session,
        12: sash.bids_of_period,
    },
    "spark": {
        5: partial(spark.hot_items, "10 seconds", "2 seconds"),
        7: spark.highest_bid,
        8: spark.new_sellers_by_join,
        11: spark.bids_of_session,
        12: spark.bids_of_period,
    },
}
"""By Sash and by Spark's own aggregation, the queries by their numbers."""


@cache
def written(events: AuctionEvents) -> Path:
    """Write the events, and return the folder."""
    folder = Path(tempfile.mkdtemp())
    size = min(EVENTS_OF_A_FILE, -(-events.count // FILES_OF_A_BATCH))
    for table in TABLES:
        (folder / table).mkdir()
        for number, begin in enumerate(range(0, events.count, size)):
            n = np.arange(begin, min(begin + size, events.count), dtype=np.int64)
            rows = pa.Table.from_batches([table_of(events, table, n, TABLES[table])])
            times = rows["dateTime"].cast(pa.timestamp("us", "UTC"))
            file = folder / table / f"{number:06}.parquet"
            pq.write_table(rows.set_column(rows.column_names.index("dateTime"), "dateTime", times), file)
            os.utime(file, (number, number))  # Spark takes files in order of their age
    return folder


def answers(way: str, job: SiteJob) -> DataFrame:
    """Return the answers to a query, as a stream. The session is there."""
    return WAYS[way][job.query.number](Site(written(job.events), arrives=True))
