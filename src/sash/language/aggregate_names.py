"""Aggregates by the names that SQL and CQL use, and the call of one in a text → an Aggregate."""

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
from sash.language.source_text import SourceText

Factory = Callable[..., Aggregate[Any]]

SYNONYMS = {
    **dict.fromkeys(("avg", "average"), "mean"),
    **dict.fromkeys(("stddev_samp", "std", "stdev"), "stddev"),
    **dict.fromkeys(("var_samp", "var", "variance_samp"), "variance"),
    **dict.fromkeys(("stddev_population",), "stddev_pop"),
    **dict.fromkeys(("variance_pop",), "var_pop"),
    **dict.fromkeys(("covar_samp",), "covariance"),
    "corr": "correlation",
    **dict.fromkeys(("bool_and", "every"), "all"),
    **dict.fromkeys(("bool_or", "some"), "any"),
    **dict.fromkeys(("array_agg", "collect_list", "list"), "collect"),
    "collect_set": "collect_distinct",
    **dict.fromkeys(("string_agg", "listagg", "group_concat"), "concat"),
    **dict.fromkeys(("quantile_cont", "percentile"), "quantile"),
    **dict.fromkeys(("approx_percentile", "percentile_approx"), "approx_quantile"),
    "approx_distinct": "approx_count_distinct",
    "regr_slope": "slope",
    "regr_intercept": "intercept",
    "regr_r2": "r_squared",
}
"""Other names of aggregates with the same arguments."""
SWAPPED = {"max_by": "arg_max", "min_by": "arg_min"}
"""Other names of aggregates whose arguments come in the opposite order: `max_by(plug, load)` is `arg_max(load, plug)`."""
IN_ORDER = {"first_value": "first", "last_value": "last"}
"""SQL's names of aggregates that respect nulls unless the text says IGNORE NULLS."""
WITHIN = {"percentile_cont": "quantile", "median": "median", "mode": "mode"}
"""Aggregates over `WITHIN GROUP (ORDER BY column)`."""
REGISTERED: dict[str, Aggregate[Any]] = {}
"""Users' own aggregates, by name in lower case without underscores."""


def register(aggregate: Aggregate[Any], name: str | None = None) -> None:
    """Make an aggregate available by a name. Raise TypeError or ValueError if it is none, or if the name is taken."""
    if not isinstance(aggregate, Aggregate):
        message = f"register got {type(aggregate).__name__}. Pass what sash.aggregate returned."
        raise TypeError(message)
    called = _plain(name or aggregate.name)
    if called in BY_NAME:
        message = f"{name or aggregate.name!r} is the name of a built-in aggregate. Pass name= to register yours under another one."
        raise ValueError(message)
    REGISTERED[called] = aggregate


def _plain(name: str) -> str:
    return name.lower().replace("_", "")


BY_NAME: dict[str, tuple[str, bool]] = {
    **{_plain(name): (name, False) for name in BUILT_IN},
    **{_plain(name): (own, False) for name, own in (SYNONYMS | WITHIN | IN_ORDER).items()},
    **{_plain(name): (own, True) for name, own in SWAPPED.items()},
}
"""The built-in aggregate of each name, without case and underscores, and whether its arguments are swapped."""


def is_aggregate(node: Any) -> bool:
    """Return whether a node calls an aggregate."""
    return isinstance(node, exp.Anonymous) and (_plain(node.name) in BY_NAME or _plain(node.name) in REGISTERED)


def innermost(node: Any) -> Any:
    """Return the function that FILTER, WITHIN GROUP, IGNORE NULLS and OVER belong to."""
    while isinstance(node, exp.Filter | exp.WithinGroup | exp.IgnoreNulls | exp.RespectNulls | exp.Window):
        node = node.this
    return node


def aggregate_calls(node: Any) -> Iterator[Any]:
    """Yield the calls of aggregates in an expression, each with its FILTER and OVER."""
    if isinstance(node, exp.Window) or is_aggregate(innermost(node)):
        yield node
        return
    if isinstance(node, exp.Expression):
        for one in node.iter_expressions():
            yield from aggregate_calls(one)


def build(source: SourceText, node: Any, where: Expression | None = None) -> Aggregate[Any]:  # noqa: C901
    """Return the aggregate that a call stands for. Raise SqlError if it is not valid."""
    if isinstance(node, exp.Filter):
        return build(source, node.this, Expression(source.of(node.expression.this)))
    if isinstance(node, exp.IgnoreNulls):
        return build(source, node.this, where)
    if isinstance(node, exp.RespectNulls):
        source.fail(node, "Aggregates skip nulls. Leave RESPECT NULLS out.")
    ordered = None
    if isinstance(node, exp.WithinGroup):
        ordered, node = node.expression.expressions[0], node.this
    if not isinstance(node, exp.Anonymous):
        source.fail(node, "Expected an aggregate.")
    called = _plain(node.name)
    if called in ("rank", "denserank", "rownumber") and not node.expressions:
        source.fail(node, f"{node.name}() needs a column: rank(x) is the rank of the newest x in its window.")
    if not is_aggregate(node):
        source.fail(node, unknown(node.name))
    arguments = [(None, one) for one in node.expressions]
    if ordered is not None:
        if called not in map(_plain, WITHIN):
            source.fail(node, f"WITHIN GROUP does not apply to {node.name}.")
        if ordered.args.get("desc"):
            source.fail(ordered, "WITHIN GROUP (ORDER BY … DESC) is not supported. Use 1 - q, and leave DESC out.")
        arguments.insert(0, (None, ordered.this))
    return _call(source, node, called, arguments, where)


def unknown(name: str) -> str:
    """Return the message for a function that is no aggregate."""
    known = [*BUILT_IN, *SYNONYMS, *SWAPPED, *(one.name for one in REGISTERED.values())]
    return f"There is no aggregate {name}.{did_you_mean(name, known)}"


def _call(source: SourceText, node: Any, called: str, arguments: list[Any], where: Expression | None) -> Aggregate[Any]:  # noqa: C901
    if called in REGISTERED:
        columns = [_column(source, one) for _, one in arguments]
        own = REGISTERED[called]
        return _checked(source, node, lambda: own(*columns) if where is None else own(*columns, where=where))
    name, swapped = BY_NAME[called]
    arguments = [
        (one.name.lower(), one.expression) if isinstance(one, exp.Kwarg | exp.PropertyEQ) else (None, one)
        for _, one in arguments
    ]
    if swapped:
        arguments = [*reversed(arguments[:2]), *arguments[2:]]
    if len(arguments) == 1 and isinstance(arguments[0][1], exp.Star):
        if name != "count":
            source.fail(arguments[0][1], f"{node.name}(*) is not valid; only COUNT(*) is. Name a column.")
        arguments = []
    if len(arguments) == 1 and isinstance(arguments[0][1], exp.Distinct):
        distinct = {"count": "count_distinct", "collect": "collect_distinct", "min": "min", "max": "max"}
        if name not in distinct:
            source.fail(arguments[0][1], f"{node.name}(DISTINCT …) is not supported.")
        name, arguments = distinct[name], [(None, one) for one in arguments[0][1].expressions]
    factory = BUILT_IN[name]
    parameters = [one for one in inspect.signature(factory).parameters.values() if one.name != "where"]
    positional = [one for one in parameters if one.kind is not inspect.Parameter.KEYWORD_ONLY]
    if sum(named is None for named, _ in arguments) > len(positional):
        source.fail(node, f"{node.name} takes at most {len(positional)} argument(s), but got {len(arguments)}.")
    given: dict[str, Any] = {} if where is None else {"where": where}
    for (named, one), place in zip(arguments, [*positional, *[None] * len(arguments)], strict=False):
        names = {parameter.name: parameter for parameter in parameters}
        if named is not None and named not in names:
            source.fail(one, f"{node.name} has no parameter {named}.{did_you_mean(named, names)}")
        parameter = place if named is None else names[named]
        assert parameter is not None
        if "ColumnLike" in str(parameter.annotation):
            given[parameter.name] = _column(source, one)
        elif "Aggregate" in str(parameter.annotation):
            given[parameter.name] = build(source, one)
        else:
            given[parameter.name] = literal(source, one)
    return _checked(source, node, lambda: factory(**given))


def _checked(source: SourceText, node: Any, make: Callable[[], Aggregate[Any]]) -> Aggregate[Any]:
    """Return the aggregate. Raise SqlError with the message of the factory if its arguments are not valid."""
    try:
        return make()
    except (TypeError, ValueError) as error:
        source.fail(node, str(error))


def _column(source: SourceText, node: Any) -> str | Expression:
    """Return an input: the name of a column, or an expression."""
    if isinstance(node, exp.Column) and len(node.parts) == 1:
        return str(node.name)
    for inner in aggregate_calls(node):
        source.fail(inner, "An aggregate cannot be the input of another one.")
    return Expression(source.of(node))


def literal(source: SourceText, node: Any) -> Any:  # noqa: RET503
    """Return the value of a number, a string, a truth value or a list of them."""
    if isinstance(node, exp.Literal):
        return node.name if node.is_string else number(node.name)
    if isinstance(node, exp.Neg) and isinstance(node.this, exp.Literal) and not node.this.is_string:
        return -number(node.this.name)
    if isinstance(node, exp.Boolean):
        return bool(node.this)
    if isinstance(node, exp.Array) or (
        isinstance(node, exp.Anonymous) and node.name.lower() in ("array", "list_value")
    ):
        return [literal(source, one) for one in node.expressions]
    if isinstance(node, exp.Cast):
        return literal(source, node.this)
    source.fail(node, "Expected a number, a string, or a list of them.")


def number(text: str) -> int | float:
    """Return a number as Python writes it.

    >>> number("10"), number("0.5"), number("1e3")
    (10, 0.5, 1000.0)
    """
    value = Decimal(text)
    return int(value) if text.lstrip("-").isdigit() else float(value)
