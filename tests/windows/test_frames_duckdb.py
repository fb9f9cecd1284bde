"""Frames of rows against DuckDB: ROWS and RANGE, PRECEDING and FOLLOWING, EXCLUDE, with ties and nulls; and against pandas."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from helpers.cases import SOAK
from helpers.pairwise import FULL, some

import sash
from sash import agg, window

duckdb = pytest.importorskip("duckdb")
AGGREGATES: dict[str, tuple[Any, str]] = {
    "total": (agg.sum("x"), "sum(x)"),
    "top": (agg.max("x"), "max(x)"),
    "low": (agg.min("x"), "min(x)"),
    "mean": (agg.mean("x"), "avg(x)"),
    "spread": (agg.stddev("x"), "stddev_samp(x)"),
    "n": (agg.count(), "count(*)"),
    "known": (agg.count("x"), "count(x)"),
}
EXCLUDE = {None: "", "row": "EXCLUDE CURRENT ROW", "ties": "EXCLUDE TIES", "group": "EXCLUDE GROUP"}


def random_rows(chooser: np.random.Generator, rows: int) -> pa.Table:
    """Rows of four keys in any order, with ties in time and in time and tie, and nulls."""
    values = [None if chooser.random() < 0.15 else float(x) for x in chooser.integers(-9, 9, rows)]
    columns = [
        np.arange(rows),
        chooser.integers(0, 4, rows),
        chooser.integers(0, rows // 4, rows),
        chooser.integers(0, 2, rows),
    ]
    return pa.table([*map(pa.array, columns), pa.array(values, pa.float64())], ["id", "k", "t", "tie", "x"])


def bound(distance: int | None, side: str) -> str:
    """Return one end of a frame in SQL; `side` is the direction of positive distances."""
    other = "FOLLOWING" if side == "PRECEDING" else "PRECEDING"
    if distance is None:
        return f"UNBOUNDED {side}"
    if not distance:
        return "CURRENT ROW"
    return f"{abs(distance)} {side if distance > 0 else other}"


def by_duckdb(rows: pa.Table, frame: str, order: str) -> list[dict[str, Any]]:
    """Return the results of DuckDB, in the order of the rows."""
    chosen = ", ".join(f"{sql} OVER w AS {name}" for name, (_, sql) in AGGREGATES.items())
    with duckdb.connect() as connection:
        connection.register("rows", rows)
        found = connection.sql(
            f"SELECT {chosen} FROM rows WINDOW w AS (PARTITION BY k ORDER BY {order} {frame}) ORDER BY id"
        )
        listed: list[dict[str, Any]] = found.arrow().read_all().to_pylist()
    return listed


def assert_same(found: pa.Table, expected: list[dict[str, Any]]) -> None:
    for name in AGGREGATES:
        ours, theirs = found[name].to_pylist(), [row[name] for row in expected]
        assert [value is None for value in ours] == [value is None for value in theirs], name
        known = [(one, other) for one, other in zip(ours, theirs, strict=True) if one is not None]
        one, other = np.array(known, float).reshape(-1, 2).T
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-7, err_msg=name)


def by_peers(rows: pa.Table, found: pa.Table) -> pa.Table:
    """Return results in the order of peers, and of the number and sum of rows among these."""
    keys = rows.select(["k", "t", "tie"])
    for name in AGGREGATES:
        keys = keys.append_column(name, found[name])
    return keys.sort_by([(name, "ascending") for name in ("k", "t", "tie", "n", "known", "total", "top", "low")])


def random_sides(chooser: np.random.Generator, furthest: int) -> tuple[int | None, int | None]:
    """Return how far a frame reaches: also without limit, and with a gap between it and the row."""
    before, after = (None if chooser.random() < 0.2 else int(chooser.integers(-3, furthest)) for _ in range(2))
    return (before, after) if None in (before, after) or before + after >= 0 else (-before, -after)  # type: ignore[operator]


SEEDS = range(300 if SOAK else 7)


@pytest.mark.parametrize("exclude", EXCLUDE)
@pytest.mark.parametrize("seed", SEEDS)
def test_rows_between(seed: int, exclude: Any) -> None:
    chooser = np.random.default_rng(seed)
    rows = random_rows(chooser, 120)
    before, after = random_sides(chooser, 9)
    order_by = ["tie", "id"]
    if exclude in (
        "ties",
        "group",
    ):  # neither orders peers, so they have equal values, and results are sorted within them
        order_by = ["tie"]
        peers = [(row["t"], row["tie"]) for row in rows.to_pylist()]
        values = [None if (t + tie) % 7 == 0 else 2.0 * t + tie for t, tie in peers]
        rows = rows.set_column(4, "x", pa.array(values, pa.float64()))
    frame = window.rows(before=before, after=after, exclude=exclude)
    query = sash.Query({name: one for name, (one, _) in AGGREGATES.items()}, frame, by="k", time="t", order_by=order_by)
    sql = f"ROWS BETWEEN {bound(before, 'PRECEDING')} AND {bound(after, 'FOLLOWING')} {EXCLUDE[exclude]}"
    found, expected = query.run(rows), by_duckdb(rows, sql, ", ".join(["t", *order_by]))
    if order_by == ["tie"]:
        found, expected = by_peers(rows, found), by_peers(rows, pa.Table.from_pylist(expected)).to_pylist()
    assert_same(found, expected)


@pytest.mark.parametrize("exclude", EXCLUDE)
@pytest.mark.parametrize("seed", SEEDS)
def test_range_between(seed: int, exclude: Any) -> None:
    chooser = np.random.default_rng(1_000 + seed)
    rows = random_rows(chooser, 120)
    before, after = random_sides(chooser, 12)
    frame = window.time(before=before, after=after, exclude=exclude)
    query = sash.Query({name: one for name, (one, _) in AGGREGATES.items()}, frame, by="k", time="t")
    sql = f"RANGE BETWEEN {bound(before, 'PRECEDING')} AND {bound(after, 'FOLLOWING')} {EXCLUDE[exclude]}"
    assert_same(query.run(rows), by_duckdb(rows, sql, "t"))


@pytest.mark.parametrize("exclude", EXCLUDE)
def test_expanding_is_the_default_frame(exclude: Any) -> None:
    rows = random_rows(np.random.default_rng(5), 200)
    query = sash.Query(
        {name: one for name, (one, _) in AGGREGATES.items()}, window.expanding(exclude=exclude), by="k", time="t"
    )
    frame = f"RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW {EXCLUDE[exclude]}" if exclude else ""
    assert_same(query.run(rows), by_duckdb(rows, frame, "t"))


def test_compiled_frames() -> None:
    rows = random_rows(np.random.default_rng(6), 300)
    aggregates = {
        name: one
        for name, (one, _) in AGGREGATES.items()
        if name in (("total", "top", "n") if FULL else ("total", "top"))
    }
    cases: list[tuple[Any, int]] = [("row", 3), (None, 3), ("ties", 0), ("group", -1)]
    for exclude, after in some(cases, 2):
        frame = window.time(before=5, after=after, exclude=exclude)
        query = sash.Query(aggregates, frame, by="k", time="t")
        sql = f"RANGE BETWEEN 5 PRECEDING AND {bound(after, 'FOLLOWING')} {EXCLUDE[exclude]}"
        expected = by_duckdb(rows, sql, "t")
        found = query.run(rows, compiled=True)
        assert all(found[name].to_pylist() == [row[name] for row in expected] for name in aggregates)


@pytest.mark.parametrize("length", [2, 3, 5, 8])
def test_centred_as_in_pandas_and_polars(length: int) -> None:
    values = [None, 3.0, 1.0, 4.0, None, 5.0, 9.0, 2.0, 6.0]
    frame = window.rows(before=length // 2, after=(length - 1) // 2, min_rows=2)
    found = sash.Query({"total": agg.sum("x")}, frame).run(pa.table({"x": values}))["total"].to_pylist()
    by_pandas = pd.Series(values).rolling(length, center=True, min_periods=2).sum()
    by_polars = pl.Series(values).rolling_sum(length, center=True, min_samples=2).to_list()
    assert found == by_polars
    assert found == [None if np.isnan(value) else value for value in by_pandas]


def test_expanding_and_earlier_rows_as_in_pandas() -> None:
    values = pd.Series([3.0, np.nan, 1.0, 4.0, 1.0, 5.0])
    rows = pa.table({"x": pa.array(values, from_pandas=True)})

    def total(frame: window.Window) -> list[float | None]:
        found: list[float | None] = sash.Query({"total": agg.sum("x")}, frame).run(rows)["total"].to_pylist()
        return found

    def listed(found: pd.Series) -> list[float | None]:
        return [None if np.isnan(value) else value for value in found]

    assert total(window.expanding()) == listed(values.expanding().sum())
    assert total(window.expanding(min_rows=3)) == listed(values.expanding(3).sum())
    for closed in ("right", "both", "left", "neither"):
        assert total(window.rows(3, closed=closed)) == listed(values.rolling(3, closed=closed, min_periods=1).sum())
