"""Sums and means of decimals against Spark's own aggregation: the same types and the same digits, in every strategy and on a stream."""

from __future__ import annotations

import random
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from decimal import Context, Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import DecimalType, StringType, StructField, StructType, TimestampType

import sash
from sash import agg, window
from sash.spark.arrow_types import arrow_schema

TYPES = [(1, 0), (9, 9), (28, 3), (29, 3), (34, 30), (38, 38)]
"""Digits in all, and behind the point. Up to 28, Spark aggregates slices; results of more than 38 digits are bounded."""
COLUMNS = [f"d{digits}_{scale}" for digits, scale in TYPES]
SCHEMA = StructType(
    [
        StructField("k", StringType()),
        StructField("ts", TimestampType()),
        *(StructField(name, DecimalType(*kind)) for name, kind in zip(COLUMNS, TYPES, strict=True)),
    ]
)
EXACT = Context(prec=80)
BEGIN = datetime(2024, 3, 10, tzinfo=UTC)
NAMES = ("sum", "mean", "min", "max", "first", "last")
AGGREGATES = {
    f"{name}_{column}": getattr(agg, name)(column)
    for column in COLUMNS
    for name in (NAMES if column in ("d9_9", "d34_30") else NAMES[:2])
}
QUERY = sash.Query(AGGREGATES, window.tumbling("1h"), by="k", time="ts")


def value(chooser: random.Random, digits: int, scale: int) -> Decimal | None:
    """Null, small or large, of either sign; a dozen of them have a sum and a mean that Spark can hold."""
    if chooser.random() < 0.2:
        return None
    kept = min(digits, 28 + digits // 9) if scale < 38 else 35
    largest = 10 ** chooser.choice([min(3, kept), kept]) - 1
    return Decimal(chooser.randint(-largest, largest)).scaleb(-scale, EXACT)


def rows(count: int, seed: int) -> list[tuple[Any, ...]]:
    chooser = random.Random(seed)
    times = chooser.sample(range(8 * 3600), count)
    return [
        (chooser.choice(["a", "b", None]), BEGIN + timedelta(seconds=at), *(value(chooser, *kind) for kind in TYPES))
        for at in times
    ]


def by_spark(frame: DataFrame) -> DataFrame:
    """What Spark's own tumbling aggregation makes of it."""
    made = []
    for column in COLUMNS:
        at = F.when(F.col(column).isNotNull(), F.col("ts"))
        functions = [F.sum(column), F.avg(column), F.min(column), F.max(column), F.min_by(column, at)]
        functions += [F.max_by(column, at)]
        named = {f"{name}_{column}": function for name, function in zip(NAMES, functions, strict=True)}
        made += [function.alias(name) for name, function in named.items() if name in AGGREGATES]
    grouped = frame.groupBy("k", F.window("ts", "1 hour")).agg(*made)
    return grouped.select("k", F.col("window.start").alias("window_start"), *AGGREGATES)


def in_order(found: list[dict[str, Any]], names: Any = tuple(AGGREGATES)) -> list[tuple[Any, ...]]:
    ordered = sorted(found, key=lambda row: (row["k"] is None, row["k"] or "", row["window_start"]))
    return [tuple(row[name] for name in names) for row in ordered]


def collect(frame: DataFrame) -> list[dict[str, Any]]:
    return [row.asDict() for row in frame.collect()]


def types_of(frame: DataFrame) -> dict[str, str]:
    return {field.name: field.dataType.simpleString() for field in frame.schema if field.name in AGGREGATES}


@pytest.fixture(scope="module")
def frame(spark: SparkSession) -> DataFrame:
    return spark.createDataFrame(rows(200, seed=1), SCHEMA).repartition(3)


@pytest.fixture(scope="module")
def expected(frame: DataFrame) -> list[dict[str, Any]]:
    return collect(by_spark(frame))


def test_windows_of_rows_equal_those_of_spark(frame: DataFrame, expected: list[dict[str, Any]]) -> None:
    found = QUERY.run(frame)  # rows, as one column has more than 28 digits
    assert types_of(found) == types_of(by_spark(frame))
    assert in_order(collect(found)) == in_order(expected)


def test_windows_of_slices_equal_those_of_spark(frame: DataFrame, expected: list[dict[str, Any]]) -> None:
    small = [name for name, one in AGGREGATES.items() if one.columns[0] in ("d1_0", "d9_9", "d28_3")]
    query = sash.Query({name: AGGREGATES[name] for name in small}, window.tumbling("1h"), by="k", time="ts")
    found = query.run(frame, strategy="slices")
    assert types_of(found) == {name: kind for name, kind in types_of(by_spark(frame)).items() if name in small}
    assert in_order(collect(found), small) == in_order(expected, small)


def test_a_table_in_process_has_the_same_types_and_digits(frame: DataFrame, expected: list[dict[str, Any]]) -> None:
    schema = arrow_schema(SCHEMA, "UTC")
    arrays = [
        pa.array(column, field.type) for column, field in zip(zip(*rows(200, seed=1), strict=True), schema, strict=True)
    ]
    found = QUERY.run(pa.table(arrays, schema=schema))
    assert {name: str(found.schema.field(name).type) for name in AGGREGATES} == {
        name: kind.replace("decimal", "decimal128").replace(",", ", ")
        for name, kind in types_of(by_spark(frame)).items()
    }
    assert in_order(found.to_pylist()) == in_order(expected)


@pytest.fixture
def few_partitions(spark: SparkSession) -> Iterator[None]:
    """Fewer state stores, which take most of the time of a small micro-batch."""
    before = spark.conf.get("spark.sql.shuffle.partitions") or ""
    spark.conf.set("spark.sql.shuffle.partitions", 1)
    yield
    spark.conf.set("spark.sql.shuffle.partitions", before)


@pytest.mark.full
@pytest.mark.usefixtures("few_partitions")
def test_a_stream_equals_spark(
    spark: SparkSession, tmp_path: Path, frame: DataFrame, expected: list[dict[str, Any]]
) -> None:
    frame.orderBy("ts").coalesce(1).write.option("maxRecordsPerFile", 100).parquet(str(tmp_path / "rows"))
    source = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).parquet(str(tmp_path / "rows"))
    stream = source.withWatermark("ts", "1 day")
    found = QUERY.run(stream, buckets=2)
    assert types_of(found) == types_of(by_spark(frame))
    writer = found.writeStream.format("noop").option("checkpointLocation", str(tmp_path / "checkpoint"))
    writer.trigger(availableNow=True).start().awaitTermination()
    rest = sash.spark.finish(QUERY, stream, str(tmp_path / "checkpoint"), buckets=2)
    assert in_order(collect(rest)) == in_order(expected)


@pytest.mark.parametrize("name", ["sum", "mean"])
def test_a_result_with_too_many_digits_is_an_error(spark: SparkSession, name: str) -> None:
    """As in Spark with ANSI mode, which is the default."""
    largest = Decimal(10**38 - 1)
    frame = spark.createDataFrame([(1, largest), (2, largest)], "t int, x decimal(38,0)")
    query = sash.Query(getattr(agg, name)("x"), window.tumbling(10), time="t")
    with pytest.raises(Exception, match=rf"{name}\(x\): some results need more than the 38 digits of decimal128"):
        query.run(frame).collect()


def test_a_mean_is_rounded_once(spark: SparkSession) -> None:
    """0.…0|496 would become 0.…0|50 with a digit less, and then 0.…1."""
    numbers = [Decimal(one).scaleb(-38, EXACT) for one in [124] + [0] * 249]
    frame = spark.createDataFrame([(0, one) for one in numbers], "t int, x decimal(38,38)")
    own: Row | None = frame.agg(F.avg("x")).head()
    found: Row | None = sash.Query({"m": agg.mean("x")}, window.tumbling(10), time="t").run(frame).head()
    assert own is not None
    assert found is not None
    assert found.m == own[0] == 0
