"""A sum of zeros has the same sign however it is computed: that of -0.0 if all values are -0.0, whatever nulls stand between them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from helpers.pairwise import matrix

import sash
from sash import agg, window
from sash.engine.executors.compiled_executor import ROWS_PER_CALL

AGGREGATES = {"sum": agg.sum("x"), "mean": agg.mean("x"), "weighted_mean": agg.weighted_mean("x", "w")}
WINDOWS = {"rows": window.rows(3), "min_rows": window.rows(5, min_rows=2), "time": window.time(4, slide=2)}


def zeros(rows: int, share_of_nulls: float) -> pa.Table:
    """Return rows of one key: long runs of -0.0 alone, zeros of both signs, and nulls."""
    chooser = np.random.default_rng(5)
    values = chooser.choice([-0.0, 0.0], rows)
    values[: rows // 2] = -0.0
    nulls = chooser.random(rows) < share_of_nulls
    return pa.table({"t": np.arange(rows), "x": pa.array(values, mask=nulls), "w": np.ones(rows)})


@pytest.mark.parametrize(
    ("name", "windows", "share_of_nulls", "rows"), matrix(AGGREGATES, WINDOWS, [0.0, 0.4], [50, 2 * ROWS_PER_CALL])
)
def test_the_sign_of_zero_does_not_depend_on_the_executor(
    name: str, windows: str, share_of_nulls: float, rows: int
) -> None:
    query = sash.Query({"r": AGGREGATES[name]}, WINDOWS[windows], time="t")
    table = zeros(rows, share_of_nulls)
    compiled, vectorised = (query.run(table, compiled=choice)["r"] for choice in (True, False))
    assert compiled.null_count == vectorised.null_count
    signs: Any = [np.signbit(results.drop_null().to_numpy()) for results in (compiled, vectorised)]
    assert (signs[0] == signs[1]).all()
    assert signs[0][: rows // 8].all()
    assert not signs[0].all()
