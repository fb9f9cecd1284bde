"""Time columns as ticks, and ticks as times again."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from sash.aggregator.columns import to_arrow
from sash.windows.base import Ints

TICKS = {"s": 1_000_000_000, "ms": 1_000_000, "us": 1_000, "ns": 1}
DAY = 86_400 * 1_000_000_000


@dataclass(frozen=True)
class TimeType:
    """What a time column holds."""

    name: str
    type: pa.DataType
    tick: int | None
    """Nanoseconds of a tick; None if it holds integers."""

    def read(self, column: pa.ChunkedArray | pa.Array) -> Ints:
        """Return the times in ticks."""
        array = to_arrow(column)
        if array.null_count:
            message = (
                f"The time column {self.name} has {array.null_count} null(s), which have no place in the order of rows: "
                "drop these rows or give them a time."
            )
            raise ValueError(message)
        if self.type == pa.uint64():
            array = self._signed(array)
        if self.type == pa.date64():
            array = array.cast(pa.date32(), safe=False)
        if pa.types.is_temporal(self.type):
            array = array.view(pa.int32() if array.type.bit_width == 32 else pa.int64())  # noqa: PLR2004
        ticks: Ints = array.cast(pa.int64()).to_numpy(zero_copy_only=False)
        return ticks

    def write(self, ticks: Ints) -> pa.Array:
        """Return ticks as a column of this type; integers are of 64 bits, since a window may begin before the first."""
        array = pa.array(ticks)
        if not pa.types.is_temporal(self.type):
            return array
        try:
            if self.type == pa.date64():
                return array.cast(pa.int32()).view(pa.date32()).cast(self.type)
            return (array.cast(pa.int32()) if self.type.bit_width == 32 else array).view(self.type)  # noqa: PLR2004
        except pa.ArrowInvalid as error:
            message = f"Windows over {self.name} begin or end at times that {self.type} can't hold: cast it."
            raise OverflowError(message) from error

    def _signed(self, array: pa.Array) -> pa.Array:
        try:
            return array.cast(pa.int64())
        except pa.ArrowInvalid as error:
            message = f"The time column {self.name} has values of more than 63 bits: cast it to int64."
            raise OverflowError(message) from error


def read_time_type(name: str, kind: pa.DataType) -> TimeType:
    """Return what a time column of an Arrow type holds, or say that it holds no times.

    >>> read_time_type("ts", pa.timestamp("ms", "UTC")).tick
    1000000
    """
    if pa.types.is_integer(kind):
        return TimeType(name, kind, None)
    if kind == pa.date32():
        return TimeType(name, kind, DAY)
    if kind == pa.date64():
        return TimeType(name, kind, DAY)
    if pa.types.is_time(kind):
        message = f"The time column {name} holds times of day ({kind}), which begin anew at midnight: add the date."
        raise TypeError(message)
    if pa.types.is_temporal(kind) and hasattr(kind, "unit") and kind.bit_width == 64:  # noqa: PLR2004
        return TimeType(name, kind, TICKS[kind.unit])
    message = f"The time column {name} is of {kind}: it must hold timestamps, dates or integers; cast it."
    raise TypeError(message)


def refuse_far_times(times: Ints, reach: int, name: str) -> None:
    """Say so if windows would reach beyond what 64 bits can hold, or times lie further apart than that."""
    least, most = (int(times.min()), int(times.max())) if len(times) else (0, 0)
    if max(most - least, abs(most), abs(least)) + 2 * reach >= 2**63:
        message = f"Windows over {name} reach beyond times of 64 bits: use a coarser unit, or shorter windows."
        raise OverflowError(message)
