"""Whether a user's aggregate gives the same for ticks, which machine code sees, as for Python's datetime objects.

Machine code reads dates, times and durations as integers. The result is a time again if the functions only compare times, subtract
them and add differences: these operations give the same ticks. Sash finds out by calling the functions with probes, which support
these operations only. If a probe comes back, the result has the type of its column; if a probe raises, the aggregate is interpreted.

    lift=lambda t: t, combine=max                            Moment back: the type of the column
    lift=lambda t: (t, t), …, lower=lambda c: c[1] - c[0]    Difference back: a duration
    lift=lambda t: t.hour                                    AttributeError: interpreted
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import reduce, total_ordering
from typing import Any, NoReturn

import pyarrow as pa

from sash.aggregates.base import Aggregate
from sash.columns.column_types import CannotCompileError, column_type

SAMPLES = ((1, 2, 3), (3, 2, 1), (2, 2, 2), (2, 3, 1))
"""Ticks of three rows, in several orders: functions branch on which time is later."""


@total_ordering
@dataclass(frozen=True, eq=False)
class Probe:
    """A time or a difference of times of one column, which can only be compared."""

    ticks: int
    dtype: pa.DataType
    """The type of the column."""

    def __eq__(self, other: object) -> bool:
        return self.ticks == self._same(other).ticks

    def __lt__(self, other: object) -> bool:
        return self.ticks < self._same(other).ticks

    __hash__ = None  # type: ignore[assignment]

    def __bool__(self) -> NoReturn:
        raise TypeError("every datetime is true, but tick 0 is false")

    def _same(self, other: object) -> Probe:
        """Return the other operand. Raise TypeError if it is not of the same class and column type."""
        if not isinstance(other, Probe) or type(other) is not type(self) or other.dtype != self.dtype:
            raise TypeError(f"{self.dtype} is combined with {getattr(other, 'dtype', type(other).__name__)}")
        return other


class Difference(Probe):
    """A duration, or the difference of two moments."""

    def __add__(self, other: object) -> Probe:
        if isinstance(other, Moment):
            return other + self
        return Difference(self.ticks + self._same(other).ticks, self.dtype)

    def __sub__(self, other: object) -> Difference:
        return Difference(self.ticks - self._same(other).ticks, self.dtype)

    def __neg__(self) -> Difference:
        return Difference(-self.ticks, self.dtype)

    def __abs__(self) -> Difference:
        return Difference(abs(self.ticks), self.dtype)


class Moment(Probe):
    """A date, a timestamp or a time of day."""

    def __add__(self, other: object) -> Moment:
        if not isinstance(other, Difference) or other.dtype != self.dtype:
            raise TypeError(f"{self.dtype} is added to {type(other).__name__}")
        return Moment(self.ticks + other.ticks, self.dtype)

    def __sub__(self, other: object) -> Probe:
        if isinstance(other, Difference):
            return self + -other
        if column_type(self.dtype).group == "time":
            raise TypeError("Python does not subtract times of day")
        return Difference(self.ticks - self._same(other).ticks, self.dtype)


def gives_for(aggregate: Aggregate[Any], types: list[pa.DataType]) -> str:
    """Return the kind of the result (`ResultRule.gives`) for columns of these types.

    Raise CannotCompileError if a user's aggregate computes with times in a way that differs between ticks and datetime objects.

    >>> import sash
    >>> newest = sash.aggregate("newest", lift=lambda t: t, combine=max)
    >>> gives_for(newest, [pa.timestamp("s")]), gives_for(newest, [pa.int64()])
    ('value', 'number')
    """
    is_declared = aggregate.is_built_in or aggregate.result.gives != "number"
    if is_declared or not any(column_type(dtype).is_time for dtype in types):
        return aggregate.result.gives
    try:
        results = list(_try_out(aggregate, types))
    except Exception as error:
        raise CannotCompileError(
            f"{aggregate.name} computes with Python's datetime objects, not with ticks ({error})."
        ) from error
    kinds = {_kind_of(result, types[-1]) for result in results}
    if len(kinds) > 1 or "" in kinds:
        raise CannotCompileError(
            f"{aggregate.name} returns times of different types, or of another column than its last."
        )
    return kinds.pop()


def check_arithmetic(aggregate: Aggregate[Any], types: list[pa.DataType]) -> None:
    """Raise TypeError if the aggregate does arithmetic and a column holds times; CannotCompileError if Python can do it."""
    gives_for(aggregate, types)
    times = [dtype for dtype in types if column_type(dtype).is_time]
    if aggregate.result.gives != "arithmetic" or not times:
        return
    if aggregate.coding.interpreted_only:  # Python's datetime objects support more
        raise CannotCompileError(f"{aggregate.name} of {times[0]} is computed with Python's datetime objects.")
    raise TypeError(
        f"{aggregate.name} needs numbers, but the column is of type {times[0]}. Cast it to int64 to compute with its ticks."
    )


def _kind_of(result: Any, last: pa.DataType) -> str:
    """Return the kind of one result; "" for a time that is not of the last column."""
    if not isinstance(result, Probe):
        return "number"
    if result.dtype != last:
        return ""
    return "value" if isinstance(result, Moment) or column_type(last).group == "duration" else "difference"


def _try_out(aggregate: Aggregate[Any], types: list[pa.DataType]) -> Iterator[Any]:
    """Yield results of windows of one and of several rows."""
    for ticks in SAMPLES:
        partials = [aggregate.lift(*(_probe(dtype, tick) for dtype in types)) for tick in ticks]
        yield aggregate.lower(partials[0])
        whole = reduce(aggregate.combine, partials)
        yield aggregate.lower(whole)
        if aggregate.inverse is not None:
            yield aggregate.lower(aggregate.inverse(whole, partials[0]))


def _probe(dtype: pa.DataType, tick: int) -> Any:
    row = column_type(dtype)
    if row.is_time:
        return Difference(tick, dtype) if row.group == "duration" else Moment(tick, dtype)
    if row.group == "bool":
        return tick > 1
    return tick if row.group == "int" else float(tick) if row.group == "float" else str(tick)
