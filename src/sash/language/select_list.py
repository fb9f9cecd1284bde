"""The select list → the columns of the result: aggregates by name, and SQL over their results."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from sqlglot import exp

from sash.aggregates.base import Aggregate
from sash.aggregates.naming import result_name
from sash.expressions import Expression, Order, Selection
from sash.hints import did_you_mean
from sash.language.aggregate_calls import calls_in, is_call
from sash.language.aggregate_names import unknown
from sash.language.clause import Clause, needs_time
from sash.language.grammar import is_name
from sash.language.group_functions import BOUNDS, END, STRUCTS, group_functions, is_group_function, part_of, window_time
from sash.language.select_parts import Item, SelectParts
from sash.language.source_text import quoted
from sash.language.sql_error import NodeError, fail
from sash.language.value_functions import Call, read_call

Value = str | Expression | dict[str, str] | None


class ClauseResults:
    """The aggregates over the windows of a clause, and which of them the text asks for."""

    def __init__(self, clause: Clause) -> None:
        self.clause = clause
        self.aggregates: dict[str, Aggregate[Any]] = {}
        self.asked: dict[str, list[str]] = {window: [] for window in clause.windows}
        """The names of the aggregates over each window."""

    def ask(self, name: str, aggregate: Aggregate[Any], windows: Iterable[str]) -> list[str]:
        """Return the columns of the results that hold an aggregate over some windows."""
        self.aggregates[name] = aggregate
        for window in windows:
            if name not in self.asked[window]:
                self.asked[window].append(name)
        return list(dict.fromkeys(self.column(name, window) for window in windows))

    def column(self, name: str, window: str) -> str:
        """Return the column of the results that holds an aggregate over a window."""
        return f"{name}_{window}" if self.clause.several and self.clause.per_row else name

    @property
    def is_uniform(self) -> bool:
        """Whether the text asks for every aggregate over every window."""
        return all(set(names) == set(self.aggregates) for names in self.asked.values())

    @property
    def all_columns(self) -> list[str]:
        """The columns that one query adds to rows, those that the text does not ask for included."""
        return [self.column(name, window) for name in self.aggregates for window in self.clause.windows]

    @property
    def columns(self) -> list[str]:
        """The columns that the text asks for, in their order."""
        return [
            self.column(name, window)
            for name in self.aggregates
            for window, names in self.asked.items()
            if name in names
        ]


class SelectList:
    """Reads a select list, HAVING and ORDER BY."""

    def __init__(self, parts: SelectParts, keys: Mapping[str | None, str], clauses: Sequence[Clause]) -> None:
        self.parts, self.source, self.keys = parts, parts.source, keys
        self.results = list(map(ClauseResults, clauses))
        self.clause = clauses[0]
        """The only clause, unless windows are those of OVER."""
        self.several = self.clause.several
        self.group_functions = group_functions(parts.group)
        self.columns: dict[int, list[str]] = {}
        """The columns of the query's results that hold a call, by its `id`: one for each window."""
        self.over_results: dict[int, Expression] = {}
        """SQL over columns of the results, by the `id` of the call that it evaluates."""
        self.mentioned = {column.parts[0].name.lower() for column in parts.source.statement.find_all(exp.Column)}
        self._name_calls()
        self.outputs = self._outputs()

    # -- calls of aggregates -------------------------------------------------------------------------------------------

    def _name_calls(self) -> None:
        """Name each aggregate after its column, or after its call if it is part of an expression."""
        aliases = [(item.node, item.alias) for item in self.parts.items if is_call(item.node)]
        inner = [(call, None) for node in self.parts.results for call in calls_in(node)]
        for call, alias in [*aliases, *inner]:
            if id(call) not in self.columns:
                self._name_call(call, alias)
        if not self.columns:
            for function in (node for item in self.parts.items for node in item.node.find_all(exp.Anonymous)):
                if part_of(self.source, function, self.group_functions) is None:
                    fail(function, unknown(function.name))
            fail(self.parts.items[0].node, "The query has no aggregate. Name one, as in SELECT max(load).")

    def _name_call(self, node: Any, alias: str | None) -> None:
        results = next((results for results in self.results if id(node) in results.clause.of_call), None)
        if results is None and self.clause.of_call:
            fail(node, "This aggregate has no OVER, but others have.")
        results = results or self.results[0]
        clause = results.clause
        call = read_call(self.source, node, is_cql=self.parts.is_cql, descending=id(node) in clause.descending)
        over = clause.of_call.get(id(node))
        windows = list(clause.windows) if over is None else [over]
        is_result = call.over_results is None
        name = alias if is_result and alias is not None and not (clause.several and over) else None
        columns = [
            self._ask(results, aggregate, name if is_result else None, call, windows) for aggregate in call.aggregates
        ]
        self.columns[id(node)] = columns[0]
        if call.over_results is not None:
            held = [self.source.quoted(of_windows[0]) for of_windows in columns]
            self.over_results[id(node)] = Expression(call.over_results(held))

    def _ask(
        self, results: ClauseResults, aggregate: Aggregate[Any], name: str | None, call: Call, windows: list[str]
    ) -> list[str]:
        """Return the columns of an aggregate over windows; without a name, it shares those of an equal one."""
        same = (known for known, other in results.aggregates.items() if repr(other) == repr(aggregate))
        plain = call.name if call.over_results is None else result_name(aggregate)
        name = name or next(same, plain)
        while not self._is_free(name, aggregate, results):
            name += "_"
        return results.ask(name, aggregate, windows)

    def _is_free(self, name: str, aggregate: Aggregate[Any], results: ClauseResults) -> bool:
        """Return whether a column of the results can have a name: rows also have the columns that the text mentions."""
        taken = {*self.keys.values(), "window", *BOUNDS.values()}
        if self.clause.per_row:  # a query whose results are rows only rejects names that the rows have itself
            taken = set() if self.is_rows_only else self.mentioned
        same = results.aggregates.get(name)
        elsewhere = any(name in others.aggregates for others in self.results if others is not results)
        return name.lower() not in taken and not elsewhere and (same is None or repr(same) == repr(aggregate))

    @property
    def is_rows_only(self) -> bool:
        """Whether the result is the rows with new columns: in CQL, a list of aggregates alone."""
        is_cql = self.clause.per_row and self.parts.bracket is not None
        return is_cql and all(is_call(item.node) for item in self.parts.items)

    @property
    def result_columns(self) -> list[str]:
        """The columns that queries add to rows, in their order."""
        return [column for results in self.results for column in results.columns]

    @property
    def window_columns(self) -> list[str]:
        """The columns of results per window, besides keys and aggregates."""
        has_time = self.clause.time is not None or needs_time(self.clause.windows, self.results[0].aggregates)
        bounds = [*BOUNDS.values()] if has_time else []  # without a time, windows of rows have no bounds
        return ["window", *bounds] if self.several else bounds

    # -- columns of the result -----------------------------------------------------------------------------------------

    def _outputs(self) -> dict[str, Value]:
        """Return the columns of the result, with those that CQL implies."""
        named: dict[str, Value] = {}
        for item in self.parts.items:
            for name, value in self._output(item):
                if name in named:
                    fail(item.node, f"Two columns are named {name}. Name one, as in max(load) AS peak.")
                named[name] = value
        if self.is_rows_only:
            return {"*": None, **named}
        names_bounds = any(value in BOUNDS.values() for value in named.values() if isinstance(value, str))
        if self.clause.per_row or self.parts.bracket is None or names_bounds:
            return named
        names = {value: name for name, value in reversed(named.items()) if isinstance(value, str)}
        keys = {names.get(key, key): key for key in self.keys.values()}
        implied: dict[str, Value] = {**keys, **{name: name for name in self.window_columns}}
        for name, value in implied.items():
            if named.get(name, value) != value:
                problem = f"The result has a column {name}, besides those of the select list."
                node = next(item.node for item in self.parts.items if item.alias == name)
                fail(node, f"{problem} Give this one another name.")
        return implied | named

    def _output(self, item: Item) -> Iterator[tuple[str, Value]]:
        """Yield the columns of a member of the select list: several for an aggregate over several windows."""
        node = item.node
        if isinstance(node, exp.Star) or (isinstance(node, exp.Column) and isinstance(node.this, exp.Star)):
            if not self.clause.per_row:
                columns = "keys, window_start, window_end and aggregates"
                fail(node, f"SELECT * is for results per row. Name the columns: {columns}.")
            if any((node if isinstance(node, exp.Star) else node.this).args.values()):
                fail(node, "SELECT * with EXCEPT, REPLACE or RENAME is not supported. Name the columns.")
            yield "*", None
            return
        held_in = self.columns.get(id(node), [])
        if len(held_in) > 1 and id(node) not in self.over_results:
            for window, column in zip(self.clause.windows, held_in, strict=True):
                yield f"{item.alias}_{window}" if item.alias else column, column
            return
        value = self.value(node)
        yield item.alias or self._own_name(node, value), value

    def _own_name(self, node: Any, value: Value) -> str:
        """Return the name of a column without AS."""
        if is_group_function(node) or isinstance(node, exp.Column):
            return str(node.name if isinstance(node, exp.Column) else node.name.lower())
        return value if isinstance(value, str) else self.source.of(node)

    # -- expressions over results --------------------------------------------------------------------------------------

    def value(self, node: Any, aliases: dict[str, Value] | None = None) -> Value:
        """Return a column of the query's results, or SQL over them. `aliases` are names of columns of the select list."""
        if self._is_struct(node):
            return dict(BOUNDS)
        columns: dict[int, str | Expression] = {}
        self._find_columns(node, aliases or {}, columns)
        if id(node) in columns:
            return columns[id(node)]
        if is_name(node):
            return str(node.name)
        quote = self.source.quote
        texts = {at: f"({v.text})" if isinstance(v, Expression) else quoted(v, quote) for at, v in columns.items()}
        return Expression(self.source.of(node, texts))

    def _find_columns(self, node: Any, aliases: dict[str, Value], found: dict[int, str | Expression]) -> None:
        """Find which columns of the results stand for members of an expression. Raise NodeError if there are none for a member."""
        key = None if self.clause.per_row else self.keys.get(self.source.normal(node))
        if key is not None:
            found[id(node)] = key
        elif is_call(node):
            columns = self.columns[id(node)]
            if len(columns) > 1:
                problem = f"This aggregate has a result for each of {len(columns)} windows"
                fail(node, f"{problem}, so it cannot be part of an expression.")
            found[id(node)] = self.over_results.get(id(node), columns[0])
        elif (part := part_of(self.source, node, self.group_functions)) is not None:
            found[id(node)] = part
        elif isinstance(node, exp.Column):
            value = self._column(node, aliases)
            if value is not None:
                found[id(node)] = value
        elif isinstance(node, exp.Expression):
            for inner in node.iter_expressions():
                self._find_columns(inner, aliases, found)

    def _column(self, node: exp.Column, aliases: dict[str, Value]) -> str | Expression | None:
        """Return what a column stands for; None for a column of the rows."""
        if isinstance(node.this, exp.Star):
            fail(node, "* cannot be part of an expression.")
        bound = self._bound(node)
        value = aliases.get(node.name.lower()) if len(node.parts) == 1 else None
        if isinstance(value, str | Expression):
            return value
        if bound is not None or self.clause.per_row:
            return bound
        if len(node.parts) == 1 and node.name.lower() in self.window_columns:
            return str(node.name.lower())
        if END in self.window_columns and (time := window_time(self.source, node)) is not None:
            return time
        if node.parts[0].name in self.keys.values():  # a field of a key
            return None
        function = node.find_ancestor(exp.Anonymous)
        if function is not None and "Did you mean" in unknown(function.name):
            fail(function, unknown(function.name))
        if self._is_struct(node):
            fail(node, f"{node.name} is a struct. Use {node.name}.start or {node.name}.end.")
        hint = did_you_mean(node.name, [*self.keys.values(), *self.window_columns])
        hint = hint or f" Add GROUP BY {node.name}, or aggregate it."
        raise NodeError(node, f"{node.name} is neither a key in GROUP BY nor the input of an aggregate.{hint}")

    def _bound(self, node: exp.Column) -> str | None:
        """Return the column that `window.start` or `window.end` stands for."""
        is_field = node.table.lower() in STRUCTS and bool(self.group_functions)
        return BOUNDS.get(node.name.lower()) if is_field else None

    def _is_struct(self, node: Any) -> bool:
        """Return whether a node is Spark's struct with the bounds of a window: `window`, or `window(ts, '1 hour')` again."""
        if isinstance(node, exp.Column):
            names = {function.name.lower() for function in self.group_functions}
            return len(node.parts) == 1 and node.name.lower() in names.intersection(STRUCTS)
        return (
            is_group_function(node)
            and node.name.lower() in STRUCTS
            and self.source.normal(node) in map(self.source.normal, self.group_functions)
        )

    # -- the selection -------------------------------------------------------------------------------------------------

    def selection(self) -> Selection | None:
        """Return the selection from the results of the query; None if they stay as they are."""
        parts = self.parts
        outputs = None if self._is_natural() else self.outputs
        having = None
        if parts.having is not None:
            value = self.value(parts.having, self._aliases(first=False))
            having = value if isinstance(value, Expression) else Expression(quoted(str(value), self.source.quote))
        added = tuple(column for results in self.results for column in results.all_columns)
        order = tuple(self._order())
        selection = Selection(outputs, added, having, order, parts.limit, parts.offset)
        return None if outputs is None and having is None and selection.by_rows else selection

    def _is_natural(self) -> bool:
        """Return whether one query has these columns in this order."""
        if len(self.results) > 1 or not self.results[0].is_uniform:
            return False
        names = [*self.keys.values(), *self.window_columns, *self.results[0].aggregates]
        natural: list[tuple[str, Value]] = [(name, name) for name in names]
        if self.clause.per_row:
            natural = [("*", None), *((name, name) for name in self.result_columns)]
        return list(self.outputs.items()) == natural

    def _aliases(self, *, first: bool) -> dict[str, Value]:
        """Return the columns of the select list by name: in ORDER BY they come first, in HAVING the columns of the rows do."""
        named = {item.alias.lower() for item in self.parts.items if item.alias is not None}
        if not first and self.clause.per_row:
            named -= self.mentioned - {name.lower() for name in self._only_after()}
        elif not first:
            named -= {name.lower() for name in self.keys.values()}
        return {name.lower(): value for name, value in self.outputs.items() if name.lower() in named}

    def _only_after(self) -> set[str]:
        """Return the names that occur in HAVING and ORDER BY only."""
        after = [self.parts.having, *self.parts.order]
        later = [column for node in after if node is not None for column in node.find_all(exp.Column)]
        ids = set(map(id, later))
        earlier = [column for column in self.source.statement.find_all(exp.Column) if id(column) not in ids]
        return {column.parts[0].name for column in later} - {column.parts[0].name for column in earlier}

    def _order(self) -> Iterator[Order]:
        for ordered in self.parts.order:
            nulls_first, node = self.source.nulls_first(ordered), ordered.this
            is_position = isinstance(node, exp.Literal)
            value = self._position(node) if is_position else self.value(node, self._aliases(first=True))
            for column in value.values() if isinstance(value, dict) else [value]:
                if column is None:
                    fail(ordered, "ORDER BY takes columns and expressions, not *.")
                yield Order(column, descending=bool(ordered.args.get("desc")), nulls_first=nulls_first)

    def _position(self, node: exp.Literal) -> Value:
        """Return the column that `ORDER BY 2` names."""
        columns = list(self.outputs.values())
        place = int(node.name) if node.name.isdecimal() and not node.is_string else 0
        if not 1 <= place <= len(columns) or None in columns[:place]:
            fail(node, "ORDER BY takes columns, expressions, or positions of columns.")
        return columns[place - 1]
