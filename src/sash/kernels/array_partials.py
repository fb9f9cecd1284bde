"""The compiled forms of `sash.aggregates.array_partials`: tuples of numbers to arrays, and back. Importing this module imports Numba."""

from __future__ import annotations

from typing import Any

import numba.extending
import numba.np.unsafe.ndarray
import numpy as np

from sash.aggregates.array_partials import as_number, from_array, to_array

types: Any = numba.types
overload: Any = numba.extending.overload
to_fixed_tuple: Any = numba.np.unsafe.ndarray.to_fixed_tuple


# Numba compares the annotations of these functions with those of the functions that they return.


@overload(to_array)  # type: ignore[untyped-decorator]
def _to_array(partial: Any) -> Any:
    def convert(partial: Any) -> Any:
        return np.array(partial)

    return convert if isinstance(partial, types.UniTuple) else None


@overload(as_number)  # type: ignore[untyped-decorator]
def _as_number(result: Any) -> Any:
    def convert(result: Any) -> Any:
        return result

    return convert if isinstance(result, types.Number | types.Boolean) else None


@overload(from_array)  # type: ignore[untyped-decorator]
def _from_array(array: Any, length: Any) -> Any:
    """Accept arrays of numbers. Others, such as those of uint64, are refused here, so they are interpreted."""
    if not (isinstance(array, types.Array) and array.ndim == 1 and isinstance(length, types.IntegerLiteral)):
        return None
    numbers, expected = array.dtype, length.literal_value
    if numbers not in (types.boolean, *types.integer_domain, *types.real_domain) or numbers == types.uint64:
        return None
    dtype = np.float64 if numbers in types.real_domain else np.int64

    def convert(array: Any, length: Any) -> Any:
        if array.size != length:
            raise ValueError("A function returned an array of another length than length= says.")
        return to_fixed_tuple(array.astype(dtype), expected)

    return convert
