"""Partials as nested tuples of columns: what NumPy needs to move and convert them."""

from __future__ import annotations

from collections.abc import Callable
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

    def cast_field(field: npt.NDArray[Any], dtype: str) -> npt.NDArray[Any]:
        if not np.can_cast(field.dtype, dtype, "same_kind"):  # nothing is ever rounded here
            raise CannotVectorizeError(f"it returns {field.dtype} where {dtype} was expected.")
        return field.astype(dtype, copy=False)

    return map_fields(cast_field, partial, shape)
