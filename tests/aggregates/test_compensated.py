"""Sums and means of floats: a few ulps from the exact result, and infinities and NaN as plain additions give them."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from helpers.pairwise import some
from hypothesis import given
from hypothesis import strategies as st

import sash
from sash import agg, window
from sash.aggregates.base import Aggregate
from sash.aggregates.compensated import ZERO, add_compensated, lift_float, subtract_compensated, total_of

ULPS = 4
ROWS = 200_000
WINDOWS = {
    "all": window.tumbling(ROWS),
    "slices": window.time(2_000, slide=500),
    "rows": window.rows(1_000),
    "times": window.time(1_000),
}


def exact_sum(x: list[float], _: list[float]) -> Fraction:
    return sum(map(Fraction, x), Fraction(0))


def exact_mean(x: list[float], w: list[float]) -> Fraction:
    return exact_sum(x, w) / len(x)


def exact_squares(x: list[float], _: list[float]) -> Fraction:
    return sum((Fraction(value) ** 2 for value in x), Fraction(0))


def exact_weighted(x: list[float], w: list[float]) -> Fraction:
    return sum((Fraction(a) * Fraction(b) for a, b in zip(x, w, strict=True)), Fraction(0)) / exact_sum(w, w)


CASES: dict[str, tuple[Aggregate[Any], Any]] = {
    "sum": (agg.sum("x"), exact_sum),
    "mean": (agg.mean("x"), exact_mean),
    "sum_of_squares": (agg.sum_of_squares("x"), exact_squares),
    "weighted_mean": (agg.weighted_mean("x", "w"), exact_weighted),
}


def few_ulps(result: float, exact: Fraction) -> bool:
    return abs(Fraction(result) - exact) <= ULPS * Fraction(math.ulp(float(exact)))


def table(x: Any, w: Any | None = None) -> pa.Table:
    return pa.table({"t": np.arange(len(x)), "x": pa.array(x, pa.float64()), "w": x if w is None else w})


@pytest.mark.parametrize("compiled", [True, False])
def test_a_long_sum_is_rounded_once(compiled: bool) -> None:
    rows = table([0.1] * ROWS)
    query = sash.Query({"sum": agg.sum("x"), "mean": agg.mean("x")}, window.tumbling(ROWS), time="t")
    [result] = query.run(rows, compiled=compiled).to_pylist()
    assert (result["sum"], result["mean"]) == (20000.0, 0.1)


@pytest.mark.parametrize(("name", "shape"), some(product(CASES, WINDOWS), 3))
def test_windows_are_a_few_ulps_from_the_exact_result(name: str, shape: str) -> None:
    random = np.random.default_rng(3)
    rows = table(random.lognormal(0, 3, ROWS), random.random(ROWS))
    x, w = rows["x"].to_pylist(), rows["w"].to_pylist()
    aggregate, exact = CASES[name]
    result = sash.Query({"r": aggregate}, WINDOWS[shape], time="t").run(rows)
    columns = result.to_pydict()
    for number in random.integers(0, len(result), 20) if len(result) > 20 else range(len(result)):
        if WINDOWS[shape].per_row:
            begin, end = max(0, number - 999), number + 1
        else:
            begin, end = max(0, columns["window_start"][number]), min(ROWS, columns["window_end"][number])
        assert few_ulps(columns["r"][number], exact(x[begin:end], w[begin:end]))


def test_a_large_value_that_cancels_leaves_the_small_ones() -> None:
    rows = table([1.0, 1e100, 1.0, -1e100])
    query = sash.Query({"r": agg.sum("x")}, window.rows(4))
    assert query.run(rows)["r"].to_pylist() == [1.0, 1e100, 1e100, 2.0]


@pytest.mark.parametrize("compiled", [True, False])
def test_infinities_and_nan_are_as_in_plain_additions(compiled: bool) -> None:
    inf, nan = math.inf, math.nan
    rows = table([1.0, inf, 2.0, -inf, 3.0, nan, 4.0, 1.7e308, 1.7e308, 0.0, -1.7e308, 1.0])
    expected = [1.0, inf, inf, nan, -inf, nan, nan, nan, inf, inf, 0.0, -1.7e308]
    for name in ("sum", "mean"):
        query = sash.Query({"sum": agg.sum("x"), "mean": agg.mean("x")}, window.rows(3))
        results = query.run(rows, compiled=compiled)[name].to_pylist()
        for number, (result, plain) in enumerate(zip(results, expected, strict=True)):
            wanted = plain / min(3, number + 1) if name == "mean" else plain
            assert result == wanted or (math.isnan(result) and math.isnan(wanted)), (number, results)


def test_one_negative_zero_stays_negative() -> None:
    assert math.copysign(1.0, total_of(lift_float(-0.0))) == -1.0


FLOATS = st.floats(-1e100, 1e100)


@given(st.lists(FLOATS, min_size=1, max_size=30), st.integers(0, 30))
def test_any_bracketing_gives_the_same_to_a_few_ulps_of_the_largest(values: list[float], cut: int) -> None:
    def combined(part: list[float]) -> Any:
        total = ZERO
        for value in part:
            total = add_compensated(total, lift_float(value))
        return total

    total = total_of(add_compensated(combined(values[:cut]), combined(values[cut:])))
    exact = sum(map(Fraction, values), Fraction(0))
    lost = Fraction(math.ulp(float(exact))) + 2**-100 * sum(map(abs, map(Fraction, values)))
    assert abs(Fraction(total) - exact) <= lost


@given(FLOATS, FLOATS)
def test_combine_commutes_and_can_be_undone(one: float, other: float) -> None:
    both = add_compensated(lift_float(one), lift_float(other))
    assert both == add_compensated(lift_float(other), lift_float(one))
    assert total_of(subtract_compensated(both, lift_float(one))) == other


def test_an_aggregator_of_single_rows_is_compensated_too() -> None:
    aggregator = sash.Aggregator(agg.sum("x"))
    for _ in range(20_000):
        aggregator.insert(0.1)
    assert aggregator.query() == 2000.0


def test_a_mean_beside_a_deviation_is_as_accurate() -> None:
    random = np.random.default_rng(5)
    x = random.normal(100, 30, ROWS)
    query = sash.Query({"mean": agg.mean("x"), "sd": agg.stddev("x")}, window.tumbling(ROWS), time="t")
    [result] = query.run(table(x)).to_pylist()
    exact = float(sum(map(Fraction, x.tolist()), Fraction(0)) / ROWS)
    assert few_ulps(result["mean"], Fraction(exact))
