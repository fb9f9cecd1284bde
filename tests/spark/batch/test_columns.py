"""Columns that rows carry through a query come back as they were, whatever they hold."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import (
    ArrayType,
    DataType,
    DoubleType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
    UserDefinedType,
)

import sash
from sash import agg, window
from sash.spark.private import VALIDATE

EVERYTHING = """
    SELECT
        id,
        CAST(id % 5 AS INT) AS k,
        IF(id % 4 = 0, NULL, array(id, NULL, -id)) AS array,
        IF(id % 4 = 1, NULL, map(id, array('a', NULL), -1L, NULL)) AS map,
        IF(id % 4 = 2, NULL, struct(id AS `a.b`, CAST(NULL AS STRING) AS s, map('x', struct(id AS deep)) AS m)) AS struct,
        IF(id % 4 = 3, NULL, CAST(CAST(id AS STRING) AS BINARY)) AS binary,
        CAST(id AS DECIMAL(38, 9)) / 7 AS decimal,
        CAST(id AS DECIMAL(5, 2)) AS small_decimal,
        timestamp_micros(id * 1234567890123 - 10000000000000) AS ts,
        CAST(timestamp_micros(id * 987654321) AS TIMESTAMP_NTZ) AS ntz,
        array(struct(timestamp_micros(id) AS ts, CAST(timestamp_micros(id) AS TIMESTAMP_NTZ) AS ntz)) AS nested_times,
        map('at', timestamp_micros(-id)) AS times_in_a_map,
        date_add(DATE '1969-12-28', CAST(id AS INT)) AS date,
        make_dt_interval(CAST(id AS INT), 1, 2, 3.4) AS interval,
        CAST(make_dt_interval(CAST(id AS INT)) AS INTERVAL DAY) AS days,
        CAST(id AS STRING) COLLATE UTF8_LCASE AS collated,
        NULL AS void,
        CAST(id AS TINYINT) AS byte, CAST(id AS SMALLINT) AS short, CAST(id AS FLOAT) / 3 AS float, id / 7 AS double,
        id % 2 = 0 AS boolean,
        array(NULL, NULL) AS voids,
        repeat('é', CAST(id AS INT)) AS text
    FROM range(0, 40, 1, 3)
"""
QUERY = sash.Query({"n": agg.count(), "sum": agg.sum("id")}, window.rows(3), by="k", time="id")


def carried(frame: DataFrame, query: sash.Query = QUERY) -> DataFrame:
    """The result, whose first columns are those of the frame, in schema and in values."""
    result: DataFrame = query.run(frame, compiled=False)
    count = len(frame.columns)
    assert result.schema.fields[:count] == frame.schema.fields
    assert [field.name for field in result.schema.fields[count:]] == list(query._declared.aggregates)
    kept = {row["id"]: row[:count] for row in result.collect()}
    assert kept == {row["id"]: row[:] for row in frame.collect()}
    return result


@pytest.fixture(params=["true", "false"], ids=["validated", "not validated"])
def validated(spark: SparkSession, request: pytest.FixtureRequest) -> Iterator[str]:
    """Whether Spark compares the Arrow types of results with the declared ones."""
    before = spark.conf.get(VALIDATE) or "false"
    spark.conf.set(VALIDATE, request.param)
    yield request.param
    spark.conf.set(VALIDATE, before)


@pytest.mark.connect
@pytest.mark.oldest
@pytest.mark.usefixtures("validated")
def test_columns_of_every_type(spark: SparkSession) -> None:
    carried(spark.sql(EVERYTHING))


def test_only_the_validation_needs_groups(spark: SparkSession, classic: None, validated: str) -> None:  # noqa: ARG001 — a fixture
    plan = QUERY.run(spark.sql(EVERYTHING), compiled=False)._jdf.queryExecution().toString()
    assert ("FlatMapGroupsInArrow" in plan) == (validated == "true")
    plan = QUERY.run(spark.sql(EVERYTHING).drop("days", "collated"), compiled=False)._jdf.queryExecution().toString()
    assert "MapInArrow" in plan
    assert "FlatMapGroupsInArrow" not in plan


@pytest.mark.oldest
@pytest.mark.usefixtures("validated")
def test_columns_of_every_type_with_large_variable_width(spark: SparkSession) -> None:
    setting = "spark.sql.execution.arrow.useLargeVarTypes"
    spark.conf.set(setting, "true")
    try:
        carried(spark.sql(EVERYTHING))
        frame = spark.sql("SELECT CAST(id AS STRING) AS k, id, array(CAST(id AS STRING)) AS x FROM range(9)")
        query = sash.Query({"all": agg.collect("k"), "x": agg.last("x")}, window.tumbling(4), by="k", time="id")
        assert query.run(frame, compiled=False).count() == 9
    finally:
        spark.conf.unset(setting)


@pytest.mark.oldest
def test_variants(spark: SparkSession) -> None:
    frame = spark.sql("SELECT id, 1 AS k, parse_json(concat('{\"a\": ', id, '}')) AS v FROM range(5)")
    result = QUERY.run(frame, compiled=False)
    assert result.schema["v"] == frame.schema["v"]
    assert sorted(result.selectExpr("id", "variant_get(v, '$.a', 'int')").collect()) == [(n, n) for n in range(5)]


def test_char_and_varchar(spark: SparkSession) -> None:
    spark.sql("CREATE TABLE names (id BIGINT, k INT, c CHAR(3), v VARCHAR(4)) USING parquet")
    try:
        spark.sql("INSERT INTO names VALUES (1, 1, 'a', 'b'), (2, 1, NULL, 'abcd')")
        carried(spark.table("names"))
        spark.conf.set("spark.sql.preserveCharVarcharTypeInfo", "true")
        with pytest.raises(TypeError, match=r"Column 'c' is of type char\(3\), which Spark cannot send to Python"):
            QUERY.run(spark.table("names"))
    finally:
        spark.conf.unset("spark.sql.preserveCharVarcharTypeInfo")
        spark.sql("DROP TABLE names")


def test_nullability_and_metadata(spark: SparkSession) -> None:
    inner = StructType([StructField("a", LongType(), nullable=False, metadata={"unit": "m"})])
    schema = StructType(
        [
            StructField("id", LongType(), nullable=False, metadata={"comment": "a key", "n": 1}),
            StructField("k", IntegerType(), nullable=True, metadata={"x": [1, 2]}),
            StructField("items", ArrayType(inner, containsNull=False), nullable=False),
            StructField("name", StringType(), nullable=False),
        ]
    )
    carried(spark.createDataFrame([(number, number % 2, [(number,)], "x") for number in range(9)], schema))


class Point:
    """A place, of a type of somebody's own."""

    __UDT__: UserDefinedType

    def __init__(self, x: float, y: float) -> None:
        self.x, self.y = x, y

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Point) and (self.x, self.y) == (other.x, other.y)

    def __hash__(self) -> int:
        return hash((self.x, self.y))


class PointType(UserDefinedType):
    @classmethod
    def sqlType(cls) -> DataType:  # noqa: N802 — Spark's name
        return ArrayType(DoubleType(), containsNull=False)

    @classmethod
    def module(cls) -> str:
        return __name__

    def serialize(self, obj: Point) -> list[float]:
        return [obj.x, obj.y]

    def deserialize(self, datum: list[float]) -> Point:
        return Point(*datum)


Point.__UDT__ = PointType()


@pytest.mark.usefixtures("validated")
def test_types_of_somebodys_own(spark: SparkSession) -> None:
    schema = StructType([StructField("id", LongType()), StructField("k", IntegerType()), StructField("p", PointType())])
    frame = spark.createDataFrame([(number, 1, Point(float(number), 0.5)) for number in range(5)], schema)
    carried(frame)
    result = sash.Query({"p": agg.last("p")}, window.tumbling(10), by="k", time="id").run(frame, compiled=False)
    assert result.schema["p"].dataType == PointType()
    assert [row.p for row in result.collect()] == [Point(4.0, 0.5)]


def test_what_python_can_not_be_sent(spark: SparkSession) -> None:
    frame = spark.sql("SELECT id, 1 AS k, make_ym_interval(1, 2) AS ym FROM range(3)")
    with pytest.raises(
        TypeError, match=r"Column 'ym' is of type interval year to month, which Spark cannot send to Python\. Drop"
    ):
        QUERY.run(frame)
    with pytest.raises(TypeError, match=r"'nothing' is of type array<void>, which Spark cannot send to Python\. Drop"):
        QUERY.run(spark.sql("SELECT id, 1 AS k, array() AS nothing FROM range(3)"))
    windows = sash.Query({"n": agg.count()}, window.tumbling(2), by="k", time="id")
    assert windows.run(frame, compiled=False).count() == 2  # for which it isn't read


def test_columns_of_the_same_name(spark: SparkSession) -> None:
    frame = spark.sql("SELECT id, 1 AS k, 2 AS x, 3 AS x FROM range(3)")
    with pytest.raises(ValueError, match=r"There are 2 columns named 'x'\. Rename all but one"):
        QUERY.run(frame)
