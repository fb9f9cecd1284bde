"""The calls of aggregates in a text, by the columns of the query's results that hold them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sqlglot import exp

from sash.aggregates.base import Aggregate
from sash.language.aggregate_calls import build, calls_in, is_call
from sash.language.aggregate_names import unknown
from sash.language.keys import Keys
from sash.language.select_parts import SelectParts

BOUNDS = {"start": "window_start", "end": "window_end"}
"""The fields of Spark's struct `window`, and the columns of the results."""


@dataclass(frozen=True)
class Shape:
    """What the results of the windows look like."""

    windows: tuple[str, ...]
    """The names of the windows."""
    per_row: bool
    in_brackets: bool
    """Whether the text is CQL, where some columns are implied."""
    has_time: bool
    """Whether there is a time column: without one, windows of rows have no bounds."""
    of_call: dict[int, str]
    """The window of each call with OVER, by `id`."""


class NamedCalls:
    """The aggregates of a text by name, and the columns of each call."""

    def __init__(self, parts: SelectParts, keys: Keys, shape: Shape) -> None:
        self.parts = parts
        self.source = parts.source
        self.keys = keys
        self.shape = shape
        self.aggregates: dict[str, Aggregate[Any]] = {}
        self.columns: dict[int, list[str]] = {}
        """The columns of the query's results that hold a call, by its `id`: one for each window."""
        self.mentioned = {one.parts[0].name.lower() for one in parts.source.statement.find_all(exp.Column)}
        self._name_calls()

    def _name_calls(self) -> None:
        """Give each aggregate the name of its column, or a name of its own if it is part of an expression."""
        for item in self.parts.items:
            if is_call(item.node):
                self._name_call(item.node, item.alias)
        for node in self.parts.results:
            for call in calls_in(node):
                if id(call) not in self.columns:
                    self._name_call(call, None)
        if not self.aggregates:
            function = next((one for item in self.parts.items for one in item.node.find_all(exp.Anonymous)), None)
            message = (
                "The query has no aggregate. Name one, as in SELECT max(load)."
                if function is None
                else unknown(function.name)
            )
            self.source.fail(function or self.parts.items[0].node, message)

    def _name_call(self, call: Any, alias: str | None) -> None:
        over = self.shape.of_call.get(id(call))
        if over is None and self.shape.of_call:
            self.source.fail(call, "This aggregate has no OVER, but others have.")
        aggregate = build(self.source, call)
        several = len(self.shape.windows) > 1 and self.shape.per_row
        name = alias if alias is not None and not (several and over) else None
        name = name or next((known for known, one in self.aggregates.items() if repr(one) == repr(aggregate)), None)
        name = name or aggregate.result_name
        while not self._is_free(name, aggregate):
            name += "_"
        self.aggregates[name] = aggregate
        self.columns[id(call)] = (
            [f"{name}_{one}" for one in ([over] if over else self.shape.windows)] if several else [name]
        )

    def _is_free(self, name: str, aggregate: Aggregate[Any]) -> bool:
        """Return whether a column of the results can have a name: rows also have the columns that the text mentions."""
        if self.is_rows_only:
            taken = set()  # the query itself rejects names that the rows have
        elif self.shape.per_row:
            taken = self.mentioned
        else:
            taken = {*self.keys.columns.values(), "window", *BOUNDS.values()}
        same = self.aggregates.get(name)
        return name.lower() not in taken and (same is None or repr(same) == repr(aggregate))

    @property
    def is_rows_only(self) -> bool:
        """Whether the result is the rows with new columns: in CQL, a list of aggregates alone."""
        return self.shape.per_row and self.shape.in_brackets and all(is_call(one.node) for one in self.parts.items)

    @property
    def result_columns(self) -> list[str]:
        """The columns that the query adds to rows, in their order."""
        several = len(self.shape.windows) > 1
        return [f"{name}_{one}" if several else name for name in self.aggregates for one in self.shape.windows]

    @property
    def window_columns(self) -> list[str]:
        """The columns of results per window, besides keys and aggregates."""
        has_time = self.shape.has_time or any(one.reads_time for one in self.aggregates.values())
        return ["window"] * (len(self.shape.windows) > 1) + [*BOUNDS.values()] * has_time
