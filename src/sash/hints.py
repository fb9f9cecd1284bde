"""Hints in error messages: the nearest valid name for a misspelt one, and Sash's name for a habit from another library."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from functools import wraps
from typing import ParamSpec, TypeVar

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")

MOST_NAMES = 20
"""The number of names that a message lists."""


def did_you_mean(name: str, valid: Iterable[str]) -> str:
    """Return a question with the nearest valid name, or "" if none is near.

    >>> did_you_mean("lod", ["load", "ts"]), did_you_mean("LOAD", ["load"]), did_you_mean("price", ["load", "ts"])
    (" Did you mean 'load'?", " Did you mean 'load'?", '')
    """
    by_lower_case = {one.lower(): one for one in valid}
    near = get_close_matches(name.lower(), by_lower_case, 1)
    return f" Did you mean {by_lower_case[near[0]]!r}?" if near else ""


def list_names(names: Iterable[str]) -> str:
    """Return names for a message: all, or the first few of many.

    >>> list_names(["ts", "load"]), list_names(map(str, range(100)))[-18:]
    ("'ts', 'load'", "'19' and 80 others")
    """
    listed = [repr(name) for name in names]
    more = f" and {len(listed) - MOST_NAMES} others" if len(listed) > MOST_NAMES else ""
    return ", ".join(listed[:MOST_NAMES]) + more


def counted(number: int, noun: str) -> str:
    """Return a number with its noun.

    >>> counted(1, "column"), counted(2, "column")
    ('1 column', '2 columns')
    """
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def no_attribute(module: str, name: str, valid: Iterable[str], habits: Mapping[str, str]) -> AttributeError:
    """Return the error for an attribute that a module does not have.

    `habits` maps names of other libraries to what a user of Sash writes instead.

    >>> no_attribute("sash.agg", "avg", ["max", "mean"], {"avg": "agg.mean"})
    AttributeError("sash.agg has no attribute 'avg'. Use agg.mean.")
    """
    hint = f" Use {habits[name]}." if name in habits else did_you_mean(name, valid)
    return AttributeError(f"{module} has no attribute {name!r}.{hint}", name=name)


def reject_unknown(
    unknown: Callable[[str, str], TypeError],
) -> Callable[[Callable[Parameters, Result]], Callable[Parameters, Result]]:
    """Return a decorator: a call with a parameter that does not exist raises what `unknown(function, parameter)` returns.

    Python would name the parameter, but not say what to write instead, or say that another one is missing.

    >>> @reject_unknown(lambda function, name: TypeError(f"{function} has no {name}="))
    ... def rows(range): ...
    >>> rows(length=3)
    Traceback (most recent call last):
      ...
    TypeError: rows has no length=
    """

    def decorate(function: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
        parameters = inspect.signature(function).parameters
        named = {name for name, parameter in parameters.items() if parameter.kind is not parameter.VAR_KEYWORD}

        @wraps(function)
        def checked(*arguments: Parameters.args, **options: Parameters.kwargs) -> Result:
            for name in options:
                if name not in named:
                    raise unknown(function.__name__, name)
            return function(*arguments, **options)

        return checked

    return decorate
