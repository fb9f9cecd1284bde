"""Layout: which column of the results is the time, the key, the zoom or a number, and how each becomes an array."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from sash.live.reduce import Floats, Ints

BAND = ("min", "mean", "max")
"""Columns with these three names are drawn as one line with a band."""
ADDED = ("window", "window_start", "window_end", "change")
"""Columns that Sash adds to results."""
SECONDS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}


@dataclass(frozen=True)
class Line:
    """A line of a chart: the column of its values, and those of the band around it."""

    name: str
    low: str
    last: str
    high: str


@dataclass(frozen=True)
class Layout:
    """The columns of results."""

    time: str
    """The time at which a result is drawn: the end of its window, or the time of its row."""
    start: str
    """The start of its window, or again the time of its row."""
    keys: tuple[str, ...]
    values: tuple[str, ...]
    window: str | None
    change: str | None
    unit: float
    """Seconds in a tick of the time column; 0 if it holds plain numbers."""

    @property
    def lines(self) -> list[Line]:
        """The lines that a chart can show."""
        lines = [Line(name, name, name, name) for name in self.values]
        if not set(BAND) <= set(self.values):
            return lines
        return [Line(", ".join(BAND), *BAND), *(line for line in lines if line.name not in BAND)]

    def ticks(self, column: pa.ChunkedArray) -> Ints:
        """Return times as integers."""
        if pa.types.is_floating(column.type):
            column = pc.floor(column)
        if pa.types.is_date32(column.type):
            column = column.cast(pa.int32())
        return np.asarray(column.cast(pa.int64(), safe=False).to_numpy(), np.int64)

    def seconds(self, ticks: Ints) -> Floats:
        """Return times as the page draws them: seconds since 1970, or plain numbers."""
        return np.asarray(ticks * (self.unit or 1.0), np.float64)

    def numbers(self, results: pa.Table) -> Floats:
        """Return the values of results, one row each; nulls are NaN."""
        columns = [pc.cast(results[name], pa.float64(), safe=False).to_numpy() for name in self.values]
        return np.stack(columns, axis=1)

    def deleted(self, results: pa.Table) -> npt.NDArray[np.bool_]:
        """Return which results are deletions."""
        if self.change is None:
            return np.zeros(len(results), np.bool_)
        return np.asarray(pc.equal(results[self.change], "delete").to_numpy(), np.bool_)


def layout_of(schema: pa.Schema, by: Sequence[str], time: str | None) -> Layout:
    """Find the columns of results. Raise ValueError if none tells a time, or none has numbers.

    >>> schema = pa.schema({"k": pa.string(), "window_start": pa.int64(), "window_end": pa.int64(), "n": pa.int64()})
    >>> layout_of(schema, ["k"], None).lines
    [Line(name='n', low='n', last='n', high='n')]
    """
    names = schema.names
    drawn_at = next((name for name in ("window_end", "window_start", time) if name in names), None)
    if drawn_at is None:
        raise ValueError(
            "The live page needs the time of each result, but the select list has neither window_end nor the time column. "
            "Add one of them."
        )
    values = tuple(name for name in names if name not in (*ADDED, time, *by) and is_number(schema.field(name).type))
    if not values:
        raise ValueError(f"The live page draws numbers, but no column of the results has any: {', '.join(names)}.")
    return Layout(
        time=drawn_at,
        start="window_start" if "window_start" in names else drawn_at,
        keys=tuple(name for name in by if name in names),
        values=values,
        window="window" if "window" in names else None,
        change="change" if "change" in names else None,
        unit=unit_of(schema.field(drawn_at).type),
    )


def is_number(dtype: pa.DataType) -> bool:
    """Return whether a chart can draw values of a type."""
    checks = (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal, pa.types.is_boolean)
    return any(check(dtype) for check in checks)


def unit_of(dtype: pa.DataType) -> float:
    """Return the seconds in a tick of a time column, 0 for plain numbers."""
    if pa.types.is_timestamp(dtype):
        return SECONDS[dtype.unit]
    return 86_400.0 if pa.types.is_date32(dtype) else 1e-3 if pa.types.is_date64(dtype) else 0.0
