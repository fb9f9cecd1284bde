"""Functions of users in kernels: which compile, and which are told apart."""

from __future__ import annotations

import types
from typing import Any

import numpy as np
import pytest

from sash import aggregate
from sash.aggregates.base import Aggregate
from sash.algorithms import TwoStacks, find_algorithm
from sash.kernels import CannotCompileError, Kernel, loops
from sash.kernels.functions import compile_function, fingerprint


def test_an_aggregate_of_ones_own_with_helpers_and_constants_compiles() -> None:
    base = 10

    def clipped(x: float) -> float:
        return min(x, base)

    peak = aggregate(
        "peak",
        lift=lambda x: (clipped(x), 1),
        combine=lambda a, b: (max(a[0], b[0]), a[1] + b[1]),
        lower=lambda p: p[0] * p[1],
    )
    column = np.array([4.0, 50.0, 7.0, 1.0])
    [results] = Kernel(find_algorithm("flatfat", peak), peak, ("float64",), loops.slide_rows).slide_rows((column,), 2)
    assert results.values.tolist() == [4.0, 20.0, 20.0, 14.0]


def plus_one(x: float) -> float:
    return x + 1


def times_ten(x: float) -> float:
    return x * 10


def first_of(chosen: Aggregate[Any], values: list[float]) -> Any:
    kernel = Kernel(TwoStacks, chosen, ("float64",), loops.slide_rows)
    return kernel.slide_rows((np.array(values, float),), 1)[0].values.tolist()


def test_functions_used_twice_are_told_apart() -> None:
    def make(one: Any, two: Any, three: Any) -> Aggregate[Any]:
        return aggregate("made", lift=lambda x: one(x) * 0 + two(x) * 0 + three(x), combine=lambda a, b: a + b)

    assert first_of(make(plus_one, times_ten, plus_one), [1, 2]) == [2, 3]
    assert first_of(make(plus_one, times_ten, times_ten), [1, 2]) == [10, 20]


def test_functions_that_do_the_same_are_compiled_once() -> None:
    def scaled(factor: float) -> Any:
        return lambda x: plus_one(x) * factor

    assert compile_function(scaled(2.0)) is compile_function(scaled(2.0))
    assert compile_function(scaled(2.0)) is not compile_function(scaled(3.0))


def test_what_a_module_holds_counts() -> None:
    settings = types.ModuleType("settings_of_a_test")
    scaled = aggregate("scaled", lift=lambda x: x * settings.SCALE, combine=lambda a, b: a + b)
    settings.SCALE = 2.0  # type: ignore[attr-defined]
    assert first_of(scaled, [1]) == [2]
    settings.SCALE = 30.0  # type: ignore[attr-defined]
    assert first_of(scaled, [1]) == [30]


def test_a_kernel_means_what_its_functions_meant_when_it_was_made() -> None:
    kernels = []
    weights = np.array([11.0])
    for factor in (5.0, 7.0):
        chosen = aggregate("late", lift=lambda x: x * factor * weights[0], combine=lambda a, b: a + b)  # noqa: B023
        kernels.append(Kernel(TwoStacks, chosen, ("float64",), loops.slide_rows))
    weights[0] = 13.0
    assert [kernel.slide_rows((np.array([1.0]),), 1)[0].values[0] for kernel in kernels] == [55.0, 77.0]


def test_a_function_that_calls_itself_is_refused() -> None:
    with pytest.raises(CannotCompileError, match="factorial calls itself"):
        first_of(aggregate("odd", lift=factorial, combine=lambda a, b: a + b), [1])


def factorial(x: float) -> float:
    return 1.0 if x <= 1 else x * factorial(x - 1)


def test_fingerprints_tell_functions_apart_by_what_they_do() -> None:
    def scaled(factor: float) -> Any:
        return lambda x: x * factor

    assert fingerprint(scaled(2.0)) == fingerprint(scaled(2.0))
    assert fingerprint(scaled(2.0)) != fingerprint(scaled(3.0))
    assert fingerprint(np.arange(3)) != fingerprint(np.arange(4))
    with pytest.raises(CannotCompileError, match="a dict"):
        fingerprint(scaled({}))  # type: ignore[arg-type]
