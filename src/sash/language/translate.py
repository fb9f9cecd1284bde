"""A parsed text → a Statement: where rows come from, the query over them, and what is made of its results.

FROM, WHERE ──► rows ──► Query: windows, aggregates ──► results ──► expressions, HAVING, ORDER BY, LIMIT
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from sqlglot import exp

from sash.aggregates.base import Aggregate
from sash.expressions import Expression, Selection
from sash.hints import did_you_mean
from sash.language.aggregate_names import aggregate_calls, build, innermost, is_aggregate, unknown
from sash.language.grammar import SPAN, TableFunction
from sash.language.source_text import SourceText, quoted
from sash.language.window_clauses import (
    GROUP_FUNCTIONS,
    Clause,
    of_bracket,
    of_group_function,
    of_over,
    of_table_function,
)
from sash.windows import Window

READ = {
    "kind",
    "hint",
    "distinct",
    "expressions",
    "limit",
    "offset",
    "from_",
    "where",
    "group",
    "having",
    "order",
    "windows",
    "operation_modifiers",
}
"""The parts of a SELECT that are read; others are rejected."""
WINDOW_COLUMNS = ("window", "window_start", "window_end")


@dataclass(frozen=True)
class Output:
    """A column of the result: its name and its expression."""

    name: str
    node: Any


@dataclass(frozen=True)
class Statement:
    """What a text asks for."""

    source: SourceText
    table: str
    is_path: bool
    aggregates: dict[str, Aggregate[Any]]
    clause: Clause
    by: tuple[str | Expression, ...]
    outputs: list[Output] | None
    """The columns of the result; None if they are those of the query."""
    columns: tuple[str, ...] | None
    """The columns that the text reads; None for all."""
    names: dict[int, str] = field(default_factory=dict)
    """The columns of the query's results that stand for nodes, by `id`."""

    @property
    def where(self) -> Any:
        """The condition of WHERE; None if there is none."""
        return _inner(self.source.statement.args.get("where"))

    @property
    def having(self) -> Any:
        """The condition of HAVING; None if there is none."""
        return _inner(self.source.statement.args.get("having"))

    @property
    def order(self) -> list[Any]:
        """The members of ORDER BY."""
        order = self.source.statement.args.get("order")
        return order.expressions if order else []

    @property
    def limit(self) -> tuple[int | None, int]:
        """LIMIT, None if there is none, and OFFSET."""
        limit, offset = (self.source.statement.args.get(name) for name in ("limit", "offset"))
        return (int(limit.expression.name) if limit else None), (int(offset.expression.name) if offset else 0)

    @property
    def selection(self) -> Selection:
        """What is made of the results of the query."""

        def text(node: Any) -> str:
            return self.source.of(node, self.names)

        outputs = None
        if self.outputs is not None:
            outputs = {
                one.name: quoted(one.name, self.source.quote) if one.node is None else text(one.node)
                for one in self.outputs
            }
        order = []
        for one in self.order:
            direction = "DESC" if one.args.get("desc") else "ASC"
            nulls = {True: " NULLS FIRST", False: " NULLS LAST", None: ""}[one.args.get("nulls_first")]
            order.append(f"{text(one.this)} {direction}{nulls}")
        return Selection(outputs, None if self.having is None else text(self.having), tuple(order), *self.limit)

    @property
    def is_plain(self) -> bool:
        """Whether the results of the query are those of the statement."""
        args = self.source.statement.args
        extra = any(args.get(name) for name in ("where", "having", "order", "limit", "offset"))
        return self.outputs is None and not extra and not self.is_path


def _inner(node: Any) -> Any:
    return None if node is None else node.this


def translate(text: str, quote: str = '"') -> Statement:
    """Return what a text asks for. Raise SqlError if it cannot be run. `quote` is that of the engine, for names."""
    source = SourceText.parse(text, quote)
    select = source.statement
    if not isinstance(select, exp.Select):
        source.fail(select, "The text must be a SELECT statement.")
    for name, value in select.args.items():
        if value and (name not in READ or name == "distinct"):
            word = {"joins": "JOIN", "with_": "WITH", "distinct": "DISTINCT"}.get(name, name.upper())
            source.fail(
                value[0] if isinstance(value, list) else value, f"{word} is not supported. A query reads one table."
            )
    for part in select.walk():
        if isinstance(part, exp.Subquery | exp.Select) and part is not select:
            source.fail(part, "A subquery is not supported. A query reads one table.")
    return Reader(source, select).read()


class Reader:
    """Reads one SELECT."""

    def __init__(self, source: SourceText, select: exp.Select) -> None:
        self.source = source
        self.select = select
        self.items = self._items()
        self.group = self._group()
        self.aggregates: dict[str, Aggregate[Any]] = {}
        self.names: dict[int, str] = {}

    def read(self) -> Statement:
        """Return the statement."""
        origin = self.select.args.get("from_")
        if origin is None:
            self.source.fail(self.select, "FROM is missing: name a table, or a file as in FROM 'data.parquet'.")
        table = origin.this
        over = [call for node in self._all_nodes() for call in aggregate_calls(node) if isinstance(call, exp.Window)]
        functions = [one for one in self.group if _is_group_function(one)]
        clauses = [
            *([of_bracket(self.source, table.args["bracket"])] if table.args.get("bracket") else []),
            *([of_table_function(self.source, table)] if isinstance(table, TableFunction) else []),
            *[of_group_function(self.source, one) for one in functions],
        ]
        if len(clauses) + bool(over) != 1:
            what = "no window" if not clauses and not over else "windows in several places"
            hint = "Use one: FROM t [RANGE 1 HOUR ON ts], TABLE(TUMBLE(…)), GROUP BY window(ts, '1 hour'), or OVER (…)."
            self.source.fail(table, f"The query has {what}. {hint}")
        clause = self._over_clause(over) if over else clauses[0]
        in_brackets = bool(table.args.get("bracket"))
        by = self._keys(clause, over=bool(over))
        per_row = all(window.per_row for window in clause.windows.values())
        self._name_aggregates(clause)
        outputs = self._outputs(clause, by, per_row=per_row, in_brackets=in_brackets)
        named = table.this if isinstance(table, TableFunction) else table
        identifier = named.this
        is_path = isinstance(identifier, exp.Literal) or (
            isinstance(identifier, exp.Identifier) and self._is_string(identifier)
        )
        return Statement(
            self.source, ".".join(part.name for part in named.parts), is_path, self.aggregates, clause, by, outputs,
            self._columns(clause, by, outputs, per_row=per_row), self.names,
        )  # fmt: skip

    # -- parts of the SELECT -------------------------------------------------------------------------------------------

    def _items(self) -> list[Any]:
        """Return the select list, without IStream(…) around it."""
        items = list(self.select.expressions)
        if (
            len(items) == 1
            and isinstance(items[0], exp.Anonymous)
            and items[0].name.lower() in ("istream", "rstream", "dstream")
        ):
            if items[0].name.lower() != "istream":
                self.source.fail(items[0], f"{items[0].name} is not supported. Results are new ones, as of IStream.")
            items = list(items[0].expressions)
        if not items:
            self.source.fail(self.select, "The select list is empty. Name an aggregate, as in SELECT max(load).")
        return items

    def _group(self) -> list[Any]:
        group = self.select.args.get("group")
        if group is None:
            return []
        if any(value for name, value in group.args.items() if name != "expressions"):
            self.source.fail(group, "ROLLUP, CUBE and GROUPING SETS are not supported.")
        return list(group.expressions)

    def _all_nodes(self) -> Iterator[Any]:
        """Yield the expressions that may call aggregates."""
        yield from self.items
        yield from (part for part in (_inner(self.select.args.get("having")),) if part is not None)
        order = self.select.args.get("order")
        yield from (one.this for one in (order.expressions if order else ()))

    # -- windows and keys ----------------------------------------------------------------------------------------------

    def _over_clause(self, calls: list[Any]) -> Clause:
        """Return the windows of all calls with OVER. Raise SqlError if they differ in keys or order."""
        named = {one.this.name.lower(): one for one in self.select.args.get("windows") or ()}
        found: dict[str, Window] = {}
        first: tuple[tuple[str, ...], tuple[str, ...]] | None = None
        keys: tuple[Any, ...] = ()
        self.windows: dict[int, str] = {}
        for call in calls:
            over = call
            alias = call.args.get("alias")
            if alias is not None:
                if alias.name.lower() not in named:
                    self.source.fail(alias, f"There is no window {alias.name}.{did_you_mean(alias.name, named)}")
                over = named[alias.name.lower()]
            window, keys, order = of_over(self.source, over)
            both = tuple(self.source.of(one) if SPAN in one.meta else one.sql() for one in keys), order
            if first is not None and both != first:
                self.source.fail(call, "All windows of a query must have the same PARTITION BY and ORDER BY.")
            first = both
            name = next((known for known, one in found.items() if repr(one) == repr(window)), "")
            name = name or (alias.name if alias is not None else window.result_name)
            while name in found and repr(found[name]) != repr(window):
                name += "_"
            found[name] = window
            self.windows[id(call)] = name
        assert first is not None
        return Clause(found, keys, first[1][0] if first[1] else None, first[1][1:])

    def _keys(self, clause: Clause, *, over: bool) -> tuple[str | Expression, ...]:
        """Return the keys: those of PARTITION BY, and the members of GROUP BY that are no window."""
        grouped = [one for one in self.group if not _is_group_function(one) and not _is_window_column(one)]
        if over:
            if self.group:
                self.source.fail(self.group[0], "GROUP BY does not apply to windows with OVER. Use PARTITION BY.")
            return tuple(self._key(one) for one in clause.by or ())
        by = tuple(self._key(one) for one in grouped)
        if clause.by is not None:
            partition = tuple(self._key(one) for one in clause.by)
            if grouped and partition != by:
                self.source.fail(grouped[0], "PARTITION BY and GROUP BY name different keys. Leave one out.")
            return partition
        return by

    def _key(self, node: Any) -> str | Expression:
        if isinstance(node, exp.Column) and len(node.parts) == 1:
            return str(node.name)
        if isinstance(node, exp.Literal):
            self.source.fail(node, "Name the column of a key. Positions are not supported.")
        return Expression(self.source.of(node))

    # -- aggregates and outputs ----------------------------------------------------------------------------------------

    def _name_aggregates(self, clause: Clause) -> None:
        """Give each aggregate the name of its column, or a name of its own if it is a part of an expression."""
        mentioned = {column.name.lower() for item in self.items for column in _columns_outside(item)}
        several = len(clause.windows) > 1
        for item in self.items:
            inner = item.this if isinstance(item, exp.Alias) else item
            for call in aggregate_calls(inner):
                alias = item.alias if isinstance(item, exp.Alias) and call is inner else ""
                self._name_call(call, alias, mentioned, several=several)
        for node in self._all_nodes():
            for call in aggregate_calls(node):
                if id(call) not in self.names:
                    self._name_call(call, "", mentioned, several=several)
        if not self.aggregates:
            function = next((one for item in self.items for one in item.find_all(exp.Anonymous)), None)
            if function is not None:
                self.source.fail(function, unknown(function.name))
            self.source.fail(self.items[0], "The query has no aggregate. Name one, as in SELECT max(load).")

    def _name_call(self, call: Any, alias: str, mentioned: set[str], *, several: bool) -> None:
        if not is_aggregate(innermost(call)):
            self.source.fail(call, unknown(innermost(call).name))
        over = isinstance(call, exp.Window)
        aggregate = build(self.source, call.this if over else call)
        window = self.windows[id(call)] if over else None
        name = "" if several and over else alias
        name = name or next((known for known, one in self.aggregates.items() if repr(one) == repr(aggregate)), "")
        name = name or aggregate.result_name
        while name.lower() in mentioned or (name in self.aggregates and repr(self.aggregates[name]) != repr(aggregate)):
            name += "_"
        self.aggregates[name] = aggregate
        self.names[id(call)] = f"{name}_{window}" if several and over else name

    def _outputs(self, clause: Clause, by: tuple[Any, ...], *, per_row: bool, in_brackets: bool) -> list[Output] | None:
        """Return the columns of the result; None if they are those of the query."""
        stars = [item for item in self.items if isinstance(item, exp.Star)]
        keys = [one.text if isinstance(one, Expression) else one for one in by]
        if not per_row:
            self._check_grouped(keys, several=len(clause.windows) > 1)
        if stars and not per_row:
            self.source.fail(
                stars[0],
                "SELECT * is for results per row. Name the columns: keys, window_start, window_end and aggregates.",
            )
        outputs = [self._output(item) for item in self.items]
        taken: set[str] = set()
        for one in outputs:
            if one.name.lower() in taken:
                self.source.fail(one.node, f"Two columns are named {one.name}. Name one, as in max(load) AS peak.")
            taken.add(one.name.lower())
        own = [one for one in outputs if self.names.get(id(one.node)) == one.name]
        others = [one for one in outputs if one not in own]
        if per_row:
            rest_is_rows = all(isinstance(one.node, exp.Star) for one in others) and outputs[: len(others)] == others
            natural = (
                rest_is_rows
                and (bool(others) or in_brackets)
                and len(own) == len(self.aggregates) * len(clause.windows)
            )
            return None if natural else outputs
        implied = ["window"] * (len(clause.windows) > 1) + ["window_start", "window_end"]
        named = {one.name for one in others}
        if in_brackets and not named & {"window_start", "window_end"}:
            if named <= {*keys, *implied} and len(own) == len(self.aggregates):
                return None
            first = [*keys, *implied]
            return [*(Output(name, None) for name in first), *(one for one in outputs if one.name not in first)]
        natural = [one.name for one in outputs] == [*keys, *implied, *self.aggregates]
        return None if natural else outputs

    def _output(self, item: Any) -> Output:
        if isinstance(item, exp.Alias):
            return Output(item.alias, item.this)
        if isinstance(item, exp.Column):
            return Output(_window_field(item) or item.name, item)
        return Output(self.names.get(id(item)) or ("*" if isinstance(item, exp.Star) else self.source.of(item)), item)

    def _check_grouped(self, keys: list[str], *, several: bool) -> None:
        """Raise SqlError if a column is neither a key, nor a bound of the window, nor the input of an aggregate."""
        valid = [*keys, *WINDOW_COLUMNS[not several :]]
        for node in self._all_nodes():
            for column in _columns_outside(node):
                if self.source.of(node) in keys or column.name in (item.alias for item in self.items):
                    continue
                if _window_field(column) is None and column.name not in valid:
                    hint = did_you_mean(column.name, valid)
                    self.source.fail(
                        column, f"{column.name} is neither a key in GROUP BY nor the input of an aggregate.{hint}"
                    )
        for item in self.items:
            for column in _columns_outside(item):
                if (found := _window_field(column)) is not None:
                    self.names[id(column)] = found

    def _columns(
        self,
        clause: Clause,  # noqa: ARG002
        by: tuple[Any, ...],  # noqa: ARG002
        outputs: list[Output] | None,
        *,
        per_row: bool,
    ) -> tuple[str, ...] | None:
        """Return the columns that results per row need beside those of the query; None for all."""
        if not per_row or outputs is None or any(isinstance(one.node, exp.Star) for one in outputs):
            return None
        return tuple(dict.fromkeys(column.name for node in self._all_nodes() for column in _columns_outside(node)))

    def _is_string(self, identifier: Any) -> bool:
        start = identifier.meta.get("start")
        return start is not None and self.source.text[start] == "'"


def _is_group_function(node: Any) -> bool:
    return isinstance(node, exp.Anonymous) and node.name.lower() in GROUP_FUNCTIONS


def _is_window_column(node: Any) -> bool:
    return isinstance(node, exp.Column) and node.name.lower() in ("window_start", "window_end", "window_time")


def _window_field(column: Any) -> str | None:
    """Return the column that `window.start` or `window.end` stands for."""
    if column.table.lower() in ("window", "session_window") and column.name.lower() in ("start", "end"):
        return f"window_{column.name.lower()}"
    return None


def _columns_outside(node: Any) -> Iterator[exp.Column]:
    """Yield the columns of an expression that are no inputs of aggregates."""
    if isinstance(node, exp.Window) or is_aggregate(innermost(node)):
        return
    if isinstance(node, exp.Column):
        if not isinstance(node.this, exp.Star):
            yield node
        return
    if isinstance(node, exp.Expression):
        for one in node.iter_expressions():
            yield from _columns_outside(one)
