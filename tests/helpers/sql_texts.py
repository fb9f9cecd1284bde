"""Texts in the query language: those that papers, Flink, Spark and the SQL standard write, and rows that fit all of them."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta

import pyarrow as pa

CQL = (
    "SELECT IStream(Max(len) AS mxl, MaxCount(len) AS num, ArgMax(len, caller) AS who) FROM Calls [Range 24 Hours Slide 1 Minute]",
    "SELECT max(speed)\nfrom CarEvents\n[RANGE 30 Seconds]",
    "SELECT AVERAGE(speed)\nFROM CarEvents\n[WATTR ts\nRANGE 7 minute\nSLIDE 3 minute]",
    "SELECT house, max(load) AS peak FROM s [RANGE 24 HOURS SLIDE 1 MINUTE ON ts] WHERE load > 3 GROUP BY house",
    "SELECT max(load) FROM s [ROWS 1000 SLIDE 10]",
    "SELECT max(load) FROM s [RANGE 30 SECONDS]",
    "SELECT avg(load) FROM s [PARTITION BY house ROWS 10]",
    "SELECT avg(load) FROM s [SESSION 10 MINUTES]",
    "SELECT avg(load) FROM s [PUNCTUATED BY flag]",
    "SELECT avg(load) FROM s [DELTA speed 5]",
    "SELECT max(load) FROM s [RANGE 1 HOUR CLOSED left MIN ROWS 2 ON ts]",
    "SELECT max(load) FROM s [TUMBLE 1 DAY TZ 'Europe/Berlin' ON ts]",
    "SELECT max(load) AS peak, count(*) FROM s [RANGE 1 HOUR SLIDE 5 MINUTES AS hour, RANGE 1 DAY SLIDE 5 MINUTES AS day ON ts]",
    (
        "SELECT house, max(load) - min(load) AS d, CASE WHEN count(*) > 3 THEN 'many' ELSE 'few' END AS size, CAST(avg(load * 2) AS INTEGER) AS m"
        " FROM s [TUMBLE 1 HOUR ON ts] GROUP BY house HAVING sum(len) > 10 AND d > 1 ORDER BY d DESC, stddev(load) LIMIT 3;"
    ),
)
"""As in papers on streams."""
TABLE_FUNCTIONS = (
    (
        "SELECT window_start, window_end, max(load) AS peak FROM TABLE(HOP(TABLE s, DESCRIPTOR(ts), INTERVAL '1' MINUTE, INTERVAL '1' HOUR))"
        " GROUP BY window_start, window_end"
    ),
    (
        "SELECT house, window_start, max(load) AS peak FROM TABLE(HOP(TABLE s, DESCRIPTOR(ts), INTERVAL '7' MINUTE, INTERVAL '1' HOUR))"
        " GROUP BY house, window_start, window_end"
    ),
    (
        "SELECT window_start, max(load) AS peak FROM TABLE(TUMBLE(DATA => TABLE s, TIMECOL => DESCRIPTOR(ts), SIZE => INTERVAL '10' MINUTES))"
        " GROUP BY window_start"
    ),
    (
        "SELECT window_end, max(load) AS peak FROM TABLE(CUMULATE(TABLE s, DESCRIPTOR(ts), INTERVAL '10' MINUTES, INTERVAL '1' HOUR))"
        " GROUP BY window_start, window_end"
    ),
    (
        "SELECT house, window_start, max(load) AS peak FROM TABLE(SESSION(TABLE s PARTITION BY (house, flag), DESCRIPTOR(ts), INTERVAL '3' MINUTES))"
        " GROUP BY house, flag, window_start, window_end"
    ),
)
"""As in Flink."""
SPARK = (
    "SELECT window, house, max(load) AS peak, count(*) AS n FROM s GROUP BY window(ts, '1 hour', '1 minute'), house",
    "SELECT window, house, max(load) AS peak, count(*) AS n FROM s GROUP BY window(ts, '1 hour', '7 minutes'), house",
    "SELECT window.start, window.end, avg(load) AS m FROM s WHERE len > 2 GROUP BY window(ts, '1 hour') HAVING count(*) > 2",
    "SELECT window.start AS a, sum(len) + 1 AS m FROM s GROUP BY window(ts, '1 hour', '30 minutes', '5 minutes')",
    "SELECT session_window.start AS a, session_window.end AS b, house, count(*) AS n FROM s GROUP BY session_window(ts, '5 minutes'), house",
)
"""As in Spark, whose results are the same."""
OVER = (
    "SELECT id, max(load) OVER (PARTITION BY house ORDER BY ts RANGE BETWEEN INTERVAL '1' HOUR PRECEDING AND CURRENT ROW) AS m FROM s",
    (
        "SELECT id, max(load) OVER w AS a, load - avg(load) OVER w AS b, count(*) FILTER (WHERE len > 3) OVER w AS c,"
        " min(load) OVER (PARTITION BY house ORDER BY id ROWS BETWEEN 2 PRECEDING AND 3 FOLLOWING) AS d"
        " FROM s WINDOW w AS (PARTITION BY house ORDER BY id ROWS 5 PRECEDING)"
    ),
    "SELECT x.id, sum(x.len) OVER (ORDER BY x.id) AS n FROM s AS x WHERE x.len + 1 > 2 ORDER BY x.id LIMIT 7",
)
"""As in the SQL standard; Spark's results are the same."""
EXCLUDE = (
    "SELECT *, min(load) OVER (PARTITION BY house ORDER BY id ROWS BETWEEN 2 PRECEDING AND 3 FOLLOWING EXCLUDE CURRENT ROW) AS m FROM s",
)
"""As in the SQL standard, but not in Spark."""
TEXTS = (*CQL, *TABLE_FUNCTIONS, *SPARK, *OVER, *EXCLUDE)


def readings(rows: int = 200, seed: int = 1) -> pa.Table:
    """Return rows that fit all texts, some at the same time, with nulls."""
    chooser = random.Random(seed)
    begin = datetime(2026, 3, 8, tzinfo=UTC)
    seconds = sorted(60 * chooser.randint(0, rows) for _ in range(rows))
    return pa.table(
        {
            "id": pa.array(range(rows), pa.int64()),
            "ts": pa.array([begin + timedelta(seconds=one) for one in seconds], pa.timestamp("us", tz="UTC")),
            "house": [chooser.choice("ab") for _ in range(rows)],
            "load": pa.array([chooser.choice([None, chooser.randint(0, 99), 7]) for _ in range(rows)], pa.int64()),
            "len": pa.array([chooser.randint(0, 9) for _ in range(rows)], pa.int64()),
            "caller": [chooser.choice("xyz") for _ in range(rows)],
            "speed": pa.array([float(chooser.randint(0, 20)) for _ in range(rows)], pa.float64()),
            "flag": [chooser.random() < 0.2 for _ in range(rows)],
            "my load": pa.array([float(chooser.randint(0, 9)) for _ in range(rows)], pa.float64()),
        }
    )
