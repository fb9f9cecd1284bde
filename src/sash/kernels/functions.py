"""Compiles the functions of an aggregate with the functions that they call, and fingerprints what they do."""

from __future__ import annotations

import hashlib
import reprlib
from collections.abc import Callable, Hashable, Iterator
from types import BuiltinFunctionType, CellType, CodeType, FunctionType, ModuleType
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


def shown(value: object) -> str:
    """Return a value as text for a message: short, and also if it contains itself or its own repr fails.

    >>> shown({"a": 1})
    "{'a': 1}"
    """
    return _SHORT.repr(value)


_SHORT = reprlib.Repr()
_SHORT.maxother = _SHORT.maxstring = 100


def compile_function(function: Callable[..., Any]) -> Any:
    """Compile a function with Numba, and the Python functions that it calls with it."""
    return _compile(_as_function(function), {})


def fingerprint(*parts: object) -> str:
    """Return a name for functions, source texts and constants that changes when their behaviour or a version changes.

    Raise CannotCompileError if a function uses a value that can't be compiled; `function_identity` reads these, too.

    >>> fingerprint(lambda x: x + 1) == fingerprint(lambda x: x + 2)
    False
    >>> fingerprint(lambda x: x + 1) == fingerprint(lambda x: x + 1)
    True
    """
    return _digest(parts, _Tokens())


def fingerprint_any(*parts: object) -> str:
    """Return a fingerprint of functions that may use any value.

    It changes with everything that is copied when a function is compiled or vectorised. Other values, such as a dict or a table, are read
    whenever the function runs, so only their types count: a fingerprint takes no time for large ones.

    >>> rates, factor = {"a": 1}, 2
    >>> before = fingerprint_any(lambda x: x * factor + rates["a"])
    >>> before == fingerprint_any(lambda x: x * factor + rates["a"])
    True
    """
    try:
        return _digest(parts, _Tokens(any_value=True))
    except CannotCompileError:  # it is nested too deeply to be compiled or vectorised
        return ""


def _digest(parts: tuple[object, ...], tokens: _Tokens) -> str:
    digest = hashlib.sha256()
    try:
        for part in parts:
            for token in tokens.of(part):
                digest.update(token.encode() if isinstance(token, str) else token)
                digest.update(b"\0")
    except RecursionError as error:
        message = "it uses values that are nested too deeply."
        raise CannotCompileError(message) from error
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
    if isinstance(function, Hashable) and function in BY_VALUE:
        return cast(FunctionType, BY_VALUE[function])
    message = f"{shown(function)} is not a Python function: there is no source to compile."
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
    names = {name: _current_value(value, done) for name, value in globals_of(function).items()}
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


def globals_of(function: FunctionType) -> dict[str, Any]:
    """Return the global variables that a function may use, by name."""
    return {name: function.__globals__[name] for name in names_in(function.__code__) if name in function.__globals__}


def names_in(code: CodeType) -> Iterator[str]:
    """Yield the names of global variables and attributes in code, and in the functions that it defines."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from names_in(constant)


def cells_of(function: FunctionType) -> list[tuple[str, Any]]:
    """Return the values in the closure of a function, by name; None for a name that has no value yet."""
    values = []
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            values.append((name, cell.cell_contents))
        except ValueError:
            values.append((name, None))
    return values


class _Tokens:
    """Yields what a fingerprint consists of, and remembers the functions that it has visited."""

    def __init__(self, *, any_value: bool = False) -> None:
        self.any_value = any_value
        self.visited: dict[int, int] = {}
        """The numbers of functions, by identity."""

    def of(self, part: object) -> Iterator[str | bytes]:
        """Yield the tokens of a value."""
        if isinstance(part, FunctionType):
            yield from self._function(part)
        elif isinstance(part, CodeType):
            yield part.co_code.hex()
            yield repr((part.co_argcount, part.co_posonlyargcount, part.co_kwonlyargcount, part.co_flags))
            yield repr((part.co_names, part.co_varnames, part.co_freevars))
            yield from self.of(part.co_consts)
        elif isinstance(part, tuple) or (isinstance(part, list) and not self.any_value):  # lists are never copied
            yield f"{type(part).__name__} of {len(part)}"
            for item in part:
                yield from self.of(item)
        elif isinstance(part, np.ndarray) and not part.dtype.hasobject:
            yield f"{part.dtype} {part.shape}"
            yield part.tobytes()
        elif (token := _constant_token(part)) is not None:
            yield token
        elif self.any_value:
            yield f"a {type(part).__module__}.{type(part).__qualname__}"
        else:
            # The repr of another value may hide its behaviour, and then a different function's machine code would be reused.
            message = f"it uses {shown(part)}, a {type(part).__name__}: only functions, modules, numbers, strings and arrays compile."
            raise CannotCompileError(message)

    def _function(self, function: FunctionType) -> Iterator[str | bytes]:
        if id(function) in self.visited:
            yield f"function {self.visited[id(function)]} again"
            return
        self.visited[id(function)] = len(self.visited)
        yield from self.of((function.__code__, function.__defaults__))
        used = [*sorted((function.__kwdefaults__ or {}).items()), *cells_of(function)]
        used += sorted(globals_of(function).items())
        for name, value in used:
            yield name
            if isinstance(value, ModuleType):
                yield from self._module(value, set(names_in(function.__code__)), set())
            else:
                yield from self.of(value)

    def _module(self, module: ModuleType, names: set[str], around: set[int]) -> Iterator[str | bytes]:
        """Yield tokens of what a function reads from a module; the version is enough for modules installed with Numba."""
        yield f"{module.__name__} {getattr(module, '__version__', '')}"
        if id(module) in around or module.__name__.partition(".")[0] in ("math", "cmath", "numpy", "numba"):
            return
        around.add(id(module))
        for name in sorted(names & set(vars(module))):
            value = vars(module)[name]
            yield name
            yield from self._module(value, names, around) if isinstance(value, ModuleType) else self.of(value)


def _constant_token(part: object) -> str | None:
    if isinstance(part, type | BuiltinFunctionType):
        return f"{part.__module__}.{part.__qualname__}"
    if part is None or isinstance(part, bool | int | float | complex | str | bytes):
        return f"{type(part).__name__} {part!r}"
    return None
