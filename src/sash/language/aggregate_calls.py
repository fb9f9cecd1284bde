"""The call of an aggregate in a text → an Aggregate.

    percentile_cont(0.9) WITHIN GROUP (ORDER BY load) FILTER (WHERE on)  ──►  quantile("load", 0.9, where="on")

The signature of the factory tells which arguments are columns, aggregates or values.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Any

from sqlglot import exp

from sash.aggregates import BUILT_IN
from sash.aggregates.base import Aggregate
from sash.expressions import Expression
from sash.hints import did_you_mean
from sash.language.aggregate_names import (
    BY_NAME,
    KEEP_NULLS,
    REGISTERED,
    SWAPPED,
    WITHIN_GROUP,
    is_known,
    is_one_of,
    plain,
    unknown,
)
from sash.language.nodes import is_name
from sash.language.source_text import SourceText

AROUND = (exp.Filter, exp.WithinGroup, exp.IgnoreNulls, exp.RespectNulls)
"""What may follow the call of an aggregate, besides OVER."""
DISTINCT = {"count": "count_distinct", "collect": "collect_distinct", "min": "min", "max": "max"}
"""Aggregates of distinct values, by the aggregate that has DISTINCT."""


def innermost(node: Any) -> Any:
    """Return the function that FILTER, WITHIN GROUP, IGNORE NULLS and OVER belong to."""
    while isinstance(node, (*AROUND, exp.Window)):
        node = node.this
    return node


def is_aggregate(node: Any) -> bool:
    """Return whether a node calls an aggregate, with or without OVER."""
    called = innermost(node)
    return isinstance(called, exp.Anonymous) and is_known(called.name)


def is_call(node: Any) -> bool:
    """Return whether Sash evaluates a node: an aggregate, or a function with OVER."""
    return isinstance(node, exp.Window) or is_aggregate(node)


def calls_in(node: Any) -> Iterator[Any]:
    """Yield what Sash evaluates in an expression, each with its FILTER and OVER."""
    if is_call(node):
        yield node
    elif isinstance(node, exp.Expression):
        for one in node.iter_expressions():
            yield from calls_in(one)


def build(source: SourceText, node: Any) -> Aggregate[Any]:
    """Return the aggregate that a call stands for. Raise SqlError if it is not valid."""
    call = node.this if isinstance(node, exp.Window) else node
    function = innermost(call)
    if not is_aggregate(call):
        source.fail(function, unknown(getattr(function, "name", "") or source.of(function)))
    arguments = list(function.expressions)
    where, ignores_nulls = None, False
    while call is not function:
        if isinstance(call, exp.Filter):
            for inner in calls_in(call.expression.this):
                source.fail(inner, "FILTER is evaluated for each row, so it has no aggregates.")
            where = Expression(source.of(call.expression.this))
        elif isinstance(call, exp.WithinGroup):
            arguments.insert(0, _ordered_column(source, function, call))
        else:
            ignores_nulls = True
            _refuse_nulls(source, call)
        call = call.this
    for place, argument in enumerate(arguments):
        if isinstance(argument, exp.IgnoreNulls | exp.RespectNulls):  # first_value(load IGNORE NULLS)
            ignores_nulls = True
            _refuse_nulls(source, argument)
            arguments[place] = argument.this
    if is_one_of(function.name, KEEP_NULLS) and not ignores_nulls:
        own = KEEP_NULLS[next(name for name in KEEP_NULLS if is_one_of(function.name, [name]))]
        source.fail(
            function,
            f"{function.name} includes nulls in SQL, but aggregates of Sash skip them. Write {function.name}(x) IGNORE NULLS, or {own}(x).",
        )
    if is_one_of(function.name, ["percentile_cont"]) and function is node:
        source.fail(function, f"{function.name} needs WITHIN GROUP (ORDER BY column).")
    return _call(source, function, arguments, {} if where is None else {"where": where})


def _refuse_nulls(source: SourceText, node: Any) -> None:
    """Raise SqlError for RESPECT NULLS."""
    if isinstance(node, exp.RespectNulls):
        source.fail(node, "Aggregates skip nulls. Leave RESPECT NULLS out.")


def _ordered_column(source: SourceText, function: Any, within: Any) -> Any:
    """Return the column of WITHIN GROUP (ORDER BY column)."""
    if not is_one_of(function.name, WITHIN_GROUP):
        source.fail(function, f"WITHIN GROUP does not apply to {function.name}.")
    ordered = within.expression.expressions
    if len(ordered) != 1 or ordered[0].args.get("desc"):
        source.fail(
            within, "WITHIN GROUP takes one column in ascending order. Instead of DESC, use the quantile 1 - q."
        )
    source.nulls_first(ordered[0])  # either way, aggregates skip nulls
    return ordered[0].this


def _call(source: SourceText, node: Any, arguments: list[Any], given: dict[str, Any]) -> Aggregate[Any]:
    """Return the aggregate of a function and its arguments."""
    own = REGISTERED.get(plain(node.name))
    if own is not None:
        columns = [_column(source, one) for one in arguments]
        return _checked(source, node, lambda: own(*columns, **given))
    name = BY_NAME[plain(node.name)]
    if len(arguments) == 1 and isinstance(arguments[0], exp.Star):
        if name != "count":
            source.fail(arguments[0], f"{node.name}(*) is not valid; only COUNT(*) is. Name a column.")
        if any(arguments[0].args.values()):  # count(* EXCLUDE (load))
            source.fail(
                node, "COUNT(*) counts rows, so it takes no EXCEPT or REPLACE. Name a column to count its values."
            )
        arguments = []
    elif not arguments:
        source.fail(
            node,
            f"{node.name}() needs a column, as in {node.name}(load)."
            + (" COUNT(*) counts rows." if name == "count" else ""),
        )
    if any(isinstance(one, exp.Distinct) for one in arguments):
        if name not in DISTINCT or arguments[0].args.get("on"):
            source.fail(arguments[0], f"{node.name}(DISTINCT …) is not supported.")
        name, arguments = DISTINCT[name], [*arguments[0].expressions, *arguments[1:]]
    if is_one_of(node.name, SWAPPED):
        arguments = [*reversed(arguments[:2]), *arguments[2:]]
    named = _by_parameter(source, node, name, arguments)
    return _checked(source, node, lambda: BUILT_IN[name](**named, **given))


def _by_parameter(source: SourceText, node: Any, name: str, arguments: list[Any]) -> dict[str, Any]:
    """Return the arguments of a built-in aggregate by the names of its parameters."""
    parameters = {one.name: one for one in inspect.signature(BUILT_IN[name]).parameters.values() if one.name != "where"}
    free = [one.name for one in parameters.values() if one.kind is not inspect.Parameter.KEYWORD_ONLY]
    given: dict[str, Any] = {}
    for one in arguments:
        value, parameter = one, None
        if isinstance(one, exp.Kwarg | exp.PropertyEQ):
            value, parameter = one.expression, one.name.lower()
        elif free:
            parameter = free.pop(0)
        if parameter is None:
            source.fail(one, f"{node.name} has too many arguments. It takes {', '.join(parameters)}.")
        if parameter not in parameters:
            source.fail(one, f"{node.name} has no parameter {parameter}.{did_you_mean(parameter, parameters)}")
        if parameter in given:
            source.fail(one, f"{node.name} got {parameter} twice.")
        given[parameter] = _argument(source, value, str(parameters[parameter].annotation))
    return given


def _argument(source: SourceText, node: Any, annotation: str) -> Any:
    """Return an argument as its parameter takes it: a column, an aggregate, or a value."""
    if "ColumnLike" in annotation:
        return _column(source, node)
    return build(source, node) if "Aggregate" in annotation else literal(source, node)


def _checked(source: SourceText, node: Any, make: Callable[[], Aggregate[Any]]) -> Aggregate[Any]:
    """Return the aggregate. Raise SqlError with the message of the factory if its arguments are not valid."""
    try:
        return make()
    except (TypeError, ValueError, ArithmeticError) as error:
        source.fail(node, str(error))


def _column(source: SourceText, node: Any) -> str | Expression:
    """Return an input: the name of a column, or an expression."""
    if is_name(node):
        return str(node.name)
    for inner in calls_in(node):
        source.fail(inner, "An aggregate cannot be the input of another one.")
    if isinstance(node, exp.Order | exp.Limit | exp.Having | exp.HavingMax | exp.Alias | exp.Distinct | exp.Star):
        source.fail(node, "The input of an aggregate is a column or an expression. Rows are in the order of time.")
    check_collation(source, node, "inputs of aggregates")
    return Expression(source.of(node))


def check_collation(source: SourceText, node: Any, where: str) -> None:
    """Raise SqlError if values would have a collation, which they lose when the engine passes them on.

    A comparison within the expression has its collation: `CASE WHEN name COLLATE nocase = 'a' THEN load END`.
    """
    if isinstance(node, exp.Predicate):
        return
    if isinstance(node, exp.Collate):
        source.fail(
            node,
            f"COLLATE does not apply to {where}: they are compared letter by letter. Use an expression, as in lower(name).",
        )
    for one in node.iter_expressions():
        check_collation(source, one, where)


def literal(source: SourceText, node: Any) -> Any:
    """Return the value of a number, a string, a truth value or a list of them. Raise SqlError for other expressions."""
    if isinstance(node, exp.Literal):
        return node.name if node.is_string else number(node.name)
    if isinstance(node, exp.Neg) and isinstance(node.this, exp.Literal) and not node.this.is_string:
        return -number(node.this.name)
    if isinstance(node, exp.Boolean):
        return bool(node.this)
    is_list = isinstance(node, exp.Anonymous) and node.name.lower() in ("array", "list_value")
    if not is_list and not isinstance(node, exp.Array):
        source.fail(node, "Expected a number, a string, or a list of them.")
    return [literal(source, one) for one in node.expressions]


def number(text: str) -> int | float:
    """Return a number as Python writes it. Raise ArithmeticError if the text is none.

    >>> number("10"), number("0.5"), number("1e3")
    (10, 0.5, 1000.0)
    """
    value = Decimal(text)
    return int(value) if text.lstrip("-").isdecimal() else float(value)
