"""Reads an algorithm as source: the state that its annotations declare and the methods to inline."""

from __future__ import annotations

import ast
import inspect
import sys
from dataclasses import dataclass
from functools import cache, cached_property
from types import FunctionType
from typing import Any

STATE_KINDS = ("int", "P", "Column[P]", "Column[int]", "Array[P]", "Array[int]", "Array[bool]")


class CannotFuseError(Exception):
    """An algorithm's source uses something that the fuser doesn't know; the message names file and line."""


@dataclass(frozen=True)
class FunctionSource:
    """One function as syntax, with where it stands and what its global names mean."""

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

    @property
    def assigned(self) -> set[str]:
        """The names that the function assigns to, its parameters included."""
        stored = {n.id for n in ast.walk(self.node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
        return stored | set(self.parameters)


@dataclass(frozen=True)
class AlgorithmSource:
    """An algorithm class as source, what it inherits included."""

    name: str
    state: dict[str, str]
    """Attribute to one of `STATE_KINDS`, in the order of declaration."""
    methods: dict[str, FunctionSource]
    query: str
    """The method that a loop's `query` stands for."""
    text: str
    """All of the source read, for the fingerprint of what is compiled from it."""

    def attributes(self, *kinds: str) -> list[str]:
        """The attributes of these kinds, in the order of declaration."""
        return [attribute for attribute, kind in self.state.items() if kind in kinds]

    @cached_property
    def given(self) -> frozenset[str]:
        """The columns that hold just what `insert` was given, by stream position: the input column has it too."""
        insert = self.methods["insert"]
        argument = insert.parameters[1]
        unchanged = {argument, f"only_value({argument})", f"only_key({argument})"}
        given = set(self.attributes("Column[P]"))
        for name, method in self.methods.items():
            for node in ast.walk(method.node) if name not in ("__init__", "_check") else ():
                for target in _targets(node):
                    attribute = ast.unparse(target.value).removeprefix("self.")
                    kept = name == "insert" and ast.unparse(target.slice) == "self.end"
                    if not (kept and isinstance(node, ast.Assign) and ast.unparse(node.value) in unchanged):
                        given.discard(attribute)
        return frozenset(given)


def read_algorithm(algorithm: Any) -> AlgorithmSource:
    """Read the class and the classes it derives from, the most derived definition winning."""
    return _read_class(algorithm)


@cache
def _read_class(algorithm: Any) -> AlgorithmSource:
    state: dict[str, str] = {}
    methods: dict[str, FunctionSource] = {}
    texts = []
    for level in reversed(algorithm.__mro__):
        if level is object or level.__module__ == "typing":
            continue
        module = sys.modules[level.__module__]
        definition = _find_class(module, level.__name__)
        texts.append(ast.unparse(definition))
        for statement in definition.body:
            if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
                kind = ast.unparse(statement.annotation)
                if kind in STATE_KINDS:
                    state[statement.target.id] = kind
            elif isinstance(statement, ast.FunctionDef):
                methods[statement.name] = FunctionSource(statement, module.__file__ or level.__module__, vars(module))
    return AlgorithmSource(algorithm.__name__, state, methods, algorithm.compiled_query, "\n".join(texts))


def _targets(node: ast.AST) -> list[ast.Subscript]:
    """The items that a statement assigns to."""
    targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
    return [target for target in targets if isinstance(target, ast.Subscript)]


def read_function(function: FunctionType) -> FunctionSource:
    """Read a function of a module."""
    module = sys.modules[function.__module__]
    for statement in _parse(module).body:
        if isinstance(statement, ast.FunctionDef) and statement.name == function.__name__:
            return FunctionSource(statement, module.__file__ or function.__module__, vars(module))
    message = f"{function.__module__} has no function {function.__name__} at its top level."
    raise CannotFuseError(message)


def _find_class(module: Any, name: str) -> ast.ClassDef:
    for statement in _parse(module).body:
        if isinstance(statement, ast.ClassDef) and statement.name == name:
            return statement
    message = f"{module.__name__} has no class {name} at its top level, so its source can't be read."
    raise CannotFuseError(message)


@cache
def _parse(module: Any) -> ast.Module:
    return ast.parse(inspect.getsource(module))
