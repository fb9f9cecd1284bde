"""One chain from the properties of an aggregate and its windows to the algorithm; measured costs decide between several."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from math import exp, hypot, log
from typing import Any, Literal, NamedTuple

from sash.aggregates.base import Aggregate
from sash.algorithms import find_algorithm
from sash.algorithms.base import About, SlideCost, SpaceCost

Use = Literal["whole", "kept"]
USES: tuple[Use, ...] = ("whole", "kept")
"""A whole column, which runs in lanes, and a window that persists between calls ("kept")."""
Ranges = tuple[int, ...]
"""The lengths of ranges in rows, ascending."""
STEEPNESS = 4
"""How fast the weight of a measured cost falls with its distance: the nearest ones should decide."""
OBJECTIVES = ("throughput", "latency")
CLEARLY_CHEAPER, CLEARLY_CHEAPER_ALONE = 0.95, 0.85
"""An algorithm replaces an earlier one of its line only if it costs less than this share. One range has a stricter share, because the
first algorithm of its lines is the simplest."""
SHORT = 8
"""Windows of at most this many rows may be recalculated. For longer ones it never pays off, and its cost grows with the window."""


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
    longest, times_shortest = max(ranges) / line.longest, max(ranges) / min(ranges) * line.shortest / line.longest
    return hypot(log(len(ranges) / line.ranges), log(longest), log(times_shortest))


@dataclass(frozen=True)
class Choice:
    """An algorithm, the reason for it, and its costs in the catalogue."""

    algorithm: str
    reason: str
    combines: SlideCost
    """The cost of a slide: amortised, or in the worst case for the objective "latency"."""
    space: SpaceCost
    worst: SlideCost | None = None
    """The cost of a slide in the worst case; None if `combines` is it."""


LISTED = Choice(
    "lists", "the result lists rows of the window, which its bounds tell", SlideCost("O(1)", ""), SpaceCost(1)
)
"""Of results that are lists of rows: no algorithm combines them."""


def choose_algorithm(
    aggregate: Aggregate[Any],
    ranges: Ranges = (),
    *,
    use: Use | None = None,
    objective: str = "throughput",
    algorithm: str = "auto",
) -> Choice:
    """Return the algorithm for an aggregate and ranges, or the named one. Raise ValueError if it does not fit.

    `ranges` are lengths in rows, ascending. Without them, there is one range, whose length is not known. `use` says whether
    the window slides over a whole column or persists between calls, if that is known.

    >>> from sash import agg
    >>> choice = choose_algorithm(agg.max())
    >>> choice.algorithm, str(choice.combines), str(choice.space)
    ('two_stacks', '3', '2n')
    >>> choose_algorithm(agg.max(), (2, 60, 1440)).algorithm, choose_algorithm(agg.max(), objective="latency").algorithm
    ('slickdeque', 'daba')
    >>> choose_algorithm(agg.max(), (2, 60), algorithm="daba")
    Traceback (most recent call last):
    ValueError: daba answers one range only. Leave ranges out, or use flatfat, flatfit, b_int or slideside.
    """
    if objective not in OBJECTIVES:
        raise ValueError(
            f'objective="{objective}" does not exist. Use "throughput" for the lowest mean cost, or "latency" for the lowest worst case.'
        )
    if algorithm == "auto":
        names, reason = candidates(aggregate, ranges, use=use, objective=objective)
        name = cheapest(names, aggregate, ranges, use)
        if others := [other for other in names if other != name]:
            reason += f"; measured against {', '.join(others)}"
    else:
        name, reason = algorithm, "asked for by name"
    about = find_algorithm(name, aggregate).about
    several = len(ranges) > 1
    if several and use != "whole" and about.ranges == "one":
        raise ValueError(
            f"{name} answers one range only. Leave ranges out, or use flatfat, flatfit, b_int or slideside."
        )
    return _choice(about, reason, objective, several=several)


def sorted_choice(choice: Choice, about: About, objective: str) -> Choice:
    """Return the choice of the algorithm that replaces another one where all rows of a block are known before it runs."""
    reason = f"{choice.reason}; blocks of rows are sorted before windows slide over them"
    return _choice(about, reason, objective, several=False)


def candidates(  # noqa: C901, PLR0911, PLR0912 — a chain is read line by line
    aggregate: Aggregate[Any], ranges: Ranges, *, use: Use | None = None, objective: str
) -> tuple[tuple[str, ...], str]:
    """Return the algorithms that fit, the preferred one first, and the properties that decided.

    Over a whole column, several ranges may also take a pass each, with an algorithm that answers one range.

    >>> from sash import agg
    >>> candidates(agg.median(), (), objective="throughput")
    (('order_statistics_tree',), 'read by rank')
    """
    laws = aggregate.laws
    latency = objective == "latency"
    one = len(ranges) <= 1
    several = not one and "holistic" not in laws
    short = ("recalculate",) if ranges and max(ranges) <= SHORT else ()
    if several and use == "whole":
        alone, _ = candidates(aggregate, (max(ranges),), objective=objective)
        together, reason = candidates(aggregate, ranges, objective=objective)
        passes = [name for name in alone if find_algorithm(name, aggregate).about.ranges == "one"]
        return (*passes, *together), f"{reason} of a whole column"
    one = one or use == "whole"

    if one and "ranked" in laws:  # tutorial, section 4.3
        return ("order_statistics_tree",), "read by rank"
    if one and "distinct" in laws:  # Knuth 3, section 6.4
        return ("occurrence_table",), "counts different values"
    if one and "modal" in laws:  # Knuth 3, sections 5.2.3 and 6.4
        return ("occurrence_tournament",), "takes the most frequent value"

    if one and latency and "invertible" in laws:  # tutorial, figure 2; SlickDeque, EDBT 2018
        return ("subtract_on_evict", "slickdeque"), "exactly invertible, one range: 2 operations in the worst case"
    if one and latency:  # DABA, DEBS 2017
        return ("daba",), "associative, one range: constant in the worst case"
    if one and "invertible" in laws:  # tutorial, figure 2
        return ("subtract_on_evict", "two_stacks", "slickdeque", "slideside", *short), "exactly invertible, one range"
    if one and "selective" in laws:  # tutorial, figure 4, and HammerSlide, ADMS 2018; SlickDeque, EDBT 2018
        return ("two_stacks", "slickdeque", "slideside", "daba", "flatfit", *short), "selective, one range"
    if one:  # tutorial, figure 4, and HammerSlide, ADMS 2018; SlideSide, EDBT 2020; FlatFIT, SSDBM 2017
        return ("two_stacks", "slideside", "daba", "flatfit", *short), "associative, one range"

    if several and latency and "invertible" in laws:  # SlickDeque, EDBT 2018; over columns with nulls it is interpreted
        return ("slickdeque",), "exactly invertible, several ranges: 2 operations for each in the worst case"
    if several and latency:  # FlatFAT, PVLDB 2015; B-Int, VLDB 2004
        return ("flatfat", "b_int"), "associative, several ranges: O(log n) for each in the worst case"
    if several and "selective" in laws:  # SlickDeque, EDBT 2018; SlideSide, EDBT 2020
        return ("slickdeque", "slideside", "flatfit", "flatfat", "b_int"), "selective, several ranges"
    if several and "invertible" in laws:  # SlideSide, EDBT 2020, its first form; SlickDeque, EDBT 2018
        return ("slideside", "slickdeque", "flatfit", "flatfat", "b_int"), "exactly invertible, several ranges"
    if several:  # FlatFAT, PVLDB 2015; B-Int, VLDB 2004; SlideSide, EDBT 2020; FlatFIT, SSDBM 2017
        return ("flatfat", "b_int", "slideside", "flatfit"), "associative, several ranges"

    # Tutorial, figure 1. Every other structure would hold n partials of up to n values each.
    return ("recalculate",), "its partials grow with the window, several ranges: only the rows are kept"


def cheapest(names: tuple[str, ...], aggregate: Aggregate[Any], ranges: Ranges, use: Use | None = None) -> str:
    """Return the algorithm with the lowest measured cost; among about equal ones, the first."""
    if len(names) == 1:
        return names[0]
    costs = {name: cost_of(name, aggregate, ranges, use) for name in names}
    share = CLEARLY_CHEAPER if len(ranges) > 1 else CLEARLY_CHEAPER_ALONE
    return next(name for name, cost in costs.items() if share * cost <= min(costs.values()))


def _choice(about: About, reason: str, objective: str, *, several: bool) -> Choice:
    cost, worst = (_combines(about, aim, several=several) for aim in (objective, "latency"))
    return Choice(about.name, reason, cost, about.space, None if worst == cost else worst)


def _combines(about: About, objective: str, *, several: bool) -> SlideCost:
    cost = about.worst if objective == "latency" else (several and about.amortised_many) or about.amortised
    for_each = several and (objective == "latency" or about.ranges == "one")
    return replace(cost, amount=f"{cost.amount} for each range") if for_each else cost
