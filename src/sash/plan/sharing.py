"""Plan: which slices and which aggregators answer a set of windows and aggregates together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from sash.aggregates.base import Aggregate
from sash.aggregates.derived import derive_lower
from sash.algorithms import Algorithm, find_algorithm
from sash.plan.choose import Choice, choose_algorithm
from sash.windows import Window

FOR_ROWS = ("ranked", "distinct", "modal", "holistic")
"""Laws of aggregates whose slices would be as large as their rows."""


@dataclass(frozen=True)
class Pass:
    """Aggregates of the same columns that go through the rows, and the slices, together."""

    aggregates: Mapping[str, Aggregate[Any]]
    """By the names of their results."""
    columns: tuple[str, ...]
    algorithm: type[Algorithm[Any]]
    choice: Choice
    over_slices: bool
    interpreted: str = ""
    """Why it is interpreted, where it is."""
    together: bool = False
    """Whether one structure answers all windows, rather than one for each."""
    commutes: bool = False
    """Whether rows may come into a slice in any order, since all its aggregates commute."""

    @property
    def keeps_slices(self) -> bool:
        """Whether slices can be kept as partials while rows still come out of order."""
        return self.over_slices and not self.interpreted and self.commutes


@dataclass(frozen=True)
class Plan:
    """How a set of windows and aggregates is answered."""

    windows: Mapping[str, Window]
    passes: tuple[Pass, ...]
    technique: str
    """How slices are cut: "cutty", "pairs", "panes", or "" for none."""

    @property
    def per_row(self) -> bool:
        """Whether there is a result for each row."""
        return next(iter(self.windows.values())).per_row


def make_plan(
    windows: Mapping[str, Window],
    aggregates: Mapping[str, Aggregate[Any]],
    *,
    algorithm: str = "auto",
    objective: str = "throughput",
    slicing: str = "auto",
    kinds: Mapping[str, str] | None = None,
    interpreted: Mapping[str, str] | None = None,
) -> Plan:
    """Return how windows and aggregates are answered together.

    `kinds` says what the columns hold ("bool", "int", "float", "object"), `interpreted` why aggregates are not compiled,
    by the names of their results.
    """
    sliced = slicing != "none" and all(window.sliced for window in windows.values())
    technique = ("cutty" if slicing == "auto" else slicing) if sliced else ""
    kinds, interpreted = kinds or {}, interpreted or {}
    placed = []
    for name, aggregate in aggregates.items():
        form = form_for(aggregate, kinds) if name not in interpreted else aggregate
        over_slices = sliced and (slicing != "auto" or not set(FOR_ROWS) & form.laws)
        if over_slices:
            form = without_values(form)
        choice = choose_algorithm(form, objective=objective, algorithm=algorithm)
        found = find_algorithm(choice.algorithm, form)
        alone = name in interpreted or found.one_aggregate
        coded = aggregate.codes if any(column not in kinds for column in aggregate.columns) else ()
        together = algorithm != "auto" and can_share(found, windows)
        made = Pass(
            {name: aggregate}, aggregate.columns, found, choice, over_slices, interpreted.get(name, ""), together
        )
        made = replace(made, commutes=form.commutative)
        placed.append(Placed(form, made, (aggregate.columns, over_slices, name if alone else "", coded)))
    passes: dict[Any, Pass] = {}
    for one in join_readings(placed) if algorithm == "auto" else placed:
        key = (one.apart, one.made.algorithm)
        passes[key] = join(passes[key], one.made) if key in passes else one.made
    return Plan(dict(windows), tuple(passes.values()), technique)


@dataclass(frozen=True)
class Placed:
    """An aggregate in the form for its column, the pass that it would make alone, and what keeps it apart from others."""

    form: Aggregate[Any]
    made: Pass
    apart: tuple[Any, ...]


def join_readings(placed: list[Placed]) -> list[Placed]:
    """Let aggregates that are read from the partials of another one go where that goes, whatever they would choose.

    A count alone is subtracted on evict; beside a deviation, which has it in its partial, it costs nothing.
    """

    def host_of(one: Placed) -> Placed:
        hosts = [
            other for other in placed if other.apart == one.apart and derive_lower(one.form, other.form) is not None
        ]
        own = [host for host in hosts if host.made.algorithm is one.made.algorithm]
        return one if own or not hosts else hosts[0]

    return [
        replace(one, made=replace(one.made, algorithm=host.made.algorithm, choice=host.made.choice))
        for one, host in zip(placed, map(host_of, placed), strict=True)
    ]


def join(one: Pass, other: Pass) -> Pass:
    """Return two passes of the same columns and algorithm as one, chosen for what holds for all of it."""
    choices = [one.choice, other.choice]
    general = next((choice for choice in choices if choice.reason.startswith("associative")), one.choice)
    both = {**one.aggregates, **other.aggregates}
    return replace(one, aggregates=both, choice=general, commutes=one.commutes and other.commutes)


def form_for(aggregate: Aggregate[Any], kinds: Mapping[str, str]) -> Aggregate[Any]:
    """Return the form of an aggregate for the kind of its column, where it is known."""
    known = [kinds[column] for column in aggregate.columns if column in kinds]
    return aggregate.of_kind(known[0]) if aggregate.inputs == 1 and known else aggregate


def without_values(aggregate: Aggregate[Any]) -> Aggregate[Any]:
    """Return an aggregate without the laws that ask for values one by one, which slices don't have."""
    return replace(aggregate, rank=None, between=None, distinct=False, modal=False)


def can_share(algorithm: type[Algorithm[Any]], windows: Mapping[str, Window]) -> bool:
    """Tell whether one structure of an algorithm can answer all windows: ranges that change with the rows in them.

    It is asked only of algorithms that were named. Left to itself a plan has a structure for each window, over the slices
    that all share: 20 windows over 4 M rows took 2.0 s so, and 3.3 s with one slickdeque for all, 4.0 s with one flatfit,
    since windows then take turns, and results must be put in order again.
    """
    equal = len({window.min_rows for window in windows.values()}) == 1
    return len(windows) > 1 and equal and algorithm.answers_any_length
