"""The results in what the operator of a stream emits, as Spark takes them out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
from pyspark.sql import Row

from sash.workers.packing import RESULTS, unpacking
from sash.workers.result_arrays import VALUES, fit_arrays, null_bit


def results_of(emitted: Sequence[Row], schema: pa.Schema) -> list[dict[str, Any]]:
    """The results as dictionaries."""
    if not fit_arrays(schema):
        blobs = pa.record_batch({RESULTS: pa.array([row[RESULTS] for row in emitted], pa.binary())})
        return [row for batch in unpacking("")(iter([blobs])) for row in batch.to_pylist()]
    return [result for row in emitted if row[f"{VALUES}0"] is not None for result in _rows(row, schema)]


def _rows(row: Row, schema: pa.Schema) -> list[dict[str, Any]]:
    columns = []
    for place, field in enumerate(schema):
        # as PySpark does it
        values = pa.array([row[f"{VALUES}{place}"]], pa.list_(field.type))[0].as_py()
        name, bit = null_bit(place)
        nulls = list(row[name]) or [0] * len(values)
        columns.append([None if bits & bit else value for value, bits in zip(values, nulls, strict=True)])
    return [dict(zip(schema.names, values, strict=True)) for values in zip(*columns, strict=True)]
