"""Estimates over rows that Sash reads itself are exact: they equal those of sketches that still hold all values."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import sash
from sash import agg, window
from sash.engine.executors import execute

ROWS = 600
CHOOSER = np.random.default_rng(5)
NULLS = CHOOSER.random(ROWS) < 0.1
TABLE = pa.table(
    {
        "key": CHOOSER.integers(0, 3, ROWS),
        "ts": np.sort(CHOOSER.integers(0, 1_000, ROWS)),
        "x": pa.array(np.where(CHOOSER.random(ROWS) < 0.1, np.nan, 2 + CHOOSER.normal(size=ROWS).round(1)), mask=NULLS),
        "zeros": CHOOSER.choice([0.0, -0.0, 1.0, np.inf], ROWS),
        "i": pa.array(CHOOSER.integers(0, 30, ROWS), mask=NULLS),
        "small": pa.array(CHOOSER.integers(-3, 3, ROWS), pa.int8()),
        "huge": pa.array([2**64 - 1, 2**63, 5] * (ROWS // 3), pa.uint64()),
        "f": pa.array(CHOOSER.integers(1, 9, ROWS) / 2, pa.float32()),
        "b": pa.array(CHOOSER.random(ROWS) < 0.5, mask=NULLS),
        "w": pa.array([["", "w3", "2.5", "ä"][number] for number in CHOOSER.integers(0, 4, ROWS)], mask=NULLS),
        "c": pa.array(["a", "w3", None] * (ROWS // 3)).dictionary_encode(),
        "none": pa.nulls(ROWS),
    }
)
WINDOWS = (window.rows(40), window.rows(150, min_rows=3), window.time(60, slide=25))
ITEMS = (2, 2.5, "w3", "2.5", "", float("nan"), True, 0, 2**64 - 1, 1e300, -(2**63), float("inf"))


def answers(query: sash.Query, monkeypatch: pytest.MonkeyPatch, *, compiled: bool | None) -> pa.ChunkedArray:
    """Return the results; None runs with NumPy."""
    with monkeypatch.context() as patched:
        if compiled is None:
            patched.setattr(execute.Run, "compiles", property(lambda _: False))
        return query.run(TABLE, compiled=compiled)["answer"]


def compare(aggregate: Any, monkeypatch: pytest.MonkeyPatch, *, compiles: bool = False) -> None:
    """Compare with the sketches of the interpreter."""
    for windows in WINDOWS:
        query = sash.Query({"answer": aggregate}, windows, by="key", time="ts")
        sketched = answers(query, monkeypatch, compiled=False)
        for compiled in (None, True) if compiles else (None,):
            found = answers(query, monkeypatch, compiled=compiled)
            assert found.type == sketched.type
            assert [shown(one) for one in found.to_pylist()] == [shown(one) for one in sketched.to_pylist()]


def shown(result: Any) -> str:
    """Return a result as text; the sign of a zero is that of any equal value."""
    return repr(result + 0.0 if isinstance(result, float) else result)


@pytest.mark.parametrize("column", [name for name in TABLE.column_names if name not in ("key", "ts")])
def test_items_are_counted_as_sketches_hash_them(column: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for item in ITEMS:
        compare(agg.frequency(column, item), monkeypatch, compiles=item == "w3")
        compare(agg.may_contain(column, item), monkeypatch, compiles=item == "w3")


@pytest.mark.parametrize("column", ["x", "i", "b", "w", "c", "none", "huge"])
def test_distinct_values_are_counted(column: str, monkeypatch: pytest.MonkeyPatch) -> None:
    compare(agg.approx_count_distinct(column), monkeypatch, compiles=column in ("i", "w"))


@pytest.mark.parametrize("q", [0, 0.01, 0.1, 0.25, 0.5, 0.7, 0.999, 1])
def test_quantiles_have_the_rank_of_a_sketch(q: float, monkeypatch: pytest.MonkeyPatch) -> None:
    compare(agg.approx_quantile("x", q, where="x < 100"), monkeypatch)  # with NaN, a sketch rounds the rank twice
    for column in ("zeros", "i", "b", "f", "small", "huge", "none"):
        compare(agg.approx_quantile(column, q), monkeypatch, compiles=q == 0.7 and column in ("zeros", "i", "b"))


def test_nan_is_the_largest_value() -> None:
    table = pa.table({"x": [1.0, float("nan"), 2.0, float("nan")]})
    found = {q: sash.Query(agg.approx_quantile("x", q), window.rows(4)).run(table).to_pylist()[-1] for q in (0.5, 0.51)}
    assert repr([result["approx_quantile"] for result in found.values()]) == "[2.0, nan]"


def test_filters_and_maps_of_estimates(monkeypatch: pytest.MonkeyPatch) -> None:
    compare(agg.frequency("i", 3, where="x > 2"), monkeypatch)
    compare(agg.approx_quantile("f", 0.5, where="i > 3"), monkeypatch)
    for inner in (agg.frequency("w", "w3"), agg.approx_count_distinct("w"), agg.approx_quantile("f", 0.9)):
        compare(agg.per_value("small", inner), monkeypatch)


def test_several_items_of_one_column() -> None:
    aggregates = {str(item): agg.frequency("i", item) for item in range(5)}
    both = sash.Query(aggregates, window.rows(40), by="key").run(TABLE)
    for item in range(5):
        alone = sash.Query(agg.count("i", where=f"i = {item}"), window.rows(40), by="key").run(TABLE)
        assert both[str(item)].to_pylist() == alone["count"].to_pylist()


def test_large_windows_are_exact() -> None:
    table = pa.table({"x": np.arange(20_000) % 9_973})
    aggregates: dict[str, Any] = {"n": agg.approx_count_distinct("x"), "q": agg.approx_quantile("x", 0.25)}
    aggregates |= {"has": agg.may_contain("x", 10_000)}
    result = sash.Query(aggregates, window.expanding()).run(table).to_pylist()[-1]
    assert (result["n"], result["has"]) == (9_973, False)
    assert result["q"] == np.sort(table["x"].to_numpy())[4_999]


def test_estimates_are_not_interpreted() -> None:
    for aggregate in (agg.frequency("w", "a"), agg.may_contain("x", 1), agg.approx_count_distinct("c")):
        query = sash.Query(aggregate, window.rows(3))
        assert "interpreted" not in str(query.explain(TABLE))
        assert pickle.loads(pickle.dumps(aggregate)).forms.exact == aggregate.forms.exact  # noqa: S301


def test_other_types_are_refused_as_before() -> None:
    table = pa.table({"d": pa.array([1, 2]).cast(pa.timestamp("s"))})
    for aggregate in (agg.frequency("d", 1), agg.approx_count_distinct("d")):
        with pytest.raises(TypeError, match="Sketches take numbers and strings"):
            sash.Query(aggregate, window.rows(3)).run(table)
