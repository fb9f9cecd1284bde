"""Sums and means in fixed-point arithmetic: those of each window's own rows, rounded once, or left to two_stacks."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sash
from sash import agg, window
from sash.algorithms import TwoStacks
from sash.kernels import Kernel, loops
from sash.kernels.exact_sums import ExactSumKernel, suits
from sash.kernels.fixed_point import AHEAD, CHUNK, LEFT
from sash.kernels.whole_column import column_kernel

Column = npt.NDArray[Any]
ROWS = 2 * LEFT * AHEAD
"""Enough rows for several stretches that are exact or left to the other loop."""
BOTH = (agg.sum("x"), agg.mean("x"))


@cache
def kernels(kind: str = "float64") -> tuple[Kernel, Kernel]:
    """Return the kernel for sums and means, and the one without fixed-point arithmetic."""
    exact = column_kernel(TwoStacks, BOTH, (kind,), loops.slide_rows)
    assert isinstance(exact, ExactSumKernel)
    return exact, Kernel(TwoStacks, BOTH, (kind,), loops.slide_rows)


def left_rows(column: Column, firsts: Column, length: int) -> int:
    """Count the rows that are left to the other loop."""
    kernel, _ = kernels(str(column.dtype))
    assert isinstance(kernel, ExactSumKernel)
    results = kernel._new_results((len(column),))
    return int(np.diff(kernel._slide_exactly(column, firsts, length, results)).sum())


def expect_sums(column: Column, firsts: list[int], length: int, rows: Any = None) -> None:
    """Compare the sums and means of some rows with exact ones."""
    sums, means = kernels(str(column.dtype))[0].slide_keys((column,), np.array(firsts), length)
    for row in range(len(column)) if rows is None else rows:
        first = max(first for first in firsts[:-1] if first <= row)
        held = column[max(first, row - length + 1) : row + 1].tolist()
        exact = math.fsum(held)
        # Compensated sums may add the square of the rounding unit for each addition. It matters where values cancel.
        slack = len(held) ** 2 * 2.0**-104 * math.fsum(map(abs, held))
        assert abs(sums.values[row] - exact) <= math.ulp(exact) + slack, (row, held)
        assert means.values[row] == sums.values[row] / len(held)


COLUMNS: dict[str, Any] = {
    "normal": lambda random, n: random.normal(100, 15, n),
    "around zero": lambda random, n: random.normal(0, 1, n),
    "rounded": lambda random, n: random.normal(100, 15, n).round(2),
    "integers": lambda random, n: random.integers(-(10**15), 10**15, n).astype(float),
    "growing": lambda random, n: random.normal(1, 1, n) * 2.0 ** np.linspace(-300, 300, n),
    "steps": lambda random, n: random.normal(1, 1, n) * np.where(np.arange(n) // 20_000 % 2, 1e30, 1e-30),
    "lognormal": lambda random, n: random.lognormal(0, 3, n),
    "cancelling": lambda random, n: np.where(np.arange(n) % 2, 1e16, -1e16) + random.normal(0, 1, n),
    "exponents": lambda random, n: random.normal(size=n) * 2.0 ** random.integers(-30, 30, n),
    "spikes": lambda random, n: np.where(random.random(n) < 3 / n, 1e90, random.normal(100, 15, n)),
    "many spikes": lambda random, n: np.where(random.random(n) < 0.01, -1e90, random.normal(100, 15, n)),
    "zeros": lambda random, n: np.where(random.random(n) < 0.9, 0.0, random.normal(size=n)),
    "subnormal": lambda random, n: random.integers(-100, 100, n) * 5e-324,
    "huge": lambda random, n: random.normal(size=n) * 1e290,
    "float32": lambda random, n: random.normal(100, 15, n).astype(np.float32),
}
"""By name: a column of n rows."""
WHOLLY_EXACT = ("normal", "around zero", "rounded", "integers", "zeros", "float32")


@pytest.mark.parametrize("length", [1, 16, CHUNK, 1_000, 20_000])
@pytest.mark.parametrize("name", COLUMNS)
def test_sums_are_rounded_once(name: str, length: int) -> None:
    random = np.random.default_rng(length)
    column = COLUMNS[name](random, ROWS)
    edges = [edge + step for edge in (0, length, CHUNK, ROWS // 2, ROWS - 2) for step in (0, 1)]
    changes = np.flatnonzero(np.abs(column) > 1e80)[:10].tolist() if "spikes" in name else []
    rows = {
        *edges,
        *random.integers(0, ROWS, 60),
        *(min(ROWS - 1, at + step) for at in changes for step in (0, length)),
    }
    expect_sums(column, [0, ROWS // 2, ROWS], length, sorted(map(int, rows)))


@pytest.mark.parametrize("name", WHOLLY_EXACT)
def test_columns_of_similar_magnitudes_leave_no_rows(name: str) -> None:
    column = COLUMNS[name](np.random.default_rng(3), ROWS)
    for length in (2, 1_000, ROWS):
        assert left_rows(column, np.array([0, ROWS]), length) == 0


def test_a_spike_leaves_few_rows_and_a_hostile_column_is_left_at_once() -> None:
    column = COLUMNS["normal"](np.random.default_rng(3), 10 * LEFT * AHEAD)
    column[5] = 1e90
    whole = np.array([0, len(column)])
    assert left_rows(column, whole, 16) == LEFT * (AHEAD + 16)
    column[::7] = 1e-200
    assert left_rows(column, whole, 16) == len(column)


@pytest.mark.parametrize("length", [3, 1_000])
def test_a_result_depends_on_the_rows_of_its_window_only(length: int) -> None:
    column = COLUMNS["around zero"](np.random.default_rng(3), 50_000)
    kernel, _ = kernels()
    whole = kernel.slide_keys((column,), np.array([0, len(column)]), length)
    for start in (1, 77, 20_000):
        for result, other in zip(whole, kernel.slide_rows((column[start:].copy(),), length), strict=True):
            assert np.array_equal(result.values[start + length - 1 :], other.values[length - 1 :])
    spoiled = column.copy()
    spoiled[100] = 1e90
    spoiled[200] = math.nan
    for result, other in zip(whole, kernel.slide_rows((spoiled,), length), strict=True):
        assert np.array_equal(result.values[200 + length :], other.values[200 + length :])


SPECIAL = [0.0, -0.0, math.nan, math.inf, -math.inf, 1.7e308, -1.7e308, 5e-324, -5e-324, 2.0**900, 2.0**-900, 1e90, 1.0]
VALUES = st.one_of(
    st.floats(-100, 100).map(lambda value: round(value, 2)),
    st.sampled_from(SPECIAL),
    st.floats(-1e6, 1e6),
    st.floats(),
)


@given(st.lists(VALUES, min_size=1, max_size=40), st.integers(1, 45), st.integers(0, 40))
def test_special_values_are_as_with_two_stacks(values: list[float], length: int, cut: int) -> None:
    column = np.array(values)
    firsts = np.unique([0, min(cut, len(column)), len(column)])
    exact, stacks = (kernel.slide_keys((column,), firsts, length) for kernel in kernels())
    for result, other in zip(exact, stacks, strict=True):
        assert np.array_equal(np.isnan(result.values), np.isnan(other.values))
        assert np.array_equal(np.signbit(result.values), np.signbit(other.values)) or np.isnan(other.values).any()
        finite = np.isfinite(other.values)
        assert np.array_equal(result.values[~finite], other.values[~finite], equal_nan=True)
        for row in np.flatnonzero(finite):
            held = column[max(firsts[firsts <= row].max(), row - length + 1) : row + 1].tolist()
            slack = Fraction(len(held) ** 2, 2**103) * sum(map(abs, map(Fraction, held)))
            apart = abs(Fraction(result.values[row].item()) - Fraction(other.values[row].item()))
            assert apart <= 2 * Fraction(math.ulp(other.values[row])) + slack


NEAR = st.one_of(
    st.integers(-(2**53), 2**53).map(float),
    st.floats(0.5, 4.0),
    st.floats(-1e3, 1e3, width=32),
    st.sampled_from([0.1, -0.1, 0.3, 1e-3]),
)


@given(st.lists(NEAR, min_size=1, max_size=60), st.integers(1, 70), st.lists(st.integers(1, 59), max_size=3))
def test_any_short_columns_of_keys(values: list[float], length: int, cuts: list[int]) -> None:
    column = np.array(values)
    firsts = sorted({0, len(column), *(cut for cut in cuts if cut < len(column))})
    expect_sums(column, firsts, length)


@given(st.lists(st.integers(-(2**40), 2**40), min_size=1, max_size=50), st.integers(1, 60), st.integers(-800, 700))
def test_sums_that_floats_hold_are_exact(numbers: list[int], length: int, power: int) -> None:
    """The results are integers times a power of two: any rounding would show."""
    column = np.array(numbers) * 2.0**power
    [sums, _] = kernels()[0].slide_rows((column,), length)
    expected = [sum(numbers[max(0, row - length + 1) : row + 1]) * 2.0**power for row in range(len(numbers))]
    assert sums.values.tolist() == expected


@pytest.mark.parametrize("size", [1, 2, CHUNK - 1, CHUNK, CHUNK + 1])
def test_short_columns_and_long_windows(size: int) -> None:
    column = COLUMNS["normal"](np.random.default_rng(size), size)
    for length in (1, CHUNK, 10 * CHUNK, 2**40):
        expect_sums(column, [0, size], length)
    assert kernels()[0].slide_rows((column[:0],), 3)[0].values.tolist() == []


@pytest.mark.parametrize("names", ["s", "m", "ms", "mmss"])
def test_any_sums_and_means_together(names: str) -> None:
    aggregates = [{"s": BOTH[0], "m": BOTH[1]}[name] for name in names]
    column = COLUMNS["spikes"](np.random.default_rng(3), 20 * CHUNK)
    column[7] = 1e90
    results = column_kernel(TwoStacks, aggregates, ("float64",), loops.slide_rows).slide_rows((column,), 100)
    both = kernels()[0].slide_rows((column,), 100)
    for name, result in zip(names, results, strict=True):
        assert np.array_equal(result.values, both["sm".index(name)].values)


def test_which_aggregates_suit() -> None:
    assert suits(TwoStacks, BOTH, ("float32",))
    assert not suits(TwoStacks, BOTH, ("int64",))
    assert not suits(TwoStacks, BOTH, ("float64", "bool"))
    assert not suits(TwoStacks, [agg.sum("x"), agg.max("x")], ("float64",))
    assert not suits(TwoStacks, [agg.sum_of_squares("x")], ("float64",))


# -- through queries -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("before_after", [(999, 0), (500, 500), (999, -1), (-1, 30)])
def test_queries_by_key(before_after: tuple[int, int]) -> None:
    before, after = before_after
    random = np.random.default_rng(4)
    rows = 60_000
    keys = np.sort(random.integers(0, 3, rows))
    x = random.normal(0, 1, rows)
    x[30_000] = 1e90
    table = pa.table({"k": keys, "x": x})
    query = sash.Query({"sum": agg.sum("x"), "mean": agg.mean("x")}, window.rows(before=before, after=after), by="k")
    compiled, numpy = (query.run(table, compiled=compiled).to_pydict() for compiled in (True, False))
    firsts = np.searchsorted(keys, range(4)).tolist()
    for first, end in pairwise(firsts):
        for row in [first, first + 1, end - 1, *random.integers(first, end, 30), *range(29_990, 30_010)]:
            if not first <= row < end:
                continue
            held = x[max(first, row - before) : min(end, row + after + 1)]
            for name, scale in (("sum", 1), ("mean", len(held))):
                if not len(held):
                    assert compiled[name][row] is None
                    assert numpy[name][row] is None
                    continue
                exact = math.fsum(held) / scale
                assert abs(compiled[name][row] - exact) <= 2 * math.ulp(exact)


def test_nulls_filters_and_least_rows() -> None:
    random = np.random.default_rng(4)
    x = random.normal(100, 15, 30_000)
    query = {"plain": agg.sum("x"), "large": agg.sum("x", where="x > 100"), "mean": agg.mean("x")}
    result = sash.Query(query, window.rows(100, min_rows=50)).run(pa.table({"x": x}), compiled=True).to_pydict()
    assert result["plain"][48] is None
    for row in (49, 99, 100, 29_999):
        held = x[max(0, row - 99) : row + 1]
        assert abs(result["plain"][row] - math.fsum(held)) <= math.ulp(result["plain"][row])
        large = held[held > 100]
        if len(large) < 50:
            assert result["large"][row] is None
        else:
            assert abs(result["large"][row] - math.fsum(large)) <= math.ulp(result["large"][row])
    x[::3] = math.nan
    table = pa.table({"x": pa.array(x, from_pandas=True)})
    sums = sash.Query(agg.sum("x"), window.rows(100)).run(table, compiled=True)["sum"].to_pylist()
    assert abs(sums[20_000] - math.fsum(v for v in x[19_901:20_001] if not math.isnan(v))) <= math.ulp(sums[20_000])
