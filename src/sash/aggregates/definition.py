"""How factories define an aggregate, its variants and its columns, and how they check their parameters."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from numbers import Integral, Real
from typing import Any, TypeAlias

from sash.aggregates.base import Aggregate, Functions, only_where, with_fields
from sash.aggregates.naming import as_literal, not_a_name, shorten
from sash.aggregates.sql import SqlForm, SqlInput, SqlRule
from sash.expressions import ColumnLike, Computed, Condition, as_column, as_condition

Kinds: TypeAlias = tuple[str, ...]
Fields: TypeAlias = dict[str, Any]
"""Fields of an aggregate and its parts, by name."""

BOOLEANS: Kinds = ("bool",)
WHOLE: Kinds = ("int",)
INTEGERS: Kinds = ("int", "bool")
FLOATS: Kinds = ("float",)


def define(
    name: str,
    *columns: ColumnLike | None,
    functions: Functions | None = None,
    where: Condition | None = None,
    sql: Callable[[SqlInput], SqlForm | str] | None = None,
    variants: Mapping[Kinds, Fields] | None = None,
    **fields: Any,
) -> Aggregate[Any]:
    """Return the aggregate with these fields over the columns, or not bound to columns if all are None.

    `fields` are those of `Aggregate` and of its parts, `variants` those that differ for columns of some kinds. `where` is the
    condition that rows must fulfil, and `sql` makes the SQL form. Raise TypeError if a column is not named by a string.

    >>> total = define("total", None, functions=Functions(abs, max), variants={INTEGERS: {"commutative": True}})
    >>> total.inputs, total.columns, total.of_kind("bool").laws.commutative, total.of_kind("float").laws.commutative
    (1, (), True, False)
    """
    names = [as_column(column) for column in columns]
    _check_names(name, names, fields.get("constants", ()), fields.get("keywords", {}))
    inputs = len(names) + (fields.get("time") is not None)
    fields = fields if functions is None else functions._asdict() | fields
    plain: Aggregate[Any] = Aggregate(name=name, lift=fields["lift"], combine=fields["combine"], inputs=inputs)
    general = with_fields(plain, **fields)
    if sql is not None:
        general = replace(general, sql=SqlRule(sql, (general.lift, general.combine, general.lower)))
    forms = {kind: with_fields(general, **other) for kinds, other in (variants or {}).items() for kind in kinds}
    defined = with_fields(general, variants=forms)
    named = [column for column in names if column is not None]
    return only_where(defined(*named) if named or not names else defined, where)


def counted_columns(name: str, column: ColumnLike | None, where: Condition | None) -> tuple[ColumnLike, ...]:
    """Return the columns of an aggregate that counts rows if it has no column: with a filter, those where it is true.

    >>> counted_columns("count", None, None), counted_columns("count", None, "a > 1"), counted_columns("count", "a", "a > 1")
    ((), ('where a > 1',), ('a',))
    """
    if column is not None:
        return (column,)
    return () if where is None else (Computed.of(None, as_condition(name, where)),)


def _check_names(name: str, columns: Sequence[Any], constants: Sequence[Any], keywords: Mapping[str, Any]) -> None:
    for number, column in enumerate(columns):
        if column is not None and not isinstance(column, str):
            from sash.aggregates import BUILT_IN  # noqa: PLC0415 — it imports the factories, which import this module

            parameters = list(inspect.signature(BUILT_IN[name]).parameters)
            names = ["load" if argument == "column" else argument for argument in parameters[: len(columns)]]
            arguments = [as_literal(argument) for argument in (*names, *constants)]
            arguments += [f"{keyword}={as_literal(value)}" for keyword, value in keywords.items()]
            right_call = f"agg.{name}({', '.join(arguments)})"
            raise not_a_name(name, f"{parameters[number]}={shorten(column)}", right_call)


def compiled_only_by(algorithm: str) -> str:
    """Return why only one algorithm compiles an aggregate whose partials grow: it stores values instead.

    >>> compiled_only_by("order_statistics_tree")
    'its partials grow with the window, so only order_statistics_tree, which stores none, is compiled.'
    """
    return f"its partials grow with the window, so only {algorithm}, which stores none, is compiled."


def require_count(name: str, parameter: str, value: int) -> None:
    """Raise TypeError if a parameter that counts values is not an integer, ValueError if it is less than 1.

    >>> require_count("top_k", "k", 0)
    Traceback (most recent call last):
      ...
    ValueError: top_k got k=0, but k must be at least 1.
    """
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise TypeError(f"{name} got {parameter}={value!r}, but {parameter} must be an integer.")
    if value < 1:
        raise ValueError(f"{name} got {parameter}={value}, but {parameter} must be at least 1.")


def require_fraction(name: str, q: float) -> None:
    """Raise TypeError if q is not a number, ValueError if it is not between 0 and 1.

    >>> require_fraction("quantile", 1.5)
    Traceback (most recent call last):
      ...
    ValueError: quantile got q=1.5, but q must be between 0 (the smallest value) and 1 (the largest).
    """
    if isinstance(q, bool) or not isinstance(q, Real):
        raise TypeError(f"{name} got q={q!r}, but q must be a number between 0 and 1.")
    if not 0 <= q <= 1:
        raise ValueError(f"{name} got q={q}, but q must be between 0 (the smallest value) and 1 (the largest).")


def require_list(name: str, parameter: str, values: Any, *, at_least: int) -> list[Any]:
    """Return a parameter that is a list of numbers, with Python's own numbers in place of NumPy's.

    Raise TypeError if it is not a list of numbers, ValueError if it is too short.

    >>> require_list("quantile", "q", [], at_least=1)
    Traceback (most recent call last):
      ...
    ValueError: quantile got q=[], but q must have at least 1 number.
    """
    if isinstance(values, str | bytes | Mapping) or not hasattr(values, "__len__"):
        raise TypeError(f"{name} got {parameter}={shorten(values)}, but {parameter} must be a list of numbers.")
    numbers = list(values.tolist() if hasattr(values, "tolist") else values)
    for number in numbers:
        if isinstance(number, bool) or not isinstance(number, Real | Decimal):
            raise TypeError(
                f"{name} got {parameter} with {shorten(number)}, but {parameter} must be a list of numbers."
            )
    if len(numbers) < at_least:
        needed = f"at least {at_least} number{'s' * (at_least > 1)}"
        raise ValueError(f"{name} got {parameter}={shorten(values)}, but {parameter} must have {needed}.")
    return [number if type(number) in (int, float, Decimal) else float(number) for number in numbers]
