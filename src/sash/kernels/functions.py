"""The aggregate's own functions: compiled with what they call, and told apart by what they do."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from types import BuiltinFunctionType, CellType, CodeType, FunctionType, ModuleType
from typing import Any, cast

import numpy as np
from numba import njit


class CannotCompileError(Exception):
    """Why an aggregate runs interpreted, as a sentence for `explain()`."""


def compile_function(function: Callable[..., Any]) -> Any:
    """Compile a function with Numba, and the Python functions that it calls with it."""
    return _compile(_as_function(function), {})


def fingerprint(*parts: object) -> str:
    """Return a name for functions, source texts and constants that changes when what they do changes.

    >>> fingerprint(lambda x: x + 1) == fingerprint(lambda y: y + 1)
    False
    >>> fingerprint(lambda x: x + 1) == fingerprint(lambda x: x + 1)
    True
    """
    digest = hashlib.sha256()
    for part in parts:
        for token in _tokens(part, set()):
            digest.update(token.encode())
            digest.update(b"\0")
    return digest.hexdigest()[:20]


BY_VALUE: dict[object, Any] = {
    float: lambda x: float(x),  # noqa: PLW0108 — Numba compiles these by name only
    int: lambda x: int(x),  # noqa: PLW0108
    bool: lambda x: bool(x),  # noqa: PLW0108
    abs: lambda x: abs(x),  # noqa: PLW0108
    min: lambda one, other: min(one, other),  # noqa: PLW0108
    max: lambda one, other: max(one, other),  # noqa: PLW0108
}


def _as_function(function: Callable[..., Any]) -> FunctionType:
    if isinstance(function, FunctionType):
        return function
    if function in BY_VALUE:
        return cast(FunctionType, BY_VALUE[function])
    message = f"{function!r} is not a Python function, so there is no source to compile."
    raise CannotCompileError(message)


def _compile(function: FunctionType, done: dict[FunctionType, Any]) -> Any:
    if function in done:
        return done[function]
    called = {
        name: _compile(value, done) for name, value in _globals_of(function).items() if isinstance(value, FunctionType)
    }
    cells = tuple(
        CellType(_compile(cell.cell_contents, done)) if isinstance(cell.cell_contents, FunctionType) else cell
        for cell in function.__closure__ or ()
    )
    copy = FunctionType(
        function.__code__, {**function.__globals__, **called}, function.__name__, function.__defaults__, cells
    )
    done[function] = njit(copy)
    return done[function]


def _globals_of(function: FunctionType) -> dict[str, Any]:
    return {name: function.__globals__[name] for name in _names(function.__code__) if name in function.__globals__}


def _names(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)


def _tokens(part: object, seen: set[int]) -> Iterator[str]:
    if isinstance(part, FunctionType):
        yield from _function_tokens(part, seen)
    elif isinstance(part, CodeType):
        yield part.co_code.hex()
        yield repr((part.co_names, part.co_varnames, part.co_freevars))
        yield from _tokens(part.co_consts, seen)
    elif isinstance(part, tuple | list):
        yield f"{len(part)} items"
        for item in part:
            yield from _tokens(item, seen)
    else:
        yield _constant_token(part)


def _function_tokens(function: FunctionType, seen: set[int]) -> Iterator[str]:
    if id(function) in seen:
        return
    seen.add(id(function))
    yield from _tokens((function.__code__, function.__defaults__), seen)
    for cell in function.__closure__ or ():
        yield from _tokens(cell.cell_contents, seen)
    for name, value in sorted(_globals_of(function).items()):
        yield name
        yield from _tokens(value, seen)


def _constant_token(part: object) -> str:
    if isinstance(part, ModuleType):
        return f"{part.__name__} {getattr(part, '__version__', '')}"
    if isinstance(part, type | BuiltinFunctionType):
        return f"{part.__module__}.{part.__qualname__}"
    if isinstance(part, np.ndarray):
        return f"{part.dtype} {part.shape} {part.tobytes().hex()}"
    if part is None or isinstance(part, bool | int | float | complex | str | bytes):
        return f"{type(part).__name__} {part!r}"
    # The repr of anything else might hide what it does, and then another function's machine code would be taken for it.
    message = f"it uses {part!r}, a {type(part).__name__}: only functions, modules, numbers, strings and arrays can be."
    raise CannotCompileError(message)
