"""The window questions over the table `large`: aggregates with OVER, as DataFusion asks them of the H2O data."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pandas as pd
import polars as pl

from benchmarks.h2o.data import MOST, large
from benchmarks.questions.case import QueryArguments, TableQuestion
from benchmarks.questions.in_pandas import of_rows, of_time
from sash import agg, window
from sash.windows import Window

MOVING = 101
"""100 rows before the row, and the row."""
RANGE = 3_000_000
"""Three, in millionths."""
ALL, SO_FAR = window.rows(before=None, after=None), window.rows(before=None)
NEIGHBOURS = {"lag": window.rows(before=1, after=-1), "lead": window.rows(before=-1, after=1)}
V2 = pl.col("v2")
OF_TIME = "v2_millionths"
KEYS = ("id1", "id2", "id3")


def question(
    name: str,
    said: str,
    queries: tuple[QueryArguments, ...],
    sql: str,
    by_polars: Callable[[pl.DataFrame], pl.DataFrame],
    by_pandas: Callable[[pd.DataFrame], Mapping[str, Any]],
    order: str = "id3",
) -> TableQuestion:
    """Return a question; Polars and pandas get the rows in order, and sorting them is timed."""
    return TableQuestion(
        name=name,
        window=said,
        rows_of=large,
        identify=("id3",),
        queries=queries,
        sql=f"SELECT id3, {sql}\nFROM x",
        polars=lambda frame: by_polars(frame.sort(order) if order else frame),
        pandas=lambda frame: _sorted(frame, order, by_pandas),
        fewer={"Spark": MOST // 2} if order == OF_TIME or "moving" in name else {},  # frames that slide
    )


def _sorted(frame: pd.DataFrame, order: str, answers: Callable[[pd.DataFrame], Mapping[str, Any]]) -> pd.DataFrame:
    rows = frame.sort_values(order, ignore_index=True) if order else frame
    return pd.DataFrame({"id3": rows["id3"], **answers(rows)})


def asked(
    windows: Window | Mapping[str, Window], by: str | None = None, time: str | None = "id3", **aggregates: Any
) -> QueryArguments:
    """Return a query of Sash."""
    return QueryArguments(aggregates=aggregates, windows=windows, by=by, time=time)


def without_key() -> tuple[TableQuestion, ...]:
    """Return the questions over all rows."""
    return (
        question(
            "sum of all rows",
            "rows(before=None, after=None)",
            (asked(ALL, time=None, answer=agg.sum("v2")),),
            "sum(v2) OVER () AS answer",
            lambda frame: frame.select("id3", answer=V2.sum()),
            lambda frame: {"answer": frame["v2"].sum()},
            order="",
        ),
        question(
            "first value and row number",
            "rows(before=None)",
            (asked(SO_FAR, first=agg.first("v2"), number=agg.count()),),
            "first_value(v2) OVER (ORDER BY id3) AS first, row_number() OVER (ORDER BY id3) AS number",
            lambda frame: frame.select("id3", first=V2.first(), number=pl.int_range(1, pl.len() + 1)),
            lambda frame: {"first": frame["v2"].iloc[0], "number": range(1, len(frame) + 1)},
        ),
        question(
            "sums of three keys",
            "rows(before=None, after=None)",
            tuple(asked(ALL, by=key, time=None, **{f"sum_{key}": agg.sum("v2")}) for key in KEYS),
            ", ".join(f"sum(v2) OVER (PARTITION BY {key}) AS sum_{key}" for key in KEYS),
            lambda frame: frame.select("id3", **{f"sum_{key}": V2.sum().over(key) for key in KEYS}),
            lambda frame: {f"sum_{key}": frame.groupby(key)["v2"].transform("sum") for key in KEYS},
            order="",
        ),
        question(
            "lag and lead",
            "the row before, the row after",
            (asked(NEIGHBOURS, v2=agg.first("v2")),),
            "lag(v2) OVER (ORDER BY id3) AS v2_lag, lead(v2) OVER (ORDER BY id3) AS v2_lead",
            lambda frame: frame.select("id3", v2_lag=V2.shift(1), v2_lead=V2.shift(-1)),
            lambda frame: {"v2_lag": frame["v2"].shift(1), "v2_lead": frame["v2"].shift(-1)},
        ),
        question(
            "moving average",
            f"rows({MOVING})",
            (asked(window.rows(MOVING), answer=agg.mean("v2")),),
            f"avg(v2) OVER (ORDER BY id3 ROWS BETWEEN {MOVING - 1} PRECEDING AND CURRENT ROW) AS answer",
            lambda frame: frame.select("id3", answer=V2.rolling_mean(MOVING, min_samples=1)),
            lambda frame: {"answer": frame["v2"].rolling(MOVING, min_periods=1).mean()},
        ),
        question(
            "running sum",
            "rows(before=None)",
            (asked(SO_FAR, answer=agg.sum("v2")),),
            "sum(v2) OVER (ORDER BY id3 ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS answer",
            lambda frame: frame.select("id3", answer=V2.cum_sum()),
            lambda frame: {"answer": frame["v2"].cumsum()},
        ),
        question(
            "range between",
            "time(before=3)",
            (asked(window.time(before=RANGE), time=OF_TIME, answer=agg.sum("v2")),),
            f"sum(v2) OVER (ORDER BY {OF_TIME} RANGE BETWEEN {RANGE} PRECEDING AND CURRENT ROW) AS answer",
            lambda frame: frame.select("id3", answer=V2.rolling_sum_by(OF_TIME, f"{RANGE + 1}i", closed="right")),
            lambda frame: of_time(in_nanoseconds(frame, key=True), OF_TIME, TIMEDELTA, SUM, by="all"),
            order=OF_TIME,
        ),
    )


SUM = {"answer": ("v2", "sum")}
TIMEDELTA = pd.Timedelta(RANGE + 1, "ns")


def in_nanoseconds(frame: pd.DataFrame, *, key: bool = False) -> pd.DataFrame:
    """Return the frame with its integers as times: pandas has windows of time only. The numbers stay the same."""
    times = frame[OF_TIME].to_numpy().view("datetime64[ns]")
    return frame.assign(**{OF_TIME: times}, **({"all": 0} if key else {}))


def with_key() -> tuple[TableQuestion, ...]:
    """Return the questions with a key of 10,000 values."""
    return (
        question(
            "first value of each key",
            "rows(before=None)",
            (asked(SO_FAR, by="id2", answer=agg.first("v2")),),
            "first_value(v2) OVER (PARTITION BY id2 ORDER BY id3) AS answer",
            lambda frame: frame.select("id3", answer=V2.first().over("id2")),
            lambda frame: {"answer": frame.groupby("id2")["v2"].transform("first")},
        ),
        question(
            "lag and lead of each key",
            "the row before, the row after",
            (asked(NEIGHBOURS, by="id2", v2=agg.first("v2")),),
            "lag(v2) OVER (PARTITION BY id2 ORDER BY id3) AS v2_lag, lead(v2) OVER (PARTITION BY id2 ORDER BY id3) AS v2_lead",
            lambda frame: frame.select("id3", v2_lag=V2.shift(1).over("id2"), v2_lead=V2.shift(-1).over("id2")),
            lambda frame: {
                "v2_lag": frame.groupby("id2")["v2"].shift(1),
                "v2_lead": frame.groupby("id2")["v2"].shift(-1),
            },
        ),
        question(
            "moving average of each key",
            f"rows({MOVING})",
            (asked(window.rows(MOVING), by="id2", answer=agg.mean("v2")),),
            f"avg(v2) OVER (PARTITION BY id2 ORDER BY id3 ROWS BETWEEN {MOVING - 1} PRECEDING AND CURRENT ROW) AS answer",
            lambda frame: frame.select("id3", answer=V2.rolling_mean(MOVING, min_samples=1).over("id2")),
            lambda frame: of_rows(frame, MOVING, {"answer": ("v2", "mean")}, by="id2"),
        ),
        question(
            "running sum of each key",
            "rows(before=None)",
            (asked(SO_FAR, by="id2", answer=agg.sum("v2")),),
            "sum(v2) OVER (PARTITION BY id2 ORDER BY id3 ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS answer",
            lambda frame: frame.select("id3", answer=V2.cum_sum().over("id2")),
            lambda frame: {"answer": frame.groupby("id2")["v2"].cumsum()},
        ),
        question(
            "range between, of each key",
            "time(before=3)",
            (asked(window.time(before=RANGE), by="id2", time=OF_TIME, answer=agg.sum("v2")),),
            f"sum(v2) OVER (PARTITION BY id2 ORDER BY {OF_TIME} RANGE BETWEEN {RANGE} PRECEDING AND CURRENT ROW) AS answer",
            lambda frame: frame.select(
                "id3", answer=V2.rolling_sum_by(OF_TIME, f"{RANGE + 1}i", closed="right").over("id2")
            ),
            lambda frame: of_time(in_nanoseconds(frame), OF_TIME, TIMEDELTA, SUM, by="id2"),
            order=OF_TIME,
        ),
    )


QUESTIONS = (*without_key(), *with_key())
