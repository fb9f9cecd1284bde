"""Texts of several SELECTs on Spark: Sash runs those with windows, Spark all in and around them, on tables and streams."""

from __future__ import annotations

from pathlib import Path

import pytest
from helpers.sql_texts import readings
from pyspark.sql import DataFrame, SparkSession

import sash
from sash.cli.local_run import RunOptions
from sash.cli.spark_run import run_spark, run_stream
from sash.language.sql_error import SqlError

MEANS = "avg(load) OVER (PARTITION BY house ORDER BY ts, id ROWS 3 PRECEDING) AS mean"
SAME = [
    f"SELECT house, max(mean) AS top FROM (SELECT house, {MEANS} FROM s) GROUP BY house",
    (
        f"WITH busy AS (SELECT * FROM s WHERE load > 3), means AS (SELECT house, ts, id, {MEANS} FROM busy b) "
        "SELECT m.house, m.ts, row_number() OVER (PARTITION BY m.house ORDER BY m.mean, m.ts, m.id) AS place FROM means m"
    ),
    f"SELECT id, {MEANS} FROM s WHERE house IN (SELECT house FROM houses WHERE regexp_like(land, '^[A-Z]{{2}}$'))",
    (
        "SELECT h.land, s.id, sum(s.load) OVER (PARTITION BY h.land ORDER BY s.ts, s.id ROWS 2 PRECEDING) AS total "
        "FROM s JOIN houses AS h ON s.house = h.house"
    ),
    (
        "SELECT * FROM (SELECT house, window.start AS day, max(load) AS peak FROM s GROUP BY house, window(ts, '1 day')) p "
        "JOIN (SELECT house, window.start AS day, count(*) AS n FROM s GROUP BY house, window(ts, '1 day')) c USING (house, day)"
    ),
    f"SELECT id, {MEANS} FROM s UNION ALL SELECT id, load FROM s WHERE load > 8 ORDER BY 1, 2",
]
DAILY = "SELECT house, total * 2 AS twice FROM (SELECT house, sum(load) AS total FROM (SELECT house, ts, load FROM s WHERE load > 2) [TUMBLE 1 HOUR ON ts] GROUP BY house) WHERE total > 3"


@pytest.fixture(scope="module")
def tables(spark: SparkSession) -> dict[str, DataFrame]:
    rows = spark.createDataFrame(readings(120))
    names = sorted({str(row.house) for row in rows.select("house").collect() if row.house is not None})
    houses = spark.createDataFrame(
        [(name, "DE" if number else "de") for number, name in enumerate(names)], "house string, land string"
    )
    rows.createOrReplaceTempView("s")
    houses.createOrReplaceTempView("houses")
    return {"s": rows, "houses": houses}


def shown(frame: DataFrame) -> list[str]:
    return sorted(map(str, frame.collect()))


@pytest.mark.connect
@pytest.mark.parametrize("text", SAME)
def test_results_are_those_of_spark(spark: SparkSession, tables: dict[str, DataFrame], text: str) -> None:
    found, expected = sash.sql(text).run(spark), spark.sql(text)
    assert found.columns == expected.columns
    assert shown(found) == shown(expected)
    if "houses" in text:
        assert shown(sash.sql(text).run(tables)) == shown(expected)


def test_results_are_those_of_this_process(spark: SparkSession, tables: dict[str, DataFrame]) -> None:  # noqa: ARG001 — it makes the views
    query = sash.sql(DAILY)
    assert query.schema(spark) == query.run(spark).schema
    assert str(query.explain(spark)).startswith("Query by house")
    local = sorted((row["house"] or "", row["twice"]) for row in query.run(readings(120)).to_pylist())
    assert sorted((row.house or "", row.twice) for row in query.run(spark).collect()) == local


def test_a_time_may_be_an_expression(spark: SparkSession, tables: dict[str, DataFrame]) -> None:  # noqa: ARG001
    text = "SELECT house, max(load) AS peak FROM s [TUMBLE 1 HOUR ON {}] GROUP BY house"
    expected = shown(sash.sql(text.format("ts")).run(spark))
    assert shown(sash.sql(text.format("CAST(CAST(ts AS STRING) AS TIMESTAMP)")).run(spark)) == expected
    windows = "SELECT house, max(load) AS peak FROM s GROUP BY house, window(to_timestamp(date_format(ts, 'yyyyMMddHHmm'), 'yyyyMMddHHmm'), '1 hour')"
    assert shown(sash.sql(windows).run(spark)) == shown(spark.sql(windows))


@pytest.mark.connect
@pytest.mark.parametrize(
    ("text", "column"),
    [
        ("SELECT max(laod) FROM (SELECT laod, ts FROM s) [TUMBLE 1 DAY ON ts]", 31),
        ("SELECT max(load) FROM (SELECT load, ts FROM s WHER ts) [TUMBLE 1 DAY ON ts]", 52),
        ("SELECT * FROM (SELECT max(load) AS m FROM s [TUMBLE 1 DAY ON ts]) WHERE n > 1", 73),
    ],
)
def test_errors_point_at_the_text(spark: SparkSession, tables: dict[str, DataFrame], text: str, column: int) -> None:  # noqa: ARG001
    with pytest.raises(SqlError, match=f"column {column}:"):
        sash.sql(text).run(spark)


def test_a_stream_is_selected_from_before_and_after_windows(
    spark: SparkSession, tables: dict[str, DataFrame], tmp_path: Path
) -> None:
    tables["s"].coalesce(1).write.parquet(str(tmp_path / "rows"))
    stream = spark.readStream.schema(tables["s"].schema).parquet(str(tmp_path / "rows")).withWatermark("ts", "1 minute")
    assert _of_stream(sash.sql(DAILY).run(stream)) <= set(shown(sash.sql(DAILY).run(spark)))
    text = f"SELECT id, land, {MEANS} FROM s JOIN houses USING (house) WHERE load > 3".replace("ts, id", "ts")
    means = sash.sql(text).run({"s": stream, "houses": tables["houses"]})
    assert means.isStreaming
    assert len(_of_stream(means)) > 0


def _of_stream(frame: DataFrame) -> set[str]:
    writer = frame.writeStream.format("memory").queryName("rows_of_stream")
    writer.trigger(availableNow=True).start().awaitTermination()
    return set(shown(frame.sparkSession.table("rows_of_stream")))


@pytest.mark.usefixtures("spark")
def test_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    import pyarrow.parquet as pq  # noqa: PLC0415 — only here

    rows = readings(120)
    (tmp_path / "in").mkdir()
    pq.write_table(rows, tmp_path / "in" / "1.parquet")
    text = DAILY.replace("FROM s", f"FROM '{tmp_path}/in'")
    run_spark(RunOptions(text, None, str(tmp_path / "out.parquet")), None)
    expected = sorted(map(str, sash.sql(DAILY).run(rows).to_pylist()))
    assert sorted(map(str, pq.read_table(tmp_path / "out.parquet").to_pylist())) == expected
    run_spark(RunOptions(DAILY, str(tmp_path / "in"), str(tmp_path / "named.parquet")), None)
    assert sorted(map(str, pq.read_table(tmp_path / "named.parquet").to_pylist())) == expected
    options = RunOptions(DAILY, str(tmp_path / "in"), str(tmp_path / "out"), output_format="parquet", lateness="5m")
    run_stream(options, None, str(tmp_path / "checkpoint"), once=True)
    found = set(map(str, pq.read_table(tmp_path / "out").to_pylist()))
    assert found
    assert found <= set(expected)
    assert capsys.readouterr().out == ""
