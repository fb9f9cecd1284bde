"""The window of ranks, interpreted: every step against the oracle."""

from __future__ import annotations

from typing import Any

import pytest
from helpers.cases import AGGREGATES
from helpers.compiled import compiled_for_python, for_python
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sash import agg
from sash.aggregates.base import Aggregate
from sash.algorithms.base import same
from sash.algorithms.bit_words import count_ones, highest_one, lowest_one, select_one
from sash.algorithms.sorted_block import SortedBlock
from sash.kernels.bit_intrinsics import compile_bit_functions
from sash.testing import recompute

RANKED: dict[str, Aggregate[Any]] = {name: AGGREGATES[name] for name in ("median", "quantile", "nth_smallest")}
INTERPRETED: dict[str, Any] = {
    function.__name__: function for function in (count_ones, lowest_one, highest_one, select_one)
}
COMPILED = {name: for_python(function) for name, function in compile_bit_functions().items()}
AS_THEY_STAND = {name: compiled_for_python(function) for name, function in INTERPRETED.items()}


@given(st.integers(1, 2**64 - 1) | st.integers(0, 63).map(lambda bit: 1 << bit), st.integers(0, 63))
@example(2**64 - 1, 63)
def test_words_are_asked_for_their_ones(word: int, before: int) -> None:
    ones = [bit for bit in range(64) if word >> bit & 1]
    before %= len(ones)
    signed = word - 2**64 if word >= 2**63 else word
    for functions, bits in ((INTERPRETED, word), (COMPILED, signed), (AS_THEY_STAND, signed)):
        assert functions["count_ones"](bits) == len(ones)
        assert functions["lowest_one"](bits) == ones[0]
        assert functions["highest_one"](bits) == ones[-1]
        assert functions["select_one"](bits, before) == ones[before]


def test_no_ones_are_counted_in_an_empty_word() -> None:
    assert INTERPRETED["count_ones"](0) == COMPILED["count_ones"](0) == 0


NUMBERS = st.integers(-3, 3) | st.floats(allow_nan=True) | st.sampled_from([0.0, -0.0, float("nan")])


@pytest.mark.parametrize("name", RANKED)
@settings(max_examples=40)
@given(values=st.lists(NUMBERS, min_size=1, max_size=200), moves=st.lists(st.integers(-20, 30), max_size=25))
def test_every_step_agrees_with_the_oracle(name: str, values: list[Any], moves: list[int]) -> None:
    chosen = RANKED[name]
    window = SortedBlock(chosen, values=values)
    for move in moves:
        for _ in range(abs(move)):
            if move > 0 and window.end < len(values):
                window.insert(chosen.lift(values[window.end]))
            elif move < 0 and len(window):
                window.evict()
            window._check()
        held = values[window.begin : window.end]
        if len(held) >= max(1, chosen.result.at_least):
            expected = recompute(chosen, held)
            assert same(chosen.lower(window.query()), expected)
            assert same(window.result(), expected)
            window._check()


def test_a_window_that_is_sparse_in_its_block() -> None:
    """The smallest and the largest of 9,000 values by turns: the next rank is hundreds of words and a level away."""
    median: Aggregate[Any] = agg.median()
    ends = [value for pair in zip(range(60), range(-1, -61, -1), strict=True) for value in pair]
    values = [value % 9000 for value in ends] + [value for value in range(9000) if 60 <= value < 8940]
    window = SortedBlock(median, values=values)
    for row in range(120):
        window.insert(median.lift(values[row]))
        if len(window) > 3:
            window.evict()
        held = values[window.begin : window.end]
        assert window.result() == recompute(median, held)
        assert window.select(len(held) - 1) == max(held)
        assert window.select(0) == min(held)
        if row % 8 == 0:  # it looks at all 9,000
            window._check()


def test_a_rank_outside_of_the_window_is_an_error() -> None:
    median: Aggregate[Any] = agg.median()
    window = SortedBlock(median, values=(1, 2))
    window.insert(median.lift(1))
    with pytest.raises(IndexError, match="Rank 1 is not in the window: it holds 1 values"):
        window.select(1)
