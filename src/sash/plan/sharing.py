"""Plan: which passes, algorithms and slices answer a set of windows and aggregates together."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple, TypeVar

from sash.aggregates.base import Aggregate
from sash.aggregates.derived import derive_lower
from sash.algorithms import Algorithm, find_algorithm
from sash.plan.choose import LISTED, Choice, choose_algorithm, sorted_choice
from sash.windows import Window

T = TypeVar("T")
COMPILED, NUMPY, INTERPRETED = "compiled", "NumPy", "interpreted"
"""The executors."""


@dataclass(frozen=True)
class Pass:
    """Aggregates of the same columns that go through rows or slices together."""

    aggregates: Mapping[str, Aggregate[Any]]
    """By the names of the results."""
    algorithm: type[Algorithm[Any]]
    choice: Choice
    """The algorithm that runs: `algorithm`, or the one that replaces it where rows can be sorted in advance."""
    over_slices: bool
    executor: str = COMPILED
    reason: str = ""
    """Why it is interpreted; empty if it is not."""
    together: bool = False
    """Whether one structure answers all windows, rather than one structure per window."""
    commutes: bool = False
    """Whether all its aggregates commute, so that rows may enter a slice in any order."""
    compact: bool = False
    """Whether the partial of many rows takes no more space than that of few, and its result needs no row."""
    lists: bool = False
    """Whether its results are lists of rows, which follow from the bounds of windows (see `Listing`)."""
    derived: dict[str, Any] = field(init=False, default_factory=dict, compare=False, repr=False)
    """What other modules compute once for this pass, by a name of their choice: it depends on the query and the types of columns only."""

    def once(self, name: str, make: Callable[[], T]) -> T:
        """Return what a function makes of this pass, the same each time."""
        if name not in self.derived:
            self.derived[name] = make()
        made: T = self.derived[name]
        return made

    @cached_property
    def label(self) -> str:
        """The names of the results and the aggregates, for errors."""
        return " and ".join(f"{name!r}: {aggregate.label}" for name, aggregate in self.aggregates.items())

    @property
    def over_objects(self) -> bool:
        """Whether it reads Python objects in place of columns, so that its partials are Python objects, too."""
        return self.executor == INTERPRETED

    @property
    def stores_tails(self) -> bool:
        """Whether a stream can store one partial for older rows, to which later rows are added in order."""
        return self.compact and not self.over_objects

    @property
    def stores_slices(self) -> bool:
        """Whether a stream can store slices as partials while rows still arrive out of order."""
        return self.over_slices and not self.over_objects and self.commutes


@dataclass(frozen=True)
class Plan:
    """The passes that answer a set of windows and aggregates, and how slices are cut."""

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
    """Return the plan for windows and aggregates.

    `kinds` are the kinds of columns that hold numbers ("bool", "int", "float"); `interpreted` are the reasons why aggregates
    are not compiled, by the names of their results.
    """
    sliced = slicing != "none" and all(window.cuts is not None for window in windows.values())
    technique = ("cutty" if slicing == "auto" else slicing) if sliced else ""
    kinds, interpreted = kinds or {}, interpreted or {}
    alone = []
    for name, aggregate in aggregates.items():
        form = form_for(aggregate, kinds) if name not in interpreted else aggregate
        compact = not form.result.of_newest and not form.laws.suit_rows
        over_slices = sliced and not form.result.of_newest and (slicing != "auto" or compact)
        if over_slices or any(window.frame and window.frame.in_runs for window in windows.values()):
            form = replace(form, laws=form.laws.over_partials())  # slices and runs of rows have no single values
        choice = choose_algorithm(form, objective=objective, algorithm=algorithm)
        chosen = find_algorithm(choice.algorithm, form)
        if chosen.sorted_in_advance is not None and form.laws.place is None and name not in interpreted:
            choice = sorted_choice(choice, chosen.sorted_in_advance.about, objective)
        # A list has many fields by itself.
        lists = form.laws.listed is not None and name not in interpreted
        if lists:
            choice = LISTED
        is_alone = chosen.one_aggregate or form.forms.entries or form.coding.reads is not None or lists
        own_pass = name if name in interpreted or is_alone else ""
        coded = aggregate.coding.codes if any(column not in kinds for column in aggregate.columns) else ()
        # A time as ticks is another column than the time itself.
        columns = (aggregate.columns, aggregate.time is not None)
        plan_pass = Pass(
            {name: aggregate},
            chosen,
            choice,
            over_slices,
            executor=INTERPRETED if name in interpreted else COMPILED,
            reason=interpreted.get(name, ""),
            together=algorithm != "auto" and not form.result.of_newest and can_share(chosen, windows),
            commutes=form.laws.commutative,
            compact=compact,
            lists=lists,
        )
        alone.append(SinglePass(form, plan_pass, (columns, over_slices, own_pass, coded)))
    passes: dict[Any, Pass] = {}
    for single in join_readings(alone) if algorithm == "auto" else alone:
        key = (single.group, single.plan_pass.algorithm)
        passes[key] = join(passes[key], single.plan_pass) if key in passes else single.plan_pass
    return Plan(dict(windows), tuple(passes.values()), technique)


class SinglePass(NamedTuple):
    """The pass that an aggregate would make alone."""

    form: Aggregate[Any]
    """The variant for its column."""
    plan_pass: Pass
    group: tuple[Any, ...]
    """What aggregates that share a pass have in common, besides the algorithm."""


def join_readings(alone: list[SinglePass]) -> list[SinglePass]:
    """Give aggregates that can be read from the partial of another one the algorithm of that one, instead of their own choice.

    A count alone would use subtract_on_evict. Beside a deviation, whose partial contains the count, it costs nothing.
    """

    def hosted(single: SinglePass) -> SinglePass:
        alike = [other for other in alone if other.group == single.group]
        hosts = [other.plan_pass for other in alike if derive_lower(single.form, other.form) is not None]
        own = single.plan_pass
        if not hosts or any(host.algorithm is own.algorithm for host in hosts):
            return single
        return single._replace(plan_pass=replace(own, algorithm=hosts[0].algorithm, choice=hosts[0].choice))

    return list(map(hosted, alone))


def join(older: Pass, newer: Pass) -> Pass:
    """Return two passes of the same columns and algorithm as one; its reason is the law that all its aggregates obey."""
    choices = [older.choice, newer.choice]
    return replace(
        older,
        aggregates={**older.aggregates, **newer.aggregates},
        choice=next((choice for choice in choices if choice.reason.startswith("associative")), older.choice),
        commutes=older.commutes and newer.commutes,
        compact=older.compact and newer.compact,
    )


def form_for(aggregate: Aggregate[Any], kinds: Mapping[str, str]) -> Aggregate[Any]:
    """Return the variant of an aggregate for the kind of its column, if that is known."""
    column_kinds = [kinds[column] for column in aggregate.columns if column in kinds]
    return aggregate.of_kind(column_kinds[0]) if aggregate.inputs == 1 and column_kinds else aggregate


def can_share(algorithm: type[Algorithm[Any]], windows: Mapping[str, Window]) -> bool:
    """Return whether one structure of an algorithm can answer all windows, whose numbers of slices vary.

    This applies only if the user names an algorithm. By default each window has its own structure over the shared
    slices, which is faster: 20 windows over 4 M rows took 2.0 s, but 3.3 s with one slickdeque for all and 4.0 s with one
    flatfit. A shared structure alternates between windows, and the results must then be sorted by window again.

    A structure answers the newest partials, that is, one run of rows. Windows of several runs (`exclude=`) combine the partials of
    their runs, each of which slides alone.
    """
    equal = len({window.min_rows for window in windows.values()}) == 1
    one_run = not any(window.frame and window.frame.in_runs for window in windows.values())
    return len(windows) > 1 and equal and one_run and algorithm.answers_any_length
