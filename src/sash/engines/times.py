"""Time columns as ticks, and ticks as times again."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

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
        if pa.types.is_temporal(self.type):
            array = array.view(pa.int32() if self.type.bit_width == 32 else pa.int64())  # noqa: PLR2004
        ticks: Ints = array.cast(pa.int64()).to_numpy(zero_copy_only=False)
        return ticks

    def write(self, ticks: Ints) -> pa.Array:
        """Return ticks as a column of this type."""
        array = pa.array(ticks)
        if pa.types.is_temporal(self.type):
            if self.type.bit_width == 32:  # noqa: PLR2004
                array = array.cast(pa.int32())
            return array.view(self.type)
        return pc.cast(array, self.type) if self._holds(ticks) else array

    def _holds(self, ticks: Ints) -> bool:
        """Tell whether integers of this type can hold these: a window may begin before the first of them."""
        limits = np.iinfo(self.type.to_pandas_dtype())
        return len(ticks) == 0 or (int(ticks.min()) >= limits.min and int(ticks.max()) <= limits.max)

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
        return TimeType(name, kind, TICKS["ms"])
    if pa.types.is_temporal(kind) and hasattr(kind, "unit") and kind.bit_width in (32, 64):
        return TimeType(name, kind, TICKS[kind.unit])
    message = f"The time column {name} is of {kind}: it must hold timestamps, dates or integers; cast it."
    raise TypeError(message)


def refuse_far_times(times: Ints, reach: int, name: str) -> None:
    """Say so if windows would reach beyond what 64 bits can hold."""
    if len(times) and max(abs(int(times.min())), abs(int(times.max()))) + 2 * reach >= 2**63:
        message = f"Windows over {name} reach beyond times of 64 bits: use a coarser unit, or shorter windows."
        raise OverflowError(message)
