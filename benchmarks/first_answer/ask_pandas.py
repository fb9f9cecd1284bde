"""The queries that pandas has a simple way for. It has no windows of time that slide by less than their length."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pandas as pd

FIVE = {"max": "max", "min": "min", "mean": "mean", "sd": "std", "n": "count"}


def load(folder: str) -> Any:
    """Read the rows."""
    return pd.read_feather(f"{folder}/rows.arrow")


def tumbling(rows: Any) -> Any:
    """Return the mean of each ten minutes."""
    return rows.groupby(["key", pd.Grouper(key="ts", freq="10min")]).agg(mean=("x", "mean"))


def last(rows: Any, length: int) -> Any:
    """Return the last rows of each key."""
    return rows.groupby("key")["x"].rolling(length, min_periods=1)


def sessions(rows: Any) -> Any:
    """Return count and maximum of the rows that follow each other within 30 s."""
    begins = rows.groupby("key")["ts"].diff() > pd.Timedelta("30s")
    return rows.groupby(["key", begins.groupby(rows["key"]).cumsum()]).agg(n=("x", "count"), max=("x", "max"))


def five(rows: Any) -> Any:
    """Return five aggregates of the last rows."""
    return last(rows, 1000).agg(list(FIVE.values())).rename(columns={value: name for name, value in FIVE.items()})


QUERIES: dict[str, Callable[[Any], Any]] = {
    "mean, tumbling": tumbling,
    "max over rows(1000)": lambda rows: last(rows, 1000).max().to_frame("max"),
    "mean over rows(100)": lambda rows: last(rows, 100).mean().to_frame("mean"),
    "max over 1h per row": lambda rows: rows.set_index("ts").groupby("key")["x"].rolling("1h").max().to_frame("max"),
    "count and max, sessions": sessions,
    "five over rows(1000)": five,
    "median over rows(1000)": lambda rows: last(rows, 1000).median().to_frame("median"),
}


def answer(name: str, rows: Any) -> Any:
    """Run a query."""
    return QUERIES[name](rows)


def columns(result: Any) -> dict[str, Any]:
    """Return the aggregates as NumPy's, NaN where there is none."""
    return {name: result[name].to_numpy(float) for name in result.columns}
