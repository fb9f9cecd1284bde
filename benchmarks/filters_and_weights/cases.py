"""The table of cases, with the targets of each."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa

import sash
from benchmarks.case import FASTEST_PEER, Call, Case, Target
from benchmarks.filters_and_weights.case import Answer, Frame, WeightCase, WeightContestant
from benchmarks.references import REFERENCES
from benchmarks.windows.case import microseconds
from sash import agg, window
from sash.aggregates.base import Aggregate

LENGTH = 1_000
HOUR = "1h"
HALF_LIFE = "10m"
ALPHA = 0.01
WITHOUT, WITH = "without", "where"
MOST_OF_FILTER = 1.5
"""Times the same window without a filter."""
MOST_OF_WEIGHTS = 2.0
"""Times the mean of the same window."""
FRAMES = {
    f"rows({LENGTH})": (window.rows(LENGTH), Frame(rows=LENGTH)),
    f"{HOUR} per row": (window.time(HOUR), Frame(microseconds=microseconds(HOUR))),
    "expanding()": (window.expanding(), Frame()),
}


def by_query(aggregate: Aggregate[Any], windows: window.Window, table: pa.Table) -> Call:
    """Return the call of a query in one thread, declared once."""
    query = sash.Query({"answer": aggregate}, windows, time="ts")
    return lambda: query.run(table, threads=1)["answer"]


def by_pandas(table: pa.Table) -> Call:
    """Return the call of pandas: weights by time."""
    frame = table.to_pandas()

    def run() -> Any:
        return frame["load"].ewm(halflife=HALF_LIFE, times=frame["ts"]).mean().to_numpy()

    return run


def by_pandas_rows(table: pa.Table) -> Call:
    """Return the call of pandas: weights by rows."""
    frame = table.to_pandas()

    def run() -> Any:
        return frame["load"].ewm(alpha=ALPHA, adjust=True).mean().to_numpy()

    return run


def by_polars(table: pa.Table) -> Call:
    """Return the call of Polars: weights by rows. Those by time (`ewm_mean_by`) are of another kind: not adjusted."""
    frame: Any = pl.from_arrow(table)

    def run() -> Any:
        return frame.select(pl.col("load").ewm_mean(alpha=ALPHA, adjust=True))["load"].to_numpy()

    return run


def by_polars_times(table: pa.Table) -> Call:
    """Return the call of Polars: weights by time, each mean made of the one before it."""
    frame: Any = pl.from_arrow(table)

    def run() -> Any:
        return frame.select(pl.col("load").ewm_mean_by("ts", half_life=HALF_LIFE))["load"].to_numpy()

    return run


def where_passes(aggregate: str, _: Any, loads: Any, amounts: Any) -> float:
    """Recompute an aggregate of the rows that pass the filter."""
    held = loads[amounts > 50]  # noqa: PLR2004 — as in the query
    return float(REFERENCES[aggregate](held)) if len(held) else float("nan")


def plain(aggregate: str, _: Any, loads: Any, __: Any) -> float:
    """Recompute an aggregate of all rows."""
    return float(REFERENCES[aggregate](loads))


def mean_in_time(times: Any, loads: Any, _: Any) -> float:
    """Recompute a mean with weights by time."""
    return float(np.average(loads, weights=np.exp2((times - times[-1]) / microseconds(HALF_LIFE))))


def mean_in_rows(_: Any, loads: Any, __: Any) -> float:
    """Recompute a mean with weights by rows."""
    return float(np.average(loads, weights=(1 - ALPHA) ** np.arange(len(loads))[::-1]))


def faded_mean(times: Any, loads: Any, _: Any) -> float:
    """Recompute Polars' mean by time: from row to row, mean = faded share of the mean before it + the rest of the load."""
    shares = 1 - np.exp2(-np.diff(times, prepend=times[0]) / microseconds(HALF_LIFE))
    shares[0] = 1.0
    left = np.append(np.cumprod((1 - shares)[:0:-1])[::-1], 1.0)
    return float((shares * left * loads).sum())


def filters() -> Iterator[WeightCase]:
    """Yield windows with a filter that half of the rows pass, beside the same without it."""
    for shown in (f"rows({LENGTH})", f"{HOUR} per row"):
        windows, frame = FRAMES[shown]
        for name in ("max", "sum", "mean"):
            make = getattr(agg, name)
            asked = {
                WITHOUT: (make("load"), partial(plain, name)),
                WITH: (make("load", where="amount > 50"), partial(where_passes, name)),
            }
            yield WeightCase(
                name=f"where, {name}, {shown}",
                aggregate=name,
                frame=frame,
                shown_range=shown,
                contestants=tuple(
                    WeightContestant(
                        name=which,
                        role="sash",
                        algorithm="auto",
                        prepare=partial(by_query, aggregate, windows),
                        right=right,
                    )
                    for which, (aggregate, right) in asked.items()
                ),
                targets=(Target(contestant=WITH, against=WITHOUT, at_most=MOST_OF_FILTER),),
            )


def weights() -> Iterator[WeightCase]:
    """Yield weighted means beside the mean of the same window; over all rows also beside pandas and Polars."""
    asked: dict[str, tuple[Aggregate[Any], Answer]] = {
        "half_life": (agg.ewm_mean("load", half_life=HALF_LIFE), mean_in_time)
    }
    asked["alpha"] = agg.ewm_mean("load", alpha=ALPHA), mean_in_rows
    peers = {
        "half_life": (
            WeightContestant(name="pandas ewm", package="pandas", prepare=by_pandas, right=mean_in_time),
            WeightContestant(name="Polars ewm_mean_by", package="polars", prepare=by_polars_times, right=faded_mean),
        ),
        "alpha": (
            WeightContestant(name="pandas ewm", package="pandas", prepare=by_pandas_rows, right=mean_in_rows),
            WeightContestant(name="Polars ewm_mean", package="polars", prepare=by_polars, right=mean_in_rows),
        ),
    }
    for which, (aggregate, right) in asked.items():
        for shown, (windows, frame) in FRAMES.items():
            own = (
                WeightContestant(
                    name="Sash",
                    role="sash",
                    algorithm="auto",
                    prepare=partial(by_query, aggregate, windows),
                    right=right,
                ),
                WeightContestant(
                    name="mean",
                    role="sash",
                    algorithm="auto",
                    prepare=partial(by_query, agg.mean("load"), windows),
                    right=partial(plain, "mean"),
                ),
            )
            is_whole = shown == "expanding()"
            ahead = (Target(against=FASTEST_PEER, at_least=1),) if is_whole else ()
            yield WeightCase(
                name=f"ewm_mean, {which}, {shown}",
                aggregate="ewm_mean",
                frame=frame,
                shown_range=shown,
                contestants=(*own, *(peers[which] if is_whole else ())),
                targets=(Target(against="mean", at_most=MOST_OF_WEIGHTS), *ahead),
            )


CASES: tuple[Case, ...] = (*filters(), *weights())
