"""What an Aggregator refuses before any work starts, in sentences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sash.aggregates.base import Aggregate


def refuse_what_is_no_aggregate(aggregate: Any) -> None:
    """Say so if something else than an aggregate was given."""
    if not isinstance(aggregate, Aggregate):
        message = f'{aggregate!r} is not an aggregate: give one, as in sash.Aggregator(agg.max("load")).'
        raise TypeError(message)


def check_ranges(ranges: Sequence[int] | None) -> tuple[int, ...]:
    """Return the ranges in ascending order, each once, or say which is none."""
    if ranges is not None and not isinstance(ranges, Sequence):
        message = f"ranges={ranges!r}: give a list of numbers of rows, as in ranges=[{ranges!r}]."
        raise TypeError(message)
    for length in ranges or ():
        if isinstance(length, bool) or not isinstance(length, int) or length < 1:
            message = f"ranges: {length!r} is not a number of rows; each range must be an integer of at least 1."
            raise ValueError(message)
    return tuple(sorted(set(ranges or ())))
