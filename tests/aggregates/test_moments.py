"""Moments of floats: large offsets, huge values, NaN and infinity."""

from __future__ import annotations

import math
import random
import statistics
import sys
from collections.abc import Callable

import pytest
from helpers.references import INF, NAN, from_halves, from_left, kurtosis_of, skewness_of

import sash.aggregates as agg
from sash.aggregates import BUILT_IN


@pytest.mark.parametrize("offset", [1e9, -1e9])
@pytest.mark.parametrize("fold", [from_left, from_halves])
def test_a_large_offset_does_not_spoil_moments(offset: float, fold: Callable[..., float]) -> None:
    source = random.Random(1)
    values = [offset + source.random() for _ in range(1000)]
    assert fold(agg.variance(), values) == pytest.approx(statistics.variance(values), rel=1e-6)
    assert fold(agg.stddev(), values) == pytest.approx(statistics.stdev(values), rel=1e-6)
    assert fold(agg.skewness(), values) == pytest.approx(skewness_of(values), rel=1e-4, abs=1e-4)
    assert fold(agg.kurtosis(), values) == pytest.approx(kurtosis_of(values), rel=1e-4)
    pairs = [(value, 3 * value) for value in values]
    assert fold(agg.correlation(), pairs) == pytest.approx(1.0, rel=1e-3)


@pytest.mark.parametrize("name", ["sum", "mean", "variance", "stddev", "covariance"])
def test_one_huge_value_is_taken_into_account(name: str) -> None:
    values = [1.0, 2.0, 1e90, 3.0]
    rows = [(value, value) for value in values] if name == "covariance" else values
    expected = {"sum": 1e90, "mean": 2.5e89, "stddev": 5e89}.get(name, 2.5e179)
    assert from_left(BUILT_IN[name]().of_kind("float"), rows) == pytest.approx(expected)


def test_geometric_mean_does_not_overflow() -> None:
    assert from_left(agg.geometric_mean(), [1e300] * 10_000) == pytest.approx(1e300, rel=1e-9)
    assert from_left(agg.geometric_mean(), [1e-300] * 10_000) == pytest.approx(1e-300, rel=1e-9)
    largest = sys.float_info.max
    assert math.isfinite(from_left(agg.geometric_mean(), [largest] * 1000))
    assert from_left(agg.geometric_mean(), [2.0, INF]) == INF


@pytest.mark.parametrize("poison", [NAN, INF, -INF])
@pytest.mark.parametrize("place", [0, 1, 4])
@pytest.mark.parametrize(
    "name", ["variance", "var_pop", "stddev", "stddev_pop", "skewness", "kurtosis", "covariance", "correlation"]
)
def test_nan_and_infinity_poison_moments_wherever_they_are(name: str, place: int, poison: float) -> None:
    values = [1.0, 2.0, 4.0, 8.0]
    values.insert(place, poison)
    aggregate = BUILT_IN[name]()
    rows = [(1.0, value) for value in values] if aggregate.inputs == 2 else values
    assert math.isnan(from_left(aggregate, rows))
    assert math.isnan(from_halves(aggregate, rows))
