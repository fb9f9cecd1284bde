"""Columns that follow their rows to keys, and back, are those that row numbers would give."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sash.engine import keys
from sash.engine.keys import KeyOrder, order_by_key
from sash.kernels.plain import compile_loop
from sash.windows.base import LoopCompiler, as_it_stands
from sash.windows.numpy_forms import numpy_form

RUNS = {"compiled": compile_loop, "interpreted": as_it_stands, "NumPy": numpy_form}
COLUMNS = {
    "float64": pa.float64(),
    "int32": pa.int32(),
    "timestamp": pa.timestamp("us"),
    "bool": pa.bool_(),
    "int8": pa.int8(),
    "string": pa.string(),
}
codes_of_rows = st.lists(st.integers(0, 4), min_size=1, max_size=40)


@pytest.fixture(autouse=True)
def every_column_is_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keys, "LARGE", 0)


def by_row_numbers(order: KeyOrder) -> KeyOrder:
    return KeyOrder(order.rows, order.firsts)


@pytest.mark.parametrize("run", RUNS.values(), ids=RUNS)
@pytest.mark.parametrize("kind", ["bool", "int32", "int64", "float32", "float64", "object"])
@given(codes=codes_of_rows)
def test_columns_are_arranged_by_key(run: LoopCompiler, kind: str, codes: list[int]) -> None:
    column = np.arange(len(codes)).astype(kind)
    order = order_by_key(np.array(codes, np.int64), 5, run)
    scattered = order.arrange(column)
    assert scattered.dtype == column.dtype
    assert scattered.flags.writeable  # a kernel is compiled for arrays of one kind
    assert scattered.tolist() == by_row_numbers(order).arrange(column).tolist()


@pytest.mark.parametrize("run", RUNS.values(), ids=RUNS)
@pytest.mark.parametrize("kind", COLUMNS.values(), ids=COLUMNS)
@given(codes=codes_of_rows, nulls=st.booleans(), offset=st.integers(0, 9))
def test_results_return_to_input_order(
    run: LoopCompiler, kind: pa.DataType, codes: list[int], nulls: bool, offset: int
) -> None:
    count = len(codes) + offset
    numbers = pa.array([None if nulls and number % 3 == 0 else number % 2 for number in range(count)], pa.int64())
    column = numbers.cast(pa.int64() if pa.types.is_timestamp(kind) else kind).cast(kind)[offset:]
    order = order_by_key(np.array(codes, np.int64), 5, run)
    assert order.restore(column).equals(by_row_numbers(order).restore(column))
