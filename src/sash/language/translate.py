"""A text → a Statement: its parts, then its windows, its keys and its select list.

    FROM, WHERE ──► rows ──► Query: windows, aggregates ──► results ──► expressions, HAVING, ORDER BY, LIMIT

A text that has only the middle part is a plain Query.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from sqlglot import exp

from sash.aggregates.base import Aggregate
from sash.expressions import Expression, Selection
from sash.language.aggregate_calls import calls_in
from sash.language.grammar import TableFunction
from sash.language.select_list import SelectList
from sash.language.select_parts import SelectParts, is_group_function, read_keys
from sash.language.source_text import SourceText
from sash.language.sql_error import NodeError, SqlError, fail
from sash.language.window_clauses import (
    Clause,
    needs_time,
    of_bracket,
    of_group_function,
    of_table_function,
    over_clause,
)
from sash.windows import Window

PLACES = "Use one: FROM t [RANGE 1 HOUR ON ts], TABLE(TUMBLE(…)), GROUP BY window(ts, '1 hour'), or OVER (…)."


@dataclass(frozen=True)
class Statement:
    """A text for one engine: where rows come from, the query over them, and what SQL makes of its results."""

    table: str
    is_path: bool
    where: Expression | None
    aggregates: dict[str, Aggregate[Any]]
    windows: dict[str, Window]
    by: tuple[str | Expression, ...]
    time: str | None
    order_by: tuple[str, ...]
    columns: tuple[str, ...] | None
    """The columns of the rows that the text names, if the results are rows with some of their columns; None for all columns."""
    selection: Selection | None
    """None if the results of the query are those of the statement."""

    @property
    def is_plain(self) -> bool:
        """Whether the statement is a query over the data, with nothing before or after it."""
        return self.where is None and self.selection is None and not self.is_path

    @property
    def needs_time(self) -> bool:
        """Whether the windows or aggregates need a time column."""
        return needs_time(self.windows, self.aggregates)


def translate(text: str, time: str | None = None, quote: str = '"') -> Statement:
    """Return the statement of a text. Raise SqlError if it cannot be run.

    `time` is the time column, if the text does not name it. `quote` is that of the engine, for names.
    """
    source = SourceText.parse(text, quote)
    try:
        return _statement(source, time)
    except NodeError as error:
        raise SqlError(str(error), text, *source.place(error.node)) from error.__cause__


def _statement(source: SourceText, time: str | None) -> Statement:
    parts = SelectParts(source)
    clause = _windows(parts)
    clause = replace(clause, time=time or clause.time)
    keys = read_keys(parts, clause)
    select_list = SelectList(parts, keys, clause)
    selection = select_list.selection()
    outputs = None if selection is None else selection.outputs
    for call in () if parts.where is None else calls_in(parts.where):
        fail(call, "WHERE is evaluated before the windows, so it has no aggregates. Use HAVING.")
    drops_columns = clause.per_row and outputs is not None and None not in outputs.values()
    return Statement(
        table=parts.table_name,
        is_path=parts.is_path,
        where=None if parts.where is None else Expression(source.of(parts.where)),
        aggregates=select_list.aggregates,
        windows=clause.windows,
        by=keys.by,
        time=clause.time,
        order_by=clause.order_by,
        columns=_columns(source, clause) if drops_columns else None,
        selection=selection,
    )


def _windows(parts: SelectParts) -> Clause:
    """Return the windows. Raise NodeError unless they are in one place."""
    table = parts.table
    over = [call for node in parts.results for call in calls_in(node) if isinstance(call, exp.Window)]
    functions = [node for node in parts.group if is_group_function(node)]
    places = [table] * (parts.bracket is not None) + [table] * isinstance(table, TableFunction) + functions + over[:1]
    if len(places) != 1:
        problem = "windows in several places" if places else "no window"
        fail(places[-1] if places else table, f"The query has {problem}. {PLACES}")
    if over:
        return over_clause(parts.source, over, parts.named_windows)
    if parts.bracket is not None:
        return of_bracket(parts.bracket)
    return of_group_function(functions[0]) if functions else of_table_function(table)


def _columns(source: SourceText, clause: Clause) -> tuple[str, ...]:
    """Return the columns that the text names."""
    named: list[Any] = [column.parts[0].name for column in source.statement.find_all(exp.Column)]
    of_windows = [column for window in clause.windows.values() for column in window.columns]
    return tuple(dict.fromkeys(name for name in [*named, clause.time, *clause.order_by, *of_windows] if name))
