"""The tables and queries of Nexmark in Flink. The queries are Nexmark's own, with the end of the window and without `extra`, and 12 by event time."""

# ruff: noqa: S608 — the names in the SQL are our own

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.engines.flink_sql import datagen, interval, where_results_go
from benchmarks.engines.nexmark.events import EVENTS, PLACES, TABLES, AuctionEvents, sql_of, sql_of_time
from benchmarks.engines.nexmark.queries import SiteQuery

TYPES = {"window_end": "TIMESTAMP(3)", "window_start": "TIMESTAMP(3)", "name": "STRING"}
"""Of columns that are not BIGINT."""
COUNTS = """SELECT auction, COUNT(*) AS num, window_start AS starttime, window_end AS endtime
  FROM TABLE(HOP(TABLE bid, DESCRIPTOR(`dateTime`), INTERVAL '2' SECOND, INTERVAL '10' SECOND))
  GROUP BY auction, window_start, window_end"""
SELECTS = {
    5: f"""SELECT AuctionBids.endtime, AuctionBids.auction, AuctionBids.num
FROM (
  {COUNTS}
) AS AuctionBids
JOIN (
  SELECT MAX(CountBids.num) AS maxn, CountBids.starttime, CountBids.endtime
  FROM (
  {COUNTS}
  ) AS CountBids
  GROUP BY CountBids.starttime, CountBids.endtime
) AS MaxBids
ON AuctionBids.starttime = MaxBids.starttime AND AuctionBids.endtime = MaxBids.endtime
  AND AuctionBids.num >= MaxBids.maxn""",
    7: """SELECT B1.`dateTime`, B.auction, B.bidder, B.price
FROM bid B
JOIN (
  SELECT MAX(price) AS maxprice, window_end AS `dateTime`
  FROM TABLE(TUMBLE(TABLE bid, DESCRIPTOR(`dateTime`), INTERVAL '10' SECOND))
  GROUP BY window_start, window_end
) B1
ON B.price = B1.maxprice
WHERE B.`dateTime` BETWEEN B1.`dateTime` - INTERVAL '10' SECOND AND B1.`dateTime`""",
    8: """SELECT P.endtime, P.id, P.name
FROM (
  SELECT id, name, window_start AS starttime, window_end AS endtime
  FROM TABLE(TUMBLE(TABLE person, DESCRIPTOR(`dateTime`), INTERVAL '10' SECOND))
  GROUP BY id, name, window_start, window_end
) P
JOIN (
  SELECT seller, window_start AS starttime, window_end AS endtime
  FROM TABLE(TUMBLE(TABLE auction, DESCRIPTOR(`dateTime`), INTERVAL '10' SECOND))
  GROUP BY seller, window_start, window_end
) A
ON P.id = A.seller AND P.starttime = A.starttime AND P.endtime = A.endtime""",
    11: """SELECT SESSION_END(B.`dateTime`, INTERVAL '10' SECOND), SESSION_START(B.`dateTime`, INTERVAL '10' SECOND),
  B.bidder, COUNT(*)
FROM bid B
GROUP BY B.bidder, SESSION(B.`dateTime`, INTERVAL '10' SECOND)""",
    12: """SELECT window_end, bidder, COUNT(*)
FROM TABLE(TUMBLE(TABLE bid, DESCRIPTOR(`dateTime`), INTERVAL '10' SECOND))
GROUP BY bidder, window_start, window_end""",
}
"""By the number of the query."""


def sources(events: AuctionEvents) -> Iterator[str]:
    """Yield the table of all events, and a view for each kind, as Nexmark has them."""
    yield f"""CREATE TEMPORARY TABLE events (
  n BIGINT, `dateTime` AS TO_TIMESTAMP_LTZ({sql_of_time(events.per_second)}, 3),
  WATERMARK FOR `dateTime` AS `dateTime` - {interval(events.delay)}
) WITH ({datagen(events.count)})"""
    for table in TABLES:
        begin, end = PLACES[table]
        columns = ", ".join(f"{expression} AS {name}" for name, expression in sql_of(table).items())
        yield f"""CREATE TEMPORARY VIEW {table} AS SELECT {columns}, `dateTime` FROM events
WHERE MOD(n, {EVENTS}) >= {begin} AND MOD(n, {EVENTS}) < {end}"""


def sink(query: SiteQuery, path: str) -> str:
    """Return the table of answers: nowhere, or CSV files."""
    columns = ", ".join(f"{name} {TYPES.get(name, 'BIGINT')}" for name in query.columns)
    return f"CREATE TEMPORARY TABLE results ({columns}) WITH ({where_results_go(path)})"
