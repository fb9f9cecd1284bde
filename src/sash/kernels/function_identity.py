"""Identifies functions across processes: a hash that changes when their behaviour changes, and stays when only the process does.

A checkpoint stores it. It covers code, constants, defaults, closures, attributes, global variables, imported modules, and the functions
and classes that are used. Code of the standard library and of installed packages is named rather than read: it may hold the history of a
process, as the cache of `re` does, and a new version of a package is not a new query. The package that the function itself belongs to is read.

    value ──reader──► tokens, and the readings of the values in it ──explicit stack──► SHA-256 of a tree in brackets
"""

from __future__ import annotations

import copyreg
import functools
import pickle
import sys
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from types import (
    BuiltinFunctionType,
    ClassMethodDescriptorType,
    CodeType,
    FunctionType,
    GetSetDescriptorType,
    MappingProxyType,
    MemberDescriptorType,
    MethodDescriptorType,
    MethodType,
    ModuleType,
    WrapperDescriptorType,
)
from typing import Any

import numpy as np

from sash.aggregates.pickling import PICKLED
from sash.kernels.functions import cells_of, globals_of, names_in
from sash.kernels.libraries import imports_in, is_library, package_of, undecorated
from sash.kernels.tree_digest import Reading, Token, TooLargeError, digest_tree

PLAIN = (bool, int, float, complex, str, bytes, type(None))
METHODS_IN_C = (ClassMethodDescriptorType, MethodDescriptorType, WrapperDescriptorType)
LOCKS = "_thread"
"""The module of values without content."""
MOST_SETS = 20
MOST_IN_SETS = 20_000
"""How deep sets lie in sets, and how many items those have: each item is read alone, which takes exponential time in a graph of sets."""
MOST_INSTALLED = 1_000
"""The functions and classes that are read of an installed package. One with more is named, such as pandas."""


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
    own = {package_of(undecorated(part)) for part in parts if callable(part)} - sys.stdlib_module_names
    with suppress(TooLargeError):
        return _Visitor(own, exact=exact).digest(parts).hex()[:20]
    try:
        return _Visitor(set(), exact=exact).digest(parts).hex()[:20]
    except TooLargeError as error:
        if exact:
            raise UnknownContentError(str(error)) from error
    return _Visitor(set(), exact=False, types_only=True).digest(parts).hex()[:20]


class _Visitor:
    """Reads values, and remembers what it has visited."""

    def __init__(self, own: set[str], *, exact: bool, types_only: bool = False) -> None:
        self.exact = exact
        self.types_only = types_only
        """Whether only the types of objects and sets count."""
        self.own = own
        """Packages that are read although they are installed."""
        self.visited: dict[int, int] = {}
        """The numbers of functions, classes and objects, by identity."""
        self.around: set[int] = set()
        """The lists and dicts that are being read: one may contain itself."""
        self.sets = 0
        """The number of sets around a value."""
        self.in_sets = 0
        """The number of items of sets in sets."""
        self.installed = 0
        """The number of functions and classes of installed packages."""
        self.alive: list[object] = []
        """What was visited, as the address of an object that is gone may be used again."""
        self.readers: dict[type, Callable[[Any], Reading]] = {
            FunctionType: self._function,
            CodeType: self._code,
            tuple: self._items,
            list: self._items,
            dict: self._mapping,
            MappingProxyType: self._mapping,
            MethodType: lambda part: iter(["method", self.token(part.__func__), self.token(part.__self__)]),
            BuiltinFunctionType: self._builtin,
            np.ndarray: self._array,
            **dict.fromkeys(METHODS_IN_C, lambda part: iter([part.__name__, self._class(part.__objclass__)])),
            **dict.fromkeys((staticmethod, classmethod, property, functools.cached_property), self._descriptor),
        }

    def digest(self, part: object) -> bytes:
        """Return the hash of a value."""
        return digest_tree(self.token(part))

    def token(self, part: object) -> Token:
        """Return a plain value as text, and the reading of another one."""
        cls = type(part)
        if cls in PLAIN:
            return f"int {part:x}" if cls is int else f"{cls.__name__} {part!r}"
        if cls in self.readers:
            return self.readers[cls](part)
        if isinstance(part, type):
            return self._class(part)
        if isinstance(part, ModuleType):
            return f"module {part.__name__}"
        return self._set(part) if isinstance(part, set | frozenset) else self._object(part)

    def _is_new(self, part: object) -> bool:
        if id(part) in self.visited:
            return False
        self.visited[id(part)] = len(self.visited)
        self.alive.append(part)
        return True

    def _is_named(self, part: FunctionType | type | ModuleType) -> bool:
        """Return whether code is named rather than read."""
        package = package_of(part)
        return package not in self.own and is_library(package)

    def _count(self, part: FunctionType | type) -> None:
        self.installed += is_library(package_of(part))
        if self.installed > MOST_INSTALLED:
            message = f"it uses more than {MOST_INSTALLED:,} functions and classes of installed packages"
            raise TooLargeError(message)

    # -- functions and classes ---------------------------------------------------------------------------------------

    def _function(self, function: FunctionType) -> Reading:
        if self._is_named(function):
            yield f"{function.__module__}.{function.__qualname__}"
            return
        if not self._is_new(function):
            yield f"function {self.visited[id(function)]} again"
            return
        self._count(function)
        names = set(names_in(function.__code__))
        yield self._code(function.__code__)
        yield from (self._used(value, names) for value in function.__defaults__ or ())
        for used in (function.__kwdefaults__ or {}, dict(cells_of(function)), globals_of(function)):
            yield f"{len(used)} names"
            for name, value in sorted(used.items(), key=lambda item: item[0]):
                yield name
                yield self._used(value, names)
        for name in imports_in(function):
            yield self._imported(name, names)
        yield self._mapping({name: value for name, value in vars(function).items() if name != PICKLED})

    def _code(self, code: CodeType) -> Reading:
        yield code.co_code
        yield code.co_exceptiontable
        yield repr((code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags))
        yield repr((code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars))
        yield self.token(code.co_consts)

    def _used(self, value: object, names: set[str]) -> Token:
        return self._module(value, names, set()) if isinstance(value, ModuleType) else self.token(value)

    def _module(self, module: ModuleType, names: set[str], around: set[int]) -> Reading:
        """Read what a function takes from a module, and from the modules in it."""
        yield f"module {module.__name__}"
        if self._is_named(module) or id(module) in around:
            return
        around.add(id(module))
        for name in sorted(names & set(vars(module))):
            value = vars(module)[name]
            yield name
            yield self._module(value, names, around) if isinstance(value, ModuleType) else self.token(value)

    def _imported(self, name: str, names: set[str]) -> Token:
        """Read a module that the body of a function imports.

        The function may not have run yet, which must not matter, so the module is loaded. Not for an exact identity: Spark's workers may
        have a module that the driver must not load.
        """
        package = name.partition(".")[0]
        if package not in self.own and is_library(package):
            return f"module {name}"
        if name not in sys.modules and not self.exact:
            with suppress(Exception):  # whatever the module raises; the function would raise it, too
                import_module(name)
        module = sys.modules.get(name)
        if module is None and self.exact:
            message = f"it imports {name}, which is not loaded (import it where the program begins)"
            raise UnknownContentError(message)
        return f"module {name}" if module is None else self._module(module, names, set())

    def _class(self, made: type) -> Reading:
        yield f"class {made.__module__}.{made.__qualname__}"
        if self._is_named(made) or not self._is_new(made):
            return
        self._count(made)
        yield self.token((type(made), made.__bases__))
        for name, value in sorted(vars(made).items(), key=lambda item: item[0]):
            inner = _inner_functions(value)
            is_own = callable(inner) or isinstance(inner, tuple) or not (name.startswith("__") and name.endswith("__"))
            if is_own and name != "_abc_impl" and not isinstance(value, GetSetDescriptorType | MemberDescriptorType):
                yield name
                yield self.token(value)

    def _descriptor(self, part: object) -> Reading:
        yield type(part).__name__
        yield self.token(_inner_functions(part))

    def _builtin(self, function: BuiltinFunctionType) -> Reading:
        bound = function.__self__
        yield f"{function.__module__}.{function.__qualname__}"
        if bound is not None and not isinstance(bound, ModuleType):
            yield self.token(bound)

    # -- values ------------------------------------------------------------------------------------------------------

    def _items(self, items: tuple[object, ...] | list[object]) -> Reading:
        yield f"{type(items).__name__} of {len(items)}"
        if id(items) in self.around:
            yield "around it"
            return
        self.around.add(id(items))
        for item in items:
            yield self.token(item)
        self.around.remove(id(items))

    def _mapping(self, mapping: dict[Any, object] | MappingProxyType[Any, object]) -> Reading:
        """Read keys and values in their order, which a function may see."""
        yield f"{type(mapping).__name__} of {len(mapping)}"
        if id(mapping) in self.around:
            yield "around it"
            return
        self.around.add(id(mapping))
        for key, value in mapping.items():
            yield self.token(key)
            yield self.token(value)
        self.around.remove(id(mapping))

    def _array(self, array: np.ndarray[Any, Any]) -> Reading:
        if array.dtype.hasobject:  # its bytes are addresses
            yield self._object(array)
        else:
            yield f"array {array.dtype} {array.shape}"
            yield array.tobytes()

    def _set(self, items: set[object] | frozenset[object]) -> Reading:
        """Read each item as if it were the only one, because their order differs between processes."""
        yield self._class(type(items))
        yield f"{len(items)} items"
        if all(type(item) in PLAIN for item in items):
            yield from sorted(f"{type(item).__name__} {item!r}" for item in items)
        elif not self.types_only:
            self.in_sets += len(items) if self.sets else 0
            if self.sets == MOST_SETS or self.in_sets > MOST_IN_SETS:
                message = f"it uses sets in sets, {MOST_SETS} deep or with more than {MOST_IN_SETS:,} items"
                raise TooLargeError(message)
            for cls in sorted({type(item) for item in items}, key=lambda cls: (cls.__module__, cls.__qualname__)):
                yield self._class(cls)  # once for all items
            self.sets += 1
            yield from sorted(map(self._digest_alone, items))
            self.sets -= 1
        if type(items) not in (set, frozenset):
            yield self.token(items.__getstate__())

    def _digest_alone(self, item: object) -> bytes:
        known = len(self.visited)
        digest = self.digest(item)
        while len(self.visited) > known:
            self.visited.popitem()
        return digest

    def _object(self, part: object) -> Reading:
        """Read what pickle would store of an object."""
        cls = type(part)
        yield "object"
        yield self._class(cls)
        if not self._is_new(part):
            yield f"object {self.visited[id(part)]} again"
            return
        inner = undecorated(part)
        if inner is not part:
            yield self.token(inner)
        elif not self.types_only:
            try:
                reduced = _reduce(part)
            except Exception as error:  # whatever the class raises: it cannot be pickled
                if self.exact and cls.__module__ != LOCKS:
                    message = (
                        f"it uses a value of type {cls.__module__}.{cls.__qualname__}, whose content cannot be read"
                    )
                    raise UnknownContentError(message) from error
                return
            yield self.token(reduced)


def _reduce(part: Any) -> object:
    """Return what pickle would store of an object: the name of a global variable, or a function, its arguments, and state."""
    reducer = copyreg.dispatch_table.get(type(part))
    reduced: Any = part.__reduce_ex__(4) if reducer is None else reducer(part)
    if isinstance(reduced, str):
        module = sys.modules[pickle.whichmodule(part, reduced)]  # type: ignore[attr-defined]
        if functools.reduce(getattr, reduced.split("."), module) is not part:
            message = f"{reduced} is a different object"
            raise pickle.PicklingError(message)
        return reduced
    made, arguments, state, items, pairs = (*reduced, None, None, None)[:5]
    return made, arguments, state, list(items or ()), list(pairs or ())


def _inner_functions(value: Any) -> Any:
    """Return the functions of a property or a method of a class; other values as they are."""
    if isinstance(value, staticmethod | classmethod):
        return value.__func__
    if isinstance(value, property):
        return value.fget, value.fset, value.fdel
    return value.func if isinstance(value, functools.cached_property) else value
