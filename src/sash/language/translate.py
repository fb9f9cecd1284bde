"""A text → a Statement: its parts, then its windows, its keys and its select list.

    FROM, WHERE ──► rows ──► Query: windows, aggregates ──► results ──► expressions, HAVING, ORDER BY, LIMIT

A text that has only the middle part is a plain Query.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sqlglot import exp

from sash.aggregates.base import Aggregate
from sash.expressions import Expression, Selection
from sash.language.aggregate_calls import calls_in, check_collation
from sash.language.clause import Clause, needs_time
from sash.language.grammar import TableFunction, is_name
from sash.language.group_functions import is_group_function
from sash.language.select_list import ClauseResults, SelectList
from sash.language.select_parts import SelectParts
from sash.language.source_text import SourceText
from sash.language.sql_error import NodeError, SqlError, fail
from sash.language.window_clauses import read_windows
from sash.windows import Window


@dataclass(frozen=True)
class WindowQuery:
    """The arguments of one query over the rows."""

    aggregates: dict[str, Aggregate[Any]]
    windows: dict[str, Window]
    by: tuple[str | Expression, ...]
    time: str | None
    order_by: tuple[str, ...]
    in_zone: Callable[[str], Window] | None = None
    """Returns the window for a session of Spark in a time zone; None if the window does not depend on the session."""

    @property
    def needs_time(self) -> bool:
        """Whether the windows or aggregates need a time column."""
        return needs_time(self.windows, self.aggregates)

    def with_time(self, time: str) -> WindowQuery:
        """Return the query with a time column, if it needs one and does not name it."""
        return replace(self, time=time) if self.needs_time and self.time is None else self

    def with_zone(self, zone: str) -> WindowQuery:
        """Return the query for a session of Spark in a time zone."""
        return (
            self if self.in_zone is None else replace(self, windows={name: self.in_zone(zone) for name in self.windows})
        )


@dataclass(frozen=True)
class Statement:
    """A text for one engine: where rows come from, the queries over them, and what SQL makes of their results.

    Several queries have a result per row. They run one after the other: each adds columns to the rows.
    """

    table: str
    is_path: bool
    where: Expression | None
    queries: tuple[WindowQuery, ...]
    columns: tuple[str, ...] | None
    """The columns of the rows that the text names, if the results are rows with some of their columns; None for all columns."""
    selection: Selection | None
    """None if the results of the queries are those of the statement."""
    joined: tuple[WindowQuery, ...] = ()
    """Fewer queries with the same results: one for each PARTITION BY and ORDER BY. It evaluates every aggregate over every window."""

    @property
    def is_plain(self) -> bool:
        """Whether the statement is a query over the data, with nothing before or after it."""
        return self.where is None and self.selection is None and not self.is_path and len(self.queries) == 1

    @property
    def time(self) -> str | None:
        """The time column of the queries; None if none of them has one."""
        return next((query.time for query in self.queries if query.time is not None), None)

    @property
    def needs_time(self) -> bool:
        """Whether a query needs a time column that the text does not name."""
        return any(query.needs_time and query.time is None for query in self.queries)

    @property
    def windows(self) -> dict[str, Window]:
        """The windows of all queries."""
        several = len(self.queries) > 1
        named = (
            (number, name, one) for number, query in enumerate(self.queries) for name, one in query.windows.items()
        )
        return {f"{name} {number}" if several else name: window for number, name, window in named}

    @property
    def by(self) -> tuple[str | Expression, ...]:
        """The keys of all queries."""
        return tuple(dict.fromkeys(key for query in self.queries for key in query.by))

    @property
    def order_by(self) -> tuple[str, ...]:
        """The columns that break ties in any query."""
        return tuple(dict.fromkeys(name for query in self.queries for name in query.order_by))

    @property
    def per_row(self) -> bool:
        """Whether each row has a result."""
        return all(window.per_row for window in self.windows.values())

    def with_time(self, time: str) -> Statement:
        """Return the statement with a time column for the queries that need one and do not name it."""
        queries, joined = (tuple(one.with_time(time) for one in some) for some in (self.queries, self.joined))
        return replace(self, queries=queries, joined=joined)

    def with_zone(self, zone: str) -> Statement:
        """Return the statement for a session of Spark in a time zone."""
        return replace(self, queries=tuple(query.with_zone(zone) for query in self.queries))

    def with_fewest_queries(self) -> Statement:
        """Return the statement for data of which a further pass costs more than a further aggregate."""
        return replace(self, queries=self.joined)

    def check_one_query(self) -> None:
        """Raise ValueError if there are several queries: a stream reads its rows once."""
        if len(self.queries) > 1:
            problem = "On a stream, all windows of a query have the same PARTITION BY and ORDER BY"
            raise ValueError(f"{problem}. Run one query for each.")


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
    clauses = [replace(clause, time=time or clause.time) for clause in read_windows(parts)]
    keys = [[(node, _key(source, node)) for node in _key_nodes(parts, clause)] for clause in clauses]
    columns = {source.normal(node): key if isinstance(key, str) else key.text for node, key in keys[0]}
    select_list = SelectList(parts, columns, clauses)
    selection = select_list.selection()
    outputs = None if selection is None else selection.outputs
    for call in () if parts.where is None else calls_in(parts.where):
        fail(call, "WHERE is evaluated before the windows, so it has no aggregates. Use HAVING.")
    per_row = clauses[0].per_row
    drops_columns = per_row and outputs is not None and None not in outputs.values()
    named = [tuple(key for _, key in keys_of_clause) for keys_of_clause in keys]
    queries = [query for results, by in zip(select_list.results, named, strict=True) for query in _queries(results, by)]
    return Statement(
        table=parts.table_name,
        is_path=parts.is_path,
        where=None if parts.where is None else Expression(source.of(parts.where)),
        queries=tuple(queries),
        columns=_columns(source, clauses) if drops_columns else None,
        selection=selection,
        joined=tuple(_query(results, by) for results, by in zip(select_list.results, named, strict=True)),
    )


def _query(results: ClauseResults, by: tuple[str | Expression, ...]) -> WindowQuery:
    """Return the query of all aggregates over all windows of a clause."""
    clause = results.clause
    return WindowQuery(results.aggregates, clause.windows, by, clause.time, clause.order_by, clause.in_zone)


def _queries(results: ClauseResults, by: tuple[str | Expression, ...]) -> Iterator[WindowQuery]:
    """Yield queries that evaluate each aggregate over the windows that the text asks for: one for the windows with the same aggregates."""
    query, of_windows = _query(results, by), results.asked
    together: dict[frozenset[str], list[str]] = {}
    for window, names in of_windows.items():
        together.setdefault(frozenset(names), []).append(window)
    if len(together) == 1:
        yield query
        return
    for asked, windows in together.items():
        aggregates = {name: aggregate for name, aggregate in results.aggregates.items() if name in asked}
        if len(windows) == 1:  # its results have no name of a window
            aggregates = {results.column(name, windows[0]): aggregate for name, aggregate in aggregates.items()}
        yield replace(query, aggregates=aggregates, windows={name: query.windows[name] for name in windows})


def _columns(source: SourceText, clauses: Sequence[Clause]) -> tuple[str, ...]:
    """Return the columns that the text names."""
    named: list[Any] = [column.parts[0].name for column in source.statement.find_all(exp.Column)]
    for clause in clauses:
        of_windows = [column for window in clause.windows.values() for column in window.columns]
        named += [clause.time, *clause.order_by, *of_windows]
    return tuple(dict.fromkeys(name for name in named if name))


# -- keys: PARTITION BY, and the members of GROUP BY besides windows ---------------------------------------------------

WINDOW_COLUMNS = ("window_start", "window_end", "window_time")


def _key_nodes(parts: SelectParts, clause: Clause) -> Sequence[Any]:
    """Return the columns and expressions that are keys. Raise NodeError if GROUP BY does not fit the windows."""
    source = parts.source
    if clause.of_call:
        if parts.group:
            fail(
                parts.group[0],
                "GROUP BY does not apply to windows with OVER. Use PARTITION BY, or group in a subquery: FROM (SELECT … GROUP BY …).",
            )
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
    if isinstance(node, exp.Literal | exp.Null):
        fail(node, "Name the column of a key. If all rows have one key, leave PARTITION BY out.")
    check_collation(node, "keys")
    return str(node.name) if is_name(node) else Expression(source.of(node))
