"""How Polars and DuckDB are called. Making their table is not timed; what they return is complete, not lazy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import duckdb
import polars as pl
import pyarrow as pa

from benchmarks.case import Call
from benchmarks.windows import sql
from benchmarks.windows.case import TableContestant, TimeWindow, Windows

LOAD = pl.col("load")
STRIDE = 1 << 32
"""Between the slices of neighbouring households, in one number."""


def group_by_dynamic(events: pl.DataFrame, window: TimeWindow) -> pl.DataFrame:
    """Return Polars' own sliding windows; the offset makes it begin with the first window that holds the first row."""
    lead = -(-window.length // window.step) * window.step
    grouped = events.group_by_dynamic(
        "ts", every=window.slide or "", period=window.range, offset=f"-{lead}us", group_by="household", closed="left"
    )
    return grouped.agg(peak=LOAD.max(), mean=LOAD.mean(), sd=LOAD.std()).rename({"ts": "window_start"})


def by_slices(events: pl.DataFrame, window: TimeWindow) -> pl.DataFrame:
    """Return slices first, as in `sql.by_frames`, then windows of rows over all of them.

    A household and a slice are one number, and after each household are as many empty slices as a window is long: so
    one window slides over the whole column, from the newest slice to the oldest.
    """
    step, rest = window.step, window.length % window.step
    time = pl.col("ts").to_physical()
    number = time // step * 2 + (time % step >= rest).cast(pl.Int64) if rest else time // step
    width = window.length // step * (2 if rest else 1) + bool(rest)
    place = pl.col("place")
    slices = (
        events.lazy()
        .group_by(place=pl.col("household") * STRIDE + number)
        .agg(peak=LOAD.max(), n=pl.len().cast(float), total=LOAD.sum(), squares=(LOAD * LOAD).sum())
        .collect()
        .lazy()  # it is read three times
    )
    ends = slices.group_by(place // STRIDE).agg(first=place.min() - width + 1, last=place.max() + 1)
    places = ends.select(place=pl.int_ranges("first", "last")).explode("place")
    empty = places.join(slices, on="place", how="anti").with_columns(n=0.0, total=0.0, squares=0.0)
    n, total, squares = (pl.col(name).rolling_sum(width, min_samples=1) for name in ("n", "total", "squares"))
    windows = pl.concat([slices, empty], how="diagonal").sort("place", descending=True)
    windows = windows.with_columns(pl.col("peak").rolling_max(width, min_samples=1), n=n, total=total, squares=squares)
    windows = windows.filter((pl.col("n") > 0) & (place % 2 == 0) if rest else pl.col("n") > 0)
    start = place % STRIDE // (2 if rest else 1) * step
    mean = pl.col("total") / pl.col("n")
    distance = (pl.col("squares") - pl.col("total") * mean).clip(0) / (pl.col("n") - 1)
    return windows.select(
        household=place // STRIDE,
        window_start=start.cast(pl.Datetime("us")),
        peak="peak",
        mean=mean,
        sd=pl.when(pl.col("n") > 1).then(distance.sqrt()),
    ).collect()


def rolling(events: pl.DataFrame, window: TimeWindow) -> pl.DataFrame:
    """Return Polars' rolling groups."""
    grouped = events.rolling("ts", period=window.range, group_by="household", closed="right")
    return grouped.agg(peak=LOAD.max(), mean=LOAD.mean(), sd=LOAD.std())


def rolling_by(events: pl.DataFrame, window: TimeWindow) -> pl.DataFrame:
    """Return a column for each of Polars' rolling aggregates by time."""
    columns = {"peak": LOAD.rolling_max_by, "mean": LOAD.rolling_mean_by, "sd": LOAD.rolling_std_by}
    return events.with_columns(
        **{name: method("ts", window.range, closed="right").over("household") for name, method in columns.items()}
    )


def in_polars(
    name: str,
    call: Callable[[pl.DataFrame, TimeWindow], pl.DataFrame],
    windows: Windows,
    events: str,
    rows: int | None = None,
) -> TableContestant:
    """Return a way to call Polars."""

    def prepare(table: pa.Table, windows: Windows) -> Call:
        frame: Any = pl.from_arrow(table)
        (window,) = windows.values()
        return lambda: call(frame, window)

    return TableContestant(
        name=f"Polars {name}", prepare=prepare, windows=windows, events=events, package="polars", rows=rows
    )


def in_duckdb(
    name: str, query: Callable[[TimeWindow], str], windows: Windows, events: str, rows: int | None = None
) -> TableContestant:
    """Return a way to query DuckDB."""

    def prepare(table: pa.Table, windows: Windows) -> Call:
        connection = duckdb.connect()
        connection.register("events", table)
        (window,) = windows.values()
        return lambda: connection.sql(query(window)).to_arrow_table()

    return TableContestant(
        name=f"DuckDB {name}", prepare=prepare, windows=windows, events=events, package="duckdb", rows=rows
    )


A_TENTH, FEW = 1_000_000, 30_000
"""Rows, for those that would take most of the run: about half a minute, or an hour, for all."""


def per_window(windows: Windows, events: str) -> tuple[TableContestant, ...]:
    """Return every way to answer windows that slide."""
    return (
        in_polars("group_by_dynamic", group_by_dynamic, windows, events, A_TENTH),
        in_polars("slices", by_slices, windows, events),
        in_duckdb("slices doubled", sql.by_doubling, windows, events),
        in_duckdb("frames of slices", sql.by_frames, windows, events, A_TENTH),
        in_duckdb("copies", sql.by_copies, windows, events, FEW),
    )


def per_row(windows: Windows, events: str) -> tuple[TableContestant, ...]:
    """Return every way to answer windows per row."""
    return (
        in_polars("rolling", rolling, windows, events, A_TENTH if events == "by time" else None),
        in_polars("rolling_by", rolling_by, windows, events),
        in_duckdb("frames", sql.per_row, windows, events, A_TENTH),
    )
