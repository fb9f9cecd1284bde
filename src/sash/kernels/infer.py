"""What types an aggregate's partial and result have for columns of given types, as Numba sees it."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from numba import from_dtype
from numba.core.errors import NumbaError
from numba.np.numpy_support import as_dtype

from sash.aggregates.base import Aggregate
from sash.kernels.functions import CannotCompileError, compile_function
from sash.kernels.layout import Layout, Shape

types: Any = numba.types


def infer_layout(aggregate: Aggregate[Any], inputs: tuple[str, ...]) -> tuple[Layout, str]:
    """Return the layout of the partial and the NumPy type of the result, or say why they can't be compiled."""
    arguments = tuple(from_dtype(np.dtype(name)) for name in inputs)
    shape = _returned(aggregate, "lift", arguments)
    wider = _once_more(aggregate, shape)
    while wider != shape:  # lift may give an int where combine gives a float; NumPy's types only ever widen, so it ends
        shape, wider = wider, _once_more(aggregate, wider)
    if aggregate.ranked:
        value = _numba_type(shape)
        result = _returned(aggregate, "between", (value, value, types.float64))
    elif aggregate.distinct:
        result = "int64"
    else:
        result = _returned(aggregate, "lower", (_numba_type(shape),))
    if not isinstance(result, str):
        message = f"{aggregate.name} gives {result} for a row, which is not one number."
        raise CannotCompileError(message)
    return Layout(shape), result


def _once_more(aggregate: Aggregate[Any], shape: Shape) -> Shape:
    """Return the shape that holds a partial and what combine and inverse make of two of them."""
    partials = (_numba_type(shape), _numba_type(shape))
    wider = _widen(aggregate, shape, _returned(aggregate, "combine", partials))
    if aggregate.inverse is not None:
        wider = _widen(aggregate, wider, _returned(aggregate, "inverse", partials))
    return wider


def _returned(aggregate: Aggregate[Any], function: str, arguments: tuple[Any, ...]) -> Shape:
    """Return what one of the aggregate's functions returns for arguments of these types."""
    compiled = compile_function(getattr(aggregate, function))
    try:
        compiled.compile(arguments)
    except NumbaError as error:
        lines = [line.strip() for line in str(error).splitlines()]
        reason = next(
            (line for line in lines if line and not line.startswith("Failed in nopython mode")), "no reason given"
        )
        message = f"{function} of {aggregate.name} can't be compiled: {reason}"
        raise CannotCompileError(message) from error
    return _shape(aggregate, compiled.overloads[arguments].signature.return_type)


def _shape(aggregate: Aggregate[Any], numba_type: Any) -> Shape:
    plain = types.unliteral(numba_type)
    if isinstance(plain, types.BaseTuple) and len(plain):
        return tuple(_shape(aggregate, part) for part in plain)
    if isinstance(plain, types.Number | types.Boolean):
        return str(as_dtype(plain))
    message = f"{aggregate.name} holds {plain}, which is not a number or a tuple of numbers."
    raise CannotCompileError(message)


def _numba_type(shape: Shape) -> Any:
    if isinstance(shape, str):
        return from_dtype(np.dtype(shape))
    return types.BaseTuple.from_types([_numba_type(part) for part in shape])


def _widen(aggregate: Aggregate[Any], one: Shape, other: Shape) -> Shape:
    if isinstance(one, str) and isinstance(other, str):
        return str(np.promote_types(one, other))
    if isinstance(one, tuple) and isinstance(other, tuple) and len(one) == len(other):
        return tuple(_widen(aggregate, mine, yours) for mine, yours in zip(one, other, strict=True))
    message = f"lift of {aggregate.name} gives {one} and combine gives {other}: they must have the same form."
    raise CannotCompileError(message)
