"""What the tests of queries share: streams as tables, and results beside those of the oracle."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

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
