"""One chain from the properties of an aggregate and its windows to the algorithm."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sash.aggregates.base import Aggregate


@dataclass(frozen=True)
class Choice:
    """An algorithm's name and the reason for it."""

    algorithm: str
    reason: str


def choose_algorithm(aggregate: Aggregate[Any], ranges: int = 1, *, objective: str = "throughput") -> Choice:  # noqa: ARG001  # noqa: PLR0911 — a chain is read line by line
    """Return the algorithm for an aggregate over windows of that many lengths, rows in order.

    >>> from sash import agg
    >>> choose_algorithm(agg.max())
    Choice(algorithm='two_stacks', reason='associative: at most 3 combines a slide, amortised')
    >>> choose_algorithm(agg.max(), ranges=5).algorithm
    'slickdeque'
    """
    laws = aggregate.laws
    if "ranked" in laws and ranges == 1:  # tutorial, section 4.3
        return Choice("order_statistics_tree", "read by rank: O(log n) an operation")
    if "distinct" in laws and ranges == 1:
        return Choice("occurrence_table", "counts different values: O(1) an operation, expected")
    if "modal" in laws and ranges == 1:
        return Choice("occurrence_tournament", "takes the most frequent value: O(log n) an operation, expected")
    if ranges > 1 and "holistic" in laws:  # every other structure would keep n partials of up to n values each
        return Choice("recalculate", "its partials grow with the window, several ranges: only the rows are kept")
    if ranges > 1 and "selective" in laws:  # SlickDeque, SlideSide's table 1
        return Choice("slickdeque", "selective, several ranges: fewer than 2 combines a slide for all of them")
    if ranges > 1 and "invertible" in laws:  # SlideSide, table 1
        return Choice("slideside", "exactly invertible, several ranges: 1 operation for each")
    if ranges > 1:  # FlatFIT, table 1
        return Choice("flatfit", "associative, several ranges: each query shortens the next")
    if "invertible" in laws:  # tutorial, section 4.2
        return Choice("subtract_on_evict", "exactly invertible: 2 operations a slide")
    return Choice("two_stacks", "associative: at most 3 combines a slide, amortised")  # tutorial, section 4.5
