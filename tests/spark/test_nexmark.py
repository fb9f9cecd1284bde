"""The queries of Nexmark, each against SQL over the same files, which DuckDB evaluates."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import pytest
from helpers.pairwise import some
from pyspark.sql import DataFrame, SparkSession

from benchmarks.nexmark import cases, data
from benchmarks.nexmark.cases import QUERIES, NexmarkQuery
from benchmarks.nexmark.field import NexmarkStreamField
from benchmarks.spark_batch.answers import compare

EVENTS, SECONDS = 2_000, 100
TUMBLING = "t // 10000000 * 10000000 AS window_start, window_start + 10000000 AS window_end"
SQL = {
    "query 5": """
        SELECT window_end, max(num) AS num, arg_max(auction, num * 1000000 - auction) AS auction
        FROM (SELECT (t // 2000000 + hop) * 2000000 AS window_end, auction, count(*) AS num
              FROM bid, range(1, 6) AS hops(hop) GROUP BY ALL)
        GROUP BY window_end""",
    "query 6": """
        SELECT auction, seller, epoch_us(expires) AS expires, avg(price) OVER (
            PARTITION BY seller ORDER BY closed.expires, auction ROWS BETWEEN 9 PRECEDING AND CURRENT ROW) AS mean
        FROM closed""",
    "query 7": f"""
        SELECT {TUMBLING}, max(price) AS price, arg_max(auction, price) AS auction, arg_max(bidder, price) AS bidder
        FROM bid GROUP BY ALL""",
    "query 8": f"""
        SELECT person, name, window_start, window_end, opened
        FROM (SELECT id AS person, name, {TUMBLING} FROM person)
        JOIN (SELECT seller AS person, {TUMBLING}, count(*) AS opened FROM auction GROUP BY ALL)
        USING (person, window_start, window_end)""",
    "query 11": """
        SELECT bidder, min(t) AS window_start, max(t) + 10000000 AS window_end, count(*) AS num
        FROM (SELECT bidder, t, sum(is_new) OVER (PARTITION BY bidder ORDER BY t RANGE UNBOUNDED PRECEDING) AS session
              FROM (SELECT bidder, t, coalesce(t - lag(t) OVER (PARTITION BY bidder ORDER BY t) > 10000000, true)::int AS is_new
                    FROM bid))
        GROUP BY bidder, session""",
    "query 12": f"SELECT bidder, {TUMBLING}, count(*) AS num FROM bid GROUP BY ALL",
}


@pytest.fixture
def site(spark: SparkSession, classic: None) -> data.Site:  # noqa: ARG001 — the session is the active one
    return data.all_events(EVENTS, SECONDS)


def in_microseconds(answered: DataFrame) -> Any:
    """Return the results with times as numbers, so that no zone is compared."""
    table = answered.toArrow()
    for place, field in enumerate(table.schema):
        if str(field.type).startswith("timestamp"):
            table = table.set_column(place, field.name, table[field.name].cast("int64"))
    return table


def by_duckdb(path: Path, text: str) -> Any:
    with duckdb.connect() as connection:
        for name, time in data.TIMES.items():
            columns = "*" if name == "closed" else f"*, epoch_us({time}) AS t"
            connection.execute(f"CREATE VIEW {name} AS SELECT {columns} FROM '{path}/{name}/*.parquet'")
        return connection.sql(text).to_arrow_table()


def number_of(query: NexmarkQuery) -> str:
    return " ".join(query.title.replace(":", "").split()[:2])


@pytest.mark.parametrize("query", some(QUERIES, 4), ids=number_of)
def test_answers_are_those_of_sql(query: NexmarkQuery, site: data.Site) -> None:
    right = by_duckdb(site.path, SQL[number_of(query)])
    assert len(right) > 5
    for answer in (query.sash, *query.over_frames.values()):
        compare(query.question, in_microseconds(answer(site)), right, 1e-9)


@pytest.mark.full
@pytest.mark.parametrize("number", [0, 1], ids=["two queries after each other", "rows(10)"])
def test_streams_give_the_answers_of_batches(number: int, site: data.Site) -> None:  # noqa: ARG001
    """Query 5, one query after another; and query 6, beside a function of Spark's with a state."""
    case = cases.QUERIES[number].streams().at_most(500)
    NexmarkStreamField(case).check_all()
