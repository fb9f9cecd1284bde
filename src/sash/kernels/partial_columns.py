"""Partials as nested tuples of columns: what NumPy needs to move and convert them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from sash.kernels.kernel_io import Positions
from sash.kernels.layout import Shape
from sash.kernels.traced import CannotVectorizeError

Partial = Any
"""A column, or a tuple of partials."""


def fields_of(partial: Partial) -> list[npt.NDArray[Any]]:
    """Return the columns of a partial."""
    return [field for part in partial for field in fields_of(part)] if isinstance(partial, tuple) else [partial]


def map_fields(function: Callable[[npt.NDArray[Any]], npt.NDArray[Any]], partial: Partial) -> Partial:
    """Return a partial with a function applied to each column."""
    return tuple(map_fields(function, part) for part in partial) if isinstance(partial, tuple) else function(partial)


def take(partial: Partial, places: Any) -> Partial:
    """Return some rows of a partial."""
    return map_fields(lambda field: field[places], partial)


def put(partial: Partial, places: Positions, values: Partial) -> None:
    """Write the values of some rows."""
    for field, own in zip(fields_of(partial), fields_of(values), strict=True):
        field[places] = own


def copy_of(partial: Partial) -> Partial:
    """Return a copy."""
    return map_fields(np.copy, partial)


def repeat(partial: Partial, rows: int) -> Partial:
    """Return a partial of one row for all rows."""
    return map_fields(lambda field: np.repeat(field, rows), partial)


def empty_like(partial: Partial, rows: int) -> Partial:
    """Return a partial of the same types, with zeros."""
    return map_fields(lambda field: np.zeros(rows, field.dtype), partial)


def cast(partial: Partial, shape: Shape) -> Partial:
    """Return a partial with the types of a shape: lift may return an integer where combine returns a float."""
    if isinstance(shape, str):
        if not np.can_cast(partial.dtype, shape, "same_kind"):  # nothing is ever rounded here
            message = f"it returns {partial.dtype} where {shape} was expected."
            raise CannotVectorizeError(message)
        return partial if partial.dtype == shape else partial.astype(shape)
    return tuple(cast(part, own) for part, own in zip(partial, shape, strict=True))


def shape_of(partial: Partial) -> Shape:
    """Return the types of a partial."""
    return tuple(shape_of(part) for part in partial) if isinstance(partial, tuple) else str(partial.dtype)


def widen(one: Partial, other: Partial) -> Partial:
    """Return a partial with the wider type of each field. Raise CannotVectorizeError if the partials have different forms."""
    if isinstance(one, tuple) != isinstance(other, tuple) or (isinstance(one, tuple) and len(one) != len(other)):
        message = "combine returns a partial of another form than lift."
        raise CannotVectorizeError(message)
    if isinstance(one, tuple):
        return tuple(widen(mine, yours) for mine, yours in zip(one, other, strict=True))
    return one.astype(np.promote_types(one.dtype, other.dtype))


def shapes_of(whole: Shape, parts: int) -> list[Shape]:
    """Return the shapes of the parts of a partial."""
    return [whole] if parts == 1 else list(whole)


def build(shape: Shape, fields: Any) -> Partial:
    """Return a partial from its columns."""
    return next(fields) if isinstance(shape, str) else tuple(build(part, fields) for part in shape)


def ones(shape: Shape) -> Partial:
    """Return a partial of one row, as an example of a shape."""
    return np.ones(1, shape) if isinstance(shape, str) else tuple(ones(part) for part in shape)
