"""The time column: times as ticks, and ticks as times."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import pyarrow as pa

from sash.aggregator.columns import to_arrow
from sash.durations import TimeUnit
from sash.kernels.kernel_io import as_arrow, as_numpy
from sash.windows.base import Ints

TICKS = {"s": 1_000_000_000, "ms": 1_000_000, "us": 1_000, "ns": 1}
DAY = 86_400 * 1_000_000_000


@dataclass(frozen=True)
class TimeColumn:
    """The type of a time column."""

    name: str
    type: pa.DataType
    tick: int | None
    """Nanoseconds of a tick; None if it holds integers."""

    @cached_property
    def unit(self) -> TimeUnit:
        """The unit, as windows and durations take it."""
        zone = self.type.tz if pa.types.is_timestamp(self.type) else None
        return TimeUnit(self.name, self.tick, zone or "")

    def read(self, column: pa.ChunkedArray | pa.Array) -> Ints:
        """Return the times in ticks. Raise ValueError if there are nulls."""
        array = to_arrow(column)
        if array.null_count:
            message = (
                f"The time column {self.name!r} has {array.null_count} null(s). Rows without a time have no order. Drop them, or "
                "fill in a time."
            )
            raise ValueError(message)
        if self.type == pa.uint64():
            array = self._signed(array)
        if self.type == pa.date64():
            array = array.cast(pa.date32(), safe=False)
        if pa.types.is_temporal(self.type):
            array = array.view(pa.int32() if array.type.bit_width == 32 else pa.int64())  # noqa: PLR2004
        ticks: Ints = as_numpy(array.cast(pa.int64()))
        return ticks

    def write(self, ticks: Ints) -> pa.Array:
        """Return ticks as a column of this type; integers as int64, since a window may begin at a negative time."""
        array = as_arrow(ticks)
        if not pa.types.is_temporal(self.type):
            return array
        try:
            if self.type == pa.date64():
                return array.cast(pa.int32()).view(pa.date32()).cast(self.type)
            return (array.cast(pa.int32()) if self.type.bit_width == 32 else array).view(self.type)  # noqa: PLR2004
        except pa.ArrowInvalid as error:
            message = f"Windows over {self.name!r} begin or end at times that {self.type} cannot hold. Cast the column."
            raise OverflowError(message) from error

    def _signed(self, array: pa.Array) -> pa.Array:
        try:
            return array.cast(pa.int64())
        except pa.ArrowInvalid as error:
            message = f"The time column {self.name!r} has values above 2**63 - 1. Cast it to int64."
            raise OverflowError(message) from error


def time_column(name: str, kind: pa.DataType) -> TimeColumn:
    """Return a time column of an Arrow type. Raise TypeError if the type holds no times.

    >>> time_column("ts", pa.timestamp("ms", "UTC")).tick
    1000000
    """
    if pa.types.is_integer(kind):
        return TimeColumn(name, kind, None)
    if pa.types.is_date(kind):
        return TimeColumn(name, kind, DAY)
    if pa.types.is_time(kind):
        message = f"The time column {name!r} holds times of day ({kind}), which repeat every day. Add the date."
        raise TypeError(message)
    if pa.types.is_temporal(kind) and hasattr(kind, "unit") and kind.bit_width == 64:  # noqa: PLR2004
        return TimeColumn(name, kind, TICKS[kind.unit])
    message = f"The time column {name!r} is of type {kind}, but it must hold timestamps, dates or integers. Cast it."
    raise TypeError(message)


def check_times(times: Ints, reach: int, name: str) -> None:
    """Raise OverflowError if windows would reach beyond 64 bits, or if times are further apart than that."""
    least, most = (int(times.min()), int(times.max())) if len(times) else (0, 0)
    if max(most - least, abs(most), abs(least)) + 2 * reach >= 2**63:
        message = f"Windows over {name!r} reach beyond times of 64 bits. Use a coarser unit, or shorter windows."
        raise OverflowError(message)
