"""Results as arrays: one row that holds many results, with an array for each column. Spark makes rows of them, without Python.

    results     k  n         one row     r0 = [1, 2]  r1 = [7, 0]        inline(arrays_zip(r0, r1, n0))
                1  7    ──►              n0 = [0, 2], bits of nulls  ──►  the results
                2  null

NumPy arrays cost next to nothing on the way, whatever their length. They have no nulls, so the bits of `n0` say which columns of a result are
null; it is empty if none is. Few arrays are fast: Spark generates code for each one in each task. Results with lists, maps or structs are
packed, and go through Python (packing.py).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from sash.columns.buffers import as_numpy
from sash.state.codec import table_bytes
from sash.workers.packing import RESULTS

VALUES, NULLS = "r", "n"
BITS = 63
"""The columns whose nulls are in one array: the bits of a long without its sign."""
NUMBERS = {pa.int16(), pa.int32(), pa.int64(), pa.float32(), pa.float64(), pa.bool_(), pa.date32()}
"""Types whose NumPy arrays PyArrow reads as they are; times are, too, and int8 would be taken for bytes."""


def fit_arrays(schema: pa.Schema) -> bool:
    """Return whether results leave the operator as arrays.

    >>> fit_arrays(pa.schema({"n": pa.int64()})), fit_arrays(pa.schema({"all": pa.list_(pa.int64())}))
    (True, False)
    """
    return not any(pa.types.is_nested(dtype) for dtype in schema.types)


def value_names(columns: int) -> list[str]:
    """Return the names of the arrays of values of a number of columns.

    >>> value_names(2)
    ['r0', 'r1']
    """
    return [f"{VALUES}{place}" for place in range(columns)]


def null_names(columns: int) -> list[str]:
    """Return the names of the arrays that say which values are null.

    >>> null_names(2), null_names(64)
    (['n0'], ['n0', 'n1'])
    """
    return [f"{NULLS}{place}" for place in range(-(-columns // BITS))]


def null_bit(column: int) -> tuple[str, int]:
    """Return the array that says where a column is null, and its bit there.

    >>> null_bit(1), null_bit(63)
    (('n0', 2), ('n1', 1))
    """
    return f"{NULLS}{column // BITS}", 1 << column % BITS


def as_emitted(schema: pa.Schema, results: pa.RecordBatch | None) -> dict[str, Any]:
    """Return results as they leave the operator; all is None if there are none.

    >>> table = pa.record_batch({"k": [1, 2], "n": [7, None]})
    >>> as_emitted(table.schema, table)
    {'r0': array([1, 2]), 'r1': array([7, 0]), 'n0': array([0, 2])}
    """
    if not fit_arrays(schema):
        return {RESULTS: None if results is None else table_bytes(pa.Table.from_batches([results])).tobytes()}
    values, nulls = value_names(len(schema)), null_names(len(schema))
    if results is None:
        return dict.fromkeys([*values, *nulls])
    emitted = dict(zip(values, map(_values, results.columns), strict=True)) | {name: [] for name in nulls}
    for place, column in enumerate(results.columns):
        if column.null_count and _has_numpy(column.type):
            name, bit = null_bit(place)
            bits = emitted[name] if len(emitted[name]) else np.zeros(len(results), np.int64)
            emitted[name] = bits | np.where(as_numpy(column.is_null()), bit, 0)
    return emitted


def _has_numpy(dtype: pa.DataType) -> bool:
    """Return whether the values of a column leave as a NumPy array, which has no nulls."""
    return pa.types.is_timestamp(dtype) or pa.types.is_duration(dtype) or dtype in NUMBERS


def _values(column: pa.Array) -> Any:
    dtype = column.type
    if not _has_numpy(dtype):
        return column.to_pylist()
    if dtype in NUMBERS:
        return as_numpy(column.view(pa.int32()) if pa.types.is_date32(dtype) else column)
    unit = f"{'m' if pa.types.is_duration(dtype) else 'M'}8[{dtype.unit}]"
    return as_numpy(column.view(pa.int64())).view(unit)
