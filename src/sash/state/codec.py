"""The bytes of a stream's state: a header in JSON, named arrays, a checksum. README.md documents the layout. No pickle."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sash.kernels.array_codec import Arrays, decode_arrays, encode_arrays, read_header
from sash.state.fingerprint import Fingerprint

WHAT = "state of a stream"
TEXT = re.compile(r"\d+ (slices )?(windows|shape \d+)")
"""The arrays that are JSON, the same for all states of a query. They are in the header, and a body holds values alone."""
REMEDY = "start from an intact checkpoint, or from a new one"


def encode_state(arrays: Arrays, watermark: int, fingerprint: Fingerprint, token: str = "", **more: Any) -> bytes:
    """Return the arrays of a state as bytes, with the watermark, the fingerprint of the query, and a name of the state."""
    texts = {name: array.tobytes().decode() for name, array in arrays.items() if TEXT.fullmatch(name)}
    values = {name: array for name, array in arrays.items() if name not in texts}
    described = {"query": dict(fingerprint), "watermark": watermark, "token": token, "texts": texts, **more}
    return encode_arrays(values, described)


def read_state_header(data: bytes | memoryview, remedy: str = REMEDY) -> dict[str, Any]:
    """Return the header of a state. Raise ValueError if the bytes are damaged or of another version."""
    header = read_header(data, WHAT, remedy)
    if "query" not in header:
        raise ValueError(f"These bytes are not a {WHAT} of Sash. To continue, {remedy}.")
    return header


def read_arrays(data: bytes | memoryview, header: Mapping[str, Any]) -> Arrays:
    """Return the arrays of a state without checking its fingerprint."""
    texts = {name: np.frombuffer(text.encode(), np.uint8) for name, text in header["texts"].items()}
    return decode_arrays(data, header) | texts


def table_bytes(table: pa.Table) -> npt.NDArray[np.uint8]:
    """Return a table as bytes, as an Arrow IPC stream.

    >>> read_table(table_bytes(pa.table({"x": [1, None]}))).to_pylist()
    [{'x': 1}, {'x': None}]
    """
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return np.frombuffer(sink.getvalue(), np.uint8)


def read_table(data: Any) -> pa.Table:
    """Return the table from `table_bytes`, without copying it."""
    return pa.ipc.open_stream(pa.py_buffer(data)).read_all()


def as_schema(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """Return a table with the types of a schema: settings of Spark, such as the time zone, may differ from the stored ones.

    A table that has them is not cast. Arrow fails to cast part of a struct with a column of nulls to its own type, and ends the process
    for a map whose keys are nulls.
    """
    return table if table.schema.equals(schema) else table.cast(schema)


def nullable_schema(schema: pa.Schema) -> pa.Schema:
    """Return a schema whose fields are all nullable: nullability may change between two runs of a stream.

    >>> nullable_schema(pa.schema([pa.field("k", pa.struct([pa.field("x", pa.int8(), False)]), False)])).field("k").type
    StructType(struct<x: int8>)
    """
    return pa.schema([_nullable(field) for field in schema])


def _nullable(field: pa.Field) -> pa.Field:
    dtype = field.type
    if pa.types.is_struct(dtype):
        dtype = pa.struct([_nullable(member) for member in dtype])
    elif pa.types.is_list(dtype):
        dtype = pa.list_(_nullable(dtype.value_field))
    elif pa.types.is_map(dtype):
        dtype = pa.map_(dtype.key_field, _nullable(dtype.item_field))
    return pa.field(field.name, dtype)
