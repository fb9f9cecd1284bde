"""The time of a lookup: text or a number of a request as a value of the time column, and the current time."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import Any

import pyarrow as pa
import pyarrow.types as pt

_NANOSECONDS = {"s": 1_000_000_000, "ms": 1_000_000, "us": 1_000, "ns": 1}


def read_moment(value: Any, dtype: pa.DataType) -> Any:
    """Return a time for `query.lookup`: the current one for None. Raise ValueError if it does not fit the time column.

    >>> read_moment("2026-03-02T10:00:00Z", pa.timestamp("us", "UTC"))
    datetime.datetime(2026, 3, 2, 10, 0, tzinfo=datetime.timezone.utc)
    >>> read_moment("17", pa.int64())
    17
    >>> read_moment(None, pa.int64())
    Traceback (most recent call last):
    ValueError: The time column has the type int64. Pass now=, a whole number: the clock does not tell it.
    """
    if value is None:
        return _current(dtype)
    try:
        if pt.is_timestamp(dtype):
            return _timestamp(value, dtype)
        if pt.is_date(dtype):
            return date.fromisoformat(value)
        if isinstance(value, bool) or not isinstance(value, int | str):
            _refuse()
        number = int(value)
        return timedelta(microseconds=number * _NANOSECONDS[dtype.unit] // 1_000) if pt.is_duration(dtype) else number
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(
            f"now={value!r} is not a time. The time column has the type {dtype}. {_advice(dtype)}"
        ) from error


def epoch(dtype: pa.DataType) -> Any:
    """Return the beginning of 1970, or 0, as a value of the time column."""
    if pt.is_timestamp(dtype):
        return datetime(1970, 1, 1, tzinfo=None if dtype.tz is None else UTC)
    if pt.is_duration(dtype):
        return timedelta(0)
    return date(1970, 1, 1) if pt.is_date(dtype) else 0


def _current(dtype: pa.DataType) -> Any:
    """Return the current time. Times without a zone are those of UTC."""
    now = datetime.now(UTC)
    if pt.is_timestamp(dtype):
        return now if dtype.tz is not None else now.replace(tzinfo=None)
    if pt.is_date(dtype):
        return now.date()
    raise ValueError(f"The time column has the type {dtype}. Pass now=, a whole number: the clock does not tell it.")


def _timestamp(text: str, dtype: pa.DataType) -> datetime:
    moment = datetime.fromisoformat(text)
    if (moment.tzinfo is None) != (dtype.tz is None):
        _refuse()
    return moment


def _refuse() -> Any:
    raise ValueError("of another type")


def _advice(dtype: pa.DataType) -> str:
    if pt.is_timestamp(dtype):
        zone = ", without a time zone" if dtype.tz is None else "; in a URL, + is %2B"
        return f"Write it as in 2026-03-02T10:00:00{'' if dtype.tz is None else 'Z'}{zone}."
    if pt.is_date(dtype):
        return "Write it as in 2026-03-02."
    return f"Write a whole number{f' of {dtype.unit}' if pt.is_duration(dtype) else ''}."
