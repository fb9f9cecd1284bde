"""Exponentially weighted aggregates against NumPy and pandas, on every engine of this process."""

from __future__ import annotations

import math
import pickle
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from decimal import Context, Decimal, localcontext
from operator import mul
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from helpers.cases import SOAK
from helpers.pairwise import FULL
from hypothesis import given, settings
from hypothesis import strategies as st

import sash
from sash import agg, window
from sash.aggregates.base import Aggregate
from sash.aggregates.exponential import power_of_two
from sash.engine.executors.bind import bind
from sash.engine.prepare import prepare
from sash.engine.run_table import TableRun
from sash.testing import check_laws, recompute_query

YEAR = 365 * 86_400 * 1_000_000
START = 1_600_000_000_000_000
RATIOS = ("ewm_mean", "ewm_variance", "ewm_stddev")
SUMS = ("ewm_sum", "ewm_count")
quarters = st.integers(-400, 400).map(lambda number: number / 4)
gaps = st.sampled_from([0, 1, 1_000_000, 3_600_000_000, YEAR]) | st.integers(0, 10_000_000_000)
"""Microseconds between rows: ties, seconds, hours, years."""


def weighted(name: str, values: Sequence[float], w: Sequence[Decimal]) -> float | None:
    """The aggregate by its definition, in decimals of 40 digits, whose exponents have no limit."""
    x = [Decimal(value) for value in values]
    if name == "ewm_count":
        return float(sum(w))
    if not x or (len(x) < 2 and name in ("ewm_variance", "ewm_stddev")):
        return None
    total = sum(map(mul, w, x))
    if name == "ewm_sum":
        return float(total)
    mean = total / sum(w)
    if name == "ewm_mean":
        return float(mean)
    pairs = sum(2 * w[one] * sum(w[:one]) for one in range(1, len(w)))
    spread = sum(weight * (value - mean) ** 2 for weight, value in zip(w, x, strict=True))
    variance = float(spread * sum(w) / pairs) if pairs else math.nan
    return variance if name == "ewm_variance" else math.sqrt(variance)


@pytest.fixture(autouse=True)
def forty_digits() -> Iterator[None]:
    with localcontext(Context(prec=40, Emin=-999_999, Emax=999_999)):
        yield


def rows_of(gaps: Sequence[int], values: Sequence[float | None]) -> pa.Table:
    times = START + np.cumsum(gaps)
    return pa.table({"ts": pa.array(times).cast(pa.timestamp("us")), "x": pa.array(values, pa.float64())})


def ticks(table: pa.Table) -> list[int]:
    found: list[int] = table["ts"].cast(pa.int64()).to_pylist()
    return found


def with_numpy(query: sash.Query, table: pa.Table) -> pa.Table:
    """Return the results of a query that is evaluated with NumPy; those of rows without the rows."""
    prepared = bind(prepare(query._declared, table.schema), compiles=False)
    assert not prepared.interpreted
    return TableRun(prepared, 1).run(table)


def run(query: sash.Query, table: pa.Table, how: str) -> list[Any]:
    """Return the results of a query that is evaluated with NumPy or interpreted, or of a stream."""
    if how == "numpy":
        made = with_numpy(query, table)
    elif how == "stream":
        made = query.run(table.to_reader(max_chunksize=3)).read_all()
    else:
        made = query.run(table)
    found: list[Any] = made["r"].to_pylist()
    return found


def close(found: list[Any], expected: list[Any], scale: float = 1.0) -> None:
    for one, other in zip(found, expected, strict=True):
        assert (one is None) == (other is None), f"{found} instead of {expected}"
        assert one is None or one == pytest.approx(other, rel=1e-9, abs=1e-9 * scale, nan_ok=True)


EWMS: list[Any] = [getattr(agg, name) for name in (*SUMS, *RATIOS)]
HOWS = ("numpy", "interpreted", "stream")
tables = st.lists(st.tuples(gaps, quarters | st.none()), min_size=1, max_size=12)


@pytest.mark.parametrize("how", HOWS)
@pytest.mark.parametrize("name", [*SUMS, *RATIOS])
@settings(max_examples=10, deadline=None)
@given(rows=tables, length=st.integers(1, 6))
def test_a_half_life_over_rows_is_its_definition(
    name: str, how: str, rows: list[tuple[int, float | None]], length: int
) -> None:
    table = rows_of(*zip(*rows, strict=True))
    half_life = 3_600_000_000
    times, values = ticks(table), table["x"].to_pylist()
    expected = []
    for row, now in enumerate(times):
        held = [number for number in range(max(0, row + 1 - length), row + 1) if values[number] is not None]
        newest = max((times[number] for number in held), default=now)
        last = now if name in SUMS else newest  # a ratio does not depend on the unit of weight
        ages = [Decimal(last - times[number]) / half_life for number in held]
        weights = [Decimal(2) ** -age if age < 512 else Decimal(0) for age in ages]
        expected.append(weighted(name, [values[number] for number in held], weights))
    query = sash.Query({"r": getattr(agg, name)("x", half_life="1h")}, window.rows(length), time="ts")
    close(run(query, table, how), expected)


@pytest.mark.parametrize("how", HOWS)
@pytest.mark.parametrize("name", [*SUMS, *RATIOS])
@settings(max_examples=10, deadline=None)
@given(rows=tables, length=st.integers(1, 6), alpha=st.sampled_from([0.001, 0.1, 0.5, 0.9, 1.0]))
def test_alpha_over_rows_is_its_definition(
    name: str, how: str, rows: list[tuple[int, float | None]], length: int, alpha: float
) -> None:
    values = [value for _, value in rows]
    expected = []
    for row in range(len(values)):
        held = [value for value in values[max(0, row + 1 - length) : row + 1] if value is not None]
        weights = [(1 - Decimal(alpha)) ** age if age else Decimal(1) for age in range(len(held))][::-1]
        expected.append(weighted(name, held, weights))
    query = sash.Query({"r": getattr(agg, name)("x", alpha=alpha)}, window.rows(length))
    close(run(query, pa.table({"x": pa.array(values, pa.float64())}), how), expected)


@pytest.mark.parametrize("name", RATIOS)
@settings(max_examples=25, deadline=None)
@given(values=st.lists(quarters | st.none(), min_size=1, max_size=30), alpha=st.sampled_from([0.01, 0.3, 1.0]))
def test_alpha_over_all_rows_is_that_of_pandas(name: str, values: list[float | None], alpha: float) -> None:
    theirs = pd.Series(values, dtype=float).ewm(alpha=alpha, adjust=True, ignore_na=True)
    expected = {"ewm_mean": theirs.mean, "ewm_variance": theirs.var, "ewm_stddev": theirs.std}[name]()
    query = sash.Query({"r": getattr(agg, name)("x", alpha=alpha)}, window.rows(1000))
    found = query.run(pa.table({"x": pa.array(values, pa.float64())}))["r"].to_pandas()
    np.testing.assert_allclose(found, expected, rtol=1e-7, atol=1e-9)


@settings(max_examples=25, deadline=None)
@given(rows=st.lists(st.tuples(gaps, quarters), min_size=1, max_size=30))
def test_a_half_life_over_all_rows_is_that_of_pandas(rows: list[tuple[int, float]]) -> None:
    table = rows_of(*zip(*rows, strict=True))
    frame = table.to_pandas()
    expected = frame["x"].ewm(halflife="1h", times=frame["ts"], adjust=True, ignore_na=True).mean()
    query = sash.Query({"r": agg.ewm_mean("x", half_life="1h")}, window.rows(1000), time="ts")
    np.testing.assert_allclose(query.run(table)["r"].to_numpy(), expected, rtol=1e-9, atol=1e-9)


WINDOWS: dict[str, Any] = {
    "rows": window.rows(4),
    "time": window.time("2h"),
    "left": window.time("2h", closed="left"),
    "neither": window.time("2h", closed="neither"),
    "hopping": window.time("3h", slide="1h"),
    "tumbling": window.tumbling("1h"),
    "session": window.session("30m"),
    "counted": window.rows(4, slide=3),
    "marked": window.punctuated("mark"),
    "cumulative": window.cumulative("6h", step="2h"),
}


def many_rows(count: int, seed: int = 3) -> pa.Table:
    chooser = np.random.default_rng(seed)
    times = START + np.cumsum(chooser.integers(0, 2_000_000_000, count))
    values = pa.array(chooser.normal(size=count), mask=chooser.random(count) < 0.2)
    return pa.table(
        {
            "ts": pa.array(times).cast(pa.timestamp("us")),
            "key": chooser.integers(0, 3, count),
            "x": values,
            "mark": chooser.random(count) < 0.2,
        }
    )


ALL: dict[str, Aggregate[Any]] = {
    **{one.__name__: one("x", half_life="45m") for one in EWMS},
    **{f"{one.__name__}_by_rows": one("x", alpha=0.2) for one in EWMS},
    "rows_in_time": agg.ewm_count(half_life="45m"),
    "rows_in_rows": agg.ewm_count(alpha=0.2),
    "slope": agg.slope("x"),
    "intercept": agg.intercept("x"),
    "r_squared": agg.r_squared("x"),
}


def assert_alike(found: list[dict[str, Any]], expected: list[dict[str, Any]]) -> None:
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        for name in ALL.keys() & one.keys():
            mine, theirs = one[name], other[name]
            assert (mine is None) == (theirs is None), f"{name}: {mine} instead of {theirs}"
            if mine is not None:
                assert mine == pytest.approx(theirs, rel=1e-6, abs=1e-9), name


def sort(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(rows, key=lambda row: (row["key"], row.get("window_end", row.get("ts")), row.get("window_start", 0)))


@pytest.mark.parametrize("kind", WINDOWS)
def test_every_window_and_engine_is_the_oracle(kind: str) -> None:
    table = many_rows(120)
    query = sash.Query(ALL, WINDOWS[kind], by="key", time="ts")
    expected = sort(recompute_query(table.to_pylist(), ALL, WINDOWS[kind], by=["key"], time="ts"))
    assert_alike(sort(query.run(table).to_pylist()), expected)
    assert_alike(sort(query.run(table.to_reader(max_chunksize=30)).read_all().to_pylist()), expected)
    quick = with_numpy(query, table)
    if WINDOWS[kind].per_row:
        quick = pa.table([*table.columns, *quick.columns], [*table.column_names, *quick.column_names])
    assert_alike(sort(quick.to_pylist()), expected)


COMPILED = (
    ALL
    if SOAK
    else {name: ALL[name] for name in ("ewm_sum", "ewm_stddev", "ewm_mean_by_rows", "rows_in_time", "slope")}
)
"""All of them take a minute to compile."""


@pytest.mark.full
@pytest.mark.parametrize("kind", ["rows", "hopping"])
def test_compiled_is_the_oracle(kind: str) -> None:
    table = many_rows(60)
    query = sash.Query(COMPILED, WINDOWS[kind], by="key", time="ts")
    expected = sort(recompute_query(table.to_pylist(), COMPILED, WINDOWS[kind], by=["key"], time="ts"))
    assert "interpreted" not in str(query.explain(table, compiled=True if FULL else None))
    assert_alike(sort(query.run(table, compiled=True).to_pylist()), expected)
    assert_alike(sort(query.run(table.to_reader(max_chunksize=7), compiled=True).read_all().to_pylist()), expected)


def test_late_rows_count_where_they_belong() -> None:
    table = many_rows(200)
    places = np.argsort(np.arange(200) + np.random.default_rng(1).normal(scale=3, size=200))
    shuffled = table.take(pa.array(places))
    query = sash.Query(ALL, window.time("3h", slide="1h"), by="key", time="ts", lateness="12h")
    stream = query.run(shuffled.to_reader(max_chunksize=9), compiled=FULL or None).read_all()
    assert_alike(sort(stream.to_pylist()), sort(query.run(table).to_pylist()))


@pytest.mark.parametrize("kind", [pa.int64(), pa.date32(), pa.date64(), pa.timestamp("ns"), pa.timestamp("ms", "UTC")])
def test_the_half_life_is_converted_to_the_unit_of_the_time_column(kind: pa.DataType) -> None:
    days = pa.array([0, 2, 3], pa.int32())
    times = days.cast(pa.int64()) if kind == pa.int64() else days.view(pa.date32()).cast(kind)
    half_life: Any = 1 if kind == pa.int64() else "1d"
    query = sash.Query({"r": agg.ewm_sum("x", half_life=half_life)}, window.rows(9), time="t")
    table = pa.table({"t": times, "x": [8.0, 1.0, 1.0]})
    for how in HOWS:
        assert run(query, table, how) == [8.0, 3.0, 2.5]


def test_a_sum_decays_while_there_are_no_values() -> None:
    table = pa.table({"t": [0, 10, 20], "x": [4.0, None, None]})
    query = sash.Query(
        {"r": agg.ewm_sum("x", half_life=10), "n": agg.ewm_count("x", half_life=10)}, window.rows(2), time="t"
    )
    found = with_numpy(query, table)
    assert found["r"].to_pylist() == [4.0, 2.0, None]
    assert found["n"].to_pylist() == [1.0, 0.5, 0.0]


def test_years_of_data_do_not_overflow() -> None:
    times = START + np.arange(0, 50 * YEAR, YEAR // 4)
    table = pa.table({"ts": pa.array(times).cast(pa.timestamp("us")), "x": np.arange(len(times), dtype=float)})
    aggregates = {one.__name__: one("x", half_life="1s") for one in EWMS}
    query = sash.Query(aggregates, window.rows(1000), time="ts")
    for found in (with_numpy(query, table), query.run(table)):
        last = {"x": len(times) - 1, **found.to_pylist()[-1]}
        assert last["ewm_mean"] == last["ewm_sum"] == last["x"]
        assert last["ewm_count"] == 1.0
        assert math.isnan(last["ewm_variance"])  # no other value has a weight


def test_a_constant_column_has_its_mean_and_no_variance() -> None:
    table = many_rows(50).append_column("c", pa.array([0.1] * 50))
    made: dict[str, Aggregate[Any]] = {
        "m": agg.ewm_mean("c", half_life="1h"),
        "v": agg.ewm_variance("c", half_life="1h"),
    }
    found = with_numpy(sash.Query(made, window.rows(9), time="ts"), table)
    assert set(found["m"].to_pylist()) == {0.1}
    assert set(found["v"].to_pylist()) == {None, 0.0}


@pytest.mark.parametrize("odd", [math.nan, math.inf, -math.inf])
def test_nan_and_infinity_make_nan(odd: float) -> None:
    rows = pa.table({"t": [1, 2, 3], "x": [1.0, odd, 2.0]})
    aggregates = {one.__name__: one("x", half_life=5) for one in EWMS if one is not agg.ewm_count}
    query = sash.Query(aggregates, window.rows(3), time="t")
    for found in (with_numpy(query, rows), query.run(rows)):
        assert all(math.isnan(found.to_pylist()[-1][name]) for name in aggregates)


def test_counts_of_any_type() -> None:
    rows = pa.table({"t": [1, 2, 3], "x": ["a", None, "b"]})
    query = sash.Query({"r": agg.ewm_count("x", half_life=1)}, window.rows(3), time="t")
    assert query.run(rows)["r"].to_pylist() == [1.0, 0.5, 1.25]


@given(rows=st.lists(st.tuples(quarters, st.integers(-50, 50)), min_size=1, max_size=4))
@pytest.mark.parametrize("make", EWMS)
def test_laws_of_half_lives(make: Any, rows: list[tuple[float, int]]) -> None:
    check_laws(make("x", half_life=8), rows)


@given(x=st.floats(-0.5, 0.5))
def test_the_polynomial_is_a_power_of_two(x: float) -> None:
    assert power_of_two(x) == pytest.approx(2.0**x, rel=4e-16, abs=0)


@pytest.mark.parametrize(
    ("mistake", "error", "sentence"),
    [
        (lambda: agg.ewm_mean("x"), TypeError, "needs half_life or alpha"),
        (lambda: agg.ewm_mean("x", half_life="1h", alpha=0.5), TypeError, "cannot have both half_life and alpha"),
        (lambda: agg.ewm_sum("x", alpha=0), ValueError, "alpha must be more than 0"),
        (lambda: agg.ewm_sum("x", alpha=1.5), ValueError, "at most 1"),
        (lambda: agg.ewm_sum("x", alpha="a"), TypeError, "alpha must be a number"),  # type: ignore[arg-type]
        (lambda: agg.ewm_sum("x", half_life="soon"), ValueError, "half_life='soon' is not a duration"),
        (lambda: agg.ewm_sum("x", half_life=0), ValueError, "must be more than 0"),
        (lambda: sash.Query(agg.ewm_sum("x", half_life=1), window.rows(2)), ValueError, "needs a time column"),
        (lambda: sash.Query(agg.slope("x"), window.rows(2)), ValueError, 'slope\\("x"\\) needs a time column'),
    ],
)
def test_mistakes(mistake: Any, error: type[Exception], sentence: str) -> None:
    with pytest.raises(error, match=sentence):
        mistake()


def test_a_half_life_must_fit_the_time_column() -> None:
    rows = pa.table({"t": [1, 2], "ts": pa.array([1, 2], pa.timestamp("s")), "x": [1.0, 2.0]})
    with pytest.raises(ValueError, match="1h is a duration, but column 't' holds integers"):
        sash.Query(agg.ewm_sum("x", half_life="1h"), window.rows(2), time="t").run(rows)
    with pytest.raises(ValueError, match="3 has no unit, but column 'ts' holds times"):
        sash.Query(agg.ewm_sum("x", half_life=3), window.rows(2), time="ts").run(rows)


def test_it_is_shown_as_it_was_written_and_pickled() -> None:
    assert repr(agg.ewm_mean("x", half_life="1h")) == 'ewm_mean("x", half_life="1h")'
    assert repr(agg.ewm_mean("x", half_life=timedelta(minutes=90))) == 'ewm_mean("x", half_life="1h30m")'
    assert repr(agg.ewm_count(alpha=0.5)) == "ewm_count(alpha=0.5)"
    query = sash.Query(ALL, window.rows(3), time="ts")
    again = pickle.loads(pickle.dumps(query))  # noqa: S301 — its own bytes
    assert repr(again) == repr(query)
    table = many_rows(20)
    assert with_numpy(again, table).equals(with_numpy(query, table))


def test_variance_and_deviation_share_a_partial_and_the_time_itself_is_another_column() -> None:
    aggregates: dict[str, Aggregate[Any]] = {
        "v": agg.ewm_variance("x", half_life="1h"), "s": agg.ewm_stddev("x", half_life="1h"), "at": agg.arg_max("x", "ts"),
    }  # fmt: skip
    table = many_rows(10)
    query = sash.Query(aggregates, window.rows(3), time="ts")
    assert "s is read from the partial of v" in str(query.explain(table))
    assert isinstance(with_numpy(query, table)["at"].to_pylist()[-1], datetime)


def test_an_aggregator_takes_the_time_as_a_second_value() -> None:
    one = sash.Aggregator(agg.ewm_sum(half_life=10))
    for value, time in ((4.0, 0), (2.0, 10)):
        one.insert(value, time)
    assert one.query() == 4.0


@pytest.mark.parametrize("compiled", [None, False])
@pytest.mark.parametrize(
    ("values", "expected"), [([1.0, 1.0, 1.0], [1.5, 1.75, 1.5]), ([1.0, 1.0, None], [1.5, 1.5, 0.5])]
)
def test_a_frame_that_looks_ahead_decays_to_the_later_of_the_row_and_the_newest_value(
    values: list[float | None], expected: list[float], compiled: bool | None
) -> None:
    rows = pa.table({"t": [0, 10, 20], "x": values})
    frame = window.rows(before=1, after=1)
    query = sash.Query({"s": agg.ewm_sum("x", half_life=10)}, frame, time="t")
    assert query.run(rows, compiled=compiled)["s"].to_pylist() == expected
