"""Keys of every type are grouped as Spark's own groupBy groups them."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pytest
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F  # noqa: N812 — as everyone calls it

import sash
from sash import agg, window

MOMENT = datetime(2024, 11, 3, 5, 30, tzinfo=UTC)
KEYS: dict[str, tuple[str, list[Any]]] = {
    "string": ("string", ["", " ", "é", "e\u0301", "a", None]),
    "long": ("bigint", [0, -1, 2**62, None]),
    "byte": ("tinyint", [0, -128, 127, None]),
    "boolean": ("boolean", [True, False, None]),
    "decimal": ("decimal(20,3)", [Decimal("0.000"), Decimal("-1.5"), Decimal("12345678901234567.125"), None]),
    "date": ("date", [date(1582, 10, 15), date(1969, 12, 31), date(2024, 2, 29), None]),
    "timestamp": ("timestamp", [MOMENT, MOMENT.replace(hour=6), None]),
    "timestamp_ntz": ("timestamp_ntz", [datetime(2024, 11, 3, 1, 30), datetime(1960, 1, 1), None]),  # noqa: DTZ001
    "binary": ("binary", [b"", b"\x00", b"a", None]),
    "double": ("double", [0.0, -0.0, math.nan, -math.nan, math.inf, None]),
    "float": ("float", [0.0, -0.0, math.nan, 0.1, None]),
    "struct": ("struct<a:double,b:string>", [(0.0, "x"), (-0.0, "x"), (math.nan, None), (None, None), None]),
    "array": ("array<double>", [[0.0], [-0.0], [math.nan], [None], [], None]),
    "map": ("map<string,double>", [{"a": 0.0, "b": 1.0}, {"b": 1.0, "a": -0.0}, {"a": math.nan}, {}, None]),
    "nested": (
        "struct<a:array<struct<b:map<int,array<float>>>>>",
        [([({1: [0.0], 2: None},), None],), ([({2: None, 1: [-0.0]},), None],), ([],), (None,), None],
    ),
    "interval": ("interval day to second", []),
}


def counted(frame: DataFrame, by: list[str]) -> dict[str, int]:
    """How many rows Sash finds of each key, which it finds once."""
    query = sash.Query({"n": agg.count()}, window.tumbling(10**6), by=by, time="id")
    return once(query.run(frame, compiled=False, strategy="buckets").select(*by, "n").collect())


def grouped(frame: DataFrame, by: list[str]) -> dict[str, int]:
    """How many Spark finds."""
    columns = [F.col(f"`{name}`") for name in by]
    return once(frame.groupBy(*columns).agg(F.count(F.lit(1)).alias("n")).collect())


def once(rows: list[Row]) -> dict[str, int]:
    found = {repr([shown(value) for value in row[:-1]]): row[-1] for row in rows}
    assert len(found) == len(rows), "a key came twice"
    return found


def shown(value: Any) -> Any:
    """A key as text: one zero, and the entries of maps in order."""
    if isinstance(value, dict):
        return sorted((shown(key), repr(shown(item))) for key, item in value.items())
    if isinstance(value, list | tuple):
        return [shown(item) for item in value]
    return value + 0.0 if isinstance(value, float) else value


@pytest.fixture(scope="module")
def every(spark: SparkSession) -> DataFrame:
    """Rows in which each column goes through its own values, several times."""
    size = 60
    columns = {name: (kind, values) for name, (kind, values) in KEYS.items() if values}
    rows = [(number, *(values[number % len(values)] for _, values in columns.values())) for number in range(size)]
    schema = "id bigint, " + ", ".join(f"`{name}` {kind}" for name, (kind, _) in columns.items())
    return spark.createDataFrame(rows, schema).withColumn("interval", F.expr("make_dt_interval(id % 3)"))


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.oldest) if name == "nested" else name for name in KEYS]
)
def test_keys_of_a_type(every: DataFrame, name: str) -> None:
    assert counted(every, [name]) == grouped(every, [name])


def test_keys_of_several_types_at_once(every: DataFrame) -> None:
    for names in (["boolean", "nested", "double"], ["map", "date"]):
        assert counted(every, names) == grouped(every, names)


def test_a_key_is_found_once_however_few_the_buckets(every: DataFrame) -> None:
    query = sash.Query({"n": agg.count()}, window.tumbling(10**6), by=["double", "string"], time="id")
    results = [query.run(every, compiled=False, buckets=count).count() for count in (1, 7)]
    assert results == [len(grouped(every, ["double", "string"]))] * 2


def test_keys_keep_their_type(every: DataFrame) -> None:
    """Of windows too, with what Arrow doesn't know of it."""
    frame = every.selectExpr(
        "id", "nested", "`struct` AS S", "CAST(interval AS INTERVAL DAY) AS i", "ifnull(byte, 1Y) AS b"
    )
    query = sash.Query({"n": agg.count()}, window.tumbling(10), by=["nested", "S", "i", "b"], time="id")
    result = query.run(frame, compiled=False)
    names = ("nested", "S", "i", "b")
    assert [field.dataType for field in result.schema.fields[:4]] == [frame.schema[name].dataType for name in names]
    assert result.count() == 60


@pytest.mark.parametrize("name", ["a.b", "a`b", "`", "Größe in m"])
def test_names_with_anything_in_them(spark: SparkSession, name: str) -> None:
    """Names of keys, times, values and results."""
    rows = [(number % 3, number, number) for number in range(9)]
    for names in ([name, "t", "x"], ["k", name, "x"], ["k", "t", name]):
        frame = spark.createDataFrame(rows, names)
        for windows in (window.rows(2), window.tumbling(5)):
            query = sash.Query({f"{name}?": agg.sum(names[2])}, windows, by=names[0], time=names[1])
            assert f"{name}?" in query.run(frame, compiled=False).columns
    assert sum(row[-1] for row in query.run(frame, compiled=False).collect()) == 36


@pytest.mark.parametrize("kind", ["string collate utf8_lcase", "struct<a:array<string collate unicode_ci>>"])
def test_collations_are_refused(spark: SparkSession, kind: str) -> None:
    frame = spark.createDataFrame([], f"k {kind}, t int")
    for query in (
        sash.Query({"n": agg.count()}, window.rows(2), by="k", time="t"),
        sash.Query({"n": agg.count()}, window.rows(2), time="t", order_by="k"),
    ):
        with pytest.raises(
            TypeError, match=r"Column 'k' is of type .*collate .*Python cannot compare strings with a collation"
        ):
            query.run(frame)


def test_variants_are_no_keys(spark: SparkSession) -> None:
    frame = spark.sql("SELECT parse_json('1') AS k, 1 AS t")
    with pytest.raises(TypeError, match="The key 'k' is of type variant, and Spark cannot group by it"):
        sash.Query({"n": agg.count()}, window.rows(2), by="k", time="t").run(frame)
