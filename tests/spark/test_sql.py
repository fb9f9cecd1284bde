"""`sash.sql` on Spark: tables, views and files of a session, streams; results equal those of Spark for the same text."""

from __future__ import annotations

from pathlib import Path

import pytest
from helpers.sql_texts import OVER, SPARK, readings
from pyspark.sql import DataFrame, SparkSession

import sash

HOURLY = "SELECT house, max(load) - min(load) AS d FROM {} [TUMBLE 1 HOUR ON ts] WHERE load > 3 GROUP BY house HAVING count(*) > 1"


@pytest.fixture(scope="module")
def rows(spark: SparkSession) -> DataFrame:
    frame = spark.createDataFrame(readings(120))
    frame.createOrReplaceTempView("s")
    return frame


def shown(frame: DataFrame) -> list[str]:
    return sorted(map(str, frame.collect()))


@pytest.mark.parametrize("text", [*SPARK, *OVER])
def test_results_are_those_of_spark(spark: SparkSession, rows: DataFrame, text: str) -> None:  # noqa: ARG001 — it makes the view
    if "FILTER" in text and spark.version.startswith("4.1"):
        pytest.skip("Spark 4.1 itself has no FILTER beside OVER, so there is nothing to compare with")
    query = sash.sql(text)
    found, expected = query.run(spark), spark.sql(text)
    assert found.columns == expected.columns
    assert shown(found) == shown(expected)
    assert query.schema(spark) == found.schema


@pytest.mark.connect
def test_a_data_frame_and_a_table_have_the_same_results(spark: SparkSession, rows: DataFrame) -> None:
    query = sash.sql(f"{HOURLY.format('s')} ORDER BY d DESC NULLS LAST, house LIMIT 4")
    found = [row.asDict() for row in query.run(rows).collect()]
    assert len(found) == 4
    assert found == [row.asDict() for row in query.run(spark).collect()]
    local = query.run(readings(120)).to_pylist()
    assert [(row["house"], row["d"]) for row in found] == [(row["house"], row["d"]) for row in local]


def test_names_and_strings_are_quoted_as_spark_does(spark: SparkSession, rows: DataFrame) -> None:  # noqa: ARG001
    text = "SELECT max(\"my load\" + 1) AS \"the peak\", CASE WHEN count(*) > 1 THEN 'it''s' END AS `a b` FROM s [TUMBLE 1 DAY ON ts]"
    (row,) = sash.sql(text).run(spark).collect()
    (local,) = sash.sql(text).run(readings(120)).to_pylist()
    assert (row["the peak"], row["a b"]) == (local["the peak"], "it's")


def test_a_plain_query_reads_a_table_too(spark: SparkSession, rows: DataFrame) -> None:
    query = sash.sql("SELECT max(`my load` + 1) AS m FROM s [TUMBLE 1 DAY ON ts]")
    assert repr(query).startswith("Query(")
    assert shown(query.run(spark)) == shown(query.run(rows))


def test_files_are_read_by_spark(spark: SparkSession, rows: DataFrame, tmp_path: Path) -> None:
    for ending in ("parquet", "csv", "json"):
        rows.coalesce(1).write.format(ending).option("header", True).save(str(tmp_path / f"all.{ending}"))
        text = f"SELECT sum(len) AS n FROM '{tmp_path}/all.{ending}' [TUMBLE 1 DAY ON {{}}]"
        column = "ts" if ending != "json" else "id"
        text = text.format(column) if ending != "json" else text.replace("TUMBLE 1 DAY", "TUMBLE 1000").format(column)
        (row,) = sash.sql(text).run(spark).collect()
        assert row["n"] == sum(readings(120)["len"].to_pylist())
    with pytest.raises(ValueError, match="so its format is not known"):
        sash.sql("SELECT count(*) FROM 'data.xlsx' [ROWS 3]").run(spark)


def test_a_streaming_view_is_selected_from(spark: SparkSession, rows: DataFrame, tmp_path: Path) -> None:
    rows.coalesce(1).write.parquet(str(tmp_path / "rows"))
    stream = spark.readStream.schema(rows.schema).parquet(str(tmp_path / "rows")).withWatermark("ts", "1 minute")
    stream.createOrReplaceTempView("live")
    query = sash.sql(HOURLY.format("live"))
    results = query.run(spark)
    assert results.isStreaming
    assert results.schema == query.schema(spark)
    writer = (
        results.writeStream.format("memory")
        .queryName("sql_results")
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
    )
    running = writer.trigger(availableNow=True).start()
    assert running.awaitTermination(120)
    expected = sash.sql(HOURLY.format("s")).run(rows)
    found = spark.table("sql_results")
    latest = found.agg({"window_end": "max"}).first()
    assert latest is not None
    assert found.count() > 0
    assert shown(found) == shown(expected.where(expected["window_end"] <= latest[0]))
    assert query.run(spark).columns == ["house", "window_start", "window_end", "d"]
    updates = sash.sql("SELECT max(load) + 1 AS m FROM live [TUMBLE 1 HOUR ON ts]").run(spark, mode="update")
    assert updates.columns == ["window_start", "window_end", "m", "change"]


def test_a_stream_has_no_order_or_limit(spark: SparkSession) -> None:
    stream = spark.readStream.format("rate").load().withWatermark("timestamp", "1 minute")
    for clause in ("ORDER BY n", "LIMIT 3", "LIMIT 3 OFFSET 1"):
        with pytest.raises(ValueError, match="a stream has no end"):
            sash.sql(f"SELECT count(*) AS n FROM s [TUMBLE 1 HOUR ON timestamp] {clause}").run(stream)


def test_a_missing_table_is_an_error(spark: SparkSession) -> None:
    with pytest.raises(Exception, match="TABLE_OR_VIEW_NOT_FOUND"):
        sash.sql("SELECT count(*) FROM nowhere [TUMBLE 1 HOUR ON ts]").run(spark).collect()


VALUE_FUNCTIONS = (
    (
        "SELECT id, lag(load, 2, -1) OVER w AS a, lead(load) OVER w AS b, row_number() OVER w AS c, first_value(load) OVER w AS d,"
        " last(load) OVER w AS e, nth_value(load, 2) OVER w AS f, first(load, true) OVER w AS g, lag(load) IGNORE NULLS OVER w AS h"
        " FROM s WINDOW w AS (PARTITION BY house ORDER BY id)"
    ),
    "SELECT id, rank() OVER (ORDER BY ts) AS a, rank() OVER (PARTITION BY house ORDER BY ts DESC) AS b FROM s",
    (
        "SELECT id, array_agg(load) OVER w AS a, collect_list(load) OVER (ORDER BY id ROWS BETWEEN 2 PRECEDING AND 1 PRECEDING) AS b,"
        " max_by(caller, id) OVER w AS c FROM s WINDOW w AS (ORDER BY id DESC ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING)"
    ),
    "SELECT id, max(load) OVER (PARTITION BY house ORDER BY id) AS a, sum(len) OVER (PARTITION BY flag ORDER BY ts DESC) AS b FROM s",
)


@pytest.mark.parametrize("text", VALUE_FUNCTIONS)
def test_functions_of_rows_are_those_of_spark(spark: SparkSession, rows: DataFrame, text: str) -> None:  # noqa: ARG001 — it makes the view
    query = sash.sql(text)
    found, expected = query.run(spark), spark.sql(text)
    assert found.columns == expected.columns
    assert shown(found) == shown(expected)
    assert query.schema(spark) == found.schema


@pytest.mark.parametrize("zone", ["UTC", "Europe/Berlin", "America/New_York"])
@pytest.mark.parametrize("unit", ["hour", "day", "week", "month"])
def test_truncated_times_follow_the_zone_of_the_session(
    spark: SparkSession,
    rows: DataFrame,  # noqa: ARG001 — it makes the view
    zone: str,
    unit: str,
) -> None:
    text = f"SELECT date_trunc('{unit}', ts) AS start, house, count(*) AS n, max(load) AS m FROM s GROUP BY 1, 2"
    before = str(spark.conf.get("spark.sql.session.timeZone"))
    spark.conf.set("spark.sql.session.timeZone", zone)
    try:
        assert shown(sash.sql(text).run(spark)) == shown(spark.sql(text))
    finally:
        spark.conf.set("spark.sql.session.timeZone", before)


def test_hours_that_are_not_those_of_utc_are_an_error(spark: SparkSession, rows: DataFrame) -> None:  # noqa: ARG001
    before = str(spark.conf.get("spark.sql.session.timeZone"))
    spark.conf.set("spark.sql.session.timeZone", "Asia/Kolkata")
    try:
        with pytest.raises(ValueError, match="TUMBLE 1 HOUR OFFSET 30 MINUTES"):
            sash.sql("SELECT count(*) AS n FROM s GROUP BY date_trunc('hour', ts)").run(spark)
    finally:
        spark.conf.set("spark.sql.session.timeZone", before)
