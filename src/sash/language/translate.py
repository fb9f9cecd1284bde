"""A text → a Statement: its parts, then its windows, its keys and its select list."""

from __future__ import annotations

from typing import Any

from sqlglot import exp

from sash.expressions import Expression
from sash.language.aggregate_calls import calls_in
from sash.language.keys import is_group_function, read_keys
from sash.language.named_calls import Shape
from sash.language.nodes import TableFunction
from sash.language.over_windows import over_clause
from sash.language.select_list import SelectList
from sash.language.select_parts import SelectParts, read_parts
from sash.language.source_text import SourceText
from sash.language.statement import Statement
from sash.language.window_clauses import Clause, of_bracket, of_group_function, of_table_function

PLACES = "Use one: FROM t [RANGE 1 HOUR ON ts], TABLE(TUMBLE(…)), GROUP BY window(ts, '1 hour'), or OVER (…)."


def translate(text: str, time: str | None = None, quote: str = '"') -> Statement:
    """Return what a text asks for. Raise SqlError if it cannot be run.

    `time` is the time column, if the text does not name it. `quote` is that of the engine, for names.
    """
    source = SourceText.parse(text, quote)
    parts = read_parts(source)
    clause, of_call = _windows(parts)
    keys = read_keys(parts, clause, over=bool(of_call))
    per_row = all(window.per_row for window in clause.windows.values())
    has_time = (time or clause.time) is not None or any(window.needs_time for window in clause.windows.values())
    listed = SelectList(
        parts, keys, Shape(tuple(clause.windows), per_row, parts.bracket is not None, has_time, of_call)
    )
    selection = listed.selection()
    is_part = (
        per_row and selection is not None and selection.outputs is not None and None not in selection.outputs.values()
    )
    return Statement(
        table=parts.table_name,
        is_path=parts.is_path,
        where=_where(parts),
        aggregates=listed.calls.aggregates,
        windows=clause.windows,
        by=keys.by,
        time=time or clause.time,
        order_by=clause.order_by,
        columns=_columns(source, clause) if is_part else None,
        selection=selection,
    )


def _windows(parts: SelectParts) -> tuple[Clause, dict[int, str]]:
    """Return the windows, and which of them each call with OVER has. Raise SqlError unless they are in one place."""
    source, table = parts.source, parts.table
    over = [call for node in parts.results for call in calls_in(node) if isinstance(call, exp.Window)]
    functions = [one for one in parts.group if is_group_function(one)]
    places = [table] * (parts.bracket is not None) + [table] * isinstance(table, TableFunction) + functions + over[:1]
    if len(places) != 1:
        problem = "windows in several places" if places else "no window"
        source.fail(places[-1] if places else table, f"The query has {problem}. {PLACES}")
    if over:
        return over_clause(source, over, parts.named_windows)
    if parts.bracket is not None:
        return of_bracket(source, parts.bracket), {}
    return (of_group_function(source, functions[0]) if functions else of_table_function(source, table)), {}


def _where(parts: SelectParts) -> Expression | None:
    if parts.where is None:
        return None
    for call in calls_in(parts.where):
        parts.source.fail(call, "WHERE is evaluated before the windows, so it has no aggregates. Use HAVING.")
    return Expression(parts.source.of(parts.where))


def _columns(source: SourceText, clause: Clause) -> tuple[str, ...]:
    """Return the columns that the text names."""
    named: list[Any] = [column.parts[0].name for column in source.statement.find_all(exp.Column)]
    named += [
        clause.time,
        *clause.order_by,
        *(column for window in clause.windows.values() for column in window.columns),
    ]
    return tuple(dict.fromkeys(name for name in named if name))
