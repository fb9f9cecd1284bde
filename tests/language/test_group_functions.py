"""Functions in GROUP BY: time_bucket and date_trunc have DuckDB's results; those of older Flink, and ksqlDB, are windows of Sash."""

from __future__ import annotations

import random
from datetime import datetime, timedelta

import duckdb
import pyarrow as pa
import pytest
from helpers.in_duckdb import in_duckdb

import sash
from sash import agg, window


def rows_of(seed: int, dtype: pa.DataType, count: int = 60) -> pa.Table:
    """Return rows of three years, before and after 2000."""
    chooser = random.Random(seed)
    begin = datetime(1998, 11, 3)  # noqa: DTZ001 — as DuckDB's own
    times = [begin + timedelta(seconds=chooser.randint(0, 3 * 366 * 86400)) for _ in range(count)]
    return pa.table(
        {
            "ts": pa.array(times, pa.timestamp("us")).cast(dtype, safe=False),
            "k": [chooser.choice("ab") for _ in range(count)],
            "x": pa.array([chooser.choice([None, chooser.randint(0, 9)]) for _ in range(count)], pa.int64()),
        }
    )


WIDTHS = ("5 minutes", "7 hours", "1 day", "10 days", "1 week", "1 month", "1 quarter", "1 year", "90 seconds")
BUCKETS = (
    *(f"time_bucket(INTERVAL '{width}', ts)" for width in WIDTHS),
    "time_bucket(INTERVAL '6 hours', ts, INTERVAL '1 hour')",
    "time_bucket(INTERVAL 7 HOURS, ts, INTERVAL '-90 minutes')",
    *(f"date_trunc('{unit}', ts)" for unit in ("second", "minute", "hour", "day", "week", "month", "quarter", "year")),
)


@pytest.mark.parametrize("bucket", BUCKETS)
@pytest.mark.parametrize("unit", ["s", "us", "ns"])
def test_buckets_are_those_of_duckdb(bucket: str, unit: str) -> None:
    if unit == "ns" and "time_bucket" in bucket:
        pytest.skip("DuckDB rounds nanoseconds to microseconds here")
    table = rows_of(7, pa.timestamp(unit))
    text = f"SELECT {bucket} AS start, k, max(x) AS m, count(*) AS n, array_agg(k) AS ks FROM tab GROUP BY 1, 2 ORDER BY 1, 2"
    found, expected = sash.sql(text).run(table), in_duckdb(text, tab=table)
    assert found.drop_columns("start").to_pylist() == [
        {k: v for k, v in row.items() if k != "start"} for row in expected
    ]
    assert found["start"].cast(pa.timestamp("us")).to_pylist() == [row["start"] for row in expected]


@pytest.mark.parametrize("bucket", BUCKETS)
def test_buckets_are_those_of_duckdb_in_a_zone(bucket: str) -> None:
    table = rows_of(7, pa.timestamp("us", "Europe/Berlin"))
    text = f"SELECT {bucket} AS start, count(*) AS n FROM tab GROUP BY 1 ORDER BY 1"
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'Europe/Berlin'")
        connection.register("tab", table)
        assert sash.sql(text).run(table).to_pylist() == connection.sql(text).to_arrow_table().to_pylist()


@pytest.mark.parametrize("group", ["1, k", "ALL", "day, k", "date_trunc('day', ts), k", "(1, k)", "1, (k), ()"])
def test_group_by_takes_positions_aliases_and_all(group: str) -> None:
    table = rows_of(8, pa.timestamp("us"))
    text = f"SELECT date_trunc('day', ts) AS day, k, count(*) + 1 AS n FROM tab GROUP BY {group} HAVING n > 1 ORDER BY day, k LIMIT 9"
    assert sash.sql(text).run(table).to_pylist() == in_duckdb(text, tab=table)


def test_windows_of_older_flink() -> None:
    table = rows_of(9, pa.timestamp("us"))
    text = """
        SELECT TUMBLE_START(ts, INTERVAL '1' DAY) AS a, TUMBLE_END(ts, INTERVAL '1' DAY) AS b,
            TUMBLE_ROWTIME(ts, INTERVAL '1' DAY) AS c, k, sum(x) AS s
        FROM tab GROUP BY TUMBLE(ts, INTERVAL '1' DAY), k"""
    found = sash.sql(text).run(table)
    query = sash.Query({"s": agg.sum("x")}, window.tumbling("1d"), by="k", time="ts")
    expected = query.run(table)
    assert found["a"].equals(expected["window_start"])
    assert found["b"].equals(expected["window_end"])
    assert found["s"].equals(expected["s"])
    day = timedelta(days=1)
    assert found["c"].to_pylist() == [one + day - timedelta(milliseconds=1) for one in found["a"].to_pylist()]
    sliding = "SELECT HOP_START(ts, '1d', '7d') AS a, count(*) AS n FROM tab GROUP BY HOP(ts, '1d', '7d')"
    expected = sash.Query({"n": agg.count()}, window.time("7d", slide="1d"), time="ts").run(table)
    assert sash.sql(sliding).run(table)["n"].equals(expected["n"])
    sessions = "SELECT SESSION_END(ts, '9d') AS e, count(*) AS n FROM tab GROUP BY SESSION(ts, '9d')"
    expected = sash.Query({"n": agg.count()}, window.session("9d"), time="ts").run(table)
    assert sash.sql(sessions).run(table)["e"].equals(expected["window_end"])


def test_window_time_is_the_last_millisecond() -> None:
    table = rows_of(9, pa.timestamp("us"))
    text = """SELECT window_end, window_time, count(*) AS n FROM TABLE(TUMBLE(TABLE tab, DESCRIPTOR(ts), INTERVAL '1' DAY))
        GROUP BY window_start, window_end, window_time"""
    for row in sash.sql(text).run(table).to_pylist():
        assert row["window_time"] == row["window_end"] - timedelta(milliseconds=1)


@pytest.mark.parametrize(
    ("clause", "made"),
    [
        ("WINDOW TUMBLING (SIZE 1 HOUR)", window.tumbling("1h")),
        ("WINDOW HOPPING (SIZE 1 HOUR, ADVANCE BY 10 MINUTES)", window.time("1h", slide="10m")),
    ],
)
def test_windows_of_ksqldb(clause: str, made: window.Window) -> None:
    query = sash.sql(f"SELECT k, count(*) AS n FROM s {clause} GROUP BY k", time="ts")
    assert repr(query) == repr(sash.Query({"n": agg.count()}, made, by="k", time="ts"))


def test_other_functions_are_for_the_engine() -> None:
    table = rows_of(9, pa.timestamp("us"))
    text = "SELECT date_trunc('month', ts) AS m, max(x) OVER (ORDER BY ts) AS top FROM tab ORDER BY ts, x"
    assert sash.sql(text).run(table).to_pylist() == in_duckdb(text, tab=table)


def test_first_and_last_of_ksqldb() -> None:
    table = rows_of(11, pa.timestamp("us"))
    text = "SELECT k, latest_by_offset(x) AS last, earliest_by_offset(x) AS first FROM s WINDOW TUMBLING (SIZE 90 DAYS) GROUP BY k"
    aggregates = {"last": agg.last("x"), "first": agg.first("x")}
    expected = sash.Query(aggregates, window.tumbling("90d"), by="k", time="ts").run(table)
    assert sash.sql(text).run(table).equals(expected)
