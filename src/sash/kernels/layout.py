"""The layout of a partial in flat columns: one NumPy column per field, nested tuples flattened."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

Shape = str | tuple["Shape", ...]
"""The name of a NumPy type ("float64"), or a tuple of shapes."""


@dataclass(frozen=True)
class PartialLayout:
    """The fields of a partial, in order.

    >>> PartialLayout(("int64", ("float64", "bool"))).fields
    ['int64', 'float64', 'bool']
    """

    shape: Shape

    @cached_property
    def fields(self) -> list[str]:
        """The NumPy type of each field."""
        return [field for _, field in _leaves(self.shape, ())]

    @property
    def paths(self) -> list[tuple[int, ...]]:
        """The place of each field: the indices that lead to it."""
        return [path for path, _ in _leaves(self.shape, ())]

    def build(self, field: Callable[[int], ast.expr]) -> ast.expr:
        """Return the expression of a partial from one expression per field."""
        numbers = iter(range(len(self.fields)))
        return _build(self.shape, lambda: field(next(numbers)))

    def take_apart(self, partial: ast.expr) -> list[ast.expr]:
        """Return one expression per field of the partial."""
        parts = []
        for path, _ in _leaves(self.shape, ()):
            part = partial
            for index in path:
                part = ast.Subscript(part, ast.Constant(index), ast.Load())
            parts.append(part)
        return parts


@dataclass(frozen=True)
class InferredTypes:
    """The types of the partials and results of a pass."""

    shapes: list[Shape]
    """The shape of each part."""
    results: list[str]
    """The NumPy type of each result."""
    exact: set[str]
    """The functions that return exactly the shape of their part and need no cast."""


def _leaves(shape: Shape, path: tuple[int, ...]) -> Iterator[tuple[tuple[int, ...], str]]:
    if isinstance(shape, str):
        yield path, shape
    else:
        for index, part in enumerate(shape):
            yield from _leaves(part, (*path, index))


def _build(shape: Shape, next_field: Callable[[], ast.expr]) -> ast.expr:
    if isinstance(shape, str):
        return next_field()
    return ast.Tuple([_build(part, next_field) for part in shape], ast.Load())


def shape_from(value: Any) -> Shape:
    """Return a shape from the nested lists of JSON."""
    return value if isinstance(value, str) else tuple(shape_from(part) for part in value)
