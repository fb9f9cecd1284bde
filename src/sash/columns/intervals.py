"""Intervals of SQL → durations. DuckDB computes `ts - lag(ts)` as months, days and nanoseconds, which Polars cannot read."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from sash.columns.buffers import as_arrow, as_numpy

INTERVAL = pa.month_day_nano_interval()
DURATION = pa.duration("us")
PARTS = np.dtype([("months", np.int32), ("days", np.int32), ("nanoseconds", np.int64)])
DAY = 86_400_000_000
"""The microseconds of a day."""
MOST_DAYS = 100_000_000


def without_intervals(table: pa.Table) -> pa.Table:
    """Return a table with durations in place of intervals. Raise ValueError if one has months, which have no fixed length.

    >>> without_intervals(pa.table({"gap": [pa.MonthDayNano([0, 1, 1000])]}))["gap"].to_pylist()
    [datetime.timedelta(days=1, microseconds=1)]
    """
    for place, column in enumerate(table.schema):
        if column.type == INTERVAL:
            chunks = [_durations(chunk, column.name) for chunk in table.column(place).chunks]
            table = table.set_column(place, column.name, pa.chunked_array(chunks, DURATION))
    return table


def _durations(array: pa.Array, name: str) -> pa.Array:
    is_null = as_numpy(array.is_null())
    if is_null.all():
        return pa.nulls(len(array), DURATION)
    parts = np.frombuffer(array.buffers()[1], PARTS)[array.offset : array.offset + len(array)]
    days = np.where(is_null, 0, parts["days"]).astype(np.int64)
    if (parts["months"][~is_null] != 0).any() or (np.abs(days) > MOST_DAYS).any():
        problem = f"{name!r} is an interval with months, which have no fixed length."
        raise ValueError(f"{problem} Subtract times, ts - lag(ts), or name a unit: date_diff('day', a, b).")
    return as_arrow(days * DAY + parts["nanoseconds"] // 1000, is_null).view(DURATION)
