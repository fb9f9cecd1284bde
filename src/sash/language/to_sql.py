"""A Query → text in CQL that `sash.sql` reads as the same Query.

The text is made of the calls that windows and aggregates show of themselves: `time("24h", slide="1m")`, `max("load")`. They are read as
Python syntax, and never run.
"""

from __future__ import annotations

import ast
import inspect
import re
from functools import cache
from typing import Any

from sqlglot import exp

from sash import windows
from sash.aggregates import BUILT_IN
from sash.aggregates.base import Aggregate
from sash.durations import LONG_NAMES
from sash.expressions import SQL, Expression, computed_in, expressions_in, source_of
from sash.language.aggregate_names import REGISTERED, SWAPPED, plain
from sash.language.clause import EXCLUDED
from sash.language.grammar import WindowSql, is_name
from sash.language.source_text import SourceText, quoted
from sash.language.sql_error import SqlError
from sash.language.window_clauses import KINDS
from sash.plan.query_spec import QuerySpec
from sash.windows import Window

WORDS = {make.__name__: kind for kind, make in KINDS.items()} | {"punctuated": "PUNCTUATED BY"}
"""The words of windows in brackets, by the function that makes them."""
EXCLUDES = {argument: words for words, argument in EXCLUDED.items()}
BRACKET_WORDS = " ".join([*KINDS, *WindowSql.Parser.BRACKET_OPTIONS, "AS", "ORDER", "PARTITION"]).split()
"""Words with a meaning in brackets."""
BY = {built_in: other for other, built_in in SWAPPED.items()}
"""What SQL calls aggregates that return a column of the row with the largest or smallest value."""
DEFAULTS = {"algorithm": "auto", "objective": "throughput", "slicing": "auto", "lateness": None}
"""Arguments of a query that a text cannot have."""


def to_sql(query: QuerySpec) -> str:
    """Return a query as text. Raise ValueError if a member has no text, such as a Python function."""
    for name, default in DEFAULTS.items():
        if getattr(query, name) != default:
            raise ValueError(f"A text cannot say {name}={getattr(query, name)!r}. Leave it out, or pass it to Query.")
    items = [f"{aggregate_text(aggregate)} AS {name_text(name)}" for name, aggregate in query.aggregates.items()]
    has_names = list(query.windows) != [window.kind for window in query.windows.values()]
    aliases = {name: f" AS {name_text(name)}" if has_names else "" for name in query.windows}
    listed = [window_text(window) + aliases[name] for name, window in query.windows.items()]
    bracket = f"PARTITION BY {', '.join(map(key_text, query.by))} " if query.by else ""
    bracket += ", ".join(listed)
    bracket += f" ON {name_text(query.time)}" if query.time is not None else ""
    bracket += f" ORDER BY {', '.join(map(name_text, query.order_by))}" if query.order_by else ""
    return f"SELECT {', '.join(items)} FROM input [{bracket}]"  # noqa: S608 — names are quoted, and nothing is executed


@cache
def name_text(name: str) -> str:
    """Return a name, in quotes if it needs them.

    >>> name_text("load"), name_text("my load"), name_text("select")
    ('load', '"my load"', '"select"')
    """
    is_word = re.fullmatch(r"[A-Za-z_]\w*", name) and name.upper() not in BRACKET_WORDS
    return name if is_word and _is_read_as_name(name) else quoted(name)


def _is_read_as_name(word: str) -> bool:
    """Return whether a word is a name wherever a text has one: `load` is a keyword and a name, but `date` is a type."""
    text = f"SELECT max({word}) AS {word} FROM input [PARTITION BY {word} ROWS 1 ON {word} ORDER BY {word}]"  # noqa: S608 — only parsed
    try:
        source = SourceText.parse(text)
    except SqlError:
        return False
    bracket = source.statement.args["from_"].this.args.get("bracket")
    if bracket is None or not isinstance(source.statement.expressions[0], exp.Alias):
        return False
    options = bracket.expressions[0].args["options"]
    inputs, keys = source.statement.expressions[0].this.expressions, bracket.args["partition_by"]
    clauses = [inputs, keys, [options.get("ON")], options.get("ORDER BY", [])]
    return all(len(nodes) == 1 and is_name(nodes[0]) and nodes[0].name == word for nodes in clauses)


def key_text(name: str) -> str:
    """Return a key: a column, or SQL."""
    source = source_of(name)
    if not isinstance(source, Expression):
        return name_text(name)
    if source.kind != SQL:
        raise _no_text(f"{source!r} is an expression of {source.kind}", "Use sash.expr.")
    return source.text


def _no_text(problem: str, advice: str) -> ValueError:
    return ValueError(f"{problem}, which has no SQL text. {advice}")


# -- windows -----------------------------------------------------------------------------------------------------------


def window_text(window: Window) -> str:
    """Return a window as brackets write it.

    >>> window_text(windows.time("1h", slide="10m", min_rows=2))
    'RANGE 1 HOUR SLIDE 10 MINUTE MIN ROWS 2'
    """
    call = _call_of(window)
    kind = call.func.id
    if kind not in WORDS:
        raise _no_text(f"{window!r} calls a function of yours", "Use another window.")
    parameters = [*inspect.signature(getattr(windows, kind)).parameters]
    arguments = dict(zip(parameters, map(ast.literal_eval, call.args), strict=False))
    arguments |= {str(keyword.arg): ast.literal_eval(keyword.value) for keyword in call.keywords}
    first = next(iter(arguments), "")
    options = [_option_text(name, value, is_first=name == first) for name, value in arguments.items()]
    return " ".join([WORDS[kind], *options])


def _option_text(name: str, value: Any, *, is_first: bool) -> str:
    """Return an argument of a window. The first one has no word, unless only its name tells what it is."""
    if name == "column":
        return name_text(value)
    fixed = {"tz": f"'{value}'", "exclude": EXCLUDES.get(value, ""), "closed": str(value), "empty": ""}
    if name in fixed:
        return f"{name.upper()} {fixed[name]}".strip()
    words = "" if name == "threshold" or (is_first and name in ("range", "gap")) else name.upper().replace("_", " ")
    return f"{words} {length_text(value)}".strip()


def length_text(value: Any) -> str:
    """Return a duration or a number.

    >>> length_text("24h"), length_text("1h30m"), length_text(10), length_text(None), length_text("-1h")
    ('24 HOUR', "'1h30m'", '10', 'UNBOUNDED', '-1 HOUR')
    """
    if value is None:
        return "UNBOUNDED"
    if not isinstance(value, str):
        return repr(value)
    match = re.fullmatch(r"(-?\d+)([a-z]+)", value)
    return f"{match[1]} {LONG_NAMES[match[2]][-2].upper()}" if match and match[2] in LONG_NAMES else f"'{value}'"


# -- aggregates --------------------------------------------------------------------------------------------------------


def aggregate_text(aggregate: Aggregate[Any]) -> str:
    """Return an aggregate as SQL calls it. Raise ValueError if SQL does not know it."""
    if not aggregate.is_built_in and plain(aggregate.name) not in REGISTERED:
        raise _no_text(f"{aggregate!r} is an aggregate of yours", "Register it: sash.register(…).")
    for expression in expressions_in(computed_in(aggregate.columns)):
        if expression.kind != SQL:
            raise _no_text(f"{expression!r} is an expression of {expression.kind}", "Use sash.expr.")
    return _call_text(_call_of(aggregate))


def _call_of(shown: Any) -> Any:
    """Return the syntax tree of the call that a window or an aggregate shows of itself. Raise ValueError if it shows a function."""
    try:
        return ast.parse(repr(shown), mode="eval").body
    except SyntaxError as error:
        raise _no_text(f"{shown!r} calls a function of yours", "Use a built-in one.") from error


def _call_text(call: Any) -> str:
    name = call.func.id
    if name == "expr":
        return str(ast.literal_eval(call.args[0]))
    if name in BY:  # the value that is compared comes last, as every engine has it
        name, call = BY[name], ast.Call(call.func, [*reversed(call.args)], call.keywords)
    known = BUILT_IN.get(SWAPPED.get(name, name))
    parameters = [] if known is None else [*inspect.signature(known).parameters.values()]
    arguments, where = [], ""
    for position, argument in enumerate(call.args):
        is_column = not parameters or "ColumnLike" in str(parameters[position].annotation)
        arguments.append(_value_text(argument, is_column=is_column))
    for keyword in call.keywords:
        if keyword.arg == "where":
            condition = keyword.value.args[0] if isinstance(keyword.value, ast.Call) else keyword.value
            where = f" FILTER (WHERE {ast.literal_eval(condition)})"
        else:
            arguments.append(f"{keyword.arg} => {_value_text(keyword.value, is_column=False)}")
    shown = ", ".join(arguments) or ("*" if name == "count" else "")
    return f"{name}({shown}){where}"


def _value_text(node: Any, *, is_column: bool) -> str:
    if isinstance(node, ast.Call):
        return _call_text(node)
    value = ast.literal_eval(node)
    if is_column:
        return name_text(value)
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(repr, value))}]"
    return "'" + value.replace("'", "''") + "'" if isinstance(value, str) else str(value)
