"""A table that is in order already gives the block that sorting would give."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sash.engine.row_block import RowLayout, read_rows, rows_in_order
from sash.engine.time_column import time_column
from sash.windows.numpy_forms import numpy_form

LAYOUT = RowLayout(("k",), time_column("t", pa.int64()), ())
pairs = st.lists(st.tuples(st.integers(-3, 3), st.integers(0, 9)), min_size=1, max_size=30)


@given(pairs, st.booleans(), st.sampled_from([pa.int64(), pa.int8(), pa.uint16()]))
def test_the_block_is_that_of_sorted_rows(rows: list[tuple[int, int]], is_sorted: bool, kind: pa.DataType) -> None:
    made = sorted(rows) if is_sorted else rows
    keys, times = (list(column) for column in zip(*made, strict=True))
    table = pa.table({"k": pa.array([key + 3 for key in keys], kind), "t": times})
    found = rows_in_order(table, LAYOUT)
    assert (found is not None) == (made == sorted(rows))
    if found is not None:
        expected = read_rows(table, LAYOUT, numpy_form).sorted(numpy_form)
        assert found.firsts.tolist() == expected.firsts.tolist()
        assert found.times.tolist() == expected.times.tolist()
        assert found.source_rows(np.arange(len(rows))).tolist() == list(range(len(rows)))


@pytest.mark.parametrize(
    ("table", "layout"),
    [
        (pa.table({"k": ["a", "b"], "t": [1, 2]}), LAYOUT),
        (pa.table({"k": [1, None], "t": [1, 2]}), LAYOUT),
        (pa.table({"k": pa.array([], pa.int64()), "t": pa.array([], pa.int64())}), LAYOUT),
        (pa.table({"k": [1, 2], "t": [1, 2]}), RowLayout(("k", "t"), None, ())),
        (pa.table({"k": [1, 2], "t": [1, 2]}), RowLayout(("k",), None, ("t",))),
    ],
    ids=["text", "null", "empty", "two keys", "ties"],
)
def test_other_tables_are_read_as_usual(table: pa.Table, layout: RowLayout) -> None:
    assert rows_in_order(table, layout) is None
