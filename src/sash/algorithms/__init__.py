"""HOW slices are combined over a window: every algorithm of the papers, each in a module with the paper's name.

`ALGORITHMS` is the registry: catalogue, choice and tests read it.
"""

from __future__ import annotations

from typing import Any

from sash.aggregates.base import Aggregate
from sash.algorithms.b_int import BInt
from sash.algorithms.base import About, Algorithm, SharedAlgorithm, fits, refuse_what_cannot_work
from sash.algorithms.daba import DABA
from sash.algorithms.fiba import FiBA
from sash.algorithms.flatfat import FlatFAT
from sash.algorithms.flatfit import FlatFIT
from sash.algorithms.occurrence_table import OccurrenceTable
from sash.algorithms.occurrence_tournament import OccurrenceTournament
from sash.algorithms.order_statistics_tree import OrderStatisticsTree
from sash.algorithms.reactive_aggregator import FifoReactiveAggregator, ReactiveAggregator
from sash.algorithms.recalculate import Recalculate
from sash.algorithms.slickdeque import SlickDequeInvertible, SlickDequeSelective
from sash.algorithms.slideside import SlideSideInvertible, SlideSideNonInvertible
from sash.algorithms.subtract_on_evict import SubtractOnEvict
from sash.algorithms.two_stacks import TwoStacks
from sash.hints import did_you_mean

ALGORITHMS: tuple[type[Algorithm[Any]], ...] = (
    Recalculate,
    SubtractOnEvict,
    OrderStatisticsTree,
    OccurrenceTable,
    OccurrenceTournament,
    FlatFAT,
    ReactiveAggregator,
    FifoReactiveAggregator,
    TwoStacks,
    DABA,
    BInt,
    FlatFIT,
    SlickDequeInvertible,
    SlickDequeSelective,
    SlideSideInvertible,
    SlideSideNonInvertible,
    FiBA,
)


def find_algorithm(name: str, aggregate: Aggregate[Any]) -> type[Algorithm[Any]]:
    """Return the algorithm with that name, in its first form that fits the aggregate.

    >>> from sash import agg
    >>> find_algorithm("slickdeque", agg.max()).__name__
    'SlickDequeSelective'
    """
    forms = [algorithm for algorithm in ALGORITHMS if algorithm.about.name == name]
    if not forms:
        names = list(dict.fromkeys(algorithm.about.name for algorithm in ALGORITHMS))
        hint = did_you_mean(name, names)
        raise ValueError(
            f'There is no algorithm "{name}".{hint} Choose from {", ".join(names)}, or leave algorithm="auto".'
        )
    fitting = [form for form in forms if fits(form.about, aggregate)]
    if not fitting:
        refuse_what_cannot_work(forms[-1].about, aggregate)
    # A form with an inexact inverse is used only where the algorithm has no other form.
    exact = [form for form in fitting if not form.about.needs or form.about.needs in aggregate.laws]
    return (exact or fitting)[0]


__all__ = [
    "ALGORITHMS",
    "DABA",
    "About",
    "Algorithm",
    "BInt",
    "FiBA",
    "FifoReactiveAggregator",
    "FlatFAT",
    "FlatFIT",
    "OccurrenceTable",
    "OccurrenceTournament",
    "OrderStatisticsTree",
    "ReactiveAggregator",
    "Recalculate",
    "SharedAlgorithm",
    "SlickDequeInvertible",
    "SlickDequeSelective",
    "SlideSideInvertible",
    "SlideSideNonInvertible",
    "SubtractOnEvict",
    "TwoStacks",
    "find_algorithm",
]
