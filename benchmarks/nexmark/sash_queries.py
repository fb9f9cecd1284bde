"""The queries in Sash: the same for frames and for streams. Those of streams in one process have a `lateness`; Spark has a watermark."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 — as everyone calls it

import sash
from benchmarks.nexmark.data import Site
from sash import agg, window

LAST = 10
"""Auctions of a seller, in query 6."""
PERIOD = "10s"


def hot_items_queries(length: str, slide: str, lateness: str | None = None) -> tuple[sash.Query, sash.Query]:
    """Return the two queries of query 5: what the first has counted is compared by the second.

    The second has a window for each end of a window of the first; it is closed on the right, since the end is its time.
    """
    counts = sash.Query(
        {"num": agg.count()}, window.time(length, slide=slide), by="auction", time="dateTime", lateness=lateness
    )
    hottest = sash.Query(
        {"num": agg.max("num"), "auction": agg.arg_max("num", "auction")},
        window.tumbling(slide, closed="right"),
        time="window_end",
        order_by="auction",  # of auctions with as many bids, the first
        lateness=lateness and "0s",
    )
    return counts, hottest


def hot_items(length: str, slide: str, site: Site) -> DataFrame:
    """Answer query 5: the auction with the most bids in each window."""
    counts, hottest = hot_items_queries(length, slide)
    return hottest.run(counts.run(site.bid)).select("window_end", "num", "auction")


def highest_bid_query(lateness: str | None = None) -> sash.Query:
    """Return query 7."""
    highest = {
        "price": agg.max("price"),
        "auction": agg.arg_max("price", "auction"),
        "bidder": agg.arg_max("price", "bidder"),
    }
    return sash.Query(highest, window.tumbling(PERIOD), time="dateTime", lateness=lateness)


def highest_bid(site: Site) -> DataFrame:
    """Answer query 7: the highest price in each period, and who bids it for what."""
    return highest_bid_query().run(site.bid)


def new_sellers_query(lateness: str | None = None) -> sash.Query:
    """Return query 8 over people and auctions as one table: auctions have no name. Its answers are the results that have both."""
    return sash.Query(
        {"name": agg.max("name"), "opened": agg.count(where="name IS NULL")},
        window.tumbling(PERIOD),
        by="person",
        time="dateTime",
        lateness=lateness,
    )


def new_sellers(site: Site) -> DataFrame:
    """Answer query 8: people who came and opened an auction in the same period, with both tables as one, since Sash does not join."""
    came = site.person.select(F.col("id").alias("person"), "name", "dateTime")
    opened = site.auction.select(F.col("seller").alias("person"), F.lit(None).cast("string").alias("name"), "dateTime")
    return new_sellers_query().run(came.unionByName(opened)).where("name IS NOT NULL AND opened > 0")


def mean_of_last(site: Site) -> DataFrame:
    """Answer query 6: what the last ten auctions of a seller sold for on average, after each of them."""
    means = sash.Query({"mean": agg.mean("price")}, window.rows(LAST), by="seller", time="expires", order_by="auction")
    return means.run(site.closed)


def bids_of_session_query(lateness: str | None = None) -> sash.Query:
    """Return query 11."""
    return sash.Query({"num": agg.count()}, window.session(PERIOD), by="bidder", time="dateTime", lateness=lateness)


def bids_of_session(site: Site) -> DataFrame:
    """Answer query 11: how many bids people make while they are active."""
    return bids_of_session_query().run(site.bid)


def bids_of_period_query(lateness: str | None = None) -> sash.Query:
    """Return query 12 by event time."""
    return sash.Query({"num": agg.count()}, window.tumbling(PERIOD), by="bidder", time="dateTime", lateness=lateness)


def bids_of_period(site: Site) -> DataFrame:
    """Answer query 12 by event time: how many bids people make in each period."""
    return bids_of_period_query().run(site.bid)
