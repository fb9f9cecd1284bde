"""Partials as nested tuples of columns: what NumPy needs to move and convert them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from sash.kernels.fused_partial import Shape
from sash.kernels.traced import CannotVectorizeError

Partial = Any
"""A column, or a tuple of partials."""


def map_fields(function: Callable[..., Any], partial: Any, *others: Any) -> Any:
    """Return a partial with a function applied to each column, and to the fields of other partials or shapes in the same place."""
    if not any(isinstance(each, tuple) for each in (partial, *others)):
        return function(partial, *others)
    if not all(isinstance(each, tuple) and len(each) == len(partial) for each in (partial, *others)):
        raise CannotVectorizeError("its results have different forms.")
    return tuple(map_fields(function, *fields) for fields in zip(partial, *others, strict=True))


def fields_of(partial: Partial) -> list[npt.NDArray[Any]]:
    """Return the columns of a partial."""
    return [field for inner in partial for field in fields_of(inner)] if isinstance(partial, tuple) else [partial]


def take(partial: Partial, rows: Any) -> Partial:
    """Return some rows of a partial."""
    return map_fields(lambda field: field[rows], partial)


def put(partial: Partial, rows: Any, values: Partial) -> None:
    """Write the values of some rows."""
    for field, new in zip(fields_of(partial), fields_of(values), strict=True):
        field[rows] = new


def empty_like(partial: Partial, rows: int) -> Partial:
    """Return a partial of the same types, with zeros."""
    return map_fields(lambda field: np.zeros(rows, field.dtype), partial)


def cast(partial: Partial, shape: Shape) -> Partial:
    """Return a partial with the types of a shape: lift may return an integer where combine returns a float."""
    return map_fields(_cast_field, partial, shape)


def _cast_field(field: npt.NDArray[Any], dtype: str) -> npt.NDArray[Any]:
    if not np.can_cast(field.dtype, dtype, "same_kind"):  # nothing is ever rounded here
        raise CannotVectorizeError(f"it returns {field.dtype} where {dtype} was expected.")
    return field if field.dtype == dtype else field.astype(dtype)


def shape_of(partial: Partial) -> Shape:
    """Return the types of a partial."""
    shape: Shape = map_fields(lambda field: str(field.dtype), partial)
    return shape


def widen(older: Partial, newer: Partial) -> Partial:
    """Return a partial with the wider type of each field. Raise CannotVectorizeError if the partials have different forms."""
    return map_fields(lambda mine, yours: mine.astype(np.promote_types(mine.dtype, yours.dtype)), older, newer)


def build(shape: Shape, fields: Iterator[npt.NDArray[Any]]) -> Partial:
    """Return a partial from its columns."""
    return map_fields(lambda _: next(fields), shape)


def ones(shape: Shape) -> Partial:
    """Return a partial of one row, as an example of a shape."""
    return map_fields(lambda dtype: np.ones(1, dtype), shape)
