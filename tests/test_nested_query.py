"""Texts of several SELECTs: Sash runs those with windows, DuckDB all around and inside them, and nothing else can be read."""

from __future__ import annotations

import pickle
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.parquet as pq
import pytest

import sash
from sash.language.sql_error import SqlError

START = datetime(2025, 2, 13)  # noqa: DTZ001 — times without a zone, as files have them
CLEAN = """
WITH clean AS (SELECT person, amount, CAST(ts AS TIMESTAMP) AS t FROM pay WHERE amount > 10)
SELECT person, sum(amount) AS total FROM clean [RANGE 1 DAY SLIDE 1 HOUR ON t] GROUP BY person
"""
JOINED = """
SELECT a.person, a.window_start, a.total, b.peak
FROM (SELECT person, sum(amount) AS total FROM pay [TUMBLE 1 DAY ON ts] GROUP BY person) a
JOIN (SELECT person, max(amount) AS peak FROM pay [TUMBLE 1 DAY ON ts] GROUP BY person) b
  ON a.person = b.person AND a.window_start = b.window_start
"""
JOINED_IN_DUCKDB = """
SELECT person, time_bucket(INTERVAL 1 DAY, ts) AS window_start, sum(amount)::BIGINT AS total, max(amount) AS peak
FROM pay GROUP BY ALL
"""


def pay(rows: int = 300) -> pa.Table:
    random = np.random.default_rng(3)
    minutes = np.sort(random.permutation(6000)[:rows])
    return pa.table(
        {
            "ts": pa.array([START + timedelta(minutes=int(minute)) for minute in minutes], pa.timestamp("us")),
            "person": pa.array(random.choice(["ann", "bob", "cy"], rows)),
            "amount": pa.array(random.integers(0, 100, rows)),
        }
    )


PEOPLE = pa.table({"person": ["ann", "bob", "cy"], "land": ["DE", "FR", "DE"], "amount": [1, 2, 3]})


def rows_of(table: Any) -> list[tuple[Any, ...]]:
    return sorted(tuple(row.values()) for row in table.to_pylist())


def in_duckdb(text: str, **tables: pa.Table) -> list[tuple[Any, ...]]:
    with duckdb.connect() as connection:
        for name, table in tables.items():
            connection.register(name, table)
        return rows_of(connection.sql(text).to_arrow_table())


# -- the same text in DuckDB -------------------------------------------------------------------------------------------

MEANS = "avg(amount) OVER (PARTITION BY person ORDER BY ts ROWS 3 PRECEDING) AS mean"
SAME = [
    f"SELECT person, max(mean) AS top FROM (SELECT person, {MEANS} FROM pay) GROUP BY person",
    (
        f"WITH means AS (SELECT person, ts, {MEANS} FROM pay), tops AS (SELECT person, max(mean) AS top FROM means GROUP BY person) "
        "SELECT m.person, m.ts FROM means m JOIN tops t ON m.person = t.person AND m.mean = t.top"
    ),
    f"SELECT ts, {MEANS} FROM (SELECT ts, lower(person) AS person, amount * 2 AS amount FROM pay WHERE amount % 2 = 0) AS even",
    f"SELECT ts, {MEANS} FROM pay WHERE person IN (SELECT person FROM people WHERE land = 'DE')",
    f"SELECT * FROM (SELECT ts, {MEANS} FROM pay) UNION ALL SELECT ts, -1.0 FROM pay WHERE amount > 90",
    (
        "SELECT p.ts, q.land, sum(p.amount) OVER (PARTITION BY q.land ORDER BY p.ts ROWS 2 PRECEDING) + q.amount AS s "
        "FROM pay p LEFT JOIN people q ON p.person = q.person WHERE q.amount > 1"
    ),
    (
        "SELECT *, max(total) OVER (PARTITION BY land ORDER BY ts ROWS 2 PRECEDING) AS m "
        "FROM (SELECT ts, person, amount AS total FROM pay) JOIN (SELECT person, land FROM people) USING (person)"
    ),
    f"SELECT person, mean, row_number() OVER (PARTITION BY person ORDER BY mean DESC, ts) AS place FROM (SELECT person, ts, {MEANS} FROM pay)",
    f"SELECT x.person, x.mean FROM (SELECT person, ts, {MEANS} FROM pay) x, LATERAL (SELECT 1 WHERE x.mean > 50) y",
    (
        "WITH RECURSIVE days(d) AS (SELECT TIMESTAMP '2025-02-13' UNION ALL SELECT d + INTERVAL 1 DAY FROM days WHERE d < TIMESTAMP '2025-02-16'), "
        f"means AS (SELECT ts, {MEANS} FROM pay) SELECT d, count(mean) AS n FROM days LEFT JOIN means ON date_trunc('day', ts) = d GROUP BY d"
    ),
    "SELECT k, sum(x) OVER (ORDER BY k ROWS 1 PRECEDING) AS s FROM (VALUES (1, 2), (2, 3), (3, 4)) AS v(k, x)",
    "SELECT v.t, max(v.n) OVER (ORDER BY t ROWS 1 PRECEDING) AS m FROM pay v(t, p, n)",
    "SELECT * FROM (SELECT date_trunc('day', ts) AS d, sum(amount) AS s FROM pay GROUP BY 1) WHERE s > 100",
    "SELECT max(s) AS s FROM (SELECT person, date_trunc('day', ts) AS d, sum(amount) AS s FROM pay GROUP BY ALL)",
    "SELECT n, sum(n) OVER (ORDER BY n ROWS 2 PRECEDING) AS s FROM range(5) AS r(n)",
]


@pytest.mark.parametrize("text", SAME)
def test_results_are_those_of_duckdb(text: str) -> None:
    table = pay()
    expected = in_duckdb(text, pay=table, people=PEOPLE)
    query = sash.sql(text)
    results = query.run({"pay": table, "people": PEOPLE})
    found = rows_of(results)
    assert len(found) == len(expected) > 0
    for row, other in zip(found, expected, strict=True):
        assert row == pytest.approx(other) if all(isinstance(value, float) for value in row) else row == other
    assert query.schema({"pay": table, "people": PEOPLE}).names == results.schema.names


def test_a_cte_before_windows() -> None:
    table = pay().set_column(0, "ts", pay()["ts"].cast(pa.string()))
    clean = pay().filter(pa.compute.greater(pay()["amount"], 10))
    whole = sash.sql("SELECT person, sum(amount) AS total FROM pay [RANGE 1 DAY SLIDE 1 HOUR ON ts] GROUP BY person")
    assert rows_of(sash.sql(CLEAN).run(table)) == rows_of(whole.run(clean))


def test_a_join_of_two_windowed_results() -> None:
    assert rows_of(sash.sql(JOINED).run(pay())) == in_duckdb(JOINED_IN_DUCKDB, pay=pay())


def test_windows_over_the_results_of_windows() -> None:
    daily = "SELECT person, sum(amount) AS total FROM pay [TUMBLE 1 DAY ON ts] GROUP BY person"
    text = (
        f"SELECT window_start, max(total) AS top FROM ({daily}) AS daily [PARTITION BY person ROWS 2 ON window_start]"
    )
    in_steps = sash.sql(
        "SELECT window_start, max(total) AS top FROM daily [PARTITION BY person ROWS 2 ON window_start]"
    )
    assert rows_of(sash.sql(text).run(pay())) == rows_of(in_steps.run(sash.sql(daily).run(pay())))


@pytest.mark.parametrize(
    "text",
    [
        "SELECT person, max(amount) AS m FROM TABLE(TUMBLE(TABLE big, DESCRIPTOR(ts), INTERVAL '1' DAY)) GROUP BY person, window_start, window_end",
        "SELECT person, max(amount) AS m FROM big GROUP BY person, window(ts, '1 day')",
        "SELECT person, max(amount) AS m FROM big AS b [TUMBLE 1 DAY ON ts] WHERE b.amount < 1000 GROUP BY b.person",
    ],
)
def test_all_styles_of_windows(text: str) -> None:
    text = f"WITH big AS (SELECT * FROM pay WHERE amount > 50) SELECT person, max(m) AS m, count(*) AS days FROM ({text}) GROUP BY person;"
    buckets = "SELECT person, max(amount) AS m, count(DISTINCT date_trunc('day', ts)) AS days FROM pay WHERE amount > 50 GROUP BY person"
    assert rows_of(sash.sql(text).run(pay())) == in_duckdb(buckets, pay=pay())


# -- data --------------------------------------------------------------------------------------------------------------


def test_files_and_tables(tmp_path: Path) -> None:
    pc.write_csv(pay(), tmp_path / "pay.csv")
    pq.write_table(pay(), tmp_path / "pay.parquet")
    expected = rows_of(sash.sql(CLEAN).run(pay()))
    for name in ("pay.csv", "pay.parquet", "p*.parquet"):
        assert rows_of(sash.sql(CLEAN.replace("FROM pay", f"FROM '{tmp_path}/{name}'")).run()) == expected
    both = f"SELECT p.ts, max(pay.amount) OVER (PARTITION BY land ORDER BY p.ts ROWS 1 PRECEDING) AS m FROM '{tmp_path}/pay.csv' p"
    text = both.replace("pay.amount", "p.amount") + " JOIN people ON p.person = people.person"
    assert len(sash.sql(text).run(PEOPLE)) == len(pay())


def test_results_are_of_the_kind_of_the_data() -> None:
    frame = pay().to_pandas()
    expected = rows_of(sash.sql(JOINED).run(pay()))
    for data in (frame, pl.from_pandas(frame), pl.from_pandas(frame).lazy(), pay().combine_chunks().to_batches()[0]):
        results = sash.sql(JOINED).run(data)
        assert type(results) is type(data)
        collected = results.collect() if isinstance(results, pl.LazyFrame) else results
        listed = collected if isinstance(collected, pa.RecordBatch) else pa.table(collected)
        assert len(rows_of(listed)) == len(expected)
    mixed = sash.sql(SAME[3]).run({"pay": frame, "people": pl.from_arrow(PEOPLE)})
    assert isinstance(mixed, pd.DataFrame)


def test_a_dictionary_names_the_table_of_one_select_too() -> None:
    text = "SELECT max(amount) AS m FROM pay [TUMBLE 1 DAY ON ts]"
    assert sash.sql(text).run({"pay": pay()}) == sash.sql(text).run(pay())


def test_labels_apply_to_the_outermost_select() -> None:
    text = "WITH big AS (SELECT * FROM pay WHERE amount > 50) SELECT count(*) AS n FROM big [PARTITION BY person RANGE 1 DAY ON ts]"
    labels = pa.table({"person": ["ann", "bob"], "ts": pa.array([START + timedelta(days=2)] * 2, pa.timestamp("us"))})
    results = sash.sql(text).run(pay(), at=labels)
    assert results.column_names == ["person", "ts", "n"]
    assert all(results["n"].to_pylist())
    with pytest.raises(ValueError, match="at= does not apply"):
        sash.sql(f"SELECT * FROM ({text})").run(pay(), at=labels)


def test_plans_and_pickles() -> None:
    query = sash.sql(JOINED)
    for plans in (query.explain(), query.explain(pay())):
        assert str(plans).count("Query by person") == 2
    assert "total: sum(amount)" in str(sash.sql(CLEAN).explain(pay()))
    assert query.to_sql() == JOINED
    assert rows_of(pickle.loads(pickle.dumps(query)).run(pay())) == rows_of(query.run(pay()))  # noqa: S301 — our own bytes
    assert repr(query).startswith("sql(")


def test_empty_tables_and_no_results() -> None:
    assert len(sash.sql(JOINED).run(pay().slice(0, 0))) == 0
    assert sash.sql(JOINED).run(pay().slice(0, 0)).schema == sash.sql(JOINED).schema(pay())


# -- times -------------------------------------------------------------------------------------------------------------

BERLIN = "Europe/Berlin"


def zoned(unit: str, digits: int = 0) -> pa.Table:
    ticks = pay()["ts"].cast(pa.timestamp("ns")).cast(pa.int64())
    times = pa.compute.add(ticks, digits).cast(pa.timestamp("ns", BERLIN)).cast(pa.timestamp(unit, BERLIN))
    return pay().set_column(0, "ts", times)


@pytest.mark.parametrize("unit", ["ns", "us", "s"])
def test_zones_survive(unit: str, tmp_path: Path) -> None:
    text = "SELECT ts, max(amount) OVER (ORDER BY ts ROWS 3 PRECEDING) AS m FROM (SELECT *, date_trunc('day', ts) AS day FROM pay)"
    results = sash.sql(f"SELECT *, date_trunc('day', ts) AS day FROM ({text})").run(zoned(unit))
    assert results.schema.field("ts").type.tz == results.schema.field("day").type.tz == BERLIN
    assert results["ts"].cast(pa.timestamp("us", BERLIN)).to_pylist() == zoned("us")["ts"].to_pylist()
    assert {day.hour for day in results["day"].to_pylist()} == {0}  # midnight in Berlin
    pq.write_table(zoned("us"), tmp_path / "pay.parquet")
    assert (
        sash.sql(text.replace("FROM pay", f"FROM '{tmp_path}/pay.parquet'")).run().schema.field("ts").type.tz == BERLIN
    )


def test_lost_digits_are_an_error() -> None:
    text = "SELECT max(amount) AS m FROM (SELECT * FROM pay WHERE amount > 1) [TUMBLE 1 DAY ON ts]"
    with pytest.raises(ValueError, match="'ts' has times with digits below a microsecond"):
        sash.sql(text).run(zoned("ns", digits=1))
    plain = zoned("ns", digits=1).set_column(0, "ts", zoned("ns", digits=1)["ts"].cast(pa.timestamp("ns")))
    assert len(sash.sql(text).run(plain)) > 0  # DuckDB has nanoseconds, but no zone with them
    with pytest.raises(ValueError, match="digits below a microsecond"):
        sash.sql(text.replace("*", "amount, ts + INTERVAL 1 HOUR AS ts")).run(plain)


def test_sums_around_windows_have_64_bits() -> None:
    text = "SELECT sum(m) AS s FROM (SELECT max(amount) AS m FROM pay [TUMBLE 1 DAY ON ts])"
    assert sash.sql(text).run(pay()).schema.field("s").type == pa.int64()
    large = pay().set_column(2, "amount", pa.array([2**62] * len(pay())))
    with pytest.raises(OverflowError, match="64 bits"):
        sash.sql(text).run(large)


@pytest.mark.parametrize(
    ("text", "time"),
    [
        ("SELECT person, sum(amount) AS total FROM pay [TUMBLE 1 DAY ON strptime(ts, '%d/%m/%Y %H:%M')] GROUP BY person", None),
        ("SELECT person, sum(amount) AS total FROM pay p [ON strptime(p.ts, '%d/%m/%Y %H:%M') TUMBLE 1 DAY] GROUP BY person", None),
        ("SELECT person, sum(amount) AS total FROM pay [PARTITION BY person TUMBLE 1 DAY]", "strptime(ts, '%d/%m/%Y %H:%M')"),
        ("SELECT person, window_start, window_end, sum(amount) AS total FROM pay GROUP BY person, window(strptime(ts, '%d/%m/%Y %H:%M'), '1 day')", None),
    ],
)  # fmt: skip
def test_a_time_may_be_an_expression(text: str, time: str | None) -> None:
    texts = pa.array([when.strftime("%d/%m/%Y %H:%M") for when in pay()["ts"].to_pylist()])
    messy = pay().set_column(0, "ts", texts)
    expected = sash.sql("SELECT person, sum(amount) AS total FROM pay [TUMBLE 1 DAY ON ts] GROUP BY person").run(pay())
    assert rows_of(sash.sql(text, time=time).run(messy)) == rows_of(expected)


def test_several_times_are_an_error() -> None:
    text = (
        "SELECT max(amount) FROM pay [RANGE 1 DAY AS a ON ts + INTERVAL 1 DAY, RANGE 1 DAY AS b ON ts + INTERVAL 2 DAY]"
    )
    with pytest.raises(SqlError, match="several times, but a query has one"):
        sash.sql(text)
    with pytest.raises(SqlError, match='"when" not found'):
        sash.sql('SELECT max(amount) FROM pay [TUMBLE 1 DAY ON CAST("when" AS TIMESTAMP)]').run(pay())


# -- errors ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "part", "marked"),
    [
        ("SELECT max(x) FROM (SELECT amont AS x, ts FROM pay) [TUMBLE 1 DAY ON ts]", '"amont" not found', "amont"),
        ("SELECT max(x) FROM\n (SELECT amount AS x, ts\n FROM pay WHER x) [TUMBLE 1 DAY ON ts]", "syntax error", "x"),
        ("SELECT maxx(x) FROM (SELECT 1 AS x FROM pay) [ROWS 3]", "Did you mean 'max'", "maxx(x)"),
        ("SELECT * FROM (SELECT max(amount) AS m FROM pay [TUMBLE 1 DAY ON ts]) WHERE n > 1", '"n" not found', "n"),
        ("SELECT max(amount) OVER (ORDER BY ts), ntile(2) OVER (ORDER BY ts) FROM (SELECT * FROM pay)",
         "Sash evaluates other windows of this SELECT, but not this one", "ntile(2) OVER (ORDER BY ts)"),
        ("WITH c AS (SELECT 1) SELECT * FROM c", "no window", "SELECT"),
        ("SELECT * FROM (SELECT ntile(2) OVER (ORDER BY ts) AS r FROM pay)", "No SELECT has a window that Sash evaluates",
         "ntile(2) OVER (ORDER BY ts)"),
        ("SELECT max(p.amount) FROM pay p [ROWS 3] JOIN people q USING (person)", "Put it into a subquery", "pay p [ROWS 3]"),
        ("SELECT *, max(p.amount) OVER (ORDER BY ts ROWS 3 PRECEDING) AS m FROM pay p JOIN people q ON p.person = q.person",
         "several columns person", "pay p JOIN people q ON p.person = q.person"),
        ("SELECT (SELECT max(m) FROM (SELECT max(amount) AS m FROM pay [ROWS 3 ON ts] WHERE person = q.person)) FROM people q",
         "not found", "q"),
    ],
)  # fmt: skip
def test_errors_point_at_the_text(text: str, part: str, marked: str) -> None:
    with pytest.raises(ValueError, match="At line") as caught:
        sash.sql(text).run({"pay": pay(), "people": PEOPLE})
    assert part in str(caught.value)
    *_, line, carets = str(caught.value).split("\n")
    assert line[carets.index("^") :][: carets.count("^")] == marked


@pytest.mark.parametrize(
    ("text", "data", "part"),
    [
        (SAME[3], pay(), "one table is not enough"),
        (SAME[3], {"pay": pay()}, "'people' is missing"),
        (SAME[3], None, 'query.run({"pay": …, "people": …})'),
        (CLEAN, None, "query.run(pay)"),
        (CLEAN.replace("pay", "'a.csv'"), pay(), "run needs no data"),
        (CLEAN, pay().to_reader(), "is a stream"),
    ],
)
def test_data_that_is_not_what_from_names(text: str, data: Any, part: str) -> None:
    with pytest.raises(TypeError) as caught:
        sash.sql(text).run(data)
    assert part in str(caught.value)


# -- nothing but the named inputs can be read --------------------------------------------------------------------------

READ = [
    "SELECT * FROM read_csv('{file}')",
    "SELECT * FROM read_text('{file}')",
    "SELECT * FROM read_blob('{file}')",
    "SELECT * FROM read_parquet('{file}')",
    "SELECT * FROM read_json_auto('{file}')",
    "SELECT * FROM sniff_csv('{file}')",
    "SELECT * FROM glob('{folder}/*')",
    'SELECT * FROM "{file}"',
    "FROM read_text('{file}')",
    "SELECT * FROM duckdb_settings()",
    "SELECT * FROM duckdb_settings",
    "SELECT * FROM duckdb_secrets()",
    "SELECT * FROM pragma_database_list()",
    "SELECT * FROM information_schema.tables",
    "SELECT * FROM pg_catalog.pg_tables",
    "SELECT * FROM sqlite_master",
    "SELECT * FROM query('SELECT 1')",
    "SELECT * FROM query_table('pay')",
    "SELECT current_setting('threads')",
    "SELECT getenv('HOME')",
    "SELECT getvariable('x')",
    "SELECT main.current_setting('threads')",
    "DESCRIBE pay",
    "SHOW TABLES",
    "SUMMARIZE pay",
    "SELECT * FROM hidden",
]
PLACES = [
    "SELECT max(amount) AS m FROM ({attack}) AS a [ROWS 3]",
    "SELECT max(amount) AS m FROM pay [ROWS 3 ON ts] WHERE EXISTS ({attack})",
    "WITH a AS ({attack}) SELECT max(amount) AS m FROM pay [ROWS 3 ON ts]",
    "SELECT * FROM (SELECT max(amount) AS m FROM pay [ROWS 3 ON ts]) JOIN ({attack}) ON true",
    "SELECT * FROM (SELECT max(amount) AS m FROM pay [ROWS 3 ON ts]) r, LATERAL ({attack})",
    "SELECT (SELECT count(*) FROM ({attack})) AS n, m FROM (SELECT max(amount) AS m FROM pay [ROWS 3 ON ts])",
    "SELECT m FROM (SELECT max(amount) AS m FROM pay [ROWS 3 ON ts]) UNION ALL {attack}",
]
hidden = pa.table({"secret": [1]})  # DuckDB finds variables of Python by their name, unless that is off


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("attack", READ)
def test_only_named_data_can_be_read(attack: str, place: str, tmp_path: Path) -> None:
    file = tmp_path / "secret.csv"
    file.write_text("secret\n1\n")
    text = place.replace("{attack}", attack.format(file=file, folder=tmp_path))
    with pytest.raises((ValueError, TypeError)):
        sash.sql(text).run({"pay": pay()})


@pytest.mark.parametrize(
    "text",
    [
        "COPY (SELECT max(amount) FROM pay [ROWS 3]) TO 'x.csv'",
        "ATTACH 'x.db'",
        "SET threads = 1",
        "PRAGMA database_list",
        "INSTALL httpfs",
        "CREATE TABLE x AS SELECT max(amount) FROM pay [ROWS 3]",
        "SELECT max(amount) FROM (SELECT * FROM pay) [ROWS 3 ON ts]; ATTACH 'x.db'",
        "WITH a AS (DELETE FROM pay RETURNING *) SELECT max(amount) FROM a [ROWS 3 ON ts]",
        "WITH a AS (INSERT INTO pay SELECT * FROM pay RETURNING *) SELECT max(amount) FROM a [ROWS 3 ON ts]",
    ],
)
def test_statements_that_are_not_select(text: str) -> None:
    with pytest.raises((ValueError, TypeError)):
        sash.sql(text).run(pay())
