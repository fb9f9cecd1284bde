"""Windows ≡ those of Polars, DuckDB and pandas on the same rows."""

from __future__ import annotations

import random
from datetime import datetime, timedelta
from functools import cache
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import sash
from sash import agg, window
from sash.algorithms.base import alike
from sash.windows import Window

AGGREGATES = {"top": agg.max("x"), "low": agg.min("x"), "total": agg.sum("x"), "last": agg.last("x")}
SQL = "max(x) AS top, min(x) AS low, sum(x) AS total, arg_max(x, n) AS last"
"""The values are whole and small, so that sums are exact; arg_max skips nulls, as last does."""
START = datetime(2024, 2, 28, 23, 40)  # noqa: DTZ001 — columns without a zone
CLOSED = ["right", "both", "left", "neither"]


@cache
def rows(*, ties: bool = True, nulls: bool = True, count: int = 2000) -> pa.Table:
    """Rows of three keys in order of time, most of them close to each other, some after a long gap; `n` numbers them."""
    chooser = random.Random(11)
    seconds, moments = 0, []
    for _ in range(count):
        seconds += chooser.choice([0, 0, 1, 7, 30, 60, 61, 400 if chooser.random() < 0.9 else 40_000]) + (not ties)
        moments.append(START + timedelta(seconds=seconds))
    values = [None if nulls and chooser.random() < 0.1 else float(chooser.randint(-50, 50)) for _ in range(count)]
    return pa.table(
        {
            "key": chooser.choices(["a", "b", "c"], k=count),
            "t": pa.array(moments, pa.timestamp("us")),
            "n": range(count),
            "x": pa.array(values, pa.float64()),
        }
    )


def ours(windows: Window, table: pa.Table | None = None, **given: Any) -> pa.Table:
    return sash.Query(AGGREGATES, windows, by="key", time="t", **given).run(rows() if table is None else table)


def assert_same(found: pa.Table, expected: pa.Table, *order: str) -> None:
    """Compare the columns of what was expected, row by row in an order."""
    expected = expected.sort_by([(name, "ascending") for name in order])
    found = found.sort_by([(name, "ascending") for name in order])
    assert len(found) == len(expected) > 0
    columns = expected.column_names
    for mine, theirs in zip(found.select(columns).to_pylist(), expected.to_pylist(), strict=True):
        assert alike(list(mine.values()), list(theirs.values())), f"{mine} instead of {theirs}"


def ask(sql: str, **tables: pa.Table) -> pa.Table:
    with duckdb.connect() as connection:
        for name, table in tables.items():
            connection.register(name, table)
        return connection.sql(sql).to_arrow_table()


# -- a result for each window -----------------------------------------------------------------------------------------


def joined(length: str, slide: str, offset: str = "0 minutes", step: str | None = None) -> str:
    """Windows as a join of rows with all windows that there could be."""
    step = step or length
    return f"""
        WITH spans AS (
            SELECT begins + INTERVAL {offset!r} AS window_start, begins + INTERVAL {offset!r} + ends AS window_end
            FROM (SELECT unnest(generate_series(
                     time_bucket(INTERVAL {slide!r}, TIMESTAMP '2024-02-26', TIMESTAMP '1970-01-01'),
                     (SELECT max(t) FROM data), INTERVAL {slide!r})) AS begins),
                 (SELECT to_microseconds(unnest(generate_series(
                     epoch_us(INTERVAL {step!r}), epoch_us(INTERVAL {length!r}), epoch_us(INTERVAL {step!r})))) AS ends))
        SELECT key, window_start, window_end, {SQL}
        FROM data JOIN spans ON t >= window_start AND t < window_end
        GROUP BY key, window_start, window_end"""


@pytest.mark.parametrize(
    ("chosen", "sql"),
    [
        (window.time("1h", slide="10m"), joined("1 hour", "10 minutes")),
        (window.time("1h", slide="25m", offset="3m"), joined("1 hour", "25 minutes", "3 minutes")),
        (window.tumbling("7m"), joined("7 minutes", "7 minutes")),
        (window.cumulative("2h", "20m"), joined("2 hours", "2 hours", step="20 minutes")),
    ],
    ids=["sliding", "offset", "tumbling", "cumulative"],
)
@pytest.mark.parametrize("slicing", ["auto", "none"])
def test_windows_equal_a_join_with_all_windows(chosen: Window, sql: str, slicing: str) -> None:
    assert_same(ours(chosen, slicing=slicing), ask(sql, data=rows()), "key", "window_start", "window_end")


@pytest.mark.parametrize(("length", "slide"), [("1h", "10m"), ("1h", "25m"), ("7m", "7m")])
def test_windows_equal_those_of_polars(length: str, slide: str) -> None:
    """But for those that begin more than a slide before a key's first row, which Polars leaves out."""
    grouped = pl.DataFrame(rows()).group_by_dynamic("t", every=slide, period=length, closed="left", group_by="key")
    column = pl.col("x")
    theirs = (
        grouped.agg(column.max().alias("top"), column.min().alias("low"), column.sum().alias("total"), column.count())
        .with_columns(pl.when(pl.col("x") > 0).then(pl.col("total")).alias("total"))  # Polars' sum of nothing is 0
        .rename({"t": "window_start"})
        .drop("x")
        .to_arrow()
    )
    found = pl.DataFrame(ours(window.time(length, slide=slide)))
    begun = pl.DataFrame(rows()).group_by("key").agg(pl.col("t").min().dt.truncate(slide).alias("first"))
    kept = found.join(begun, on="key").filter(pl.col("window_start") >= pl.col("first"))
    assert_same(kept.to_arrow(), theirs, "key", "window_start")


def test_sessions_equal_gaps_and_islands() -> None:
    sql = f"""
        WITH gaps AS (SELECT *, coalesce(t - lag(t) OVER w > INTERVAL 4 MINUTE, true) AS begins FROM data
                      WINDOW w AS (PARTITION BY key ORDER BY t, n)),
             islands AS (SELECT *, sum(begins::INT) OVER (PARTITION BY key ORDER BY t, n) AS island FROM gaps)
        SELECT key, min(t) AS window_start, max(t) + INTERVAL 4 MINUTE AS window_end, {SQL}
        FROM islands GROUP BY key, island"""
    assert_same(ours(window.session("4m")), ask(sql, data=rows()), "key", "window_start")


def test_every_so_many_rows_equal_a_frame_of_rows() -> None:
    frame = "OVER (PARTITION BY key ORDER BY t, n ROWS BETWEEN 9 PRECEDING AND CURRENT ROW)"
    sql = f"""
        SELECT key, window_start, window_end, top, total FROM (
            SELECT key, t AS window_end, first(t) {frame} AS window_start, max(x) {frame} AS top, sum(x) {frame} AS total,
                   n, row_number() OVER (PARTITION BY key ORDER BY t, n) AS number FROM data)
        WHERE number % 4 = 0 ORDER BY key, n"""
    found = ours(window.rows(10, slide=4))
    theirs = ask(sql, data=rows())
    assert_same(found, theirs, "key", "window_start", "window_end")


# -- a result for each row --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("chosen", "frame"),
    [
        (window.rows(10), "ROWS BETWEEN 9 PRECEDING AND CURRENT ROW"),
        (window.rows(1), "ROWS BETWEEN 0 PRECEDING AND CURRENT ROW"),
    ],
    ids=str,
)
def test_rows_equal_frames_of_rows(chosen: Window, frame: str) -> None:
    assert_same(ours(chosen), framed(frame, "t, n"), "n")


@pytest.mark.parametrize(
    ("closed", "oldest", "newest"),
    [
        ("right", "'299.999999 seconds' PRECEDING", "CURRENT ROW"),
        ("both", "'300 seconds' PRECEDING", "CURRENT ROW"),
        ("left", "'300 seconds' PRECEDING", "INTERVAL '0.000001 seconds' PRECEDING"),
        ("neither", "'299.999999 seconds' PRECEDING", "INTERVAL '0.000001 seconds' PRECEDING"),
    ],
)
def test_times_of_rows_equal_frames_of_a_range(closed: str, oldest: str, newest: str) -> None:
    expected = framed(f"RANGE BETWEEN INTERVAL {oldest} AND {newest}", "t")
    assert_same(ours(window.time("5m", closed=closed)), expected, "n")


def framed(frame: str, order: str) -> pa.Table:
    over = f"OVER (PARTITION BY key ORDER BY {order} {frame})"
    return ask(
        f"SELECT n, max(x) {over} AS top, min(x) {over} AS low, sum(x) {over} AS total, arg_max(x, n) {over} AS last FROM data",
        data=rows(),
    )


@pytest.mark.parametrize("closed", CLOSED)
def test_times_of_rows_equal_those_of_polars(closed: Any) -> None:
    column = pl.col("x")
    frame = pl.DataFrame(rows()).sort("key", "t", maintain_order=True)
    total = pl.when(column.count() > 0).then(column.sum()).alias("total")
    aggregates = [column.max().alias("top"), column.min().alias("low"), total, column.drop_nulls().last().alias("last")]
    theirs = frame.rolling("t", period="5m", closed=closed.replace("neither", "none"), group_by="key").agg(aggregates)
    assert_same(ours(window.time("5m", closed=closed)), theirs.with_columns(n=frame["n"]).to_arrow(), "n")


@pytest.mark.parametrize("least", [1, 4])
@pytest.mark.parametrize("closed", CLOSED)
def test_times_of_rows_equal_those_of_pandas(closed: str, least: int) -> None:
    """Without ties: a row's window holds its peers, and that of pandas only those before it."""
    table = rows(ties=False)
    rolling = table.to_pandas().set_index("t").groupby("key")["x"].rolling("5min", closed=closed, min_periods=least)
    expected = (
        rolling.agg(["max", "min", "sum"]).reset_index().rename(columns={"max": "top", "min": "low", "sum": "total"})
    )
    found = ours(window.time("5m", closed=closed, min_rows=least), table)
    assert_same(found, pa.Table.from_pandas(expected.astype({"t": "datetime64[us]"}), preserve_index=False), "key", "t")


@pytest.mark.parametrize("least", [1, 4])
def test_rows_equal_those_of_pandas(least: int) -> None:
    rolling = rows().to_pandas().groupby("key")["x"].rolling(10, min_periods=least)
    expected = rolling.agg(["max", "min", "sum"]).droplevel(0)
    expected.index.name = "n"
    renamed = expected.rename(columns={"max": "top", "min": "low", "sum": "total"}).reset_index()
    assert isinstance(renamed, pd.DataFrame)
    assert_same(ours(window.rows(10, min_rows=least)), pa.Table.from_pandas(renamed, preserve_index=False), "n")
