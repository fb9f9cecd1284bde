"""The windows of a text → windows of Sash: brackets of CQL, table functions, and `window(…)` in GROUP BY."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sqlglot import exp

from sash import windows
from sash.language.aggregate_calls import literal, number
from sash.language.nodes import Amount, Bracket, BracketWindow, TableFunction, is_name
from sash.language.source_text import SourceText
from sash.language.sql_error import SqlError
from sash.language.units import unit_of
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


@dataclass(frozen=True)
class Clause:
    """What a clause says: windows by name, the keys, the time column and columns that break its ties; None if it does not say."""

    windows: dict[str, Window]
    by: tuple[Any, ...] | None = None
    time: str | None = None
    order_by: tuple[str, ...] = ()


def made(source: SourceText, node: Any, make: Callable[[], Window]) -> Window:
    """Return a window. Raise SqlError with the message of the constructor if its arguments are not valid."""
    try:
        return make()
    except SqlError:
        raise
    except (TypeError, ValueError) as error:
        source.fail(node, str(error))


def column_name(source: SourceText, node: Any) -> str:
    """Return the name of a column. Raise SqlError for other expressions."""
    if not is_name(node):
        source.fail(node, "Expected the name of a column.")
    return str(node.name)


# -- lengths -----------------------------------------------------------------------------------------------------------


def length_of(source: SourceText, node: Any) -> Length:
    """Return a duration as Sash writes it, or a number: of `24 HOURS`, `INTERVAL '1' HOUR`, `'1 hour'`, `10`."""
    if isinstance(node, Amount):
        return duration(source, node, node.this, node.args.get("unit"))
    if isinstance(node, exp.Interval):
        unit = node.args.get("unit")
        negative = isinstance(node.this, exp.Neg)
        text = (node.this.this if negative else node.this).name
        return duration(source, node, f"-{text}" if negative else text, unit and unit.name)
    value = literal(source, node)
    return duration(source, node, value, None) if isinstance(value, str) else value


def duration(source: SourceText, node: Any, amount: str, unit: str | None) -> Length:
    """Return a duration, such as "24h"; a number if there is no unit."""
    if unit is None:
        try:
            return number(amount)
        except ArithmeticError:
            return amount  # Sash reads "1 hour" itself
    found = unit_of(unit)
    if found is None:
        source.fail(node, f"{unit} is not a unit of time. Use SECOND, MINUTE, HOUR, DAY, WEEK, MONTH, QUARTER or YEAR.")
    return f"{amount.strip()}{found}"


# -- CQL ---------------------------------------------------------------------------------------------------------------


def of_bracket(source: SourceText, bracket: Bracket) -> Clause:
    """Return what a bracket says."""
    found: dict[str, Window] = {}
    times: dict[str, None] = {}
    order: tuple[str, ...] = ()
    several = len(bracket.expressions) > 1
    for one in bracket.expressions:
        options = {" ".join(words): value for words, value in one.args["options"].items()}
        for name in ("ON", "WATTR"):
            if name in options:
                times[column_name(source, options.pop(name))] = None
        order = tuple(column_name(source, column) for column in options.pop("ORDER BY", ())) or order
        window = _bracket_window(source, one, options)
        name = one.alias or (window.result_name if several else window.kind)
        if name in found:
            source.fail(one, f"Two windows are named {name}. Name them, as in RANGE 1 HOUR AS hour.")
        found[name] = window
    if len(times) > 1:
        source.fail(bracket, f"The windows have the time columns {' and '.join(times)}, but a query has one.")
    keys = bracket.args.get("partition_by") or None
    return Clause(found, None if keys is None else tuple(keys), next(iter(times), None), order)


def _bracket_window(source: SourceText, one: BracketWindow, options: dict[str, Any]) -> Window:
    kind = one.args["kind"]
    for name, value in options.items():
        if OPTION_NAMES[name] not in inspect.signature(KINDS[kind]).parameters:
            source.fail(value if isinstance(value, exp.Expression) else one, f"{name} does not apply to {kind}.")
    given = {key: _option(source, key, value) for key, value in options.items()}
    named = {OPTION_NAMES[key]: value for key, value in given.items()}
    this, threshold = one.this, one.args.get("threshold")
    first = (
        ()
        if this is None
        else (column_name(source, this),)
        if isinstance(this, exp.Column)
        else (length_of(source, this),)
    )
    second = () if threshold is None else (length_of(source, threshold),)
    return made(source, one, lambda: KINDS[kind](*first, *second, **named))


OPTION_NAMES = {
    "SLIDE": "slide", "STEP": "step", "OFFSET": "offset", "CLOSED": "closed", "TZ": "tz", "MIN ROWS": "min_rows",
    "EXCLUDE": "exclude", "EMPTY": "empty", "BEFORE": "before", "AFTER": "after",
}  # fmt: skip
EXCLUDED = {"CURRENT ROW": "row", "TIES": "ties", "GROUP": "group", "NO OTHERS": None}


def _option(source: SourceText, name: str, value: Any) -> Any:
    if isinstance(value, Amount):
        if value.this == "UNBOUNDED":
            return None
        return length_of(source, value)
    if name == "MIN ROWS":
        return literal(source, value)
    if name == "EXCLUDE":
        return EXCLUDED[value.name.upper()]
    if name == "EMPTY":
        return True
    return value.name.lower() if name == "CLOSED" else value.name


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


def of_table_function(source: SourceText, node: TableFunction) -> Clause:
    """Return what a table function says."""
    names, make = TABLE_FUNCTIONS[node.args["kind"]]
    if node.args.get("time") is None:
        source.fail(node, f"{node.args['kind']} needs the time column, as in DESCRIPTOR(ts).")
    given: dict[str, Length] = {}
    for place, one in enumerate(node.expressions):
        name = one.name.lower() if isinstance(one, exp.Kwarg) else names[place] if place < len(names) else ""
        if name not in names:
            source.fail(one, f"{node.args['kind']} takes {', '.join(names)}.")
        given[name] = length_of(source, one.expression if isinstance(one, exp.Kwarg) else one)
    if missing := [name for name in names if name not in given and name != "offset"]:
        source.fail(node, f"{node.args['kind']} needs {' and '.join(missing)}.")
    keys = node.args.get("partition_by") or None
    window = made(source, node, lambda: make(**given))
    return Clause({window.kind: window}, None if keys is None else tuple(keys), column_name(source, node.args["time"]))


GROUP_FUNCTIONS: dict[str, Callable[..., Window]] = {
    "window": lambda size, slide=None, offset=None: windows.time(size, slide=slide or size, offset=offset),
    "session_window": windows.session,
}
"""Functions in GROUP BY, as in Spark: what follows the time column."""


def of_group_function(source: SourceText, node: exp.Anonymous) -> Clause:
    """Return what `window(ts, '1 hour', '1 minute')` in GROUP BY says."""
    time, *lengths = node.expressions
    given = [length_of(source, one) for one in lengths]
    window = made(source, node, lambda: GROUP_FUNCTIONS[node.name.lower()](*given))
    return Clause({window.kind: window}, time=column_name(source, time))
