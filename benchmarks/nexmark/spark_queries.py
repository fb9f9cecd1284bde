"""The queries in Spark itself: the same for frames and for streams, but for query 6, which has a way for each."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import pandas as pd
from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812 — as everyone calls it

from benchmarks.nexmark.data import Site
from benchmarks.nexmark.sash_queries import LAST

PERIOD = "10 seconds"
START, END = "window.start AS window_start", "window.end AS window_end"


def hot_items(length: str, slide: str, site: Site) -> DataFrame:
    """Answer query 5 by two aggregations, the second over the windows of the first."""
    counts = site.bid.groupBy(F.window("dateTime", length, slide), "auction").agg(F.count("*").alias("num"))
    first_of_hottest = F.max(F.struct("num", -F.col("auction"))).alias("hottest")
    hottest = counts.groupBy("window").agg(first_of_hottest)
    return hottest.selectExpr(END, "hottest.num", "-hottest.col2 AS auction")


def highest_bid(site: Site) -> DataFrame:
    """Answer query 7 by one aggregation. Where two bids are the highest, it would take any of them."""
    highest = site.bid.groupBy(F.window("dateTime", PERIOD)).agg(
        F.max("price").alias("price"),
        F.max_by("auction", "price").alias("auction"),
        F.max_by("bidder", "price").alias("bidder"),
    )
    return highest.selectExpr(START, END, "price", "auction", "bidder")


def new_sellers_by_join(site: Site) -> DataFrame:
    """Answer query 8 as Nexmark does: aggregate both tables by window, and join them."""
    came = site.person.groupBy(F.window("dateTime", PERIOD), F.col("id").alias("person"), "name").agg(F.count("*"))
    opened = site.auction.groupBy(F.window("dateTime", PERIOD), F.col("seller").alias("person")).agg(
        F.count("*").alias("opened")
    )
    joined = came.join(opened, ["window", "person"])
    return joined.selectExpr("person", START, END, "name", "opened")


def new_sellers_by_union(site: Site) -> DataFrame:
    """Answer query 8 as Sash does: one aggregation over both tables."""
    came = site.person.select(F.col("id").alias("person"), "name", "dateTime")
    opened = site.auction.select(F.col("seller").alias("person"), F.lit(None).cast("string").alias("name"), "dateTime")
    both = came.unionByName(opened).groupBy(F.window("dateTime", PERIOD), "person")
    counted = both.agg(F.max("name").alias("name"), F.count_if(F.col("name").isNull()).alias("opened"))
    return counted.selectExpr("person", START, END, "name", "opened").where("name IS NOT NULL AND opened > 0")


def mean_of_last(site: Site) -> DataFrame:
    """Answer query 6 by a frame, which only batches have."""
    last = Window.partitionBy("seller").orderBy("expires", "auction").rowsBetween(1 - LAST, Window.currentRow)
    return site.closed.select("auction", "seller", "expires", F.avg("price").over(last).alias("mean"))


def mean_of_last_by_state(site: Site) -> DataFrame:
    """Answer query 6 on a stream by a function with a state for each seller: the last nine prices."""
    sellers = site.closed.groupBy("seller")
    return sellers.applyInPandasWithState(
        _means_of_seller,
        "auction long, seller long, expires timestamp, mean double",
        "prices binary",  # of an array, Spark 4.3 cannot read the type again in its workers
        "append",
        "NoTimeout",
    )


def _means_of_seller(seller: tuple[int], batches: Iterable[pd.DataFrame], state: Any) -> Iterator[pd.DataFrame]:
    """Yield the means of the rows of a batch. It answers at once: rows that come later and are older would make them wrong."""
    warnings.simplefilter("ignore", FutureWarning)  # which Spark's own worker causes, for every batch
    rows = pd.concat(batches).sort_values(["expires", "auction"])
    before = np.frombuffer(state.get[0] if state.exists else b"", np.int64)
    prices = np.concatenate((before, rows["price"].to_numpy()))
    sums = np.concatenate(([0], np.cumsum(prices)))
    ends = np.arange(len(before), len(prices)) + 1
    begins = np.maximum(ends - LAST, 0)
    state.update((prices[1 - LAST :].tobytes(),))
    means = (sums[ends] - sums[begins]) / (ends - begins)
    columns = {"auction": rows["auction"], "seller": seller[0], "expires": rows["expires"], "mean": means}
    yield pd.DataFrame(columns)


def bids_of_session(site: Site) -> DataFrame:
    """Answer query 11 by session_window."""
    session = F.session_window("dateTime", PERIOD).alias("window")
    return _counted(site.bid, session)


def bids_of_period(site: Site) -> DataFrame:
    """Answer query 12 by event time, by window."""
    return _counted(site.bid, F.window("dateTime", PERIOD))


def _counted(bids: DataFrame, window: Column) -> DataFrame:
    counted = bids.groupBy(window, "bidder").agg(F.count("*").alias("num"))
    return counted.selectExpr("bidder", START, END, "num")
