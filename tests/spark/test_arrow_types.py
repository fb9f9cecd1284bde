"""Our conversion of types gives what the installed Spark sends to Python, for every type that Spark has."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession
from pyspark.sql.types import CalendarIntervalType, CharType, DataType, StructType, VarcharType, YearMonthIntervalType

from sash.spark.arrow_types import arrow_schema, arrow_type, is_exact, spark_type

pytestmark = pytest.mark.oldest
POINT = "X'0101000000000000000000F03F0000000000000040'"
VALUES = {
    "void": "NULL",
    "boolean": "true",
    "tinyint": "1Y",
    "smallint": "1S",
    "int": "1",
    "bigint": "1L",
    "float": "1.0F",
    "double": "1.0D",
    "decimal": "1.5BD",
    "wide_decimal": "CAST(1 AS DECIMAL(38, 18))",
    "string": "'a'",
    "collated": "'a' COLLATE UTF8_LCASE",
    "char": "CAST('a' AS CHAR(3))",
    "varchar": "CAST('a' AS VARCHAR(3))",
    "binary": "X'01'",
    "date": "DATE '2020-01-01'",
    "timestamp": "TIMESTAMP '2020-01-01 00:00:00'",
    "timestamp_ntz": "TIMESTAMP_NTZ '2020-01-01 00:00:00'",
    "days": "INTERVAL '1' DAY",
    "days_to_seconds": "INTERVAL '1 1:1:1' DAY TO SECOND",
    "time": "TIME '01:02:03'",
    "time_in_seconds": "CAST(TIME '01:02:03' AS TIME(0))",
    "variant": "parse_json('1')",
    "geometry": f"ST_GeomFromWKB({POINT})",
    "geography": f"ST_GeogFromWKB({POINT})",
}
NESTED = {
    "plain": "{}",
    "nullable": "nullif({0}, {0})",
    "array": "array({})",
    "array_of_nullable": "array({}, NULL)",
    "struct": "named_struct('a', {}, 'b', 1)",
    "map": "map('k', {})",
    "deep": "array(map(1, named_struct('a', array({}))))",
}
SETTINGS = ("spark.sql.timeType.enabled", "spark.sql.geospatial.enabled")
LARGE = "spark.sql.execution.arrow.useLargeVarTypes"
ZONE = "spark.sql.session.timeZone"


def received(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        yield pa.RecordBatch.from_pydict({"schema": [batch.schema.serialize().to_pybytes()]})


@pytest.fixture(autouse=True)
def settings(spark: SparkSession) -> Iterator[None]:
    for name in SETTINGS:
        spark.conf.set(name, "true")
    yield
    for name in (*SETTINGS, LARGE):
        spark.conf.unset(name)


@pytest.mark.parametrize("large", [False, True])
def test_every_type_is_what_spark_sends(spark: SparkSession, large: bool) -> None:
    spark.conf.set(LARGE, large)
    columns = [
        f"{form.format(value)} AS {name}_{nesting}"
        for name, value in VALUES.items()
        for nesting, form in NESTED.items()
        if nesting != "nullable" or name not in ("variant", "geometry", "geography", "void")  # not comparable
    ]
    frame = spark.sql(f"SELECT {', '.join(columns)} FROM range(1)")
    sent = frame.mapInArrow(received, "schema binary").collect()[0][0]
    expected = pa.ipc.read_schema(pa.py_buffer(sent))
    zone = spark.conf.get(ZONE) or ""
    made = arrow_schema(frame.schema, zone, large=large)
    assert made.names == expected.names
    for own, other in zip(made, expected, strict=True):
        assert (str(own), tags_of(own.type)) == (str(other), tags_of(other.type))
        assert arrow_type(spark_type(own.type), zone, large=large).equals(own.type, check_metadata=True)


def tags_of(kind: pa.DataType) -> list[dict[bytes, bytes]]:
    """The marks of variants and spatial types, at any depth; Spark 4.3 also writes the precision of TIME, which we ignore."""
    inner = [kind.field(place) for place in range(kind.num_fields)]
    own = [{name: tag for name, tag in (field.metadata or {}).items() if b"::" not in name} for field in inner]
    return [*filter(None, own), *(tag for field in inner for tag in tags_of(field.type))]


def test_tables_that_spark_collects_have_the_same_types(spark: SparkSession) -> None:
    names = [name for name in VALUES if name not in ("void", "variant", "geometry", "geography")]
    columns = [f"{VALUES[name]} AS {name}, array({VALUES[name]}) AS array_of_{name}" for name in names]
    frame = spark.sql(f"SELECT {', '.join(columns)}")
    assert str(arrow_schema(frame.schema, "UTC")) == str(frame.toArrow().schema)


@pytest.mark.parametrize("kind", [YearMonthIntervalType(), CalendarIntervalType(), CharType(3), VarcharType(3)])
def test_types_that_spark_does_not_send(kind: DataType) -> None:
    for nested in (kind, StructType().add("x", kind)):
        with pytest.raises(TypeError, match=r"Spark can't send .* to Python\."):
            arrow_type(nested, "UTC")


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        (pa.uint64(), "bigint"),
        (pa.dictionary(pa.int8(), pa.string()), "string"),
        (pa.large_list(pa.large_string()), "array<string>"),
        (pa.list_(pa.float32(), 2), "array<float>"),
        (pa.map_(pa.string(), pa.binary(4)), "map<string,binary>"),
        (
            pa.struct({"t": pa.timestamp("ns"), "u": pa.timestamp("s", "Asia/Tokyo")}),
            "struct<t:timestamp_ntz,u:timestamp>",
        ),
        (pa.duration("ms"), "interval day to second"),
        (pa.time64("us"), "time(6)"),
        (pa.decimal128(20, 3), "decimal(20,3)"),
    ],
)
def test_arrow_types_that_spark_has_in_another_form(kind: pa.DataType, name: str) -> None:
    assert spark_type(kind).simpleString() == name


@pytest.mark.parametrize("kind", [pa.float16(), pa.month_day_nano_interval(), pa.time32("s"), pa.list_(pa.date64())])
def test_arrow_types_that_spark_has_not(kind: pa.DataType) -> None:
    with pytest.raises(TypeError, match=r"Spark has no type for "):
        spark_type(kind)


@pytest.mark.parametrize(
    ("column", "exact"),
    [
        ("x interval day to second, y array<struct<a: map<string, timestamp>>>, z decimal(7, 2), v variant", True),
        ("x interval day", False),
        ("x array<interval hour>", False),
        ("x string collate UTF8_LCASE", False),
    ],
)
def test_types_that_are_the_same_after_a_way_through_arrow(column: str, exact: bool) -> None:
    schema = DataType.fromDDL(column)
    assert isinstance(schema, StructType)
    assert is_exact(schema) == exact
