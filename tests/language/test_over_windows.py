"""Texts with OVER have DuckDB's results: frames, EXCLUDE, FILTER, named windows, and SQL around them, over random rows."""

from __future__ import annotations

import math
import random
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from helpers.cases import SOAK
from helpers.sql_texts import EXCLUDE, OVER, readings

import sash

AGGREGATES = (
    *(
        "max(x)",
        "min(x)",
        "sum(x)",
        "avg(x)",
        "count(x)",
        "count(*)",
        "stddev_samp(x)",
        "var_pop(y)",
        "median(x)",
        "count(DISTINCT x)",
    ),
    *(
        "max(DISTINCT x)",
        "sum(x + 1)",
        "max(abs(x))",
        "bool_or(f)",
        "bool_and(f)",
        "corr(x, y)",
        "covar_samp(x, y)",
    ),
    *(
        "regr_slope(x, y)",
        "regr_intercept(x, y)",
        "quantile_cont(x, 0.3)",
        "avg(CASE WHEN x > 0 THEN y END)",
        "sum(y)",
        "product(x)",
    ),
)
IN_ORDER = ("first_value(x IGNORE NULLS)", "last_value(x IGNORE NULLS)", "string_agg(s, '-')")
"""These need an order without ties. DuckDB has no FILTER for most of them."""
FAR = 99


def rows_of(chooser: random.Random, count: int) -> pa.Table:
    """Return rows with nulls and ties of the time `t`."""
    return pa.table(
        {
            "id": pa.array(range(count), pa.int64()),
            "t": pa.array(sorted(chooser.choices(range(count), k=count)), pa.int64()),
            "k": [chooser.choice(["a", "b", None]) for _ in range(count)],
            "x": pa.array([chooser.choice([None, chooser.randint(-5, 9), 2]) for _ in range(count)], pa.int64()),
            "y": pa.array([chooser.choice([None, chooser.random()]) for _ in range(count)], pa.float64()),
            "s": [chooser.choice([None, "u", "v"]) for _ in range(count)],
            "f": [chooser.choice([None, True, False]) for _ in range(count)],
        }
    )


def bound_of(chooser: random.Random) -> tuple[int, str]:
    steps = chooser.randint(1, 6)
    return chooser.choice(
        [
            (-FAR, "UNBOUNDED PRECEDING"),
            (-steps, f"{steps} PRECEDING"),
            (0, "CURRENT ROW"),
            (steps, f"{steps} FOLLOWING"),
            (FAR, "UNBOUNDED FOLLOWING"),
        ]
    )


def frame_of(chooser: random.Random, order: str) -> str:
    """Return a frame. ROWS needs an order without ties, as the order of ties is DuckDB's own; RANGE needs one column."""
    kind = "ROWS" if "," in order else "RANGE" if order == "t" else chooser.choice(["ROWS", "RANGE"])
    start, end = sorted([bound_of(chooser), bound_of(chooser)])
    if start[0] == FAR or end[0] == -FAR:
        return frame_of(chooser, order)
    exclude = chooser.choice(["", "", " EXCLUDE CURRENT ROW", " EXCLUDE TIES", " EXCLUDE GROUP", " EXCLUDE NO OTHERS"])
    if start[0] <= 0 and chooser.random() < 0.2:
        return f"{kind} {start[1]}{exclude}"
    return f"{kind} BETWEEN {start[1]} AND {end[1]}{exclude}"


def text_of(chooser: random.Random) -> str:
    """Return a random text over the table `tab`."""
    order = chooser.choice(["t", "id", "t, id"])
    base = chooser.choice(["", "PARTITION BY k ", "PARTITION BY k, f "]) + f"ORDER BY {order}"
    named = {"w": base}
    items = []
    for number in range(chooser.randint(1, 4)):
        frame = frame_of(chooser, order) if "," in order or chooser.random() < 0.8 else ""
        over = chooser.choice([f"({base} {frame})", f"(w {frame})", f"v{number}"])
        if over.startswith("v"):
            named[over] = f"{base} {frame}"
        called = chooser.choice(AGGREGATES if order == "t" else (*AGGREGATES, *IN_ORDER))
        condition = chooser.choice(["", " FILTER (WHERE x > 2)", " FILTER (WHERE f)"]) if called in AGGREGATES else ""
        call = f"{called}{condition} OVER {over}"
        items.append(f"{chooser.choice([call, call, f'coalesce(CAST({call} AS VARCHAR), chr(45))'])} AS c{number}")
    where = chooser.choice(["", " WHERE id % 3 <> 0"])
    windows = ", ".join(f"{name} AS ({one})" for name, one in named.items())
    return f"SELECT id, {', '.join(items)} FROM tab{where} WINDOW {windows} ORDER BY id"


def same(mine: Any, theirs: Any) -> bool:
    """Return whether two values are equal but for rounding. DuckDB's NaN of a line through one point is null in the standard."""
    if theirs is None or mine is None:
        return mine is None and (theirs is None or str(theirs) == "nan")
    if isinstance(mine, str):
        if mine in (theirs, "-"):
            return theirs in (mine, "nan")
        try:
            return math.isclose(float(mine), float(theirs), rel_tol=1e-6, abs_tol=1e-9)
        except ValueError:
            return bool(mine == theirs)
    if isinstance(mine, float):
        return (math.isnan(mine) and math.isnan(theirs)) or math.isclose(
            mine, float(theirs), rel_tol=1e-9, abs_tol=1e-7
        )
    return bool(mine == theirs)


def assert_as_in_duckdb(text: str, table: pa.Table, name: str) -> None:
    with duckdb.connect() as database:
        database.execute("SET TimeZone = 'UTC'")
        database.register(name, table)
        expected = database.sql(text).to_arrow_table().to_pylist()
    found = sash.sql(text).run(table).to_pylist()
    assert len(found) == len(expected)
    for mine, theirs in zip(found, expected, strict=True):
        assert list(mine) == list(theirs)
        assert all(same(mine[column], theirs[column]) for column in mine), f"{text}\n{mine}\n{theirs}"


@pytest.mark.parametrize("seed", range(2000 if SOAK else 60))
def test_random_texts_have_the_results_of_duckdb(seed: int) -> None:
    chooser = random.Random(seed)
    assert_as_in_duckdb(text_of(chooser), rows_of(chooser, 40), "tab")


@pytest.mark.parametrize("text", [*OVER, *EXCLUDE])
def test_texts_of_the_standard_have_the_results_of_duckdb(text: str) -> None:
    rows = readings()
    assert_as_in_duckdb(text if "LIMIT" in text else f"{text} ORDER BY id", rows, "s")


@pytest.mark.parametrize(
    "text",
    [
        "SELECT id, string_agg(s, '-') OVER (ORDER BY t, x NULLS LAST, id ROWS 3 PRECEDING) AS ids FROM tab ORDER BY id",
        "SELECT id, count(*) OVER (ORDER BY t ASC NULLS LAST) AS n FROM tab ORDER BY id",
        "SELECT id, max(x) OVER (ORDER BY id) AS m FROM tab ORDER BY x NULLS FIRST, id",
        "SELECT id, max(x) OVER (ORDER BY id) AS m FROM tab ORDER BY s COLLATE nocase DESC NULLS LAST, id",
        "SELECT id, count(CASE WHEN s COLLATE nocase = 'U' THEN 1 END) OVER (ORDER BY id) AS n FROM tab ORDER BY id",
    ],
)
def test_clauses_for_nulls_and_letters_have_the_results_of_duckdb(text: str) -> None:
    rows = rows_of(random.Random(7), 40)
    assert_as_in_duckdb(text, rows, "tab")


def test_a_quoted_name_is_no_clause_for_nulls() -> None:
    rows = pa.table({"t": [1, 2, 3], "NULLS FIRST": [None, 2, 1]})
    found = sash.sql('SELECT t, count(*) OVER (ORDER BY t) AS n FROM tab ORDER BY "NULLS FIRST"').run(rows)
    assert found["t"].to_pylist() == [3, 2, 1]  # the default of DuckDB, nulls last


def test_several_windows_are_one_query() -> None:
    query = sash.sql(
        "SELECT max(x) OVER (ORDER BY t ROWS 3 PRECEDING), max(x) OVER (ORDER BY t ROWS 9 PRECEDING) FROM s"
    )
    assert "windows   rows_4" in str(query.explain())
    assert "rows_10" in str(query.explain())
