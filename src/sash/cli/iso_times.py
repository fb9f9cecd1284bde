"""Times in text outputs: ISO 8601, such as 2026-03-02T12:00:00Z, whatever the unit of the column."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

HOUR, MINUTE = 3600, 60
ZERO_FRACTION = r"\.0+$"


def with_iso_times(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Return a batch with timestamps as text, also those in lists and structs.

    >>> times = pa.array([0, 1_500_000_000], pa.timestamp("ns", "Europe/Berlin"))
    >>> with_iso_times(pa.record_batch({"t": times})).to_pylist()
    [{'t': '1970-01-01T01:00:00+01:00'}, {'t': '1970-01-01T01:00:01.500000000+01:00'}]
    """
    columns = [iso_times(column) for column in batch.columns]
    return pa.record_batch(columns, names=batch.schema.names)


def has_times(dtype: pa.DataType) -> bool:
    """Return whether a type holds timestamps."""
    return pa.types.is_timestamp(dtype) or any(
        has_times(dtype.field(number).type) for number in range(dtype.num_fields)
    )


def iso_times(column: pa.Array) -> pa.Array:
    """Return a column with its timestamps as text; other columns as they are."""
    dtype: Any = column.type
    if not has_times(dtype):
        return column
    if pa.types.is_timestamp(dtype):
        return _text_of(column)
    if pa.types.is_struct(dtype):
        members = [iso_times(member) for member in column.flatten()]
        return pa.StructArray.from_arrays(members, names=[field.name for field in dtype], mask=column.is_null())
    if type(column) in (pa.ListArray, pa.LargeListArray) and not column.offset:
        return type(column).from_arrays(column.offsets, iso_times(column.values), mask=column.is_null())
    return column  # Python writes those of maps


def _text_of(column: pa.TimestampArray) -> pa.Array:
    """Return timestamps as text."""
    unit, zone = column.type.unit, column.type.tz
    local = column if zone is None else pc.local_timestamp(column)
    moments = local.cast(pa.int64()).fill_null(0).to_numpy().view(f"datetime64[{unit}]")
    texts = pc.replace_substring_regex(pa.array(np.datetime_as_string(moments)), ZERO_FRACTION, "")
    if zone is not None:
        instants = column.cast(pa.int64()).fill_null(0).to_numpy().view(moments.dtype)
        offsets, places = np.unique((moments - instants).astype("timedelta64[s]").astype(np.int64), return_inverse=True)
        names = pa.array([_offset_text(int(seconds)) for seconds in offsets], pa.string())
        texts = pc.binary_join_element_wise(texts, names.take(pa.array(places)), "")
    return pc.if_else(column.is_valid(), texts, pa.scalar(None, pa.string()))


def _offset_text(seconds: int) -> str:
    """Return the offset of a zone as text.

    >>> _offset_text(0), _offset_text(-12_600)
    ('Z', '-03:30')
    """
    if not seconds:
        return "Z"
    hours, rest = divmod(abs(seconds), HOUR)
    return f"{'-' if seconds < 0 else '+'}{hours:02}:{rest // MINUTE:02}" + (
        f":{rest % MINUTE:02}" if rest % MINUTE else ""
    )
