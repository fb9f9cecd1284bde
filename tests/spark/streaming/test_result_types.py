"""Results of each type are the same from a stream as from a batch run, to the last bit, whether they pass Python or not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import sash
from sash import agg, window

COLUMNS = {
    "byte": "CAST(-128 AS TINYINT)",
    "short": "CAST(-32768 AS SMALLINT)",
    "whole": "CAST(-2147483648 AS INT)",
    "large": "9007199254740993L + id",
    "real": "CAST('NaN' AS FLOAT)",
    "double": "IF(id = 2, double('NaN'), -0.0D)",
    "money": "CAST('-12345678901234567890123456789012345.67' AS DECIMAL(38, 2))",
    "price": "CAST(id + 0.25 AS DECIMAL(9, 2))",
    "word": "concat('ü', id)",
    "bytes": "X'00FF'",
    "is_odd": "id % 2 = 1",
    "day": "DATE'0001-01-01'",
    "local": "TIMESTAMP_NTZ'2024-03-31 02:30:00.000001'",
    "long_ago": "TIMESTAMP'1583-01-01 00:00:00.000001 UTC'",
    "gap": "INTERVAL '-3 00:00:00.000001' DAY TO SECOND",
}
LISTS = {"all": agg.collect("large")}


@pytest.mark.parametrize(
    "aggregates", [{"n": agg.count("whole"), "most": agg.max("money")}, LISTS], ids=["arrays", "packed"]
)
def test_results_of_all_types(spark: SparkSession, tmp_path: Path, aggregates: dict[str, Any]) -> None:
    present = ", ".join(
        f"IF(id % 3 = 0, NULL, {text}) AS {name}, {text} AS all_{name}" for name, text in COLUMNS.items()
    )
    rows = f"SELECT id % 2 AS k, TIMESTAMP_SECONDS(1700000000 + id) AS ts, {present} FROM range(6)"
    folder = str(tmp_path / "rows")
    spark.sql(rows).coalesce(1).write.parquet(folder)
    table = spark.read.parquet(folder)
    query = sash.Query(aggregates, window.rows(2), by="k", time="ts")
    expected = query.run(table)
    stream = spark.readStream.schema(table.schema).parquet(folder).withWatermark("ts", "0 seconds")
    results = query.run(stream)
    assert [field.dataType for field in results.schema] == [field.dataType for field in expected.schema]
    started = results.writeStream.format("parquet").option("path", str(tmp_path / "out"))
    started.option("checkpointLocation", str(tmp_path / "cp")).trigger(availableNow=True).start().awaitTermination()
    found = spark.read.parquet(str(tmp_path / "out")).toArrow().sort_by("ts")
    whole = expected.toArrow().sort_by("ts")
    assert len(found) >= 5  # the newest row waits for the watermark
    assert str(found.select(whole.column_names).to_pylist()) == str(whole.slice(0, len(found)).to_pylist())
