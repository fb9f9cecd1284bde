"""The keys of a query: PARTITION BY, and the members of GROUP BY that are no windows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from sqlglot import exp

from sash.expressions import Expression
from sash.language.aggregate_calls import calls_in, check_collation
from sash.language.nodes import TableFunction, is_name
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


def read_keys(parts: SelectParts, clause: Clause, *, over: bool) -> Keys:
    """Return the keys. Raise SqlError if GROUP BY does not fit the windows."""
    source = parts.source
    if over:
        if parts.group:
            source.fail(parts.group[0], "GROUP BY does not apply to windows with OVER. Use PARTITION BY.")
        return _keys(source, list(clause.by or ()))
    if isinstance(parts.table, TableFunction):
        _check_grouped_by_window(parts)
    grouped = [_unaliased(parts, one) for one in _without_windows(parts)]
    if clause.by is None:
        return _keys(source, grouped)
    partition = list(clause.by)
    if (parts.group or isinstance(parts.table, TableFunction)) and {source.normal(one) for one in grouped} != {
        source.normal(one) for one in partition
    }:
        source.fail(parts.group[0], "PARTITION BY and GROUP BY name different keys.")
    return _keys(source, partition)


def _without_windows(parts: SelectParts) -> Iterator[Any]:
    """Yield the members of GROUP BY that are neither functions of windows nor their columns."""
    for one in parts.group:
        is_bound = isinstance(one, exp.Column) and len(one.parts) == 1 and one.name.lower() in WINDOW_COLUMNS
        if not is_group_function(one) and not is_bound:
            yield one


def _check_grouped_by_window(parts: SelectParts) -> None:
    """Raise SqlError unless GROUP BY tells windows apart: windows of CUMULATE begin together, others do not."""
    named = {one.name.lower() for one in parts.group if isinstance(one, exp.Column)}
    needed = {"window_end"} if parts.table.args["kind"] == "CUMULATE" else {"window_start", "window_end"}
    if not named & needed:
        parts.source.fail(parts.table, "The query needs GROUP BY window_start, window_end.")


def _unaliased(parts: SelectParts, node: Any) -> Any:
    """Return what a name in GROUP BY stands for: a column, or an expression of the select list that is called so."""
    if not isinstance(node, exp.Column) or len(node.parts) > 1:
        return node
    item = next((one for one in parts.items if one.alias is not None and one.alias.lower() == node.name.lower()), None)
    if item is None or isinstance(item.node, exp.Column) or any(calls_in(item.node)):
        return node
    mentions = {column.name.lower() for column in item.node.find_all(exp.Column)}
    return node if node.name.lower() in mentions else item.node


def _keys(source: SourceText, nodes: list[Any]) -> Keys:
    by: list[str | Expression] = []
    columns: dict[str | None, str] = {}
    for node in nodes:
        if isinstance(node, exp.Literal):
            source.fail(node, "Name the column of a key. Positions are not supported.")
        check_collation(source, node, "keys")
        key = str(node.name) if is_name(node) else Expression(source.of(node))
        by.append(key)
        columns[source.normal(node)] = key if isinstance(key, str) else key.text
    return Keys(tuple(by), columns)
