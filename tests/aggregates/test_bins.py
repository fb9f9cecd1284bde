"""Histograms: the bins of NumPy, exactly, compiled as interpreted."""

from __future__ import annotations

import math
from decimal import Decimal
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from helpers.pairwise import FULL
from helpers.references import any_float, from_left, small
from hypothesis import given
from hypothesis import strategies as st

import sash
from sash import agg, window
from sash.engine.executors.bind import bind
from sash.engine.prepare import prepare
from sash.engine.run_table import TableRun

edges = st.lists(any_float.filter(lambda edge: not math.isnan(edge)) | small, min_size=2, max_size=6, unique=True).map(
    sorted
)
INT64 = [-(2**63), 2**63 - 1, 2**53, 2**53 + 1, -1, 0, 1, 2, 3]


def counted(values: list[Any], limits: list[Any]) -> list[int]:
    """The definition: half-open bins, the last one closed."""
    bins = [[one for one in values if low <= one < high] for low, high in pairwise(limits)]
    return [len(one) for one in bins[:-1]] + [len([one for one in values if limits[-2] <= one <= limits[-1]])]


@given(st.lists(any_float | small, min_size=1, max_size=12), edges)
def test_bins_are_those_of_numpy(values: list[Any], limits: list[Any]) -> None:
    histogram = agg.histogram(edges=limits)
    assert from_left(histogram, values) == np.histogram(values, limits)[0].tolist() == counted(values, limits)
    assert [
        from_left(entry.of_kind("float"), list(map(float, values))) for entry in histogram.forms.entries
    ] == counted(list(map(float, values)), limits)


@given(st.lists(st.sampled_from(INT64) | st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=12), edges)
def test_bins_of_integers_are_exact(values: list[int], limits: list[Any]) -> None:
    histogram = agg.histogram(edges=limits)
    assert from_left(histogram, values) == counted(values, limits)
    assert [from_left(entry.of_kind("int"), values) for entry in histogram.forms.entries] == counted(values, limits)


def test_neighbours_of_an_edge_that_floats_do_not_distinguish() -> None:
    rows = pa.table({"x": [2**53, 2**53 + 1, 2**63 - 1]})
    query = sash.Query(agg.histogram("x", [0, 2**53 + 1, 2**63, 2**70]), window.rows(3))
    for compiled in (True, False):
        assert query.run(rows, compiled=compiled)["histogram"].to_pylist()[-1] == [1, 2, 0]


@pytest.mark.parametrize("kind", [pa.int64(), pa.int32(), pa.float64(), pa.float32(), pa.bool_(), pa.decimal128(9, 1)])
@pytest.mark.parametrize("windows", [window.rows(3), window.time(6, slide=2), window.rows(3, min_rows=2)], ids=repr)
def test_every_engine_counts_the_same(kind: pa.DataType, windows: Any) -> None:
    values = [1, 0, None, 1, 5, 3, None, None, 0, 0, 9, 1]
    rows = pa.table({"t": range(12), "x": pa.array([None if one is None else bool(one) if kind == pa.bool_() else one for one in values], kind)})  # fmt: skip
    query = sash.Query({"h": agg.histogram("x", [0, 0.5, 1, 5])}, windows, time="t")
    expected = query.run(rows)
    assert expected.schema.field("h").type == pa.list_(pa.int64()) == query.schema(rows).field("h").type
    if kind in (pa.int64(), pa.float64())[not FULL :] and windows != window.rows(3):  # kernels take long to compile
        assert query.run(rows, compiled=True).equals(expected)
    with_numpy = bind(prepare(query._declared, rows.schema), compiles=False)
    assert not any(one.over_objects for one in with_numpy.plan.passes) or pa.types.is_decimal(kind)
    assert TableRun(with_numpy, 1).run(rows)["h"].combine_chunks().equals(expected["h"].combine_chunks())
    assert query.run(rows.to_reader(max_chunksize=5)).read_all().equals(expected)


def test_it_is_compiled_in_one_pass_and_subtracts() -> None:
    plan = str(sash.Query(agg.histogram("x", [0, 1, 2]), window.rows(9)).explain(pa.schema({"x": pa.float64()})))
    assert "subtract_on_evict" in plan
    assert "runs       NumPy, then compiled" in plan


def test_many_bins_are_interpreted() -> None:
    rows = pa.table({"x": [0.5, 30, None, 41]})
    query = sash.Query({"h": agg.histogram("x", range(42)), "one": agg.histogram("x", [0, 99])}, window.rows(2))
    assert "interpreted: of 41 bins; up to 20 are compiled" in str(query.explain(rows))
    found = query.run(rows, compiled=True)
    assert [sum(counts) for counts in found["h"].to_pylist()] == [1, 2, 1, 1]
    assert found["one"].to_pylist() == [[1], [2], [1], [1]]
    assert found.schema.field("h").type == pa.list_(pa.int64())


def test_a_window_without_values_has_zeros_but_none_with_too_few() -> None:
    rows = pa.table({"x": [None, 0.5]})
    assert sash.Query(agg.histogram("x"), window.rows(1)).run(rows)["histogram"].to_pylist() == [[0], [1]]
    few = sash.Query(agg.histogram("x"), window.rows(2, min_rows=2))
    assert few.run(rows)["histogram"].to_pylist() == few.run(rows, compiled=True)["histogram"].to_pylist() == [None] * 2


def test_a_decimal_is_compared_with_an_edge_as_it_is_written() -> None:
    assert from_left(agg.histogram(edges=[0, 0.1, 1]), [Decimal("0.1"), Decimal("NaN")]) == [0, 1]
    assert from_left(agg.histogram(edges=[Decimal(0), Decimal("0.1"), 1]), [0.1]) == [0, 1]


@pytest.mark.parametrize(
    ("limits", "error", "sentence"),
    [
        ([], ValueError, r"histogram got edges=\[\], but edges must have at least 2 numbers"),
        ([1], ValueError, r"edges must have at least 2 numbers"),
        ([1, 1], ValueError, r"histogram got edges with 1 before 1, but edges must increase"),
        ([0, math.nan], ValueError, r"none may be NaN"),
        ([0, "1"], TypeError, r"histogram got edges with '1', but edges must be a list of numbers"),
        ([False, True], TypeError, r"histogram got edges with False"),
        ("01", TypeError, r"histogram got edges='01', but edges must be a list of numbers"),
        (10, TypeError, r"histogram got edges=10, but edges must be a list of numbers"),
    ],
)
def test_impossible_edges_are_errors(limits: Any, error: type[Exception], sentence: str) -> None:
    with pytest.raises(error, match=sentence):
        agg.histogram("x", limits)


def test_edges_may_be_an_array() -> None:
    assert repr(agg.histogram("x", np.linspace(0, 1, 3))) == 'histogram("x", [0.0, 0.5, 1.0])'


def test_other_columns_are_an_error() -> None:
    with pytest.raises(TypeError, match="histogram needs numbers, but column 'x' is of type string"):
        sash.Query(agg.histogram("x"), window.rows(2)).run(pa.table({"x": ["a"]}))
