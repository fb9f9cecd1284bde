"""A vectorised function returns for each row what the function itself returns for it, or it refuses."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from helpers.references import build
from hypothesis import given
from hypothesis import strategies as st

from sash.aggregates import BUILT_IN
from sash.kernels.traced import CannotVectorizeError
from sash.kernels.vectorize import vectorize

counter = 0
OFFSET = 3


def clamp(value: float, low: float) -> float:
    if value < low:
        return low
    if value > 10 * low:
        raise ValueError(value)
    return value


def count_calls(value: int) -> int:
    global counter  # noqa: PLW0603 — what is tested
    counter += 1
    return value


def forever(value: int) -> int:
    return forever(value)


SCALAR: dict[str, Callable[..., Any]] = {
    "arithmetic": lambda x, y: (x + y) * 2 - x / 4 + -y,
    "branches": lambda x, y: x if x > y else max(0, y),
    "and_or": lambda x, y: (x > 0 and y > 0) or not x,
    "chain": lambda x, y: 1 if -2 < x <= y else 2,
    "tuple": lambda x, y: (x, (y, 1)) if x > y else (y, (x, 2)),
    "tuples_compared": lambda x, y: max((x, y), (y, x)),
    "builtins": lambda x, y: (min(x, y, 3), max(x, y), abs(x), int(x), float(y), bool(y)),
    "math": lambda x, y: math.sqrt(abs(x)) + math.floor(y) + math.exp(-abs(y)),
    "isnan": lambda x, y: math.isnan(x) or math.isinf(y),
    "power": lambda x, y: x**2 + y**3,
    "global": lambda x, y: x + OFFSET + y,
    "booleans_are_numbers": lambda x, y: (x > y) + (y > x) - True,
    "guarded": lambda x, y: x / y if y != 0 else 0.0,
    "remainder": lambda x, y: x % 7 + (y // 3),
    "loop": lambda x, y: sum_of((x, y, x)),
}


def sum_of(values: tuple[Any, ...]) -> Any:
    total = 0
    for value in values:
        total = total + value
    return total


numbers = st.lists(st.tuples(st.integers(-9, 9), st.integers(-9, 9)), min_size=1, max_size=12)


def columns_of(result: Any, row: int) -> Any:
    return tuple(columns_of(part, row) for part in result) if isinstance(result, tuple) else result[row].item()


@pytest.mark.parametrize("kind", [np.int64, np.float64])
@pytest.mark.parametrize("name", SCALAR)
@given(numbers)
def test_every_row_has_its_own_path(name: str, kind: type, rows: list[tuple[int, int]]) -> None:
    x, y = np.array(rows, kind).T
    found = vectorize(SCALAR[name])(x, y)
    for row in range(len(rows)):
        expected = SCALAR[name](x[row].item(), y[row].item())
        got = columns_of(found, row)
        assert got == pytest.approx(expected) if isinstance(expected, float) else got == expected


REFUSED: dict[str, tuple[Callable[..., Any], Any]] = {
    "division by zero": (lambda x: 1 / x, [0, 1]),
    "remainder of zero": (lambda x: x % (x - 1), [0, 1]),
    "root of a negative number": (lambda x: math.sqrt(x), [1, -1]),  # noqa: PLW0108 — not math.sqrt itself
    "error of the function": (lambda x: clamp(x, 1), [1, 11]),
    "integer to a power": (lambda x: 2**x, [1, 2]),
    "inverted": (lambda x: ~x, [1]),
    "large constant": (lambda x: x + 2**70, [1]),
    "text": (lambda x: f"{x:.1f}", [1]),
    "no result": (lambda x: None, [1]),  # noqa: ARG005
    "other module": (lambda x: x + random.random(), [1]),
    "global statement": (count_calls, [1]),
    "recursion": (forever, [1]),
    "list": (lambda x: [x], [1]),
    "other forms": (lambda x: (x, x) if x > 1 else x, [1, 2]),
    "shift by a column": (lambda x: 1 << x, [1]),
    "bits of booleans": (lambda x: (x > 1) & (x < 3), [1]),
    "float too large": (lambda x: int(x * 1e300), [1e10]),
    "comprehension": (lambda x: len([y for y in (x, 1)]), [1]),  # noqa: C416
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_vectorised_is_refused(name: str) -> None:
    function, values = REFUSED[name]
    with pytest.raises(CannotVectorizeError):
        vectorize(function)(np.array(values))
    assert counter == 0


def test_errors_of_rows_on_other_paths_do_not_matter() -> None:
    found = vectorize(lambda x: math.sqrt(x) if x >= 0 else -1.0)(np.array([4.0, -4.0]))
    assert found.tolist() == [2.0, -1.0]


def test_too_many_paths_are_refused() -> None:
    deep = "lambda x: " + " + ".join(f"(1 if x > {limit} else {limit})" for limit in range(20))
    with pytest.raises(CannotVectorizeError, match="more than 16 paths"):
        vectorize(eval(deep))(np.arange(21))  # noqa: S307 — the text is above


def test_a_loop_that_examples_do_not_end_is_refused() -> None:
    def halved(x: float) -> float:
        while x > 1:
            x = x / 2
        return x

    with pytest.raises(CannotVectorizeError, match="loops"):
        vectorize(halved).example(np.ones(1))


def test_the_built_in_aggregates_of_numbers_are_vectorised() -> None:
    """Whoever adds an aggregate sees here whether its first result needs a compiler."""
    others = {
        "approx_count_distinct", "approx_quantile", "bottom_k", "collect", "collect_distinct", "concat", "count_distinct",
        "first_n", "frequency", "heavy_hitters", "last_n", "may_contain", "median", "mode", "nth_smallest", "quantile", "top_k",
        "histogram", "per_value", "rank",
    }  # fmt: skip
    for name in set(BUILT_IN) - others:
        for kind in ("int", "float", "bool"):
            form = build(name).of_kind(kind)
            for function in (form.lift, form.combine, form.lower):
                vectorize(function)
