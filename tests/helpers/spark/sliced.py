"""What the tests of slices in SQL share: rows with values of every type, and a query run in two stages without a worker."""

from __future__ import annotations

import math
import random
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyspark
from pyspark.sql import DataFrame, SparkSession

import sash
from sash import agg
from sash.aggregates.base import Aggregate
from sash.algorithms.base import alike
from sash.engine.prepare import Prepared, prepare
from sash.engine.run_table import run_table
from sash.spark.arrow_types import spark_schema
from sash.spark.batch.sql_slices import slice_frame, why_not

TYPES: dict[str, pa.DataType] = {
    "key": pa.string(), "id": pa.int64(), "i8": pa.int8(), "i16": pa.int16(), "i32": pa.int32(), "i64": pa.int64(),
    "f32": pa.float32(), "f64": pa.float64(), "wild": pa.float64(), "flag": pa.bool_(), "money": pa.decimal128(28, 3),
    "text": pa.string(), "bytes": pa.binary(), "day": pa.date32(), "at": pa.timestamp("us", "UTC"),
    "wall": pa.timestamp("us"),
}  # fmt: skip
NUMBERS = ("i8", "i16", "i32", "i64", "f32", "f64", "wild", "flag", "money")
TEXTS = ("text", "bytes")
TIMES = ("day", "at", "wall")
HUGE = 1e150 if pyspark.__version__.startswith(("4.1.", "4.2.")) else 1e300
"""Before 4.3 Spark's variance of a value whose square is infinite is NaN."""
WILD = [math.nan, math.inf, -math.inf, 0.0, -0.0, HUGE, -1e-300, 1.0]
WORDS = ["", "a", "b", "B", "ä", "z", "\U0001f600"]


def rows(count: int, seed: int = 1) -> dict[str, list[Any]]:
    """Values of every type, a fifth of them null, with many ties, in no order."""
    chooser = random.Random(seed)

    def some(make: Any) -> list[Any]:
        return [None if chooser.random() < 0.2 else make() for _ in range(count)]

    noon = datetime(2024, 3, 10, 12, tzinfo=UTC)
    return {
        "key": chooser.choices(["a", "b", None], weights=[5, 5, 1], k=count),
        "id": chooser.sample(range(count), count),
        "i8": some(lambda: chooser.choice([-128, 127, 0, 5])),
        "i16": some(lambda: chooser.randint(-(2**15), 2**15 - 1)),
        "i32": some(lambda: chooser.choice([-(2**27), 2**27 - 1, 0, 7, -7])),
        "i64": some(lambda: chooser.choice([2**28 + 5, 3, -(2**27), 7])),
        "f32": some(lambda: chooser.choice([0.5, -3.25, 1e-3, 16.0, 100.0])),
        "f64": some(lambda: round(chooser.gauss(10, 3), 1)),
        "wild": some(lambda: chooser.choice(WILD)),
        "flag": some(lambda: chooser.random() < 0.7),
        "money": some(lambda: Decimal(chooser.randint(-(10**9), 10**9)).scaleb(-3)),
        "text": some(lambda: chooser.choice(WORDS)),
        "bytes": some(lambda: chooser.choice([b"", b"\x00", b"\xff", b"a"])),
        "day": some(lambda: date(1970, 1, 1) + timedelta(chooser.randint(-900, 900))),
        "at": some(lambda: noon + timedelta(seconds=chooser.randint(-(10**9), 10**9))),
        "wall": some(lambda: datetime(2024, 3, 10, 2, 30) + timedelta(minutes=chooser.randint(-900, 900))),  # noqa: DTZ001
    }


def table_of(values: dict[str, list[Any]], time: pa.Array) -> pa.Table:
    """Return rows with a time."""
    return pa.table({"t": time, **{name: pa.array(column, TYPES[name]) for name, column in values.items()}})


def every_aggregate() -> dict[str, Aggregate[Any]]:
    """Every aggregate that has partials in SQL, over every type that they are different for."""
    made: dict[str, Aggregate[Any]] = {"rows": agg.count(), "values": agg.count("wild")}

    def add(one: Any, *columns: str, also: tuple[str, ...] = ()) -> None:
        for column in columns:
            made[f"{one.__name__}_{column}"] = one(column, *also)

    for extreme in (agg.min, agg.max):
        add(extreme, *NUMBERS, *TEXTS, *TIMES)
    for end in (agg.first, agg.last):
        add(end, "i8", "wild", "flag", "money", "text", "day", "at", "wall")
    add(agg.spread, *NUMBERS, *TIMES)
    add(agg.arg_min, *NUMBERS, *TEXTS, *TIMES, also=("text",))
    add(agg.arg_max, *NUMBERS, *TIMES, also=("wild",))
    for each in (agg.sum, agg.mean, agg.any, agg.all, agg.geometric_mean, agg.approx_quantile):
        add(each, *NUMBERS)
    for spread in (agg.variance, agg.var_pop, agg.stddev, agg.stddev_pop):
        add(spread, *(column for column in NUMBERS if column != "i64"))
    for shape in (agg.skewness, agg.skewness_samp, agg.kurtosis, agg.kurtosis_samp):
        add(shape, "i8", "i16", "i32", "f32", "flag", "money")
    add(agg.sum_of_squares, *(column for column in NUMBERS if column != "money"))
    for joint in (agg.covariance, agg.correlation, agg.weighted_mean):
        add(joint, "i64", "wild", "money", also=("f64",))
    for line in (agg.slope, agg.intercept, agg.r_squared):
        add(line, "i64", "wild", "money", also=("f64",))
    add(agg.approx_count_distinct, "i8", "i64", "flag", "text")
    return made


def some_aggregates() -> dict[str, Aggregate[Any]]:
    """A few of them, of each family."""
    names = ("rows", "sum_i64", "mean_i32", "stddev_f64", "variance_f64", "correlation_wild", "arg_max_f32", "max_text")
    return {name: every_aggregate()[name] for name in (*names, "first_at", "last_wall")}


def prepared(spark: SparkSession, query: sash.Query, table: pa.Table) -> tuple[Prepared, DataFrame]:
    """Return a query made ready, and rows as a frame."""
    schema = spark_schema(table.schema)
    return prepare(query._declared, table.schema), spark.createDataFrame(table, schema)


def in_two_stages(spark: SparkSession, query: sash.Query, table: pa.Table, *, compiled: bool = False) -> pa.Table:
    """Return the results of a query: slices by Spark, the rest by the local engine, with nothing of Spark between."""
    over_rows, frame = prepared(spark, query, table)
    assert why_not(query._declared, over_rows, frame.schema) == ""
    sliced, declared = slice_frame(query._declared, over_rows, frame)
    assert declared.time is not None
    slices = sliced.toArrow()
    time = slices[declared.time]
    kind = table.schema.field(query._declared.time).type
    if pa.types.is_date32(kind):
        time = time.cast(pa.int32())
    place = slices.schema.get_field_index(declared.time)
    slices = slices.set_column(place, declared.time, time.cast(kind))
    return run_table(prepare(declared, slices.schema, compiled=compiled), slices)


def assert_equal(found: pa.Table, expected: pa.Table, rounding: float = 1e-9) -> None:
    """Compare types, and values but for the rounding of floats; keys come in no order."""
    assert found.schema.names == expected.schema.names
    for field in expected.schema:
        known = found.schema.field(field.name).type
        assert known == field.type, f"{field.name}: {known} instead of {field.type}"
    mine, theirs = (sorted(table.to_pylist(), key=_place) for table in (found, expected))
    assert len(mine) == len(theirs)
    for one, other in zip(mine, theirs, strict=True):
        for name, value in one.items():
            assert alike(value, other[name], rounding), f"{name}: {value!r} instead of {other[name]!r}, in {one}"


def _place(row: dict[str, Any]) -> tuple[str, str, Any, Any]:
    return str(row.get("key")), str(row.get("window")), row["window_start"], row["window_end"]
