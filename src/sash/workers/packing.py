"""Packs rows into one blob per bucket, and unpacks results.

Spark passes rows to and from a stateful operator one by one. A blob holds thousands of rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pyarrow as pa

from sash.columns.buffers import as_arrow, as_numpy, binary_array
from sash.state.codec import read_table, table_bytes
from sash.workers.own_columns import GROUP
from sash.workers.spill import gather
from sash.workers.worker_function import marked_errors, titled

ROWS, RESULTS = "sash_rows", "sash_results"
PACKED = f"{GROUP} int, {ROWS} binary"
GUARD = -1
"""A group of its own, which every task with rows sends an empty blob: its state has the fingerprint of the query."""
MOST_BYTES = 1 << 25
"""Rows of about this many bytes are sorted by bucket at once."""
RESULT_ROWS = 100_000
"""Results go to Spark in batches of at most this many rows."""


def packing(names: list[str], title: str) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Return the function that Spark calls with rows whose columns have these names, for the query with this title."""

    def pack(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        with marked_errors():
            named = (batch.rename_columns(names) for batch in batches if len(batch))
            yield from map(pack_rows, gather(named, MOST_BYTES))

    return titled(pack, f"rows of {title}")


def pack_rows(table: pa.Table) -> pa.RecordBatch:
    """Return rows as one blob per bucket, and an empty one for the guard.

    >>> packed = pack_rows(pa.table({GROUP: pa.array([5, 2, 5], pa.int32()), "x": [1, 2, 3]}))
    >>> packed[GROUP].to_pylist(), read_table(packed[ROWS][2].as_buffer())["x"].to_pylist()
    ([-1, 2, 5], [1, 3])
    """
    groups = as_numpy(table[GROUP].combine_chunks())
    order = np.argsort(groups, kind="stable")
    rows = table.drop_columns([GROUP]).take(as_arrow(order)).combine_chunks()
    buckets, begins = np.unique(groups[order], return_index=True)
    ends = np.append(begins[1:], len(order))
    tables = [rows.slice(0, 0), *(rows.slice(begin, end - begin) for begin, end in zip(begins, ends, strict=True))]
    numbers = as_arrow(np.concatenate([[GUARD], buckets]).astype(np.int32))
    return pa.record_batch({GROUP: numbers, ROWS: binary_array(list(map(table_bytes, tables)), pa.binary())})


def unpacking(title: str) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Return the function that Spark calls with packed results of the query with this title."""

    def unpack(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for blob in batch.column(RESULTS):
                if blob.is_valid:
                    yield from read_table(blob.as_buffer()).to_batches(max_chunksize=RESULT_ROWS)

    return titled(unpack, title)
