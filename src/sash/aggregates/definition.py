"""How factories define an aggregate, its variants and its columns, and how they check their parameters; `sash.aggregate`."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from numbers import Integral, Real
from typing import Any, TypeAlias

from sash.aggregates.array_partials import coding_of_arrays, with_arrays
from sash.aggregates.base import ABSENT, Aggregate, Functions, P, only_where, unchanged, with_fields
from sash.aggregates.naming import as_literal, not_a_name, shorten
from sash.aggregates.parts import Coding, Laws, ResultRule
from sash.aggregates.sql import SqlForm, SqlInput, SqlRule
from sash.expressions import ColumnLike, ComputedColumn, Condition, as_column, as_condition
from sash.hints import counted

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
    return () if where is None else (ComputedColumn.of(None, as_condition(name, where)),)


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


# -- aggregates of the user's own functions -----------------------------------------------------------------------------


TAKES = {"combine": ("older", "newer"), "lower": ("partial",), "inverse": ("combined", "older")}
"""The arguments of the functions of an aggregate, besides `lift`, which takes one for each column."""


def aggregate(
    name: str,
    lift: Callable[..., P],
    combine: Callable[[P, P], P],
    lower: Callable[[P], Any] = unchanged,
    *,
    inverse: Callable[[P, P], P] | None = None,
    inverse_is_exact: bool = False,
    identity: Any = ABSENT,
    inputs: int | None = None,
    commutative: bool = False,
    selective: bool = False,
    holistic: bool = False,
    fixed_size: bool = True,
    length: int | None = None,
) -> Aggregate[P]:
    """Define your own aggregate by three functions and the laws that hold for them.

    `name` is its name. `lift` turns the values of a row, one argument per column, into a partial. `combine(older, newer)` merges the
    partials of two adjacent row ranges; it must be associative and must not modify its arguments. `lower` turns the partial of a
    window into the result; without it the partial is the result. Call the aggregate with column names to use it in a query.

    Laws allow faster algorithms. Claim only those that hold; `sash.testing.check_laws` looks for a counter-example.
    `inverse(combine(older, newer), older)` returns `newer`; Sash uses it by itself only if `inverse_is_exact`, since subtracting
    floats leaves rounding errors. `identity` is the neutral partial. `commutative`: the order of arguments does not matter.
    `selective`: `combine` returns one of its arguments. `holistic`: partials grow without bound. `fixed_size=False`: partials
    differ in size. `inputs` is the number of columns, by default the number of parameters of `lift`.
    `length`: partials are NumPy arrays of so many numbers, integers or floats of 64 bits; booleans become 0 and 1. All
    functions get and return such arrays, and may change those that they get.

    Nulls and NaN: a row reaches `lift` only if none of its columns is null; NaN is a value.
    Result: the type that the functions return; if that is a date, a time or a duration of a column, the type of that column;
    null if the window has no values. Compiled integers have 64 bits.
    Errors: TypeError if `lift` takes any number of arguments and `inputs` is missing, or if an argument is not a function of the right
    number of arguments. ValueError if `length` is less than 1, or comes without `lower`; when the query runs, if a function
    returns an array of another length.

    >>> import pyarrow as pa
    >>> import sash
    >>> from sash import window
    >>> spread = sash.aggregate("spread", lift=lambda x: (x, x),
    ...                         combine=lambda older, newer: (min(older[0], newer[0]), max(older[1], newer[1])),
    ...                         lower=lambda c: c[1] - c[0], commutative=True)
    >>> rows = pa.table({"load": [3, 9, 4]})
    >>> sash.Query(spread("load"), window.rows(2)).run(rows)["spread"].to_pylist()
    [0, 6, 5]

    How many different remainders of 4 a window has:

    >>> import numpy as np
    >>> remainders = sash.aggregate("remainders", lift=lambda x: np.arange(4) == x % 4, combine=np.maximum,
    ...                             lower=lambda seen: seen.sum(), commutative=True, length=4)
    >>> sash.Query(remainders("load"), window.rows(3)).run(rows)["remainders"].to_pylist()
    [1, 2, 3]
    """
    functions = Functions(lift, combine, lower, inverse, identity)
    _check_functions(name, functions)
    exact = inverse is not None and inverse_is_exact
    laws = Laws(
        commutative=commutative, invertible=exact, selective=selective, holistic=holistic, fixed_size=fixed_size
    )
    columns = _count_parameters(name, lift) if inputs is None else inputs
    coding = Coding()
    if length is not None:
        require_count(f"aggregate {name!r}", "length", length)
        functions, coding = with_arrays(name, functions, int(length), columns), coding_of_arrays(length)
    result = ResultRule(gives="number")
    return Aggregate(name=name, **functions._asdict(), inputs=columns, laws=laws, result=result, coding=coding)


def _check_functions(name: Any, functions: Functions) -> None:
    """Raise TypeError if the name is not a string, or a function cannot be called."""
    if not isinstance(name, str):
        raise TypeError(
            f"aggregate got name={name!r}, which is not a string. Start with a name, as in "
            'sash.aggregate("spread", lift=…, combine=…).'
        )
    for parameter, function in functions._asdict().items():
        if parameter == "identity" or (parameter == "inverse" and function is None):
            continue
        if not callable(function):
            raise TypeError(f"aggregate {name!r} got {parameter}={function!r}, which is not a function.")
        if parameter in TAKES and not _takes(function, TAKES[parameter]):
            call = f"{parameter}({', '.join(TAKES[parameter])})"
            raise TypeError(
                f"aggregate {name!r}: {parameter} must take {counted(len(TAKES[parameter]), 'argument')}: {call}."
            )


def _takes(function: Callable[..., Any], arguments: Sequence[str]) -> bool:
    """Return whether a function can be called with so many arguments; True if it does not say what it takes.

    >>> _takes(max, ("older", "newer")), _takes(lambda older: older, ("older", "newer"))
    (True, False)
    """
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return True
    try:
        signature.bind(*arguments)
    except TypeError:
        return False
    return True


def _count_parameters(name: str, lift: Callable[..., Any]) -> int:
    """Return how many values `lift` needs: parameters without a default, and not the `self` of a method.

    >>> [_count_parameters("own", lift) for lift in (lambda x, y=1: x, "".join, float, max, slice(3).indices)]
    [1, 1, 1, 1, 1]
    """
    try:
        parameters = inspect.signature(lift).parameters.values()
    except ValueError:  # some builtins, such as max, do not say what they take
        return 1
    if any(parameter.kind is parameter.VAR_POSITIONAL for parameter in parameters):
        raise TypeError(f"lift of {name} takes any number of values. State how many columns it reads, as in inputs=2.")
    needed = len([each for each in parameters if each.default is each.empty and each.kind is not each.KEYWORD_ONLY])
    is_python = inspect.isfunction(lift) or inspect.ismethod(lift)
    return needed if is_python else max(needed, 1)  # float takes a value, although it has a default
