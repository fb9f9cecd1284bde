"""The measured costs of algorithms, from costs.csv, which `make costs` writes."""

from __future__ import annotations

from bisect import bisect_left
from functools import cache
from typing import Any, Literal, NamedTuple

from sash.aggregates.base import Aggregate

Use = Literal["whole", "kept"]
USES: tuple[Use, ...] = ("whole", "kept")
"""A whole column, which runs in lanes, and a window that persists between calls ("kept")."""


class Cost(NamedTuple):
    """One line of the table: the mean, the least and the largest measured cost, in passes of two_stacks."""

    laws: str
    aggregate: str
    use: str
    ranges: int
    algorithm: str
    cost: float
    least: float
    most: float


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
    import csv  # noqa: PLC0415 — only the first choice reads the table, so that `import sash` stays light
    from pkgutil import get_data  # noqa: PLC0415 — from a zip file too, and lighter than importlib.resources

    text = get_data("sash.plan", "costs.csv")
    assert text is not None
    lines = csv.DictReader(line for line in text.decode().splitlines() if not line.startswith("#"))
    return tuple(
        Cost(
            line["laws"],
            line["aggregate"],
            line["use"],
            int(line["ranges"]),
            line["algorithm"],
            *(float(line[measured]) for measured in ("cost", "least", "most")),
        )
        for line in lines
    )


def cost_of(algorithm: str, aggregate: Aggregate[Any], ranges: int = 1) -> float:
    """Return the cost of an algorithm for a number of ranges, in passes of two_stacks over one of them.

    It is the mean of both uses. An aggregate that was not measured has the costs of measured ones with the same laws.

    >>> from sash import agg
    >>> cost_of("two_stacks", agg.max())
    1.0
    >>> cost_of("subtract_on_evict", agg.count()) < 1
    True
    """
    return _interpolated(_points(algorithm, aggregate.name, law_class(aggregate)), ranges)


@cache
def _points(algorithm: str, name: str, laws: str) -> tuple[tuple[int, float], ...]:
    """Return the measured numbers of ranges, ascending, and the cost of each."""
    lines = [line for line in read_costs() if (line.algorithm, line.laws) == (algorithm, laws)]
    lines = [line for line in lines if line.aggregate == name] or lines
    if not lines:
        message = f"{algorithm} was not measured for {laws} aggregates: run make costs."
        raise LookupError(message)
    costs: dict[int, list[float]] = {}
    for line in lines:
        costs.setdefault(line.ranges, []).append(line.cost)
    return tuple((ranges, sum(found) / len(found)) for ranges, found in sorted(costs.items()))


def _interpolated(points: tuple[tuple[int, float], ...], ranges: int) -> float:
    """Interpolate between the nearest two measured numbers of ranges, or extrapolate beyond the last.

    An algorithm that was measured for one number of ranges only costs a pass per range.

    >>> _interpolated(((2, 3.0), (5, 6.0)), 4), _interpolated(((2, 3.0), (5, 6.0)), 7), _interpolated(((1, 0.5),), 4)
    (5.0, 8.0, 2.0)
    """
    if len(points) == 1:
        return points[0][1] * ranges
    place = min(max(1, bisect_left(points, ranges, key=lambda point: point[0])), len(points) - 1)
    (fewer, low), (more, high) = points[place - 1 : place + 1]
    return low + (high - low) * (ranges - fewer) / (more - fewer)
