"""The call of an aggregate in a text → an Aggregate.

    percentile_cont(0.9) WITHIN GROUP (ORDER BY load) FILTER (WHERE on)  ──►  quantile("load", 0.9, where="on")

The signature of the factory tells which arguments are columns, aggregates or values.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

from sqlglot import exp

from sash.aggregates import BUILT_IN
from sash.aggregates.base import Aggregate
from sash.expressions import Expression
from sash.hints import did_you_mean
from sash.language import aggregate_names as names
from sash.language.grammar import is_name
from sash.language.source_text import SourceText
from sash.language.sql_error import errors_at, fail

NULLS = (exp.IgnoreNulls, exp.RespectNulls)
AROUND = (exp.Filter, exp.WithinGroup, *NULLS)
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
    name = names.plain(called.name) if isinstance(called, exp.Anonymous) else ""
    return name in names.BY_NAME or name in names.REGISTERED


def is_call(node: Any) -> bool:
    """Return whether Sash evaluates a node: an aggregate, or a function with OVER."""
    return isinstance(node, exp.Window) or is_aggregate(node)


def calls_in(node: Any) -> Iterator[Any]:
    """Return what Sash evaluates in an expression, each with its FILTER and OVER."""
    return filter(is_call, node.dfs(prune=is_call))


def build(source: SourceText, node: Any, *, is_cql: bool = False) -> Aggregate[Any]:
    """Return the aggregate that a call stands for. Raise NodeError if it is not valid.

    In CQL, `ARGMAX(value, arg)` is that of the papers; everywhere else the value comes last, as in DuckDB and ClickHouse.
    """
    call = node.this if isinstance(node, exp.Window) else node
    function = innermost(call)
    if not is_aggregate(call):
        fail(function, names.unknown(getattr(function, "name", "") or source.of(function)))
    options = where_of(source, call)
    nulls = [inner for inner in function.expressions if isinstance(inner, NULLS)]  # first_value(load IGNORE NULLS)
    arguments = [inner.this if isinstance(inner, NULLS) else inner for inner in function.expressions]
    while call is not function:
        if isinstance(call, exp.WithinGroup):
            arguments.insert(0, _ordered_column(source, function, call))
        elif isinstance(call, NULLS):
            nulls.append(call)
        call = call.this
    for wrong in (node for node in nulls if isinstance(node, exp.RespectNulls)):
        fail(wrong, "Aggregates skip nulls. Leave RESPECT NULLS out.")
    if names.is_one_of(function.name, ["percentile_cont"]) and function is node:
        fail(function, f"{function.name} needs WITHIN GROUP (ORDER BY column).")
    if names.is_one_of(function.name, names.OF_CONDITION):
        return _count_if(source, function, arguments, options)
    if names.is_swapped(function.name, is_cql=is_cql):
        arguments = [*reversed(arguments[:2]), *arguments[2:]]
    return _call(source, function, arguments, options, is_cql=is_cql)


def where_of(source: SourceText, call: Any) -> dict[str, Any]:
    """Return the argument `where` of an aggregate: the condition after FILTER, if there is one."""
    while isinstance(call, AROUND):
        if isinstance(call, exp.Filter):
            for inner in calls_in(call.expression.this):
                fail(inner, "FILTER is evaluated for each row, so it has no aggregates.")
            return {"where": Expression(source.of(call.expression.this))}
        call = call.this
    return {}


def _count_if(source: SourceText, function: Any, arguments: list[Any], options: dict[str, Any]) -> Aggregate[Any]:
    """Return the number of rows that meet the condition in parentheses: null if it is never true or false, as in DuckDB."""
    if len(arguments) != 1 or isinstance(arguments[0], exp.Distinct | exp.Star):
        fail(function, f"{function.name} takes a condition, as in {function.name}(load > 5).")
    condition = input_of(source, arguments[0])
    text = source.quoted(condition) if isinstance(condition, str) else condition.text
    with errors_at(function):
        return BUILT_IN["sum"](Expression(f"CAST(({text}) AS BIGINT)"), **options)


def _ordered_column(source: SourceText, function: Any, within: Any) -> Any:
    """Return the column of WITHIN GROUP (ORDER BY column)."""
    if not names.is_one_of(function.name, names.WITHIN_GROUP):
        fail(function, f"WITHIN GROUP does not apply to {function.name}.")
    ordered = within.expression.expressions
    if len(ordered) != 1 or ordered[0].args.get("desc"):
        fail(within, "WITHIN GROUP takes one column in ascending order. Instead of DESC, use the quantile 1 - q.")
    source.nulls_first(ordered[0])  # either way, aggregates skip nulls
    return ordered[0].this


def _call(
    source: SourceText, node: Any, arguments: list[Any], options: dict[str, Any], *, is_cql: bool
) -> Aggregate[Any]:
    """Return the aggregate of a function and its arguments."""
    registered = names.REGISTERED.get(names.plain(node.name))
    if registered is not None:
        columns = [input_of(source, argument) for argument in arguments]
        with errors_at(node):
            return registered(*columns, **options)
    name = names.BY_NAME[names.plain(node.name)]
    if len(arguments) == 1 and isinstance(arguments[0], exp.Star):
        if name != "count":
            fail(arguments[0], f"{node.name}(*) is not valid; only COUNT(*) is. Name a column.")
        if any(arguments[0].args.values()):  # count(* EXCLUDE (load))
            fail(node, "COUNT(*) counts rows, so it takes no EXCEPT or REPLACE. Name a column to count its values.")
        arguments = []
    elif not arguments:
        hint = " COUNT(*) counts rows." if name == "count" else ""
        fail(node, f"{node.name}() needs a column, as in {node.name}(load).{hint}")
    if any(isinstance(argument, exp.Distinct) for argument in arguments):
        if name not in DISTINCT or arguments[0].args.get("on"):
            fail(arguments[0], f"{node.name}(DISTINCT …) is not supported.")
        name, arguments = DISTINCT[name], [*arguments[0].expressions, *arguments[1:]]
    named = _by_parameter(source, node, name, arguments, is_cql=is_cql)
    with errors_at(node):
        return BUILT_IN[name](**named, **options)


def _by_parameter(source: SourceText, node: Any, name: str, arguments: list[Any], *, is_cql: bool) -> dict[str, Any]:
    """Return the arguments of a built-in aggregate by the names of its parameters."""
    signature = inspect.signature(BUILT_IN[name])
    parameters = {name: parameter for name, parameter in signature.parameters.items() if name != "where"}
    free = [name for name, parameter in parameters.items() if parameter.kind is not parameter.KEYWORD_ONLY]
    named: dict[str, Any] = {}
    for argument in arguments:
        if isinstance(argument, exp.Kwarg | exp.PropertyEQ):
            value, parameter_name = argument.expression, argument.name.lower()
        elif free:
            value, parameter_name = argument, free.pop(0)
        else:
            fail(argument, f"{node.name} has too many arguments. It takes {', '.join(parameters)}.")
        if parameter_name not in parameters:
            fail(argument, f"{node.name} has no parameter {parameter_name}.{did_you_mean(parameter_name, parameters)}")
        if parameter_name in named:
            fail(argument, f"{node.name} got {parameter_name} twice.")
        annotation = str(parameters[parameter_name].annotation)
        if "ColumnLike" in annotation:
            named[parameter_name] = input_of(source, value)
        elif "Aggregate" in annotation:
            named[parameter_name] = build(source, value, is_cql=is_cql)
        else:
            named[parameter_name] = literal(value)
    return named


def input_of(source: SourceText, node: Any) -> str | Expression:
    """Return an input: the name of a column, or an expression."""
    if is_name(node):
        return str(node.name)
    for inner in calls_in(node):
        fail(inner, "An aggregate cannot be the input of another one.")
    if isinstance(node, exp.Order | exp.Limit | exp.Having | exp.HavingMax | exp.Alias | exp.Distinct | exp.Star):
        fail(node, "The input of an aggregate is a column or an expression. Rows are in the order of time.")
    check_collation(node, "inputs of aggregates")
    return Expression(source.of(node))


def check_collation(node: Any, where: str) -> None:
    """Raise NodeError if values would have a collation, which they lose when the engine passes them on.

    A comparison within the expression has its collation: `CASE WHEN name COLLATE nocase = 'a' THEN load END`.
    """
    for inner in node.dfs(prune=lambda inner: isinstance(inner, exp.Predicate)):
        if isinstance(inner, exp.Collate):
            problem = f"COLLATE does not apply to {where}: they are compared letter by letter."
            fail(inner, f"{problem} Use an expression, as in lower(name).")


def literal(node: Any) -> Any:
    """Return the value of a number, a string, a truth value or a list of them. Raise NodeError for other expressions."""
    if isinstance(node, exp.Literal):
        return node.name if node.is_string else number(node.name)
    if isinstance(node, exp.Neg) and isinstance(node.this, exp.Literal) and not node.this.is_string:
        return -number(node.this.name)
    if isinstance(node, exp.Boolean):
        return bool(node.this)
    if isinstance(node, exp.Order):
        fail(node, "Rows are in the order of time. Leave ORDER BY out.")
    is_list = isinstance(node, exp.Anonymous) and node.name.lower() in ("array", "list_value")
    if not is_list and not isinstance(node, exp.Array):
        fail(node, "Expected a number, a string, or a list of them.")
    return [literal(member) for member in node.expressions]


def number(text: str) -> int | float:
    """Return a number as Python writes it. Raise ArithmeticError for other texts.

    >>> number("10"), number("0.5"), number("1e3")
    (10, 0.5, 1000.0)
    """
    value = Decimal(text)
    return int(value) if text.lstrip("-").isdecimal() else float(value)
