"""The time column: times as ticks, and ticks as times."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from sash.columns.buffers import as_arrow, as_numpy
from sash.columns.column_types import DAY, column_type
from sash.columns.read_column import to_arrow
from sash.durations import TimeUnit
from sash.hints import counted
from sash.windows.base import Ints

TICKS = {"s": 1_000_000_000, "ms": 1_000_000, "us": 1_000, "ns": 1}
FORMAT = "%d/%m/%Y %H:%M"
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class TimeColumn:
    """The type of a time column."""

    name: str
    type: pa.DataType
    tick: int | None
    """Nanoseconds of a tick; None if it holds integers."""

    def check_range(self, ticks: int) -> int:
        """Return a time in ticks. Raise ValueError if the column cannot hold it."""
        if not -(1 << 63) < ticks < 1 << 63:
            raise ValueError(f"The time column {self.name!r} is of type {self.type}, which cannot hold this time.")
        return ticks

    @cached_property
    def unit(self) -> TimeUnit:
        """The unit, as windows and durations take it."""
        return TimeUnit(self.name, self.tick, getattr(self.type, "tz", None) or "")

    def read(self, column: pa.ChunkedArray | pa.Array) -> Ints:
        """Return the times in ticks. Raise ValueError if there are nulls."""
        array = to_arrow(column)
        if array.null_count:
            raise ValueError(
                f"The time column {self.name!r} is null in {counted(array.null_count, 'row')}. Fill in a time, or drop such rows: with "
                'run(data, on_bad_time="drop"), on the command line with --on-bad-time drop, on Spark with a filter before the query.'
            )
        if self.type == pa.date64():
            array = array.cast(pa.date32(), safe=False)
        row = column_type(array.type)
        numbers = array.view(row.numbers) if row.is_time else array
        try:
            ticks: Ints = as_numpy(numbers if numbers.type == pa.int64() else numbers.cast(pa.int64()))
        except pa.ArrowInvalid as error:
            raise OverflowError(
                f"The time column {self.name!r} has values above 2**63 - 1. Cast it to int64."
            ) from error
        return ticks

    def write(self, ticks: Ints) -> pa.Array:
        """Return ticks as a column of this type; integers as int64, since a window may begin at a negative time."""
        array, row = as_arrow(ticks), column_type(self.type)
        if not row.is_time:
            return array
        try:
            if row.group == "date":
                return array.cast(pa.int32()).view(pa.date32()).cast(self.type)
            return array.view(self.type)
        except pa.ArrowInvalid as error:
            raise OverflowError(
                f"Windows over {self.name!r} begin or end at times that {self.type} cannot hold. Cast the column."
            ) from error


def has_zone(moment: Any) -> bool:
    """Return whether a time of Python, NumPy or pandas has a zone."""
    return isinstance(moment, datetime) and moment.tzinfo is not None


def nanoseconds_of(moment: Any) -> int:
    """Return a time of Python, NumPy or pandas in nanoseconds since 1970; without a zone, by its clock. Raise TypeError if it is no time.

    Arrow does not convert them: it drops the nanoseconds of pandas, and with PYARROW_IGNORE_TIMEZONE the zones.

    >>> nanoseconds_of(datetime(1970, 1, 1, 0, 0, 2)), nanoseconds_of(np.datetime64("1970-01-01T00:00:00.000000007"))
    (2000000000, 7)
    """
    if isinstance(moment, np.datetime64) and not np.isnat(moment):
        unit = "ns" if np.datetime_data(moment.dtype)[0] == "ns" else "us"
        return int(moment.astype(f"datetime64[{unit}]").astype(np.int64)) * TICKS[unit]
    is_null = isinstance(moment, datetime) and math.isnan(moment.year)  # NaT of pandas
    if is_null or not isinstance(moment, date):
        raise TypeError(f"{moment!r} is not a time.")
    if not isinstance(moment, datetime):
        moment = datetime(moment.year, moment.month, moment.day)  # noqa: DTZ001 — a date has no zone
    try:
        since = moment - (EPOCH if moment.tzinfo else EPOCH.replace(tzinfo=None))
    except OverflowError as error:  # the beginning of year 1, in a zone in which UTC is before it
        raise ValueError(f"{moment!r} is out of range.") from error
    return nanoseconds_between(since) + getattr(moment, "nanosecond", 0)


def nanoseconds_between(length: timedelta) -> int:
    """Return a length of time in nanoseconds, of those of pandas without the digits below a microsecond."""
    return ((length.days * 86_400 + length.seconds) * 1_000_000 + length.microseconds) * TICKS["us"]


def how_to_convert(name: str) -> str:
    """Return what to do with a column of times that are text."""
    return (
        f'Convert it: pd.to_datetime(df["{name}"], format="{FORMAT}") in pandas, pl.col("{name}").str.to_datetime("{FORMAT}") in Polars, '
        f"pyarrow.compute.strptime in Arrow, to_timestamp in Spark, ON strptime({name}, '{FORMAT}') in SQL, and --time-format for the "
        "command sash."
    )


def time_column(name: str, dtype: pa.DataType) -> TimeColumn:
    """Return a time column of an Arrow type. Raise TypeError if the type holds no times.

    >>> time_column("ts", pa.timestamp("ms", "UTC")).tick
    1000000
    """
    match column_type(dtype).group:
        case "int":
            return TimeColumn(name, dtype, None)
        case "date":
            return TimeColumn(name, dtype, DAY * TICKS["s"])
        case "timestamp" | "duration":
            return TimeColumn(name, dtype, TICKS[dtype.unit])
        case "time":
            message = f"The time column {name!r} holds times of day ({dtype}), which repeat every day. Add the date."
        case "string":
            message = f"The time column {name!r} holds text, but it must hold timestamps, dates or integers. {how_to_convert(name)}"
        case _:
            message = (
                f"The time column {name!r} is of type {dtype}, but it must hold timestamps, dates or integers. Cast it."
            )
    raise TypeError(message)


def check_times(times: Ints, reach: int, name: str) -> None:
    """Raise OverflowError if windows would reach beyond 64 bits, or if times are further apart than that."""
    least, most = (int(times.min()), int(times.max())) if len(times) else (0, 0)
    if max(most - least, abs(most), abs(least)) + 2 * reach >= 2**63:
        raise OverflowError(
            f"Windows over {name!r} reach beyond times of 64 bits. Use a coarser unit, or shorter windows."
        )
