"""Reads the source of an algorithm: the state that its annotations declare, and the methods to inline."""

from __future__ import annotations

import ast
import inspect
import sys
import threading
from dataclasses import dataclass
from functools import cache, cached_property
from types import FunctionType
from typing import Any

STATE_TYPES = ("int", "P", "Column[P]", "Column[int]", "Array[P]", "Array[int]", "Array[bool]")
_parsing = threading.Lock()


class CannotFuseError(Exception):
    """An algorithm uses something that the fuser does not support; the message names file and line."""


@dataclass(frozen=True)
class FunctionSource:
    """The syntax tree of a function, its file and its global names."""

    node: ast.FunctionDef
    file: str
    names: dict[str, Any]

    def error(self, node: ast.AST, what: str) -> CannotFuseError:
        """Return an error that names the line of the node."""
        line = getattr(node, "lineno", self.node.lineno)
        return CannotFuseError(f"{self.file}:{line}: in {self.node.name}: {what}")

    @property
    def parameters(self) -> list[str]:
        """The names of the parameters, the receiver first."""
        return [parameter.arg for parameter in self.node.args.args]

    @cached_property
    def assigned(self) -> set[str]:
        """The names that the function assigns to, its parameters included."""
        stored = {n.id for n in ast.walk(self.node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
        return stored | set(self.parameters)

    @cached_property
    def constants(self) -> dict[str, bool | int | float]:
        """The numbers that global names stand for: the fuser writes their values into the kernel."""
        used = {node.id for node in ast.walk(self.node) if isinstance(node, ast.Name)} - self.assigned
        values = {name: self.names.get(name) for name in sorted(used)}
        return {name: value for name, value in values.items() if isinstance(value, bool | int | float)}

    @property
    def identity(self) -> tuple[str, ...]:
        """Everything that a kernel takes from this function, for its fingerprint."""
        return ast.unparse(self.node), *(f"{name} = {value!r}" for name, value in self.constants.items())


@dataclass(frozen=True)
class AlgorithmSource:
    """The source of an algorithm class and its base classes."""

    name: str
    state: dict[str, str]
    """Attribute to one of `STATE_TYPES`, in the order of declaration."""
    methods: dict[str, FunctionSource]
    query: str
    """The method that a loop's `query` calls."""
    needs_inverse: bool

    def attributes(self, *declared: str) -> list[str]:
        """The attributes that are declared so, in the order of declaration."""
        return [attribute for attribute, each in self.state.items() if each in declared]

    @cached_property
    def identity(self) -> tuple[Any, ...]:
        """Everything that a kernel takes from this algorithm, for its fingerprint."""
        methods = [(name, method.identity) for name, method in self.methods.items()]
        return self.name, self.query, self.needs_inverse, list(self.state.items()), methods

    @cached_property
    def from_input(self) -> frozenset[str]:
        """The columns that hold exactly the inserted partials, by stream position: a kernel reads the input instead."""
        insert = self.methods["insert"]
        argument = insert.parameters[1]
        unchanged = {argument, f"only_value({argument})", f"only_key({argument})"}
        columns = set(self.attributes("Column[P]"))
        for name, method in self.methods.items():
            for node in ast.walk(method.node) if name not in ("__init__", "_check") else ():
                for target in _targets(node):
                    attribute = ast.unparse(target.value).removeprefix("self.")
                    appends = name == "insert" and ast.unparse(target.slice) == "self.end"
                    if not (appends and isinstance(node, ast.Assign) and ast.unparse(node.value) in unchanged):
                        columns.discard(attribute)
        return frozenset(columns)


def _targets(node: ast.AST) -> list[ast.Subscript]:
    """The items that a statement assigns to."""
    targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
    return [target for target in targets if isinstance(target, ast.Subscript)]


def read_algorithm(algorithm: Any) -> AlgorithmSource:
    """Read the class and its base classes; the most derived definition wins."""
    return _read_class(algorithm)  # mypy does not accept a generic class as argument of a cached function


@cache
def _read_class(algorithm: Any) -> AlgorithmSource:
    state: dict[str, str] = {}
    methods: dict[str, FunctionSource] = {}
    for level in reversed(algorithm.__mro__):
        if level is object or level.__module__ == "typing":
            continue
        module = sys.modules[level.__module__]
        for statement in _find(module, ast.ClassDef, level.__name__).body:
            if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
                declared = ast.unparse(statement.annotation)
                if declared in STATE_TYPES:
                    state[statement.target.id] = declared
            elif isinstance(statement, ast.FunctionDef):
                methods[statement.name] = FunctionSource(statement, module.__file__ or level.__module__, vars(module))
    query = "result" if algorithm.keeps_values else "query"
    return AlgorithmSource(algorithm.__name__, state, methods, query, algorithm.about.needs_inverse)


@cache
def read_function(function: FunctionType) -> FunctionSource:
    """Read a function of a module."""
    module = sys.modules[function.__module__]
    node = _find(module, ast.FunctionDef, function.__name__)
    return FunctionSource(node, module.__file__ or function.__module__, vars(module))


def _find(module: Any, syntax: Any, name: str) -> Any:
    for statement in _parse(module).body:
        if isinstance(statement, syntax) and statement.name == name:
            return statement
    what = "class" if syntax is ast.ClassDef else "function"
    raise CannotFuseError(f"{module.__name__} has no {what} {name} at its top level, so its source can't be read.")


@cache
def _parse(module: Any) -> ast.Module:
    return parse_code(inspect.getsource(module))


def parse_text(text: str) -> ast.Module:
    """Parse Python. One thread at a time: CPython 3.11 counts the depth of trees for all threads together, and raises SystemError."""
    with _parsing:
        return ast.parse(text)


def parse_code(text: str) -> ast.Module:
    """Parse a module without its docstrings, which are not part of what it does.

    >>> ast.unparse(parse_code("'Count.' ; one = 1  # and no more"))
    'one = 1'
    """
    tree = parse_text(text)
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
            node.body = [statement for statement in node.body if not _is_text(statement)] or [ast.Pass()]
    return tree


def _is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
