"""The rolling questions ("rollfun") of db-benchmark, over the table `series`. Windows at the begin are not full, and count."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pandas as pd
import polars as pl

from benchmarks.h2o.data import MOST, series
from benchmarks.questions.case import QueryArguments, TableQuestion
from sash import agg, window

WIDTH, SMALL, BIG = MOST // 1_000, MOST // 10_000, MOST // 100
NARROWER, WIDER = WIDTH - 50, WIDTH + 50
V1, V2 = pl.col("v1"), pl.col("v2")
WRONG_CORRELATION = (
    "its rolling `corr` subtracts from running sums, and as the walk falls to a millionth, "
    "one answer in six is off by more than 0.001, some by more than 0.5."
)


def over(name: str, length: int, aggregate: str, by_sash: Any, by_polars: Callable[[int], pl.Expr], **more: Any) -> TableQuestion:  # fmt: skip
    """Return one aggregate of v1 over the last rows."""
    in_pandas = {"avg": "mean"}.get(aggregate, aggregate)
    return TableQuestion(
        name=name,
        window=f"rows({length})",
        rows_of=series,
        identify=("id1",),
        queries=(QueryArguments(aggregates={"answer": by_sash}, windows=window.rows(length), time="id1"),),
        sql=f"SELECT id1, {aggregate}(v1) OVER (ORDER BY id1 ROWS BETWEEN {length - 1} PRECEDING AND CURRENT ROW) AS answer\nFROM x",
        polars=lambda frame: frame.select("id1", answer=by_polars(length)),
        pandas=lambda frame: _with(frame, {"answer": getattr(_rolling(frame["v1"], length), in_pandas)()}),
        **more,
    )  # fmt: skip


def _mean(length: int) -> pl.Expr:
    return V1.rolling_mean(length, min_samples=1)


def _rolling(column: Any, length: int) -> Any:
    return column.rolling(length, min_periods=1)


def _with(frame: pd.DataFrame, answers: Mapping[str, Any]) -> pd.DataFrame:
    return pd.DataFrame({"id1": frame["id1"], **answers})


def several() -> TableQuestion:
    """Return the means of two columns over two windows."""
    columns = {"v1": V1, "v2": V2}
    lengths = {"small": NARROWER, "big": WIDER}
    answers = ", ".join(f"avg({name}) OVER {label} AS {name}_{label}" for name in columns for label in lengths)
    windows = ", ".join(
        f"{label} AS (ORDER BY id1 ROWS BETWEEN {length - 1} PRECEDING AND CURRENT ROW)" for label, length in lengths.items()
    )  # fmt: skip
    return TableQuestion(
        name="several columns and windows",
        window=f"rows({NARROWER}), rows({WIDER})",
        rows_of=series,
        identify=("id1",),
        queries=(
            QueryArguments(
                aggregates={name: agg.mean(name) for name in columns},
                windows={label: window.rows(length) for label, length in lengths.items()},
                time="id1",
            ),
        ),
        sql=f"SELECT id1, {answers}\nFROM x\nWINDOW {windows}",
        polars=lambda frame: frame.select(
            "id1",
            **{
                f"{name}_{label}": column.rolling_mean(length, min_samples=1)
                for name, column in columns.items()
                for label, length in lengths.items()
            },
        ),
        pandas=lambda frame: _with(
            frame,
            {
                f"{name}_{label}": _rolling(frame[name], length).mean()
                for name in columns
                for label, length in lengths.items()
            },
        ),
    )


def weighted() -> TableQuestion:
    """Return the mean of v1, weighted by another column."""
    frame = f"OVER (ORDER BY id1 ROWS BETWEEN {WIDTH - 1} PRECEDING AND CURRENT ROW)"
    return TableQuestion(
        name="weighted mean",
        window=f"rows({WIDTH})",
        rows_of=series,
        identify=("id1",),
        queries=(
            QueryArguments(aggregates={"answer": agg.weighted_mean("v1", "weights")}, windows=window.rows(WIDTH), time="id1"),
        ),
        sql=f"SELECT id1, sum(v1 * weights) {frame} / sum(weights) {frame} AS answer\nFROM x",
        polars=lambda rows: rows.select(
            "id1",
            answer=(V1 * pl.col("weights")).rolling_sum(WIDTH, min_samples=1)
            / pl.col("weights").rolling_sum(WIDTH, min_samples=1),
        ),
        pandas=lambda rows: _with(
            rows,
            {
                "answer": _rolling(rows["v1"] * rows["weights"], WIDTH).sum()
                / _rolling(rows["weights"], WIDTH).sum()
            },
        ),
    )  # fmt: skip


def uneven(name: str, index: str) -> TableQuestion:
    """Return the mean of v1 over the last numbers of an index that leaves some out."""
    return TableQuestion(
        name=name,
        window=f"time({WIDTH})",
        rows_of=series,
        identify=("id1",),
        queries=(QueryArguments(aggregates={"answer": agg.mean("v1")}, windows=window.time(WIDTH), time=index),),
        sql=f"SELECT id1, avg(v1) OVER (ORDER BY {index} RANGE BETWEEN {WIDTH - 1} PRECEDING AND CURRENT ROW) AS answer\nFROM x",
        polars=lambda frame: frame.select("id1", answer=V1.rolling_mean_by(index, f"{WIDTH}i", closed="right")),
        # pandas has windows of time, not of integers; nanoseconds are the same numbers.
        pandas=lambda frame: _with(
            frame,
            {
                "answer": frame["v1"]
                .set_axis(frame[index].to_numpy().view("datetime64[ns]"))
                .rolling(pd.Timedelta(WIDTH, "ns"))
                .mean()
                .to_numpy()
            },
        ),
    )


def regression() -> TableQuestion:
    """Return r² of v2 on v1."""
    return TableQuestion(
        name="regression, r²",
        window=f"rows({WIDTH})",
        rows_of=series,
        identify=("id1",),
        queries=(
            QueryArguments(aggregates={"answer": agg.r_squared("v2", "v1")}, windows=window.rows(WIDTH), time="id1"),
        ),
        sql=f"SELECT id1, regr_r2(v2, v1) OVER (ORDER BY id1 ROWS BETWEEN {WIDTH - 1} PRECEDING AND CURRENT ROW) AS answer\nFROM x",
        polars=lambda frame: frame.select(
            "id1", answer=pl.rolling_corr(V2, V1, window_size=WIDTH, min_samples=2).pow(2)
        ),
        fewer={"Spark": 20_000},
        cannot={"pandas": WRONG_CORRELATION},
    )


def _questions() -> tuple[TableQuestion, ...]:
    mean = agg.mean("v1")
    median = over("rolling median", WIDTH, "median", agg.median("v1"), lambda length: V1.rolling_median(length, min_samples=1))  # fmt: skip
    return (
        over("rolling mean", WIDTH, "avg", mean, _mean),
        over("small window", SMALL, "avg", mean, _mean),
        over("big window", BIG, "avg", mean, _mean),
        over("rolling min", WIDTH, "min", agg.min("v1"), lambda length: V1.rolling_min(length, min_samples=1)),
        replace(median, spark=median.sql.replace("median(v1)", "percentile(v1, 0.5)"), fewer={"Spark": 4_000}),
        several(),
        weighted(),
        uneven("uneven, dense", "id2"),
        uneven("uneven, sparse", "id3"),
        regression(),
    )  # fmt: skip


SPARK_ROWS = {"Spark": MOST // 2}
"""Its frames that slide take some seconds for so many."""
QUESTIONS = tuple(one if one.fewer else replace(one, fewer=SPARK_ROWS) for one in _questions())
