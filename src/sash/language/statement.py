"""What a text asks for: where rows come from, the query over them, and what is made of its results.

    FROM, WHERE ──► rows ──► Query: windows, aggregates ──► results ──► expressions, HAVING, ORDER BY, LIMIT

A text that has only the middle part is a plain Query.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sash.aggregates.base import Aggregate
from sash.expressions import Expression, Selection
from sash.windows import Window


@dataclass(frozen=True)
class Statement:
    """A text for one engine."""

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
        return any(one.needs_time for one in self.windows.values()) or any(
            one.reads_time for one in self.aggregates.values()
        )
