"""Identifies functions across processes: a hash that changes when their behaviour changes, and stays when only the process does.

A checkpoint stores it. It covers code, constants, defaults, closures, global variables, and the functions and classes that are used.
Code of the standard library and of installed packages is named rather than read: it may hold the history of a process, as the
cache of `re` does, and a new version of a package is not a new query. The package that the function itself belongs to is read.
"""

from __future__ import annotations

import copyreg
import functools
import hashlib
import re
import site
import sys
import sysconfig
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import (
    BuiltinFunctionType,
    CodeType,
    FunctionType,
    GetSetDescriptorType,
    MemberDescriptorType,
    MethodType,
    ModuleType,
)
from typing import Any

import numpy as np

from sash.kernels.functions import cells_of, globals_of, names_in

LIBRARIES = frozenset({"builtins", "py4j", "pyspark", "sash"})
"""Packages that are libraries wherever they lie; a cluster may have PySpark in a zip file."""
PLAIN = (bool, int, float, complex, str, bytes, type(None))
LOCKS = "_thread"
"""The module of values without content."""


class UnknownContentError(Exception):
    """Why a function cannot be identified: which value it uses whose content cannot be read."""


def identify(*parts: object, exact: bool = False) -> str:
    """Return a name for functions and values that is the same in other processes.

    Of a value that cannot be pickled only its type counts, unless it must be `exact`: then UnknownContentError is raised.

    >>> identify(lambda x: x + 1) == identify(lambda x: x + 2)
    False
    >>> identify({"a": 1}.get) == identify({"a": 2}.get)
    False
    """
    own = {_package(_undecorated(part)) for part in parts} - sys.stdlib_module_names
    try:
        return _digest(parts, _Visitor(own, exact=exact))
    except RecursionError:  # a function of a large library, such as pandas.to_datetime, which is better named
        return _digest(parts, _Visitor(set(), exact=exact))


def _digest(parts: tuple[object, ...], visitor: _Visitor) -> str:
    digest = hashlib.sha256()
    for part in parts:
        for token in visitor.tokens(part):
            digest.update(token.encode())
            digest.update(b"\0")
    return digest.hexdigest()[:20]


class _Visitor:
    """Yields tokens of values, and remembers what it has visited."""

    def __init__(self, own: set[str], *, exact: bool) -> None:
        self.exact = exact
        self.own = own
        """Packages that are read although they are installed."""
        self.visited: dict[int, int] = {}
        """The numbers of functions, classes and objects, by identity."""
        self.alive: list[object] = []
        """What was visited, as the address of an object that is gone may be used again."""
        self.readers: list[tuple[Any, Callable[[Any], Iterator[str]]]] = [
            (FunctionType, self._function),
            (CodeType, self._code),
            ((tuple, list), self._items),
            ((set, frozenset), self._set),
            (Mapping, self._mapping),
            (functools.partial, lambda part: self.tokens((part.func, part.args, part.keywords))),
            (MethodType, lambda part: self.tokens((part.__func__, part.__self__))),
            (type, self._class),
            (ModuleType, lambda part: iter([part.__name__])),
            (BuiltinFunctionType, self._builtin),
            (np.ndarray, self._array),
            (PLAIN, lambda part: iter([f"{type(part).__name__} {part!r}"])),
            (re.Pattern, lambda part: iter([f"pattern {part.pattern!r} {part.flags}"])),
        ]

    def tokens(self, part: object) -> Iterator[str]:
        """Yield the tokens of a value."""
        for types, read in self.readers:
            if isinstance(part, types):
                return read(part)
        return self._object(part)

    def _is_new(self, part: object) -> bool:
        if id(part) in self.visited:
            return False
        self.visited[id(part)] = len(self.visited)
        self.alive.append(part)
        return True

    def _is_named(self, module: str | None) -> bool:
        """Return whether code of a module is named rather than read."""
        package = (module or "").partition(".")[0]
        return package not in self.own and is_library(package)

    # -- functions and classes ---------------------------------------------------------------------------------------

    def _function(self, function: FunctionType) -> Iterator[str]:
        if self._is_named(function.__module__):
            yield f"{function.__module__}.{function.__qualname__}"
            return
        if not self._is_new(function):
            yield f"function {self.visited[id(function)]} again"
            return
        yield from self.tokens((function.__code__, function.__defaults__))
        if function.__kwdefaults__:
            yield from self.tokens(function.__kwdefaults__)
        used: list[tuple[str, Any]] = []
        for name, cell in cells_of(function):
            try:
                used.append((name, cell.cell_contents))
            except ValueError:  # a name that has no value yet
                used.append((name, None))
        used += sorted(globals_of(function).items(), key=lambda item: item[0])
        names = set(names_in(function.__code__))
        for name, value in used:
            yield name
            yield from self._module(value, names) if isinstance(value, ModuleType) else self.tokens(value)

    def _code(self, code: CodeType) -> Iterator[str]:
        yield code.co_code.hex()
        yield repr((code.co_names, code.co_varnames, code.co_freevars))
        yield from self.tokens(code.co_consts)

    def _module(self, module: ModuleType, names: set[str]) -> Iterator[str]:
        """Yield tokens of what a function reads from a module."""
        yield module.__name__
        if self._is_named(module.__name__):
            return
        for name in sorted(names & set(vars(module))):
            value = vars(module)[name]
            yield name
            if isinstance(value, ModuleType):
                if self._is_new(value):
                    yield from self._module(value, names)
            else:
                yield from self.tokens(value)

    def _class(self, made: type) -> Iterator[str]:
        yield f"{made.__module__}.{made.__qualname__}"
        if self._is_named(made.__module__) or not self._is_new(made):
            return
        yield from self.tokens(made.__bases__)
        for name, value in sorted(vars(made).items()):
            inner = _inner_functions(value)
            is_own = isinstance(inner, tuple | FunctionType) or not (name.startswith("__") and name.endswith("__"))
            if is_own and name != "_abc_impl" and not isinstance(value, GetSetDescriptorType | MemberDescriptorType):
                yield name
                yield from self.tokens(inner)

    def _builtin(self, function: BuiltinFunctionType) -> Iterator[str]:
        bound = function.__self__
        yield f"{function.__module__}.{function.__qualname__}"
        if bound is not None and not isinstance(bound, ModuleType):
            yield from self.tokens(bound)

    # -- values ------------------------------------------------------------------------------------------------------

    def _items(self, items: tuple[object, ...] | list[object]) -> Iterator[str]:
        if type(items) not in (tuple, list):
            yield from self._class(type(items))
        yield f"{len(items)} items"
        for item in items:
            yield from self.tokens(item)

    def _array(self, array: np.ndarray[Any, Any]) -> Iterator[str]:
        if array.dtype.hasobject:  # its bytes are addresses
            yield from self._object(array)
        else:
            yield f"{array.dtype} {array.shape} {array.tobytes().hex()}"

    def _set(self, items: set[object] | frozenset[object]) -> Iterator[str]:
        if all(isinstance(item, PLAIN) for item in items):
            yield f"set {sorted(map(repr, items))}"
        else:
            yield f"set {sorted(list(self.tokens(item)) for item in items)}"

    def _mapping(self, mapping: Mapping[Any, object]) -> Iterator[str]:
        if all(isinstance(name, PLAIN) for name in mapping):
            shown = {name: repr(name) for name in mapping}
        else:
            shown = {name: repr(list(self.tokens(name))) for name in mapping}
        for name in sorted(mapping, key=shown.__getitem__):
            yield shown[name]
            yield from self.tokens(mapping[name])

    def _object(self, part: object) -> Iterator[str]:
        """Yield tokens of what pickle would store of an object."""
        cls = type(part)
        yield f"a {cls.__module__}.{cls.__qualname__}"
        if not self._is_new(part):
            yield f"object {self.visited[id(part)]} again"
            return
        inner = _undecorated(part)
        if inner is not part:
            yield from self.tokens(inner)
            return
        try:
            reducer = copyreg.dispatch_table.get(cls)
            reduced = part.__reduce_ex__(4) if reducer is None else reducer(part)
        except Exception as error:  # whatever the class raises: it cannot be pickled
            if self.exact and cls.__module__ != LOCKS:
                message = f"it uses a value of type {cls.__module__}.{cls.__qualname__}, whose content cannot be read"
                raise UnknownContentError(message) from error
            return
        if isinstance(reduced, str):
            yield f"{getattr(part, '__module__', None)}.{reduced}"
            return
        made, arguments, state, items, pairs = (*reduced, None, None, None)[:5]
        yield from self.tokens((made, arguments, state, list(items or ()), list(pairs or ())))


def _undecorated(part: Any) -> Any:
    """Return the function in an object that a decorator of a library made, such as functools.cache or numba.njit."""
    if callable(part) and not isinstance(part, FunctionType | type) and is_library(_package(part)):
        for name in ("__wrapped__", "py_func"):
            if isinstance(inner := getattr(part, name, None), FunctionType):
                return inner
    return part


def _inner_functions(value: Any) -> Any:
    """Return the functions of a property or a method of a class; other values as they are."""
    if isinstance(value, staticmethod | classmethod):
        return value.__func__
    if isinstance(value, property):
        return value.fget, value.fset, value.fdel
    return value.func if isinstance(value, functools.cached_property) else value


def _package(part: Any) -> str:
    """Return the package of a function, or of the class of an object."""
    if isinstance(part, functools.partial):
        return _package(part.func)
    if isinstance(part, MethodType):
        return _package(part.__func__)
    module = part.__module__ if isinstance(part, FunctionType | type) else type(part).__module__
    return (module or "").partition(".")[0]


def is_library(package: str) -> bool:
    """Return whether a package belongs to Python or is installed, rather than a part of the program."""
    if package in LIBRARIES or package in sys.stdlib_module_names:
        return True
    module = sys.modules.get(package)
    paths = [*getattr(module, "__path__", ()), getattr(module, "__file__", None)]
    return any(Path(folder) in Path(path).parents for path in paths if path for folder in _installed_in())


@functools.cache
def _installed_in() -> frozenset[str]:
    paths = sysconfig.get_paths()
    return frozenset([paths["purelib"], paths["platlib"], *site.getsitepackages(), site.getusersitepackages()])
