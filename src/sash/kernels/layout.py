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
        """The indices that lead to each field."""
        return [path for path, _ in _leaves(self.shape, ())]

    def build(self, field: Callable[[int], ast.expr]) -> ast.expr:
        """Return the expression of a partial from one expression per field."""
        numbers = iter(range(len(self.fields)))
        return _build(self.shape, lambda: field(next(numbers)))

    def take_apart(self, partial: ast.expr) -> list[ast.expr]:
        """Return one expression per field of the partial."""
        fields = []
        for path in self.paths:
            field = partial
            for index in path:
                field = ast.Subscript(field, ast.Constant(index), ast.Load())
            fields.append(field)
        return fields


@dataclass(frozen=True)
class InferredTypes:
    """The types of the partials and results of a pass."""

    shapes: list[Shape]
    """The shape of each component."""
    results: list[str]
    """The NumPy type of each result."""
    exact: set[str]
    """The functions that return exactly the shape of their component and need no cast."""


def _leaves(shape: Shape, path: tuple[int, ...]) -> Iterator[tuple[tuple[int, ...], str]]:
    if isinstance(shape, str):
        yield path, shape
    else:
        for index, field in enumerate(shape):
            yield from _leaves(field, (*path, index))


def _build(shape: Shape, next_field: Callable[[], ast.expr]) -> ast.expr:
    if isinstance(shape, str):
        return next_field()
    return ast.Tuple([_build(field, next_field) for field in shape], ast.Load())


def shape_from(value: Any) -> Shape:
    """Return a shape from the nested lists of JSON."""
    return value if isinstance(value, str) else tuple(map(shape_from, value))


def join_shapes(shapes: list[Shape]) -> Shape:
    """Return the shape of a partial that has components of these shapes; one component is the partial itself."""
    return shapes[0] if len(shapes) == 1 else tuple(shapes)


def split_shape(shape: Shape, components: int) -> list[Shape]:
    """Return the shapes of the components of a partial."""
    return [shape] if components == 1 else list(shape)
