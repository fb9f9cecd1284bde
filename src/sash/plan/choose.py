"""One chain from the properties of an aggregate and its windows to the algorithm; measured costs decide between several."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from sash.aggregates.base import Aggregate
from sash.algorithms import find_algorithm
from sash.algorithms.base import About, SlideCost, SpaceCost
from sash.plan.costs import cost_of

OBJECTIVES = ("throughput", "latency")
CLEARLY_CHEAPER = 0.8
"""An algorithm replaces an earlier one of its line only if it costs less than this share: runs of `make costs` differ by up to a fifth."""


@dataclass(frozen=True)
class Choice:
    """An algorithm, the reason for it, and its costs in the catalogue."""

    algorithm: str
    reason: str
    combines: SlideCost
    """The cost of a slide: amortised, or in the worst case for the objective "latency"."""
    space: SpaceCost


def choose_algorithm(
    aggregate: Aggregate[Any],
    ranges: int = 1,
    *,
    objective: str = "throughput",
    in_order: bool = True,
    algorithm: str = "auto",
) -> Choice:
    """Return the algorithm for an aggregate and a number of ranges, or the named one. Raise ValueError if it does not fit.

    >>> from sash import agg
    >>> choice = choose_algorithm(agg.max())
    >>> choice.algorithm, str(choice.combines), str(choice.space)
    ('two_stacks', '3', '2n')
    >>> choose_algorithm(agg.max(), ranges=5).algorithm, choose_algorithm(agg.max(), objective="latency").algorithm
    ('slickdeque', 'daba')
    >>> choose_algorithm(agg.max(), algorithm="daba", in_order=False)
    Traceback (most recent call last):
    ValueError: daba takes rows in order. Use fiba, or leave algorithm="auto".
    """
    if objective not in OBJECTIVES:
        message = f'objective="{objective}" does not exist. Use "throughput" for the lowest mean cost, or "latency" for the lowest worst case.'
        raise ValueError(message)
    if algorithm == "auto":
        names, reason = candidates(aggregate, ranges, objective=objective, in_order=in_order)
        name = cheapest(names, aggregate, ranges)
        if others := [other for other in names if other != name]:
            reason += f"; measured against {', '.join(others)}"
    else:
        name, reason = algorithm, "asked for by name"
    about = find_algorithm(name, aggregate).about
    refuse_other_windows(about, ranges, in_order=in_order)
    return Choice(name, reason, _combines(about, ranges, objective), about.space)


def sorted_choice(choice: Choice, about: About, objective: str) -> Choice:
    """Return the choice of the algorithm that replaces another one where all rows of a block are known before it runs."""
    reason = f"{choice.reason}; blocks of rows are sorted before windows slide over them"
    return Choice(about.name, reason, _combines(about, 1, objective), about.space)


def candidates(  # noqa: C901, PLR0911, PLR0912 — a chain is read line by line
    aggregate: Aggregate[Any], ranges: int, *, objective: str, in_order: bool
) -> tuple[tuple[str, ...], str]:
    """Return the algorithms that fit, the preferred one first, and the properties that decided.

    >>> from sash import agg
    >>> candidates(agg.median(), 1, objective="throughput", in_order=True)
    (('order_statistics_tree',), 'read by rank')
    """
    laws = aggregate.laws
    latency = objective == "latency"
    one = ranges == 1
    several = ranges > 1 and "holistic" not in laws
    if not in_order:  # FiBA, VLDB 2019
        return ("fiba",), "rows come out of order"

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
        return ("subtract_on_evict", "two_stacks", "slickdeque", "slideside"), "exactly invertible, one range"
    if one and "selective" in laws:  # tutorial, figure 4, and HammerSlide, ADMS 2018; SlickDeque, EDBT 2018
        return ("two_stacks", "slickdeque", "slideside", "daba", "flatfit"), "selective, one range"
    if one:  # tutorial, figure 4, and HammerSlide, ADMS 2018; SlideSide, EDBT 2020; FlatFIT, SSDBM 2017
        return ("two_stacks", "slideside", "daba", "flatfit"), "associative, one range"

    if several and latency and "invertible" in laws:  # SlickDeque, EDBT 2018; over columns with nulls it is interpreted
        return ("slickdeque",), "exactly invertible, several ranges: 2 operations for each in the worst case"
    if several and latency:  # FlatFAT, PVLDB 2015; B-Int, VLDB 2004
        return ("flatfat", "b_int"), "associative, several ranges: O(log n) for each in the worst case"
    if several and "selective" in laws:  # SlickDeque, EDBT 2018; SlideSide, EDBT 2020
        return ("slickdeque", "slideside", "flatfit", "flatfat", "b_int"), "selective, several ranges"
    if several and "invertible" in laws:  # SlideSide, EDBT 2020, its first form; SlickDeque, EDBT 2018
        return ("slideside", "slickdeque", "flatfit", "flatfat", "b_int"), "exactly invertible, several ranges"
    if several:  # FlatFIT, SSDBM 2017; FlatFAT, PVLDB 2015; B-Int, VLDB 2004. SlideSide would scan n rows every r rows.
        return ("flatfit", "flatfat", "b_int"), "associative, several ranges"

    # Tutorial, figure 1. Every other structure would hold n partials of up to n values each.
    return ("recalculate",), "its partials grow with the window, several ranges: only the rows are kept"


def cheapest(names: tuple[str, ...], aggregate: Aggregate[Any], ranges: int) -> str:
    """Return the algorithm with the lowest measured cost; among about equal ones, the first."""
    best, *others = names
    least = cost_of(best, aggregate, ranges) if others else 0.0
    for name in others:
        cost = cost_of(name, aggregate, ranges)
        if cost < CLEARLY_CHEAPER * least:
            best, least = name, cost
    return best


def refuse_other_windows(about: About, ranges: int, *, in_order: bool) -> None:
    """Raise ValueError if an algorithm does not support several ranges, or rows out of order."""
    if not in_order and about.order != "any":
        message = f'{about.name} takes rows in order. Use fiba, or leave algorithm="auto".'
        raise ValueError(message)
    if ranges > 1 and about.ranges == "one":
        message = f"{about.name} answers one range only. Leave ranges out, or use flatfat, flatfit, b_int or slideside."
        raise ValueError(message)


def _combines(about: About, ranges: int, objective: str) -> SlideCost:
    if objective == "latency":
        return about.worst if ranges == 1 else replace(about.worst, amount=f"{about.worst.amount} for each range")
    return (ranges > 1 and about.amortised_many) or about.amortised
