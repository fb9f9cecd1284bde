"""The ten queries in Sash, and three more over streams."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import pyarrow as pa

import sash
from sash import agg, window

Question: TypeAlias = tuple[Mapping[str, Any], window.Window]
"""The aggregates and the window."""


def five() -> Mapping[str, Any]:
    """Return five aggregates."""
    return {
        "max": agg.max("x"),
        "min": agg.min("x"),
        "mean": agg.mean("x"),
        "sd": agg.stddev("x"),
        "n": agg.count("x"),
    }


def steepest() -> Any:
    """Return an aggregate as users write one: the steepest rise from a row to the next."""
    return sash.aggregate(
        "steepest",
        lift=lambda x: (x, x, 0.0),
        combine=lambda older, newer: (older[0], newer[1], max(older[2], newer[2], newer[0] - older[1])),
        lower=lambda rise: rise[2],
    )


QUESTIONS: dict[str, Callable[[], Question]] = {
    "max over 1h/1m": lambda: ({"max": agg.max("x")}, window.time("1h", slide="1m")),
    "mean, tumbling": lambda: ({"mean": agg.mean("x")}, window.tumbling("10m")),
    "max over rows(1000)": lambda: ({"max": agg.max("x")}, window.rows(1000)),
    "mean over rows(100)": lambda: ({"mean": agg.mean("x")}, window.rows(100)),
    "max over 1h per row": lambda: ({"max": agg.max("x")}, window.time("1h")),
    "count and max, sessions": lambda: ({"n": agg.count("x"), "max": agg.max("x")}, window.session("30s")),
    "five over 1h/1m": lambda: (five(), window.time("1h", slide="1m")),
    "five over rows(1000)": lambda: (five(), window.rows(1000)),
    "median over rows(1000)": lambda: ({"median": agg.median("x")}, window.rows(1000)),
    "user-written over rows(100)": lambda: ({"rise": steepest()("x")}, window.rows(100)),
}
"""By the names that all libraries have for them."""
STREAMED: dict[str, Callable[[], Question]] = {
    **QUESTIONS,
    "mode over rows(100)": lambda: ({"mode": agg.mode("x")}, window.rows(100)),
    "rank over rows(100)": lambda: ({"rank": agg.rank("x")}, window.rows(100)),
    "per_value over rows(100)": lambda: ({"each": agg.per_value("key", agg.sum("x"))}, window.rows(100)),
}
"""Those of streams: `mode` has no NumPy form, and `per_value` is never compiled."""


def load(folder: str) -> pa.Table:
    """Read the rows."""
    with pa.OSFile(f"{folder}/rows.arrow") as file:
        return pa.ipc.open_file(file).read_all()


def query_of(name: str) -> sash.Query:
    """Return a query, declared now."""
    aggregates, windows = STREAMED[name]()
    return sash.Query(aggregates, windows, by="key", time="ts")


def answer(name: str, rows: pa.Table) -> pa.Table:
    """Declare a query and run it."""
    return query_of(name).run(rows)


def columns(result: pa.Table) -> dict[str, Any]:
    """Return the aggregates as NumPy's, NaN where there is none."""
    names = [name for name in result.column_names if name not in ("key", "ts", "x", "window_start", "window_end")]
    return {name: _numbers(result[name]) for name in names}


def _numbers(column: pa.ChunkedArray) -> Any:
    """Return a column as NumPy's; the values of a map one after the other."""
    if pa.types.is_map(column.type):
        column = pa.chunked_array([chunk.items for chunk in column.chunks])
    return column.cast("float64").to_numpy()
