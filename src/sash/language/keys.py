"""The keys of a query: PARTITION BY, and the members of GROUP BY besides windows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from sqlglot import exp

from sash.expressions import Expression
from sash.language.aggregate_calls import calls_in, check_collation
from sash.language.nodes import TableFunction, fail, is_name
from sash.language.select_parts import SelectParts
from sash.language.source_text import SourceText
from sash.language.window_clauses import GROUP_FUNCTIONS, Clause

WINDOW_COLUMNS = ("window_start", "window_end", "window_time")


@dataclass(frozen=True)
class Keys:
    """The keys of a query."""

    by: tuple[str | Expression, ...]
    columns: dict[str | None, str]
    """The columns of the results, by the text of the key; see `SourceText.normal`."""


def is_group_function(node: Any) -> bool:
    """Return whether a node is `window(…)` or `session_window(…)`."""
    return isinstance(node, exp.Anonymous) and node.name.lower() in GROUP_FUNCTIONS


def read_keys(parts: SelectParts, clause: Clause) -> Keys:
    """Return the keys. Raise NodeError if GROUP BY does not fit the windows."""
    source = parts.source
    if clause.of_call:
        if parts.group:
            fail(parts.group[0], "GROUP BY does not apply to windows with OVER. Use PARTITION BY.")
        return _keys(source, clause.by or ())
    if isinstance(parts.table, TableFunction):
        _check_grouped_by_window(parts)
    grouped = [_unaliased(parts, node) for node in _without_windows(parts)]
    if clause.by is None:
        return _keys(source, grouped)
    has_group = bool(parts.group) or isinstance(parts.table, TableFunction)
    if has_group and set(map(source.normal, grouped)) != set(map(source.normal, clause.by)):
        fail(parts.group[0], "PARTITION BY and GROUP BY name different keys.")
    return _keys(source, clause.by)


def _without_windows(parts: SelectParts) -> Iterator[Any]:
    """Yield the members of GROUP BY that are neither functions of windows nor their columns."""
    for node in parts.group:
        is_bound = isinstance(node, exp.Column) and len(node.parts) == 1 and node.name.lower() in WINDOW_COLUMNS
        if not is_group_function(node) and not is_bound:
            yield node


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


def _keys(source: SourceText, nodes: Sequence[Any]) -> Keys:
    by: list[str | Expression] = []
    columns: dict[str | None, str] = {}
    for node in nodes:
        if isinstance(node, exp.Literal):
            fail(node, "Name the column of a key. Positions are not supported.")
        check_collation(node, "keys")
        key = str(node.name) if is_name(node) else Expression(source.of(node))
        by.append(key)
        columns[source.normal(node)] = key if isinstance(key, str) else key.text
    return Keys(tuple(by), columns)
