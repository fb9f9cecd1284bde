"""Compiles functions of a module unchanged, with the functions that they call, and caches them on disk as kernels are."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from functools import cache
from types import FunctionType, ModuleType
from typing import Any

from sash.kernels.cache import load_module
from sash.kernels.functions import fingerprint
from sash.kernels.read import parse_code

IMPORT = "from sash.kernels.machine_code import compiled"


@cache
def compile_plain(*functions: FunctionType) -> ModuleType:
    """Return a module with these functions, and the Python functions that they call, compiled."""
    lines = ["from __future__ import annotations", "import numpy as np", IMPORT]
    lines += list(dict.fromkeys(line for function in functions for line in _needed(function)))
    text = ast.unparse(parse_code("\n".join(lines)))  # a comment or another layout does not compile it again
    return load_module(fingerprint(text), text, {})


def compile_loop(function: Any) -> Any:
    """Return one function compiled.

    >>> from sash.windows.by_column import find_near
    >>> compile_loop(find_near).__name__
    'find_near'
    """
    return getattr(compile_plain(function), function.__name__)


def _needed(function: FunctionType) -> Iterator[str]:
    """Yield the source of the constants and functions that a function uses, dependencies first, then its own."""
    for name in function.__code__.co_names:
        value = function.__globals__.get(name)
        if isinstance(value, FunctionType):
            yield from _needed(value)
        elif isinstance(value, int | float):
            yield f"{name} = {value!r}"
    yield "@compiled\n" + inspect.getsource(function)
