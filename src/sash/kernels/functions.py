"""Compiles the functions of an aggregate with the functions that they call, and fingerprints what they do."""

from __future__ import annotations

import hashlib
import reprlib
from collections.abc import Callable, Hashable, Iterator
from itertools import chain
from types import BuiltinFunctionType, CellType, CodeType, FunctionType, ModuleType
from typing import Any, cast

import numpy as np

from sash.aggregates.array_partials import as_number, from_array, to_array
from sash.aggregates.exponential import halved
from sash.columns.column_types import CannotCompileError


def first_line(error: Exception) -> str:
    """Return the first line of an error message that says something; Numba's messages have many."""
    lines = [line.strip() for line in str(error).splitlines()]
    telling = (line for line in lines if line and not line.startswith("Failed in nopython mode"))
    return next(telling, type(error).__name__)


def shown(value: object) -> str:
    """Return a value as text for a message: short, and also if it contains itself or its own repr fails.

    >>> shown({"a": 1})
    "{'a': 1}"
    """
    return _SHORT.repr(value)


_SHORT = reprlib.Repr()
_SHORT.maxother = _SHORT.maxstring = 100


def compile_function(function: Callable[..., Any]) -> Any:
    """Compile a function, and the Python functions that it calls with it, for machine code that calls it.

    An index outside an array raises IndexError, as in Python. What gets arrays divides by zero as NumPy does.
    """
    plain = _as_function(function)
    gets_arrays = any(value is to_array for value in globals_of(plain).values())
    return _compile(plain, "numpy" if gets_arrays else "python", {})


def fingerprint(*values: object) -> str:
    """Return a name for functions, source texts and constants that changes when their behaviour or a version changes.

    Raise CannotCompileError if a function uses a value that can't be compiled; `function_identity` reads these, too.

    >>> fingerprint(lambda x: x + 1) == fingerprint(lambda x: x + 2)
    False
    >>> fingerprint(lambda x: x + 1) == fingerprint(lambda x: x + 1)
    True
    """
    return _digest(values, _Tokens())


def fingerprint_any(*values: object) -> str:
    """Return a fingerprint of functions that may use any value.

    It changes with everything that is copied when a function is compiled or vectorised. Other values, such as a dict or a table, are read
    whenever the function runs, so only their types count: a fingerprint takes no time for large ones.

    >>> rates, factor = {"a": 1}, 2
    >>> before = fingerprint_any(lambda x: x * factor + rates["a"])
    >>> before == fingerprint_any(lambda x: x * factor + rates["a"])
    True
    """
    try:
        return _digest(values, _Tokens(any_value=True))
    except CannotCompileError:  # it is nested too deeply to be compiled or vectorised
        return ""


def _digest(values: tuple[object, ...], tokens: _Tokens) -> str:
    digest = hashlib.sha256()
    try:
        for token in chain.from_iterable(map(tokens.of, values)):
            digest.update(token.encode() if isinstance(token, str) else token)
            digest.update(b"\0")
    except RecursionError as error:
        raise CannotCompileError("it uses values that are nested too deeply.") from error
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
    raise CannotCompileError(f"{shown(function)} is not a Python function: there is no source to compile.")


_compiled: dict[tuple[str, str], Any] = {}
"""By fingerprint and error model: all kernels share the functions of an aggregate."""


def _compile(function: FunctionType, errors: str, done: dict[FunctionType, Any]) -> Any:
    """Compile a function with one of Numba's error models, which say what a division by zero gives."""
    if function in done:
        if done[function] is None:
            raise CannotCompileError(f"{function.__name__} calls itself, which the compiler can't inline.")
        return done[function]
    from sash.kernels.compile_entry import native  # noqa: PLC0415 — Numba takes 0.3 s, and most functions are only fingerprinted

    if function is halved:
        from sash.kernels import bit_intrinsics  # noqa: PLC0415 — it imports Numba

        return bit_intrinsics.halved
    if function in (as_number, from_array, to_array):
        from sash.kernels import array_partials  # noqa: F401, PLC0415 — it imports Numba, and tells it the compiled forms

        return function
    known_as = fingerprint(function), errors
    if known_as in _compiled:
        return _compiled[known_as]
    done[function] = None  # until it is compiled: detects recursion
    names = {name: _current_value(value, errors, done) for name, value in globals_of(function).items()}
    cells = tuple(CellType(_current_value(cell.cell_contents, errors, done)) for cell in function.__closure__ or ())
    names["__name__"] = __name__  # Numba looks up the module by this name, in other processes too
    copy = FunctionType(
        function.__code__, function.__globals__ | names, function.__name__, function.__defaults__, cells
    )
    done[function] = _compiled[known_as] = native(copy, boundscheck=True, error_model=errors)
    return done[function]


def _current_value(value: Any, errors: str, done: dict[FunctionType, Any]) -> Any:
    """Return the value of a name as it is now: Numba may compile later, when the name has another value."""
    if isinstance(value, FunctionType):
        return _compile(value, errors, done)
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

    def of(self, value: object) -> Iterator[str | bytes]:
        """Yield the tokens of a value."""
        if isinstance(value, FunctionType):
            yield from self._function(value)
        elif isinstance(value, CodeType):
            yield value.co_code.hex()
            yield repr((value.co_argcount, value.co_posonlyargcount, value.co_kwonlyargcount, value.co_flags))
            yield repr((value.co_names, value.co_varnames, value.co_freevars))
            yield from self.of(value.co_consts)
        elif isinstance(value, tuple) or (isinstance(value, list) and not self.any_value):  # lists are never copied
            yield f"{type(value).__name__} of {len(value)}"
            for item in value:
                yield from self.of(item)
        elif isinstance(value, np.ndarray) and not value.dtype.hasobject:
            yield f"{value.dtype} {value.shape}"
            yield value.tobytes()
        elif (token := _constant_token(value)) is not None:
            yield token
        elif self.any_value:
            yield f"a {type(value).__module__}.{type(value).__qualname__}"
        else:
            # The repr of another value may hide its behaviour, and then a different function's machine code would be reused.
            raise CannotCompileError(
                f"it uses {shown(value)}, a {type(value).__name__}: only functions, modules, numbers, strings and arrays compile."
            )

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
            yield from self._used(value, set(names_in(function.__code__)), set())

    def _used(self, value: object, names: set[str], around: set[int]) -> Iterator[str | bytes]:
        return self._module(value, names, around) if isinstance(value, ModuleType) else self.of(value)

    def _module(self, module: ModuleType, names: set[str], around: set[int]) -> Iterator[str | bytes]:
        """Yield tokens of what a function reads from a module; the version is enough for modules installed with Numba."""
        yield f"{module.__name__} {getattr(module, '__version__', '')}"
        if id(module) in around or module.__name__.partition(".")[0] in ("math", "cmath", "numpy", "numba"):
            return
        around.add(id(module))
        for name in sorted(names & set(vars(module))):
            yield name
            yield from self._used(vars(module)[name], names, around)


def _constant_token(value: object) -> str | None:
    if isinstance(value, type | BuiltinFunctionType):
        return f"{value.__module__}.{value.__qualname__}"
    if isinstance(value, np.ufunc):
        name = str(getattr(value, "__name__", ""))
        return f"numpy.{name} {np.__version__}" if getattr(np, name, None) is value else None
    if value is None or isinstance(value, bool | int | float | complex | str | bytes):
        return f"{type(value).__name__} {value!r}"
    return None
