"""Windows of the newest rows are evaluated key by key if keys are long: with the same results and errors."""

from __future__ import annotations

import pyarrow as pa
import pytest
from helpers.queries import assert_equal, long_stream, table_of

import sash
from sash import agg, window
from sash.engine import passes


@pytest.mark.parametrize("rows", [1, 7, 5_000])
@pytest.mark.parametrize("least", [1, 3])
def test_keys_one_after_the_other_give_the_same(monkeypatch: pytest.MonkeyPatch, rows: int, least: int) -> None:
    monkeypatch.setattr(passes, "ROWS_PER_CALL", 1)
    table = table_of(long_stream(3, 3))
    aggregates = {
        "peak": agg.max("v"),
        "mean": agg.mean("x"),
        "sd": agg.stddev("x"),
        "n": agg.count("x"),
        "mid": agg.median("v"),
    }
    query = sash.Query(aggregates, window.rows(rows, min_rows=least), by="key", time="t")
    expected = query.run(table, compiled=False)
    assert_equal(query.run(table, compiled=True), expected.to_pylist())
    assert len(query.run(table.slice(0, 0), compiled=True)) == 0


def test_errors_name_the_row(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(passes, "ROWS_PER_CALL", 1)
    table = pa.table({"k": ["a", "b", "b"], "x": [1, 2**62, 2**62]})
    with pytest.raises(OverflowError, match="the row of k=b"):
        sash.Query(agg.sum("x"), window.rows(2), by="k").run(table, compiled=True)
