"""Rows of a bucket are packed into one value, and results unpacked."""

from __future__ import annotations

import pyarrow as pa

from sash.state.codec import read_table
from sash.workers.own_columns import GROUP
from sash.workers.packing import GUARD, ROWS, packing


def test_what_is_packed_is_unpacked() -> None:
    table = pa.table({GROUP: pa.array([2, 1, 2, 2], pa.int32()), "x": ["a", None, "c", "d"]})
    pack = packing(table.column_names, "")
    [packed] = pack(iter(table.to_batches(max_chunksize=1)))
    assert packed[GROUP].to_pylist() == [GUARD, 1, 2]
    assert read_table(packed[ROWS][2].as_buffer())["x"].to_pylist() == ["a", "c", "d"]
    assert list(pack(iter([]))) == []
