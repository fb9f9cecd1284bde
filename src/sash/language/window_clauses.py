"""The windows of a text → windows of Sash: brackets of CQL, table functions, `window(…)` in GROUP BY, and OVER."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from sqlglot import exp

from sash import windows
from sash.aggregates.base import Aggregate
from sash.durations import UNIT_NAMES
from sash.hints import did_you_mean
from sash.language.aggregate_calls import calls_in, literal, number
from sash.language.grammar import Amount, Bracket, BracketWindow, TableFunction, column_name
from sash.language.select_parts import SelectParts
from sash.language.source_text import SourceText
from sash.language.sql_error import errors_at, fail
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


PLACES = "Use one: FROM t [RANGE 1 HOUR ON ts], TABLE(TUMBLE(…)), GROUP BY window(ts, '1 hour'), or OVER (…)."


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


def needs_time(windows: Mapping[str, Window], aggregates: Mapping[str, Aggregate[Any]]) -> bool:
    """Return whether windows or aggregates need a time column."""
    readers = any(aggregate.time is not None for aggregate in aggregates.values())
    return readers or any(window.needs_time for window in windows.values())


def read_windows(parts: SelectParts) -> Clause:
    """Return the windows. Raise NodeError unless they are in one place."""
    table = parts.table
    over = [call for node in parts.results for call in calls_in(node) if isinstance(call, exp.Window)]
    functions = [node for node in parts.group if is_group_function(node)]
    places = [table] * (parts.bracket is not None) + [table] * isinstance(table, TableFunction) + functions + over[:1]
    if len(places) != 1:
        problem = "windows in several places" if places else "no window"
        fail(places[-1] if places else table, f"The query has {problem}. {PLACES}")
    if over:
        return over_clause(parts.source, over, parts.named_windows)
    if parts.bracket is not None:
        return of_bracket(parts.bracket)
    return of_group_function(functions[0]) if functions else of_table_function(table)


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


GROUP_FUNCTIONS: dict[str, Callable[..., Window]] = {
    "window": lambda size, slide=None, offset=None: windows.time(size, slide=slide or size, offset=offset),
    "session_window": windows.session,
}
"""Functions in GROUP BY, as in Spark: what follows the time column."""


def is_group_function(node: Any) -> bool:
    """Return whether a node is `window(…)` or `session_window(…)`."""
    return isinstance(node, exp.Anonymous) and node.name.lower() in GROUP_FUNCTIONS


def of_group_function(node: exp.Anonymous) -> Clause:
    """Return the clause of `window(ts, '1 hour', '1 minute')` in GROUP BY."""
    if not node.expressions:
        fail(node, f"{node.name} needs the time column, as in {node.name}(ts, '1 hour').")
    time, *lengths = node.expressions
    with errors_at(node):
        window = GROUP_FUNCTIONS[node.name.lower()](*map(length_of, lengths))
    return Clause({window.kind: window}, time=column_name(time))


OVER_PARTS = {"this", "partition_by", "order", "spec", "alias", "over"}


# -- OVER: all windows of a query have the same keys and order, so that one pass evaluates them ------------------------


class Over(NamedTuple):
    """One OVER: its keys, order and frame. A reference to a named window stands for its parts."""

    keys: tuple[Any, ...]
    order: tuple[Any, ...]
    frame: Any


def over_clause(source: SourceText, calls: list[Any], named: Mapping[str, Any]) -> Clause:
    """Return the windows of all calls with OVER. Raise NodeError if they differ in keys or order."""
    by_name: dict[str, Window] = {}
    of_call: dict[int, str] = {}
    first: Over | None = None
    for call in calls:
        over = _read(call, named)
        first = first or over
        same_keys = [*map(source.normal, over.keys)] == [*map(source.normal, first.keys)]
        if not same_keys or _columns(source, over) != _columns(source, first):
            fail(call, "All windows of a query must have the same PARTITION BY and ORDER BY.")
        with errors_at(call):
            window = _frame(call, over)
        name = next((name for name, known in by_name.items() if repr(known) == repr(window)), None)
        if name is None:
            name = call.alias if call.alias and not call.args.get("spec") else window.result_name
            while name in by_name:
                name += "_"
            by_name[name] = window
        of_call[id(call)] = name
    assert first is not None
    if len(by_name) == 1:  # results have no name of a window
        by_name = {window.kind: window for window in by_name.values()}
        of_call = dict.fromkeys(of_call, next(iter(by_name)))
    time, *ties = _columns(source, first) or (None,)
    return Clause(by_name, first.keys, time, tuple(column for column in ties if column), of_call)


def _read(node: Any, named: Mapping[str, Any], seen: tuple[str, ...] = ()) -> Over:
    others = [value for name, value in node.args.items() if name not in OVER_PARTS]
    if node.args.get("over", "OVER") not in ("OVER", None) or any(others):
        fail(node, "Only OVER (PARTITION BY … ORDER BY … frame) is supported.")
    order = node.args.get("order")
    keys = tuple(node.args.get("partition_by") or ())
    over = Over(keys, tuple(order.expressions if order else ()), node.args.get("spec"))
    name = node.args.get("alias")
    if name is None:
        return over
    called = name.name.lower()
    if called not in named or called in seen:
        fail(name, f"There is no window {name.name}.{did_you_mean(name.name, named)}")
    base = _read(named[called], named, (*seen, called))
    for part, own, named_part in zip(("PARTITION BY", "ORDER BY", "frame"), over, base, strict=True):
        if own and named_part:
            fail(name, f"The window {name.name} has its own {part}, which OVER cannot replace. Leave one of them out.")
    return Over(*(own or named_part for own, named_part in zip(over, base, strict=True)))


def _columns(source: SourceText, over: Over) -> tuple[str, ...]:
    """Return the columns of ORDER BY."""
    for ordered in over.order:
        if ordered.args.get("desc"):
            problem = "ORDER BY … DESC in a window is not supported: windows follow time."
            fail(ordered, f"{problem} Swap PRECEDING and FOLLOWING.")
        if source.nulls_first(ordered):
            problem = "NULLS FIRST in a window is not supported: a time must not be null, and columns that break"
            fail(ordered, f"{problem} its ties have nulls last. Leave it out, or write NULLS LAST.")
    return tuple(column_name(ordered.this) for ordered in over.order)


def _frame(call: Any, over: Over) -> Window:
    """Return the window of a frame. Without one it is that of SQL: up to the row and its ties if there is an order, else all rows."""
    spec = over.frame
    kind = "RANGE" if spec is None else str(spec.args["kind"]).upper()
    if kind == "GROUPS":
        fail(call, "GROUPS frames are not supported. Use ROWS or RANGE.")
    exclude = None if spec is None else spec.args.get("exclude")
    words = "" if exclude is None else exclude.name.upper()
    if words in ("TIES", "GROUP") and not over.order:
        fail(call, f"EXCLUDE {words} needs ORDER BY: without it, all rows of a window are ties.")
    options: dict[str, Any] = {"exclude": EXCLUDED[words]} if words else {}
    start: Length | None = None if spec is None else _bound(call, spec, "start")
    before = None if start is None else negated(start)
    after: Length | None = 0 if spec is None or not spec.args.get("end") else _bound(call, spec, "end")
    if not over.order and kind == "RANGE" and after == 0:
        after = None  # all rows are ties
    if kind == "ROWS" or (before, after) == (None, None):
        return windows.rows(before=before, after=after, **options)
    if len(over.order) != 1:  # ties would be rows that are equal in all of them, but those of Sash have the same time
        problem = f"RANGE needs one column in ORDER BY, not {len(over.order)}."
        fail(call, f"{problem} Use ROWS, as in ROWS UNBOUNDED PRECEDING.")
    if (before, after) == (None, 0):
        return windows.expanding(**options)
    return windows.time(before=before, after=after, **options)


def _bound(call: Any, spec: Any, side: str) -> Length | None:
    """Return where a frame begins or ends after the row; None if it has no bound."""
    value, direction = spec.args[side], str(spec.args.get(f"{side}_side") or "").upper()
    if value == "CURRENT ROW":
        return 0
    if value == "UNBOUNDED":
        if direction == ("FOLLOWING" if side == "start" else "PRECEDING"):
            fail(call, f"A frame cannot {side} with UNBOUNDED {direction}.")
        return None
    if not isinstance(value, exp.Expression) or direction not in ("PRECEDING", "FOLLOWING"):
        fail(call, "A frame is between bounds such as 3 PRECEDING, CURRENT ROW and UNBOUNDED FOLLOWING.")
    length = length_of(value)
    if str(length).startswith("-"):
        fail(value, "The distance of a frame must not be negative.")
    return negated(length) if direction == "PRECEDING" else length


def negated(length: Length) -> Length:
    """Return the opposite of a length.

    >>> negated("1h"), negated("-1h"), negated(3)
    ('-1h', '1h', -3)
    """
    if isinstance(length, str):
        return length[1:] if length.startswith("-") else f"-{length}"
    return -length
