"""The queries in Sash: the same for frames and for streams."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 — as everyone calls it

import sash
from benchmarks.nexmark.data import Site
from sash import agg, window

LAST = 10
"""Auctions of a seller, in query 6."""
PERIOD = "10s"


def hot_items(length: str, slide: str, site: Site) -> DataFrame:
    """Answer query 5: the auction with the most bids in each window. Two queries, since what the first has counted is compared by the second.

    The second has a window for each end of a window of the first; it is closed on the right, since the end is its time.
    """
    counts = sash.Query({"num": agg.count()}, window.time(length, slide=slide), by="auction", time="dateTime")
    hottest = sash.Query(
        {"num": agg.max("num"), "auction": agg.arg_max("num", "auction")},
        window.tumbling(slide, closed="right"),
        time="window_end",
        order_by="auction",  # of auctions with as many bids, the first
    )
    return hottest.run(counts.run(site.bid)).select("window_end", "num", "auction")


def highest_bid(site: Site) -> DataFrame:
    """Answer query 7: the highest price in each period, and who bids it for what."""
    highest = {
        "price": agg.max("price"),
        "auction": agg.arg_max("price", "auction"),
        "bidder": agg.arg_max("price", "bidder"),
    }
    return sash.Query(highest, window.tumbling(PERIOD), time="dateTime").run(site.bid)


def new_sellers(site: Site) -> DataFrame:
    """Answer query 8: people who came and opened an auction in the same period, with both tables as one, since Sash does not join."""
    came = site.person.select(F.col("id").alias("person"), "name", "dateTime")
    opened = site.auction.select(F.col("seller").alias("person"), F.lit(None).cast("string").alias("name"), "dateTime")
    both = sash.Query(
        {"name": agg.max("name"), "opened": agg.count(where="name IS NULL")},
        window.tumbling(PERIOD),
        by="person",
        time="dateTime",
    )
    return both.run(came.unionByName(opened)).where("name IS NOT NULL AND opened > 0")


def mean_of_last(site: Site) -> DataFrame:
    """Answer query 6: what the last ten auctions of a seller sold for on average, after each of them."""
    means = sash.Query({"mean": agg.mean("price")}, window.rows(LAST), by="seller", time="expires", order_by="auction")
    return means.run(site.closed)


def bids_of_session(site: Site) -> DataFrame:
    """Answer query 11: how many bids people make while they are active."""
    return sash.Query({"num": agg.count()}, window.session(PERIOD), by="bidder", time="dateTime").run(site.bid)


def bids_of_period(site: Site) -> DataFrame:
    """Answer query 12 by event time: how many bids people make in each period."""
    return sash.Query({"num": agg.count()}, window.tumbling(PERIOD), by="bidder", time="dateTime").run(site.bid)
