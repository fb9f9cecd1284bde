"""The queries in DuckDB's SQL, each in the plain way to write it."""

from __future__ import annotations

from typing import Any

import duckdb

FIVE = {"max": "max(x)", "min": "min(x)", "mean": "avg(x)", "sd": "stddev_samp(x)", "n": "count(x)"}
MINUTE = 60_000_000


def hop(names: list[str]) -> str:
    """Return an hour each minute: each row is copied to all of its windows."""
    starts = f"unnest(range((epoch_us(ts) - {60 * MINUTE}) // {MINUTE} + 1, epoch_us(ts) // {MINUTE} + 1))"
    return f"SELECT {_chosen(names)} FROM (SELECT key, x, {starts} AS start FROM rows) GROUP BY key, start"  # noqa: S608


def last(length: int, aggregates: dict[str, str]) -> str:
    """Return aggregates of the last rows of each key."""
    chosen = ", ".join(f'{text} OVER w AS "{name}"' for name, text in aggregates.items())
    frame = f"PARTITION BY key ORDER BY ts ROWS BETWEEN {length - 1} PRECEDING AND CURRENT ROW"
    return f"SELECT {chosen} FROM rows WINDOW w AS ({frame})"  # noqa: S608


def _chosen(names: list[str]) -> str:
    return ", ".join(f'{FIVE[name]} AS "{name}"' for name in names)


HOUR = f"INTERVAL {60 * MINUTE - 1} MICROSECONDS"
"""Both ends of a frame are in it, so it is a microsecond shorter than the window."""
QUERIES = {
    "max over 1h/1m": hop(["max"]),
    "mean, tumbling": f"SELECT {_chosen(['mean'])} FROM rows GROUP BY key, time_bucket(INTERVAL 10 MINUTES, ts)",  # noqa: S608
    "max over rows(1000)": last(1000, {"max": FIVE["max"]}),
    "mean over rows(100)": last(100, {"mean": FIVE["mean"]}),
    "max over 1h per row": f"""SELECT max(x) OVER w AS "max" FROM rows
WINDOW w AS (PARTITION BY key ORDER BY ts RANGE BETWEEN {HOUR} PRECEDING AND CURRENT ROW)""",  # noqa: S608
    "count and max, sessions": f"""SELECT {_chosen(["n", "max"])} FROM (
  SELECT key, x, sum(coalesce(begins, false)::INT) OVER (PARTITION BY key ORDER BY ts) AS session FROM (
    SELECT *, ts - lag(ts) OVER (PARTITION BY key ORDER BY ts) > INTERVAL 30 SECONDS AS begins FROM rows))
GROUP BY key, session""",  # noqa: S608
    "five over 1h/1m": hop(list(FIVE)),
    "five over rows(1000)": last(1000, FIVE),
    "median over rows(1000)": last(1000, {"median": "median(x)"}),
}


def load(folder: str) -> Any:
    """Read the rows into a table of a database in memory."""
    connection = duckdb.connect()
    connection.execute(f"CREATE TABLE rows AS FROM '{folder}/parquet/rows.parquet'")
    return connection


def answer(name: str, connection: Any) -> dict[str, Any]:
    """Run a query."""
    found: dict[str, Any] = connection.sql(QUERIES[name]).fetchnumpy()
    return found


def columns(result: dict[str, Any]) -> dict[str, Any]:
    """Return the aggregates as NumPy's, NaN where there is none."""
    return {
        name: values.astype(float).filled(float("nan")) if hasattr(values, "filled") else values.astype(float)
        for name, values in result.items()
    }
