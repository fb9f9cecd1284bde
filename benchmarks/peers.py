"""How the peers are called. Making their column is not timed; what they return is complete, not lazy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import bottleneck
import duckdb
import numbagg
import pandas as pd
import polars as pl
import pyarrow as pa

from benchmarks.case import Call
from benchmarks.column_case import ColumnContestant, Ranges, Values
from benchmarks.references import QUANTILE

Prepare = Callable[[str, Values, int], Call]

FEWER_ROWS = 300_000
NAMES = {"stddev": "std"}
SQL = {"mean": "avg(x)", "stddev": "stddev_samp(x)", "quantile": f"quantile_cont(x, {QUANTILE})"}
NUMBAGG = ("sum", "mean", "stddev")
BOTTLENECK = ("max", "min", "sum", "mean", "stddev", "median")


def call_pandas(aggregate: str, values: Values, length: int) -> Call:
    """Prepare Series.rolling."""
    series = pd.Series(values)
    method, arguments = NAMES.get(aggregate, aggregate), (QUANTILE,) if aggregate == "quantile" else ()
    return lambda: getattr(series.rolling(length, min_periods=1), method)(*arguments)


def call_polars(aggregate: str, values: Values, length: int) -> Call:
    """Prepare Series.rolling_…."""
    series = pl.Series(values)
    if aggregate == "quantile":
        return lambda: series.rolling_quantile(QUANTILE, "linear", window_size=length, min_samples=1)
    method = getattr(series, f"rolling_{NAMES.get(aggregate, aggregate)}")
    return lambda: method(length, min_samples=1)


def call_duckdb(aggregate: str, values: Values, length: int) -> Call:
    """Prepare a window function over an Arrow table, in the order of its rows; DuckDB uses all cores."""
    connection = duckdb.connect()
    connection.register("rows", pa.table({"x": values}))
    expression = SQL.get(aggregate, f"{aggregate}(x)")
    query = f"SELECT {expression} OVER (ROWS BETWEEN {length - 1} PRECEDING AND CURRENT ROW) FROM rows"  # noqa: S608
    # Not .arrow(): that is a reader, which has computed nothing yet.
    return lambda: connection.sql(query).to_arrow_table()


def call_bottleneck(aggregate: str, values: Values, length: int) -> Call:
    """Prepare bottleneck.move_…."""
    function: Any = getattr(bottleneck, f"move_{NAMES.get(aggregate, aggregate)}")
    options = {"ddof": 1} if aggregate == "stddev" else {}
    window = min(length, len(values))  # it takes none that is longer than the column
    return lambda: function(values, window, min_count=1, **options)


def call_numbagg(aggregate: str, values: Values, length: int) -> Call:
    """Prepare numbagg.move_…."""
    function: Any = getattr(numbagg, f"move_{NAMES.get(aggregate, aggregate)}")
    window = min(length, len(values))
    return lambda: function(values, window=window, min_count=1)


PEERS: dict[str, tuple[str, Prepare]] = {
    "pandas": ("pandas", call_pandas),
    "Polars": ("polars", call_polars),
    "DuckDB": ("duckdb", call_duckdb),
    "bottleneck": ("bottleneck", call_bottleneck),
    "numbagg": ("numbagg", call_numbagg),
}
LACKS = {
    "bottleneck": lambda aggregate: aggregate not in BOTTLENECK,
    "numbagg": lambda aggregate: aggregate not in NUMBAGG,
}


def rows_for(peer: str, aggregate: str, length: int) -> int | None:
    """Return how many rows a peer gets that would take most of the run, at 0.1 to 5 µs a row: its window slides too.

    >>> rows_for("DuckDB", "max", 16), rows_for("DuckDB", "max", 1 << 20), rows_for("pandas", "max", 16)
    (300000, 1179648, None)
    """
    if peer == "DuckDB" or (peer == "pandas" and aggregate in ("median", "quantile")):
        return max(FEWER_ROWS, length + length // 8)
    return None


def peers_of(aggregate: str, length: int) -> tuple[ColumnContestant, ...]:
    """Return every peer that has the aggregate built in.

    >>> [peer.name for peer in peers_of("max", 16)]
    ['pandas', 'Polars', 'DuckDB', 'bottleneck']
    """
    return tuple(
        ColumnContestant(
            name=name,
            prepare=_prepared(prepare, aggregate),
            answers=aggregate,
            package=package,
            rows=rows_for(name, aggregate, length),
        )
        for name, (package, prepare) in PEERS.items()
        if name not in LACKS or not LACKS[name](aggregate)
    )


def _prepared(prepare: Prepare, aggregate: str) -> Callable[[Values, Ranges], Call]:
    return lambda values, ranges: prepare(aggregate, values, ranges[0])


def apply_in_pandas(function: Callable[[Values], float], answers: str, length: int) -> ColumnContestant:
    """Return pandas' rolling.apply of a Python function over full windows, the one way to a user's own aggregate there."""
    rows = {16: 20_000, 1 << 10: 20_000, 1 << 16: 2_000}.get(length, 200)

    def prepare(values: Values, ranges: Ranges) -> Call:
        series = pd.Series(values)
        return lambda: series.rolling(ranges[0]).apply(function, raw=True)

    return ColumnContestant(
        name="pandas rolling.apply",
        prepare=prepare,
        answers=answers,
        role="beside",
        package="pandas",
        rows=rows,
        lead=length - 1,
    )
