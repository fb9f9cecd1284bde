"""Counts the calls of combine and the items that a window holds: a machine changes times, never these."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any

from sash.aggregates.base import Aggregate, with_fields
from sash.algorithms.base import Algorithm, alike
from sash.kernels.read import read_algorithm


class Counter:
    """Counts the calls of an aggregate's combine and inverse."""

    def __init__(self, counted: Aggregate[Any]) -> None:
        self.calls = 0
        inverse = counted.inverse
        self.aggregate = with_fields(
            counted,
            combine=lambda older, newer: self._count(counted.combine(older, newer)),
            inverse=None if inverse is None else lambda whole, older: self._count(inverse(whole, older)),
            variants={},  # they would go uncounted
        )

    def _count(self, partial: Any) -> Any:
        self.calls += 1
        return partial

    def take(self) -> int:
        """Return the calls since the last time."""
        calls, self.calls = self.calls, 0
        return calls


def partials_held(window: Algorithm[Any]) -> int:
    """How many partials a window keeps."""
    source = read_algorithm(type(window))
    single = sum(hasattr(window, attribute) for attribute in source.attributes("P"))
    return single + sum(len(getattr(window, attribute)) for attribute in source.attributes("Column[P]", "Array[P]"))


def items_held(window: Algorithm[Any]) -> int:
    """How many partials and pointers a window keeps.

    >>> from sash import agg
    >>> from sash.algorithms import FlatFIT
    >>> window = FlatFIT(agg.max(), (4,))
    >>> for value in range(4):
    ...     window.insert(value)
    >>> items_held(window)
    8
    """
    source = read_algorithm(type(window))
    pointers = source.attributes("Column[int]", "Array[int]")
    return partials_held(window) + sum(len(getattr(window, attribute)) for attribute in pointers)


def filled(
    algorithm: type[Algorithm[Any]], aggregate: Aggregate[Any], ranges: Sequence[int], values: Sequence[Any]
) -> Algorithm[Any]:
    """Return a window whose widest range is full; values are taken in turn."""
    window = algorithm(aggregate, tuple(ranges))
    for number in range(max(ranges)):
        window.insert(_lifted(aggregate, values, number))
    return window


def combines_per_row(
    algorithm: type[Algorithm[Any]],
    aggregate: Aggregate[Any],
    ranges: Sequence[int],
    values: Sequence[Any],
    rows: int,
    step: int = 1,
) -> float:
    """Return the calls of combine and inverse per row of a full window that slides `step` rows at a time.

    Each slide asks all ranges, the widest first, as the kernels do. The first slide is not counted: it pays for the filling.

    >>> from sash import agg
    >>> from sash.algorithms import Recalculate
    >>> combines_per_row(Recalculate, agg.max(), [5], range(100), rows=20)
    4.0
    """
    counter = Counter(aggregate)
    widest = max(ranges)
    window = filled(algorithm, counter.aggregate, ranges, values)
    end, slides = widest, -(-rows // step)
    lengths = list(enumerate(sorted(ranges)))[::-1]
    for slide in range(slides + 1):
        for _ in range(step):
            window.evict()
        for _ in range(step):
            window.insert(_lifted(aggregate, values, end))
            end += 1
        answers = [window.query_range(number, length) for number, length in lengths]
        if slide == 0:
            counter.take()
    calls = counter.take()
    expected = reduce(aggregate.combine, (_lifted(aggregate, values, row) for row in range(end - widest, end)))
    if not alike(answers[0], expected):
        message = f"{algorithm.about.name} gives {answers[0]} for {widest} rows, which come to {expected}."
        raise AssertionError(message)
    return calls / (slides * step)


def _lifted(aggregate: Aggregate[Any], values: Sequence[Any], row: int) -> Any:
    return aggregate.lift(values[row % len(values)])
