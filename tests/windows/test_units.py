"""Every window over decades of rows in every unit of time, on every path that users take ≡ the oracle.

Nanoseconds are the default of pandas. All windows of all keys, one after the other, then last longer than 64 bits can count.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import cache
from random import Random
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from helpers.queries import Named, assert_equal
from helpers.streams import batches_of
from helpers.windows import examples, seconds

import sash
from sash import agg, window
from sash.testing import recompute_query
from sash.windows import Window

TICK = 40 * 24 * 3600
"""Seconds: the shortest window of `helpers/windows.py` lasts 40 days, so that few windows cover decades."""
START = datetime(1950, 1, 1, tzinfo=UTC)
FIELDS = {"t": pa.timestamp("us", "UTC"), "k": pa.int64(), "x": pa.int64(), "v": pa.int64(), "mark": pa.bool_()}
AGGREGATES: Named = {"total": agg.sum("x"), "peak": agg.max("x"), "rows": agg.count()}
HOLISTIC: Named = {"middle": agg.median("x"), "everything": agg.collect("x")}
WINDOWS = examples(seconds(TICK))
"""By name."""


def rows_of(keys: int) -> list[dict[str, Any]]:
    """Rows of 60 years in order of time, with ties and nulls."""
    chooser = Random(keys)
    made = [
        {
            "t": START + timedelta(seconds=TICK * chooser.randrange(1100) // 2),
            "k": key,
            "x": chooser.choice([None, chooser.randint(-9, 9)]),
            "v": chooser.randint(-9, 9),
            "mark": chooser.random() < 0.3,
        }
        for key in range(keys)
        for _ in range(20)
    ]
    return sorted(made, key=lambda row: row["t"])


@cache
def table_in(unit: str, keys: int) -> pa.Table:
    table = pa.Table.from_pylist(rows_of(keys), pa.schema(FIELDS))
    return table.set_column(0, "t", table["t"].cast(pa.timestamp(unit, "UTC")))


def keys_for(one: Window) -> int:
    """Windows of the calendar count days and months, which never need 64 bits; but there are many."""
    return 1 if one.clock.by_calendar else 24


@cache
def expected(name: str) -> list[dict[str, Any]]:
    one = WINDOWS[name]
    return recompute_query(rows_of(keys_for(one)), {**AGGREGATES, **HOLISTIC}, one, by=("k",), time="t")


def comparable(table: pa.Table) -> pa.Table:
    """Return results with times in microseconds, as Python has them."""
    for place, field in enumerate(table.schema):
        if pa.types.is_timestamp(field.type):
            table = table.set_column(place, field.name, table[field.name].cast(pa.timestamp("us", "UTC")))
    return table


def check(name: str, found: pa.Table, *, in_order: bool = True) -> None:
    """Compare results with those of the oracle, of the aggregates that they have; those of a stream in any order."""
    names = found.column_names
    wanted = [{each: row[each] for each in names} for row in expected(name)]
    if not in_order:

        def place(row: dict[str, Any]) -> str:
            return repr([repr(row[each]) for each in sorted(names)])

        found = comparable(found)
        found = pa.Table.from_pylist(sorted(found.to_pylist(), key=place), found.schema)
        wanted = sorted(wanted, key=place)
    assert_equal(comparable(found), wanted)


def query_of(name: str, **more: Any) -> sash.Query:
    return sash.Query({**AGGREGATES, **more}, WINDOWS[name], by="k", time="t")


def run_stream(query: sash.Query, table: pa.Table, **options: Any) -> pa.Table:
    return query.run(batches_of(table, 200), **options).read_all()


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
@pytest.mark.parametrize("name", WINDOWS)
def test_a_table(name: str, unit: str) -> None:
    check(name, query_of(name, **HOLISTIC).run(table_in(unit, keys_for(WINDOWS[name]))))


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
@pytest.mark.parametrize("name", [name for name, one in WINDOWS.items() if not one.emits_empty])
def test_a_stream(name: str, unit: str) -> None:
    check(name, run_stream(query_of(name), table_in(unit, keys_for(WINDOWS[name]))), in_order=False)


@pytest.mark.parametrize("name", WINDOWS)
def test_interpreted(name: str) -> None:
    check(name, query_of(name, **HOLISTIC).run(table_in("ns", keys_for(WINDOWS[name])), compiled=False))


@pytest.mark.parametrize("name", WINDOWS)
@pytest.mark.parametrize("to_frame", [pa.Table.to_pandas, pl.from_arrow], ids=["pandas", "polars"])
def test_frames(name: str, to_frame: Callable[[pa.Table], Any]) -> None:
    table = table_in("ns", keys_for(WINDOWS[name]))
    query = query_of(name)
    found = query.run(to_frame(table))
    arrow = pa.Table.from_pandas(found, preserve_index=False) if isinstance(found, pd.DataFrame) else found.to_arrow()
    kinds = query.schema(table)  # pandas has floats in place of integers with nulls
    check(name, arrow.cast(pa.schema([kinds.field(each) for each in arrow.column_names])))


@pytest.mark.parametrize("name", ["time", "cumulative", "session", "both"])
def test_compiled(name: str) -> None:
    query = sash.Query({"rows": agg.count()}, WINDOWS[name], by="k", time="t")
    check(name, query.run(table_in("ns", 24), compiled=True))


def test_a_week_each_day_over_two_years_of_pandas() -> None:
    chooser = np.random.default_rng(0)
    days = np.sort(chooser.integers(0, 2 * 365 * 86_400, 20_000))
    frame = pd.DataFrame(
        {
            "k": chooser.integers(0, 60, len(days)),
            "ts": (pd.Timestamp(2024, 1, 1) + pd.to_timedelta(days, unit="s")).astype("datetime64[ns]"),
            "x": chooser.integers(0, 100, len(days)),
        }
    )
    query = sash.Query({"s": agg.sum("x")}, window.time("7d", slide="1d"), by="k", time="ts")
    found = query.run(frame)
    coarse = query.run(frame.astype({"ts": "datetime64[s]"}))
    assert found["window_start"].dtype == "datetime64[ns]"
    pd.testing.assert_frame_equal(found, coarse, check_dtype=False)
    last = found.iloc[-1]
    held = (frame.k == last.k) & (frame.ts >= last.window_start) & (frame.ts < last.window_end)
    assert last.s == frame.x[held].sum()
    assert len(found) == sum(
        len(np.unique((own.to_numpy()[:, None] + np.arange(7)).ravel()))
        for _, own in frame.ts.astype("datetime64[s]").astype(np.int64).floordiv(86_400).groupby(frame.k)
    )


@pytest.mark.parametrize("name", [name for name, one in examples().items() if not one.clock.by_calendar])
def test_integers_near_the_limits_of_64_bits(name: str) -> None:
    scale = 2**54
    chooser = Random(name)
    one = examples(lambda ticks: ticks * scale)[name]
    rows = [
        {"t": scale * chooser.randrange(-80, 120) // 2, "k": chooser.randrange(6), "x": place % 7, "v": place % 5, "mark": place % 4 == 0}
        for place in range(60)
    ]  # fmt: skip
    rows.sort(key=lambda row: row["t"])
    table = pa.Table.from_pylist(rows, pa.schema({**FIELDS, "t": pa.int64()}))
    query = sash.Query(AGGREGATES, one, by="k", time="t")
    wanted = recompute_query(rows, AGGREGATES, one, by=("k",), time="t")
    for compiled in (None, False):
        assert_equal(query.run(table, compiled=compiled), wanted)
