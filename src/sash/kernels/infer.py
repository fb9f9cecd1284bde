"""The types of an aggregate's partial and result for columns of given types, as Numba infers them.

Importing this module imports Numba.
"""

from __future__ import annotations

from functools import reduce
from typing import Any

import numba
import numpy as np
from numba import from_dtype
from numba.np.numpy_support import as_dtype

from sash.columns.column_types import CannotCompileError
from sash.kernels.differences import refuse_differences
from sash.kernels.functions import first_line
from sash.kernels.fused_partial import FusedPartial
from sash.kernels.layout import InferredTypes, Shape

types: Any = numba.types


def infer_types(fused: FusedPartial, compiled: dict[str, Any]) -> InferredTypes:
    """Return the types of partials and results. Raise CannotCompileError if a function can't be compiled."""
    shapes, results, exact = [], [], set()
    for number, component in enumerate(fused.components):
        functions = _Functions(component.aggregate.name, compiled, number, fused.functions)
        lifted = functions.returned("lift", tuple(from_dtype(np.dtype(dtype)) for dtype in fused.read_as(component)))
        shape, wider = None, lifted
        # lift may return an int where combine returns a float; types only widen, so it terminates
        while wider != shape:
            shape = wider
            combined = functions.once_more(shape)
            wider = reduce(functions.widen, combined.values(), shape)
        exact |= {f"{name}_{number}" for name, returned in {"lift": lifted, **combined}.items() if returned == shape}
        shapes.append(shape)
    for number, output in enumerate(fused.outputs):
        aggregate = fused.components[output.component].aggregate
        functions = _Functions(aggregate.name, compiled, number, fused.functions)
        value = _numba_type(shapes[output.component])
        result: Shape
        if aggregate.laws.distinct:
            result = "int64"
        elif aggregate.laws.place is not None:
            result = functions.returned("place", (types.int64, types.int64, types.int64))
        elif aggregate.laws.ranked is not None:
            result = functions.returned("between", (value, value, types.float64))
        else:
            result = functions.returned("lower", (value,))
        if not isinstance(result, str):
            raise CannotCompileError(f"{aggregate.name} returns {result} for a row, which is not one number.")
        results.append(result)
    return InferredTypes(shapes, results, exact)


class _Functions:
    """The return types of the compiled functions of one component."""

    def __init__(self, aggregate: str, compiled: dict[str, Any], number: int, sources: dict[str, Any]) -> None:
        self.aggregate = aggregate
        self.compiled = compiled
        self.number = number
        self.sources = sources
        """The Python functions that were compiled, by the same names."""

    def once_more(self, shape: Shape) -> dict[str, Shape]:
        """Return what combine and inverse return for two partials of a shape."""
        partials = (_numba_type(shape), _numba_type(shape))
        known = [name for name in ("combine", "inverse") if f"{name}_{self.number}" in self.compiled]
        return {name: self.returned(name, partials) for name in known}

    def returned(self, function: str, arguments: tuple[Any, ...]) -> Shape:
        """Return the shape that a function returns for arguments of these types."""
        name = function if function in ("between", "place") else f"{function}_{self.number}"
        compiled = self.compiled[name]
        try:
            compiled.compile(arguments)
        except Exception as error:  # Numba raises many types, internal ones too; nothing of the user's runs here
            raise CannotCompileError(
                f"{function} of {self.aggregate} can't be compiled: {first_line(error)}"
            ) from error
        if not str(self.sources[name].__module__).startswith("sash."):  # tests compare Sash's own functions
            refuse_differences(compiled, arguments, f"{function} of {self.aggregate}")
        return self._shape(compiled.overloads[arguments].signature.return_type)

    def _shape(self, numba_type: Any) -> Shape:
        plain = types.unliteral(numba_type)
        if isinstance(plain, types.BaseTuple) and len(plain):
            return tuple(map(self._shape, plain))
        if isinstance(plain, types.Number | types.Boolean):
            return str(as_dtype(plain))
        raise CannotCompileError(f"{self.aggregate} holds {plain}, which is not a number or a tuple of numbers.")

    def widen(self, lifted: Shape, combined: Shape) -> Shape:
        """Return the shape that holds partials of both shapes."""
        if isinstance(lifted, str) and isinstance(combined, str):
            return str(np.promote_types(lifted, combined))
        if isinstance(lifted, tuple) and isinstance(combined, tuple) and len(lifted) == len(combined):
            return tuple(self.widen(mine, yours) for mine, yours in zip(lifted, combined, strict=True))
        raise CannotCompileError(
            f"lift of {self.aggregate} gives {lifted} and combine gives {combined}: they must have the same form."
        )


def _numba_type(shape: Shape) -> Any:
    if isinstance(shape, str):
        return from_dtype(np.dtype(shape))
    return types.BaseTuple.from_types([_numba_type(field) for field in shape])
