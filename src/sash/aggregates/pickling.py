"""Pickles functions that a factory defines inside itself, such as the `lower` of a quantile, which contains its fraction.

`pickle` finds functions by name and cannot find nested ones. They are pickled as a path to their code and the values of their closure:

    first_n(n=2).combine   →   module sash.aggregates.ends, code first_n → keep_oldest, closure (2,)
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from inspect import unwrap
from types import BuiltinFunctionType, CellType, CodeType, FunctionType
from typing import Any

PICKLED = "_picklable"
"""The attribute of a nested function that holds its picklable form. It says nothing about what the function does."""


@dataclass(frozen=True)
class NestedFunction:
    """A nested function of Sash; unpickling it gives the function itself."""

    function: FunctionType

    def __reduce__(self) -> tuple[Any, ...]:
        """Return the arguments of `restore`."""
        function = self.function
        cells = tuple(as_picklable(cell.cell_contents) for cell in function.__closure__ or ())
        return restore, (function.__module__, function.__qualname__, function.__code__.co_firstlineno, cells)


class Picklable:
    """An object whose attributes may be nested functions of Sash."""

    def __getstate__(self) -> dict[str, Any]:
        """Return the attributes in a form that can be pickled."""
        return {name: as_picklable(value) for name, value in vars(self).items()}


def as_picklable(value: Any) -> Any:
    """Return a value in a form that can be pickled; only nested functions of Sash change.

    >>> import pickle
    >>> from sash import agg
    >>> pickle.loads(pickle.dumps(as_picklable(agg.first_n(n=2).combine)))(("a",), ("b", "c"))
    ('a', 'b')
    """
    if isinstance(value, tuple):
        return tuple(map(as_picklable, value))
    if not isinstance(value, FunctionType) or "<locals>" not in value.__qualname__:
        return value
    if not value.__module__.startswith("sash."):
        return value  # a function of the user's own: pickle explains that it must be at the top of a module
    # One object per function, so that pickle sees when two fields hold the same one.
    known: NestedFunction = vars(value).setdefault(PICKLED, NestedFunction(value))
    return known


def is_own(function: Any) -> bool:
    """Return whether a function is Sash's, and those in its closure are not the user's.

    >>> from sash import agg
    >>> is_own(agg.max().combine), is_own(max), is_own(agg.first_n(n=2).combine)
    (True, False, True)
    """
    inner = (cell.cell_contents for cell in getattr(function, "__closure__", None) or ())
    foreign = (each for each in inner if callable(each) and not isinstance(each, type | BuiltinFunctionType))
    return str(getattr(function, "__module__", "")).startswith("sash.") and all(map(is_own, foreign))


def restore(module: str, qualname: str, line: int, cells: tuple[Any, ...]) -> FunctionType:
    """Return a nested function."""
    outer, *names = qualname.split(".<locals>.")
    namespace = vars(sys.modules[module])  # importing this module has imported the whole package
    code = unwrap(namespace[outer]).__code__  # a cached function wraps the one that has the code
    for name in names:
        inner = [constant for constant in code.co_consts if isinstance(constant, CodeType) and constant.co_name == name]
        code = next((constant for constant in inner if constant.co_firstlineno == line), inner[0])
    function = FunctionType(code, namespace, code.co_name, None, tuple(map(CellType, cells)))
    function.__qualname__ = qualname
    return function
