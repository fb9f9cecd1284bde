"""The query, parsed and validated before any work starts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from sash.aggregates.base import Aggregate
from sash.algorithms import ALGORITHMS, find_algorithm
from sash.durations import Duration, DurationLike, TimeUnit, read_duration
from sash.expressions import ComputedColumn, computed_in
from sash.hints import did_you_mean
from sash.plan.choose import OBJECTIVES
from sash.plan.query_arguments import over_time, read_aggregates, read_columns, read_keys, read_time, read_windows
from sash.plan.slicing import cycle_of
from sash.slices.edges import TECHNIQUES
from sash.windows import Window
from sash.windows.base import ALL_COLUMNS
from sash.windows.last_closed import at_points

ADDED = ("window", "window_start", "window_end")
"""The columns of results per window, besides keys and aggregates."""
TITLE_LENGTH = 120
"""The most characters of the title of a query."""


@dataclass(frozen=True)
class QuerySpec:
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

    def part(self, windows: Iterable[str]) -> QuerySpec:
        """Return the query with some of its windows. The columns of results stay."""
        return replace(self, windows={name: self.windows[name] for name in windows})

    def in_unit(self, unit: TimeUnit) -> QuerySpec:
        """Return the query for a time column of this unit."""
        aggregates = {name: aggregate.in_unit(unit) for name, aggregate in self.aggregates.items()}
        windows = {name: window.in_zone(unit.zone) for name, window in self.windows.items()}
        return replace(self, aggregates=aggregates, windows=windows)

    @cached_property
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
        aggregates = ", ".join(dict.fromkeys(aggregate.label for aggregate in self.aggregates.values()))
        windows = ", ".join(dict.fromkeys(map(str, self.windows.values())))
        text = f"{aggregates} over {windows}{' by ' if self.by else ''}{', '.join(self.by)}"
        return text if len(text) <= TITLE_LENGTH else f"{text[: TITLE_LENGTH - 1]}…"

    def result_name(self, aggregate: str, window: str) -> str:
        """Return the name of a result column, for results per row."""
        return f"{aggregate}_{window}" if self.several else aggregate

    @cached_property
    def future_columns(self) -> list[str]:
        """The results that are computed from rows after their own row or label; a model must not learn from them."""
        frames = {name: window.frame for name, window in self.windows.items()}
        ahead = [name for name, frame in frames.items() if frame is not None and frame.looks_ahead]
        return [self.result_name(name, window) for name in self.aggregates for window in ahead]

    @cached_property
    def bound_names(self) -> dict[str, tuple[str, str]]:
        """By window: the columns of its start and its end, for results per row that show them."""
        shown = [name for name, window in self.windows.items() if window.frame is not None and window.frame.has_bounds]
        endings = {name: f"_{name}" if self.several else "" for name in shown}
        return {name: (f"window_start{ending}", f"window_end{ending}") for name, ending in endings.items()}

    @cached_property
    def row_columns(self) -> list[str]:
        """The columns that results per row add to their rows or labels."""
        bounds = [name for names in self.bound_names.values() for name in names]
        return [*bounds, *(self.result_name(name, window) for name in self.aggregates for window in self.windows)]

    def at_points(self) -> QuerySpec:
        """Return the query as of points in time, such as those of labels. All windows have a result per point then, without slices."""
        windows = {name: at_points(window) for name, window in self.windows.items()}
        return replace(self, windows=windows, slicing="auto" if self.per_row else "none")

    def as_computed(self) -> QuerySpec:
        """Return the query for data that has the computed columns already."""
        names = {str(column): column.done() for column in self.computed}
        aggregates = {}
        for name, aggregate in self.aggregates.items():
            aggregates[name] = aggregate.over(tuple(names.get(column, column) for column in aggregate.named_columns))
        by = tuple(names.get(name, name) for name in self.by)
        return replace(self, aggregates=aggregates, by=by)

    @cached_property
    def computed(self) -> list[ComputedColumn]:
        """The columns that are computed from others before the query runs."""
        return computed_in(self.columns)

    @cached_property
    def columns(self) -> list[str]:
        """The columns that the query reads, each once."""
        named = [*self.by, *([self.time] if self.time else []), *self.order_by]
        named += [name for window in self.windows.values() for name in window.columns if name != ALL_COLUMNS]
        named += [name for aggregate in self.aggregates.values() for name in aggregate.columns]
        return list(dict.fromkeys(named))


def parse_query(
    aggregates: Any,
    windows: Any,
    by: Any = (),
    time: Any = None,
    order_by: Any = (),
    algorithm: Any = "auto",
    objective: Any = "throughput",
    slicing: Any = "auto",
    lateness: DurationLike | None = None,
) -> QuerySpec:
    """Return the parsed query. Raise TypeError or ValueError if an argument is invalid, or if arguments do not fit together."""
    parsed = read_windows(windows)
    named = read_aggregates(aggregates)
    time_column = read_time(time)
    named = over_time(named, time_column)
    keys, ties = read_keys(by), read_columns(order_by, "order_by")
    late = None if lateness is None else read_duration(lateness, "lateness", at_least=0)
    choices = (algorithm, objective, slicing)
    query = QuerySpec(named, parsed, keys, time_column, ties, *choices, late, tuple(parsed))
    _check_result_kind(query)
    _check_time_is_named(query)
    _check_result_names(query)
    _check_choices(query)
    _check_algorithm(query)
    _check_slicing(query)
    return query


def _check_result_kind(query: QuerySpec) -> None:
    """Raise ValueError if some windows have a result per row and others a result per window."""
    kinds = {window.per_row for window in query.windows.values()}
    if len(kinds) > 1:
        per_row = ", ".join(name for name, window in query.windows.items() if window.per_row)
        per_window = ", ".join(name for name, window in query.windows.items() if not window.per_row)
        raise ValueError(
            f"One query cannot have windows with a result per row ({per_row}) and windows with a result per window "
            f"({per_window}). Use two queries, or give all windows a slide."
        )


def _check_time_is_named(query: QuerySpec) -> None:
    if query.time is not None:
        return
    for window in query.windows.values():
        if window.needs_time:
            raise ValueError(f'{window} needs a time column. Name it, as in Query(time="ts", …).')
    if query.lateness is not None:
        raise ValueError('lateness needs a time column. Name it, as in Query(time="ts", …).')


def _check_result_names(query: QuerySpec) -> None:
    """Raise ValueError if two columns of the result would have the same name."""
    names = list(query.by)
    if query.per_row:
        names = [query.result_name(name, window) for name in query.aggregates for window in query.windows]
    else:
        names += [*ADDED, *query.aggregates]
    for name in names:
        if names.count(name) > 1:
            raise ValueError(
                f"The result would have two columns named {name!r}. Rename an aggregate, a window or a key."
            )


def _check_choices(query: QuerySpec) -> None:
    """Raise ValueError if an argument is not one of the values that its parameter accepts."""
    algorithms = dict.fromkeys(algorithm.about.name for algorithm in ALGORITHMS)
    choices = {
        "objective": (query.objective, OBJECTIVES),
        "slicing": (query.slicing, ("auto", *TECHNIQUES, "none")),
        "algorithm": (query.algorithm, ("auto", *algorithms)),
    }
    for parameter, (value, valid) in choices.items():
        if value not in valid:
            hint = did_you_mean(str(value), valid)
            raise ValueError(f"{parameter}={value!r} does not exist.{hint} Use {', '.join(valid[:-1])} or {valid[-1]}.")


def _check_algorithm(query: QuerySpec) -> None:
    """Raise ValueError if the named algorithm cannot compute an aggregate, or cannot go over slices or runs of rows."""
    if query.algorithm == "auto":
        return
    for aggregate in query.aggregates.values():
        # A variant for one kind of column may have an inverse where the general aggregate has none.
        forms = [aggregate, *aggregate.forms.variants.values()]
        problems = [problem for form in forms if (problem := _problem(query.algorithm, form)) is not None]
        if len(problems) == len(forms):
            raise problems[0]
    needs = {form.about.needs for form in ALGORITHMS if form.about.name == query.algorithm}
    if not needs & {"ranked", "distinct", "modal"}:
        return
    if query.slicing in TECHNIQUES:
        raise ValueError(
            f'{query.algorithm} needs values, but slices have only partials. Use slicing="none" or '
            'algorithm="two_stacks".'
        )
    for window in query.windows.values():
        if window.frame and window.frame.in_runs:
            raise ValueError(
                f"{query.algorithm} needs values, but {window} combines the partials of the rows before and after those that it "
                'excludes. Leave algorithm="auto", or leave exclude out.'
            )


def _problem(algorithm: str, aggregate: Aggregate[Any]) -> ValueError | None:
    try:
        find_algorithm(algorithm, aggregate)
    except ValueError as error:
        return error
    return None


def _check_slicing(query: QuerySpec) -> None:
    """Raise ValueError if the named technique cannot slice a window."""
    if query.slicing not in TECHNIQUES:
        return
    for window in query.windows.values():
        if window.cuts is None:
            reason = "cannot be sliced, because its begin is not known before its end"
            reason = "has a result per row, which slices cannot give" if window.per_row else reason
            raise ValueError(f'{window} {reason}. Leave slicing="auto".')
        if query.slicing == "panes" and cycle_of(window) is None:
            raise ValueError(f'{window} has no fixed slide, which panes need. Use slicing="pairs" or slicing="cutty".')
