"""Results that are lists and maps: on Spark as in process, with the types that were declared."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession
from pyspark.sql.types import ArrayType, DataType, DoubleType, LongType, MapType, StringType

import sash
from sash import agg, window
from sash.aggregates.base import Aggregate
from sash.spark.arrow_types import spark_schema

ROWS = pa.table(
    {
        "t": range(12),
        "key": [*"aabbaabbaabb"],
        "word": ["x", None, "y", "x", "x", "z", "y", "y", None, "x", "z", "x"],
        "x": pa.array([3.0, 1.0, None, 4.0, 4.0, None, 2.0, 9.0, 2.0, 2.0, 5.0, None]),
    }
)
AGGREGATES: dict[str, Aggregate[Any]] = {
    "quantiles": agg.quantile("x", [0.5, 0.9]),
    "rank": agg.rank("x"),
    "bins": agg.histogram("x", [0, 2, 4, 9]),
    "sums": agg.per_value("word", agg.sum("x")),
    "nested": agg.per_value("word", agg.per_value("x", agg.quantile("t", [0.5]))),
}
TYPES: dict[str, DataType] = {
    "quantiles": ArrayType(DoubleType()),
    "rank": DoubleType(),
    "bins": ArrayType(LongType()),
    "sums": MapType(StringType(), DoubleType()),
    "nested": MapType(StringType(), MapType(DoubleType(), ArrayType(DoubleType()))),
}


def in_order(rows: list[dict[str, Any]]) -> list[str]:
    return sorted(map(repr, rows))


@pytest.mark.parametrize("windows", [window.rows(4), window.time(6, slide=3)], ids=repr)
@pytest.mark.parametrize("strategy", ["buckets", "ranges"])
def test_lists_and_maps_are_those_in_process(spark: SparkSession, windows: Any, strategy: Any) -> None:
    frame = spark.createDataFrame(ROWS, spark_schema(ROWS.schema))
    query = sash.Query(AGGREGATES, windows, by="key", time="t")
    result = query.run(frame, strategy=strategy, compiled=False)
    assert {field.name: field.dataType for field in result.schema if field.name in TYPES} == TYPES
    expected = query.run(ROWS, compiled=False)
    assert in_order(result.toArrow().select(expected.column_names).to_pylist()) == in_order(expected.to_pylist())


def test_a_list_of_aggregates_and_windows_names_its_columns(spark: SparkSession) -> None:
    frame = spark.createDataFrame(ROWS, spark_schema(ROWS.schema))
    query = sash.Query([agg.quantile("x", 0.9), agg.count()], [window.rows(2), window.time(3)], by="key", time="t")
    names = ["quantile_x_0.9_rows_2", "quantile_x_0.9_time_3", "count_rows_2", "count_time_3"]
    result = query.run(frame, compiled=False)
    assert result.columns == [*ROWS.column_names, *names]
    assert result.count() == 12
