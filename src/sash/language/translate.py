"""A text → a Statement: its parts, then its windows, its keys and its select list.

    FROM, WHERE ──► rows ──► Query: windows, aggregates ──► results ──► expressions, HAVING, ORDER BY, LIMIT

A text that has only the middle part is a plain Query.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from sqlglot import exp

from sash.aggregates.base import Aggregate
from sash.expressions import Expression, Selection
from sash.language.aggregate_calls import calls_in, check_collation
from sash.language.grammar import TableFunction, is_name
from sash.language.select_list import SelectList
from sash.language.select_parts import SelectParts
from sash.language.source_text import SourceText
from sash.language.sql_error import NodeError, SqlError, fail
from sash.language.window_clauses import Clause, is_group_function, needs_time, read_windows
from sash.windows import Window


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
    return statement_of(SourceText.parse(text, quote), time)


def statement_of(source: SourceText, time: str | None = None) -> Statement:
    """Return the statement of a parsed text. Raise SqlError if it cannot be run."""
    try:
        return _statement(source, time)
    except NodeError as error:
        raise SqlError(str(error), source.text, *source.place(error.node)) from error.__cause__


def _statement(source: SourceText, time: str | None) -> Statement:
    parts = SelectParts(source)
    clause = read_windows(parts)
    clause = replace(clause, time=time or clause.time)
    keys = [(node, _key(source, node)) for node in _key_nodes(parts, clause)]
    columns = {source.normal(node): key if isinstance(key, str) else key.text for node, key in keys}
    select_list = SelectList(parts, columns, clause)
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
        by=tuple(key for _, key in keys),
        time=clause.time,
        order_by=clause.order_by,
        columns=_columns(source, clause) if drops_columns else None,
        selection=selection,
    )


def _columns(source: SourceText, clause: Clause) -> tuple[str, ...]:
    """Return the columns that the text names."""
    named: list[Any] = [column.parts[0].name for column in source.statement.find_all(exp.Column)]
    of_windows = [column for window in clause.windows.values() for column in window.columns]
    return tuple(dict.fromkeys(name for name in [*named, clause.time, *clause.order_by, *of_windows] if name))


# -- keys: PARTITION BY, and the members of GROUP BY besides windows ---------------------------------------------------

WINDOW_COLUMNS = ("window_start", "window_end", "window_time")


def _key_nodes(parts: SelectParts, clause: Clause) -> Sequence[Any]:
    """Return the columns and expressions that are keys. Raise NodeError if GROUP BY does not fit the windows."""
    source = parts.source
    if clause.of_call:
        if parts.group:
            fail(parts.group[0], "GROUP BY does not apply to windows with OVER. Use PARTITION BY.")
        return clause.by or ()
    is_function = isinstance(parts.table, TableFunction)
    if is_function:
        _check_grouped_by_window(parts)
    others = [node for node in parts.group if not is_group_function(node) and not _is_bound(node)]
    grouped = [_unaliased(parts, node) for node in others]
    if clause.by is None:
        return grouped
    if (parts.group or is_function) and set(map(source.normal, grouped)) != set(map(source.normal, clause.by)):
        fail(parts.group[0], "PARTITION BY and GROUP BY name different keys.")
    return clause.by


def _is_bound(node: Any) -> bool:
    """Return whether a node is a column of windows."""
    return isinstance(node, exp.Column) and len(node.parts) == 1 and node.name.lower() in WINDOW_COLUMNS


def _check_grouped_by_window(parts: SelectParts) -> None:
    """Raise NodeError unless GROUP BY tells windows apart: windows of CUMULATE begin together, others do not."""
    named = {node.name.lower() for node in parts.group if isinstance(node, exp.Column)}
    needed = {"window_end"} if parts.table.args["kind"] == "CUMULATE" else {"window_start", "window_end"}
    if not named & needed:
        fail(parts.table, "The query needs GROUP BY window_start, window_end.")


def _unaliased(parts: SelectParts, node: Any) -> Any:
    """Return what a name in GROUP BY stands for: a column, or an expression of the select list with this alias."""
    if not isinstance(node, exp.Column) or len(node.parts) > 1:
        return node
    name = node.name.lower()
    item = next((item for item in parts.items if item.alias is not None and item.alias.lower() == name), None)
    if item is None or isinstance(item.node, exp.Column) or any(calls_in(item.node)):
        return node
    mentions = {column.name.lower() for column in item.node.find_all(exp.Column)}
    return node if name in mentions else item.node


def _key(source: SourceText, node: Any) -> str | Expression:
    if isinstance(node, exp.Literal):
        fail(node, "Name the column of a key. Positions are not supported.")
    check_collation(node, "keys")
    return str(node.name) if is_name(node) else Expression(source.of(node))
