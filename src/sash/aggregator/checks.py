"""Checks of the arguments of an Aggregator."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral
from typing import Any, SupportsIndex

from sash.aggregates.base import Aggregate
from sash.algorithms import Algorithm
from sash.hints import counted


def check_ranges(ranges: Sequence[SupportsIndex] | None) -> tuple[int, ...]:
    """Return the ranges in ascending order without duplicates. Raise if one is not a positive integer."""
    if ranges is not None and not isinstance(ranges, Sequence):
        raise TypeError(f"ranges={ranges!r} is not a list. Use a list of numbers of rows, as in ranges=[{ranges!r}].")
    for length in ranges or ():
        if not _is_positive(length):
            raise ValueError(
                f"ranges: {length!r} is not a number of rows; each range must be an integer of at least 1."
            )
    return tuple(sorted({int(length) for length in ranges or ()}))


def check_length(last: SupportsIndex, ranges: tuple[int, ...], algorithm: type[Algorithm[Any]]) -> None:
    """Raise ValueError if a window made for these ranges can't answer a range of this length."""
    if not _is_positive(last):
        raise ValueError(f"query(last={last!r}): last must be an integer of at least 1.")
    if ranges and last not in ranges:
        named = ", ".join(map(str, ranges))
        raise ValueError(f"query(last={last}): this window was made for the ranges {named}; add {last} to ranges=.")
    if not ranges and not algorithm.answers_any_length:
        raise ValueError(
            f"{algorithm.about.name} answers only the ranges of its Aggregator. For query(last={last}), pass "
            f"ranges=[{last}]."
        )


def check_lengths(
    lengths: tuple[int, ...], announced: tuple[int, ...], algorithm: type[Algorithm[Any]], limit: int
) -> None:
    """Raise ValueError if a window that holds rows for the announced ranges can't answer these lengths."""
    known = {limit or max(lengths)}
    if algorithm.answers_any_length:
        known = set(lengths)
    elif announced and algorithm.answers_ranges:
        known = set(announced)
    if not set(lengths) <= known:
        raise ValueError(
            f"{algorithm.about.name} stores the rows of this window for other ranges. Pass ranges={list(lengths)} to a new "
            "Aggregator."
        )


def check_columns(values: Any, aggregate: Aggregate[Any]) -> tuple[Any, ...]:
    """Return the arguments as a tuple of columns: as many as the aggregate takes, one for `count()`."""
    given = values if isinstance(values, tuple) else (values,)
    if len(given) != max(1, aggregate.inputs):
        raise TypeError(
            f"{aggregate.name} needs {counted(aggregate.inputs, 'column')}, but got {len(given)}. Pass a tuple of columns."
        )
    return given


def check_values(values: tuple[Any, ...], aggregate: Aggregate[Any]) -> tuple[Any, ...]:
    """Return the values of a row, none for `count()`. Raise TypeError if they are not as many as the aggregate takes."""
    if aggregate.inputs and len(values) != aggregate.inputs:
        raise TypeError(f"{aggregate.name} needs {counted(aggregate.inputs, 'value')} per row, but got {len(values)}.")
    return values[: aggregate.inputs]


def check_duration(length: Any) -> int:
    """Return a length of time. Raise ValueError if it is not a positive integer."""
    if length is None:
        raise ValueError("slide needs a length of time. Pass range=….")
    [duration] = check_ranges([length])
    return duration


def check_times(algorithm: type[Algorithm[Any]], times: Any) -> None:
    """Raise ValueError if columns have times and the algorithm takes rows in order, or the other way round."""
    if times is None:
        refuse_columns(algorithm)
    elif not algorithm.takes_times:
        raise ValueError(f'{algorithm.about.name} takes rows in order. Leave times out, or use algorithm="fiba".')


def refuse_columns(algorithm: type[Algorithm[Any]]) -> None:
    """Raise ValueError if an algorithm needs rows with times, which a column does not have."""
    if algorithm.takes_times:
        name = algorithm.about.name
        raise ValueError(
            f"{name} takes rows with times. Pass times=…, or use another algorithm for a column of rows in order."
        )


def _is_positive(length: object) -> bool:
    return isinstance(length, Integral) and not isinstance(length, bool) and int(length) >= 1
