"""The queries in Sash, over a stream of small batches."""

from __future__ import annotations

import pyarrow as pa

from benchmarks.first_answer import ask_sash
from benchmarks.first_answer.ask_sash import columns, load

__all__ = ["answer", "columns", "load"]
BATCH_ROWS = 100


def answer(name: str, rows: pa.Table) -> pa.Table:
    """Declare a query, run it over the rows batch by batch, and read all results."""
    batches = rows.to_batches(max_chunksize=BATCH_ROWS)
    return ask_sash.query_of(name).run(pa.RecordBatchReader.from_batches(rows.schema, batches)).read_all()
