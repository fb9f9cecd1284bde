"""Rows of a bucket are packed into one value, and results unpacked."""

from __future__ import annotations

import pyarrow as pa

from sash.state.codec import read_table
from sash.workers.own_columns import GROUP, HASH
from sash.workers.packing import BUCKETS, GUARD, ROWS, packing
from sash.workers.spread import spread_out


def test_what_is_packed_is_unpacked() -> None:
    table = pa.table({HASH: [(7 << 32) + 5, 1 << 40, -1, -4], "x": ["a", None, "c", "d"]})
    pack = packing(table.column_names, "", lambda: 3)
    [packed] = pack(iter(table.to_batches(max_chunksize=1)))
    first, _, last = spread_out(3)
    assert packed[GROUP].to_pylist() == [GUARD, first, last]
    assert read_table(packed[ROWS][0].as_buffer()).schema.metadata == {BUCKETS: b"3"}
    own = read_table(packed[ROWS][2].as_buffer())
    assert own.to_pydict() == {HASH: [5, -1, -4], "x": ["a", "c", "d"]}
    assert own.schema.field(HASH).type == pa.int32()
    assert list(pack(iter([]))) == []


def test_rows_without_keys_have_one_bucket() -> None:
    [packed] = packing(["x"], "", lambda: 3)(iter(pa.table({"x": [1, 2]}).to_batches()))
    assert packed[GROUP].to_pylist() == [GUARD, *spread_out(1)]
