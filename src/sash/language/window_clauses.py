"""The windows of a text → windows of Sash: brackets of CQL, table functions, and `window(…)` in GROUP BY."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from sqlglot import exp

from sash import windows
from sash.durations import UNIT_NAMES
from sash.language.aggregate_calls import literal, number
from sash.language.nodes import Amount, Bracket, BracketWindow, TableFunction, column_name, errors_at, fail
from sash.windows import Window

Length = Any
"""A duration as text, or a number: windows check it."""

KINDS: dict[str, Callable[..., Window]] = {
    "RANGE": windows.time,
    "ROWS": windows.rows,
    "TUMBLE": windows.tumbling,
    "CUMULATE": windows.cumulative,
    "SESSION": windows.session,
    "EXPANDING": windows.expanding,
    "DELTA": windows.delta,
    "PUNCTUATED": windows.punctuated,
}
"""The functions of the windows in a bracket. Their parameters are the options."""
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

    @property
    def per_row(self) -> bool:
        """Whether each row has a result."""
        return all(window.per_row for window in self.windows.values())

    @property
    def has_time(self) -> bool:
        """Whether there is a time column: without one, windows of rows have no bounds."""
        return self.time is not None or any(window.needs_time for window in self.windows.values())


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


# -- CQL ---------------------------------------------------------------------------------------------------------------


def of_bracket(bracket: Bracket) -> Clause:
    """Return the clause of a bracket."""
    named: dict[str, Window] = {}
    times: dict[str, None] = {}
    order: tuple[str, ...] = ()
    for node in bracket.expressions:
        options = dict(node.args["options"])
        times |= {column_name(options.pop(word)): None for word in ("ON", "WATTR") if word in options}
        order = tuple(map(column_name, options.pop("ORDER BY", ()))) or order
        window = _bracket_window(node, options)
        name = node.alias or (window.result_name if len(bracket.expressions) > 1 else window.kind)
        if name in named:
            fail(node, f"Two windows are named {name}. Name them, as in RANGE 1 HOUR AS hour.")
        named[name] = window
    if len(times) > 1:
        fail(bracket, f"The windows have the time columns {' and '.join(times)}, but a query has one.")
    return Clause(named, _partition_by(bracket), next(iter(times), None), order)


def _partition_by(node: Bracket | TableFunction) -> tuple[Any, ...] | None:
    return tuple(node.args.get("partition_by") or ()) or None


def _bracket_window(node: BracketWindow, options: dict[str, Any]) -> Window:
    kind = node.args["kind"]
    arguments: dict[str, Any] = {}
    for words, value in options.items():
        name = words.lower().replace(" ", "_")
        if name not in inspect.signature(KINDS[kind]).parameters:
            fail(value if isinstance(value, exp.Expression) else node, f"{words} does not apply to {kind}.")
        arguments[name] = _option(words, value)
    given = [value for value in (node.this, node.args.get("threshold")) if value is not None]
    first = [column_name(value) if isinstance(value, exp.Column) else length_of(value) for value in given]
    with errors_at(node):
        return KINDS[kind](*first, **arguments)


def _option(words: str, value: Any) -> Any:
    if isinstance(value, Amount):
        return None if value.this == "UNBOUNDED" else length_of(value)
    if words == "MIN ROWS":
        return literal(value)
    if words == "EXCLUDE":
        return EXCLUDED[value.name.upper()]
    if words == "EMPTY":
        return True
    return value.name.lower() if words == "CLOSED" else value.name


# -- table functions ---------------------------------------------------------------------------------------------------

TABLE_FUNCTIONS: dict[str, tuple[tuple[str, ...], Callable[..., Window]]] = {
    "TUMBLE": (("size", "offset"), lambda size, offset=None: windows.tumbling(size, offset=offset)),
    "HOP": (
        ("slide", "size", "offset"),
        lambda slide, size, offset=None: windows.time(size, slide=slide, offset=offset),
    ),
    "CUMULATE": (
        ("step", "size", "offset"),
        lambda step, size, offset=None: windows.cumulative(size, step, offset=offset),
    ),
    "SESSION": (("gap",), windows.session),
}
"""The durations of each table function in their order, and the window."""


def of_table_function(node: TableFunction) -> Clause:
    """Return the clause of a table function."""
    kind = node.args["kind"]
    names, make = TABLE_FUNCTIONS[kind]
    if node.args.get("time") is None:
        fail(node, f"{kind} needs the time column, as in DESCRIPTOR(ts).")
    lengths: dict[str, Length] = {}
    for position, argument in enumerate(node.expressions):
        name, value = names[position] if position < len(names) else "", argument
        if isinstance(argument, exp.Kwarg):
            name, value = argument.name.lower(), argument.expression
        if name not in names:
            fail(argument, f"{kind} takes {', '.join(names)}.")
        lengths[name] = length_of(value)
    if missing := [name for name in names if name not in lengths and name != "offset"]:
        fail(node, f"{kind} needs {' and '.join(missing)}.")
    with errors_at(node):
        window = make(**lengths)
    return Clause({window.kind: window}, _partition_by(node), column_name(node.args["time"]))


GROUP_FUNCTIONS: dict[str, Callable[..., Window]] = {
    "window": lambda size, slide=None, offset=None: windows.time(size, slide=slide or size, offset=offset),
    "session_window": windows.session,
}
"""Functions in GROUP BY, as in Spark: what follows the time column."""


def of_group_function(node: exp.Anonymous) -> Clause:
    """Return the clause of `window(ts, '1 hour', '1 minute')` in GROUP BY."""
    if not node.expressions:
        fail(node, f"{node.name} needs the time column, as in {node.name}(ts, '1 hour').")
    time, *lengths = node.expressions
    with errors_at(node):
        window = GROUP_FUNCTIONS[node.name.lower()](*map(length_of, lengths))
    return Clause({window.kind: window}, time=column_name(time))
