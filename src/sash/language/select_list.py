"""The select list → the columns of the result: aggregates by name, and what SQL makes of their results."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sqlglot import exp

from sash.expressions import Expression, Order, Selection
from sash.hints import did_you_mean
from sash.language.aggregate_calls import is_call
from sash.language.aggregate_names import unknown
from sash.language.keys import Keys, is_group_function
from sash.language.named_calls import BOUNDS, NamedCalls, Shape
from sash.language.nodes import is_name
from sash.language.select_parts import Item, SelectParts
from sash.language.source_text import quoted
from sash.language.window_clauses import GROUP_FUNCTIONS

Value = str | Expression | dict[str, str] | None


class SelectList:
    """Reads a select list, HAVING and ORDER BY."""

    def __init__(self, parts: SelectParts, keys: Keys, shape: Shape) -> None:
        self.parts = parts
        self.source = parts.source
        self.keys = keys
        self.shape = shape
        self.calls = NamedCalls(parts, keys, shape)
        self.outputs = self._outputs()

    # -- columns of the result -----------------------------------------------------------------------------------------

    def _outputs(self) -> dict[str, Value]:
        """Return the columns of the result, with those that CQL implies."""
        named: dict[str, Value] = {}
        for item in self.parts.items:
            for name, value in self._output(item):
                if name in named:
                    self.source.fail(item.node, f"Two columns are named {name}. Name one, as in max(load) AS peak.")
                named[name] = value
        if self.calls.is_rows_only:
            return {"*": None, **named}
        names_bounds = any(one in BOUNDS.values() for one in named.values() if isinstance(one, str))
        if self.shape.per_row or not self.shape.in_brackets or names_bounds:
            return named
        keys = {_name_of(named, key): key for key in self.keys.columns.values()}
        implied: dict[str, Value] = {**keys, **{name: name for name in self.calls.window_columns}}
        for name, value in implied.items():
            if named.get(name, value) != value:
                problem = (
                    f"The result has a column {name}, besides those of the select list. Give this one another name."
                )
                self.source.fail(next(one.node for one in self.parts.items if one.alias == name), problem)
        return implied | named

    def _output(self, item: Item) -> Iterator[tuple[str, Value]]:
        """Yield the columns of a member of the select list: several for an aggregate over several windows."""
        node = item.node
        if isinstance(node, exp.Star) or (isinstance(node, exp.Column) and isinstance(node.this, exp.Star)):
            self._check_star(node)
            yield "*", None
            return
        columns = self.calls.columns.get(id(node), [])
        if len(columns) > 1:
            yield from (
                (f"{item.alias}_{one}" if item.alias else column, column)
                for one, column in zip(self.shape.windows, columns, strict=True)
            )
            return
        value = self.value(node)
        yield item.alias or self._own_name(node, value), value

    def _own_name(self, node: Any, value: Value) -> str:
        """Return the name of a column without AS."""
        if is_group_function(node):
            return str(node.name.lower())
        if isinstance(node, exp.Column):
            return str(node.name)
        return value if isinstance(value, str) else self.source.of(node)

    def _check_star(self, node: Any) -> None:
        star = node.this if isinstance(node, exp.Column) else node
        if not self.shape.per_row:
            self.source.fail(
                node,
                "SELECT * is for results per row. Name the columns: keys, window_start, window_end and aggregates.",
            )
        if any(star.args.values()):
            self.source.fail(node, "SELECT * with EXCEPT, REPLACE or RENAME is not supported. Name the columns.")

    # -- expressions over results --------------------------------------------------------------------------------------

    def value(self, node: Any, aliases: dict[str, Value] | None = None) -> Value:
        """Return a column of the query's results, or SQL over them. `aliases` are names of columns of the select list."""
        if self._is_struct(node):
            return dict(BOUNDS)
        found: dict[int, str | Expression] = {}
        self._find_columns(node, aliases or {}, found)
        if id(node) in found:
            return found[id(node)]
        if is_name(node):
            return str(node.name)
        texts = {
            one: f"({value.text})" if isinstance(value, Expression) else quoted(value, self.source.quote)
            for one, value in found.items()
        }
        return Expression(self.source.of(node, texts))

    def _find_columns(self, node: Any, aliases: dict[str, Value], found: dict[int, str | Expression]) -> None:
        """Find which columns of the results stand for parts of an expression. Raise SqlError if there are none for a part."""
        key = None if self.shape.per_row else self.keys.columns.get(self.source.normal(node))
        if key is not None:
            found[id(node)] = key
        elif is_call(node):
            columns = self.calls.columns[id(node)]
            if len(columns) > 1:
                self.source.fail(
                    node,
                    f"This aggregate has a result for each of {len(columns)} windows, so it cannot be part of an expression.",
                )
            found[id(node)] = columns[0]
        elif isinstance(node, exp.Column):
            value = self._column(node, aliases)
            if value is not None:
                found[id(node)] = value
        elif isinstance(node, exp.Expression):
            for one in node.iter_expressions():
                self._find_columns(one, aliases, found)

    def _column(self, node: exp.Column, aliases: dict[str, Value]) -> str | Expression | None:
        """Return what a column stands for; None for a column of the rows."""
        if isinstance(node.this, exp.Star):
            self.source.fail(node, "* cannot be part of an expression.")
        bound = self._bound(node)
        value = aliases.get(node.name.lower()) if len(node.parts) == 1 else None
        if isinstance(value, str | Expression):
            return value
        if bound is not None or self.shape.per_row:
            return bound
        if len(node.parts) == 1 and node.name.lower() in self.calls.window_columns:
            return str(node.name.lower())
        if node.parts[0].name in self.keys.columns.values():  # a field of a key
            return None
        self._fail_ungrouped(node)
        return None

    def _fail_ungrouped(self, node: exp.Column) -> None:
        function = node.find_ancestor(exp.Anonymous)
        if function is not None and "Did you mean" in unknown(function.name):
            self.source.fail(function, unknown(function.name))
        if self._is_struct(node):
            self.source.fail(node, f"{node.name} is a struct. Use {node.name}.start or {node.name}.end.")
        valid = [*self.keys.columns.values(), *self.calls.window_columns]
        self.source.fail(
            node,
            f"{node.name} is neither a key in GROUP BY nor the input of an aggregate.{did_you_mean(node.name, valid)}",
        )

    def _functions(self) -> Iterator[Any]:
        return (one for one in self.parts.group if is_group_function(one))

    def _bound(self, node: exp.Column) -> str | None:
        """Return the column that `window.start` or `window.end` stands for."""
        is_field = node.table.lower() in GROUP_FUNCTIONS and any(self._functions())
        return BOUNDS.get(node.name.lower()) if is_field else None

    def _is_struct(self, node: Any) -> bool:
        """Return whether a node is Spark's struct with the bounds of a window: `window`, or `window(ts, '1 hour')` again."""
        if isinstance(node, exp.Column):
            return len(node.parts) == 1 and any(node.name.lower() == one.name.lower() for one in self._functions())
        return is_group_function(node) and self.source.normal(node) in map(self.source.normal, self._functions())

    # -- the selection -------------------------------------------------------------------------------------------------

    def selection(self) -> Selection | None:
        """Return what is made of the results of the query; None if nothing is."""
        parts = self.parts
        outputs = None if self._is_natural() else self.outputs
        having = None
        if parts.having is not None:
            value = self.value(parts.having, self._aliases(first=False))
            having = value if isinstance(value, Expression) else Expression(quoted(str(value), self.source.quote))
        made = Selection(
            outputs, tuple(self.calls.result_columns), having, tuple(self._order()), parts.limit, parts.offset
        )
        return None if outputs is None and having is None and made.by_rows else made

    def _is_natural(self) -> bool:
        """Return whether the query has these columns in this order."""
        own = (
            self.calls.result_columns
            if self.shape.per_row
            else [*self.keys.columns.values(), *self.calls.window_columns, *self.calls.aggregates]
        )
        start: list[tuple[str, Value]] = [("*", None)] if self.shape.per_row else []
        return list(self.outputs.items()) == [*start, *((name, name) for name in own)]

    def _aliases(self, *, first: bool) -> dict[str, Value]:
        """Return the columns of the select list by name: in ORDER BY they come first, in HAVING the columns of the rows do."""
        named = {item.alias.lower() for item in self.parts.items if item.alias is not None}
        if not first:
            named -= (
                {*self.calls.mentioned} - {one.lower() for one in self._only_after()}
                if self.shape.per_row
                else {one.lower() for one in self.keys.columns.values()}
            )
        return {name.lower(): value for name, value in self.outputs.items() if name.lower() in named}

    def _only_after(self) -> set[str]:
        """Return the names that occur in HAVING and ORDER BY only."""
        after = [self.parts.having, *self.parts.order]
        later = [column for node in after if node is not None for column in node.find_all(exp.Column)]
        others = {id(one) for one in later}
        earlier = {one.parts[0].name for one in self.source.statement.find_all(exp.Column) if id(one) not in others}
        return {one.parts[0].name for one in later} - earlier

    def _order(self) -> Iterator[Order]:
        """Yield the members of ORDER BY."""
        for one in self.parts.order:
            nulls = self.source.nulls_first(one)
            value = (
                self._position(one.this)
                if isinstance(one.this, exp.Literal)
                else self.value(one.this, self._aliases(first=True))
            )
            for column in value.values() if isinstance(value, dict) else [value]:
                if column is None:
                    self.source.fail(one, "ORDER BY takes columns and expressions, not *.")
                yield Order(column, descending=bool(one.args.get("desc")), nulls_first=nulls)

    def _position(self, node: exp.Literal) -> Value:
        """Return the column that `ORDER BY 2` names."""
        columns = list(self.outputs.values())
        place = int(node.name) if node.name.isdecimal() and not node.is_string else 0
        if not 1 <= place <= len(columns) or None in columns[:place]:
            self.source.fail(node, "ORDER BY takes columns, expressions, or positions of columns.")
        return columns[place - 1]


def _name_of(outputs: dict[str, Value], column: str) -> str:
    """Return the name of a column in the result."""
    return next((name for name, value in outputs.items() if value == column), column)
