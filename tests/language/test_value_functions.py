"""Functions that return values of rows have DuckDB's results, nulls included: lag, lead, row_number, rank, first_value, array_agg, …"""

from __future__ import annotations

import random

import polars as pl
import pyarrow as pa
import pytest
from helpers.cases import SOAK
from helpers.in_duckdb import in_duckdb

import sash

OF_ROWS = (
    "lag({x})",
    "lag({x}, 2)",
    "lag({x}, 3, -1)",
    "lag({x}, 0)",
    "lead({x})",
    "lead({x}, 2, id)",
    "lag({x} IGNORE NULLS)",
    "lead({x} IGNORE NULLS)",
    "row_number()",
    "rank()",
)
OF_FRAMES = (
    "first_value({x})",
    "last_value({x})",
    "nth_value({x}, 2)",
    "first({x})",
    "last({x})",
    "first_value({x} IGNORE NULLS)",
    "last_value({x} IGNORE NULLS)",
    "nth_value({x}, 2 IGNORE NULLS)",
    "array_agg({x})",
    "list({x})",
    "max({x})",
    "count(*)",
)
FRAMES = (
    "",
    "ROWS 2 PRECEDING",
    "ROWS BETWEEN 3 PRECEDING AND 1 PRECEDING",
    "ROWS BETWEEN CURRENT ROW AND 2 FOLLOWING",
    "ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING",
    "ROWS BETWEEN 1 FOLLOWING AND UNBOUNDED FOLLOWING",
)


def rows_of(chooser: random.Random, count: int = 30) -> pa.Table:
    """Return rows with nulls, in any order."""
    ids = list(range(count))
    chooser.shuffle(ids)
    return pa.table(
        {
            "id": pa.array(ids, pa.int64()),
            "t": pa.array([one // 3 for one in ids], pa.int64()),
            "k": [chooser.choice(["a", "b", None]) for _ in ids],
            "j": [chooser.choice([1, 2]) for _ in ids],
            "x": pa.array([chooser.choice([None, chooser.randint(0, 9)]) for _ in ids], pa.int64()),
            "y": pa.array([chooser.choice([None, chooser.random()]) for _ in ids], pa.float64()),
        }
    )


def call_of(chooser: random.Random) -> str:
    keys = chooser.choice(["", "PARTITION BY k ", "PARTITION BY j "])
    order = chooser.choice(["id", "id DESC", "t, id", "t DESC, id DESC NULLS FIRST"])
    column = chooser.choice(["x", "y", "x + 1"])
    if chooser.random() < 0.4:
        return f"{chooser.choice(OF_ROWS).format(x=column)} OVER ({keys}ORDER BY {order})"
    frames = FRAMES if "," not in order else FRAMES[1:]
    return f"{chooser.choice(OF_FRAMES).format(x=column)} OVER ({keys}ORDER BY {order} {chooser.choice(frames)})"


@pytest.mark.parametrize("seed", range(1000 if SOAK else 80))
def test_random_texts_have_the_results_of_duckdb(seed: int) -> None:
    chooser = random.Random(seed)
    items = [f"{call_of(chooser)} AS c{number}" for number in range(chooser.randint(1, 4))]
    text = f"SELECT id, {', '.join(items)} FROM tab ORDER BY id"
    table = rows_of(chooser)
    assert sash.sql(text).run(table).to_pylist() == in_duckdb(text, tab=table), text


TEXTS = (
    "SELECT * FROM tab QUALIFY row_number() OVER (PARTITION BY k ORDER BY id DESC) = 1 ORDER BY id",
    "SELECT id, x - lag(x) OVER (PARTITION BY k ORDER BY id) AS d FROM tab WHERE x > 2 ORDER BY id",
    (
        "SELECT id, max(x) OVER (PARTITION BY k ORDER BY id ROWS 3 PRECEDING) AS a, max(y) OVER (PARTITION BY j ORDER BY id) AS b,"
        " count(*) OVER (PARTITION BY k) AS c, min(x) OVER (ORDER BY t) AS d FROM tab QUALIFY a > 3 ORDER BY id"
    ),
    (
        "SELECT id, max(x) OVER (ORDER BY id ROWS 2 PRECEDING) AS a, min(x) OVER (ORDER BY id ROWS 9 PRECEDING) AS b,"
        " max(x) OVER (ORDER BY id ROWS 9 PRECEDING) + 1 AS c FROM tab ORDER BY id"
    ),
    "SELECT id, count_if(x > 2) OVER w AS a, count_if(x > y) FILTER (WHERE x < 5) OVER w AS b FROM tab WINDOW w AS (ORDER BY id ROWS 2 PRECEDING) ORDER BY id",
    "SELECT id, sum(x) OVER (ORDER BY id) AS a FROM tab ORDER BY id FETCH FIRST 5 ROWS ONLY",
    "SELECT *, lag(x, 1, 0) OVER (ORDER BY id) AS p, count(*) OVER (PARTITION BY t ORDER BY t) AS n FROM tab ORDER BY id",
    "SELECT id, rank() OVER (ORDER BY t) AS r, rank() OVER (ORDER BY t DESC) AS q FROM tab ORDER BY id",
    "SELECT id, sum(x) OVER (ORDER BY t DESC) AS a, sum(x) OVER (ORDER BY t DESC RANGE 2 PRECEDING) AS b FROM tab ORDER BY id",
    "SELECT id, arg_max(id, x) OVER w AS a, argMin(id, x) OVER w AS b, max_by(id, x) OVER w AS c FROM tab WINDOW w AS (ORDER BY id ROWS 5 PRECEDING) ORDER BY id",
)


@pytest.mark.parametrize("text", TEXTS)
def test_texts_have_the_results_of_duckdb(text: str) -> None:
    table = rows_of(random.Random(3))
    if "arg_max" in text:  # DuckDB and Sash agree on ties only if there are none
        table = table.set_column(4, "x", pa.array([(7 * one) % 31 for one in table["id"].to_pylist()]))
    expected = in_duckdb(text, tab=table)
    found = sash.sql(text).run(table)
    assert len(expected) > 1
    assert [*found.to_pylist()] == expected
    assert found.column_names == list(expected[0])
    assert sash.sql(text).schema(table) == found.schema
    assert pl.DataFrame(found).equals(sash.sql(text).run(pl.DataFrame(table)))


def test_what_is_not_asked_for_is_not_evaluated() -> None:
    query = sash.sql(
        "SELECT max(x) OVER (ORDER BY t ROWS 3 PRECEDING), avg(y) OVER (ORDER BY t ROWS 9 PRECEDING) FROM s"
    )
    plans = str(query.explain()).split("\n\n")
    assert len(plans) == 2
    assert "max(x)" in plans[0] and "mean(y)" not in plans[0]  # noqa: PT018 — one thing
    assert "mean(y)" in plans[1] and "max(x)" not in plans[1]  # noqa: PT018


def test_a_stream_evaluates_several_frames_of_one_order_together() -> None:
    table = rows_of(random.Random(4)).sort_by("id")
    text = "SELECT *, max(x) OVER (ORDER BY id ROWS 2 PRECEDING) AS a, min(x) OVER (ORDER BY id ROWS 9 PRECEDING) AS b FROM tab"
    found = sash.sql(text).run(table.to_reader(max_chunksize=7)).read_all()
    assert found.to_pylist() == sash.sql(text).run(table).to_pylist()
    several = sash.sql("SELECT max(x) OVER (ORDER BY id), max(x) OVER (PARTITION BY k ORDER BY id) FROM tab")
    with pytest.raises(ValueError, match=r"have the same PARTITION BY and ORDER BY\. Run one query for each"):
        several.run(table.to_reader())


def test_labels_go_through_all_queries() -> None:
    events = pa.table({"t": [1, 2, 4, 8], "k": ["a", "b", "a", "b"], "x": [5, 7, 6, 1]})
    labels = pa.table({"t": [3, 9], "k": ["a", "b"]})
    text = "SELECT *, max(x) OVER (PARTITION BY k ORDER BY t) AS own, max(x) OVER (ORDER BY t) AS of_all FROM s"
    assert sash.sql(text).run(events, at=labels).to_pylist() == [
        {"t": 3, "k": "a", "own": 5, "of_all": 7},
        {"t": 9, "k": "b", "own": 7, "of_all": 7},
    ]


@pytest.mark.parametrize(
    ("call", "expected"),
    [("ARGMAX(x, name)", "b"), ("arg_max(name, x)", "b"), ("MAX_BY(name, x)", "b"), ("ArgMin(x, name)", "a")],
)
def test_only_argmax_in_brackets_has_the_order_of_the_papers(call: str, expected: str) -> None:
    rows = pa.table({"t": [1, 2, 3], "x": [1, 9, 5], "name": ["a", "b", "c"]})
    assert sash.sql(f"SELECT {call} AS who FROM s [TUMBLE 10 ON t]").run(rows)["who"].to_pylist() == [expected]


def test_cql_skips_nulls_where_sql_keeps_them() -> None:
    rows = pa.table({"t": [1, 2], "x": [None, 4]})
    assert sash.sql("SELECT first(x) AS f FROM s [TUMBLE 10 ON t]").run(rows)["f"].to_pylist() == [4]
    assert sash.sql("SELECT first(x) OVER (ORDER BY t) AS f FROM s").run(rows)["f"].to_pylist() == [None, None]
