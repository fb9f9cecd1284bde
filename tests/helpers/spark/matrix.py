"""Every window and every aggregate, over rows that have all they need, and results beside those of the local engine."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame

import sash
from helpers.cases import AGGREGATES
from helpers.queries import Named, Row
from helpers.windows import examples, seconds
from sash import agg
from sash.algorithms.base import alike
from sash.spark.arrow_types import arrow_type, spark_type

START = datetime(1969, 12, 31, 23, 50, tzinfo=UTC)
SCHEMA = pa.schema(
    {
        "id": pa.int64(),
        "t": pa.timestamp("us", "UTC"),
        "key": pa.string(),
        "x": pa.int64(),
        "y": pa.float64(),
        "s": pa.string(),
        "v": pa.int32(),
        "mark": pa.bool_(),
    }
)
WINDOWS = examples(seconds(10))
PER_ROW = {name: one for name, one in WINDOWS.items() if one.per_row}
PER_WINDOW = {name: one for name, one in WINDOWS.items() if not one.per_row}
joined = sash.aggregate("joined", lift=lambda text: text, combine=lambda older, newer: (older + "|" + newer)[-40:])
"""One's own that is of strings, so that it is interpreted."""
spread = sash.aggregate(
    "spread",
    lift=lambda x: (x, x),
    combine=lambda older, newer: (min(older[0], newer[0]), max(older[1], newer[1])),
    lower=lambda ends: ends[1] - ends[0],
    commutative=True,
)
"""One's own that is compiled."""
OWN = {"own_joined": joined("s"), "own_spread": spread("x")}
TYPES = {"own_joined": "string", "own_spread": "bigint", "affine": "bigint"}
EVERY: Named = {**{name: chosen(*("x", "y")[: chosen.inputs]) for name, chosen in AGGREGATES.items()}, **OWN}
COMPILED: Named = {"mean": agg.mean("y"), "top": agg.max("y"), "own_spread": spread("y")}
"""A sample to compile."""


def rows_of_every_kind(seed: int, count: int, keys: Iterable[Any] = ("a", "b", "", None)) -> pa.Table:
    """Rows in no order, with ties of time and nulls; no two have the same time and id."""
    chooser = random.Random(seed)
    named = list(keys)
    rows: list[Row] = [
        {
            "id": number,
            "t": START
            + timedelta(seconds=chooser.randint(0, 9 * count // len(named)), milliseconds=250 * (number % 2)),
            "key": chooser.choice(named),
            "x": chooser.choice([None, chooser.randint(-9, 9), chooser.randint(1, 9)]),
            "y": chooser.choice([None, chooser.uniform(1, 9), float(chooser.randint(1, 4)), 2.5]),
            "s": chooser.choice([None, "to", "be", "or", "not", "é"]),
            "v": chooser.randint(-9, 9),
            "mark": chooser.choice([None, False, False, True]),
        }
        for number in range(count)
    ]
    chooser.shuffle(rows)
    return pa.Table.from_pylist(rows, SCHEMA)


def assert_same(found: pa.Table, expected: pa.Table, by: Iterable[str]) -> None:
    """Compare names, types and all values, floats but for rounding; rows in the order of some columns, as they are given."""
    kinds, known = ([(field.name, str(field.type)) for field in table.schema] for table in (found, expected))
    assert kinds == known, [pair for pair in zip(kinds, known, strict=False) if pair[0] != pair[1]]
    columns = [*by]
    mine, theirs = (sorted(table.to_pylist(), key=lambda row: _place(row, columns)) for table in (found, expected))
    assert len(mine) == len(theirs), f"{len(mine)} rows instead of {len(theirs)}"
    for own, other in zip(mine, theirs, strict=True):
        for name, value in own.items():
            assert alike(value, other[name]), f"{name}: {value!r} instead of {other[name]!r}, in {own}"


def assert_spark_agrees(query: sash.Query, frame: DataFrame, rows: pa.Table, by: Iterable[str], **options: Any) -> None:
    """Compare what comes from Spark with what the local engine makes of the same rows, in the types that Spark has."""
    expected = query.run(rows, compiled=options.get("compiled", True))  # first, so that workers find kernels compiled
    found = query.run(frame, **{"strategy": "buckets", **options}).toArrow()
    assert_same(in_types(found, plain), in_types(expected, lambda kind: plain(arrow_type(spark_type(kind), "UTC"))), by)


def in_types(table: pa.Table, change: Callable[[pa.DataType], pa.DataType]) -> pa.Table:
    """Return a table whose types are changed."""
    return table.cast(pa.schema([(field.name, change(field.type)) for field in table.schema]))


def plain(kind: pa.DataType) -> pa.DataType:
    """Return a type with moments in one zone, whatever the session's, and items of lists by one name."""
    if pa.types.is_list(kind):
        return pa.list_(plain(kind.value_type))
    return pa.timestamp("us", "UTC") if pa.types.is_timestamp(kind) and kind.tz is not None else kind


def _place(row: Row, columns: list[str]) -> list[Any]:
    return [(row[name] is None, "" if row[name] is None else row[name]) for name in columns]
