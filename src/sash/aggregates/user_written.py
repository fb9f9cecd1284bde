"""`sash.aggregate`: an aggregate of the user's own functions."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from sash.aggregates.base import ABSENT, Aggregate, Functions, P, unchanged
from sash.aggregates.parts import Laws, ResultRule


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

    Nulls and NaN: a row reaches `lift` only if none of its columns is null; NaN is a value.
    Result: the type that the functions return; if that is a date, a time or a duration of a column, the type of that column;
    null if the window has no values. Compiled integers have 64 bits.
    Errors: TypeError if `lift` takes any number of arguments and `inputs` is missing, or if an argument is not a function.

    >>> import pyarrow as pa
    >>> import sash
    >>> from sash import window
    >>> spread = sash.aggregate("spread", lift=lambda x: (x, x),
    ...                         combine=lambda older, newer: (min(older[0], newer[0]), max(older[1], newer[1])),
    ...                         lower=lambda c: c[1] - c[0], commutative=True)
    >>> rows = pa.table({"load": [3, 9, 4]})
    >>> sash.Query(spread("load"), window.rows(2)).run(rows)["spread"].to_pylist()
    [0, 6, 5]
    """
    functions = Functions(lift, combine, lower, inverse, identity)
    _check_functions(name, functions)
    exact = inverse is not None and inverse_is_exact
    laws = Laws(
        commutative=commutative, invertible=exact, selective=selective, holistic=holistic, fixed_size=fixed_size
    )
    columns = _count_parameters(name, lift) if inputs is None else inputs
    result = ResultRule(gives="number")
    return Aggregate(name=name, **functions._asdict(), inputs=columns, laws=laws, result=result)


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
