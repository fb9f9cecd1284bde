"""The questions, in the words of each library: the way that its documentation shows first."""

# ruff: noqa: S608 — the names in the SQL are our own

from __future__ import annotations

from datetime import timedelta

import numpy as np
import pandas as pd
import polars as pl

import sash
from benchmarks.questions.case import QueryArguments, TableQuestion
from benchmarks.questions.in_pandas import of_rows, of_time
from benchmarks.workloads.data import readings
from sash import agg, window

LOAD, PLUG = pl.col("load"), pl.col("plug")
THREE = {"peak": agg.max("load"), "mean": agg.mean("load"), "sd": agg.stddev("load")}
THREE_IN_SQL = "max(load) {over} AS peak, avg(load) {over} AS mean, stddev_samp(load) {over} AS sd"
THREE_IN_PANDAS = {"peak": ("load", "max"), "mean": ("load", "mean"), "sd": ("load", "std")}
THREE_OF_A_GROUP = {"peak": LOAD.max(), "mean": LOAD.mean(), "sd": LOAD.std()}
LONG, SHORT, FRAME = 1_000, 100, 200
HOUR, SLIDE, GAP = timedelta(hours=1), timedelta(minutes=5), timedelta(minutes=2)
MICROSECOND = timedelta(microseconds=1)


def _by_row(frame: pd.DataFrame, answers: pd.DataFrame) -> pd.DataFrame:
    """Return answers per row with the id of the row."""
    return pd.DataFrame({"id": frame["id"], **answers})


def _rows(length: int, partition: str = "PARTITION BY household ") -> str:
    """Return SQL's frame of the last rows."""
    return f"OVER ({partition}ORDER BY ts ROWS BETWEEN {length - 1} PRECEDING AND CURRENT ROW)"


def _rolling(length: int) -> dict[str, pl.Expr]:
    """Return rolling expressions of Polars."""
    return {
        "peak": LOAD.rolling_max(length, min_samples=1),
        "mean": LOAD.rolling_mean(length, min_samples=1),
        "sd": LOAD.rolling_std(length, min_samples=1),
    }


def _rolling_in_pandas(frame: pd.DataFrame) -> pd.DataFrame:
    windows = frame["load"].rolling(LONG, min_periods=1)
    return _by_row(frame, pd.DataFrame({"peak": windows.max(), "mean": windows.mean(), "sd": windows.std()}))


ROLLING = TableQuestion(
    name="rolling statistics of a column",
    window=f"last {LONG:,} rows",
    rows_of=readings,
    identify=("id",),
    queries=(QueryArguments(aggregates=THREE, windows=window.rows(LONG), time="ts"),),
    sql=f"SELECT id, {THREE_IN_SQL.format(over=_rows(LONG, ''))} FROM x",
    polars=lambda frame: frame.select("id", **_rolling(LONG)),
    pandas=_rolling_in_pandas,
    fewer={"Spark": 200_000},
)
BY_KEY = TableQuestion(
    name="rolling statistics by key",
    window=f"last {SHORT} rows of a household",
    rows_of=readings,
    identify=("id",),
    queries=(QueryArguments(aggregates=THREE, windows=window.rows(SHORT), by="household", time="ts"),),
    sql=f"SELECT id, {THREE_IN_SQL.format(over=_rows(SHORT))} FROM x",
    polars=lambda frame: frame.select("id", **{name: one.over("household") for name, one in _rolling(SHORT).items()}),
    pandas=lambda frame: _by_row(frame, of_rows(frame, SHORT, THREE_IN_PANDAS, by="household")),
)
_LAST_HOUR = (
    "OVER (PARTITION BY household ORDER BY ts RANGE BETWEEN INTERVAL '3599.999999' SECONDS PRECEDING AND CURRENT ROW)"
)
PER_ROW = TableQuestion(
    name="the hour before each row",
    window='time("1h")',
    rows_of=readings,
    identify=("id",),
    queries=(QueryArguments(aggregates=THREE, windows=window.time("1h"), by="household", time="ts"),),
    sql=f"SELECT id, {THREE_IN_SQL.format(over=_LAST_HOUR)} FROM x",
    spark=f"SELECT id, {THREE_IN_SQL.format(over=_LAST_HOUR.replace('SECONDS', 'SECOND'))} FROM x",
    polars=lambda frame: frame.select(
        "id",
        peak=LOAD.rolling_max_by("ts", "1h").over("household"),
        mean=LOAD.rolling_mean_by("ts", "1h").over("household"),
        sd=LOAD.rolling_std_by("ts", "1h").over("household"),
    ),
    pandas=lambda frame: _by_row(frame, of_time(frame, "ts", "1h", THREE_IN_PANDAS, by="household")),
)


def _tumbling_in_pandas(frame: pd.DataFrame) -> pd.DataFrame:
    start = frame["ts"].dt.floor("1h").rename("window_start")
    return frame.groupby(["household", start])["load"].agg(peak="max", mean="mean", sd="std").reset_index()


TUMBLING = TableQuestion(
    name="hours",
    window='tumbling("1h")',
    rows_of=readings,
    identify=("household", "window_start"),
    queries=(QueryArguments(aggregates=THREE, windows=window.tumbling("1h"), by="household", time="ts"),),
    sql=f"""SELECT household, time_bucket(INTERVAL 1 HOUR, ts) AS window_start, {THREE_IN_SQL.format(over="")}
FROM x GROUP BY ALL""",
    spark=f"""SELECT household, window(ts, '1 hour').start AS window_start, {THREE_IN_SQL.format(over="")}
FROM x GROUP BY household, window(ts, '1 hour')""",
    polars=lambda frame: frame.group_by("household", window_start=pl.col("ts").dt.truncate("1h")).agg(**THREE_OF_A_GROUP),
    pandas=_tumbling_in_pandas,
)  # fmt: skip
HOPS = TableQuestion(
    name="an hour, every 5 minutes",
    window='time("1h", slide="5m")',
    rows_of=readings,
    identify=("household", "window_start"),
    queries=(QueryArguments(aggregates=THREE, windows=window.time("1h", slide="5m"), by="household", time="ts"),),
    sql=f"""\
WITH copies AS (
  SELECT household, load, unnest(range((epoch_us(ts) - {HOUR // MICROSECOND}) // {SLIDE // MICROSECOND} + 1, epoch_us(ts) // {SLIDE // MICROSECOND} + 1)) AS number
  FROM x)
SELECT household, make_timestamp(number * {SLIDE // MICROSECOND}) AS window_start, {THREE_IN_SQL.format(over="")}
FROM copies GROUP BY household, number""",
    spark=f"""SELECT household, window(ts, '1 hour', '5 minutes').start AS window_start, {THREE_IN_SQL.format(over="")}
FROM x GROUP BY household, window(ts, '1 hour', '5 minutes')""",
    polars=lambda frame: (
        frame.group_by_dynamic("ts", every="5m", period="1h", offset="-1h", group_by="household", closed="left")
        .agg(**THREE_OF_A_GROUP)
        .rename({"ts": "window_start"})
    ),
    cannot={"pandas": "resample has windows that do not overlap"},
)


def _sessions_in_pandas(frame: pd.DataFrame) -> pd.DataFrame:
    ordered = frame.sort_values(["household", "ts"], kind="stable")
    begins = ordered.groupby("household")["ts"].diff() > GAP
    session = begins.groupby(ordered["household"]).cumsum().rename("session")
    found = ordered.groupby(["household", session]).agg(
        window_start=("ts", "first"), peak=("load", "max"), mean=("load", "mean"), sd=("load", "std")
    )
    return found.reset_index()


def _sessions_in_polars(frame: pl.DataFrame) -> pl.DataFrame:
    begins = (pl.col("ts").diff() > GAP).fill_null(value=False)
    session = begins.cum_sum().over("household")
    return frame.group_by("household", session=session).agg(window_start=pl.col("ts").first(), **THREE_OF_A_GROUP)


SESSIONS = TableQuestion(
    name="sessions",
    window='session("2m")',
    rows_of=readings,
    identify=("household", "window_start"),
    queries=(QueryArguments(aggregates=THREE, windows=window.session("2m"), by="household", time="ts"),),
    sql=f"""\
WITH begins AS (
  SELECT *, (ts - lag(ts) OVER w > INTERVAL 2 MINUTES)::INT AS is_first FROM x WINDOW w AS (PARTITION BY household ORDER BY ts)),
sessions AS (
  SELECT *, sum(coalesce(is_first, 0)) OVER (PARTITION BY household ORDER BY ts) AS session FROM begins)
SELECT household, min(ts) AS window_start, {THREE_IN_SQL.format(over="")} FROM sessions GROUP BY household, session""",
    spark=f"""SELECT household, session_window(ts, '2 minutes').start AS window_start, {THREE_IN_SQL.format(over="")}
FROM x GROUP BY household, session_window(ts, '2 minutes')""",
    polars=_sessions_in_polars,
    pandas=_sessions_in_pandas,
)


def _median_in_pandas(frame: pd.DataFrame) -> pd.DataFrame:
    return _by_row(frame, pd.DataFrame({"middle": frame["load"].rolling(LONG, min_periods=1).median()}))


MEDIAN = TableQuestion(
    name="a rolling median",
    window=f"last {LONG:,} rows",
    rows_of=readings,
    identify=("id",),
    queries=(QueryArguments(aggregates={"middle": agg.median("load")}, windows=window.rows(LONG), time="ts"),),
    sql=f"SELECT id, median(load) {_rows(LONG, '')} AS middle FROM x",
    spark=f"SELECT id, percentile(load, 0.5) {_rows(LONG, '')} AS middle FROM x",
    polars=lambda frame: frame.select("id", middle=LOAD.rolling_median(LONG, min_samples=1)),
    pandas=_median_in_pandas,
    fewer={"Spark": 10_000},
)
DISTINCT = TableQuestion(
    name="different values",
    window=f"last {FRAME} rows of a household",
    rows_of=readings,
    identify=("id",),
    queries=(
        QueryArguments(
            aggregates={"plugs": agg.count_distinct("plug")}, windows=window.rows(FRAME), by="household", time="ts"
        ),
    ),
    sql=f"SELECT id, count(DISTINCT plug) {_rows(FRAME)} AS plugs FROM x",
    spark=f"SELECT id, size(collect_set(plug) {_rows(FRAME)}) AS plugs FROM x",
    fewer={"Spark": 100_000, "Polars": 20_000, "pandas": 20_000},
    polars=lambda frame: frame.with_columns(
        plugs=PLUG.rolling_map(lambda held: held.n_unique(), FRAME, min_samples=1).over("household")
    ).select("id", "plugs"),
    pandas=lambda frame: _by_row(
        frame,
        pd.DataFrame(
            {
                "plugs": frame.groupby("household", sort=False)["plug"]
                .rolling(FRAME, min_periods=1)
                .apply(lambda held: len(np.unique(held)), raw=True)
                .droplevel(0)
            }
        ),
    ),
)


def _lift(load: float) -> tuple[float, float, int, int, int, int]:
    """Return first value, last value, rows, and the lengths of the rising runs at the beginning, at the end, and of the longest."""
    return (load, load, 1, 1, 1, 1)


def _combine(
    older: tuple[float, float, int, int, int, int], newer: tuple[float, float, int, int, int, int]
) -> tuple[float, float, int, int, int, int]:
    goes_on = older[1] < newer[0]
    begin = older[2] + newer[3] if goes_on and older[3] == older[2] else older[3]
    end = newer[2] + older[4] if goes_on and newer[4] == newer[2] else newer[4]
    across = older[4] + newer[3] if goes_on else 0
    return (older[0], newer[1], older[2] + newer[2], begin, end, max(older[5], newer[5], across))


longest_rise = sash.aggregate("longest_rise", lift=_lift, combine=_combine, lower=lambda partial: partial[5])
"""The longest run of rising values."""


def _longest_rise(held: np.ndarray) -> float:
    """Return the same from all values of a window."""
    falls = np.flatnonzero(np.diff(held) <= 0)
    edges = np.concatenate([[-1], falls, [len(held) - 1]])
    return float(np.diff(edges).max())


OWN = TableQuestion(
    name="your own aggregate",
    window=f"last {FRAME} rows of a household",
    rows_of=readings,
    identify=("id",),
    queries=(
        QueryArguments(
            aggregates={"rise": longest_rise("load")}, windows=window.rows(FRAME), by="household", time="ts"
        ),
    ),
    sql="",
    cannot={"DuckDB": "SQL has no aggregate for it", "Spark": "SQL has no aggregate for it"},
    fewer={"Polars": 20_000, "pandas": 20_000},
    polars=lambda frame: frame.with_columns(
        rise=LOAD.rolling_map(lambda held: _longest_rise(held.to_numpy()), FRAME, min_samples=1).over("household")
    ).select("id", "rise"),
    pandas=lambda frame: _by_row(
        frame,
        pd.DataFrame(
            {
                "rise": frame.groupby("household", sort=False)["load"]
                .rolling(FRAME, min_periods=1)
                .apply(_longest_rise, raw=True)
                .droplevel(0)
            }
        ),
    ),
)
QUESTIONS: tuple[TableQuestion, ...] = (ROLLING, BY_KEY, PER_ROW, TUMBLING, HOPS, SESSIONS, MEDIAN, DISTINCT, OWN)
