"""What an aggregate does with the time of a row."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from sash.aggregates.pickling import Picklable

if TYPE_CHECKING:
    from sash.durations import Duration, TimeUnit


@dataclass(frozen=True, kw_only=True)
class TimeInput(Picklable):
    """The last argument of `lift` is the time of the row, in ticks of the query's time column: an integer."""

    for_unit: Callable[[TimeUnit], Mapping[str, Any]] | None = field(default=None, compare=False)
    """Returns the fields that depend on the unit of the time column; None if none does (see `Aggregate.in_unit`)."""
    duration: Duration | None = None
    """A parameter that is a duration, such as a half-life: it fits time columns of its own kind only."""
