"""Columns that follow their rows to keys, and back, are those that row numbers would give."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sash.engine import keys, scatter
from sash.engine.keys import KeyOrder
from sash.engine.scatter import ScatteredRows
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
    monkeypatch.setattr(scatter, "SHARE_ROWS", 1)
    monkeypatch.setattr(scatter, "ROWS_PER_KEY", 1)


def scattered_order(codes: list[int], run: LoopCompiler, threads: int) -> KeyOrder:
    scattered = ScatteredRows(np.array(codes, np.int32), 5, run, threads)
    return KeyOrder(None, scattered.firsts, scattered=scattered)


def by_row_numbers(order: KeyOrder) -> KeyOrder:
    return KeyOrder(order.rows, order.firsts)


@pytest.mark.parametrize("run", RUNS.values(), ids=RUNS)
@pytest.mark.parametrize("kind", ["bool", "int32", "int64", "float32", "float64", "object"])
@given(codes=codes_of_rows, threads=st.integers(1, 3))
def test_columns_are_arranged_by_key(run: LoopCompiler, kind: str, codes: list[int], threads: int) -> None:
    column = np.arange(len(codes)).astype(kind)
    order = scattered_order(codes, run, threads)
    scattered = order.arrange(column)
    assert scattered.dtype == column.dtype
    assert scattered.flags.writeable  # a kernel is compiled for arrays of one kind
    assert scattered.tolist() == by_row_numbers(order).arrange(column).tolist()


@pytest.mark.parametrize("run", RUNS.values(), ids=RUNS)
@pytest.mark.parametrize("kind", COLUMNS.values(), ids=COLUMNS)
@given(codes=codes_of_rows, nulls=st.booleans(), offset=st.integers(0, 9), threads=st.integers(1, 3))
def test_results_return_to_input_order(
    run: LoopCompiler, kind: pa.DataType, codes: list[int], nulls: bool, offset: int, threads: int
) -> None:
    count = len(codes) + offset
    numbers = pa.array([None if nulls and number % 3 == 0 else number % 2 for number in range(count)], pa.int64())
    column = numbers.cast(pa.int64() if pa.types.is_timestamp(kind) else kind).cast(kind)[offset:]
    order = scattered_order(codes, run, threads)
    assert order.restore(column).equals(by_row_numbers(order).restore(column))


@pytest.mark.parametrize("run", RUNS.values(), ids=RUNS)
@given(codes=codes_of_rows, threads=st.integers(1, 3), data=st.data())
def test_sections_know_their_rows(run: LoopCompiler, codes: list[int], threads: int, data: st.DataObject) -> None:
    order = scattered_order(codes, run, threads)
    assert order.rows is not None
    assert order.rows.tolist() == sorted(range(len(codes)), key=lambda row: codes[row])
    first = data.draw(st.integers(0, 4))
    section = order.section(first, data.draw(st.integers(first, 5)))
    rows = [row for row in order.rows.tolist() if first <= codes[row] < first + len(section.firsts) - 1]
    assert section.rows is not None
    assert section.rows.tolist() == rows
    column = np.arange(len(codes)) * 1.5
    assert section.arrange(column).tolist() == column[rows].tolist()
