"""The windows of a text → windows of Sash: brackets of CQL and table functions; functions in GROUP BY and OVER have modules of their own."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from sqlglot import exp

from sash import windows
from sash.language.aggregate_calls import calls_in, literal
from sash.language.clause import EXCLUDED, Clause, Length, length_of
from sash.language.grammar import Amount, Bracket, BracketWindow, TableFunction, column_name
from sash.language.group_functions import group_functions, of_group_function
from sash.language.over_clause import over_clauses
from sash.language.select_parts import SelectParts
from sash.language.sql_error import errors_at, fail
from sash.windows import Window

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
PLACES = "Use one: FROM t [RANGE 1 HOUR ON ts], TABLE(TUMBLE(…)), GROUP BY window(ts, '1 hour') or date_trunc('hour', ts), or OVER (…)."
SUBQUERY = "Put the inner ones into a subquery: SELECT max(n) OVER (…) FROM (SELECT count(*) AS n FROM t [RANGE 1 HOUR ON ts])."


def read_windows(parts: SelectParts) -> list[Clause]:
    """Return the windows: of OVER, one clause for each PARTITION BY and ORDER BY. Raise NodeError unless they are in one place."""
    table = parts.table
    over = [call for node in parts.results for call in calls_in(node) if isinstance(call, exp.Window)]
    functions = group_functions(parts.group)
    places = [table] * (parts.bracket is not None) + [table] * isinstance(table, TableFunction) + functions + over[:1]
    if len(places) != 1:
        problem = f"windows in several places. {SUBQUERY}" if places else f"no window. {PLACES}"
        fail(places[-1] if places else table, f"The query has {problem}")
    if over:
        return over_clauses(parts.source, over, parts.named_windows)
    if parts.bracket is not None:
        return [of_bracket(parts.bracket)]
    return [of_group_function(functions[0]) if functions else of_table_function(table)]


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
    if words in ("MIN ROWS", "EMPTY"):
        return literal(value)
    if words == "EXCLUDE":
        return EXCLUDED[value.name.upper()]
    return value.name.lower() if words == "CLOSED" else value.name


# -- table functions ---------------------------------------------------------------------------------------------------

TABLE_FUNCTIONS: dict[str, tuple[Callable[..., Window], dict[str, str]]] = {
    "TUMBLE": (windows.tumbling, {"size": "range", "offset": "offset"}),
    "HOP": (windows.time, {"slide": "slide", "size": "range", "offset": "offset"}),
    "CUMULATE": (windows.cumulative, {"step": "step", "size": "range", "offset": "offset"}),
    "SESSION": (windows.session, {"gap": "gap"}),
}
"""The window of each table function, and its durations in their order: the parameters of the window by the names of the durations."""


def of_table_function(node: TableFunction) -> Clause:
    """Return the clause of a table function."""
    kind = node.args["kind"]
    make, parameters = TABLE_FUNCTIONS[kind]
    names = [*parameters]
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
        window = make(**{parameters[name]: length for name, length in lengths.items()})
    return Clause({window.kind: window}, _partition_by(node), column_name(node.args["time"]))
