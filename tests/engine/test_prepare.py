"""A second run does not prepare again, and notices what has changed."""

from __future__ import annotations

from time import process_time
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import sash
from sash import Query, window
from sash.kernels.functions import fingerprint, fingerprint_any

ROWS = pa.table({"x": [1.0, 2.0, 3.0]})
LARGE: Any = None
VALUE: Any = None


def scaled(x: float) -> Any:
    return x * (VALUE["k"] if isinstance(VALUE, dict) else VALUE[0])


def scaled_by_number(x: float) -> Any:
    return x * VALUE


def with_large(x: float) -> float:
    return x + len(LARGE)


def plus(older: float, newer: float) -> float:
    return older + newer


def query_of(lift: Any) -> Query:
    own = sash.aggregate("own", lift=lift, combine=plus, lower=lambda total: total, commutative=True)
    return Query({"r": own("x")}, window.rows(1))


def run(query: Query, *, compiled: bool | None = None) -> list[float]:
    found: list[float] = query.run(ROWS, compiled=compiled)["r"].to_pylist()
    return found


CHANGED: dict[str, tuple[Any, list[Any]]] = {
    "number": (scaled_by_number, [2.0, 3.0]),
    "tuple": (scaled, [(2.0,), (3.0,)]),
    "list": (scaled, [[2.0], [3.0]]),
    "dict": (scaled, [{"k": 2.0}, {"k": 3.0}]),
    "array": (scaled, [np.array([2.0]), np.array([3.0])]),
    "types": (scaled, [(2.0,), [3.0], {"k": 4.0}]),
}


@pytest.mark.parametrize(
    ("name", "compiled"),
    [*((name, compiled) for name in CHANGED for compiled in (None, False)), ("number", True), ("array", True)],
)
def test_changed_global_variables(name: str, compiled: bool | None, monkeypatch: Any) -> None:
    lift, values = CHANGED[name]
    query = query_of(lift)
    for value in values:
        monkeypatch.setitem(globals(), "VALUE", value)
        factor = value if isinstance(value, float) else value["k"] if isinstance(value, dict) else value[0]
        assert run(query, compiled=compiled) == [1 * factor, 2 * factor, 3 * factor]


@pytest.mark.parametrize("compiled", [None, False])
def test_changed_content(compiled: bool | None, monkeypatch: Any) -> None:
    values: list[Any] = [{"k": 1.0}, [1.0], np.array([1.0])]
    for value in values:
        monkeypatch.setitem(globals(), "VALUE", value)
        query = query_of(scaled)
        assert run(query, compiled=compiled) == [1, 2, 3]
        value["k" if isinstance(value, dict) else 0] = 5.0
        assert run(query, compiled=compiled) == [5, 10, 15]


@pytest.mark.parametrize(
    "large",
    [
        pd.DataFrame({"a": np.arange(300_000), "b": [str(i) for i in range(300_000)]}),
        {str(i): float(i) for i in range(300_000)},
        list(range(300_000)),
    ],
    ids=["frame", "dict", "list"],
)
def test_large_global_variables_cost_nothing(large: Any, monkeypatch: Any) -> None:
    monkeypatch.setitem(globals(), "LARGE", large)
    query = query_of(with_large)
    assert run(query) == [300_001, 300_002, 300_003]
    seconds = []
    for _ in range(5):
        begin = process_time()
        run(query)
        seconds.append(process_time() - begin)
    assert min(seconds) < 0.02


def test_deep_global_variables(monkeypatch: Any) -> None:
    nodes: Any = None
    for number in range(2000):
        nodes = SimpleNamespace(number=number, next=nodes)
    around: list[Any] = [2.0]
    around.append(around)
    for value in ({"k": 2.0, "nodes": nodes}, around):
        monkeypatch.setitem(globals(), "VALUE", value)
        assert run(query_of(scaled)) == [2, 4, 6]


def test_fingerprints_tell_parameters_apart() -> None:
    def keyword(k: int) -> Any:
        def function(x: int, *, k: int = k) -> int:
            return x + k

        return function

    for of in (fingerprint, fingerprint_any):
        assert of(lambda *x: (x, 1)) != of(lambda x: (x, 1))
        assert of(keyword(1)) == of(keyword(1)) != of(keyword(2))
