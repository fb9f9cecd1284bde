"""What is kept of a stream as arrays, from which it is made again: NumPy's own, and Arrow's tables as their bytes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sash.engine.passes import Slices
from sash.kernels.array_codec import Arrays
from sash.kernels.layout import shape_from
from sash.state.row_state import KeptRows
from sash.state.slice_state import KeptSlices, all_closing
from sash.windows.by_function import Custom

Bytes = npt.NDArray[np.uint8]


def arrays_of(kept: KeptRows | KeptSlices) -> Arrays:
    """Return all that is kept, by name."""
    return _of_rows(kept) if isinstance(kept, KeptRows) else _of_slices(kept)


def restore(kept: KeptRows | KeptSlices, arrays: Arrays) -> None:
    """Let this be kept, by something that keeps nothing yet."""
    if isinstance(kept, KeptRows):
        _restore_rows(kept, arrays)
    else:
        _restore_slices(kept, arrays)


def _of_rows(kept: KeptRows) -> Arrays:
    arrays: Arrays = {
        "rows": table_bytes(kept.rows),
        "sizes": kept.sizes,
        "done": kept.done,
        "gone": np.array([kept.gone]),
    }
    for name, window, part in _memories(kept):
        values = kept.memory[name][part]
        own = isinstance(window, Custom)
        arrays[f"memory {name} {part}"] = _json_bytes([window.freeze(one) for one in values]) if own else values
    return arrays


def _restore_rows(kept: KeptRows, arrays: Arrays) -> None:
    kept.rows = as_columns(read_table(arrays["rows"]), kept.local.schema)
    kept.sizes, kept.done, kept.gone = arrays["sizes"], arrays["done"], int(arrays["gone"][0])
    for name, window, part in _memories(kept):
        values = arrays[f"memory {name} {part}"]
        if isinstance(window, Custom):
            listed = np.empty(len(kept.done), object)
            listed[:] = [window.thaw(one) for one in _read_json(values)]
            values = listed
        kept.memory[name][part] = values.copy()  # windows write into it


def _memories(kept: KeptRows) -> Iterator[tuple[str, Any, str]]:
    """Yield windows with the names of what they remember."""
    for name, window in kept.local.plan.windows.items():
        for part in window.memory:
            yield name, window, part


def _of_slices(kept: KeptSlices) -> Arrays:
    """Return slices; the keys, each of which has many, once."""
    if kept.keys is None or not len(kept.times):
        return {}
    firsts = np.cumsum(kept.sizes) - kept.sizes
    arrays: Arrays = {"keys": table_bytes(kept.keys.take(pa.array(firsts))), "sizes": kept.sizes}
    arrays |= {"times": kept.times, "lasts": kept.lasts}
    for number, one in enumerate(kept.slices):
        arrays[f"shape {number}"] = _json_bytes(one.shape)
        arrays[f"values {number}"] = one.counts.values
        arrays |= {f"field {number} {place}": field for place, field in enumerate(one.fields)}
    return arrays


def _restore_slices(kept: KeptSlices, arrays: Arrays) -> None:
    if not arrays:
        return
    kept.sizes = arrays["sizes"]
    by = [kept.local.schema.field(name) for name in kept.local.declared.by]
    keys = read_table(arrays["keys"])
    keys = as_columns(keys, pa.schema(by)) if by else keys
    kept.keys = keys.take(pa.array(np.repeat(np.arange(len(kept.sizes)), kept.sizes)))
    kept.times, kept.lasts = arrays["times"], arrays["lasts"]
    for number in range(len(kept.local.plan.passes)):
        fields = sorted((int(name.rsplit(" ", 1)[1]), name) for name in arrays if name.startswith(f"field {number} "))
        shape = shape_from(_read_json(arrays[f"shape {number}"]))
        counts = all_closing(arrays[f"values {number}"])
        kept.slices.append(Slices([arrays[name] for _, name in fields], shape, counts))


def as_columns(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """Return a table in types that differ only in what Spark was set to, as the time zone that it shows times in."""
    return table if table.schema.equals(schema) else table.cast(schema)


def nullable(schema: pa.Schema) -> pa.Schema:
    """Return columns that may all have nulls: whether there are any may change from one run of a stream to the next.

    >>> nullable(pa.schema([pa.field("k", pa.struct([pa.field("x", pa.int8(), False)]), False)])).field("k").type
    StructType(struct<x: int8>)
    """
    return pa.schema([_nullable(field) for field in schema])


def _nullable(field: pa.Field) -> pa.Field:
    kind = field.type
    if pa.types.is_struct(kind):
        kind = pa.struct([_nullable(part) for part in kind])
    elif pa.types.is_list(kind):
        kind = pa.list_(_nullable(kind.value_field))
    elif pa.types.is_map(kind):
        kind = pa.map_(kind.key_field, _nullable(kind.item_field))
    return pa.field(field.name, kind)


def table_bytes(table: pa.Table) -> Bytes:
    """Return a table as bytes.

    >>> read_table(table_bytes(pa.table({"x": [1, None]}))).to_pylist()
    [{'x': 1}, {'x': None}]
    """
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return np.frombuffer(sink.getvalue(), np.uint8)


def read_table(data: Any) -> pa.Table:
    """Return the table in bytes, without copying them."""
    return pa.ipc.open_stream(pa.py_buffer(data)).read_all()


def _json_bytes(value: Any) -> Bytes:
    return np.frombuffer(json.dumps(value).encode(), np.uint8)


def _read_json(data: Bytes) -> Any:
    return json.loads(data.tobytes())
