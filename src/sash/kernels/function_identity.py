"""Identifies functions across processes: a hash that changes when their behaviour changes, and stays when only the process does.

A checkpoint stores it. It covers code, constants, defaults, closures, attributes, global variables, imported modules, and the functions
and classes that are used. Code of the standard library and of installed packages is named rather than read: it may hold the history of a
process, as the cache of `re` does, and a new version of a package is not a new query. The package that the function itself belongs to is read.

    value ──reader──► tokens, and the readings of the values in it ──explicit stack──► SHA-256 of a tree in brackets
"""

from __future__ import annotations

import copyreg
import functools
import hashlib
import pickle
import sys
import types
from collections.abc import Callable, Iterator
from contextlib import suppress
from importlib import import_module
from itertools import chain
from types import BuiltinFunctionType, CodeType, FunctionType, MappingProxyType, MethodType, ModuleType
from typing import Any, TypeAlias

import numpy as np

from sash.aggregates.pickling import PICKLED
from sash.kernels.functions import cells_of, globals_of, names_in
from sash.kernels.libraries import imports_in, is_library, package_of, undecorated

Reading: TypeAlias = "Iterator[Token]"
Token: TypeAlias = "str | bytes | Reading"  # noqa: S105
"""A part of the hash: text, or the tokens of an inner value."""
PLAIN = (bool, int, float, complex, str, bytes, type(None))
METHODS_IN_C = (types.ClassMethodDescriptorType, types.MethodDescriptorType, types.WrapperDescriptorType)
SLOTS = (types.GetSetDescriptorType, types.MemberDescriptorType)
LOCKS = "_thread"
"""The module of values without content."""
MOST_SETS = 20
MOST_IN_SETS = 20_000
"""How deep sets lie in sets, and how many items those have: each item is read alone, which takes exponential time in a graph of sets."""
MOST_DEEP = 100_000
"""Values that lie deeper in others are not read: an object may make new ones without end."""
MOST_INSTALLED = 1_000
"""The functions and classes that are read of an installed package. One with more is named, such as pandas."""


class TooLargeError(Exception):
    """Why a value is not read completely."""


class UnknownContentError(Exception):
    """Why a function cannot be identified: which value it uses whose content cannot be read."""


def identify(*values: object, exact: bool = False) -> str:
    """Return a name for functions and values that is the same in other processes.

    Of a value that cannot be pickled only its type counts, unless it must be `exact`: then UnknownContentError is raised.

    >>> identify(lambda x: x + 1) == identify(lambda x: x + 2)
    False
    >>> identify({"a": 1}.get) == identify({"a": 2}.get)
    False
    """
    own_packages = {package_of(undecorated(value)) for value in values if callable(value)} - sys.stdlib_module_names
    for packages in (own_packages, set[str]()):
        try:
            return _Visitor(packages, exact=exact).digest(values).hex()[:20]
        except TooLargeError as error:
            too_large = error
    if exact:
        raise UnknownContentError(str(too_large)) from too_large
    return _Visitor(set(), exact=False, types_only=True).digest(values).hex()[:20]


def digest_tree(root: Token) -> bytes:
    """Return the hash of a tree. Each token has its length before it, and each reading stands in brackets.

    >>> one, other = iter(["a", iter(["b", "c"])]), iter(["a", iter(["b"]), "c"])
    >>> digest_tree(one) == digest_tree(other)
    False
    """
    digest = hashlib.sha256()
    stack: list[Reading] = [iter([root])]
    while stack:
        token = next(stack[-1], None)
        if token is None:
            stack.pop()
            digest.update(b")")
        elif isinstance(token, str | bytes):
            data = token.encode() if isinstance(token, str) else token
            digest.update(b"%d:" % len(data))
            digest.update(data)
        else:
            if len(stack) == MOST_DEEP:
                raise TooLargeError(f"it uses values that contain each other more than {MOST_DEEP:,} deep")
            stack.append(token)
            digest.update(b"(")
    return digest.digest()


class _Visitor:
    """Reads values, and remembers what it has visited."""

    def __init__(self, own_packages: set[str], *, exact: bool, types_only: bool = False) -> None:
        self.exact = exact
        self.types_only = types_only
        """Whether only the types of objects and sets count."""
        self.own_packages = own_packages
        """Packages that are read although they are installed."""
        self.visited: dict[int, tuple[int, object]] = {}
        """The numbers of functions, classes and objects, by identity. They stay alive: an address may be used again."""
        self.around: set[int] = set()
        """The lists and dicts that are being read: one may contain itself."""
        self.sets = 0
        """The number of sets around a value."""
        self.in_sets = 0
        """The number of items of sets in sets."""
        self.installed = 0
        """The number of functions and classes of installed packages."""
        self.readers: dict[type, Callable[[Any], Reading]] = {
            FunctionType: self._function,
            CodeType: self._code,
            MethodType: lambda method: iter(["method", self.token(method.__func__), self.token(method.__self__)]),
            BuiltinFunctionType: self._builtin,
            np.ndarray: self._array,
            **dict.fromkeys((tuple, list, dict, MappingProxyType), self._items),
            **dict.fromkeys(METHODS_IN_C, lambda method: iter([method.__name__, self._class(method.__objclass__)])),
            **dict.fromkeys((staticmethod, classmethod, property, functools.cached_property), self._descriptor),
        }

    def digest(self, value: object) -> bytes:
        """Return the hash of a value."""
        return digest_tree(self.token(value))

    def token(self, value: object) -> Token:
        """Return a plain value as text, and the reading of another one."""
        cls = type(value)
        if cls in PLAIN:
            return f"int {value:x}" if cls is int else f"{cls.__name__} {value!r}"
        if cls in self.readers:
            return self.readers[cls](value)
        if isinstance(value, type):
            return self._class(value)
        if isinstance(value, ModuleType):
            return f"module {value.__name__}"
        return self._set(value) if isinstance(value, set | frozenset) else self._object(value)

    def _is_new(self, value: object) -> bool:
        if id(value) in self.visited:
            return False
        self.visited[id(value)] = len(self.visited), value
        return True

    def _is_named(self, value: FunctionType | type | ModuleType) -> bool:
        """Return whether code is named rather than read."""
        package = package_of(value)
        return package not in self.own_packages and is_library(package)

    def _count(self, value: FunctionType | type) -> None:
        self.installed += is_library(package_of(value))
        if self.installed > MOST_INSTALLED:
            raise TooLargeError(f"it uses more than {MOST_INSTALLED:,} functions and classes of installed packages")

    # -- functions and classes ---------------------------------------------------------------------------------------

    def _function(self, function: FunctionType) -> Reading:
        if self._is_named(function):
            yield f"{function.__module__}.{function.__qualname__}"
            return
        if not self._is_new(function):
            yield f"function {self.visited[id(function)][0]} again"
            return
        self._count(function)
        names = set(names_in(function.__code__))
        yield self._code(function.__code__)
        yield from (self._used(value, names, set()) for value in function.__defaults__ or ())
        for used in (function.__kwdefaults__ or {}, dict(cells_of(function)), globals_of(function)):
            yield f"{len(used)} names"
            for name, value in sorted(used.items(), key=lambda item: item[0]):
                yield name
                yield self._used(value, names, set())
        for name in imports_in(function):
            yield self._imported(name, names)
        yield self._items({name: value for name, value in vars(function).items() if name != PICKLED})

    def _code(self, code: CodeType) -> Reading:
        yield code.co_code
        yield code.co_exceptiontable
        yield repr((code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags))
        yield repr((code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars))
        yield self.token(code.co_consts)

    def _used(self, value: object, names: set[str], around: set[int]) -> Token:
        return self._module(value, names, around) if isinstance(value, ModuleType) else self.token(value)

    def _module(self, module: ModuleType, names: set[str], around: set[int]) -> Reading:
        """Read what a function takes from a module, and from the modules in it; `around` are those read before."""
        yield f"module {module.__name__}"
        if self._is_named(module) or id(module) in around:
            return
        around.add(id(module))
        for name in sorted(names & set(vars(module))):
            yield name
            yield self._used(vars(module)[name], names, around)

    def _imported(self, name: str, names: set[str]) -> Token:
        """Read a module that the body of a function imports.

        The function may not have run yet, which must not matter, so the module is loaded. Not for an exact identity: Spark's workers may
        have a module that the driver must not load.
        """
        package = name.partition(".")[0]
        if package not in self.own_packages and is_library(package):
            return f"module {name}"
        if self.exact and sys.modules.get(name) is None:
            raise UnknownContentError(f"it imports {name}, which is not loaded (import it where the program begins)")
        with suppress(Exception):  # whatever the module raises; the function would raise it, too
            return self._module(sys.modules.get(name) or import_module(name), names, set())
        return f"module {name}"

    def _class(self, cls: type) -> Reading:
        yield f"class {cls.__module__}.{cls.__qualname__}"
        if self._is_named(cls) or not self._is_new(cls):
            return
        self._count(cls)
        yield self.token((type(cls), cls.__bases__))
        for name, value in sorted(vars(cls).items(), key=lambda item: item[0]):
            inner = _inner_functions(value)
            is_own = callable(inner) or isinstance(inner, tuple) or not (name.startswith("__") and name.endswith("__"))
            if is_own and name != "_abc_impl" and not isinstance(value, SLOTS):
                yield name
                yield self.token(value)

    def _descriptor(self, value: object) -> Reading:
        yield type(value).__name__
        yield self.token(_inner_functions(value))

    def _builtin(self, function: BuiltinFunctionType) -> Reading:
        bound = function.__self__
        yield f"{function.__module__}.{function.__qualname__}"
        if bound is not None and not isinstance(bound, ModuleType):
            yield self.token(bound)

    # -- values ------------------------------------------------------------------------------------------------------

    def _items(self, values: Any) -> Reading:
        """Read items, or keys and values, in their order, which a function may see."""
        yield f"{type(values).__name__} of {len(values)}"
        if id(values) in self.around:
            yield "around it"
            return
        self.around.add(id(values))
        for item in values if isinstance(values, tuple | list) else chain.from_iterable(values.items()):
            yield self.token(item)
        self.around.remove(id(values))

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
                raise TooLargeError(f"it uses sets in sets, {MOST_SETS} deep or with more than {MOST_IN_SETS:,} items")
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

    def _object(self, value: object) -> Reading:
        """Read what pickle would store of an object."""
        cls = type(value)
        yield "object"
        yield self._class(cls)
        if not self._is_new(value):
            yield f"object {self.visited[id(value)][0]} again"
            return
        inner = undecorated(value)
        if inner is not value:
            yield self.token(inner)
        elif not self.types_only:
            try:
                reduced = _reduce(value)
            except Exception as error:  # whatever the class raises: it cannot be pickled
                if self.exact and cls.__module__ != LOCKS:
                    named = f"{cls.__module__}.{cls.__qualname__}"
                    raise UnknownContentError(
                        f"it uses a value of type {named}, whose content cannot be read"
                    ) from error
                return
            yield self.token(reduced)


def _reduce(value: Any) -> object:
    """Return what pickle would store of an object: the name of a global variable, or a function, its arguments, and state."""
    reducer = copyreg.dispatch_table.get(type(value))
    reduced: Any = value.__reduce_ex__(4) if reducer is None else reducer(value)
    if isinstance(reduced, str):
        module = sys.modules[pickle.whichmodule(value, reduced)]  # type: ignore[attr-defined]
        if functools.reduce(getattr, reduced.split("."), module) is not value:
            raise pickle.PicklingError(f"{reduced} is a different object")
        return reduced
    constructor, arguments, state, items, pairs = (*reduced, None, None, None)[:5]
    return constructor, arguments, state, list(items or ()), list(pairs or ())


def _inner_functions(value: Any) -> Any:
    """Return the functions of a property or a method of a class; other values as they are."""
    if isinstance(value, staticmethod | classmethod):
        return value.__func__
    if isinstance(value, property):
        return value.fget, value.fset, value.fdel
    return value.func if isinstance(value, functools.cached_property) else value
