"""Group ids and the order of rows: NumPy ≡ the loops ≡ Python's sort."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sash.engine import keys
from sash.engine.group_ids import first_rows, number_keys
from sash.engine.keys import is_in_order, is_in_time, order_rows, take_rows
from sash.engine.scatter import scatter_in_chunks, sort_codes
from sash.kernels.plain import compile_loop
from sash.windows import arrays
from sash.windows.base import LoopCompiler, as_it_stands
from sash.windows.numpy_forms import numpy_form

EVERY_RUN = pytest.mark.parametrize("run", [as_it_stands, numpy_form, compile_loop])
ROWS = st.lists(st.tuples(st.integers(-3, 3), st.integers(-4, 4)), max_size=30)


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arrays, "BLOCK", 5)


def numbers_of(values: list[int]) -> list[int]:
    known: dict[int, int] = {}
    return [known.setdefault(value, len(known)) for value in values]


@EVERY_RUN
@settings(max_examples=50)
@given(values=st.lists(st.integers(-50, 50), max_size=40))
def test_keys_are_numbered_in_the_order_of_first_rows(run: LoopCompiler, values: list[int]) -> None:
    codes, count = number_keys(pa.table({"k": pa.array(values, pa.int64())}), ("k",), run)
    assert codes.tolist() == numbers_of(values)
    assert count == len(set(values))


@EVERY_RUN
@settings(max_examples=50)
@given(rows=ROWS)
def test_rows_are_ordered_by_key_and_time(run: LoopCompiler, rows: list[tuple[int, int]]) -> None:
    codes = numbers_of([key for key, _ in rows])
    times = [time for _, time in rows]
    count = len(set(codes))
    order, arranged = order_rows(np.array(codes, np.int64), count, np.array(times, np.int64), run)
    expected = sorted(range(len(rows)), key=lambda row: (codes[row], times[row]))
    places = range(len(rows)) if order.rows is None else order.rows.tolist()
    assert list(places) == expected
    assert arranged.tolist() == [times[row] for row in expected]
    assert np.diff(order.firsts).tolist() == [codes.count(key) for key in range(count)]


@given(rows=ROWS, in_order=st.booleans())
def test_checks_of_order_agree_with_sorting(rows: list[tuple[int, int]], in_order: bool) -> None:
    rows = sorted(rows) if in_order else rows
    codes, times = (np.array([row[part] for row in rows], np.int64) for part in (0, 1))
    assert is_in_order(codes, times) == (sorted(rows) == rows)
    by_key = sorted(rows, key=lambda row: row[0])
    firsts = np.array([0, *(sum(key <= last for key, _ in rows) for last in range(-3, 4))], np.int64)
    assert is_in_time(np.array([time for _, time in by_key], np.int64), firsts) == (sorted(rows) == by_key)


@pytest.mark.parametrize("count", [1, 256, 257, 65536, 65537, 1 << 24, (1 << 24) + 1])
def test_a_sort_by_key_is_stable(count: int) -> None:
    codes = np.random.default_rng(count).integers(0, count, 3000)
    codes[::7] = count - 1
    assert (sort_codes(codes, count) == np.argsort(codes, kind="stable")).all()


@settings(max_examples=50)
@given(values=st.lists(st.integers(0, 5), max_size=30), data=st.data())
def test_numpy_scatters_rows_in_chunks_as_the_loop_does(values: list[int], data: st.DataObject) -> None:
    cuts = sorted({0, *data.draw(st.lists(st.integers(0, len(values)))), len(values)})
    found = []
    for run in (numpy_form, as_it_stands):
        counts, rows, owners, firsts = (np.zeros(size, np.int64) for size in (6, *[len(values)] * 2, len(values) + 1))
        groups = run(scatter_in_chunks)(np.array(values, np.int64), np.array(cuts), counts, rows, owners, firsts)
        found.append([groups, counts.tolist(), rows.tolist(), owners[:groups].tolist(), firsts[: groups + 1].tolist()])
    assert found[0] == found[1]
    assert all(sorted(found[0][2][begin:end]) == list(range(begin, end)) for begin, end in pairwise(cuts))


@given(values=st.lists(st.integers(0, 40), min_size=1, max_size=60), repeated=st.integers(1, 60))
def test_the_first_row_of_each_key(values: list[int], repeated: int) -> None:
    codes = numbers_of([value for value in values for _ in range(repeated)])
    assert first_rows(np.array(codes), max(codes) + 1).tolist() == [codes.index(key) for key in range(max(codes) + 1)]


@pytest.mark.parametrize("kind", ["bool", "uint8", "int32", "int64", "float32", "float64", "object"])
def test_rows_are_taken_by_numpy_or_arrow(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    column = np.array([0, 1, 2, 0], kind)
    if column.dtype.kind == "f":
        column[0] = np.nan  # which stays a value
    rows = np.array([3, 0, 2, 2, 1])
    expected = [column[row] for row in rows]
    for large in (0, 9):
        monkeypatch.setattr(keys, "LARGE", large)
        taken = take_rows(column, rows)
        assert taken.dtype == column.dtype
        assert taken.flags.writeable  # a kernel is compiled for arrays of one kind
        np.testing.assert_array_equal(taken, np.array(expected, kind))
