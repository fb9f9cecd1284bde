"""Results as arrays: one row that holds many results, with an array for each column. Spark makes rows of them, without Python.

    results     k  n         one row     r0 = [1, 2]  v0 = []              inline(arrays_zip(r0, v0, r1, v1))
                1  7    ──►              r1 = [7, 0]  v1 = [true, false]   ──►  the results
                2  null

NumPy arrays cost next to nothing on the way, whatever their length. They have no nulls, so the array `v` of a column says which values there
are; it is empty if all are. Results with lists, maps or structs are packed, and go through Python (packing.py).
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from sash.columns.buffers import as_numpy
from sash.state.codec import table_bytes
from sash.workers.packing import RESULTS

VALUES, VALID = "r", "v"
NUMBERS = {pa.int16(), pa.int32(), pa.int64(), pa.float32(), pa.float64(), pa.bool_(), pa.date32()}
"""Types whose NumPy arrays PyArrow reads as they are; times are, too, and int8 would be taken for bytes."""


def fit_arrays(schema: pa.Schema) -> bool:
    """Return whether results leave the operator as arrays.

    >>> fit_arrays(pa.schema({"n": pa.int64()})), fit_arrays(pa.schema({"all": pa.list_(pa.int64())}))
    (True, False)
    """
    return not any(pa.types.is_nested(dtype) for dtype in schema.types)


def array_names(columns: int) -> list[str]:
    """Return the names of the arrays of a number of columns.

    >>> array_names(2)
    ['r0', 'v0', 'r1', 'v1']
    """
    return [f"{kind}{number}" for number in range(columns) for kind in (VALUES, VALID)]


def as_emitted(schema: pa.Schema, results: pa.RecordBatch | None) -> dict[str, Any]:
    """Return results as they leave the operator; all is None if there are none.

    >>> table = pa.record_batch({"n": [7, None]})
    >>> as_emitted(table.schema, table)
    {'r0': array([7, 0]), 'v0': array([ True, False])}
    """
    names = array_names(len(schema)) if fit_arrays(schema) else [RESULTS]
    if results is None:
        return dict.fromkeys(names)
    if names == [RESULTS]:
        return {RESULTS: table_bytes(pa.Table.from_batches([results])).tobytes()}
    arrays = [array for column in results.columns for array in _arrays(column)]
    return dict(zip(names, arrays, strict=True))


def _arrays(column: pa.Array) -> tuple[Any, Any]:
    dtype = column.type
    is_time = pa.types.is_timestamp(dtype) or pa.types.is_duration(dtype)
    if not is_time and dtype not in NUMBERS:
        return column.to_pylist(), []
    is_valid: Any = as_numpy(column.is_valid()) if column.null_count else []
    if not is_time:
        return as_numpy(column.view(pa.int32()) if pa.types.is_date32(dtype) else column), is_valid
    unit = f"{'m' if pa.types.is_duration(dtype) else 'M'}8[{dtype.unit}]"
    return as_numpy(column.view(pa.int64())).view(unit), is_valid
