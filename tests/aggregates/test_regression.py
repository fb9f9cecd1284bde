"""Lines against DuckDB and NumPy; over times since 1970 against exact fractions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from helpers.pairwise import some
from hypothesis import given, settings
from hypothesis import strategies as st

import sash
from sash import agg, window

NAMES = ("slope", "intercept", "r_squared")
quarters = st.integers(-400, 400).map(lambda number: number / 4)
START = 1_600_000_000_000_000_000


def lines(columns: Sequence[str]) -> dict[str, Any]:
    return {name: getattr(agg, name)(*columns) for name in NAMES}


def exact(points: Sequence[tuple[float, Fraction]]) -> dict[str, float | None]:
    """The line through points (y, x), by its definition, in fractions."""
    n, ys, xs = len(points), [Fraction(y) for y, _ in points], [x for _, x in points]
    if n < 2 or len(set(xs)) < 2:
        return dict.fromkeys(NAMES)
    x_mean, y_mean = sum(xs, Fraction(0)) / n, sum(ys, Fraction(0)) / n
    sxy = sum(((x - x_mean) * (y - y_mean) for x, y in zip(xs, ys, strict=True)), Fraction(0))
    sxx, syy = sum((x - x_mean) ** 2 for x in xs), sum((y - y_mean) ** 2 for y in ys)
    slope = sxy / sxx
    return {
        "slope": float(slope),
        "intercept": float(y_mean - slope * x_mean),
        "r_squared": float(sxy * sxy / (sxx * syy)) if syy else 1.0,
    }


def assert_alike(found: list[dict[str, Any]], expected: list[dict[str, float | None]]) -> None:
    for one, other in zip(found, expected, strict=True):
        for name in NAMES:
            assert (one[name] is None) == (other[name] is None), f"{name}: {one[name]} instead of {other[name]}"
            if other[name] is not None:
                assert one[name] == pytest.approx(other[name], rel=1e-8, abs=1e-8), name


@settings(max_examples=20, deadline=None)
@given(rows=st.lists(st.tuples(quarters | st.none(), quarters | st.none()), min_size=1, max_size=12))
def test_two_columns(rows: list[tuple[float | None, float | None]]) -> None:
    y, x = zip(*rows, strict=True)
    table = pa.table({"y": pa.array(y, pa.float64()), "x": pa.array(x, pa.float64())})
    expected = []
    for end in range(1, len(rows) + 1):
        held = rows[max(0, end - 5) : end]
        expected.append(exact([(y, Fraction(x)) for y, x in held if y is not None and x is not None]))
    assert_alike(sash.Query(lines(["y", "x"]), window.rows(5)).run(table).to_pylist(), expected)


@pytest.mark.parametrize("unit", some(["us", "s", "ns"], 3))
def test_over_time_in_seconds(unit: str) -> None:
    chooser = np.random.default_rng(5)
    step = {"s": 1_000_000_000, "us": 1_000, "ns": 1}[unit]
    ticks = START // step + np.cumsum(chooser.integers(0, 3, 60))
    y = chooser.integers(0, 100, 60) / 4
    table = pa.table({"ts": pa.array(ticks).cast(pa.timestamp(unit)), "y": y})
    expected = []
    for end in range(1, 61):
        held = range(max(0, end - 6), end)
        expected.append(exact([(float(y[one]), Fraction(int(ticks[one]) * step, 10**9)) for one in held]))
    found = sash.Query(lines(["y"]), window.rows(6), time="ts").run(table, compiled=True).to_pylist()
    assert_alike(found, expected)


def test_nulls_are_those_of_sql() -> None:
    duckdb = pytest.importorskip("duckdb")
    points = [(1.0, 2.0), (3.0, 2.0), (5.0, 1.0), (5.0, 2.0), (None, 7.0), (4.0, 3.0)]
    y, x = zip(*points, strict=True)
    rows = pa.table({"place": range(6), "y": pa.array(y), "x": pa.array(x)})
    names = {"slope": "regr_slope", "intercept": "regr_intercept", "r_squared": "regr_r2"}
    over = "over (order by place rows between 1 preceding and current row)"
    chosen = ", ".join(f"{sql}(y, x) {over} as {name}" for name, sql in names.items())
    theirs = duckdb.sql(f"select {chosen} from rows order by place").arrow().read_all()
    found = sash.Query(lines(["y", "x"]), window.rows(2)).run(rows)
    for name in NAMES:
        known = [None if one is None or math.isnan(one) else one for one in theirs[name].to_pylist()]
        assert found[name].to_pylist() == known  # DuckDB's slope is NaN where PostgreSQL's and Spark's are null


def test_nan_stays_nan_where_x_differs() -> None:
    rows = pa.table({"y": [1.0, math.nan, 2.0], "x": [1.0, 2.0, 3.0]})
    last = sash.Query(lines(["y", "x"]), window.rows(3)).run(rows).to_pylist()[-1]
    assert all(math.isnan(last[name]) for name in NAMES)


def test_an_integer_time_column_has_its_own_unit() -> None:
    rows = pa.table({"hour": [10, 12], "y": [1.0, 7.0]})
    query = sash.Query({"s": agg.slope("y"), "i": agg.intercept("y")}, window.rows(2), time="hour")
    assert query.run(rows).to_pylist()[-1] == {"hour": 12, "y": 7.0, "s": 3.0, "i": -29.0}


def test_lines_are_those_of_duckdb() -> None:
    chooser = np.random.default_rng(3)
    rows = pa.table(
        {
            "i": range(200),
            "y": pa.array(chooser.normal(size=200), mask=chooser.random(200) < 0.1),
            "x": pa.array(chooser.integers(0, 3, 200), mask=chooser.random(200) < 0.1),
        }
    )
    names = {"slope": "regr_slope", "intercept": "regr_intercept", "r_squared": "regr_r2"}
    made = sash.Query({name: getattr(agg, name)("y", "x") for name in names}, window.rows(5), order_by="i").run(rows)
    frame = "OVER (ORDER BY i ROWS 4 PRECEDING)"
    shown = ", ".join(f"{function}(y, x) {frame} AS {name}" for name, function in names.items())
    text = f"SELECT {shown}, regr_count(y, x) {frame} AS n, regr_sxx(y, x) {frame} AS sxx FROM rows ORDER BY i"
    with duckdb.connect() as own:
        own.register("rows", rows)
        made_by_duckdb = own.sql(text)
        assert made_by_duckdb is not None
        expected = made_by_duckdb.to_arrow_table()
    for place, (n, sxx) in enumerate(zip(expected["n"].to_pylist(), expected["sxx"].to_pylist(), strict=True)):
        for name in names:
            found, other = made[name][place].as_py(), expected[name][place].as_py()
            # DuckDB gives NaN or null for fewer than two points, or for a vertical line; Sash gives null.
            has_line = n >= 2 and sxx > 1e-12
            assert found == pytest.approx(other, rel=1e-9, abs=1e-9) if has_line else found is None
