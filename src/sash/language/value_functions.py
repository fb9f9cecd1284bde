"""Functions of SQL that return values of rows: lag, lead, row_number, rank, first_value, nth_value, array_agg, and first, last.

    lag(x, 2, 0) OVER (ORDER BY ts)    last(x) and count(*) over the row 2 before    ──►  CASE WHEN count = 0 THEN 0 ELSE last END
    first_value(x) OVER (…)            first({'v': x})                               ──►  first.v
    row_number() OVER (…)              count(*) over the rows up to the row

Aggregates of Sash skip nulls, while these functions keep them. A struct around a value is never null, so that a null in it is kept; SQL
over the results takes the value out again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from sqlglot import exp

from sash.aggregates import BUILT_IN
from sash.aggregates.base import Aggregate
from sash.aggregates.naming import result_name
from sash.expressions import Expression
from sash.language import aggregate_names as names
from sash.language.aggregate_calls import NULLS, build, innermost, input_of, is_aggregate, literal, where_of
from sash.language.grammar import is_name
from sash.language.source_text import SourceText
from sash.language.sql_error import errors_at, fail

DEPENDS_ON_TIES = ("arg_max", "arg_min", "mode", "approx_quantile")
"""Aggregates whose result depends on the order of rows only if values tie, for which SQL promises nothing."""
WITHOUT_FRAME = ("row_number", "rank", "lag", "lead")
"""Functions that have frames of their own."""
OF_FRAME = {"first_value": 1, "last_value": 1, "nth_value": 2, "first": 1, "last": 1}
"""Functions that return a value of the frame, and the number of their arguments."""
LISTS = ("array_agg", "list")
"""Functions that return all values of the frame: nulls, too, in DuckDB, but not in Spark."""
SPARK_LISTS = ("array_agg", "collect_list", "collect_set")
"""Functions that return an empty list on Spark if there are no values."""
SPARK_QUOTE = "`"


class ValueFrame(NamedTuple):
    """The rows that a function of its own frame reads, in the order of OVER."""

    before: int | None
    after: int | None
    exclude: Literal["group"] | None = None


@dataclass(frozen=True)
class Call:
    """What a call stands for: aggregates, and SQL over their results."""

    aggregates: tuple[Aggregate[Any], ...]
    name: str
    """The name of the result if the text has none."""
    over_results: Callable[[Sequence[str]], str] | None = None
    """Returns SQL over the columns of the aggregates; None if the column of the only one is the result."""


def is_value_function(node: Any) -> bool:
    """Return whether a node with OVER calls a function that has a frame of its own: `rank()`, but not `rank(x)` of Sash."""
    function = innermost(node)
    if not isinstance(function, exp.Anonymous) or not names.is_one_of(function.name, WITHOUT_FRAME):
        return False
    return bool(function.expressions) == names.is_one_of(function.name, ("lag", "lead"))


def own_frame(node: Any) -> ValueFrame | None:
    """Return the frame of a function that has its own; None for other functions. Raise NodeError if its arguments are not valid."""
    if not is_value_function(node):
        return None
    function = innermost(node)
    name = names.plain(function.name)
    if name == "rownumber":
        return ValueFrame(None, 0)
    if name == "rank":
        return ValueFrame(None, 0, "group")
    steps = _steps(function)
    if _ignores_nulls(node.this, function):
        if steps != 1:
            fail(function, f"{function.name} … IGNORE NULLS takes one row. Use last_n(x, {abs(steps) + 1}).")
        return ValueFrame(None, -1) if name == "lag" else ValueFrame(-1, None)
    return ValueFrame(steps, -steps) if name == "lag" else ValueFrame(-steps, steps)


def _steps(function: Any) -> int:
    """Return the second argument of lag and lead: how many rows away the value is."""
    if not 1 <= len(function.expressions) <= 3:  # noqa: PLR2004
        fail(
            function, f"{function.name} takes a value, a number of rows and a default, as in {function.name}(x, 1, 0)."
        )
    return (
        whole(function.expressions[1], f"The second argument of {function.name} is")
        if len(function.expressions) > 1
        else 1
    )


def whole(node: Any, what: str, at_least: int | None = None) -> int:
    """Return a whole number. Raise NodeError for other expressions."""
    is_number = isinstance(node.this if isinstance(node, exp.Neg) else node, exp.Literal)
    value = literal(node) if is_number else None
    if not isinstance(value, int) or (at_least is not None and value < at_least):
        fail(node, f"{what} a whole number{'' if at_least is None else f' of at least {at_least}'}, as in 2.")
    return value


def _ignores_nulls(node: Any, function: Any) -> bool:
    """Return whether a call says IGNORE NULLS, within its parentheses or after them."""
    found = [inner for inner in function.expressions if isinstance(inner, NULLS)]
    while node is not function:
        found += [node] if isinstance(node, NULLS) else []
        node = node.this
    return any(isinstance(inner, exp.IgnoreNulls) for inner in found)


def read_call(source: SourceText, node: Any, *, is_cql: bool, descending: bool) -> Call:
    """Return what a call stands for. Raise NodeError if it is not valid.

    In CQL, names are those of Sash, whose aggregates skip nulls. `descending` says that OVER has ORDER BY … DESC: the windows of Sash
    follow the ascending order, so that the first value is the last one.
    """
    function = innermost(node)
    name = function.name.lower() if isinstance(function, exp.Anonymous) else ""
    own_frame_call = isinstance(node, exp.Window) and is_value_function(node)
    if own_frame_call:
        return _value_of_row(source, node, function, descending=descending)
    keeps_nulls = names.is_one_of(name, [*OF_FRAME, *LISTS]) and not is_cql
    if names.is_one_of(name, names.KEEP_NULLS) or keeps_nulls or names.is_one_of(name, ["nth_value"]):
        return _values_of_frame(source, node, function, descending=descending)
    if names.is_one_of(name, names.NO_AGGREGATES):
        fail(function, names.unknown(name))
    if names.is_one_of(name, ["quantile"]) and not is_cql:
        fail(
            function,
            f"{function.name} is a value of the column in DuckDB. Write quantile_cont(x, q), which Sash evaluates.",
        )
    aggregate = build(source, node, is_cql=is_cql)
    if descending:
        _check_any_order(function, aggregate)
    if names.is_one_of(name, names.OF_CONDITION):
        on_spark = source.quote == SPARK_QUOTE
        return Call((aggregate,), "count_if", (lambda columns: f"coalesce({columns[0]}, 0)") if on_spark else None)
    if source.quote == SPARK_QUOTE and names.is_one_of(name, SPARK_LISTS):
        return Call((aggregate,), result_name(aggregate), lambda columns: f"coalesce({columns[0]}, array())")
    return Call((aggregate,), result_name(aggregate))


def _check_any_order(function: Any, aggregate: Aggregate[Any]) -> None:
    """Raise NodeError for an aggregate that depends on the order of rows."""
    forms = [aggregate, *aggregate.forms.variants.values()]
    if not any(form.laws.commutative for form in forms) and aggregate.name not in DEPENDS_ON_TIES:
        problem = f"{function.name} depends on the order of rows, and windows of Sash follow time"
        fail(function, f"{problem}. Leave DESC out, and swap PRECEDING and FOLLOWING.")


def _value_of_row(source: SourceText, node: Any, function: Any, *, descending: bool) -> Call:
    """Return row_number, rank, lag or lead. Their frames have one row, or skip nulls, so that a null in it needs no struct."""
    name = names.plain(function.name)
    where = where_of(source, node.this)
    if where:
        fail(function, f"FILTER does not apply to {function.name}.")
    count = BUILT_IN["count"]()
    if name == "rownumber":
        return Call((count,), "row_number")
    if name == "rank":
        return Call((count,), "rank", lambda columns: f"{columns[0]} + 1")
    argument = function.expressions[0]
    column = input_of(source, argument.this if isinstance(argument, NULLS) else argument)
    with errors_at(function):
        value = BUILT_IN["last" if (name == "lag") != descending else "first"](column)
    own_name = f"{name}_{argument.name}" if is_name(argument) else name
    if len(function.expressions) <= 2:  # noqa: PLR2004
        return Call((value,), own_name)
    default = source.of(function.expressions[2])
    return Call(
        (value, count), own_name, lambda columns: f"CASE WHEN {columns[1]} = 0 THEN {default} ELSE {columns[0]} END"
    )


def _values_of_frame(source: SourceText, node: Any, function: Any, *, descending: bool) -> Call:
    """Return a function that keeps nulls, unless it says IGNORE NULLS: the first or last value, the n-th one, or all."""
    name = names.plain(function.name)
    arguments = [inner.this if isinstance(inner, NULLS) else inner for inner in function.expressions]
    call = node.this if isinstance(node, exp.Window) else node
    on_spark = source.quote == SPARK_QUOTE
    skips = _ignores_nulls(call, function)
    if name in ("first", "last", "firstvalue", "lastvalue") and isinstance((arguments or [None])[-1], exp.Boolean):
        skips = skips or bool(arguments.pop().this)  # Spark's first(x, true)
    for inner in arguments:
        if isinstance(inner, exp.Distinct) and name in map(names.plain, LISTS):
            fail(inner, f"{function.name} has no DISTINCT here. Use collect_distinct(x), which skips nulls.")
        if isinstance(inner, exp.Distinct | exp.Star | exp.Order):
            fail(inner, f"{function.name} takes a column or an expression. Rows are in the order of time.")
    needed = {"nthvalue": 2}.get(name, 1)
    if len(arguments) != needed:
        fail(
            function,
            f"{function.name} takes {needed} argument{'s' * (needed > 1)}, as in {function.name}(x{', 2' * (needed > 1)}).",
        )
    column = input_of(source, arguments[0])
    is_list = name in map(names.plain, LISTS)
    skips = skips or (is_list and on_spark)
    where = where_of(source, call)
    made = column if skips else _struct_of(source, column)
    constants: list[Any] = []
    if name == "nthvalue":
        constants.append(whole(arguments[1], f"The second argument of {function.name} is", at_least=1))
    built_in = _built_in(name, descending=descending)
    with errors_at(function):
        aggregate = BUILT_IN[built_in](made, *constants, **where)
    own_name = f"{function.name.lower()}_{arguments[0].name}" if is_name(arguments[0]) else function.name.lower()
    return Call((aggregate,), own_name, _taker(name, constants, skips=skips, on_spark=on_spark, descending=descending))


def _built_in(name: str, *, descending: bool) -> str:
    """Return the aggregate of a function, over rows in ascending order."""
    if name == "nthvalue":
        return "last_n" if descending else "first_n"
    if name in map(names.plain, LISTS):
        return "collect"
    return "first" if name.startswith("first") != descending else "last"


def _struct_of(source: SourceText, column: str | Expression) -> Expression:
    """Return SQL for a struct with a value: it is not null if the value is."""
    text = source.quoted(column) if isinstance(column, str) else f"({column.text})"
    return Expression(f"named_struct('v', {text})" if source.quote == SPARK_QUOTE else f"{{'v': {text}}}")


def _taker(
    name: str, constants: list[Any], *, skips: bool, on_spark: bool, descending: bool
) -> Callable[[Sequence[str]], str] | None:
    """Return what takes the values out of the result of the aggregate; None if it is the result."""

    def take(columns: Sequence[str]) -> str:
        text = columns[0]
        if name == "nthvalue":
            place = constants[0]
            enough = f"{'size' if on_spark else 'len'}({text}) >= {place}"
            last = (
                place if not descending else 1
            )  # lists of the last values begin with the one that is the farthest away
            text = f"CASE WHEN {enough} THEN ({text})[{last - 1 if on_spark else last}] END"
        elif name in map(names.plain, LISTS):
            if on_spark:
                text = f"coalesce({'reverse' * descending}({text}), array())"
            else:
                text = text if skips else f"[e.v FOR e IN {text}]"
                text = f"list_reverse({text})" if descending else text
            return text
        return text if skips else f"({text}).v"

    is_plain = skips and name != "nthvalue" and not (name in map(names.plain, LISTS) and (on_spark or descending))
    return None if is_plain else take


def calls_value(node: Any) -> bool:
    """Return whether a node calls an aggregate or one of these functions without OVER."""
    function = innermost(node)
    named = isinstance(function, exp.Anonymous) and names.is_one_of(function.name, OF_FRAME)
    return named or is_aggregate(node)
