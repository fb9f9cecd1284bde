"""The parts of a SELECT statement. Parts that Sash does not evaluate are rejected here, so that none is ignored."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from sqlglot import exp

from sash.language.aggregate_calls import is_call
from sash.language.grammar import Bracket, TableFunction
from sash.language.group_functions import is_group_function
from sash.language.source_text import SourceText
from sash.language.sql_error import fail

SELECT_PARTS = {"expressions", "from_", "where", "group", "having", "qualify", "windows", "order", "limit", "offset"}
TABLE_PARTS = {"this", "db", "catalog", "alias", "bracket"}
WORDS = {"joins": "JOIN", "with_": "WITH", "kind": "AS STRUCT", "laterals": "LATERAL"}
"""The words of parts whose names differ from them."""
WAYS = {"distinct": "Put it around the windows: SELECT DISTINCT * FROM (SELECT …)."}
"""What to write instead of parts."""
STREAMS = ("istream", "rstream", "dstream")


@dataclass(frozen=True)
class Item:
    """A member of the select list."""

    alias: str | None
    node: Any


class SelectParts:
    """One SELECT."""

    def __init__(self, source: SourceText) -> None:
        """Read a statement. Raise NodeError if it is not a SELECT over one table, or has parts that Sash does not evaluate."""
        select = source.statement
        if not isinstance(select, exp.Select):
            fail(None, "The text must be one SELECT statement.")
        _check_parts(select)
        if select.args.get("from_") is None:
            fail(None, "FROM is missing. Name a table, or a file as in FROM 'data.parquet'.")
        where, having, qualify, order = map(select.args.get, ("where", "having", "qualify", "order"))
        self.source = source
        self.table = select.args["from_"].this
        """A table, perhaps with a bracket, or a table function."""
        self.named_table = self.table.this if isinstance(self.table, TableFunction) else self.table
        """The table, without a function around it."""
        self._check_table()
        self._drop_table_names()
        if qualify is not None and having is not None:
            fail(qualify, "A query has HAVING or QUALIFY, not both.")
        having = having or qualify
        self.items = _items(select)
        self.where = where and where.this
        self.group = _group(select, self.items)
        self.having = having and having.this
        """The condition of HAVING or QUALIFY; None if there is none."""
        self.named_windows = _named_windows(select)
        self.order: list[Any] = [] if order is None else list(order.expressions)
        self.limit = _count(select.args.get("limit"), "LIMIT")
        self.offset = _count(select.args.get("offset"), "OFFSET") or 0
        self.bracket: Bracket | None = self.table.args.get("bracket")
        """The windows in brackets; None if there are none."""

    @property
    def is_cql(self) -> bool:
        """Whether the text is CQL: its windows are in brackets."""
        return self.bracket is not None and not self.bracket.args.get("ksql")

    @property
    def results(self) -> Iterator[Any]:
        """The expressions that are evaluated after the windows."""
        yield from (item.node for item in self.items)
        yield from () if self.having is None else (self.having,)
        yield from (ordered.this for ordered in self.order)

    @property
    def is_path(self) -> bool:
        """Whether FROM names a file: a string in single quotes."""
        named = self.named_table.this
        start = named.meta.get("start")
        return isinstance(named, exp.Literal) or (start is not None and self.source.text[start] == "'")

    @property
    def table_name(self) -> str:
        """The name of the table or the path of the file."""
        return ".".join(part.name for part in self.named_table.parts)

    def _check_table(self) -> None:
        table, named = self.table, self.named_table
        is_name = isinstance(named, exp.Table) and isinstance(named.this, exp.Identifier | exp.Literal)
        if not is_name:
            fail(table, "FROM must name one table, or a file as in FROM 'data.parquet'.")
        for name, value in named.args.items():
            if value and name not in TABLE_PARTS:
                fail(table, f"{WORDS.get(name, name.upper())} of a table is not supported.")
        for node in (table, named):
            alias = node.args.get("alias")
            if alias is not None and alias.args.get("columns"):
                fail(alias, "Names of columns after the name of a table are not supported.")

    def _drop_table_names(self) -> None:
        """Read `meters.load` as `load`: the engine that evaluates it does not know the name of the table."""
        source, named = self.source, self.named_table
        prefixes = [[name.lower()] for name in (self.table.alias, named.alias, named.name) if name]
        prefixes.append([part.name.lower() for part in named.parts])
        for column in list(source.statement.find_all(exp.Column)):
            names = [part.name.lower() for part in column.parts]
            lengths = [len(prefix) for prefix in prefixes if names[:-1][: len(prefix)] == prefix]
            span = source.span(column)
            if lengths and span is not None:
                source.dropped.update(range(span[0], span[0] + 2 * max(lengths)))  # names and dots
                qualifiers = [name for name in ("catalog", "db", "table") if column.args.get(name) is not None]
                for name in qualifiers[: max(lengths)]:
                    column.set(name, None)


def _check_parts(select: exp.Select) -> None:
    for part in select.walk():
        if isinstance(part, exp.Query) and part is not select and not isinstance(part, exp.Table):
            fail(
                part,
                "A SELECT with windows has subqueries in FROM and WHERE only. Compute this one in a SELECT around it.",
            )
    for name, value in select.args.items():
        if value and name not in SELECT_PARTS:
            word = WORDS.get(name, name.upper().strip("_"))
            node = value[0] if isinstance(value, list) else value
            way = WAYS.get(name, "A query is one SELECT over one table.")
            fail(node, f"{word} is not supported. {way}")


def _items(select: exp.Select) -> list[Item]:
    """Return the select list, without IStream(…) around it."""
    nodes = list(select.expressions)
    if len(nodes) == 1 and isinstance(nodes[0], exp.Anonymous) and nodes[0].name.lower() in STREAMS:
        if nodes[0].name.lower() != "istream":
            fail(nodes[0], f"{nodes[0].name} is not supported. Results are new ones, as of IStream.")
        nodes = list(nodes[0].expressions)
    if not nodes:
        fail(None, "The select list is empty. Name an aggregate, as in SELECT max(load).")
    return [Item(node.alias, node.this) if isinstance(node, exp.Alias) else Item(None, node) for node in nodes]


def _group(select: exp.Select, items: list[Item]) -> list[Any]:
    """Return the members of GROUP BY. A position, and ALL, stand for members of the select list; so does the alias of a window."""
    group = select.args.get("group")
    if group is None:
        return []
    if group.args.get("all") is True:
        return [item.node for item in items if not any(is_call(node) for node in item.node.walk())]
    if any(value for name, value in group.args.items() if name != "expressions"):
        fail(
            group,
            "GROUP BY takes columns, expressions, positions and ALL. ROLLUP, CUBE and GROUPING SETS are not supported.",
        )
    if not group.expressions:
        fail(group, "GROUP BY needs a column, as in GROUP BY house.")
    aliases = {item.alias.lower(): item.node for item in items if item.alias and is_group_function(item.node)}
    members = [member for node in group.expressions for member in _members(node)]
    return [_grouped(node, items, aliases) for node in members]


def _members(node: Any) -> list[Any]:
    """Return the members in parentheses: `()` has none, `(a, b)` two. A struct has a name of its own."""
    if isinstance(node, exp.Tuple):
        return [member for each in node.expressions for member in _members(each)]
    return _members(node.this) if isinstance(node, exp.Paren) and isinstance(node.this, exp.Column) else [node]


def _grouped(node: Any, items: list[Item], aliases: dict[str, Any]) -> Any:
    if isinstance(node, exp.Literal) and not node.is_string and node.name.isdecimal():
        if not 1 <= int(node.name) <= len(items):
            fail(node, f"There is no column {node.name} in the select list, which has {len(items)}.")
        return items[int(node.name) - 1].node
    named = aliases.get(node.name.lower()) if isinstance(node, exp.Column) and len(node.parts) == 1 else None
    if named is None or node.name.lower() in {column.name.lower() for column in named.find_all(exp.Column)}:
        return node
    return named


def _named_windows(select: exp.Select) -> dict[str, Any]:
    named: dict[str, Any] = {}
    for window in select.args.get("windows") or ():
        name = window.this.name.lower()
        if name in named:
            fail(window.this, f"Two windows are named {window.this.name}.")
        named[name] = window
    return named


def _count(clause: Any, word: str) -> int | None:
    """Return the number of LIMIT or OFFSET."""
    if clause is None:
        return None
    others = dict(clause.args)
    value = others.pop("expression", None)
    if isinstance(clause, exp.Fetch):  # FETCH FIRST 5 ROWS ONLY
        value = others.pop("count", None)
        options = others.pop("limit_options", None)
        others = {} if options is None else {name: options.args.get(name) for name in ("percent", "with_ties")}
    is_plain = isinstance(value, exp.Literal) and not value.is_string and value.name.isdecimal()
    if not is_plain or any(others.values()):
        fail(clause, f"{word} takes a whole number, as in {word} 10.")
    return int(value.name)
