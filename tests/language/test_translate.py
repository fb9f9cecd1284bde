"""Texts → queries: every style, names of all sorts, and mutations of valid texts, which raise only SqlError."""

from __future__ import annotations

import random
import re

import pytest
from helpers.cases import SOAK
from helpers.pairwise import FULL
from helpers.sql_texts import TEXTS, readings

import sash
from sash import agg, window
from sash.language.sql_error import SqlError

MUTATIONS = 200_000 if SOAK else 8_000 if FULL else 1_500
WORDS = (
    *(
        "(",
        ")",
        "[",
        "]",
        ",",
        ";",
        "'",
        '"',
        "`",
        "--",
        "/*",
        "*/",
        "*",
        "::",
        "->",
        ":",
        "?",
        "$1",
        "@x",
        "\x00",
        "{",
        "{%",
        "#",
        "\\",
        "||",
    ),
    *(
        "é",
        "負",
        "\t",
        "\n",
        "1e999",
        "99999999999999999999",
        "-",
        "0x1F",
        "NULL",
        "OVER",
        "RANGE",
        "ROWS",
        "SELECT",
        "FROM",
        "INTERVAL",
    ),
    *(
        "CASE",
        "END",
        "FILTER",
        "WITHIN GROUP",
        "window",
        "DESC",
        "TABLE",
        "LATERAL",
        "PIVOT",
        "ALL",
        "EXCLUDE",
        "DISTINCT",
        "GROUP BY",
    ),
)


@pytest.mark.parametrize("text", TEXTS)
def test_every_text_runs(text: str) -> None:
    rows = readings()
    query = sash.sql(text)
    results = query.run(rows)
    assert len(results) > 0
    assert query.schema(rows) == results.schema
    assert query.schema(rows.schema) == results.schema


def mutated(chooser: random.Random, text: str) -> str:
    """Delete, double, swap or replace some tokens."""
    parts = re.findall(r"\w+|\s+|[^\w\s]", text)
    for _ in range(chooser.randint(1, 4)):
        place, other = chooser.randrange(len(parts)), chooser.randrange(len(parts))
        noise = "".join(chr(chooser.randrange(1, 0x250)) for _ in range(3))
        match chooser.randrange(5):
            case 0 if len(parts) > 1:
                del parts[place]
            case 1:
                parts.insert(place, parts[other])
            case 2:
                parts[place], parts[other] = parts[other], parts[place]
            case 3:
                parts.insert(place, chooser.choice(WORDS))
            case _:
                parts[place] = chooser.choice((*WORDS, noise))
    return "".join(parts)


@pytest.mark.parametrize("seed", range(2))
def test_mutations_of_texts_raise_nothing_but_sql_errors(seed: int) -> None:
    chooser = random.Random(seed)
    raised = 0
    for _ in range(MUTATIONS):
        text = mutated(chooser, chooser.choice(TEXTS))
        try:
            query = sash.sql(text)
        except SqlError as error:
            assert error.problem  # noqa: PT017 — most texts raise, some do not
            raised += 1
        else:
            assert isinstance(query, sash.Query), text
    assert raised > 10


@pytest.mark.parametrize(
    ("text", "query"),
    [
        (
            "SELECT household, MAX(load) AS peak FROM s [RANGE 24 HOURS SLIDE 1 MINUTE ON ts] GROUP BY household",
            sash.Query({"peak": agg.max("load")}, window.time("24h", slide="1m"), by="household", time="ts"),
        ),
        (
            "SELECT x.household, max(x.load) AS peak FROM s AS x [TUMBLE 1 HOUR ON ts] GROUP BY x.household",
            sash.Query({"peak": agg.max("load")}, window.tumbling("1h"), by="household", time="ts"),
        ),
        (
            "SELECT *, max(load) OVER (PARTITION BY k ORDER BY ts, id ROWS 5 PRECEDING) AS peak FROM s;",
            sash.Query({"peak": agg.max("load")}, window.rows(before=5, after=0), by="k", time="ts", order_by="id"),
        ),
        (
            "SELECT percentile_cont(0.9) WITHIN GROUP (ORDER BY x) FILTER (WHERE y > 0) AS p FROM s [ROWS 5 ON t]",
            sash.Query({"p": agg.quantile("x", 0.9, where="y > 0")}, window.rows(5), time="t"),
        ),
        (
            'SELECT max("my load") AS "the peak" -- why\n FROM "my table" /* [ROWS 4] */ [ROWS 3 ON "select"]',
            sash.Query({"the peak": agg.max("my load")}, window.rows(3), time="select"),
        ),
        (
            "SELECT MAX_BY(plug, load) AS m, ArgMax(load, plug) AS n FROM s [ROWS 3 ON t]",
            sash.Query({"m": agg.arg_max("load", "plug"), "n": agg.arg_max("load", "plug")}, window.rows(3), time="t"),
        ),
        (
            "SELECT max(a), min(a) FROM s [RANGE BEFORE 1 HOUR AFTER 2 HOURS EXCLUDE CURRENT ROW ON t]",
            sash.Query([agg.max("a"), agg.min("a")], window.time(before="1h", after="2h", exclude="row"), time="t"),
        ),
    ],
)
def test_a_text_is_the_query_with_the_same_arguments(text: str, query: sash.Query) -> None:
    assert repr(sash.sql(text)) == repr(query)


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        (
            "SELECT max(load) AS m FROM s [TUMBLE 1 HOUR ON ts] GROUP BY house",
            ["house", "window_start", "window_end", "m"],
        ),
        ("SELECT window_end, max(load) AS m FROM s [TUMBLE 1 HOUR ON ts] GROUP BY house", ["window_end", "m"]),
        ("SELECT max(load) - min(load) AS d FROM s [ROWS 100 SLIDE 10]", ["d"]),
        ("SELECT max(load) - min(load) AS d FROM s [ROWS 100 SLIDE 10 ON ts]", ["window_start", "window_end", "d"]),
        (
            "SELECT lower(house) AS h, max(load) AS m FROM s [TUMBLE 1 HOUR ON ts] GROUP BY h",
            ["h", "window_start", "window_end", "m"],
        ),
        (
            "SELECT upper(lower(house)) AS h, max(load) AS m FROM s [TUMBLE 1 HOUR ON ts] GROUP BY LOWER( house )",
            ["LOWER( house )", "window_start", "window_end", "h", "m"],
        ),
        ("SELECT ts, max(load) OVER (ORDER BY id) AS load FROM s", ["ts", "load"]),
        ("SELECT id, max(load) AS m FROM s [ROWS 3 AS a, ROWS 5 AS b ON ts]", ["id", "m_a", "m_b"]),
        (
            "SELECT house AS k, max(load) AS m FROM s [TUMBLE 1 HOUR ON ts] GROUP BY house",
            ["k", "window_start", "window_end", "m"],
        ),
        ("SELECT ID, max(load) + 1 AS m FROM s [ROWS 3]", ["ID", "m"]),
        ("SELECT db.s.id, max(db.s.load) OVER (ORDER BY s.id) + s.len AS m FROM db.s WHERE db.s.len > 1", ["id", "m"]),
    ],
)
def test_the_columns_of_results(text: str, columns: list[str]) -> None:
    assert sash.sql(text).run(readings()).column_names == columns


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("SELECT max(x) AS m FROM s [TUMBLE 2 ON t] ORDER BY m DESC LIMIT 2", [4, 3]),
        ("SELECT max(x) AS m FROM s [TUMBLE 2 ON t] ORDER BY 3 DESC LIMIT 1 OFFSET 1", [3]),
        ("SELECT max(x) AS m FROM s [TUMBLE 2 ON t] HAVING m > 1 AND count(*) = 1", [4]),
        ("SELECT max(x) AS m FROM s [TUMBLE 2 ON t] ORDER BY min(x) DESC", [4, 3, 1]),
        (
            "SELECT x, max(x) OVER (ORDER BY t ROWS 1 PRECEDING) * 10 AS m FROM s QUALIFY m > 10 ORDER BY x",
            [20, 30, 40],
        ),
        ("SELECT -sum(x) AS m FROM s [TUMBLE 2 ON t] WHERE x <> 2 ORDER BY m", [-4, -3, -1]),
        ("SELECT sum(x) AS m FROM s [TUMBLE 2 ON t] WHERE name = 'it''s' ORDER BY m", [1]),
        ("SELECT max(x) AS m FROM s [TUMBLE 2 ON t] ORDER BY m NULLS FIRST", [1, 3, 4]),
    ],
)
def test_sql_around_the_windows(text: str, values: list[int]) -> None:
    import pyarrow as pa  # noqa: PLC0415 — as the other rows are made by a helper

    rows = pa.table({"t": [1, 2, 3, 4], "x": [1, 2, 3, 4], "name": ["it's", "b", "c", "d"]})
    assert sash.sql(text).run(rows)["m"].to_pylist() == values
