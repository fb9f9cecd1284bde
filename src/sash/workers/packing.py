"""Packs rows into one blob per bucket, and unpacks results.

Spark passes rows to and from a stateful operator one by one. A blob holds thousands of rows.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sash.columns.buffers import as_arrow, as_numpy, binary_array
from sash.state.codec import read_table, table_bytes
from sash.windows.base import Ints
from sash.workers.own_columns import GROUP, HASH
from sash.workers.spill import gather
from sash.workers.spread import spread_out
from sash.workers.worker_function import marked_errors, titled

ROWS, RESULTS = "sash_rows", "sash_results"
PACKED = f"{GROUP} int, {ROWS} binary"
GUARD = -1
"""A group of its own, which every task with rows sends an empty blob: its state has the fingerprint of the query."""
ERASED = b"erased"
"""In the metadata of a blob: it has keys to erase in place of rows."""
BUCKETS = b"buckets"
"""The number of buckets, in the metadata of the blob for the guard."""
MOST_BYTES = 1 << 25
"""Rows of about this many bytes are sorted by bucket at once."""
SIZE = struct.Struct("<Q")
RESULT_ROWS = 100_000
"""Results go to Spark in batches of at most this many rows."""


def packing(
    names: list[str], title: str, count_buckets: Callable[[], int], erased: pa.Table | None = None
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Return the function that Spark calls with rows whose columns have these names, for the query with this title.

    `erased` are keys to erase, with their hashes. A task calls `count_buckets` when its rows arrive: only then is it known how many tasks with state the stream has.
    """

    def pack(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        with marked_errors():
            named = (batch.rename_columns(names) for batch in batches if len(batch))
            for table in gather(named, MOST_BYTES):
                buckets = count_buckets()
                yield pack_rows(table, buckets)
                if erased is not None:
                    yield pack_erased(erased, buckets)

    return titled(pack, f"rows of {title}")


def pack_rows(table: pa.Table, buckets: int) -> pa.RecordBatch:
    """Return rows as one blob per bucket, and an empty one for the guard. Without hashes of keys, there is one bucket.

    >>> packed = pack_rows(pa.table({HASH: [5, 2, 5], "x": [1, 2, 3]}), 3)
    >>> len(packed), read_table(packed[ROWS][1].as_buffer()).to_pydict()
    (2, {'sash_hash': [5, 2, 5], 'x': [1, 2, 3]})
    """
    places = np.zeros(len(table), np.int64)
    if HASH in table.column_names:
        hashes = as_numpy(table[HASH].combine_chunks()).astype(np.int32)  # the last 32 bits
        places = bucket_places(hashes, buckets)
        table = table.set_column(table.column_names.index(HASH), HASH, as_arrow(hashes))
    else:
        buckets = 1
    order = np.argsort(places, kind="stable")
    rows = table.take(as_arrow(order)).combine_chunks()
    found, begins = np.unique(places[order], return_index=True)
    ends = np.append(begins[1:], len(order))
    guard = rows.slice(0, 0).replace_schema_metadata({BUCKETS: str(buckets)})
    tables = [guard, *(rows.slice(begin, end - begin) for begin, end in zip(begins, ends, strict=True))]
    groups = [GUARD, *(spread_out(buckets)[place] for place in found)]
    return pa.record_batch(
        {GROUP: pa.array(groups, pa.int32()), ROWS: binary_array(list(map(table_bytes, tables)), pa.binary())}
    )


def pack_erased(keys: pa.Table, buckets: int) -> pa.RecordBatch:
    """Return keys to erase as one blob per bucket."""
    packed = pack_rows(keys, buckets)
    blobs = [read_table(blob.as_buffer()).replace_schema_metadata({ERASED: ""}) for blob in packed[ROWS][1:]]
    return pa.record_batch({GROUP: packed[GROUP][1:], ROWS: binary_array(list(map(table_bytes, blobs)), pa.binary())})


def bucket_places(hashes: npt.NDArray[Any], buckets: int) -> Ints:
    """Return the places of the buckets that keys are in, from the last 32 bits of their hashes."""
    return hashes.astype(np.int64) % buckets


def pack_state(state: bytes) -> bytes:
    """Return a state on its way to its bucket, compressed.

    >>> unpack_state(pack_state(b"state"))
    b'state'
    """
    packed: bytes = SIZE.pack(len(state)) + pa.compress(state, "zstd", asbytes=True)
    return packed


def unpack_state(packed: bytes) -> bytes:
    """Return the state from `pack_state`."""
    raw: bytes = pa.decompress(memoryview(packed)[SIZE.size :], *SIZE.unpack_from(packed), "zstd", asbytes=True)
    return raw


def unpacking(title: str) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Return the function that Spark calls with packed results of the query with this title."""

    def unpack(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        with marked_errors():
            for batch in batches:
                for blob in batch.column(RESULTS):
                    if blob.is_valid:
                        yield from read_table(blob.as_buffer()).to_batches(max_chunksize=RESULT_ROWS)

    return titled(unpack, title)
