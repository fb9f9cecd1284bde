"""Every window over decades of rows, in every unit of time, with and without a time zone, on every executor, as Arrow, pandas and Polars
≡ the oracle. The same as a stream, and for windows that share a query ≡ each alone.

Nanoseconds are the default of pandas. All windows of all keys, one after the other, then last longer than 64 bits can count.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import cache
from random import Random
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from helpers.pairwise import in_turn, matrix, some
from helpers.queries import EXECUTORS, FORMS, PATHS, Named, assert_equal, in_microseconds, in_unit, run_as
from helpers.streams import batches_of
from helpers.windows import examples, seconds

import sash
from sash import agg, window
from sash.testing import recompute_query
from sash.testing.naive_windows import in_utc
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
def table_in(unit: str, zone: str | None, keys: int) -> pa.Table:
    return in_unit(pa.Table.from_pylist(rows_of(keys), pa.schema(FIELDS)), unit, zone)


def keys_for(one: Window) -> int:
    """Windows of the calendar count days and months, which never need 64 bits; but there are many."""
    return 1 if one.clock.by_calendar else 24


@cache
def expected(name: str, zone: str | None) -> list[dict[str, Any]]:
    one = WINDOWS[name]
    rows = table_in("us", zone, keys_for(one)).to_pylist()
    return recompute_query(rows, {**AGGREGATES, **HOLISTIC}, one, by=("k",), time="t")


def check(name: str, zone: str | None, found: pa.Table, *, in_order: bool = True) -> None:
    """Compare results with those of the oracle, of the aggregates that they have; those of a stream in any order."""
    names = found.column_names
    found = in_microseconds(found)
    wanted = [{each: row[each] for each in names} for row in expected(name, zone)]
    if not in_order:

        def place(row: dict[str, Any]) -> str:
            return repr([repr(in_utc(row[each])) for each in sorted(names)])

        found = pa.Table.from_pylist(sorted(found.to_pylist(), key=place), found.schema)
        wanted = sorted(wanted, key=place)
    assert_equal(found, wanted)


def query_of(name: str, executor: str) -> sash.Query:
    """Medians and lists beside the rest, but not compiled: their trees take long to compile."""
    more = {} if executor == "compiled" else HOLISTIC
    return sash.Query({**AGGREGATES, **more}, WINDOWS[name], by="k", time="t")


COMPILED = some(WINDOWS, 8)
"""Kernels take long to compile, and test_windows.py compiles others."""


def is_valid(name: str, _: str, zone: str | None, executor: str, *__: str) -> bool:
    """Windows with a time zone of their own need times with one."""
    has_zone = zone is not None or WINDOWS[name].clock.zone in (None, "", "UTC")
    return has_zone and (executor != "compiled" or name in COMPILED)


@pytest.mark.parametrize(("name", "unit", "zone", "executor", "form"), in_turn(WINDOWS, *PATHS, FORMS, valid=is_valid))
def test_a_table(name: str, unit: str, zone: str | None, executor: str, form: str) -> None:
    table = table_in(unit, zone, keys_for(WINDOWS[name]))
    query = query_of(name, executor)
    if form == "pandas":  # whose lists are objects
        query = sash.Query({**AGGREGATES, "middle": HOLISTIC["middle"]}, WINDOWS[name], by="k", time="t")
    check(name, zone, run_as(query, table, form, compiled=EXECUTORS[executor]))


@pytest.mark.parametrize(
    ("name", "unit", "zone", "executor"),
    in_turn([name for name, one in WINDOWS.items() if not one.emits_empty], *PATHS, valid=is_valid),
)
def test_a_stream(name: str, unit: str, zone: str | None, executor: str) -> None:
    query = sash.Query(AGGREGATES, WINDOWS[name], by="k", time="t")
    stream = query.run(batches_of(table_in(unit, zone, keys_for(WINDOWS[name])), 200), compiled=EXECUTORS[executor])
    check(name, zone, stream.read_all(), in_order=False)


@pytest.mark.parametrize("name", some(WINDOWS, 5))
def test_pandas_as_users_have_it(name: str) -> None:
    query = sash.Query(AGGREGATES, WINDOWS[name], by="k", time="t")
    check(name, "UTC", run_as(query, table_in("ns", "UTC", keys_for(WINDOWS[name])), "pandas"))


TOGETHER = {
    "periods": ["time", "time_right", "cumulative"],
    "windows": ["time_apart", "session", "rows", "month"],
    "frames": ["last_rows", "right", "centred", "last_month"],
}
"""Windows of one query, by name."""


@pytest.mark.parametrize(("group", "unit", "zone", "executor", "form"), matrix(TOGETHER, *PATHS, FORMS))
def test_windows_that_share_equal_each_alone(group: str, unit: str, zone: str | None, executor: str, form: str) -> None:
    table = table_in(unit, zone, 1)
    windows = {name: WINDOWS[name] for name in TOGETHER[group]}
    query = sash.Query(AGGREGATES, windows, by="k", time="t")
    found = run_as(query, table, form, compiled=EXECUTORS[executor])
    for name, one in windows.items():
        alone = sash.Query(AGGREGATES, one, by="k", time="t").run(table)
        if one.per_row:
            part = found.rename_columns([each.removesuffix(f"_{name}") for each in found.column_names])
        else:
            part = found.filter(pc.equal(found["window"].cast(pa.string()), name))
        assert part.select(alone.column_names).cast(alone.schema).equals(alone)


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
