"""The oracle follows the rules of docs/windows.md."""

from __future__ import annotations

from typing import Any

import pytest

from sash import agg, window
from sash.testing import recompute_query


@pytest.mark.parametrize(("exclude", "expected"), [("row", [2, 5, 2]), ("ties", [1, 6, 6]), ("group", [None, 4, 2])])
def test_rows_of_equal_time_and_order_are_peers(exclude: Any, expected: list[int | None]) -> None:
    rows = [{"t": 1, "o": 1, "x": 1}, {"t": 1, "o": 1, "x": 2}, {"t": 1, "o": 2, "x": 4}]
    around = window.rows(before=1, after=1, exclude=exclude)
    found = recompute_query(rows, {"n": agg.sum("x")}, around, time="t", order_by=["o"])
    assert [row["n"] for row in found] == expected


@pytest.mark.parametrize(("exclude", "expected"), [("row", [2, 1]), ("ties", [3, 3]), ("group", [2, 1])])
def test_without_a_time_column_no_row_has_peers(exclude: Any, expected: list[int]) -> None:
    rows = [{"o": 1, "x": 1}, {"o": 1, "x": 2}]
    around = window.rows(before=1, after=1, exclude=exclude)
    found = recompute_query(rows, {"n": agg.sum("x")}, around, order_by=["o"])
    assert [row["n"] for row in found] == expected
