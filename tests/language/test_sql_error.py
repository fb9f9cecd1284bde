"""Errors point at the place, whatever precedes it on its line."""

from __future__ import annotations

import pickle

import pytest

import sash
from sash.language.sql_error import SqlError


def error_of(text: str) -> SqlError:
    with pytest.raises(SqlError) as caught:
        sash.sql(text)
    return caught.value


@pytest.mark.parametrize(
    ("text", "line", "column", "marked"),
    [
        ("SELECT maxx(load) FROM s [ROWS 3]", 1, 8, "         ^^^^^^^^^^"),
        ("SELECT\n  max(load),\n\tmaxx(load) FROM s [TUMBLE 3 ON t]", 3, 2, "  \t^^^^^^^^^^"),
        ('SELECT max("負荷"), maxx(load) FROM s [TUMBLE 3 ON t]', 1, 19, "  " + " " * 20 + "^" * 10),
        ("SELECT max(load) FROM s [RANGE 3 FORTNIGHTS]", 1, 34, "  " + " " * 33 + "^" * 10),
        ("SELECT max(load)\r\nFROM s [RANGE 3 FORTNIGHTS]\r\n", 2, 17, "  " + " " * 16 + "^" * 10),
        ("SELECT max(load) FROM s [ROWS 3] WHERE lower('abc", 1, 50, "  " + " " * 49 + "^"),
        ("SELECT max(x) OVER (ORDER BY t, u NULLS FIRST) FROM s", 1, 33, "  " + " " * 32 + "^" * 13),
    ],
)
def test_an_error_shows_line_column_and_a_caret(text: str, line: int, column: int, marked: str) -> None:
    error = error_of(text)
    assert (error.line, error.column) == (line, column)
    shown = str(error).split("\n")
    assert f"At line {line}, column {column}:" in shown[0]
    assert shown[2] == marked


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("SELECT maxx(load) FROM s [ROWS 3]", "There is no aggregate maxx. Did you mean 'max'?"),
        ("SELECT maxx(load), min(load) FROM s [TUMBLE 3 ON t]", "There is no aggregate maxx. Did you mean 'max'?"),
        (
            "SELECT hose, max(load) FROM s [TUMBLE 3 ON t] GROUP BY house",
            "neither a key in GROUP BY nor the input of an aggregate. Did you mean 'house'?",
        ),
        ("SELECT max(load) OVER v FROM s WINDOW w AS (ORDER BY t)", "There is no window v."),
        ("SELECT quantile(load, qq => 0.5) FROM s [ROWS 3]", "has no parameter qq. Did you mean 'q'?"),
        ("SELECT max(load) FROM s", "The query has no window."),
        ("SELECT max(load) FROM s [TUMBLE 3 ON t] GROUP BY", "GROUP BY needs a column"),
        ("SELECT max(load) OVER (PARTITION BY ORDER BY t) AS m FROM s", "PARTITION BY needs a column"),
        ("SELECT max(load) OVER (PARTITION BY) AS m FROM s", "PARTITION BY needs a column"),
        ("SELECT max(load) OVER (ORDER BY t ROWS BETWEEN 3 PRECEDING AND) AS m FROM s", "needs a bound after AND"),
        ("SELECT max(load) FROM s [TUMBLE 3 ON t] LIMIT", "Expected a name or an expression"),
        ("SELECT max(load) FROM s [TUMBL 3 ON t]", "Did you mean 'TUMBLE'? A window begins with RANGE"),
        ("SELECT max(load) OVER (ORDER BY t ROWS 3 PRECEDING) AS m FROM ", "FROM must name a table"),
        ("SELECT max(load) OVER (ORDER BY t ROWS 3 PRECEDING) AS m FROM WHERE x > 1", "FROM must name a table"),
        ("SELECT max(load) FROM s GROUP BY window()", "window needs the time column, as in window(ts, '1 hour')."),
        ("SELECT max(load) FROM s [ROWS 3] JOIN u ON 1 = 1", "over one table, which is not joined"),
        ("SELECT max(load) FROM s [ROWS 3], u", "over one table, which is not joined"),
        ("SELECT DISTINCT max(load) FROM s [ROWS 3]", "DISTINCT is not supported"),
        ("SELECT max(load) FROM s [ROWS 3] GROUP BY (SELECT 1)", "has subqueries in FROM and WHERE only"),
        ("SELECT max(load), (SELECT 1) FROM s [ROWS 3]", "has subqueries in FROM and WHERE only"),
        ("SELECT max(load) OVER (ORDER BY ts DESC, id ROWS 3 PRECEDING) FROM s", "Write DESC after each"),
        ("SELECT max(load) OVER (ORDER BY ts DESC, id DESC ROWS 3 PRECEDING) FROM s", "Write id DESC NULLS FIRST."),
        ("SELECT collect(load) OVER (ORDER BY ts DESC) FROM s", "Leave DESC out, and swap PRECEDING and FOLLOWING"),
        (
            "SELECT max(load) OVER (ORDER BY ts, id ASC NULLS FIRST ROWS 3 PRECEDING) FROM s",
            "NULLS FIRST in a window is not supported",
        ),
        (
            "SELECT max(load) OVER w FROM s WINDOW w AS (ORDER BY ts, id NULLS FIRST)",
            "Leave it out, or write NULLS LAST.",
        ),
        ("SELECT max(load) OVER (ORDER BY ts WITH FILL) FROM s", "WITH FILL is not supported"),
        ("SELECT max(load) OVER (ROWS 3 PRECEDING EXCLUDE TIES) FROM s", "EXCLUDE TIES needs ORDER BY"),
        (
            "SELECT max(load) OVER (PARTITION BY k ROWS 3 PRECEDING EXCLUDE GROUP) FROM s",
            "EXCLUDE GROUP needs ORDER BY",
        ),
        (
            "SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY load WITH FILL) FROM s [ROWS 3]",
            "WITH FILL is not supported",
        ),
        ("SELECT max(load) FROM s [ROWS 3] ORDER BY load WITH FILL", "WITH FILL is not supported"),
        ("SELECT max(load) OVER (PARTITION BY k COLLATE nocase ORDER BY t) FROM s", "COLLATE does not apply to keys"),
        ("SELECT max(load) FROM s [TUMBLE 3 ON t] GROUP BY k COLLATE nocase", "COLLATE does not apply to keys"),
        ("SELECT max(name COLLATE nocase) FROM s [ROWS 3]", "COLLATE does not apply to inputs of aggregates"),
        ("SELECT count(DISTINCT trim(name COLLATE nocase)) FROM s [ROWS 3]", "COLLATE does not apply to inputs"),
        ("SELECT max(load RESPECT NULLS) OVER (ORDER BY ts) FROM s", "Leave RESPECT NULLS out"),
        ("SELECT max(load) FILTER (WHERE max(load) > 2) FROM s [ROWS 3]", "FILTER is evaluated for each row"),
        ("SELECT count(* EXCEPT (load)) FROM s [ROWS 3]", "COUNT(*) counts rows"),
        (
            "SELECT max(a) OVER (w ORDER BY b) FROM s WINDOW w AS (ORDER BY a)",
            "The window w has its own ORDER BY, which OVER cannot replace",
        ),
        ("SELECT max(a) OVER (w PARTITION BY b) FROM s WINDOW w AS (PARTITION BY a)", "has its own PARTITION BY"),
        (
            "SELECT max(a) OVER (w ROWS 3 PRECEDING) FROM s WINDOW w AS (ORDER BY a ROWS 9 PRECEDING)",
            "has its own frame",
        ),
        ("SELECT max(a) OVER w FROM s WINDOW w AS (ORDER BY a), w AS (ORDER BY b)", "Two windows are named w"),
        ("SELECT max(load) OVER (ORDER BY ts GROUPS 3 PRECEDING) FROM s", "GROUPS frames are not supported"),
        ("SELECT max(load) OVER (ORDER BY a, b) FROM s", "RANGE needs one column in ORDER BY, not 2. Use ROWS"),
        ("SELECT row_number() FROM s [ROWS 3]", "row_number() OVER (PARTITION BY house ORDER BY ts)"),
        ("SELECT lag(load) OVER () FROM s", "lag needs ORDER BY in OVER"),
        ("SELECT lag(load) OVER (ORDER BY ts ROWS 3 PRECEDING) FROM s", "Leave ROWS and what follows it out"),
        ("SELECT lag(load, n) OVER (ORDER BY ts) FROM s", "The second argument of lag is a whole number"),
        ("SELECT lag(load, 2) IGNORE NULLS OVER (ORDER BY ts) FROM s", "Use last_n(x, 3)"),
        ("SELECT ntile(4) OVER (ORDER BY ts) FROM s", "SELECT *, ntile(…) OVER (…) FROM t"),
        ("SELECT quantile(load, 0.5) OVER (ORDER BY ts) FROM s", "Write quantile_cont(x, q)"),
        ("SELECT max(load) FROM s [TUMBLE 3 ON t] EMIT CHANGES", 'pass mode="update" to run'),
        ("SELECT max(load) FROM s [TUMBLE 3 ON t] EMIT FINAL", "Leave EMIT FINAL out"),
        ("SELECT max(load) FROM s WINDOW SESSION (10 MINUTES) GROUP BY k", "Write FROM t [SESSION 10 MINUTES ON ts]"),
        ("SELECT max(a) FROM s WINDOW TUMBLING (SIZE 1 HOUR, GRACE PERIOD 1 DAY) GROUP BY k", "Leave them out"),
        ("SELECT max(load) OVER (ORDER BY when) FROM s", 'needs quotes, as in "when"'),
        ("SELECT max(when) OVER (ORDER BY t) FROM s", 'needs quotes, as in "when"'),
        ("SELECT max(load) FROM s [ROWS 3 ON when]", 'needs quotes, as in "when"'),
        ("SELECT date_trunc('decade', ts), max(load) FROM s GROUP BY 1", "date_trunc takes second, minute, hour"),
        ("SELECT max(load) FROM s GROUP BY time_bucket(INTERVAL '7 months', ts)", "divides 360"),
        ("SELECT max(load) FROM s GROUP BY time_bucket(5, t)", "use [TUMBLE 5 ON t]"),
        ("SELECT TUMBLE_START(ts, '2h') FROM s GROUP BY TUMBLE(ts, '1h')", "needs the arguments of TUMBLE"),
        ("SELECT max(load) FROM s GROUP BY 4, TUMBLE(ts, '1h')", "There is no column 4 in the select list"),
        ("SELECT sum(max(load)) FROM s [ROWS 3]", "cannot be the input of another one"),
        ("SELECT sum(DISTINCT load) FROM s [ROWS 3]", "sum(DISTINCT …) is not supported"),
        ("SELECT max(*) FROM s [ROWS 3]", "only COUNT(*) is"),
        ("SELECT max() FROM s [ROWS 3]", "max() needs a column"),
        ("SELECT percentile_cont(0.5) FROM s [ROWS 3]", "needs WITHIN GROUP"),
        ("SELECT string_agg(s ORDER BY t) FROM s [ROWS 3]", "Rows are in the order of time"),
        ("SELECT max(load) FROM s [ROWS 3] WHERE max(load) > 3", "WHERE is evaluated before the windows"),
        ("SELECT max(load) FROM s [ROWS 3] LIMIT x", "LIMIT takes a whole number"),
        ("SELECT * FROM s [TUMBLE 3 ON t]", "The query has no aggregate"),
        ("SELECT *, max(load) FROM s [TUMBLE 3 ON t]", "SELECT * is for results per row"),
        ("SELECT max(a) AS x, min(a) AS x FROM s [ROWS 3]", "Two columns are named x"),
        ("SELECT RStream(max(a)) FROM s [ROWS 3]", "RStream is not supported"),
        ("SELECT max(a) FROM TABLE(TUMBLE(TABLE s, DESCRIPTOR(ts), INTERVAL '1' HOUR))", "needs GROUP BY window_start"),
        (
            "SELECT max(a) FROM TABLE(CUMULATE(TABLE s, DESCRIPTOR(ts), INTERVAL '1' HOUR, INTERVAL '1' DAY)) GROUP BY window_start",
            "needs GROUP BY",
        ),
        (
            "SELECT max(a) FROM TABLE(SESSION(TABLE s PARTITION BY k, DESCRIPTOR(ts), INTERVAL '1' HOUR)) GROUP BY window_start",
            "different keys",
        ),
        ("SELECT max(a) FROM s [SESSION 3 SLIDE 2 ON t]", "SLIDE does not apply to SESSION"),
        ("SELECT max(a) FROM s [ROWS -3]", "range"),
        ("SELECT max(a) + 1 FROM s [ROWS 3 AS a, ROWS 5 AS b]", "has a result for each of 2 windows"),
        ("SELECT max(a) OVER (ORDER BY t) FROM s [ROWS 3]", "windows in several places"),
        ("SELECT max(a) OVER (ORDER BY t), max(a) FROM s", "has no OVER"),
        ("SELECT max(a) AS k FROM s [TUMBLE 3 ON t] GROUP BY k", "The result has a column k, besides those"),
        ("SELECT max(a) AS window_start FROM s [TUMBLE 3 ON t]", "The result has a column window_start, besides those"),
        ("SELECT DISTINCT max(a) OVER (ORDER BY t) FROM s", "SELECT DISTINCT * FROM (SELECT …)"),
        ("SELECT sum(sum(a)) OVER (ORDER BY t) FROM s GROUP BY t", "FROM (SELECT … GROUP BY …)"),
        (
            "SELECT max(a) OVER (ORDER BY t), max(a) OVER (ORDER BY u) FROM s [ROWS 3]",
            "FROM (SELECT count(*) AS n FROM t [RANGE",
        ),
        ("SELECT ts::DATE, sum(a) FROM s GROUP BY 1", "date_trunc('hour', ts)"),
        ("SELECT sum(a) FROM s GROUP BY date_trunc(hour, ts)", "as in date_trunc('hour', ts)"),
        ("SELECT sum(a) FROM s GROUP BY DATE_TRUNC(ts, HOUR)", "as in date_trunc('hour', ts)"),
        (
            "SELECT sum(a) FROM s GROUP BY time_bucket('1d', ts, TIMESTAMP '2025-01-01')",
            "takes an offset, not an origin",
        ),
        ("SELECT string_agg(s, ',' ORDER BY t) FROM s [ROWS 3]", "Leave ORDER BY out"),
        (
            "SELECT sum(a) OVER (ORDER BY epoch(ts) RANGE 9 PRECEDING) FROM s",
            "FROM (SELECT *, epoch(ts) AS t FROM …), and write ORDER BY t",
        ),
        ("SELECT k max(a) FROM s [ROWS 3]", "A comma may be missing"),
        ("SELECT sum(my load) FROM s [ROWS 3]", 'needs quotes, as in "my load"'),
        ("SELECT k when FROM s [ROWS 3]", "not expected here. when is a keyword"),
        ("SELECT array_agg(DISTINCT a) OVER (ORDER BY t) FROM s", "Use collect_distinct(x)"),
        ("SELECT max(a) OVER (PARTITION BY 1 ORDER BY t) FROM s", "leave PARTITION BY out"),
        ("SELECT max(a) OVER (PARTITION BY NULL ORDER BY t) FROM s", "leave PARTITION BY out"),
        ("SELECT max(a) FROM s GROUP BY date_trunc('day', ts AT TIME ZONE 'UTC')", "Compute the time in a subquery"),
        ("SELECT count_if() FROM s [ROWS 3]", "as in count_if(load > 5)"),
        ("SELECT max(a) FROM s [ROWS 3] FETCH FIRST 5 PERCENT ROWS ONLY", "as in LIMIT 10"),
        ("UPDATE s SET x = 1", "must be one SELECT"),
        ("SELECT max(a) FROM s [ROWS 3]; SELECT 1", "must be one SELECT"),
        ("", "must be one SELECT"),
        ("SELECT " + "(" * 5000 + "1", "nested too deeply"),
    ],
)
def test_what_cannot_run_is_explained(text: str, part: str) -> None:
    assert part in str(error_of(text))


def test_an_error_can_be_sent_to_another_process() -> None:
    error = error_of("SELECT maxx(load) FROM s [ROWS 3]")
    assert str(pickle.loads(pickle.dumps(error))) == str(error)  # noqa: S301 — our own bytes
