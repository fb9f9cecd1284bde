"""Compiles functions of a module unchanged, with the functions that they call, and caches them on disk as kernels are."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from functools import cache
from types import FunctionType
from typing import Any

from sash.kernels.functions import fingerprint
from sash.kernels.machine_code import MachineFunction, load_module
from sash.kernels.read import parse_code

IMPORT = "from sash.kernels.compile_entry import native"


@cache
def compile_loop(function: Any) -> MachineFunction:
    """Return a function compiled, with the Python functions that it calls.

    >>> from sash.windows.by_column import find_near
    >>> compile_loop(find_near).__name__
    'find_near'
    """
    lines = ["from __future__ import annotations", "import numpy as np", IMPORT]
    lines += dict.fromkeys(_needed(function))
    text = ast.unparse(parse_code("\n".join(lines)))  # a comment or another layout does not compile it again
    return load_module(fingerprint(text), lambda: text).function(function.__name__)


def _needed(function: FunctionType) -> Iterator[str]:
    """Yield the source of the constants and functions that a function uses, dependencies first, then its own."""
    for name in function.__code__.co_names:
        value = function.__globals__.get(name)
        if isinstance(value, FunctionType):
            yield from _needed(value)
        elif isinstance(value, int | float):
            yield f"{name} = {value!r}"
    yield "@native\n" + inspect.getsource(function)
