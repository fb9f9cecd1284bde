"""The forms in which a query gets its rows: Arrow in chunks and slices, pandas in several types, Polars, a stream.

A form is written as Python over `table`, so that a reproduction shows it.
"""

from __future__ import annotations

import random
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa

from fuzz.calls import NAMES
from fuzz.random_tables import RandomTable

NUMPY_FLOATS = ("pa.float64()", "pa.float32()")
NULLABLE = {
    "pa.int8()": "Int8", "pa.int16()": "Int16", "pa.int32()": "Int32", "pa.int64()": "Int64", "pa.uint8()": "UInt8", "pa.uint16()": "UInt16",
    "pa.uint32()": "UInt32", "pa.uint64()": "UInt64", "pa.float32()": "Float32", "pa.float64()": "Float64", "pa.bool_()": "boolean",
    "pa.string()": "string",
}  # fmt: skip
"""The types of pandas that hold nulls."""
AS_ARROW = {"pa.float64()": "double[pyarrow]", "pa.int64()": "int64[pyarrow]", "pa.bool_()": "bool[pyarrow]", "pa.string()": "string[pyarrow]"}  # fmt: skip


def chunked(table: pa.Table, sizes: list[int]) -> pa.Table:
    """Return a table in chunks of some sizes; the rest is one chunk."""
    parts, first = [], 0
    for size in sizes:
        parts.append(table.slice(first, size))
        first += size
    return pa.concat_tables([*parts, table.slice(first)])


def sliced(table: pa.Table, before: int, after: int) -> pa.Table:
    """Return a table that is a slice of a longer one, so that its arrays have an offset."""
    if not len(table):
        return table
    longer = pa.concat_tables([table.slice(0, 1)] * before + [table] + [table.slice(0, 1)] * after)
    return longer.combine_chunks().slice(before, len(table))


def one_batch(table: pa.Table) -> pa.RecordBatch:
    """Return a table as a RecordBatch."""
    empty = [pa.array([], field.type) for field in table.schema]
    return next(iter(table.combine_chunks().to_batches()), pa.RecordBatch.from_arrays(empty, schema=table.schema))


def stream(table: pa.Table, sizes: list[int]) -> pa.RecordBatchReader:
    """Return a table as a stream of batches of some sizes, again and again."""
    batches, first, turn = [], 0, 0
    while first < len(table):
        batches.append(one_batch(table.slice(first, sizes[turn % len(sizes)])))
        first, turn = first + sizes[turn % len(sizes)], turn + 1
    return pa.RecordBatchReader.from_batches(table.schema, batches)


def pandas(table: pa.Table, types: dict[str, str], index: list[int] | None = None) -> pd.DataFrame:
    """Return a table as a DataFrame, some columns in other types of pandas; NumPy's floats have NaN for null."""
    made = {}
    for name in table.column_names:
        column = table[name]
        kind = types.get(name, "")
        if kind == "arrow":
            made[name] = pd.Series(column.combine_chunks(), dtype=pd.ArrowDtype(column.type))
        elif kind in ("Float32", "Float64"):
            nulls = column.is_null().to_numpy()
            values = column.fill_null(0.0).to_numpy().astype(kind.lower())
            made[name] = pd.Series(pd.arrays.FloatingArray(values, nulls))
        elif kind.endswith("[pyarrow]") and kind != "string[pyarrow]":
            made[name] = pd.Series(column.combine_chunks(), dtype=kind)
        elif kind:
            made[name] = column.to_pandas(types_mapper={column.type: pd.api.types.pandas_dtype(kind)}.get)
        else:
            made[name] = column.to_pandas()
    frame = pd.DataFrame(made)
    if index is not None:
        frame.index = pd.Index(index[: len(frame)])
    return frame


NAMES.update(chunked=chunked, sliced=sliced, one_batch=one_batch, stream=stream, pandas=pandas)


def random_form(chooser: random.Random, table: RandomTable) -> tuple[str, str]:
    """Return the kind of a form, and its text."""
    kind = chooser.choice(
        ["table"] * 4 + ["pandas"] * 3 + ["polars"] * 2 + ["stream"] * 3 + ["chunked", "sliced", "batch", "lazy"]
    )
    if kind in ("polars", "lazy") and any("decimal256" in column.type_text for column in table.columns.values()):
        kind = "table"  # Polars has no such decimals
    sizes = [chooser.choice([0, 1, 2, 5, 30]) for _ in range(chooser.randint(1, 4))]
    forms = {
        "table": ("arrow", "table"),
        "chunked": ("arrow", f"chunked(table, {sizes})"),
        "sliced": ("arrow", f"sliced(table, {chooser.randint(1, 9)}, {chooser.randint(0, 9)})"),
        "batch": ("arrow", "one_batch(table)"),
        "stream": ("stream", f"stream(table, {[max(1, size) for size in sizes]})"),
        "polars": ("polars", "pl.from_arrow(table)"),
        "lazy": ("lazy", "pl.from_arrow(table).lazy()"),
        "pandas": ("pandas", f"pandas(table, {random_types(chooser, table)}{random_index(chooser, table)})"),
    }
    return forms[kind]


def random_types(chooser: random.Random, table: RandomTable) -> dict[str, str]:
    """Return types of pandas for some columns."""
    types = {}
    for name, column in table.columns.items():
        text = column.type_text
        has_nulls = None in column.values  # noqa: PD011 — a column of the fuzzer, not of pandas
        choices = ["", ""]
        if text in NULLABLE:
            choices.append(NULLABLE[text])
            if has_nulls and text not in NUMPY_FLOATS and text != "pa.string()":
                choices = [NULLABLE[text]]  # NumPy would make floats or objects of them
        if text in AS_ARROW:
            choices.append(AS_ARROW[text])
        if "decimal256" in text or "dictionary" in text or "list" in text:
            choices = [""]
        elif "time" in text or "date" in text or "duration" in text or "decimal" in text:
            choices.append("arrow")
        if "time32" in text or "time64" in text or "date64" in text or text == "pa.null()":
            choices = [""]
        chosen = chooser.choice(choices)
        if chosen:
            types[name] = chosen
    return types


def random_index(chooser: random.Random, table: RandomTable) -> str:
    """Return an index of pandas as an argument: the default, or numbers in no order."""
    return f", {chooser.choices(range(99), k=table.rows)}" if table.rows < 20 and chooser.random() < 0.3 else ""


def as_table(kind: str, data: Any) -> pa.Table:
    """Return results as an Arrow table; those of pandas are compared as they are."""
    if kind == "lazy":
        data = data.collect()
    if isinstance(data, pl.DataFrame):
        return data.to_arrow()
    if isinstance(data, pa.RecordBatch):
        return pa.Table.from_batches([data])
    if isinstance(data, pa.RecordBatchReader):
        return data.read_all()
    assert isinstance(data, pa.Table), type(data)
    return data
