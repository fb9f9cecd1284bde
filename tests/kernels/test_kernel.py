from __future__ import annotations

import subprocess
import sys
from itertools import pairwise, product
from math import inf, nan
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from helpers.cases import AGGREGATES, SOAK, affine, compiled_by
from helpers.pairwise import matrix, some

from sash import agg, aggregate
from sash.aggregates import BUILT_IN
from sash.aggregates.base import Aggregate, with_fields
from sash.algorithms import ALGORITHMS, DABA, Algorithm, FlatFIT, OrderStatisticsTree, TwoStacks
from sash.algorithms.base import alike, fits
from sash.columns.buffers import NO_BITS
from sash.kernels import CannotCompileError, Kernel, loops
from sash.kernels.kernel_arrays import ResultColumn
from sash.kernels.ranks.rank_kernel import RankKernel
from sash.kernels.whole_column import column_kernel
from sash.testing import recompute

FUSED = [algorithm for algorithm in ALGORITHMS if not algorithm.interpreted_only]
OF_EVERY_KIND = ["max"]
"""Partials of one number, in `make test` for some algorithms; test_moving_bounds compiles every one for affine, which has two."""
OF_EVERY_LAW = ["sum_of_integers", "max", "last", "median", "count_distinct", "mode"]
"""What those are compiled for that need a law."""


def integers(rows: int, seed: int = 3) -> npt.NDArray[np.int64]:
    return np.random.default_rng(seed).integers(-4, 10, rows)


def windows(columns: tuple[Any, ...], begins: Any, ends: Any) -> list[list[Any]]:
    listed = [column.tolist() for column in columns]
    rows = list(zip(*listed, strict=True)) if len(listed) > 1 else listed[0]
    return [rows[begin:end] for begin, end in zip(begins, ends, strict=True)]


def expect_equal(chosen: Aggregate[Any], answers: list[ResultColumn], held: list[list[Any]]) -> None:
    [answer] = answers
    for result, is_valid, rows in zip(answer.values.tolist(), answer.valid.tolist(), held, strict=True):
        expected: Any = recompute(with_fields(chosen, finish=None), rows)  # a query finishes what a kernel lowers
        assert is_valid == (expected is not None)
        if is_valid:
            assert alike(result, float(expected) if isinstance(result, float) else expected), rows


@pytest.mark.parametrize("algorithm", [algorithm for algorithm in ALGORITHMS if algorithm.interpreted_only])
def test_an_algorithm_that_is_interpreted_only_says_why(algorithm: type[Algorithm[Any]]) -> None:
    with pytest.raises(CannotCompileError, match=rf"^{algorithm.__name__} is compiled only for .*\.$"):
        Kernel(algorithm, agg.max(), ("int64",), loops.slide_rows)


@pytest.mark.parametrize(
    ("algorithm", "name"),
    [
        (algorithm, name)
        for names, algorithms in (
            (AGGREGATES if SOAK else OF_EVERY_KIND, some([one for one in FUSED if not one.about.needs], 4)),
            (AGGREGATES if SOAK else OF_EVERY_LAW, some([one for one in FUSED if one.about.needs], 2)),
        )
        for algorithm in algorithms
        for name in names
        if not AGGREGATES[name].coding.interpreted_only or algorithm.keeps_values
        if fits(algorithm.about, AGGREGATES[name])
    ],
)
def test_fused_loop_agrees_with_the_oracle(algorithm: type[Algorithm[Any]], name: str) -> None:
    chosen = AGGREGATES[name]
    columns = (integers(130), integers(130, seed=4))[: max(1, chosen.inputs)]
    kernel = Kernel(algorithm, chosen, ("int64",) * chosen.inputs, loops.slide_rows)
    for length in (1, 2, 7, 16, 200):
        ends = np.arange(1, 131)
        begins = np.maximum(ends - length, 0)
        expect_equal(chosen, kernel.slide_rows(columns, length), windows(columns, begins, ends))


@pytest.mark.parametrize(
    "algorithm",
    # Moving bounds over ranks are what RankKernel is for, and test_ranks.py compares it; the tree takes long to compile.
    [algorithm for algorithm in FUSED if SOAK or algorithm is not OrderStatisticsTree],
    ids=lambda algorithm: algorithm.__name__,
)
def test_moving_bounds_agree_with_the_oracle(algorithm: type[Algorithm[Any]]) -> None:
    candidates = (
        affine,
        *(AGGREGATES[name] for name in ("sum_of_integers", "max", "median", "count_distinct", "mode")),
    )
    chosen = next(candidate for candidate in candidates if fits(algorithm.about, candidate))
    column = integers(90)
    generator = np.random.default_rng(5)
    kernel = Kernel(algorithm, chosen, ("int64",), loops.slide_between)
    for _ in range(10):  # bounds with steps, stops, empty windows and gaps between windows
        ends = np.minimum(np.cumsum(generator.integers(0, 4, 60)), 90)
        begins = np.minimum(np.maximum.accumulate(np.maximum(ends - generator.integers(-2, 9, 60), 0)), 90)
        ends = np.maximum(begins, ends)
        ends = np.maximum.accumulate(ends)
        expect_equal(chosen, kernel.slide_between((column,), begins, ends), windows((column,), begins, ends))


@pytest.mark.parametrize(
    "name",
    some(
        [name for name, chosen in AGGREGATES.items() if not (chosen.coding.interpreted_only or chosen.forms.entries)],
        9,
    ),  # queries compile lists
)
def test_every_aggregate_of_numbers_compiles(name: str) -> None:
    chosen = AGGREGATES[name]
    columns = (integers(80), integers(80, seed=4))[: max(1, chosen.inputs)]
    kernel = Kernel(TwoStacks, chosen, ("int64",) * chosen.inputs, loops.slide_rows)
    ends = np.arange(1, 81)
    begins = np.maximum(ends - 6, 0)
    expect_equal(chosen, kernel.slide_rows(columns, 6), windows(columns, begins, ends))


def shape_of(partial: Any) -> Any:
    """The form of a partial of numbers; None if it holds anything else."""
    if isinstance(partial, tuple):
        shapes = tuple(map(shape_of, partial))
        return None if None in shapes else shapes
    return "number" if isinstance(partial, int | float) else None


@pytest.mark.parametrize("name", AGGREGATES)
def test_an_aggregate_is_compiled_unless_its_partials_grow_or_hold_other_than_numbers(name: str) -> None:
    chosen = AGGREGATES[name]
    older, newer = (chosen.lift(*[value] * chosen.inputs) for value in (1, 2))
    of_numbers = shape_of(older) is not None and shape_of(older) == shape_of(chosen.combine(older, newer))
    assert of_numbers == (not chosen.coding.interpreted_only)


@pytest.mark.parametrize("name", [name for name, chosen in AGGREGATES.items() if chosen.coding.interpreted_only])
def test_the_others_say_why_not(name: str) -> None:
    with pytest.raises(CannotCompileError, match=rf"^{AGGREGATES[name].name} is not compiled: \w.* .*\.$"):
        Kernel(TwoStacks, AGGREGATES[name], ("int64",) * AGGREGATES[name].inputs, loops.slide_rows)


@pytest.mark.parametrize(
    ("lift", "combine", "reason"),
    [
        (str, lambda a, b: a + b, "is not a Python function"),
        (lambda x: [x], lambda a, b: a + b, "holds .*list.*, which is not a number"),
        (lambda x: (x,), lambda a, b: a + b, "must have the same form"),
        (lambda x: x.unknown, lambda a, _: a, "lift of odd can't be compiled: .*unknown"),
    ],
)
def test_what_one_cannot_compile_is_explained(lift: Any, combine: Any, reason: str) -> None:
    with pytest.raises(CannotCompileError, match=reason):
        Kernel(TwoStacks, aggregate("odd", lift=lift, combine=combine), ("int64",), loops.slide_rows)


def test_the_interpreted_loop_with_moving_bounds_is_the_compiled_one() -> None:
    column = integers(40)
    begins, ends = np.array([0, 0, 3, 9, 9, 30]), np.array([0, 4, 5, 9, 12, 33])
    results: list[Any] = [0] * 6
    loops.slide_between(
        DABA(affine),
        6,
        begins.tolist(),
        ends.tolist(),
        1,
        lambda _: True,
        lambda row: affine.lift(int(column[row])),
        lambda row, _, partial: results.__setitem__(row, affine.lower(partial)),
    )
    [compiled] = Kernel(DABA, affine, ("int64",), loops.slide_between).slide_between((column,), begins, ends)
    assert results == compiled.values.tolist()


def test_the_interpreted_loop_is_the_compiled_one() -> None:
    column = integers(60)
    results: list[Any] = [None] * 60
    loops.slide_rows(
        DABA(affine),
        60,
        7,
        1,
        lambda _: True,
        lambda row: affine.lift(int(column[row])),
        lambda row, _, p: results.__setitem__(row, affine.lower(p)),
    )
    [compiled] = Kernel(DABA, affine, ("int64",), loops.slide_rows).slide_rows((column,), 7)
    assert results == compiled.values.tolist()


COMPILED = [
    name
    for name, chosen in AGGREGATES.items()
    if name in BUILT_IN
    and chosen.inputs
    and (not chosen.coding.interpreted_only or compiled_by(chosen) is not TwoStacks)
    if not chosen.forms.entries  # a query compiles these
]
EDGES = {
    "int64": [-(2**63), 2**63 - 1, 0, -1, 1, -(2**63), -(2**63), 2**63 - 1, 2**63 - 1],
    "float64": [nan, 1.0, -0.0, 0.0, inf, -inf, 2.0, nan, nan, 3.0, 1e308, 1e308, 5e-324],
}


@pytest.mark.parametrize(("kind", "name"), some(product(EDGES, COMPILED), 17))
def test_the_ends_of_the_number_line(kind: str, name: str) -> None:
    algorithm = compiled_by(AGGREGATES[name])
    inputs = AGGREGATES[name].inputs
    chosen = AGGREGATES[name].of_kind(kind.rstrip("64")) if inputs == 1 else AGGREGATES[name]
    kernels: list[Kernel] = [RankKernel(chosen, (kind,))] if chosen.laws.ranked and not chosen.laws.place else []
    if SOAK or not kernels or name == "median":  # trees take long to compile
        kernels.append(Kernel(algorithm, chosen, (kind,) * inputs, loops.slide_rows))
    columns = (np.array(EDGES[kind], kind),) * inputs
    ends = np.arange(1, len(columns[0]) + 1)
    for kernel, length in product(kernels, (1, 2, 3)):
        held = windows(columns, np.maximum(ends - length, 0), ends)
        try:
            answer = kernel.slide_rows(columns, length)
        except OverflowError:
            with pytest.raises(OverflowError):
                [recompute(chosen, rows) for rows in held]
        else:
            expect_equal(chosen, answer, held)


@pytest.mark.parametrize("kind", ["int64", "int32", "float64", "float32", "bool"])
def test_types_of_columns(kind: str) -> None:
    column = (integers(50) > 2 if kind == "bool" else integers(50)).astype(kind)
    [results] = Kernel(TwoStacks, agg.max(), (kind,), loops.slide_rows).slide_rows((column,), 4)
    assert results.values.dtype == kind
    expected = [max(column[max(0, row - 3) : row + 1]) for row in range(50)]
    assert results.values.tolist() == expected


def test_a_partial_is_as_wide_as_combine_makes_it() -> None:
    halves = aggregate(
        "halves", lift=lambda x: (x, 1), combine=lambda a, b: (a[0] + b[0] / 2, a[1] + b[1]), lower=lambda p: p[0]
    )
    kernel = Kernel(TwoStacks, halves, ("int32",), loops.slide_rows)
    assert kernel.layout.fields == ["float64", "int64"]
    assert kernel.slide_rows((np.array([1, 1, 1], np.int32),), 1)[0].values.tolist() == [1.0, 1.0, 1.0]


def test_an_overflow_in_a_kernel_is_an_error() -> None:
    total = agg.sum()
    column = np.array([2**62, 2**62, 1], np.int64)
    with pytest.raises(OverflowError):
        Kernel(TwoStacks, total, ("int64",), loops.slide_rows).slide_rows((column,), 2)
    [results] = Kernel(TwoStacks, total, ("int64",), loops.slide_rows).slide_rows((column - 1,), 2)
    assert results.values.tolist() == [2**62 - 1, 2**63 - 2, 2**62 - 1]


@pytest.mark.parametrize(
    ("columns", "begins", "ends", "sentence"),
    [
        ((np.zeros(3, np.int32),), [0], [1], "takes columns of"),
        ((np.zeros(3),), [0, 2, 1], [3, 3, 3], "must not move back"),
        ((np.zeros(3),), [0, 0], [3, 2], "must not move back"),
        ((np.zeros(3),), [2], [1], "no window may end before it begins"),
        ((np.zeros(3),), [0], [4], "the column has 3 rows"),
    ],
)
def test_columns_and_bounds_that_do_not_fit_are_refused(columns: Any, begins: Any, ends: Any, sentence: str) -> None:
    kernel = Kernel(TwoStacks, agg.max(), ("float64",), loops.slide_between)
    with pytest.raises(ValueError, match=sentence):
        kernel.slide_between(columns, np.array(begins), np.array(ends))


def test_columns_of_different_lengths_and_unknown_types_are_refused() -> None:
    kernel = Kernel(TwoStacks, agg.arg_max(), ("float64", "float64"), loops.slide_rows)
    with pytest.raises(ValueError, match=r"equally long; given: .* \[3, 2\] rows"):
        kernel.slide_rows((np.zeros(3), np.zeros(2)), 1)
    with pytest.raises(CannotCompileError, match="Columns of uint8 are not compiled: cast them"):
        Kernel(TwoStacks, agg.max(), ("uint8",), loops.slide_rows)


START = """
import numpy as np, sys
from sash import agg
from sash.algorithms import TwoStacks
from sash.kernels import Kernel, loops
kernel = Kernel(TwoStacks, agg.max(), ("float64",), loops.slide_rows)
print(kernel.slide_rows((np.arange(5.0),), 2)[0].values.tolist(), kernel.run.from_disk)
"""


def start(folder: Path) -> str:
    done = subprocess.run(
        [sys.executable, "-c", START],
        capture_output=True,
        text=True,
        check=True,
        env={"SASH_CACHE_DIR": str(folder), "HOME": "/nowhere"},
    )
    return done.stdout.strip()


def test_a_second_process_takes_the_machine_code_from_the_disk(tmp_path: Path) -> None:
    assert start(tmp_path) == "[0.0, 1.0, 2.0, 3.0, 4.0] 0"
    assert start(tmp_path) == "[0.0, 1.0, 2.0, 3.0, 4.0] 1"


def test_a_folder_that_cannot_be_written_to_is_no_error(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("a file is in the way", encoding="utf-8")
    assert start(blocked) == "[0.0, 1.0, 2.0, 3.0, 4.0] 0"


def test_the_interpreted_loop_of_several_ranges_is_the_compiled_one() -> None:
    column = integers(60)
    ranges = (2, 5, 30)
    results: dict[tuple[int, int], Any] = {}
    loops.slide_ranges(
        FlatFIT(affine, ranges),
        60,
        3,
        ranges[::-1],
        1,
        lambda row: affine.lift(int(column[row])),
        lambda number, row, _, partial: results.__setitem__((number, row), affine.lower(partial)),
    )
    [compiled] = Kernel(FlatFIT, affine, ("int64",), loops.slide_ranges).slide_ranges((column,), ranges)
    assert [[results[number, row] for row in range(60)] for number in range(3)] == compiled.values.tolist()


def test_the_interpreted_loop_of_a_kept_window_is_the_compiled_one() -> None:
    column = integers(40)
    present = [row % 3 > 0 for row in range(40)]
    bits = np.packbits(np.array(present), bitorder="little")
    kernel = Kernel(DABA, affine, ("int64",), loops.advance)
    state = kernel.new_state((), 8)
    window, span, before = DABA(affine), [0, 0], [0] * 16
    for limit, lengths, rows in ((8, (8,), 25), (3, (), 0), (6, (6,), 40)):
        results = [[0] * rows for _ in lengths]

        def emit(number: int, row: int, _: int, partial: Any, results: list[list[int]] = results) -> None:
            results[number][row] = affine.lower(partial)

        loops.advance(
            window,
            rows,
            rows,
            limit,
            len(lengths),
            lengths,
            [0],
            span,
            before,
            15,
            1,
            lambda row: present[row],
            lambda row: affine.lift(int(column[row])),
            emit,
        )
        order = np.array(lengths, np.int64)
        numbers = np.zeros(len(lengths), np.int64)
        [compiled] = kernel.advance(state, (column[:rows],), bits, limit=limit, lengths=order, numbers=numbers)
        assert compiled.values.tolist() == results
        assert state.span.tolist() == span


TOGETHER: dict[str, list[Aggregate[Any]]] = {
    "count, sum, mean, stddev": [agg.count("x"), agg.sum("x"), agg.mean("x"), agg.stddev("x")],
    "moments and max": [agg.kurtosis("x"), agg.skewness("x"), agg.variance("x"), agg.max("x"), agg.mean("x")],
    "the same twice": [agg.stddev("x"), agg.variance("x"), agg.stddev("x")],
}


PASSES = [(TwoStacks, 2, False, "int64"), (DABA, 1, True, "float64")]
if SOAK:
    PASSES += [(TwoStacks, 2, False, "float64"), (DABA, 1, True, "int64")]


@pytest.mark.parametrize(("algorithm", "lanes", "nullable", "kind"), some(PASSES, 2))
@pytest.mark.parametrize("name", some(TOGETHER, 3))
def test_several_aggregates_in_one_pass_give_what_the_oracle_gives_for_each(
    name: str, algorithm: Any, lanes: int, nullable: bool, kind: str
) -> None:
    column = integers(120).astype(kind)
    present = integers(120) > 0 if nullable else np.full(120, fill_value=True)
    bits = np.packbits(present, bitorder="little") if nullable else np.empty(0, np.uint8)
    together = Kernel(algorithm, TOGETHER[name], (kind,), loops.slide_rows, nullable=nullable, lanes=lanes)
    assert len(together.design.fused.components) < len(TOGETHER[name]) * lanes
    for length in (1, 3, 20):
        answers = together.slide_rows((column,), length, bits)
        spans = [slice(max(0, end - length), end) for end in range(1, 121)]
        held = [column[span][present[span]].tolist() for span in spans]
        for chosen, answer in zip(TOGETHER[name], answers, strict=True):
            expect_equal(chosen, [answer], held)
            assert type(answer.values[-1].item()) is type(recompute(chosen, column.tolist()))


@pytest.mark.parametrize(
    ("name", "least", "nullable"),
    matrix(some(["max", "sum", "stddev", "median"], 2), some([1, 3, 9], 2), [False, True]),
)
def test_windows_do_not_reach_from_one_key_to_the_next(name: str, least: int, nullable: bool) -> None:
    own = with_fields(getattr(agg, name)(), at_least=max(least, getattr(agg, name)().result.at_least))
    algorithm = OrderStatisticsTree if name == "median" else TwoStacks
    kernel = column_kernel(algorithm, [own], ("float64",), loops.slide_rows, nullable=nullable, length=5)
    column = np.random.default_rng(3).normal(size=60)
    valid = np.arange(60) % 4 > 0
    firsts = np.array([0, 23, 23, 24, 27, 60])
    bits = np.packbits(valid, bitorder="little") if nullable else NO_BITS
    [found] = kernel.slide_keys((column,), firsts, 5, bits)
    for first, end in pairwise(firsts.tolist()):
        part = np.packbits(valid[first:end], bitorder="little") if nullable else NO_BITS
        [expected] = kernel.slide_rows((column[first:end],), 5, part)
        assert found.valid[first:end].tolist() == expected.valid.tolist()
        assert found.values[first:end][expected.valid].tolist() == expected.values[expected.valid].tolist()


def test_an_error_within_a_key_names_the_row_of_the_column() -> None:
    failing = aggregate("share", lift=lambda x: 1 // x, combine=max)
    kernel = Kernel(TwoStacks, failing, ("int64",), loops.slide_rows)
    with pytest.raises(ZeroDivisionError, match="row 5"):
        kernel.slide_keys((np.array([1, 2, 3, 4, 5, 0, 6]),), np.array([0, 3, 7]), 2)
