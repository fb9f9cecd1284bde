"""Every type that pyarrow can make has a row in the table, and the answers of a row agree with each other and with Arrow."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from pyarrow.types import TypesEnum

from sash.columns.column_types import (
    BY_ID,
    KINDS,
    TABLE,
    CannotCompileError,
    ColumnType,
    can_be_key,
    column_type,
    sample_of,
)
from sash.columns.read_column import nulls, objects_of, read_numbers, readable_schema
from sash.columns.result_column import column_to_arrow, difference_type, holds, middle_type

UNITS = ("s", "ms", "us", "ns")
NOT_IN_PYTHON = {TypesEnum.INTERVAL_MONTHS, TypesEnum.INTERVAL_DAY_TIME}
"""pyarrow has numbers for these types, but cannot make them."""
ENCODED = ("union", "run_end_encoded", "dictionary", "extension")
TYPES = [
    *(row.example for row in TABLE if row.group not in ENCODED),
    *(make(unit) for make in (pa.timestamp, pa.duration) for unit in UNITS),
    *(pa.timestamp(unit, "Europe/Berlin") for unit in UNITS),
    *(pa.time32("ms"), pa.time64("us"), pa.decimal128(9, 2), pa.list_(pa.date32()), pa.list_(pa.float64(), 3)),
    *(pa.map_(pa.string(), pa.int8()), pa.struct({"a": pa.int64(), "b": pa.list_(pa.binary(2))})),
]
each_type = pytest.mark.parametrize("dtype", TYPES, ids=str)


def test_every_type_of_arrow_has_one_row() -> None:
    assert set(BY_ID) == {int(number) for number in TypesEnum} - NOT_IN_PYTHON | {pa.uuid().id}
    assert len(BY_ID) == len(TABLE)


@pytest.mark.parametrize("row", TABLE, ids=lambda row: str(row.example))
def test_groups_are_those_of_arrow(row: ColumnType) -> None:
    assert row.is_nested == pa.types.is_nested(row.example)
    assert (row.is_time or row.group == "interval") == pa.types.is_temporal(row.example)
    for group, is_one in {
        "int": pa.types.is_integer,
        "float": pa.types.is_floating,
        "decimal": pa.types.is_decimal,
        "date": pa.types.is_date,
        "time": pa.types.is_time,
        "dictionary": pa.types.is_dictionary,
        "union": pa.types.is_union,
    }.items():
        assert (row.group == group) == is_one(row.example)


@each_type
def test_kernels_read_the_numbers_of_the_row(dtype: pa.DataType) -> None:
    row = column_type(dtype)
    if row.numbers is None:
        assert row.kind == "object"
        with pytest.raises(CannotCompileError, match="are not compiled: only numbers, booleans and times are"):
            nulls(2, dtype)
        return
    values = pa.nulls(3) if dtype == pa.null() else pa.array([1, None, 0], pa.int8()).cast(row.numbers).cast(dtype)
    column = read_numbers(values)
    assert KINDS[column.values.dtype.name] == column.kind == row.kind
    assert column.values.dtype == np.dtype(row.numbers.to_pandas_dtype())
    assert column.type == dtype
    assert column_to_arrow(column).type == (pa.float64() if dtype == pa.null() else dtype)


@each_type
def test_a_type_holds_its_sample(dtype: pa.DataType) -> None:
    sample = sample_of(dtype)
    assert holds(dtype, sample)
    if dtype != pa.null():  # a float, as kernels read nulls
        assert objects_of(pa.array([sample], dtype)) == [sample]


@each_type
def test_numbers_have_an_order_differences_and_keys(dtype: pa.DataType) -> None:
    row = column_type(dtype)
    assert not row.has_sums or row.has_differences
    assert not row.has_differences or row.has_order
    assert not row.is_word or row.numbers is not None
    assert can_be_key(dtype) == (column_type(dtype).can_be_key and can_be_key(pa.list_(dtype)))
    assert can_be_key(readable_schema(pa.schema([("x", dtype)])).field("x").type)
    if row.is_time:
        assert column_type(difference_type(dtype)).group == "duration"
    if row.is_time and row.has_middle:
        assert column_type(middle_type(dtype)).group == row.group


def test_types_with_one_buffer_of_values() -> None:
    words = [dtype for dtype in TYPES if column_type(dtype).is_word]
    assert {dtype.bit_width for dtype in words} == {32, 64}
    assert all(len(pa.nulls(1, dtype).buffers()) == 2 for dtype in words)
    assert not any(column_type(dtype).is_word for dtype in (pa.bool_(), pa.int8(), pa.string(), pa.null()))
