"""What is asked about the flights, in the words of each contestant."""

from __future__ import annotations

import pandas as pd
import polars as pl

from benchmarks.flights.data import flights, of_known_planes
from benchmarks.questions.case import QueryArguments, TableQuestion
from benchmarks.questions.in_pandas import of_rows, of_time
from sash import agg, window

DELAY = pl.col("dep_delay")
LAST, TO_COMPARE = 50, 100
QUANTILE = 0.9
HOURS_OF_A_DAY = 24


def with_ids(frame: pd.DataFrame, answers: pd.DataFrame) -> pd.DataFrame:
    """Return answers per row, with the id of the row."""
    return pd.DataFrame({"id": frame["id"], **answers})


MEAN_OF_A_CARRIER = TableQuestion(
    name="mean delay, last 50 flights of a carrier",
    window=f"rows({LAST})",
    rows_of=flights,
    identify=("id",),
    queries=(
        QueryArguments(aggregates={"mean": agg.mean("dep_delay")}, windows=window.rows(LAST), by="carrier", time="departure"),
    ),
    sql=f"""\
SELECT id, avg(dep_delay) OVER (PARTITION BY carrier ORDER BY departure, id ROWS BETWEEN {LAST - 1} PRECEDING AND CURRENT ROW) AS mean
FROM x""",  # noqa: S608
    polars=lambda frame: frame.select("id", mean=DELAY.rolling_mean(LAST, min_samples=1).over("carrier")),
    pandas=lambda frame: with_ids(frame, of_rows(frame, LAST, {"mean": ("dep_delay", "mean")}, by="carrier")),
)  # fmt: skip


def _quantiles(frame: pd.DataFrame) -> pd.DataFrame:
    rolling = frame.groupby("origin", sort=False)["dep_delay"].rolling(TO_COMPARE, min_periods=1)
    middle, high = rolling.median().droplevel(0), rolling.quantile(QUANTILE).droplevel(0)
    return pd.DataFrame({"id": frame["id"], "middle": middle, "high": high})


_LAST_OF_AIRPORT = (
    f"OVER (PARTITION BY origin ORDER BY departure, id ROWS BETWEEN {TO_COMPARE - 1} PRECEDING AND CURRENT ROW)"
)
ORDER_STATISTICS = TableQuestion(
    name="median and 90 % quantile, last 100 flights of an airport",
    window=f"rows({TO_COMPARE})",
    rows_of=flights,
    identify=("id",),
    queries=(
        QueryArguments(
            aggregates={"middle": agg.median("dep_delay"), "high": agg.quantile("dep_delay", QUANTILE)},
            windows=window.rows(TO_COMPARE),
            by="origin",
            time="departure",
        ),
    ),
    sql=f"""\
SELECT id, median(dep_delay) {_LAST_OF_AIRPORT} AS middle, quantile_cont(dep_delay, {QUANTILE}) {_LAST_OF_AIRPORT} AS high
FROM x""",  # noqa: S608
    spark=f"""\
SELECT id, percentile(dep_delay, 0.5) {_LAST_OF_AIRPORT} AS middle, percentile(dep_delay, {QUANTILE}) {_LAST_OF_AIRPORT} AS high
FROM x""",  # noqa: S608
    fewer={"Spark": 20_000},
    polars=lambda frame: frame.select(
        "id",
        middle=DELAY.rolling_median(TO_COMPARE, min_samples=1).over("origin"),
        high=DELAY.rolling_quantile(QUANTILE, "linear", TO_COMPARE, min_samples=1).over("origin"),
    ),
    pandas=_quantiles,
)

# Times are whole minutes, so that 179 minutes before are all that are less than 3 hours before.
HOURS_BEFORE = TableQuestion(
    name="count, mean and max, 3 hours before each flight of an airport",
    window='time("3h")',
    rows_of=flights,
    identify=("id",),
    queries=(
        QueryArguments(
            aggregates={"n": agg.count("dep_delay"), "mean": agg.mean("dep_delay"), "worst": agg.max("dep_delay")},
            windows=window.time("3h"),
            by="origin",
            time="departure",
        ),
    ),
    sql="""\
SELECT id, count(dep_delay) OVER w AS n, avg(dep_delay) OVER w AS mean, max(dep_delay) OVER w AS worst
FROM x
WINDOW w AS (PARTITION BY origin ORDER BY departure RANGE BETWEEN INTERVAL 179 MINUTES PRECEDING AND CURRENT ROW)""",
    polars=lambda frame: frame.select(
        "id",
        n=DELAY.is_not_null().cast(pl.Int64).rolling_sum_by("departure", "3h", closed="right").over("origin"),
        mean=DELAY.rolling_mean_by("departure", "3h", closed="right").over("origin"),
        worst=DELAY.rolling_max_by("departure", "3h", closed="right").over("origin"),
    ),
    pandas=lambda frame: with_ids(
        frame,
        of_time(
            frame,
            "departure",
            "3h",
            {"n": ("dep_delay", "count"), "mean": ("dep_delay", "mean"), "worst": ("dep_delay", "max")},
            by="origin",
        ),
    ),
)

MEDIAN_OF_A_WEEK = TableQuestion(
    name="median, a week before each flight of an airport",
    window='time("7d")',
    rows_of=flights,
    identify=("id",),
    queries=(
        QueryArguments(
            aggregates={"middle": agg.median("dep_delay")}, windows=window.time("7d"), by="origin", time="departure"
        ),
    ),
    sql="""\
SELECT id, median(dep_delay) OVER (PARTITION BY origin ORDER BY departure RANGE BETWEEN INTERVAL 10079 MINUTES PRECEDING AND CURRENT ROW)
    AS middle
FROM x""",
    spark="""\
SELECT id, percentile(dep_delay, 0.5) OVER (PARTITION BY origin ORDER BY departure RANGE BETWEEN INTERVAL 10079 MINUTES PRECEDING AND CURRENT ROW)
    AS middle
FROM x""",
    fewer={"Spark": 5_000},
    polars=lambda frame: frame.select(
        "id", middle=DELAY.rolling_median_by("departure", "7d", closed="right").over("origin")
    ),
    pandas=lambda frame: with_ids(
        frame, of_time(frame, "departure", "7d", {"middle": ("dep_delay", "median")}, by="origin")
    ),
)


def _hops(frame: pd.DataFrame) -> pd.DataFrame:
    """Return sums of hours, then sums of 24 of them: pandas has no windows that slide by time."""
    hours = frame["departure"].dt.floor("h").rename("window_start")
    found = frame.groupby(["carrier", hours])["dep_delay"].agg(["size", "count", "sum"])
    found = found.unstack("carrier")  # noqa: PD010 — a pivot
    first, last = found.index[0] - pd.Timedelta(hours=HOURS_OF_A_DAY - 1), found.index[-1]
    grid = found.reindex(pd.date_range(first, last, freq="h", name="window_start")).fillna(0)
    sums = grid[::-1].rolling(HOURS_OF_A_DAY, min_periods=1).sum().stack("carrier", future_stack=True).reset_index()  # noqa: PD013 — melt loses the columns
    sums = sums[sums["size"] > 0]
    return pd.DataFrame(
        {
            "carrier": sums["carrier"],
            "window_start": sums["window_start"],
            "n": sums["size"],
            "mean": sums["sum"] / sums["count"],
        }
    )


HOPS = TableQuestion(
    name="count and mean of a day each hour, by carrier",
    window='time("24h", slide="1h")',
    rows_of=flights,
    identify=("carrier", "window_start"),
    queries=(
        QueryArguments(
            aggregates={"n": agg.count(), "mean": agg.mean("dep_delay")},
            windows=window.time("24h", slide="1h"),
            by="carrier",
            time="departure",
        ),
    ),
    sql="""\
WITH hours AS (
  SELECT carrier, date_trunc('hour', departure) AS hour, count(*) AS n, count(dep_delay) AS known, sum(dep_delay) AS total
  FROM x GROUP BY ALL),
grid AS (
  SELECT carrier, unnest(generate_series(min(hour) - INTERVAL 23 HOURS, max(hour), INTERVAL 1 HOUR)) AS hour
  FROM hours GROUP BY carrier)
SELECT * FROM (
  SELECT carrier, hour AS window_start, sum(n) OVER w AS n, sum(total) OVER w / sum(known) OVER w AS mean
  FROM grid LEFT JOIN hours USING (carrier, hour)
  WINDOW w AS (PARTITION BY carrier ORDER BY hour ROWS BETWEEN CURRENT ROW AND 23 FOLLOWING))
WHERE n > 0""",
    spark="""\
SELECT carrier, window.start AS window_start, count(*) AS n, avg(dep_delay) AS mean
FROM x
GROUP BY carrier, window(departure, '24 hours', '1 hour')""",
    polars=lambda frame: (
        frame.group_by_dynamic("departure", every="1h", period="24h", offset="-24h", group_by="carrier", closed="left")
        .agg(n=pl.len(), mean=DELAY.mean())
        .filter(pl.col("n") > 0)
        .rename({"departure": "window_start"})
    ),
    pandas=_hops,
)

_GAP = pl.duration(hours=6)


def _sessions(frame: pd.DataFrame) -> pd.DataFrame:
    pauses = frame.groupby("tailnum", sort=False)["departure"].diff() > pd.Timedelta(hours=6)
    number = pauses.groupby(frame["tailnum"], sort=False).cumsum().rename("session")
    grouped = frame.groupby(["tailnum", number], sort=False)
    found = grouped.agg(window_start=("departure", "first"), n=("id", "size"), miles=("distance", "sum"))
    return found.reset_index()


SESSIONS = TableQuestion(
    name="sessions of a plane: flights and miles",
    window='session("6h")',
    rows_of=of_known_planes,
    identify=("tailnum", "window_start"),
    queries=(
        QueryArguments(
            aggregates={"n": agg.count(), "miles": agg.sum("distance")},
            windows=window.session("6h"),
            by="tailnum",
            time="departure",
        ),
    ),
    sql="""\
SELECT tailnum, min(departure) AS window_start, count(*) AS n, sum(distance) AS miles FROM (
  SELECT *, sum(begins) OVER (PARTITION BY tailnum ORDER BY departure, id) AS session FROM (
    SELECT *, CASE WHEN departure - lag(departure) OVER (PARTITION BY tailnum ORDER BY departure, id) <= INTERVAL 6 HOURS
                   THEN 0 ELSE 1 END AS begins
    FROM x))
GROUP BY tailnum, session""",
    polars=lambda frame: (
        frame.with_columns(session=(pl.col("departure").diff() > _GAP).fill_null(value=False).cum_sum().over("tailnum"))
        .group_by("tailnum", "session")
        .agg(window_start=pl.col("departure").min(), n=pl.len(), miles=pl.col("distance").sum())
    ),
    pandas=_sessions,
)


def _distinct_planes(frame: pl.DataFrame) -> pl.DataFrame:
    """Return one result for each carrier and time, given to all its flights: Polars' `rolling` drops the other columns."""
    windows = frame.rolling("departure", period="24h", group_by="carrier", closed="right")
    found = windows.agg(planes=pl.col("tailnum").n_unique()).unique(["carrier", "departure"])
    return frame.select("id", "carrier", "departure").join(found, on=["carrier", "departure"])


PLANES_IN_USE = TableQuestion(
    name="distinct planes, a day before each flight of a carrier",
    window='time("24h")',
    rows_of=of_known_planes,
    identify=("id",),
    queries=(
        QueryArguments(
            aggregates={"planes": agg.count_distinct("tailnum")},
            windows=window.time("24h"),
            by="carrier",
            time="departure",
        ),
    ),
    sql="""\
SELECT id, count(DISTINCT tailnum)
    OVER (PARTITION BY carrier ORDER BY departure RANGE BETWEEN INTERVAL 1439 MINUTES PRECEDING AND CURRENT ROW) AS planes
FROM x""",
    spark="""\
SELECT id, size(collect_set(tailnum)
    OVER (PARTITION BY carrier ORDER BY departure RANGE BETWEEN INTERVAL 1439 MINUTES PRECEDING AND CURRENT ROW)) AS planes
FROM x""",
    fewer={"Spark": 50_000},
    polars=_distinct_planes,
    cannot={"pandas": "its windows have no count of distinct values, and `apply` is for numbers."},
)

FLIGHT_BEFORE = TableQuestion(
    name="arrival delay of the plane's flight before",
    window="rows(before=1, after=-1)",
    rows_of=of_known_planes,
    identify=("id",),
    queries=(
        QueryArguments(
            aggregates={"before": agg.last("arr_delay")},
            windows=window.rows(before=1, after=-1),
            by="tailnum",
            time="departure",
        ),
    ),
    sql="SELECT id, lag(arr_delay) OVER (PARTITION BY tailnum ORDER BY departure, id) AS before\nFROM x",
    polars=lambda frame: frame.select("id", before=pl.col("arr_delay").shift(1).over("tailnum")),
    pandas=lambda frame: pd.DataFrame(
        {"id": frame["id"], "before": frame.groupby("tailnum", sort=False)["arr_delay"].shift(1)}
    ),
)

QUESTIONS = (
    MEAN_OF_A_CARRIER,
    ORDER_STATISTICS,
    HOURS_BEFORE,
    MEDIAN_OF_A_WEEK,
    HOPS,
    SESSIONS,
    PLANES_IN_USE,
    FLIGHT_BEFORE,
)
