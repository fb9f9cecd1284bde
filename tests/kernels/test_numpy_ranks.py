"""NumpyRankKernel and NumpyDistinctKernel return what plain Python returns, bit by bit, and what compiled kernels return."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations, product
from typing import Any

import numpy as np
import pytest
from helpers.cases import SOAK
from helpers.pairwise import FULL, some
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sash import agg
from sash.aggregates.base import Aggregate
from sash.aggregates.median_like import SortedValues
from sash.algorithms import OccurrenceTable, OrderStatisticsTree, TwoStacks
from sash.columns.buffers import NO_BITS
from sash.columns.column_types import KINDS
from sash.engine.executors.executor import with_min_rows
from sash.kernels import Kernel, loops
from sash.kernels.kernel_arrays import ResultColumn
from sash.kernels.numpy_kernel import NumpyKernel
from sash.kernels.ranks import blocks
from sash.kernels.ranks.numpy_kernels import NumpyDistinctKernel, NumpyRankKernel, SortedBlocks
from sash.kernels.ranks.rank_kernel import RankKernel
from sash.kernels.ranks.wavelet_matrix import count_up_to, select
from sash.kernels.traced import CannotVectorizeError
from sash.kernels.whole_column import numpy_column_kernel

LARGE = [-(2**63), 2**63 - 1, 2**53 + 1, -(2**53) - 1]
COLUMNS: dict[str, st.SearchStrategy[Any]] = {
    "bool": st.booleans(),
    "int32": st.integers(-(2**31), 2**31 - 1) | st.integers(-2, 2),
    "int64": st.integers(-(2**63), 2**63 - 1) | st.integers(-2, 2) | st.sampled_from(LARGE),
    "float32": st.floats(width=32) | st.sampled_from([0.0, -0.0, 1.0, float("inf"), float("nan")]),
    "float64": st.floats() | st.sampled_from([0.0, -0.0, 1.0, float("inf"), float("-inf"), float("nan")]),
}
AGGREGATES = (
    st.just(agg.median("x"))
    | st.builds(agg.quantile, st.just("x"), st.floats(0, 1) | st.sampled_from([0.0, 0.1, 0.25, 0.5, 0.9, 1.0]))
    | st.builds(agg.nth_smallest, st.just("x"), st.integers(1, 5))
)


@pytest.fixture(params=[(1 << 15, 6), (8, 1)], ids=["one batch", "many batches"])
def cut(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Cut a short column into many blocks, too."""
    monkeypatch.setattr(blocks, "TOGETHER", request.param[0])
    monkeypatch.setattr(blocks, "LEAST_BITS", request.param[1])


def bits_of(values: Any) -> bytes:
    """The bits of a column, those of NaN always the same."""
    array = np.array(values)
    return np.where(array == array, array, array.dtype.type(1e9 if array.dtype.kind == "f" else 0)).tobytes()  # noqa: PLR0124


def assert_same(found: ResultColumn, expected: ResultColumn) -> None:
    assert found.values.dtype == expected.values.dtype
    assert found.valid.tolist() == expected.valid.tolist()
    assert bits_of(found.values[found.valid]) == bits_of(expected.values[expected.valid])
    assert np.isnan(found.values[found.valid]).tolist() == np.isnan(expected.values[expected.valid]).tolist()


def plain_results(
    aggregate: Aggregate[Any], column: Any, bounds: Any, present: Any, kind: np.dtype[Any]
) -> ResultColumn:
    """Sort each window."""
    form = aggregate.of_kind(KINDS[column.dtype.name])
    values, valid = [], []
    for begin, end in bounds:
        held = [value for value, there in zip(column[begin:end].tolist(), present[begin:end], strict=True) if there]
        valid.append(len(held) >= form.result.rows_needed)
        values.append(form.lower(SortedValues(held)) if valid[-1] else 0)
    return ResultColumn(np.array(values, kind), np.packbits(np.array(valid, np.bool_), bitorder="little"))


def draw_bounds(data: st.DataObject, rows: int) -> tuple[Any, Any]:
    """Bounds that never move back; windows may be empty."""
    places = st.lists(st.integers(0, rows), max_size=40)
    begins, ends = (np.sort(np.array(data.draw(places), np.int64)) for _ in range(2))
    begins = begins[: len(ends)]
    return begins, np.maximum(ends[: len(begins)], begins)


@pytest.mark.parametrize("bits", [1, 2, 3])
def test_the_matrix_has_every_rank_of_every_range(bits: int) -> None:
    chooser = np.random.default_rng(bits)
    sequence = chooser.integers(0, 1 << bits, 12).astype(np.uint16)
    asked = [(begin, end, rank) for begin, end in product(range(13), repeat=2) for rank in range(end - begin)]
    before = sequence.copy()
    found = select(sequence, bits, *np.array(asked, np.int32).T)
    assert found.tolist() == [sorted(sequence[begin:end].tolist())[rank] for begin, end, rank in asked]
    assert sequence.tolist() == before.tolist()


@pytest.mark.parametrize("bits", [1, 2, 3])
def test_the_matrix_counts_up_to_every_limit_in_every_range(bits: int) -> None:
    sequence = np.random.default_rng(bits).integers(0, 1 << bits, 12).astype(np.int32)
    asked = [(*bounds, limit) for bounds in combinations(range(13), 2) for limit in range(1 << bits)]
    found = count_up_to(sequence, bits, *np.array(asked, np.int32).T)
    assert found.tolist() == [int((sequence[begin:end] <= limit).sum()) for begin, end, limit in asked]


@pytest.mark.usefixtures("cut")
@pytest.mark.parametrize("kind", COLUMNS)
@settings(max_examples=2000 if SOAK else 60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_windows_are_those_of_plain_python(kind: str, data: st.DataObject) -> None:
    column = np.array(data.draw(st.lists(COLUMNS[kind], max_size=60)), kind)
    aggregate = with_min_rows(data.draw(AGGREGATES), data.draw(st.integers(1, 3)))
    present = np.array([data.draw(st.integers(0, 3)) > 0 for _ in column], np.bool_)
    begins, ends = draw_bounds(data, len(column))
    bits = np.packbits(present, bitorder="little") if data.draw(st.booleans()) else NO_BITS
    kernel = NumpyRankKernel(aggregate, (kind,))
    [found] = kernel.slide_between((column,), begins, ends, bits)
    there = present if len(bits) else np.ones(len(column), np.bool_)
    bounds = list(zip(begins.tolist(), ends.tolist(), strict=True))
    assert_same(found, plain_results(aggregate, column, bounds, there, kernel.results[0]))


@pytest.mark.usefixtures("cut")
@pytest.mark.parametrize("kind", COLUMNS)
@settings(max_examples=1000 if SOAK else 40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_distinct_values_are_those_of_plain_python(kind: str, data: st.DataObject) -> None:
    few = data.draw(st.lists(COLUMNS[kind], min_size=1, max_size=8))
    column = np.array(data.draw(st.lists(st.sampled_from(few), max_size=60)), kind)
    present = np.array([data.draw(st.integers(0, 3)) > 0 for _ in column], np.bool_)
    least = data.draw(st.integers(1, 3))
    aggregate = agg.count_distinct("x") if least == 1 else with_min_rows(agg.count_distinct("x"), least)
    begins, ends = draw_bounds(data, len(column))
    kernel = NumpyDistinctKernel(aggregate, (kind,))
    [found] = kernel.slide_between((column,), begins, ends, np.packbits(present, bitorder="little"))
    for number, (begin, end) in enumerate(zip(begins.tolist(), ends.tolist(), strict=True)):
        held = column[begin:end][present[begin:end]]
        assert found.valid[number] == (least == 1 or len(held) >= least)
        if found.valid[number]:
            assert found.values[number] == len({"nan" if value != value else value for value in held.tolist()})  # noqa: PLR0124


@pytest.mark.parametrize("kind", COLUMNS if SOAK else ["float64"])
@pytest.mark.parametrize("least", some([3, 1], 2))
def test_distinct_values_are_those_of_the_compiled_kernel(kind: str, least: int) -> None:
    chooser = np.random.default_rng(6)
    rows = 2000
    column = chooser.choice([0.0, -0.0, 1.0, 2.0, 3.0, np.nan], rows) + chooser.integers(0, 30, rows) ** 2
    column = (np.nan_to_num(column) if KINDS[kind] != "float" else column).astype(kind)
    some = np.packbits(chooser.random(rows) < 0.3, bitorder="little")
    ends = np.arange(1, rows + 1)
    aggregate = agg.count_distinct("x") if least == 1 else with_min_rows(agg.count_distinct("x"), least)
    mine = NumpyDistinctKernel(aggregate, (kind,))
    compiled = Kernel(OccurrenceTable, aggregate, (kind,), loops.slide_between, nullable=True)
    for length in (1, 5, 700):
        begins = np.maximum(ends - length, 0)
        [found] = mine.slide_between((column,), begins, ends, some)
        [expected] = compiled.slide_between((column,), begins, ends, some)
        assert_same(found, expected)


@pytest.mark.parametrize("kind", COLUMNS if SOAK else ["float64", "int64"] if FULL else ["float64"])
@pytest.mark.parametrize(
    "aggregate", some([agg.median("x"), agg.quantile("x", 0.3), agg.nth_smallest("x", 3)], 3), ids=repr
)
def test_windows_are_those_of_the_compiled_kernel(aggregate: Aggregate[Any], kind: str) -> None:
    chooser = np.random.default_rng(5)
    rows = 3000
    numbers = chooser.choice([-0.0, 0.0, 1.5, -2.5, np.inf, np.nan, 1e30], rows)
    floats = np.where(chooser.random(rows) < 0.3, numbers, chooser.normal(size=rows))
    integers = np.where(chooser.random(rows) < 0.3, chooser.choice(LARGE, rows), chooser.integers(-9, 9, rows))
    column = (floats if KINDS[kind] == "float" else integers).astype(kind)
    some = np.packbits(chooser.random(rows) < 0.8, bitorder="little")
    ends = np.arange(1, rows + 1)
    mine, compiled = NumpyRankKernel(aggregate, (kind,)), RankKernel(aggregate, (kind,))
    bounds = [(np.maximum(ends - length, 0), ends) for length in (1, 2, 7, 100, 5000)]
    bounds += [(np.arange(0, rows, 50), np.arange(50, rows + 50, 50))]  # tumbling
    begins = np.sort(chooser.integers(0, rows, 500))
    bounds += [(begins, np.maximum.accumulate(np.minimum(begins + chooser.integers(0, 400, 500), rows)))]
    for validity in (NO_BITS, some):
        for first, after in bounds:
            [found] = mine.slide_between((column,), first, after, validity)
            [expected] = compiled.slide_between((column,), first, after, validity)
            # The compiled kernel sorts -0.0 and 0.0 in any order, so adding 0 makes both 0.0.
            assert_same(replace(found, values=found.values + 0), replace(expected, values=expected.values + 0))


def test_the_entries_of_a_list_share_the_sorted_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    made = []

    class Counted(SortedBlocks):
        def __init__(self, *args: Any) -> None:
            made.append(args)
            super().__init__(*args)

    chooser = np.random.default_rng(7)
    column, ends = chooser.normal(size=3000), np.arange(1, 3001)
    begins = np.maximum(ends - 100, 0)
    some = np.packbits(chooser.random(3000) < 0.8, bitorder="little")
    entries = [with_min_rows(agg.quantile("x", q), 3) for q in (0.5, 0.1, 1.0)]
    alone = [NumpyRankKernel(entry, ("float64",)).slide_between((column,), begins, ends, some)[0] for entry in entries]
    monkeypatch.setattr("sash.kernels.ranks.numpy_kernels.SortedBlocks", Counted)
    NumpyRankKernel(entries[0], ("float64",)).slide_between((column,), begins, ends, some)
    once = len(made)
    made.clear()
    together = NumpyRankKernel(entries, ("float64",)).slide_between((column,), begins, ends, some)
    assert len(made) == once
    for found, expected in zip(together, alone, strict=True):
        assert_same(found, expected)


@pytest.mark.parametrize("pct", [False, True])
@pytest.mark.parametrize("method", ["average", "min", "max"])
@pytest.mark.parametrize("length", [1, 7, 100, 5000])
def test_the_rank_of_the_newest_value_is_that_of_the_interpreter(length: int, method: Any, pct: bool) -> None:
    chooser = np.random.default_rng(length)
    column = np.where(chooser.random(600) < 0.1, np.nan, chooser.integers(-9, 9, 600) * 0.5)
    ends = np.arange(1, 601)
    begins = np.maximum(ends - length, 0)
    rank = agg.rank(method=method, pct=pct)
    [found] = NumpyRankKernel(rank, ("float64",)).slide_between((column,), begins, ends)
    for row in chooser.integers(0, 600, 40).tolist():
        partial = rank.lift(column[begins[row]])
        for value in column[begins[row] + 1 : row + 1]:
            partial = rank.combine(partial, rank.lift(value))
        assert found.values[row] == rank.lower(partial)


def test_what_reads_other_values_is_refused() -> None:
    with pytest.raises(CannotVectorizeError, match="different values"):
        numpy_column_kernel(OrderStatisticsTree, [agg.median("x"), agg.nth_smallest("x", 3)], ("int64",))


def test_no_rows_and_no_windows() -> None:
    kernel = NumpyRankKernel(agg.median("x"), ("float64",))
    nothing = np.empty(0, np.int64)
    for column in (np.empty(0), np.ones(3)):
        [found] = kernel.slide_between((column,), nothing, nothing)
        assert found.values.tolist() == []
    [found] = kernel.slide_between((np.empty(0),), np.array([0]), np.array([0]))
    assert found.valid.tolist() == [False]
    [found] = kernel.slide_between((np.ones(2),), np.array([0]), np.array([2]), np.zeros(1, np.uint8))
    assert found.valid.tolist() == [False]


def test_blocks_without_windows_are_left_out() -> None:
    begins = np.array([0, 500_000, 999_990])
    grid = blocks.EqualBlocks(begins, begins + 10, rows=1_000_000)
    [batch] = grid.batches()
    assert len(batch.starts) == 3
    for begin, offset in zip(begins.tolist(), batch.offsets.tolist(), strict=True):
        assert (begin + offset) >> grid.bits == (begin + 9 + offset) >> grid.bits


def test_the_algorithm_decides_which_kernel_keeps_values() -> None:
    assert isinstance(numpy_column_kernel(OccurrenceTable, [agg.count_distinct("x")], ("int32",)), NumpyDistinctKernel)
    assert isinstance(numpy_column_kernel(OrderStatisticsTree, [agg.median("x")], ("int64",)), NumpyRankKernel)
    assert type(numpy_column_kernel(TwoStacks, [agg.max("x")], ("int64",))) is NumpyKernel
    with pytest.raises(CannotVectorizeError, match="needs the values of a window"):
        numpy_column_kernel(TwoStacks, [agg.median("x")], ("int64",))
