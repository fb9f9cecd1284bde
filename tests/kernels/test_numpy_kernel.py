"""NumpyKernel returns what a compiled kernel returns: the same types, nulls and values, floats but for rounding."""

from __future__ import annotations

from functools import reduce
from itertools import product
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from helpers.cases import SOAK
from helpers.pairwise import some
from helpers.references import REFERENCES, build

import sash
from sash import agg, window
from sash.aggregates import BUILT_IN
from sash.aggregates.base import Aggregate
from sash.algorithms import TwoStacks
from sash.columns.buffers import NO_BITS
from sash.columns.column_types import KINDS
from sash.kernels import Kernel, loops
from sash.kernels.kernel_arrays import Schedule
from sash.kernels.numpy_kernel import NumpyKernel
from sash.kernels.traced import CannotVectorizeError
from sash.slices.open_slice import OpenSlice

ROWS, WINDOWS = 700, 150
chooser = np.random.default_rng(7)
COLUMNS: dict[str, Any] = {
    "float64": np.where(chooser.random(ROWS) < 0.05, np.nan, chooser.normal(size=ROWS)),
    "int64": chooser.integers(-50, 50, ROWS),
    "bool": chooser.random(ROWS) < 0.5,
    "int32": chooser.integers(-50, 50, ROWS).astype(np.int32),
    "float32": chooser.normal(size=ROWS).astype(np.float32),
}
SOME = np.packbits(chooser.random(ROWS) < 0.6, bitorder="little")
BEGINS = np.sort(chooser.integers(0, ROWS, WINDOWS))
ENDS = np.maximum.accumulate(np.minimum(BEGINS + chooser.integers(0, 40, WINDOWS), ROWS))
POSITIONS = np.sort(chooser.choice(np.arange(1, ROWS + 1), WINDOWS, replace=False))
CLOSES = chooser.random(WINDOWS) < 0.8


def vectorised() -> list[str]:
    """The aggregates that NumPy evaluates."""
    names = []
    for name in sorted(BUILT_IN):
        try:
            aggregate = build(name)
            NumpyKernel(TwoStacks, [aggregate], ("float64",) * max(1, aggregate.inputs))
        except (CannotVectorizeError, TypeError):
            continue
        names.append(name)
    return names


def columns_for(aggregate: Aggregate[Any], kind: str) -> tuple[tuple[Any, ...], tuple[str, ...]]:
    width = max(1, aggregate.inputs)
    return tuple(np.roll(COLUMNS[kind], 3 * place) for place in range(width)), (kind,) * width


def assert_alike(found: list[Any], expected: list[Any]) -> None:
    for mine, theirs in zip(found, expected, strict=True):
        assert mine.values.dtype == theirs.values.dtype
        assert mine.valid.tolist() == theirs.valid.tolist()
        np.testing.assert_allclose(mine.values[mine.valid], theirs.values[theirs.valid], rtol=1e-9, atol=1e-12)


NAMES = vectorised()
COMPILED = NAMES if SOAK else ["arg_max", "mean", "stddev"]
"""The aggregates that are compared with compiled kernels, which takes seconds each; all are compared with plain Python."""


@pytest.mark.parametrize(("kind", "name"), some(product(COLUMNS, NAMES), 3))
def test_windows_are_those_of_plain_python(name: str, kind: str) -> None:
    aggregate = build(name) if build(name).inputs else agg.BUILT_IN[name]("x", **REFERENCES[name].arguments)
    columns, inputs = columns_for(aggregate, kind)
    form = aggregate.of_kind(KINDS[kind]) if aggregate.inputs == 1 else aggregate
    for validity in (NO_BITS, SOME):
        [found] = NumpyKernel(TwoStacks, [aggregate], inputs).slide_between(columns, BEGINS, ENDS, validity)
        present = np.diff(_before(validity)) > 0
        for number, (begin, end) in enumerate(zip(BEGINS.tolist(), ENDS.tolist(), strict=True)):
            rows = [row for row in range(begin, end) if present[row]]
            enough = len(rows) >= form.result.rows_needed
            assert found.valid[number] == (enough or form.result.empty is not None)
            if enough:
                partials = [form.lift(*(column[row].item() for column in columns)) for row in rows]
                expected = form.lower(reduce(form.combine, partials))
                assert found.values[number] == pytest.approx(float(expected), rel=1e-6, abs=1e-9, nan_ok=True)


@pytest.mark.parametrize(("name", "kind"), some(product(COMPILED, COLUMNS if SOAK else ["float64", "int64"]), 6))
def test_windows_and_slices_are_those_of_compiled_kernels(name: str, kind: str) -> None:
    aggregate = build(name) if build(name).inputs else agg.BUILT_IN[name]("x", **REFERENCES[name].arguments)
    columns, inputs = columns_for(aggregate, kind)
    mine = NumpyKernel(TwoStacks, [aggregate], inputs)
    compiled = Kernel(TwoStacks, aggregate, inputs, loops.slide_between, nullable=True)
    cutter = Kernel(OpenSlice, aggregate, inputs, loops.cut_slices, nullable=True)
    assert mine.layout.shape == cutter.layout.shape
    for validity in (NO_BITS, SOME):
        assert_alike(
            mine.slide_between(columns, BEGINS, ENDS, validity), compiled.slide_between(columns, BEGINS, ENDS, validity)
        )
        slices = mine.cut_slices(columns, POSITIONS, CLOSES, validity)
        held = np.diff(_before(validity)[POSITIONS], prepend=0)
        expected = cutter.cut_slices(columns, POSITIONS, CLOSES, validity)
        for field, other in zip(slices, expected, strict=True):
            assert field.dtype == other.dtype
            np.testing.assert_allclose(field[held > 0], other[held > 0], rtol=1e-9, atol=1e-12)
        over = Kernel(TwoStacks, aggregate, inputs, loops.slide_slices, nullable=True, over=cutter.layout.shape)
        own = NumpyKernel(TwoStacks, [aggregate], inputs, over=cutter.layout.shape)
        schedule, present = _schedule(held)
        assert_alike(
            own.slide_slices(tuple(expected), schedule, present), over.slide_slices(tuple(expected), schedule, present)
        )


def _before(validity: Any) -> Any:
    present = np.ones(ROWS, np.bool_) if not len(validity) else np.unpackbits(validity, count=ROWS, bitorder="little")
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(present)])


def _schedule(held: Any) -> tuple[Schedule, Any]:
    """Windows over the slices of POSITIONS, some of which read an open slice."""
    present = (held > 0) & CLOSES
    before = np.concatenate([np.zeros(1, np.int64), np.cumsum(present)])
    ends = np.sort(chooser.integers(1, WINDOWS, 60))
    begins = np.maximum.accumulate(np.maximum(ends - chooser.integers(0, 20, 60), 0))
    opens = np.where((held[ends] > 0) & ~CLOSES[ends], ends, -1)
    lasts = before[ends] - before[begins]
    values = np.concatenate([np.zeros(1, np.int64), np.cumsum(held * present)])
    counted = values[ends] - values[begins] + np.where(opens >= 0, held[opens], 0)
    numbers = np.zeros(60, np.int64)
    return Schedule(begins, ends, lasts, numbers, opens, counted), np.packbits(present, bitorder="little")


def test_several_aggregates_share_partials() -> None:
    several = [agg.max("x"), agg.mean("x"), agg.stddev("x"), agg.count("x"), agg.variance("x")]
    mine = NumpyKernel(TwoStacks, several, ("float64",))
    compiled = Kernel(TwoStacks, several, ("float64",), loops.slide_between, nullable=True)
    columns = (COLUMNS["float64"],)
    assert mine.layout.shape == compiled.layout.shape
    assert_alike(mine.slide_between(columns, BEGINS, ENDS, SOME), compiled.slide_between(columns, BEGINS, ENDS, SOME))


def test_types_are_those_of_all_paths() -> None:
    """Types must not depend on the values: all rows may take one path in a first table and another one in the next."""
    half = sash.aggregate(
        "half", lift=lambda x: 1 if x > 0 else 0.5, combine=lambda a, b: a + b, lower=lambda c: c if c > 1 else 0
    )
    compiled = Kernel(TwoStacks, half("x"), ("int64",), loops.slide_between, nullable=True)
    kernel = NumpyKernel(TwoStacks, [half("x")], ("int64",))
    bounds = np.array([0, 0, 0]), np.array([1, 2, 3])
    for values in ([1, 2, 3], [-1, 2, -3], [-1, -1, -1]):
        columns = (np.array(values),)
        assert_alike(kernel.slide_between(columns, *bounds), compiled.slide_between(columns, *bounds))


def test_values_that_numpy_cannot_compute_stop_the_kernel() -> None:
    kernel = NumpyKernel(TwoStacks, [agg.sum("x")], ("int64",))
    large = np.array([2**62, 2**62])
    with pytest.raises(CannotVectorizeError):
        kernel.slide_between((large,), np.array([0]), np.array([2]))
    assert kernel.slide_between((large,), np.array([0]), np.array([1]))[0].values.tolist() == [2**62]


def test_the_compiled_executor_takes_over_between_nulls() -> None:
    """It gets the windows over all rows, not those over rows with values."""
    rows = pa.table({"k": ["a", "b", "b"], "x": pa.array([None, 2**62, -(2**62) - 1])})
    with pytest.raises(OverflowError, match="the row of k=b"):
        sash.Query(agg.spread("x"), window.rows(2), by="k").run(rows)
