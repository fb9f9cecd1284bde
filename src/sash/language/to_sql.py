"""A Query → text in CQL that `sash.sql` reads as the same Query.

The text is made of the calls that windows and aggregates show of themselves: `time("24h", slide="1m")`, `max("load")`.
"""

from __future__ import annotations

import ast
import inspect
import re
from typing import Any

from sqlglot.tokens import TokenType

from sash.aggregates import BUILT_IN
from sash.aggregates.base import Aggregate
from sash.expressions import SQL, Computed
from sash.language.aggregate_names import REGISTERED
from sash.language.grammar import UNITS, WindowSql
from sash.language.source_text import quoted
from sash.plan.declared import Declared
from sash.windows import Window

UNIT_NAMES = {short: word.upper() for word, short in UNITS.items() if len(word) > 3 or word in ("day",)}  # noqa: FURB171, PLR2004
KINDS = {
    "time": "RANGE",
    "rows": "ROWS",
    "tumbling": "TUMBLE",
    "session": "SESSION",
    "cumulative": "CUMULATE",
    "expanding": "EXPANDING",
    "delta": "DELTA",
    "punctuated": "PUNCTUATED BY",
}
"""The words of windows in brackets, by the function that makes them."""
WORDS = {"min_rows": "MIN ROWS"}
COLUMN_KINDS = ("delta", "punctuated")
DEFAULTS = {"algorithm": "auto", "objective": "throughput", "slicing": "auto", "lateness": None}
"""Arguments of a query that a text cannot say."""


def to_sql(query: Declared) -> str:
    """Return the text of a query. Raise ValueError if a part of it has no text, such as a function of the user's."""
    for name, default in DEFAULTS.items():
        if getattr(query, name) != default:
            message = f"A text cannot say {name}={getattr(query, name)!r}. Leave it out, or pass it to Query."
            raise ValueError(message)
    items = [f"{aggregate_text(one)} AS {name_text(name)}" for name, one in query.aggregates.items()]
    several = list(query.windows) != [one.kind for one in query.windows.values()]
    windows = [window_text(one) + (f" AS {name_text(name)}" if several else "") for name, one in query.windows.items()]
    keys = [key_text(name) for name in query.by]
    bracket = f"PARTITION BY {', '.join(keys)} " if keys else ""
    bracket += ", ".join(windows)
    bracket += f" ON {name_text(query.time)}" if query.time is not None else ""
    bracket += f" ORDER BY {', '.join(map(name_text, query.order_by))}" if query.order_by else ""
    return f"SELECT {', '.join(items)} FROM input [{bracket}]"  # noqa: S608


def name_text(name: str) -> str:
    """Return a name, in quotes if it needs them.

    >>> name_text("load"), name_text("my load"), name_text("select")
    ('load', '"my load"', '"select"')
    """
    tokens = WindowSql().tokenize(name) if re.fullmatch(r"[A-Za-z_]\w*", name) else []
    return name if len(tokens) == 1 and tokens[0].token_type is TokenType.VAR else quoted(name)


def key_text(name: str) -> str:
    """Return a key: a column, or SQL."""
    return name_text(name) if not isinstance(name, Computed) else _expression(name.value)


def _expression(value: Any) -> str:
    if getattr(value, "kind", SQL) != SQL:
        message = f"{value!r} is an expression of {value.kind}, which has no SQL text. Use sash.expr."
        raise ValueError(message)
    return str(value.text)


def length_text(value: Any) -> str:
    """Return a duration or a number.

    >>> length_text("24h"), length_text("1h30m"), length_text(10), length_text(None), length_text("-1h")
    ("24 HOUR", "'1h30m'", '10', 'UNBOUNDED', '-1 HOUR')
    """
    if value is None:
        return "UNBOUNDED"
    if not isinstance(value, str):
        return repr(value)
    found = re.fullmatch(r"(-?\d+)([a-z]+)", value)
    return f"{found[1]} {UNIT_NAMES[found[2]]}" if found and found[2] in UNIT_NAMES else f"'{value}'"


def window_text(window: Window) -> str:
    """Return a window as brackets write it."""
    call = parse_call(repr(window))
    if call.func.id not in KINDS:
        message = f"{window!r} calls a function of yours, which has no SQL text."
        raise ValueError(message)
    kind = call.func.id
    values = [ast.literal_eval(one) for one in call.args]
    text = KINDS[kind]
    if kind in COLUMN_KINDS and values:
        text += f" {name_text(values.pop(0))}"
    names = [*inspect.signature(getattr(__import__("sash").window, kind)).parameters]
    text += f" {length_text(values[0])}" if values else ""
    for name, value in [(names[1], one) for one in values[1:]] + [
        (one.arg, ast.literal_eval(one.value)) for one in call.keywords
    ]:
        text += f" {WORDS.get(name, str(name).upper())} {option_text(str(name), value)}".rstrip()
    return text


def option_text(name: str, value: Any) -> str:
    """Return the value of an option of a window."""
    if name == "tz":
        return f"'{value}'"
    if name == "exclude":
        return {"row": "CURRENT ROW", "ties": "TIES", "group": "GROUP"}[value]
    if name == "closed":
        return str(value)
    if name == "empty":
        return ""
    return length_text(value)


def parse_call(text: str) -> Any:
    """Return the syntax tree of a call that a window or an aggregate shows of itself. It is read, and never run."""
    return ast.parse(text, mode="eval").body


def aggregate_text(aggregate: Aggregate[Any]) -> str:
    """Return an aggregate as SQL calls it."""
    if not aggregate.is_built_in and REGISTERED.get(aggregate.name.lower().replace("_", "")) is None:
        message = f"{aggregate!r} is an aggregate of yours, which SQL does not know. Register it: sash.register(…)."
        raise ValueError(message)
    return _call_text(parse_call(repr(aggregate)))


def _call_text(call: Any) -> str:
    name = call.func.id
    if name == "expr":
        return str(ast.literal_eval(call.args[0]))
    parameters = [*inspect.signature(BUILT_IN[name]).parameters.values()] if name in BUILT_IN else []
    arguments, where = [], ""
    for place, one in enumerate(call.args):
        is_column = not parameters or "ColumnLike" in str(parameters[place].annotation)
        arguments.append(_value_text(one, is_column=is_column))
    for one in call.keywords:
        if one.arg == "where":
            where = f" FILTER (WHERE {_where_text(one.value)})"
        else:
            arguments.append(f"{one.arg} => {_value_text(one.value, is_column=False)}")
    shown = ", ".join(arguments) or ("*" if name == "count" else "")
    return f"{name}({shown}){where}"


def _where_text(node: Any) -> str:
    return str(ast.literal_eval(node.args[0] if isinstance(node, ast.Call) else node))


def _value_text(node: Any, *, is_column: bool) -> str:
    if isinstance(node, ast.Call):
        return _call_text(node)
    value = ast.literal_eval(node)
    if is_column:
        return name_text(value)
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(repr, value))}]"
    return "'" + value.replace("'", "''") + "'" if isinstance(value, str) else str(value)
