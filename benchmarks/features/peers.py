"""The formulations of DuckDB and Polars, and Sash. Making their tables is not timed; what they return is complete."""

# ruff: noqa: S608 — the names in the SQL are our own

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import duckdb
import polars as pl
import pyarrow as pa

import sash
from benchmarks.case import Call
from benchmarks.features.case import NAMES, WINDOWS
from sash import agg, window

SQL = {"n": "count", "total": "sum", "mean": "avg", "peak": "max", "sd": "stddev_samp"}
WIDEST = max(WINDOWS.values())
BY_JOIN = f"""SELECT l.id, {
    ", ".join(
        f"{function}(e.amount) FILTER (e.ts > l.ts - INTERVAL {ticks} MICROSECONDS) AS {name}_{length}"
        for name, function in SQL.items()
        for length, ticks in WINDOWS.items()
    )
}
FROM labels AS l LEFT JOIN events AS e
    ON l.card = e.card AND e.ts <= l.ts AND e.ts > l.ts - INTERVAL {WIDEST} MICROSECONDS
GROUP BY l.id ORDER BY l.id"""
BY_FRAMES = f"""SELECT * FROM (
    SELECT id, {
    ", ".join(
        f'{function}(amount) OVER "{length}" AS {name}_{length}' for name, function in SQL.items() for length in WINDOWS
    )
}
    FROM (SELECT NULL AS id, card, ts, amount FROM events UNION ALL SELECT id, card, ts, NULL FROM labels)
    WINDOW {
    ", ".join(
        f'"{length}" AS (PARTITION BY card ORDER BY ts RANGE BETWEEN INTERVAL {ticks - 1} MICROSECONDS PRECEDING AND CURRENT ROW)'
        for length, ticks in WINDOWS.items()
    )
})
WHERE id IS NOT NULL ORDER BY id"""


def by_duckdb(text: str) -> Callable[[pa.Table, pa.Table], Call]:
    """Return how DuckDB runs a query over tables of its own."""

    def prepare(events: pa.Table, labels: pa.Table) -> Call:
        connection = duckdb.connect()
        for name, table in {"events": events, "labels": labels}.items():
            connection.register("given", table)
            connection.sql(f"CREATE TABLE {name} AS SELECT * FROM given")
            connection.unregister("given")
        return lambda: connection.sql(text).to_arrow_table()

    return prepare


def by_polars(answer: Callable[[pl.DataFrame, pl.DataFrame], pl.DataFrame]) -> Callable[[pa.Table, pa.Table], Call]:
    """Return how Polars runs a plan over frames of its own."""

    def prepare(events: pa.Table, labels: pa.Table) -> Call:
        frames: list[Any] = [pl.from_arrow(events), pl.from_arrow(labels)]
        return lambda: answer(*frames).to_arrow()

    return prepare


def together(events: pl.DataFrame, labels: pl.DataFrame) -> pl.LazyFrame:
    """Return events and labels in order of time; a label comes after events of equal time."""
    return pl.concat([events.lazy(), labels.lazy()], how="diagonal").sort("ts", maintain_order=True)


def by_rolling(events: pl.DataFrame, labels: pl.DataFrame) -> pl.DataFrame:
    """Return windows of Polars' `rolling` over events and labels together, one after the other."""
    rows = together(events, labels).collect()
    amount = pl.col("amount")
    made = labels.select("id").sort("id")
    for length, ticks in WINDOWS.items():
        rolled = rows.rolling("ts", period=f"{ticks}us", group_by="card", closed="right").agg(
            pl.col("id").last(), amount.count().alias(f"n_{length}"), amount.sum().alias(f"total_{length}"),
            amount.mean().alias(f"mean_{length}"), amount.max().alias(f"peak_{length}"), amount.std().alias(f"sd_{length}"),
        )  # fmt: skip
        # `last` skips no nulls: the id of an event is null.
        made = made.join(
            rolled.drop_nulls("id").drop("card", "ts").unique("id"), on="id", how="left", maintain_order="left"
        )
    return made


def by_rolling_over(events: pl.DataFrame, labels: pl.DataFrame) -> pl.DataFrame:
    """Return Polars' `rolling_…_by` of each card."""
    amount = pl.col("amount")
    columns = []
    for length, ticks in WINDOWS.items():
        period = f"{ticks}us"
        columns += [
            amount.is_not_null().cast(pl.Int64).rolling_sum_by("ts", period).over("card").alias(f"n_{length}"),
            amount.rolling_sum_by("ts", period).over("card").alias(f"total_{length}"),
            amount.rolling_mean_by("ts", period).over("card").alias(f"mean_{length}"),
            amount.rolling_max_by("ts", period).over("card").alias(f"peak_{length}"),
            amount.rolling_std_by("ts", period).over("card").alias(f"sd_{length}"),
        ]
    rows = together(events, labels).with_columns(columns)
    return rows.drop_nulls("id").sort("id").select("id", *NAMES).collect()


def by_join(events: pl.DataFrame, labels: pl.DataFrame) -> pl.DataFrame:
    """Return a join of labels and events of the same card, filtered and grouped."""
    amount, age = pl.col("amount"), pl.col("ts") - pl.col("ts_right")
    columns = []
    for length, ticks in WINDOWS.items():
        held = amount.filter(age < pl.duration(microseconds=ticks))
        columns += [
            held.count().alias(f"n_{length}"), held.sum().alias(f"total_{length}"), held.mean().alias(f"mean_{length}"),
            held.max().alias(f"peak_{length}"), held.std().alias(f"sd_{length}"),
        ]  # fmt: skip
    joined = labels.lazy().join(events.lazy(), on="card")
    fitting = joined.filter((age >= pl.duration()) & (age < pl.duration(microseconds=WIDEST)))
    made = fitting.group_by("id").agg(columns)
    counts = [pl.col(f"n_{length}").fill_null(0) for length in WINDOWS]
    return labels.lazy().select("id").join(made, on="id", how="left").sort("id").with_columns(counts).collect()


def query() -> sash.Query:
    """Return the question in Sash."""
    aggregates = {
        "n": agg.count("amount"), "total": agg.sum("amount"), "mean": agg.mean("amount"), "peak": agg.max("amount"),
        "sd": agg.stddev("amount"),
    }  # fmt: skip
    return sash.Query(aggregates, {length: window.time(length) for length in WINDOWS}, by="card", time="ts")


def by_sash(events: pa.Table, labels: pa.Table) -> Call:
    """Return the call of Sash."""
    asked = query()
    return lambda: asked.run(events, at=labels)
