"""Functions of users: interpreted if Numba cannot compile them or computes something else; the other differences are documented."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from helpers.pairwise import some
from helpers.queries import EXECUTORS

import sash
from sash import Aggregator, window

DOCUMENTED = (Path(__file__).parents[2] / "docs" / "how-it-works.md").read_text(encoding="utf-8")
LARGE = 2**63
calls = 0


def count_calls(x: float) -> float:
    global calls  # noqa: PLW0603 — Numba rejects it
    calls += 1
    return x


def last(_: Any, newer: Any) -> Any:
    return newer


def inverted(x: Any) -> Any:
    return ~(x > 1)


def query_of(lower: Callable[[Any], Any], lift: Callable[[Any], Any] = lambda x: x) -> sash.Query:
    return sash.Query({"r": sash.aggregate("own", lift=lift, combine=last, lower=lower)("x")}, window.rows(2))


REJECTED: dict[str, tuple[sash.Query, list[Any], str]] = {
    "f-string": (query_of(lambda c: f"{c:.1f}"), [1.0, 2.5], "lower of own can't be compiled: format spec"),
    "global": (query_of(lambda c: c, count_calls), [1.0, 2.5], "lift of own can't be compiled: Use of unsupported"),
    "power of a variable": (query_of(lambda c: 2**-c), [1, 2], "exponent is not a constant"),
    "negative power": (query_of(lambda c: c**-1), [1, 2], "integers with a negative exponent"),
    "pow": (query_of(lambda c: pow(c, -1)), [1, 2], "integers with a negative exponent"),
    "large power": (query_of(lambda c: c * 0.5 + 2**70), [1, 2], r"2\*\*70, which needs more than 64 bits"),
    "large constant": (query_of(lambda c: c * 0.5 + LARGE), [1, 2], "the integer 9223372036854775808, which needs"),
    "invert": (query_of(lambda c: ~c), [True, False], "~ of a boolean"),
    "invert in a function that is called": (query_of(lambda c: inverted(c)), [1, 2], "~ of a boolean"),  # noqa: PLW0108
}


@pytest.mark.parametrize("name", REJECTED)
def test_what_numba_rejects_or_computes_differently_is_not_compiled(name: str) -> None:
    query, values, reason = REJECTED[name]
    rows = pa.table({"x": values})
    assert query.run(rows).equals(query.run(rows, compiled=False))
    assert query.run(rows, compiled=True).equals(query.run(rows, compiled=False))
    said = " ".join(str(query.explain(rows)).split())
    [_, why] = re.split("runs (?:interpreted|NumPy): ", said)
    assert re.search(reason, why)


@pytest.mark.parametrize(
    ("lower", "values"),
    some(
        [
            (lambda c: c**2, [3, -4]),
            (lambda c: 2.0**c, [3, -4]),
            (lambda c: c**-1.0, [2.0, 4.0]),
            (lambda c: ~c, [3, -4]),
            (lambda c: not c, [True, False]),
            (lambda c: c + 2**62, [1, 2]),
        ],
        3,
    ),
)
def test_arithmetic_that_agrees_is_compiled(lower: Callable[[Any], Any], values: list[Any]) -> None:
    query, rows = query_of(lower), pa.table({"x": values})
    assert "runs       compiled" in str(query.explain(rows, compiled=True))
    assert query.run(rows).equals(query.run(rows, compiled=False))
    assert query.run(rows, compiled=True).equals(query.run(rows, compiled=False))


def test_an_aggregator_falls_back_too() -> None:
    text = sash.aggregate("text", lift=lambda x: x, combine=lambda a, b: a + b, lower=lambda c: f"{c:.1f}")("x")
    aggregator = Aggregator(text)
    assert aggregator.slide([1.0, 2.5], range=2).to_pylist() == ["1.0", "3.5"]
    assert "interpreted: lower of text can't be compiled" in aggregator.explain()


def test_sums_of_booleans_are_integers_compiled_and_interpreted() -> None:
    total = sash.aggregate("total", lift=lambda x: x, combine=lambda a, b: a + b)("x")
    query, rows = sash.Query({"r": total}, window.rows(2)), pa.table({"x": [True, True, None]})
    for compiled in EXECUTORS.values():
        assert query.run(rows, compiled=compiled)["r"].to_pylist() == [1, 2, 1]


REMAINING: dict[str, tuple[Callable[[Any], Any], Any, Any, type[Exception]]] = {
    "an integer beyond 64 bits": (lambda c: c * 4, 2**62, 0, OverflowError),
    "`1 << n` for n < 0 or n ≥ 64": (lambda c: 1 << c, 64, 1, OverflowError),
    "`math.sqrt(-1.0)`": (lambda c: math.sqrt(c), -1.0, math.nan, ValueError),  # noqa: PLW0108
    "`math.log(-1.0)`": (lambda c: math.log(c), -1.0, math.nan, ValueError),  # noqa: PLW0108
    "`math.exp(1000.0)`": (lambda c: math.exp(c), 1000.0, math.inf, OverflowError),  # noqa: PLW0108
    "`0.0 ** -1.0`": (lambda c: c**-1.0, 0.0, math.inf, ZeroDivisionError),
    "`(-1.0) ** 0.5`": (lambda c: c**0.5, -1.0, math.nan, TypeError),
    "`int(x)` of NaN or infinity": (lambda c: int(c), math.nan, -(2**63), ValueError),  # noqa: PLW0108
}


@pytest.mark.parametrize("row", REMAINING)
def test_the_other_differences_are_documented(row: str) -> None:
    assert row in DOCUMENTED


@pytest.mark.parametrize("row", some(REMAINING, 4))
def test_the_other_differences_are_those(row: str) -> None:
    lower, value, compiled, error = REMAINING[row]
    query, rows = query_of(lower), pa.table({"x": [value]})
    [found] = query.run(rows, compiled=True)["r"].to_pylist()
    assert found == compiled or (math.isnan(found) and math.isnan(compiled))
    with pytest.raises(error):
        query.run(rows, compiled=False)
