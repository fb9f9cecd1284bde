from __future__ import annotations

import os
import subprocess
import sys
import tracemalloc
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from helpers.cases import AGGREGATES, SOAK
from helpers.pairwise import FULL, some
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sash import agg
from sash.aggregates.base import Aggregate
from sash.aggregates.comparison import is_above
from sash.algorithms import OrderStatisticsTree
from sash.algorithms.base import alike
from sash.algorithms.sorted_block import SortedBlock
from sash.kernels import Kernel, loops
from sash.kernels.kernel_arrays import ResultColumn
from sash.kernels.plain import compile_loop
from sash.kernels.ranks import blocks, row_sorter
from sash.kernels.ranks.rank_kernel import RankKernel, slide_on
from sash.testing import recompute
from sash.windows.base import LoopCompiler, as_it_stands

RANKED: dict[str, Aggregate[Any]] = {name: AGGREGATES[name] for name in ("median", "quantile", "nth_smallest")}
Column = npt.NDArray[Any]


@cache
def rank_kernel(name: str, kind: str) -> RankKernel:
    return RankKernel(RANKED[name], (kind,))


@cache
def tree_kernel(name: str, kind: str, loop: Any) -> Kernel:
    return Kernel(OrderStatisticsTree, RANKED[name], (kind,), loop)


# -- sorting ---------------------------------------------------------------------------------------------------------

FLOAT64_BITS = st.integers(-(2**63), 2**63 - 1).map(lambda bits: np.int64(bits).view(np.float64).item())
COLUMNS = {
    "bool": st.booleans(),
    "int32": st.integers(-(2**31), 2**31 - 1) | st.integers(-2, 2),
    "int64": st.integers(-(2**63), 2**63 - 1) | st.integers(-2, 2) | st.sampled_from([-(2**63), 2**63 - 1]),
    "float32": st.floats(width=32) | st.sampled_from([0.0, -0.0, 1e-45, float("inf")]),
    "float64": FLOAT64_BITS | st.sampled_from([0.0, -0.0, 5e-324, float("inf"), float("-inf"), 1e300, 1e-300]),
}


def expect_sorted(column: Column, run: LoopCompiler = compile_loop, cut: int = 0) -> None:
    cuts = [0, cut, len(column)] if cut else [0, len(column)]
    order, ranks = row_sorter.RowSorter(run).sort(column, np.array(cuts))
    assert ranks[order].tolist() == list(range(len(column)))
    for begin, end in pairwise(cuts):
        assert sorted(order[begin:end].tolist()) == list(range(begin, end))
        ascending = column[order[begin:end]].tolist()
        assert not any(is_above(one, other) for one, other in pairwise(ascending))


@pytest.mark.parametrize("kind", COLUMNS)
@settings(max_examples=60)
@given(data=st.data())
def test_rows_are_sorted(kind: str, data: st.DataObject) -> None:
    column = np.array(data.draw(st.lists(COLUMNS[kind], max_size=60)), kind)
    for cut in (0, data.draw(st.integers(0, len(column)))):
        expect_sorted(column, cut=cut)
        expect_sorted(column, as_it_stands, cut)  # the steps as they stand, interpreted


@pytest.mark.parametrize("run", [compile_loop, as_it_stands], ids=["compiled", "interpreted"])
def test_values_that_agree_in_all_bits_of_the_key_are_put_right(run: LoopCompiler) -> None:
    generator = np.random.default_rng(1)
    close = generator.integers(0, 2**12, 300)  # one outlier takes all bits of the key, so the rest agree in theirs
    for few in (2, 300):
        column = np.where(np.arange(300) < few, close, (np.arange(300) << 40) - 2**62)
        expect_sorted(np.append(column, [2**63 - 1, -(2**63)]), run)
    expect_sorted(np.append(1 + close * 2.0**-52, [1e300, -1e300, np.nan]), run)
    expect_sorted(np.append(np.sort(close)[::-1], [2**63 - 1, -(2**63)]), run)
    expect_sorted(np.append(np.sort(close)[::-1], [2**63 - 1, -(2**63)]), run, cut=100)


# -- whole columns ---------------------------------------------------------------------------------------------------


def columns_of(kind: str, rows: int = 700) -> dict[str, Column]:
    generator = np.random.default_rng(7)
    uniform = generator.integers(-1000, 1000, rows)
    made = {
        "random": uniform,
        "sorted": np.sort(uniform),
        "reversed": np.sort(uniform)[::-1].copy(),
        "constant": np.full(rows, 3),
        "few-valued": uniform % 3,
    }
    if kind == "bool":
        return {name: column > 0 for name, column in made.items()}
    if kind.startswith("float"):
        made |= {name: column * 0.1 for name, column in made.items()}
        made["nan"] = np.where(uniform % 3 == 0, np.nan, made["random"])
        made["all nan"] = np.full(rows, np.nan)
        made["infinite"] = np.where(uniform % 4 == 0, np.copysign(np.inf, uniform), made["random"])
        made["zeros"] = np.copysign(0.0, uniform)
        tiny, huge = (1e-300, 1e300) if kind == "float64" else (1e-45, 3e38)
        made["outliers"] = np.where(uniform % 50 == 0, huge * np.sign(uniform), tiny * uniform)
    else:
        limits = np.iinfo(kind)
        made["extremes"] = np.where(uniform % 2 == 0, limits.min, limits.max) - np.sign(uniform) * (uniform % 2 == 0)
        made["extremes"] = np.where(uniform % 5 == 0, uniform, made["extremes"])
    return {name: column.astype(kind) for name, column in made.items()}


def expect_same(answers: list[ResultColumn], expected: list[ResultColumn]) -> None:
    [answer], [wanted] = answers, expected
    assert answer.values.dtype == wanted.values.dtype
    assert np.array_equal(answer.valid, wanted.valid)
    assert np.array_equal(answer.values, wanted.values, equal_nan=answer.values.dtype.kind == "f")


@pytest.fixture(
    params=[(0, 0, 48), (64, 0, 48), (64, 250, 1000), (1024, 16384, 16384)],
    ids=["shortest blocks", "alone", "in batches", "as it is"],
)
def cut(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in zip(("LEAST", "BATCH", "AT_ONCE"), request.param, strict=True):
        monkeypatch.setattr(blocks, name, value)


WHOLE = [("median", kind) for kind in COLUMNS] + [("quantile", "float64"), ("nth_smallest", "int32")]
BY_TREE = WHOLE if SOAK else [("median", kind) for kind in (("int64", "float64") if FULL else ("int64",))]
"""What the tree, which takes the longest of all to compile, is compared with too; in the suite test_kernel.py shares it."""


class InOrder(list[Any]):
    """Sorted values as `lower` reads them."""

    select = list.__getitem__


@cache
def sorted_by_numpy(name: str, kind: str, data: str, length: int) -> list[ResultColumn]:
    column = columns_of(kind)[data]
    chosen = RANKED[name].of_kind(kind.rstrip("3264"))
    results = np.zeros(len(column), rank_kernel(name, kind).results[0])
    valid = np.zeros(len(column), np.bool_)
    for row in range(len(column)):
        held = InOrder(np.sort(column[max(0, row + 1 - length) : row + 1]).tolist())
        if len(held) >= chosen.result.at_least:
            results[row], valid[row] = chosen.lower(held), True
    return [ResultColumn(results, np.packbits(valid, bitorder="little"))]


@pytest.mark.usefixtures("cut")
@pytest.mark.parametrize(("name", "kind"), some(WHOLE, 2))
def test_fixed_ranges_give_what_sorted_windows_and_the_tree_give(name: str, kind: str) -> None:
    for data, column in columns_of(kind).items():
        for length in (1, 2, 3, 16, 17, 100, 699, 700, 5000):
            answer = rank_kernel(name, kind).slide_rows((column,), length)
            expect_same(answer, sorted_by_numpy(name, kind, data, min(length, len(column))))
            if (name, kind) in BY_TREE:
                expect_same(answer, tree_kernel(name, kind, loops.slide_rows).slide_rows((column,), length))


@pytest.mark.usefixtures("cut")
@pytest.mark.parametrize(("name", "kind"), [("median", "float64"), ("nth_smallest", "int32")])
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_moving_bounds_give_what_the_oracle_and_the_tree_give(name: str, kind: str, data: st.DataObject) -> None:
    column = columns_of(kind)[data.draw(st.sampled_from(sorted(columns_of(kind))))]
    steps = st.integers(0, 3) | st.sampled_from([0, 0, 40, 300])
    ends = np.minimum(np.cumsum(data.draw(st.lists(steps, max_size=80)), dtype=np.int64), len(column))
    lengths = data.draw(
        st.lists(st.integers(0, 5) | st.sampled_from([60, 200]), min_size=len(ends), max_size=len(ends))
    )
    begins = np.maximum.accumulate(np.maximum(ends - np.array(lengths, np.int64), 0))
    answer = rank_kernel(name, kind).slide_between((column,), begins, ends)
    if SOAK:  # compiling the tree takes longer than all other tests of ranks
        expect_same(answer, tree_kernel(name, kind, loops.slide_between).slide_between((column,), begins, ends))
    chosen = RANKED[name].of_kind(kind.rstrip("3264"))
    results, valid = answer[0].values.tolist(), answer[0].valid.tolist()
    for result, is_valid, begin, end in zip(results, valid, begins, ends, strict=True):
        held = column[begin:end].tolist()
        assert is_valid == (len(held) >= chosen.result.at_least)
        assert not is_valid or alike(result, recompute(chosen, held))


def test_the_interpreted_loop_is_the_compiled_one() -> None:
    median = agg.median().of_kind("float")
    column = columns_of("float64", 60)["nan"]
    begins, ends = np.array([0, 0, 3, 9, 9, 30]), np.array([0, 4, 5, 9, 12, 33])
    results: list[Any] = [0.0] * 6
    slide_on(
        SortedBlock(median, values=column.tolist()),
        6,
        begins.tolist(),
        ends.tolist(),
        0,
        1,
        lambda row: median.lift(column[row].item()),
        lambda row, _, partial: results.__setitem__(row, median.lower(partial)),
    )
    [compiled] = rank_kernel("median", "float64").slide_between((column,), begins, ends)
    assert np.array_equal(results, compiled.values, equal_nan=True)


def test_no_rows_and_no_windows() -> None:
    kernel = rank_kernel("median", "float64")
    nothing = np.empty(0, np.int64)
    for [answer] in (
        kernel.slide_rows((np.empty(0),), 3),
        kernel.slide_between((np.ones(4),), nothing, nothing),
    ):
        assert answer.values.dtype == np.float64
        assert len(answer.values) == len(answer.valid) == 0
    [answer] = kernel.slide_between((np.empty(0),), np.zeros(3, np.int64), np.zeros(3, np.int64))
    assert answer.valid.tolist() == [False] * 3


def test_bounds_that_move_back_or_out_are_refused() -> None:
    kernel = rank_kernel("median", "float64")
    with pytest.raises(ValueError, match="must not move back"):
        kernel.slide_between((np.ones(4),), np.array([1, 0]), np.array([2, 2]))
    with pytest.raises(ValueError, match="reach from row 0 to 5, but the column has 4 rows"):
        kernel.slide_between((np.ones(4),), np.array([0]), np.array([5]))


START = """
import numpy as np
from sash import agg
from sash.kernels.ranks.rank_kernel import RankKernel
from sash.kernels.plain import compile_loop
from sash.kernels.ranks.row_sorter import write_keys
kernel = RankKernel(agg.quantile(q={q}), ("int32",))
print(kernel.slide_rows((np.arange(5, dtype="int32"),), 2)[0].values.tolist(), end=" ")
print(kernel.run.from_disk, compile_loop(write_keys).from_disk)
"""


@pytest.mark.full
def test_a_second_process_takes_the_machine_code_from_the_disk(tmp_path: Path) -> None:
    def start(q: float) -> str:
        environment = {**os.environ, "SASH_CACHE_DIR": str(tmp_path)}
        command = [sys.executable, "-c", START.format(q=q)]
        return subprocess.run(command, capture_output=True, text=True, check=True, env=environment).stdout.strip()

    assert start(0.5) == "[0.0, 0.5, 1.5, 2.5, 3.5] 0 0"
    assert start(0.5) == "[0.0, 0.5, 1.5, 2.5, 3.5] 1 1"
    assert start(0.25) == "[0.0, 0.25, 1.25, 2.25, 3.25] 0 1"


# -- what it costs ---------------------------------------------------------------------------------------------------


@given(st.lists(st.integers(0, 40) | st.sampled_from([0, 1, 5_000, 70_000]), min_size=1, max_size=300), st.data())
def test_at_most_a_third_of_the_rows_is_sorted_twice(moves: list[int], data: st.DataObject) -> None:
    ends = np.cumsum(moves)
    lengths = data.draw(st.lists(st.sampled_from([0, 3, 900, 30_000, 90_000]), min_size=len(ends), max_size=len(ends)))
    begins = np.maximum.accumulate(np.maximum(ends - np.array(lengths), 0))
    cut = list(blocks.BoundedWindows(begins, ends).blocks())
    assert [block.first for block in cut] == [0, *(block.last for block in cut[:-1])]
    assert cut[-1].last == len(ends)
    assert sum(block.end - block.begin for block in cut) <= ends[-1] * 4 / 3
    for first, last, begin, end in cut:
        assert begin <= begins[first:last].min()
        assert end >= ends[first:last].max()
        longest = int((ends - begins)[first:last].max())
        assert end - begin <= max(blocks.WINDOWS_LONG * longest, blocks.LITTLE)


@pytest.mark.parametrize("moving", [False, True])
@pytest.mark.parametrize("outlier", [0, 2**62], ids=["keys", "argsort"])
def test_memory_is_bounded_by_the_range(*, moving: bool, outlier: int) -> None:
    length, rows = 70_000, 600_000
    kernel = rank_kernel("median", "int64")
    column = np.random.default_rng(3).integers(0, 2**20, rows)
    column[::1000] += outlier
    ends = np.arange(1, rows + 1)
    begins = np.maximum(ends - length, 0)
    kernel.slide_between((column[:10],), begins[:10], ends[:10])  # so that all is compiled
    tracemalloc.start()
    [answer] = kernel.slide_between((column,), begins, ends) if moving else kernel.slide_rows((column,), length)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak - answer.values.nbytes - rows <= 64 * length
