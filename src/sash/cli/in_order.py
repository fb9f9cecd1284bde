"""Rows in order, for inputs larger than memory: as they are, or sorted by DuckDB, which spills to disk."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa

from sash.cli.file_readers import BATCH_ROWS, Input, connect_duckdb
from sash.expressions import Computed
from sash.language.source_text import quoted
from sash.plan.query_spec import QuerySpec

DAYS_BITS = 32
"""The width of dates in days."""
ROW = "sash_row"
"""The column with the number of a row: DuckDB's sort is not stable, but rows of one time must keep their order."""


def is_in_order(source: Input, time: str) -> tuple[bool, int]:
    """Return whether the rows are in order of time, and how many rows were read to find out.

    Nulls count as in order: the query itself reports them.
    """
    newest, rows = None, 0
    for batch in source.open([time]):
        rows += len(batch)
        column = batch.column(0)
        if column.null_count or not len(column):
            continue
        if pa.types.is_temporal(column.type):
            column = column.cast(pa.int32() if column.type.bit_width == DAYS_BITS else pa.int64())
        times = column.to_numpy()
        if (newest is not None and times[0] < newest) or (times[1:] < times[:-1]).any():
            return False, rows
        newest = times[-1]
    return True, rows


def sort_columns(query: QuerySpec) -> tuple[list[str], str]:
    """Return the columns to sort by, and the name of this order for `Query.run`.

    Rows sorted by key need the state of one key at a time. A key that is computed has no column yet.
    """
    by_keys = bool(query.by) and not any(isinstance(name, Computed) for name in query.by)
    keys = list(map(str, query.by)) if by_keys else []
    times = [query.time] if query.time is not None else []
    return [*keys, *times, *query.order_by], "keys" if by_keys else "time"


def sorted_rows(rows: pa.RecordBatchReader, by: Sequence[str], memory: float, temporary: Path) -> pa.RecordBatchReader:
    """Return rows sorted by columns, nulls last; rows that are equal there keep their order.

    >>> import tempfile
    >>> rows = pa.table({"t": [3, 1, 3], "x": ["a", "b", "c"]}).to_reader()
    >>> sorted_rows(rows, ["t"], 1e9, Path(tempfile.mkdtemp())).read_all()["x"].to_pylist()
    ['b', 'a', 'c']
    """
    connection = connect_duckdb(
        memory_limit=f"{max(int(memory / 1e6), 64)}MB", temp_directory=str(temporary), preserve_insertion_order="false"
    )
    connection.register("unsorted", _numbered(rows))
    order = ", ".join(f"{quoted(name)} NULLS LAST" for name in [*by, ROW])
    ordered = connection.sql(f"SELECT * FROM unsorted ORDER BY {order}").to_arrow_reader(BATCH_ROWS)  # noqa: S608 — quoted names

    def batches() -> Iterator[pa.RecordBatch]:
        with connection:
            for batch in ordered:
                # DuckDB returns dictionaries as their values, and times with a zone in UTC
                yield from pa.Table.from_batches([batch]).drop_columns([ROW]).cast(rows.schema).to_batches()

    return pa.RecordBatchReader.from_batches(rows.schema, batches())


def _numbered(rows: pa.RecordBatchReader) -> pa.RecordBatchReader:
    def batches() -> Iterator[pa.RecordBatch]:
        number = 0
        for batch in rows:
            yield batch.append_column(ROW, pa.array(np.arange(number, number + len(batch))))
            number += len(batch)

    return pa.RecordBatchReader.from_batches(rows.schema.append(pa.field(ROW, pa.int64())), batches())
