"""Rows of a stream in any order → the same rows by key and time, with a limited amount of memory.

The order is that of `sort_on_disk`: keys in the order of their first rows, then time, then `order_by`, then arrival. So is that of a run over
a table.
"""

from __future__ import annotations

from collections.abc import Iterator
from tempfile import gettempdir

import pyarrow as pa

from sash.columns.read_column import readable_schema
from sash.plan.query_spec import QuerySpec
from sash.workers.spill import SortFolder, bytes_of, sort_on_disk

SORT_SHARE = 0.5
"""The share of the memory for sorting. The rest is for results, and for rows that later windows need."""
LEAST_BYTES, MOST_BYTES = 1 << 20, 1 << 35
"""Limits of the memory for sorting: if little is free, and if it is not known how much is."""


def sorted_reader(
    reader: pa.RecordBatchReader, query: QuerySpec, memory: float, folder: str | None = None
) -> pa.RecordBatchReader:
    """Return the rows of a reader by key and time. All are read when the first is asked for.

    `memory` is in bytes. `folder` is where rows are that do not fit, by default the system's folder for temporary files. Nothing is left
    there when the reader has ended or is deleted. Raise OSError if the disk is full.

    >>> from sash import agg, window
    >>> from sash.plan.query_spec import parse_query
    >>> query = parse_query({"n": agg.count()}, window.rows(2), by="key", time="at")
    >>> rows = pa.table({"key": ["b", "a", "b"], "at": [3, 1, 2]}).to_reader()
    >>> sorted_reader(rows, query, 1e6).read_all().to_pydict()
    {'key': ['b', 'b', 'a'], 'at': [2, 3, 1]}
    """
    most_bytes = int(min(max(SORT_SHARE * memory, LEAST_BYTES), MOST_BYTES))
    place = SortFolder(
        folder or gettempdir(),
        "The rows do not fit the memory",
        "Set TMPDIR to a folder on a larger disk, or give more memory.",
    )

    def batches() -> Iterator[pa.RecordBatch]:
        with sort_on_disk(_small_batches(reader, most_bytes), query, most_bytes, place) as pieces:
            for piece in pieces:
                yield from piece.to_batches()

    return pa.RecordBatchReader.from_batches(readable_schema(reader.schema), batches())


def _small_batches(reader: pa.RecordBatchReader, most_bytes: int) -> Iterator[pa.RecordBatch]:
    """Yield batches in parts of a few percent of the memory."""
    for batch in reader:
        parts = min(len(batch), 1 + 32 * bytes_of(batch) // most_bytes)
        rows = -(-len(batch) // max(1, parts))
        yield from (batch.slice(first, rows) for first in range(0, len(batch), rows))
