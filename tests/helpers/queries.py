"""What the tests of queries share: streams as tables, and results beside those of the oracle."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

import sash
from sash.aggregates.base import Aggregate
from sash.algorithms.base import alike
from sash.testing import recompute_query
from sash.testing.naive_windows import in_utc

SCHEMA = pa.schema(
    {"t": pa.int64(), "key": pa.string(), "x": pa.int64(), "y": pa.int64(), "v": pa.int64(), "mark": pa.bool_()}
)
"""The columns of `sash.testing.strategies.streams`."""

EXECUTORS: Mapping[str, bool | None] = {"default": None, "interpreted": False, "compiled": True}
"""The values of `compiled=`. By default, a query over few rows runs with NumPy, as it does for users."""
UNCOMPILED = (None, False)
UNITS = ("s", "ms", "us", "ns")
ZONES = ("Europe/Berlin", None)
FORMS: Mapping[str, Callable[[pa.Table], Any]] = {
    "arrow": pa.table,
    "pandas": pa.Table.to_pandas,
    "polars": pl.from_arrow,
}
"""The kinds of tables that users have, from Arrow."""
PATHS = (UNITS, ZONES, EXECUTORS)
"""What each property is tested with, for `helpers.pairwise.matrix`: units of time, time zones, executors; then FORMS, for tables."""

Named = Mapping[str, Aggregate[Any]]
Row = dict[str, Any]


def table_of(rows: list[Row], schema: pa.Schema = SCHEMA) -> pa.Table:
    return pa.Table.from_pylist(rows, schema)


def long_stream(seed: int, keys: int) -> list[Row]:
    """Rows for kernels: some hundred, in no order, with nulls and ties."""
    chooser = random.Random(seed)
    times = sorted(chooser.choices(range(-150, 150), k=240))
    chooser.shuffle(times)
    return [
        {
            "t": time,
            "key": chooser.choice(["a", "b", None][:keys]),
            "x": chooser.choice([None, chooser.randint(-9, 9)]),
            "y": None,
            "v": chooser.randint(-9, 9),
            "mark": chooser.random() < 0.2,
        }
        for time in times
    ]


def in_unit(table: pa.Table, unit: str, zone: str | None) -> pa.Table:
    """Return a table with its column `t`, of times in UTC, in another unit and zone: the same instants, or if None, what a clock in UTC shows."""
    times = table["t"].cast(pa.timestamp("us")).cast(pa.timestamp(unit))
    if zone is not None:
        times = pc.assume_timezone(times, "UTC").cast(pa.timestamp(unit, zone))
    return table.set_column(table.column_names.index("t"), "t", times)


def run_as(query: sash.Query, table: pa.Table, form: str, **options: Any) -> pa.Table:
    """Run a query over a table as Arrow, pandas or Polars has it. Return Arrow with the types of the query's schema."""
    found = query.run(FORMS[form](table), **options)
    if form == "pandas":
        found = pa.Table.from_pandas(found, preserve_index=False)
    elif form == "polars":
        found = found.to_arrow()
    schema = query.schema(table)  # pandas has floats in place of integers with nulls, Polars has no seconds
    return found.cast(pa.schema([schema.field(name) for name in found.column_names]))


def in_microseconds(table: pa.Table) -> pa.Table:
    """Return results with times as Python has them."""
    for place, field in enumerate(table.schema):
        if pa.types.is_timestamp(field.type):
            table = table.set_column(place, field.name, table[field.name].cast(pa.timestamp("us", field.type.tz)))
    return table


def assert_equal(found: pa.Table, expected: list[Row]) -> None:
    """Compare every value and the order of rows, floats but for rounding; times in UTC, as an hour that occurs twice equals none."""
    listed = found.to_pylist(maps_as_pydicts="strict")
    assert len(listed) == len(expected), f"{len(listed)} rows instead of {len(expected)}"
    for mine, theirs in zip(listed, expected, strict=True):
        assert list(mine) == list(theirs)
        for name, value in mine.items():
            assert alike(in_utc(value), theirs[name]), f"{name}: {value!r} instead of {theirs[name]!r}, in {mine}"


def assert_agrees(
    rows: list[Row],
    aggregates: Named,
    windows: Any,
    *,
    executors: Sequence[bool | None] = UNCOMPILED,
    schema: pa.Schema = SCHEMA,
    **given: Any,
) -> pa.Table:
    """Compare a query's results with the oracle's, on each of the `executors`; `given` is by, time, and so on."""
    declared = {"by": ("key",), "time": "t", **given}
    for_oracle = {name: declared[name] for name in ("by", "time", "order_by") if name in declared}
    expected = recompute_query(table_of(rows, schema).to_pylist(), aggregates, windows, **for_oracle)
    for compiled in executors:
        found = sash.Query(aggregates, windows, **declared).run(table_of(rows, schema), compiled=compiled)
        assert_equal(found, expected)
    return found
