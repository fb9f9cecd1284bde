"""The queries that Polars has a simple way for."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl

X = pl.col("x")
FIVE = {"max": X.max(), "min": X.min(), "mean": X.mean(), "sd": X.std(), "n": X.count()}


def load(folder: str) -> pl.DataFrame:
    """Read the rows."""
    return pl.read_ipc(Path(folder, "rows.arrow").read_bytes())


def hop(rows: pl.DataFrame, aggregates: dict[str, Any]) -> pl.DataFrame:
    """Return an hour each minute; the offset makes it begin with the first window that holds the first row."""
    windows = rows.group_by_dynamic("ts", every="1m", period="1h", offset="-1h", group_by="key", closed="left")
    return windows.agg(**aggregates)


def last(rows: pl.DataFrame, **aggregates: pl.Expr) -> pl.DataFrame:
    """Return aggregates of the last rows of each key."""
    return rows.select(**{name: expression.over("key") for name, expression in aggregates.items()})


def sessions(rows: pl.DataFrame) -> pl.DataFrame:
    """Return count and maximum of the rows that follow each other within 30 s."""
    begins = (pl.col("ts").diff() > pl.duration(seconds=30)).fill_null(value=False)
    session = begins.cum_sum().over("key").alias("session")
    return rows.group_by("key", session).agg(n=X.count(), max=X.max())


def five(rows: pl.DataFrame) -> pl.DataFrame:
    """Return five aggregates of the last rows."""
    size: dict[str, Any] = {"window_size": 1000, "min_samples": 1}
    return last(
        rows,
        max=X.rolling_max(**size),
        min=X.rolling_min(**size),
        mean=X.rolling_mean(**size),
        sd=X.rolling_std(**size),
        n=X.is_not_null().cast(pl.Float64).rolling_sum(**size),
    )


QUERIES: dict[str, Callable[[pl.DataFrame], pl.DataFrame]] = {
    "max over 1h/1m": lambda rows: hop(rows, {"max": FIVE["max"]}),
    "mean, tumbling": lambda rows: rows.group_by_dynamic("ts", every="10m", group_by="key").agg(mean=X.mean()),
    "max over rows(1000)": lambda rows: last(rows, max=X.rolling_max(1000, min_samples=1)),
    "mean over rows(100)": lambda rows: last(rows, mean=X.rolling_mean(100, min_samples=1)),
    "max over 1h per row": lambda rows: last(rows, max=X.rolling_max_by("ts", "1h", closed="right")),
    "count and max, sessions": sessions,
    "five over 1h/1m": lambda rows: hop(rows, FIVE),
    "five over rows(1000)": five,
    "median over rows(1000)": lambda rows: last(rows, median=X.rolling_median(1000, min_samples=1)),
}


def answer(name: str, rows: pl.DataFrame) -> pl.DataFrame:
    """Run a query."""
    return QUERIES[name](rows)


def columns(result: pl.DataFrame) -> dict[str, Any]:
    """Return the aggregates as NumPy's, NaN where there is none."""
    names = [name for name in result.columns if name not in ("key", "ts", "session")]
    return {name: result[name].cast(pl.Float64).to_numpy() for name in names}
