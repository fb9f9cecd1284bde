"""The calls of aggregates in a text, by the columns of the query's results that hold them."""

from __future__ import annotations

from typing import Any

from sqlglot import exp

from sash.aggregates.base import Aggregate
from sash.aggregates.naming import result_name
from sash.language.aggregate_calls import build, calls_in, is_call
from sash.language.aggregate_names import unknown
from sash.language.keys import Keys
from sash.language.nodes import fail
from sash.language.select_parts import SelectParts
from sash.language.window_clauses import Clause

BOUNDS = {"start": "window_start", "end": "window_end"}
"""The fields of Spark's struct `window`, and the columns of the results."""


class NamedCalls:
    """The aggregates of a text by name, and the columns of each call."""

    def __init__(self, parts: SelectParts, keys: Keys, clause: Clause) -> None:
        self.parts = parts
        self.source = parts.source
        self.keys = keys
        self.clause = clause
        self.aggregates: dict[str, Aggregate[Any]] = {}
        self.columns: dict[int, list[str]] = {}
        """The columns of the query's results that hold a call, by its `id`: one for each window."""
        self.mentioned = {column.parts[0].name.lower() for column in parts.source.statement.find_all(exp.Column)}
        self._name_calls()

    def _name_calls(self) -> None:
        """Name each aggregate after its column, or after its call if it is part of an expression."""
        for item in self.parts.items:
            if is_call(item.node):
                self._name_call(item.node, item.alias)
        for node in self.parts.results:
            for call in calls_in(node):
                if id(call) not in self.columns:
                    self._name_call(call, None)
        if not self.aggregates:
            for function in (node for item in self.parts.items for node in item.node.find_all(exp.Anonymous)):
                fail(function, unknown(function.name))
            fail(self.parts.items[0].node, "The query has no aggregate. Name one, as in SELECT max(load).")

    def _name_call(self, call: Any, alias: str | None) -> None:
        over = self.clause.of_call.get(id(call))
        if over is None and self.clause.of_call:
            fail(call, "This aggregate has no OVER, but others have.")
        aggregate = build(self.source, call)
        several = len(self.clause.windows) > 1 and self.clause.per_row
        name = alias if alias is not None and not (several and over) else None
        same = (name for name, known in self.aggregates.items() if repr(known) == repr(aggregate))
        name = name or next(same, result_name(aggregate))
        while not self._is_free(name, aggregate):
            name += "_"
        self.aggregates[name] = aggregate
        windows = [over] if over else self.clause.windows
        self.columns[id(call)] = [f"{name}_{window}" for window in windows] if several else [name]

    def _is_free(self, name: str, aggregate: Aggregate[Any]) -> bool:
        """Return whether a column of the results can have a name: rows also have the columns that the text mentions."""
        if self.is_rows_only:
            taken = set()  # the query itself rejects names that the rows have
        elif self.clause.per_row:
            taken = self.mentioned
        else:
            taken = {*self.keys.columns.values(), "window", *BOUNDS.values()}
        same = self.aggregates.get(name)
        return name.lower() not in taken and (same is None or repr(same) == repr(aggregate))

    @property
    def is_rows_only(self) -> bool:
        """Whether the result is the rows with new columns: in CQL, a list of aggregates alone."""
        return (
            self.clause.per_row
            and self.parts.bracket is not None
            and all(is_call(item.node) for item in self.parts.items)
        )

    @property
    def result_columns(self) -> list[str]:
        """The columns that the query adds to rows, in their order."""
        several = len(self.clause.windows) > 1
        return [f"{name}_{window}" if several else name for name in self.aggregates for window in self.clause.windows]

    @property
    def window_columns(self) -> list[str]:
        """The columns of results per window, besides keys and aggregates."""
        has_time = self.clause.has_time or any(aggregate.time is not None for aggregate in self.aggregates.values())
        return ["window"] * (len(self.clause.windows) > 1) + [*BOUNDS.values()] * has_time
