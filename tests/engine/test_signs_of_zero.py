"""A result of zero has the same sign however it is computed: 0.0, as in Python and Spark."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import sash
from sash import agg, window
from sash.engine.executors.compiled_executor import ROWS_PER_CALL

AGGREGATES = {
    "sum": agg.sum("x"),
    "mean": agg.mean("x"),
    "weighted_mean": agg.weighted_mean("x", "w"),
    "median": agg.median("x"),
    "quantile": agg.quantile("x", 0.3),
}
WINDOWS = {"rows": window.rows(3), "min_rows": window.rows(5, min_rows=2), "time": window.time(4, slide=2)}


def zeros(rows: int, share_of_nulls: float) -> pa.Table:
    """Return rows of one key: zeros of both signs and nulls, and long runs of -0.0 alone."""
    chooser = np.random.default_rng(5)
    values = chooser.choice([-0.0, 0.0], rows)
    values[: rows // 2] = -0.0
    nulls = chooser.random(rows) < share_of_nulls
    return pa.table({"t": np.arange(rows), "x": pa.array(values, mask=nulls), "w": np.ones(rows)})


@pytest.mark.parametrize("rows", [50, 2 * ROWS_PER_CALL])
@pytest.mark.parametrize("share_of_nulls", [0.0, 0.4])
@pytest.mark.parametrize("windows", WINDOWS)
@pytest.mark.parametrize("name", AGGREGATES)
@pytest.mark.parametrize("compiled", [True, False])
def test_a_result_of_zero_is_positive(
    name: str, windows: str, share_of_nulls: float, rows: int, compiled: bool
) -> None:
    query = sash.Query({"r": AGGREGATES[name]}, WINDOWS[windows], time="t")
    results: Any = query.run(zeros(rows, share_of_nulls), compiled=compiled)["r"].drop_null().to_numpy()
    assert len(results)
    assert not results.any()
    assert not np.signbit(results).any()
