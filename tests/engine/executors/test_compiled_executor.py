"""Windows of the newest rows are evaluated key by key if keys are long: with the same results and errors."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from helpers.pairwise import FULL, some
from helpers.queries import Named, assert_equal, long_stream, table_of

import sash
from sash import agg, window
from sash.engine.executors import compiled_executor
from sash.engine.executors.compiled_executor import CompiledExecutor


@pytest.mark.parametrize(("rows", "least"), some([(7, 3), (7, 1), (1, 1), (5_000, 3)], 4))
def test_keys_one_after_the_other_give_the_same(monkeypatch: pytest.MonkeyPatch, rows: int, least: int) -> None:
    monkeypatch.setattr(compiled_executor, "ROWS_PER_CALL", 1)
    table = table_of(long_stream(3, 3))
    aggregates: Named = {
        "peak": agg.max("v"),
        "mean": agg.mean("x"),
        "mid": agg.median("v"),
        **({"sd": agg.stddev("x"), "n": agg.count("x")} if FULL else {}),
    }
    query = sash.Query(aggregates, window.rows(rows, min_rows=least), by="key", time="t")
    expected = query.run(table, compiled=False)
    assert_equal(query.run(table, compiled=True), expected.to_pylist())
    assert len(query.run(table.slice(0, 0), compiled=True)) == 0


def test_errors_name_the_row(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiled_executor, "ROWS_PER_CALL", 1)
    table = pa.table({"k": ["a", "b", "b"], "x": [1, 2**62, 2**62]})
    with pytest.raises(OverflowError, match="the row of k=b"):
        sash.Query(agg.sum("x"), window.rows(2), by="k").run(table, compiled=True)


@pytest.mark.parametrize("seed", range(8 if FULL else 1))
def test_nulls_are_neutral_rows(monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    chooser = np.random.default_rng(seed)
    rows = int(chooser.integers(1, 300))
    loads = chooser.normal(size=rows)
    loads[chooser.random(rows) < 0.1] = chooser.choice([np.nan, np.inf, -np.inf])
    whole = chooser.choice([-(2**63), 2**63 - 1, 3, 4], rows)
    nulls = chooser.random(rows) < chooser.random()
    table = pa.table(
        {
            "k": np.sort(chooser.integers(0, 3, rows)),
            "x": pa.array(loads, mask=nulls),
            "i": pa.array(whole, mask=nulls),
            "small": pa.array(whole % 7, mask=nulls),
            "b": pa.array(loads > 0, mask=nulls),
        }
    )
    aggregates = {
        "max": agg.max("x"), "low": agg.min("i"), "total": agg.sum("small"), "any": agg.any("b"),
    }  # fmt: skip
    if FULL:
        aggregates |= {
            "min": agg.min("x"), "sum": agg.sum("x"), "mean": agg.mean("x"), "n": agg.count("x"), "top": agg.max("i"),
            "average": agg.mean("small"), "all": agg.all("b"), "first": agg.max("b"),
        }  # fmt: skip
    length = int(chooser.integers(1, 20))
    windows = window.rows(length, min_rows=int(chooser.integers(1, length + 1)))
    monkeypatch.setattr(compiled_executor, "ROWS_PER_CALL", 1)
    used: list[int] = []
    masked = CompiledExecutor._slide_masked
    monkeypatch.setattr(CompiledExecutor, "_slide_masked", lambda *given: used.append(1) or masked(*given))  # type: ignore[func-returns-value]
    query = sash.Query(aggregates, windows, by="k")
    found, expected = query.run(table, compiled=True), query.run(table, compiled=False)
    assert found.schema == expected.schema
    assert used or not nulls.any()
    for name in aggregates:
        for mine, other in zip(found[name].to_pylist(), expected[name].to_pylist(), strict=True):
            assert mine == pytest.approx(other, rel=1e-9, nan_ok=True) if isinstance(other, float) else mine == other


@pytest.mark.parametrize("around", some([(30, 20), (1, 1), (0, 0), (700, 2)], 4), ids=str)
def test_windows_without_their_row_are_evaluated_in_sections(
    around: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    before, after = around
    lengths = [24_001, 3, 0, 1, 17_007, 9_000]  # the last section of a key may be shorter than a window
    keys = np.repeat(np.arange(len(lengths)), lengths)
    values = np.random.default_rng(5).integers(-1000, 1000, len(keys))
    table = pa.table({"k": keys, "t": np.concatenate([np.arange(one) for one in lengths]), "x": values})
    aggregates = {"top": agg.max("x"), "n": agg.count("x")}
    if FULL:
        aggregates |= {"total": agg.sum("x"), "spread": agg.stddev("x")}
    query = sash.Query(
        by="k",
        time="t",
        windows=window.rows(before=before, after=after, exclude="row"),
        aggregates=aggregates,
    )
    monkeypatch.setattr(compiled_executor, "ROWS_PER_CALL", 5_000)
    monkeypatch.setattr(compiled_executor, "WINDOWS_PER_SPLIT", 2_000)
    sections = query.run(table, compiled=True)
    monkeypatch.setattr(compiled_executor, "ROWS_PER_CALL", 1 << 40)
    at_once = query.run(table, compiled=True)
    for name in aggregates.keys() - {"spread"}:
        assert sections[name].equals(at_once[name])
    if "spread" in aggregates:
        assert sections["spread"].is_null().equals(at_once["spread"].is_null())
        np.testing.assert_allclose(
            sections["spread"].drop_null().to_numpy(), at_once["spread"].drop_null().to_numpy(), rtol=1e-12
        )
    if not after:
        assert sections["n"].to_pylist() == [0] * len(keys)
        return
    own = values[24_005:41_012]  # of a long key
    rows = [
        max(own[max(0, row - before) : row].tolist() + own[row + 1 : row + 1 + after].tolist()) for row in (1, 9_000)
    ]
    assert [sections["top"][24_005 + row].as_py() for row in (1, 9_000)] == rows


def test_an_error_in_a_window_without_its_row_names_the_row(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiled_executor, "ROWS_PER_CALL", 10)
    table = pa.table({"t": np.arange(20_000), "x": np.full(20_000, 1 << 62)})
    query = sash.Query(time="t", windows=window.rows(before=2, after=2, exclude="row"), aggregates={"s": agg.sum("x")})
    with pytest.raises(OverflowError, match=r"sum\(x\)"):
        query.run(table, compiled=True)
