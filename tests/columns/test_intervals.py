"""Intervals of SQL become durations, which pandas, Polars and CSV have."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import sash
from sash.columns.intervals import without_intervals

TIMES = [datetime(2026, 3, 1), datetime(2026, 3, 1, 5), datetime(2026, 5, 1)]  # noqa: DTZ001 — columns without a zone
ROWS = pa.table({"ts": pa.array(TIMES, pa.timestamp("us")), "x": [1, 2, 3]})
GAPS = [None, timedelta(hours=5), timedelta(days=60, hours=19)]
TEXT = "SELECT x, ts - lag(ts) OVER (ORDER BY ts) AS gap FROM t"


@pytest.mark.parametrize(
    "text", [TEXT, f"SELECT * FROM ({TEXT}) WHERE x > 0", f"SELECT *, max(gap) OVER (ORDER BY x) AS m FROM ({TEXT})"]
)
def test_the_time_since_the_previous_row(text: str) -> None:
    kinds: dict[str, Any] = {"arrow": ROWS, "polars": pl.from_arrow(ROWS), "pandas": ROWS.to_pandas()}
    found = {kind: sash.sql(text).run(data)["gap"] for kind, data in kinds.items()}
    assert found["arrow"].to_pylist() == found["polars"].to_list() == GAPS
    assert found["pandas"].tolist()[1:] == [pd.Timedelta(gap) for gap in GAPS[1:]]
    assert found["pandas"].isna().tolist() == [True, False, False]
    assert sash.sql(text).schema(ROWS).field("gap").type == pa.duration("us")


def test_slices_and_nulls() -> None:
    gaps = pa.array([None, pa.MonthDayNano([0, 2, -1_000_000]), pa.MonthDayNano([0, 0, 5_000])])
    table = pa.table({"gap": pa.chunked_array([gaps.slice(1), gaps, gaps.slice(0, 1), gaps.slice(0, 0)])})
    day, five = timedelta(days=2, milliseconds=-1), timedelta(microseconds=5)
    assert without_intervals(table)["gap"].to_pylist() == [day, five, None, day, five, None]


@pytest.mark.parametrize(
    "text",
    [
        "SELECT age(max(ts) OVER (), ts) AS a FROM t",
        "SELECT age(TIMESTAMP '2027-01-01', ts) AS a FROM (SELECT ts, max(x) OVER () AS m FROM t)",
    ],
)
def test_months_are_an_error(text: str) -> None:
    with pytest.raises(ValueError, match="months, which have no fixed length"):
        sash.sql(text).run(ROWS)
