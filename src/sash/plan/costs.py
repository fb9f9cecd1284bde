"""The measured costs of algorithms, from costs.csv, which `make costs` writes."""

from __future__ import annotations

from functools import cache
from math import exp, hypot, log
from typing import Any, Literal, NamedTuple

from sash.aggregates.base import Aggregate

Use = Literal["whole", "kept"]
USES: tuple[Use, ...] = ("whole", "kept")
"""A whole column, which runs in lanes, and a window that persists between calls ("kept")."""
Ranges = tuple[int, ...]
"""The lengths of ranges in rows, ascending."""
STEEPNESS = 4
"""How fast the weight of a measured cost falls with its distance: the nearest ones should decide."""


class Cost(NamedTuple):
    """One line of the table: the cost of an algorithm for an aggregate and ranges, in passes of two_stacks over one of them."""

    laws: str
    aggregate: str
    use: str
    ranges: int
    shortest: int
    longest: int
    algorithm: str
    cost: float


def law_class(aggregate: Aggregate[Any]) -> str:
    """Return the law that decides which algorithms fit an aggregate, and so which costs apply.

    >>> from sash import agg
    >>> law_class(agg.arg_max()), law_class(agg.count()), law_class(agg.stddev())
    ('selective', 'invertible', 'associative')
    """
    return next((law for law in ("selective", "invertible") if law in aggregate.laws), "associative")


@cache
def read_costs() -> tuple[Cost, ...]:
    """Return the table."""
    from pkgutil import get_data  # noqa: PLC0415 — from a zip file too, and lighter than importlib.resources

    text = get_data("sash.plan", "costs.csv")
    assert text is not None
    # The first query waits for this, and csv.DictReader takes three times as long. No field has a comma.
    heading, *lines = (line.split(",") for line in text.decode().splitlines() if not line.startswith("#"))
    assert tuple(heading) == Cost._fields
    return tuple(
        Cost(laws, aggregate, use, int(ranges), int(shortest), int(longest), algorithm, float(cost))
        for laws, aggregate, use, ranges, shortest, longest, algorithm, cost in lines
    )


def cost_of(algorithm: str, aggregate: Aggregate[Any], ranges: Ranges = (), use: Use | None = None) -> float:
    """Return the cost of an algorithm for ranges of these lengths, in passes of two_stacks over one of them.

    It is the mean of the measured costs, weighted by how near their ranges are (see `_distance`). Without `ranges`, it is
    the mean over one range of any measured length; without `use`, that of both. An algorithm for one range takes a pass for each. An
    aggregate that was not measured has the costs of measured ones with the same laws. Raise LookupError if there are none.

    >>> from sash import agg
    >>> cost_of("two_stacks", agg.max())
    1.0
    >>> cost_of("subtract_on_evict", agg.count()) < 1
    True
    >>> cost_of("recalculate", agg.max(), (2,)) < cost_of("recalculate", agg.max(), (60,))
    True
    """
    return _cost_of(algorithm, aggregate.name, law_class(aggregate), ranges, use)


@cache
def _cost_of(algorithm: str, name: str, laws: str, ranges: Ranges, use: Use | None) -> float:
    lines = _measured(algorithm, name, laws, len(ranges) > 1, use)
    if not lines:
        return sum(_cost_of(algorithm, name, laws, (length,), use) for length in ranges)
    distances = [_distance(line, ranges) for line in lines]
    if 0.0 in distances:
        lines = tuple(line for line, far in zip(lines, distances, strict=True) if far == 0)
        distances = [1.0] * len(lines)
    weights = [1 / far**STEEPNESS for far in distances]
    # Costs differ by factors, so their logarithms are averaged: one large cost far away counts little.
    return exp(sum(log(line.cost) * weight for line, weight in zip(lines, weights, strict=True)) / sum(weights))


def _measured(algorithm: str, name: str, laws: str, several: bool, use: Use | None) -> tuple[Cost, ...]:
    """Return the lines of an algorithm: those of the aggregate, or of all with its laws; those of the use, or of all.

    There are no lines for several ranges if it answers one range only.
    """
    lines = [line for line in read_costs() if (line.algorithm, line.laws) == (algorithm, laws)]
    if not lines:
        raise LookupError(f"{algorithm} was not measured for {laws} aggregates: run make costs.")
    lines = [line for line in lines if (line.ranges > 1) == several]
    lines = [line for line in lines if line.aggregate == name] or lines
    return tuple([line for line in lines if line.use == use] or lines)


def _distance(line: Cost, ranges: Ranges) -> float:
    """Return how far apart ranges are: in their number, the longest, and how many times the shortest fits into the longest.

    These decide the cost of every algorithm: a tree has a height, FlatFIT a lap, and SlideSide a scan of the longest range for
    each pass through the shortest. A factor counts the same at any size. Without ranges, all lines are as near.

    >>> line = Cost("selective", "max", "kept", 2, 10, 100, "flatfat", 3.0)
    >>> _distance(line, (10, 100)), _distance(line, (20, 200)) == _distance(line, (5, 50))
    (0.0, True)
    """
    if not ranges:
        return 1.0
    apart = (
        len(ranges) / line.ranges,
        max(ranges) / line.longest,
        max(ranges) / min(ranges) * line.shortest / line.longest,
    )
    return hypot(*map(log, apart))
