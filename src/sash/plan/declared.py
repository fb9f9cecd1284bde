"""The query, parsed and validated before any work starts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from sash.aggregates import BUILT_IN
from sash.aggregates.base import Aggregate
from sash.algorithms import ALGORITHMS, find_algorithm
from sash.durations import Duration, DurationLike, TimeUnit, read_duration
from sash.expressions import Computed, as_key
from sash.hints import did_you_mean
from sash.plan.slicing import cycle_of
from sash.slices.edges import TECHNIQUES
from sash.windows import Window
from sash.windows.base import ALL_COLUMNS

OBJECTIVES = ("throughput", "latency")
ADDED = ("window", "window_start", "window_end")
"""The columns of results per window, besides keys and aggregates."""
TITLE_LENGTH = 120
"""The most characters of the title of a query."""


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
    window_names: tuple[str, ...]
    """The names of all windows. `windows` has only some of them in a part of a query."""

    def part(self, windows: Iterable[str]) -> Declared:
        """Return the query with some of its windows. The columns of results stay."""
        return replace(self, windows={name: self.windows[name] for name in windows})

    def in_unit(self, unit: TimeUnit) -> Declared:
        """Return the query for a time column of this unit."""
        return replace(self, aggregates={name: one.in_unit(unit) for name, one in self.aggregates.items()})

    @property
    def per_row(self) -> bool:
        """Whether every row has a result, rather than every window."""
        return next(iter(self.windows.values())).per_row

    @property
    def several(self) -> bool:
        """Whether there are several windows, so that results need the name of the window."""
        return len(self.window_names) > 1

    @property
    def title(self) -> str:
        """The query on one short line, as plans of Spark show it."""
        aggregates = ", ".join(dict.fromkeys(one.label for one in self.aggregates.values()))
        windows = ", ".join(dict.fromkeys(map(str, self.windows.values())))
        text = f"{aggregates} over {windows}{' by ' if self.by else ''}{', '.join(self.by)}"
        return text if len(text) <= TITLE_LENGTH else f"{text[: TITLE_LENGTH - 1]}…"

    def result_name(self, aggregate: str, window: str) -> str:
        """Return the name of a result column, for results per row."""
        return f"{aggregate}_{window}" if self.several else aggregate

    def as_computed(self) -> Declared:
        """Return the query for data that has the computed columns already."""
        names = {str(column): column.done() for column in self.computed}
        aggregates = {name: one.renamed(names) for name, one in self.aggregates.items()}
        by = tuple(name.done() if isinstance(name, Computed) else name for name in self.by)
        return replace(self, aggregates=aggregates, by=by)

    @cached_property
    def computed(self) -> list[Computed]:
        """The columns that are computed from others before the query runs."""
        return [name for name in self.columns if isinstance(name, Computed)]

    @cached_property
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
    """Return the parsed query. Raise TypeError or ValueError if an argument is invalid, or if arguments do not fit together."""
    parsed = _check_windows(windows)
    declared = Declared(
        _over_time(_tell_apart(_check_aggregates(aggregates)), _check_time(time)),
        parsed,
        _check_columns(_keys(by), "by"),
        _check_time(time),
        _check_columns(order_by, "order_by"),
        algorithm,
        objective,
        slicing,
        None if lateness is None else read_duration(lateness, "lateness", at_least=0),
        tuple(parsed),
    )
    _check_result_kind(declared)
    _check_time_is_named(declared)
    _check_result_names(declared)
    _check_choices(declared)
    _check_algorithm(declared)
    _check_slicing(declared)
    return declared


def _check_aggregates(given: Any) -> dict[str, Aggregate[Any]]:
    if isinstance(given, Aggregate):
        given = {given.name: given}
    elif isinstance(given, list | tuple) and given:
        given = _name_aggregates(given)
    if not isinstance(given, Mapping) or not given:
        problem = "is empty" if isinstance(given, Mapping | list | tuple) else "is not a dictionary of aggregates"
        problem = "is a window; windows come second or as windows=" if isinstance(given, Window) else problem
        message = f'aggregates={given!r} {problem}. Use aggregates={{"peak": agg.max("load")}}.'
        raise TypeError(message)
    for name, aggregate in given.items():
        if not isinstance(name, str) or not isinstance(aggregate, Aggregate):
            problem = _not_an_aggregate(aggregate) if isinstance(name, str) else "the name is not a string"
            message = f"aggregates: {name!r}: {problem}. {_aggregate_hint(aggregate)}"
            raise TypeError(message)
        if len(aggregate.columns) != aggregate.inputs:
            message = (
                f"aggregates: {name!r}: {aggregate.name} needs {aggregate.inputs - aggregate.reads_time} column(s), but has "
                f"{len(aggregate.columns)}. Name them, as in {aggregate.name}({_examples(aggregate)})."
            )
            raise ValueError(message)
    return dict(given)


def _tell_apart(aggregates: Mapping[str, Aggregate[Any]]) -> dict[str, Aggregate[Any]]:
    """Return the aggregates with different names for different computed columns: native expressions may look alike.

    Names that differ in case alone are different too, as Spark ignores case.
    """
    known: dict[str, Computed] = {}

    def unique(column: str) -> str:
        if not isinstance(column, Computed):
            return column
        name, number = str(column), 1
        other = known.setdefault(name.lower(), column)
        while str(other) != name or (other.value, other.where) != (column.value, column.where):
            number += 1
            name = f"{column} ({number})"
            column = Computed(name, column.value, column.where)
            other = known.setdefault(name.lower(), column)
        return other

    return {
        name: one.over(tuple(map(unique, one.named_columns))) if one.columns else one
        for name, one in aggregates.items()
    }


def _keys(by: Any) -> Any:
    """Return the argument `by` with names in place of expressions."""
    return [as_key(one) for one in by] if isinstance(by, list | tuple) else as_key(by)


def _over_time(aggregates: Mapping[str, Aggregate[Any]], time: str | None) -> dict[str, Aggregate[Any]]:
    """Return the aggregates with the time column among the columns of those that read it."""
    for name, aggregate in aggregates.items():
        if time is None and aggregate.reads_time:
            message = f'aggregates: {name!r}: {aggregate!r} needs a time column. Name it, as in Query(time="ts", …).'
            raise ValueError(message)
    return {name: aggregate.over_time(time or "") for name, aggregate in aggregates.items()}


def _name_aggregates(given: Sequence[Any]) -> dict[str, Aggregate[Any]]:
    """Return a list of aggregates by the names that they give themselves."""
    for aggregate in given:
        if not isinstance(aggregate, Aggregate):
            message = f"aggregates: {_not_an_aggregate(aggregate)}. {_aggregate_hint(aggregate, named=False)}"
            raise TypeError(message)
    names = [aggregate.result_name for aggregate in given]
    _check_unique(names, given, "aggregates", '"peak": agg.max("load")')
    return dict(zip(names, given, strict=True))


def _check_unique(names: list[str], given: Sequence[Any], parameter: str, example: str) -> None:
    """Raise ValueError if two members of a list have the same name."""
    for name in names:
        alike = [repr(one) for own, one in zip(names, given, strict=True) if own == name]
        if len(alike) > 1:
            message = (
                f"{parameter}: {' and '.join(alike)} are both named {name!r}. Use a dictionary to name them, as in "
                f"{parameter}={{{example}, …}}."
            )
            raise ValueError(message)


def _not_an_aggregate(given: Any) -> str:
    function = getattr(given, "__name__", "")
    return f"{function} is a function, not an aggregate" if function else f"{given!r} is not an aggregate"


def _aggregate_hint(given: Any, *, named: bool = True) -> str:
    """Return what to write: for a factory that was not called, and for the name of an aggregate, the call."""
    name = given if isinstance(given, str) else getattr(given, "__name__", "")
    if name in BUILT_IN:
        return f'Use agg.{name}("load").'
    return 'Use "peak": agg.max("load").' if named else 'Use agg.max("load").'


def _examples(aggregate: Aggregate[Any]) -> str:
    return ", ".join(f'"{name}"' for name in ("load", "plug", "x", "y")[: aggregate.inputs - aggregate.reads_time])


def _check_windows(given: Any) -> dict[str, Window]:
    if isinstance(given, Window):
        given = {given.kind: given}
    elif isinstance(given, list | tuple) and given and all(isinstance(window, Window) for window in given):
        names = [window.result_name for window in given]
        _check_unique(names, given, "windows", '"hour": window.time("1h")')
        given = dict(zip(names, given, strict=True))
    if not isinstance(given, Mapping) or not given:
        is_empty = isinstance(given, Mapping | list | tuple) and not given
        problem = "is empty" if is_empty else "is neither a window nor a dictionary or a list of windows"
        hint = _window_hint(given)
        message = f'windows={given!r} {problem}. Use windows={hint} or, with a name, windows={{"w": {hint}}}.'
        raise TypeError(message)
    for name, window in given.items():
        if not isinstance(name, str) or not isinstance(window, Window):
            problem = f"{window!r} is not a window" if isinstance(name, str) else "the name is not a string"
            message = f'windows: {name!r}: {problem}. Use windows={{"w": {_window_hint(window)}}}.'
            raise TypeError(message)
    return dict(given)


def _window_hint(given: Any) -> str:
    """Return a window, with the argument as its length if it is one."""
    if isinstance(given, int) and not isinstance(given, bool):
        return f"window.rows({given})"
    try:
        return f'window.time("{read_duration(given, "range")}")'
    except (TypeError, ValueError):
        return 'window.time("1h")'


def _check_columns(given: Any, parameter: str) -> tuple[str, ...]:
    columns = (given,) if isinstance(given, str) or not isinstance(given, Iterable) else tuple(given)
    if not all(isinstance(column, str) and column for column in columns):
        message = f"{parameter}={given!r} must be the name of a column, or a list of names."
        raise TypeError(message)
    if len(set(columns)) != len(columns):
        message = f"{parameter}={given!r} names a column twice. Name it once."
        raise ValueError(message)
    return columns


def _check_time(given: Any) -> str | None:
    if given is not None and (not isinstance(given, str) or not given):
        message = f'time={given!r} is not the name of a column. Name the column that orders the rows, as in time="ts".'
        raise TypeError(message)
    return given or None


def _check_result_kind(declared: Declared) -> None:
    """Raise ValueError if some windows have a result per row and others a result per window."""
    kinds = {window.per_row for window in declared.windows.values()}
    if len(kinds) > 1:
        per_row = ", ".join(name for name, window in declared.windows.items() if window.per_row)
        per_window = ", ".join(name for name, window in declared.windows.items() if not window.per_row)
        message = (
            f"One query cannot have windows with a result per row ({per_row}) and windows with a result per window "
            f"({per_window}). Use two queries, or give all windows a slide."
        )
        raise ValueError(message)


def _check_time_is_named(declared: Declared) -> None:
    if declared.time is not None:
        return
    for window in declared.windows.values():
        if window.needs_time:
            message = f'{window} needs a time column. Name it, as in Query(time="ts", …).'
            raise ValueError(message)
    if declared.lateness is not None:
        message = 'lateness needs a time column. Name it, as in Query(time="ts", …).'
        raise ValueError(message)


def _check_result_names(declared: Declared) -> None:
    """Raise ValueError if two columns of the result would have the same name."""
    names = list(declared.by)
    if declared.per_row:
        names = [declared.result_name(name, window) for name in declared.aggregates for window in declared.windows]
    else:
        names += [*ADDED, *declared.aggregates]
    for name in names:
        if names.count(name) > 1:
            message = f"The result would have two columns named {name!r}. Rename an aggregate, a window or a key."
            raise ValueError(message)


def _check_choices(declared: Declared) -> None:
    """Raise ValueError if an argument is not one of the values that its parameter accepts."""
    algorithms = dict.fromkeys(algorithm.about.name for algorithm in ALGORITHMS)
    choices = {
        "objective": (declared.objective, OBJECTIVES),
        "slicing": (declared.slicing, ("auto", *TECHNIQUES, "none")),
        "algorithm": (declared.algorithm, ("auto", *algorithms)),
    }
    for parameter, (given, valid) in choices.items():
        if given not in valid:
            hint = did_you_mean(str(given), valid)
            message = f"{parameter}={given!r} does not exist.{hint} Use {', '.join(valid[:-1])} or {valid[-1]}."
            raise ValueError(message)


def _check_algorithm(declared: Declared) -> None:
    """Raise ValueError if the named algorithm cannot compute an aggregate, or cannot go over slices or runs of rows."""
    if declared.algorithm == "auto":
        return
    for aggregate in declared.aggregates.values():
        # A variant for one kind of column may have an inverse where the general aggregate has none.
        forms = [aggregate, *aggregate.variants.values()]
        problems = [problem for form in forms if (problem := _problem(declared.algorithm, form)) is not None]
        if len(problems) == len(forms):
            raise problems[0]
    needs = {form.about.needs for form in ALGORITHMS if form.about.name == declared.algorithm}
    if not needs & {"ranked", "distinct", "modal"}:
        return
    if declared.slicing in TECHNIQUES:
        message = (
            f'{declared.algorithm} needs values, but slices have only partials. Use slicing="none" or '
            'algorithm="two_stacks".'
        )
        raise ValueError(message)
    for window in declared.windows.values():
        if window.frame and window.frame.in_runs:
            message = (
                f"{declared.algorithm} needs values, but {window} combines the partials of the rows before and after those that it "
                'excludes. Leave algorithm="auto", or leave exclude out.'
            )
            raise ValueError(message)


def _problem(algorithm: str, aggregate: Aggregate[Any]) -> ValueError | None:
    try:
        find_algorithm(algorithm, aggregate)
    except ValueError as error:
        return error
    return None


def _check_slicing(declared: Declared) -> None:
    """Raise ValueError if the named technique cannot slice a window."""
    if declared.slicing not in TECHNIQUES:
        return
    for window in declared.windows.values():
        if window.cuts is None:
            reason = (
                "has a result per row, which slices cannot give"
                if window.per_row
                else "cannot be sliced, because its begin is not known before its end"
            )
            message = f'{window} {reason}. Leave slicing="auto".'
            raise ValueError(message)
        if declared.slicing == "panes" and cycle_of(window) is None:
            message = f'{window} has no fixed slide, which panes need. Use slicing="pairs" or slicing="cutty".'
            raise ValueError(message)
