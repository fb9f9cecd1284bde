"""A case: an aggregate, ranges and a use, for all algorithms that fit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from benchmarks.case import Case, Contestant
from benchmarks.column_case import Ranges
from benchmarks.columns import column
from benchmarks.costs import MEASURED, Situation
from benchmarks.sash_calls import AGGREGATES
from sash.algorithms import Algorithm, TwoStacks
from sash.plan.choose import Use, choose_algorithm

ROWS, FEWEST_WINDOWS = 200_000, 4
"""Rows, and how many times the longest window fits into them."""


@dataclass(frozen=True, kw_only=True)
class ChoiceCase(Case):
    """One situation, in which an algorithm is chosen."""

    of: str
    """The type of the column that is aggregated."""
    lengths: Ranges
    use: Use
    contestants: Sequence[Contestant] = ()
    tolerance: float = 1e-9
    rows: int = ROWS
    repeats: int = 9

    @property
    def dtype(self) -> str:
        """The type of the column that is aggregated."""
        return self.of

    @property
    def range(self) -> str:
        """The lengths of the ranges."""
        return ", ".join(map(str, self.lengths)) if len(self.lengths) < 5 else spaced(self.lengths)  # noqa: PLR2004

    @property
    def situation(self) -> Situation:
        """What is measured."""
        aggregate = AGGREGATES[self.aggregate].of_kind("int" if self.of == "int64" else "float")
        orders = MEASURED.get((self.aggregate, self.of), (self.of,))
        return Situation(aggregate, tuple(column(order, self.rows) for order in orders), self.lengths, self.use)

    @property
    def chosen(self) -> str:
        """The algorithm that Sash chooses."""
        return choose_algorithm(self.situation.aggregate, self.lengths, use=self.use).algorithm


def spaced(lengths: Ranges) -> str:
    """Write many lengths in short.

    >>> spaced((1, 2, 3, 4, 30))
    '1, 2, … 30 (5)'
    """
    return f"{lengths[0]}, {lengths[1]}, … {lengths[-1]} ({len(lengths)})"


def case(aggregate: str, of: str, lengths: Ranges, use: Use) -> ChoiceCase:
    """Return a case with all algorithms that fit."""
    rows = max(ROWS, FEWEST_WINDOWS * max(lengths))
    made = ChoiceCase(name="", aggregate=aggregate, of=of, lengths=lengths, use=use, rows=rows)
    contestants = [Contestant(name=name, role="sash", algorithm=name) for name in algorithms_for(made)]
    return replace(made, name=f"{use}, {aggregate} of {of}, {made.range}", contestants=contestants)


def algorithms_for(made: ChoiceCase) -> dict[str, type[Algorithm[Any]]]:
    """Return the algorithms that fit; over a whole column, those for one range take a pass for each of several."""
    situation = made.situation
    found: dict[str, type[Algorithm[Any]]] = dict(situation.algorithms)
    if len(made.lengths) == 1 or made.use == "whole":
        alone = replace(situation, ranges=made.lengths[-1:]).algorithms
        found = {TwoStacks.about.name: TwoStacks, **found}
        found |= {name: one for name, one in alone.items() if one.about.ranges == "one"}
    return found
