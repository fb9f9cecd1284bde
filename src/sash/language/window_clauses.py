"""The windows of a text → windows of Sash: brackets of CQL, table functions, `window(…)` in GROUP BY, and frames of OVER."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from sqlglot import exp

from sash import windows
from sash.language.aggregate_names import literal, number
from sash.language.grammar import Amount, Bracket, BracketWindow, TableFunction, unit_of
from sash.language.source_text import SourceText
from sash.language.sql_error import SqlError
from sash.windows import Window

Length = str | int | float

BRACKET_OPTIONS = {
    "RANGE": ("BEFORE", "AFTER", "SLIDE", "OFFSET", "CLOSED", "TZ", "EXCLUDE", "EMPTY"),
    "ROWS": ("BEFORE", "AFTER", "SLIDE", "CLOSED", "EXCLUDE"),
    "TUMBLE": ("OFFSET", "CLOSED", "TZ", "EMPTY"),
    "SESSION": (),
    "PUNCTUATED": (),
    "DELTA": ("SLIDE",),
    "CUMULATE": ("STEP", "OFFSET", "TZ"),
    "EXPANDING": ("EXCLUDE",),
}
"""The options of each kind of window in a bracket, besides ON, WATTR and MIN ROWS."""


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


def column_name(source: SourceText, node: Any) -> str:  # noqa: RET503
    """Return the name of a column. Raise SqlError for other expressions."""
    if isinstance(node, exp.Column):
        return str(node.name)
    source.fail(node, "Expected the name of a column.")


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
        if name not in (*BRACKET_OPTIONS[kind], "MIN ROWS"):
            source.fail(value if isinstance(value, exp.Expression) else one, f"{name} does not apply to {kind}.")
    given = {key: _option(source, key, value) for key, value in options.items()}
    named = {OPTION_NAMES[key]: value for key, value in given.items()}
    this = one.this
    length = [] if this is None or isinstance(this, exp.Column) else [length_of(source, this)]
    calls: Mapping[str, Callable[[], Window]] = {
        "RANGE": lambda: windows.time(*length, **named),
        "ROWS": lambda: windows.rows(*length, **named),  # type: ignore[arg-type]
        "SESSION": lambda: windows.session(length_of(source, this), **named),
        "PUNCTUATED": lambda: windows.punctuated(column_name(source, this), **named),
        "DELTA": lambda: windows.delta(column_name(source, this), length_of(source, one.args["threshold"]), **named),  # type: ignore[arg-type]
        "TUMBLE": lambda: windows.tumbling(length_of(source, this), **named),
        "CUMULATE": lambda: windows.cumulative(length_of(source, this), **named),
        "EXPANDING": lambda: windows.expanding(**named),
    }
    return made(source, one, calls[kind])


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


# -- OVER --------------------------------------------------------------------------------------------------------------


def of_over(source: SourceText, node: exp.Window) -> tuple[Window, tuple[Any, ...], tuple[str, ...]]:
    """Return the window of OVER, its keys, and the columns of its order: the time first."""
    order = node.args.get("order")
    columns = []
    for one in order.expressions if order else ():
        if one.args.get("desc"):
            source.fail(
                one, "ORDER BY … DESC in a window is not supported: windows follow time. Swap PRECEDING and FOLLOWING."
            )
        columns.append(column_name(source, one.this))
    spec = node.args.get("spec")
    window = made(source, node, lambda: _frame(source, node, spec, ordered=bool(columns)))
    return window, tuple(node.args.get("partition_by") or ()), tuple(columns)


def _frame(source: SourceText, node: Any, spec: Any, *, ordered: bool) -> Window:
    if spec is None:
        return windows.expanding() if ordered else windows.rows(before=None, after=None)
    kind = str(spec.args["kind"]).upper()
    if kind == "GROUPS":
        source.fail(node, "GROUPS frames are not supported. Use ROWS or RANGE.")
    exclude = spec.args.get("exclude")
    options: dict[str, Any] = {"exclude": EXCLUDED[exclude.name.upper()]} if exclude is not None else {}
    before = _bound(source, spec, "start")
    after = _bound(source, spec, "end") if spec.args.get("end") else 0
    before = None if before is None else _negated(before)
    if kind == "ROWS":
        return windows.rows(before=before, after=after, **options)  # type: ignore[arg-type]
    if before is None and after == 0:
        return windows.expanding(**options)
    return windows.time(before=before, after=after, **options)


def _bound(source: SourceText, spec: Any, side: str) -> Length | None:
    """Return where a frame begins or ends after the row; None if it has no bound."""
    value, direction = spec.args[side], str(spec.args.get(f"{side}_side") or "").upper()
    if value == "CURRENT ROW":
        return 0
    if value == "UNBOUNDED":
        if direction == ("FOLLOWING" if side == "start" else "PRECEDING"):
            source.fail(spec, f"A frame cannot {side} with UNBOUNDED {direction}.")
        return None
    length = length_of(source, value)
    return _negated(length) if direction == "PRECEDING" else length


def _negated(length: Length) -> Length:
    """Return the opposite of a length.

    >>> _negated("1h"), _negated("-1h"), _negated(3)
    ('-1h', '1h', -3)
    """
    if isinstance(length, str):
        return length[1:] if length.startswith("-") else f"-{length}"
    return -length
