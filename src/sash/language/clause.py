"""Clause: the windows of a text that one pass over the rows evaluates; and the lengths in a text."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from sqlglot import exp

from sash.aggregates.base import Aggregate
from sash.durations import UNIT_NAMES
from sash.language.aggregate_calls import literal, number
from sash.language.grammar import Amount
from sash.language.sql_error import fail
from sash.windows import Window

Length = Any
"""A duration as text, or a number: windows check it."""
EXCLUDED = {"CURRENT ROW": "row", "TIES": "ties", "GROUP": "group", "NO OTHERS": None}
"""The argument `exclude` of a window, by the words after EXCLUDE."""


@dataclass(frozen=True)
class Clause:
    """The windows of a text by name, their keys, their time column and the columns that break ties; None if the text does not name them."""

    windows: dict[str, Window]
    by: tuple[Any, ...] | None = None
    time: str | None = None
    order_by: tuple[str, ...] = ()
    of_call: dict[int, str] = field(default_factory=dict)
    """The window of each call with OVER, by `id`."""
    descending: frozenset[int] = frozenset()
    """The calls whose OVER has ORDER BY … DESC, by `id`."""
    in_zone: Callable[[str], Window] | None = None
    """Returns the window for a session of Spark in a time zone; None if the window does not depend on the session."""

    @property
    def several(self) -> bool:
        """Whether there are several windows, so that results need the name of the window."""
        return len(self.windows) > 1

    @property
    def per_row(self) -> bool:
        """Whether each row has a result."""
        return all(window.per_row for window in self.windows.values())


def needs_time(windows: Mapping[str, Window], aggregates: Mapping[str, Aggregate[Any]]) -> bool:
    """Return whether windows or aggregates need a time column."""
    readers = any(aggregate.time is not None for aggregate in aggregates.values())
    return readers or any(window.needs_time for window in windows.values())


# -- lengths -----------------------------------------------------------------------------------------------------------


def length_of(node: Any) -> Length:
    """Return a duration as Sash writes it, or a number: of `24 HOURS`, `INTERVAL '1' HOUR`, `'1 hour'`, `10`."""
    if isinstance(node, Amount):
        return _duration(node, node.this, node.args.get("unit"))
    if isinstance(node, exp.Interval):
        unit = node.args.get("unit")
        negative = isinstance(node.this, exp.Neg)
        amount = (node.this.this if negative else node.this).name
        return _duration(node, f"-{amount}" if negative else amount, unit and unit.name)
    value = literal(node)
    return _duration(node, value, None) if isinstance(value, str) else value


def _duration(node: Any, amount: str, unit: str | None) -> Length:
    """Return a duration, such as "24h"; a number if there is no unit."""
    if unit is None:
        try:
            return number(amount)
        except ArithmeticError:
            return amount  # Sash reads "1 hour" itself
    if unit.lower() not in UNIT_NAMES:
        fail(node, f"{unit} is not a unit of time. Use SECOND, MINUTE, HOUR, DAY, WEEK, MONTH, QUARTER or YEAR.")
    return f"{amount.strip()}{UNIT_NAMES[unit.lower()]}"
