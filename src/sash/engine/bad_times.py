"""Rows without a usable time: null, too large for windows, or, in a stream on Spark, far ahead of the clock."""

from __future__ import annotations

import warnings
from collections.abc import Iterator

import pyarrow as pa

from sash.columns.buffers import as_arrow, as_numpy
from sash.engine.failures import name_row
from sash.windows.base import Flags

FAR = 1 << 61
"""Ticks before or after the epoch beyond which windows might not fit 64 bits."""
FAR_NANOSECONDS = (1 << 62) - (1 << 59)
"""The same for nanoseconds, which would end in 2043: 1843 to 2097, so that differences of times, and windows of nine years, fit 64 bits."""


class BadTimesWarning(UserWarning):
    """Rows had no usable time, and were dropped, because of `on_bad_time="drop"`."""


def usable(column: pa.ChunkedArray) -> Flags:
    """Return which times are usable: neither null nor too far from 1970.

    >>> usable(pa.chunked_array([[3, None, 2**62]])).tolist()
    [True, False, False]
    """
    array = column.combine_chunks()
    if pa.types.is_date32(array.type):
        array = array.cast(pa.int32())
    elif array.type == pa.uint64():
        array = array.cast(pa.int64(), safe=False)  # too large ones become negative, and are in FAR
    ticks = as_numpy(array.cast(pa.int64()))  # with NumPy: a comparison with a number in Arrow would import pandas
    far = FAR_NANOSECONDS if getattr(array.type, "unit", "") == "ns" else FAR
    has: Flags = (ticks < far) & (ticks > -far)
    return has & as_numpy(array.is_valid()) if array.null_count else has


def warn_of_dropped(rows: int, time: str, what: str = "row(s)") -> None:
    """Warn that rows were dropped, if there are any."""
    if rows:
        message = f'{rows:,} {what} had no usable time in {time!r} and were dropped (on_bad_time="drop").'
        warnings.warn(message, BadTimesWarning, stacklevel=2)


def with_usable_times(reader: pa.RecordBatchReader, time: str) -> pa.RecordBatchReader:
    """Return the rows of a stream that have a usable time. At its end, a warning counts the others."""

    def batches() -> Iterator[pa.RecordBatch]:
        dropped = 0
        for batch in reader:
            kept = usable(pa.chunked_array([batch[time]]))
            dropped += len(batch) - int(kept.sum())
            yield batch if kept.all() else batch.filter(as_arrow(kept))
        warn_of_dropped(dropped, time)

    return pa.RecordBatchReader.from_batches(reader.schema, batches())


def split_times(table: pa.Table, time: str, latest: int | None) -> tuple[pa.Table, pa.Table, pa.Table]:
    """Return the rows with a usable time, those without, and those later than `latest`, in ticks.

    >>> good, without, ahead = split_times(pa.table({"t": [3, None, 9, 2**62]}), "t", 8)
    >>> good["t"].to_pylist(), without["t"].to_pylist(), ahead["t"].to_pylist()
    ([3], [None, 4611686018427387904], [9])
    """
    has = usable(table[time])
    good = has
    if latest is not None:
        good = has & (as_numpy(table[time].cast(pa.int64()).combine_chunks()) <= latest)
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
