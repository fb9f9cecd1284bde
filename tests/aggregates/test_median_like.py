"""Order statistics: values of every type, interpolation, and sorted values as partials."""

from __future__ import annotations

import math
import sys
from datetime import date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from helpers.references import INF, NAN, REFERENCES, agrees, build, from_left, quarters
from hypothesis import given
from hypothesis import strategies as st

import sash
import sash.aggregates as agg
from sash.aggregates.median_like import SortedValues, integer_between


@pytest.mark.parametrize(
    "values",
    [
        ["bee", "ant", "cat", "ant"],
        [date(2026, 1, day) for day in (3, 1, 9, 1)],
        [Decimal(text) for text in ("3.5", "-1", "9", "-1")],
        [Decimal("3.5"), Decimal("NaN"), Decimal(9), Decimal("NaN")],
    ],
    ids=["strings", "dates", "decimals", "decimal NaN"],
)
@pytest.mark.parametrize(
    "name", ["max", "min", "max_count", "min_count", "arg_max", "arg_min", "top_k", "bottom_k", "nth_smallest"]
)
def test_orders_whatever_can_be_compared(name: str, values: list[Any]) -> None:
    rows = list(zip(values, "wxyz", strict=True)) if name.startswith("arg") else values
    assert agrees(from_left(build(name), rows), REFERENCES[name].expected(rows))


def test_quantiles_of_other_types() -> None:
    assert from_left(agg.median(), [Decimal(1), Decimal(2)]) == Decimal("1.5")
    assert from_left(agg.median(), [date(2026, 1, 3), date(2026, 1, 1), date(2026, 1, 2)]) == date(2026, 1, 2)
    noon = datetime(2026, 1, 1, 12)  # noqa: DTZ001
    assert from_left(agg.median(), [noon, noon + timedelta(hours=2)]) == noon + timedelta(hours=1)
    assert from_left(agg.median(), ["b", "a", "c"]) == "b"


def test_quantiles_of_extremes() -> None:
    largest = sys.float_info.max
    assert from_left(agg.median(), [-largest, largest]) == 0.0
    assert from_left(agg.median(), [INF, INF]) == INF
    assert from_left(agg.median(), [-INF, 1.0]) == -INF
    assert math.isnan(from_left(agg.median(), [1.0, NAN]))
    assert from_left(agg.median(), [1.0, 2.0, NAN]) == 2.0


@given(values=st.lists(quarters, min_size=1), q=st.floats(0, 1))
def test_quantile_interpolates_as_numpy_does(values: list[float], q: float) -> None:
    assert from_left(agg.quantile(q=q), values) == pytest.approx(float(np.quantile(values, q)), rel=1e-9, abs=1e-9)


def test_lower_of_order_statistics_reads_only_len_and_select() -> None:
    class Tree:
        def __len__(self) -> int:
            return 4

        def select(self, rank: int) -> int:
            return [10, 20, 30, 40][rank]

    for aggregate, expected in ((agg.median(), 25.0), (agg.quantile(q=1), 40.0), (agg.nth_smallest(i=3), 30)):
        assert aggregate.lower(Tree()) == expected  # type: ignore[arg-type]


def test_sorted_values_are_equal_by_value() -> None:
    assert SortedValues([NAN, 1, -0.0]) == SortedValues([0.0, 1.0, float("nan")])
    assert SortedValues([1]) != SortedValues([1, 1])
    assert SortedValues([1, NAN]) != SortedValues([1, 2])
    assert SortedValues([1]) != (1,)


@pytest.mark.parametrize("compiled", [False, True])
def test_the_median_of_extreme_integers_is_exact(compiled: bool) -> None:
    rows = pa.table({"x": [2**63 - 1, -(2**63), -(2**63), 2**63 - 2, -3, -4]})
    query = sash.Query({"r": sash.agg.median("x")}, sash.window.rows(2))
    found = query.run(rows, compiled=compiled)["r"].to_pylist()
    assert found == [float(2**63), -0.5, -float(2**63), -1.0, 2.0**62, -3.5]


@given(st.lists(st.integers(-(2**63), 2**63 - 1), min_size=2, max_size=2).map(sorted))
def test_the_mean_of_two_integers_is_rounded_once_or_twice(values: list[int]) -> None:
    exact = Fraction(sum(values), 2)
    found = integer_between(values[0], values[1], 0.5)
    assert abs(Fraction(found) - exact) <= Fraction(math.ulp(float(exact)))
    if abs(exact) < 2**52:
        assert found == exact


def test_the_median_of_python_integers_is_exact() -> None:
    window = sash.Aggregator(sash.agg.median("x"))
    window.insert(2**63 - 1)
    window.insert(-(2**63))
    assert window.query() == -0.5
