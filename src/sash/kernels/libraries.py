"""Tells libraries, whose code is named in the identity of a function, from the modules of the program, which are read."""

from __future__ import annotations

import dis
import functools
import site
import sys
import sysconfig
from collections.abc import Iterator
from contextlib import suppress
from importlib.util import find_spec, resolve_name
from itertools import accumulate
from pathlib import Path
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any

LIBRARIES = frozenset({"builtins", "py4j", "pyspark", "sash"})
"""Packages that are libraries wherever they lie; a cluster may have PySpark in a zip file."""


@functools.cache
def is_library(package: str) -> bool:
    """Return whether a package belongs to Python or is installed, rather than a part of the program. It need not be loaded."""
    if package in LIBRARIES or package in sys.stdlib_module_names:
        return True
    module = sys.modules.get(package)
    if module is not None:
        paths = [*getattr(module, "__path__", ()), getattr(module, "__file__", None)]
    else:
        spec = None
        with suppress(ImportError, ValueError):  # no module can have this name
            spec = find_spec(package)
        paths = [*(spec.submodule_search_locations or ()), spec.origin] if spec else []
    return any(Path(folder) in Path(path).parents for path in paths if path for folder in _installed_in())


@functools.cache
def _installed_in() -> frozenset[str]:
    paths = sysconfig.get_paths()
    return frozenset([paths["purelib"], paths["platlib"], *site.getsitepackages(), site.getusersitepackages()])


def package_of(value: Any) -> str:
    """Return the package of a function, a class or a module, or of the class of an object."""
    if isinstance(value, functools.partial):
        return package_of(value.func)
    if isinstance(value, MethodType):
        return package_of(value.__func__)
    if isinstance(value, ModuleType):
        return value.__name__.partition(".")[0]
    module = value.__module__ if isinstance(value, FunctionType | type) else type(value).__module__
    if not isinstance(module, str | None):  # a class in C, such as that of Cython's functions, has another attribute
        return "builtins"
    return (module or "").partition(".")[0]


def undecorated(value: Any) -> Any:
    """Return the function in an object that a decorator of a library made, such as functools.cache or numba.njit."""
    if callable(value) and not isinstance(value, FunctionType | type) and is_library(package_of(value)):
        for name in ("__wrapped__", "py_func"):
            if isinstance(inner := getattr(value, name, None), FunctionType):
                return inner
    return value


def imports_in(function: FunctionType) -> list[str]:
    """Return the names of the modules that the body of a function imports, and the functions that it defines, sorted.

    >>> def load(text):
    ...     from os import path
    ...     import json.decoder
    >>> imports_in(load)
    ['json', 'json.decoder', 'os', 'os.path']
    """
    package = function.__globals__.get("__package__") or ""
    modules: set[str] = set()
    for level, names, module in _import_instructions(function.__code__):
        try:
            full = resolve_name("." * level + module, package)
        except ImportError:  # a relative import outside of a package, which fails when the function runs
            continue
        modules.update(accumulate(full.split("."), "{}.{}".format))
        modules.update(f"{full}.{name}" for name in names or () if f"{full}.{name}" in sys.modules)
    return sorted(modules)


def _import_instructions(code: CodeType) -> Iterator[tuple[int, tuple[str, ...] | None, str]]:
    """Yield the level of each relative import, the names that are taken from the module, and the module."""
    loaded: list[Any] = []
    for instruction in dis.get_instructions(code):
        if instruction.opname == "IMPORT_NAME":
            level, names = loaded[-2:]
            yield level, names, instruction.argval
        if instruction.opname.startswith("LOAD_"):
            loaded.append(instruction.argval)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _import_instructions(constant)
