"""The query, parsed and validated before any work starts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from sash.aggregates.base import Aggregate
from sash.algorithms import ALGORITHMS, find_algorithm
from sash.slices.edges import TECHNIQUES
from sash.windows import Window
from sash.windows.base import ALL_COLUMNS
from sash.windows.durations import Duration, DurationLike, read_duration

OBJECTIVES = ("throughput", "latency")
ADDED = ("window", "window_start", "window_end")
"""The columns of results per window, besides keys and aggregates."""


@dataclass(frozen=True)
class Declared:
    """A parsed query. It is immutable."""

    aggregates: Mapping[str, Aggregate[Any]]
    windows: Mapping[str, Window]
    by: tuple[str, ...]
    time: str | None
    order_by: tuple[str, ...]
    algorithm: str
    objective: str
    slicing: str
    lateness: Duration | None

    @property
    def per_row(self) -> bool:
        """Whether every row has a result, rather than every window."""
        return next(iter(self.windows.values())).per_row

    @property
    def several(self) -> bool:
        """Whether there are several windows, so that results name theirs."""
        return len(self.windows) > 1

    def result_name(self, aggregate: str, window: str) -> str:
        """Return the name of a result column, for results per row."""
        return f"{aggregate}_{window}" if self.several else aggregate

    @property
    def columns(self) -> list[str]:
        """The columns that the query reads, each once."""
        named = [*self.by, *([self.time] if self.time else []), *self.order_by]
        named += [name for window in self.windows.values() for name in window.columns if name != ALL_COLUMNS]
        named += [name for aggregate in self.aggregates.values() for name in aggregate.columns]
        return list(dict.fromkeys(named))


def declare(
    aggregates: Any,
    windows: Any,
    by: Any,
    time: Any,
    order_by: Any,
    algorithm: Any,
    objective: Any,
    slicing: Any,
    lateness: DurationLike | None,
) -> Declared:
    """Return the parsed query. Raise TypeError or ValueError if an argument is invalid."""
    declared = Declared(
        _check_aggregates(aggregates),
        _check_windows(windows),
        _check_columns(by, "by"),
        _check_time(time),
        _check_columns(order_by, "order_by"),
        algorithm,
        objective,
        slicing,
        None if lateness is None else read_duration(lateness, "lateness", at_least=0),
    )
    _refuse_two_kinds(declared)
    _refuse_missing_time(declared)
    _refuse_equal_names(declared)
    _check_how(declared)
    return declared


def _check_aggregates(given: Any) -> dict[str, Aggregate[Any]]:
    if isinstance(given, Aggregate):
        given = {given.name: given}
    if not isinstance(given, Mapping) or not given:
        message = f'aggregates={given!r}: give a dictionary of named ones, as in {{"peak": agg.max("load")}}.'
        raise TypeError(message)
    for name, aggregate in given.items():
        if not isinstance(name, str) or not isinstance(aggregate, Aggregate):
            message = f'aggregates: {name!r}: {aggregate!r} is not a named aggregate, as "peak": agg.max("load") is.'
            raise TypeError(message)
        if len(aggregate.columns) != aggregate.inputs:
            message = (
                f"aggregates: {name!r} is {aggregate.name} of {aggregate.inputs} column(s), but "
                f"{len(aggregate.columns)} are named: say which, as in agg.{aggregate.name}({_examples(aggregate)})."
            )
            raise ValueError(message)
    return dict(given)


def _examples(aggregate: Aggregate[Any]) -> str:
    return ", ".join(f'"{name}"' for name in ("load", "plug", "x", "y")[: aggregate.inputs])


def _check_windows(given: Any) -> dict[str, Window]:
    if isinstance(given, Window):
        given = {given.kind: given}
    if not isinstance(given, Mapping) or not given:
        message = (
            f'windows={given!r}: give a window, as window.time("1h") is, or a dictionary of named ones, '
            'as {"hour": window.time("1h")}.'
        )
        raise TypeError(message)
    for name, window in given.items():
        if not isinstance(name, str) or not isinstance(window, Window):
            message = f'windows: {name!r}: {window!r} is not a named window, as "hour": window.time("1h") is.'
            raise TypeError(message)
    return dict(given)


def _check_columns(given: Any, name: str) -> tuple[str, ...]:
    columns = (given,) if isinstance(given, str) else given
    if not isinstance(columns, Iterable) or not all(isinstance(column, str) and column for column in columns):
        message = f"{name}={given!r}: give the name of a column, or several in a list."
        raise TypeError(message)
    if len(set(columns)) != len(tuple(columns)):
        message = f"{name}={given!r} names a column twice."
        raise ValueError(message)
    return tuple(columns)


def _check_time(given: Any) -> str | None:
    if given is not None and (not isinstance(given, str) or not given):
        message = f"time={given!r}: give the name of the column that holds the time of rows."
        raise TypeError(message)
    return given or None


def _refuse_two_kinds(declared: Declared) -> None:
    kinds = {window.per_row for window in declared.windows.values()}
    if len(kinds) > 1:
        of_rows = ", ".join(name for name, window in declared.windows.items() if window.per_row)
        of_windows = ", ".join(name for name, window in declared.windows.items() if not window.per_row)
        message = (
            f"Windows with a result for each row ({of_rows}) and for each window ({of_windows}) don't mix in one query: "
            "make two queries."
        )
        raise ValueError(message)


def _refuse_missing_time(declared: Declared) -> None:
    for window in declared.windows.values():
        if window.needs_time and declared.time is None:
            message = f'{window} is a window of time: say which column holds it, as in Query(time="ts", …).'
            raise ValueError(message)
    if declared.lateness is not None and declared.time is None:
        message = "lateness says how late rows may come, so there must be a time: Query(time=…)."
        raise ValueError(message)


def _refuse_equal_names(declared: Declared) -> None:
    """Raise ValueError if two columns of the result would have the same name."""
    names = list(declared.by)
    if declared.per_row:
        names = [declared.result_name(name, window) for name in declared.aggregates for window in declared.windows]
    else:
        names += [*ADDED, *declared.aggregates]
    for name in names:
        if names.count(name) > 1:
            message = f"The result would have two columns named {name!r}: rename an aggregate, a window or a key."
            raise ValueError(message)


def _check_how(declared: Declared) -> None:
    if declared.objective not in OBJECTIVES:
        message = f'objective={declared.objective!r}: it is "throughput" (the most rows) or "latency" (no slow row).'
        raise ValueError(message)
    if declared.slicing not in ("auto", "none", *TECHNIQUES):
        message = f"slicing={declared.slicing!r}: it is auto, {', '.join(TECHNIQUES)}, or none."
        raise ValueError(message)
    if declared.algorithm != "auto":
        for aggregate in declared.aggregates.values():
            # A variant for one kind of column may have an inverse where the general aggregate has none.
            forms = [aggregate, *aggregate.variants.values()]
            problems = [problem for form in forms if (problem := _problem(declared.algorithm, form)) is not None]
            if len(problems) == len(forms):
                raise problems[0]
        _refuse_slices_without_values(declared)
    for window in declared.windows.values():
        unsliced = declared.slicing in TECHNIQUES and not window.sliced
        if unsliced:
            message = (
                f"{window} gives a result for each row, so there is nothing to slice: leave slicing out."
                if window.per_row
                else f"Where {window} begins is not known before it ends, so it can't be sliced: leave slicing out."
            )
            raise ValueError(message)
        if declared.slicing == "panes" and not window.repeats:
            message = f'{window} has no fixed slide, which panes need: use slicing="pairs" or "cutty".'
            raise ValueError(message)


def _refuse_slices_without_values(declared: Declared) -> None:
    """Raise ValueError if the named algorithm stores values, and slicing is named too: slices have only partials."""
    needs = {form.about.needs for form in ALGORITHMS if form.about.name == declared.algorithm}
    if declared.slicing in TECHNIQUES and needs & {"ranked", "distinct", "modal"}:
        message = (
            f"{declared.algorithm} keeps values, and slices have none, only partials: leave slicing out, "
            'or use algorithm="two_stacks".'
        )
        raise ValueError(message)


def _problem(algorithm: str, aggregate: Aggregate[Any]) -> ValueError | None:
    try:
        find_algorithm(algorithm, aggregate)
    except ValueError as error:
        return error
    return None
