"""The queries of Nexmark in process: a RecordBatchReader whose batches are computed as they are read, and Sash's queries over it."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Mapping
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from benchmarks.engines.job import write_lines
from benchmarks.engines.nexmark.events import DELAY, EVENTS, PLACES, AuctionEvents, columns_of, name_of
from benchmarks.engines.nexmark.queries import TIMES, SiteJob, SiteQuery
from benchmarks.nexmark import sash_queries as sash

BATCH = 10_000
"""Events of all kinds whose rows are a record batch."""
WARM = 4_800_000
"""Events after which everything is compiled that will be: it depends on the rows of all runs together."""
MOMENT = pa.timestamp("ms")
LATE = f"{DELAY}ms"


def table_of(events: AuctionEvents, table: str, n: Any, names: Collection[str]) -> pa.RecordBatch:
    """Return columns, and the time, of those of the events with the numbers n that are in a table."""
    begin, end = PLACES[table]
    place = n - n // EVENTS * EVENTS
    n = n[(place >= begin) & (place < end)]
    columns = {name: pa.array(values) for name, values in columns_of(table, n, set(names) - {"name"}).items()}
    if "name" in names:
        columns["name"] = pa.array(map(name_of, columns["id"].to_pylist()), pa.string())
    return pa.record_batch({**{name: columns[name] for name in names}, "dateTime": pa.array(events.time_of(n), MOMENT)})


def people_and_auctions(events: AuctionEvents, n: Any) -> pa.RecordBatch:
    """Return both tables as one: a row without a name is an auction."""
    came = table_of(events, "person", n, ["id", "name"])
    opened = table_of(events, "auction", n, ["seller"])
    both = {
        "person": pa.concat_arrays([came["id"], opened["seller"]]),
        "name": pa.concat_arrays([came["name"], pa.nulls(len(opened), pa.string())]),
        "dateTime": pa.concat_arrays([came["dateTime"], opened["dateTime"]]),
    }
    return pa.record_batch(both)


def rows_of(query: SiteQuery, events: AuctionEvents, begin: int, end: int) -> pa.RecordBatch:
    """Return the rows that a query reads, of some events."""
    n = np.arange(begin, end, dtype=np.int64)
    both = len(query.tables) > 1
    return people_and_auctions(events, n) if both else table_of(events, query.tables[0], n, query.reads)


def arriving(job: SiteJob) -> pa.RecordBatchReader:
    """Return the rows of all events, batch by batch."""
    schema = rows_of(job.query, job.events, 0, EVENTS).schema

    def batches() -> Iterator[pa.RecordBatch]:
        for begin in range(0, job.events.count, BATCH):
            yield rows_of(job.query, job.events, begin, min(begin + BATCH, job.events.count))

    return pa.RecordBatchReader.from_batches(schema, batches())


def hot_items(rows: pa.RecordBatchReader) -> pa.RecordBatchReader:
    """Answer query 5: one stream after another."""
    counts, hottest = sash.hot_items_queries("10s", "2s", LATE)
    return hottest.run(counts.run(rows))


def new_sellers(rows: pa.RecordBatchReader) -> Iterator[pa.RecordBatch]:
    """Answer query 8: of the people of each period, those who came and opened an auction."""
    for batch in sash.new_sellers_query(LATE).run(rows):
        yield batch.filter((pc.field("opened") > 0) & pc.field("name").is_valid())


ANSWERS: Mapping[int, Callable[[pa.RecordBatchReader], Any]] = {
    5: hot_items,
    7: lambda rows: sash.highest_bid_query(LATE).run(rows),
    8: new_sellers,
    11: lambda rows: sash.bids_of_session_query(LATE).run(rows),
    12: lambda rows: sash.bids_of_period_query(LATE).run(rows),
}
"""By the number of the query."""


@cache
def warm(query: SiteQuery) -> None:
    """Answer many events, and let results go."""
    for _ in ANSWERS[query.number](arriving(SiteJob(query, AuctionEvents(WARM)))):
        pass


def run(job: SiteJob) -> float:
    """Return the seconds of a job."""
    if not job.results:
        warm(job.query)
    start = time.perf_counter()
    results = ANSWERS[job.query.number](arriving(job))
    if job.results:
        write_lines((line for batch in results for line in lines_of(job.query, batch)), job.results)
    else:
        for _ in results:
            pass
    return time.perf_counter() - start


def lines_of(query: SiteQuery, batch: Any) -> Iterator[list[Any]]:
    """Yield results, as a table or a batch, as lines of the CSV."""
    columns = [batch[name].cast(MOMENT).cast("int64") if name in TIMES else batch[name] for name in query.columns]
    yield from (list(line) for line in zip(*(column.to_pylist() for column in columns), strict=True))
