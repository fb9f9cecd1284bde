"""Rows of a stream without a usable time: null, too large for windows, or far ahead of the clock."""

from __future__ import annotations

import pyarrow as pa

from sash.columns.buffers import as_arrow, as_numpy
from sash.engine.failures import name_row

FAR = 1 << 61
"""Ticks before or after the epoch beyond which windows might not fit 64 bits."""


def split_times(table: pa.Table, time: str, latest: int | None) -> tuple[pa.Table, pa.Table, pa.Table]:
    """Return the rows with a usable time, those without, and those later than `latest`, in ticks.

    >>> good, without, ahead = split_times(pa.table({"t": [3, None, 9, 2**62]}), "t", 8)
    >>> good["t"].to_pylist(), without["t"].to_pylist(), ahead["t"].to_pylist()
    ([3], [None, 4611686018427387904], [9])
    """
    column = table[time].cast(pa.int64()).combine_chunks()
    ticks = as_numpy(column)  # with NumPy: a comparison with a number in Arrow would import pandas
    has = (ticks < FAR) & (ticks > -FAR)
    if column.null_count:
        has &= as_numpy(column.is_valid())
    good = has if latest is None else has & (ticks <= latest)
    if good.all():
        return table, table.slice(0, 0), table.slice(0, 0)
    without, ahead = (table.filter(as_arrow(rows)) for rows in (~has, has & ~good))
    return table.filter(as_arrow(good)), without, ahead


def check_times(without: pa.Table, ahead: pa.Table, by: tuple[str, ...], time: str) -> None:
    """Raise ValueError if there are rows without a usable time."""
    if len(without):
        raise ValueError(
            f"A row ({name_row(without, (*by, time), 0)}) has no valid time.{_and_more(without)} "
            'Filter such rows before the query, or run with on_bad_time="drop", which counts them.'
        )
    if len(ahead):
        raise ValueError(
            f"A row ({name_row(ahead, (*by, time), 0)}) is further ahead of the clock than ahead= allows."
            f"{_and_more(ahead)} It would move the watermark ahead, and all later rows would be late. Filter such rows "
            f'before withWatermark, df.filter("{time} < current_timestamp() + INTERVAL 1 DAY"), or run with ahead=None if '
            "they are right."
        )


def _and_more(rows: pa.Table) -> str:
    """Return a sentence about the other rows; "" if there is only one."""
    return f" Its bucket has {len(rows) - 1} more such row(s)." if len(rows) > 1 else ""
