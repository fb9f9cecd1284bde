"""Compiles the functions of an aggregate with the functions that they call, and fingerprints what they do."""

from __future__ import annotations

import functools
import hashlib
import inspect
import re
from collections.abc import Callable, Iterator, Mapping
from types import BuiltinFunctionType, CellType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any, cast

import numpy as np

from sash.aggregates.exponential import halved


class CannotCompileError(Exception):
    """Why an aggregate is interpreted, as a sentence for `explain()`."""


def first_line(error: Exception) -> str:
    """Return the first line of an error message that says something; Numba's messages have many."""
    lines = [line.strip() for line in str(error).splitlines()]
    said = (line for line in lines if line and not line.startswith("Failed in nopython mode"))
    return next(said, type(error).__name__)


def compile_function(function: Callable[..., Any]) -> Any:
    """Compile a function with Numba, and the Python functions that it calls with it."""
    return _compile(_as_function(function), {})


class Seen(dict[int, int]):
    """The numbers of functions that were visited, by identity."""

    any_value = False


def fingerprint(*parts: object, any_value: bool = False) -> str:
    """Return a name for functions, source texts and constants that changes when their behaviour changes.

    With `any_value` functions may use values that can't be compiled, and the versions of modules don't matter.

    >>> fingerprint(lambda x: x + 1) == fingerprint(lambda x: x + 2)
    False
    >>> fingerprint(lambda x: x + 1) == fingerprint(lambda x: x + 1)
    True
    """
    digest = hashlib.sha256()
    seen = Seen()
    seen.any_value = any_value
    for part in parts:
        for token in _tokens(part, seen):
            digest.update(token.encode())
            digest.update(b"\0")
    return digest.hexdigest()[:20]


BY_VALUE: dict[object, Any] = {
    float: lambda x: float(x),  # noqa: PLW0108 — Numba compiles builtins only where they are called
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
    message = f"{function!r} is not a Python function: there is no source to compile."
    raise CannotCompileError(message)


_compiled: dict[str, Any] = {}
"""By fingerprint: all kernels share the functions of an aggregate."""


def _compile(function: FunctionType, done: dict[FunctionType, Any]) -> Any:
    if function in done:
        if done[function] is None:
            message = f"{function.__name__} calls itself, which the compiler can't inline."
            raise CannotCompileError(message)
        return done[function]
    from numba import njit  # noqa: PLC0415 — it takes 0.3 s, and most functions are only fingerprinted

    if function is halved:
        from sash.kernels import bit_intrinsics  # noqa: PLC0415 — it imports Numba

        return bit_intrinsics.halved
    known_as = fingerprint(function)
    if known_as in _compiled:
        return _compiled[known_as]
    done[function] = None  # until it is compiled: detects recursion
    names = {name: _current_value(value, done) for name, value in _globals_of(function).items()}
    cells = tuple(CellType(_current_value(cell.cell_contents, done)) for cell in function.__closure__ or ())
    copy = FunctionType(
        function.__code__,
        {
            **function.__globals__,
            **names,
            "__name__": __name__,
        },  # Numba looks up the module by this name, in other processes too
        function.__name__,
        function.__defaults__,
        cells,
    )
    done[function] = _compiled[known_as] = njit(copy)
    return done[function]


def _current_value(value: Any, done: dict[FunctionType, Any]) -> Any:
    """Return the value of a name as it is now: Numba may compile later, when the name has another value."""
    if isinstance(value, FunctionType):
        return _compile(value, done)
    return value.copy() if isinstance(value, np.ndarray) else value


def _globals_of(function: FunctionType) -> dict[str, Any]:
    return {name: function.__globals__[name] for name in _names(function.__code__) if name in function.__globals__}


def _names(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)


def _tokens(part: object, seen: Seen) -> Iterator[str]:
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
    elif seen.any_value:
        yield from _value_tokens(part, seen)
    else:
        yield _constant_token(part)


def _value_tokens(part: object, seen: Seen) -> Iterator[str]:
    """Yield tokens of a value that is never compiled; of an unknown value only its type."""
    if isinstance(part, set | frozenset):
        yield f"set {sorted(map(repr, part))}"
    elif isinstance(part, Mapping):
        for name in sorted(part, key=repr):
            yield repr(name)
            yield from _tokens(part[name], seen)
    elif isinstance(part, functools.partial):
        yield from _tokens((part.func, part.args, part.keywords), seen)
    elif isinstance(part, re.Pattern):
        yield f"pattern {part.pattern!r} {part.flags}"
    elif isinstance(part, MethodType):
        yield from _tokens(part.__func__, seen)
        yield from _object_tokens(part.__self__, seen)
    elif isinstance(wrapped := getattr(part, "__wrapped__", None), FunctionType):  # jitted, cached or decorated
        yield from _tokens(wrapped, seen)
    elif isinstance(call := inspect.getattr_static(type(part), "__call__", None), FunctionType):
        yield from _tokens(call, seen)
        yield from _object_tokens(part, seen)
    else:
        try:
            yield _constant_token(part)
        except CannotCompileError:
            yield f"a {type(part).__module__}.{type(part).__qualname__} {getattr(part, '__name__', '')}"


def _object_tokens(one: object, seen: Seen) -> Iterator[str]:
    """Yield tokens of an object or class whose method is called: the method may read any attribute and call any other method."""
    if id(one) in seen:
        yield f"object {seen[id(one)]} again"
        return
    seen[id(one)] = len(seen)
    kind = one if isinstance(one, type) else type(one)
    classes = [part for part in kind.__mro__ if part.__module__ not in ("abc", "builtins", "typing")]
    yield f"{kind.__module__}.{kind.__qualname__}"
    for part in [*classes, *([] if one is kind else [one])]:
        for name, value in sorted(getattr(part, "__dict__", {}).items()):
            if not name.startswith("__"):
                yield name
                yield from _tokens(value, seen)


def _function_tokens(function: FunctionType, seen: Seen) -> Iterator[str]:
    if id(function) in seen:
        yield f"function {seen[id(function)]} again"
        return
    seen[id(function)] = len(seen)
    yield from _tokens((function.__code__, function.__defaults__), seen)
    used = [(cell_name, cell.cell_contents) for cell_name, cell in _cells_of(function)]
    used += sorted(_globals_of(function).items())
    for name, value in used:
        yield name
        if isinstance(value, ModuleType):
            yield from _module_tokens(value, set(_names(function.__code__)), seen)
        else:
            yield from _tokens(value, seen)


def _cells_of(function: FunctionType) -> list[tuple[str, CellType]]:
    return list(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))


def _module_tokens(module: ModuleType, names: set[str], seen: Seen) -> Iterator[str]:
    """Yield tokens of what a function reads from a module; the version is enough for modules installed with Numba."""
    yield module.__name__ if seen.any_value else f"{module.__name__} {getattr(module, '__version__', '')}"
    if module.__name__.partition(".")[0] not in ("math", "cmath", "numpy", "numba"):
        for name in sorted(names & set(vars(module))):
            value = vars(module)[name]
            yield name
            yield from _module_tokens(value, names, seen) if isinstance(value, ModuleType) else _tokens(value, seen)


def _constant_token(part: object) -> str:
    if isinstance(part, type | BuiltinFunctionType):
        return f"{part.__module__}.{part.__qualname__}"
    if isinstance(part, np.ndarray):
        return f"{part.dtype} {part.shape} {part.tobytes().hex()}"
    if part is None or isinstance(part, bool | int | float | complex | str | bytes):
        return f"{type(part).__name__} {part!r}"
    # The repr of another value may hide its behaviour, and then a different function's machine code would be reused.
    message = (
        f"it uses {part!r}, a {type(part).__name__}: only functions, modules, numbers, strings and arrays compile."
    )
    raise CannotCompileError(message)
