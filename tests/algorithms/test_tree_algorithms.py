"""The tree algorithms: worked examples of the papers, their bounds, and scripts against recomputation."""

from __future__ import annotations

from functools import reduce

import pytest
from helpers.concatenation import LETTERS, Concatenation, log2
from hypothesis import given, settings
from hypothesis import strategies as st

from sash.algorithms.b_int import BInt
from sash.algorithms.base import Algorithm, SharedAlgorithm
from sash.algorithms.flatfat import FlatFAT
from sash.algorithms.reactive_aggregator import FifoReactiveAggregator, ReactiveAggregator

POWERS_OF_TWO = [1, 2, 4, 8, 16, 32, 64]


@pytest.fixture
def concat() -> Concatenation:
    return Concatenation()


@pytest.mark.parametrize("algorithm", [FlatFAT, BInt])
@pytest.mark.parametrize("n", POWERS_OF_TWO)
def test_every_range_of_a_full_window_within_the_bound(
    algorithm: type[SharedAlgorithm[str]], n: int, concat: Concatenation
) -> None:
    window = algorithm(concat.aggregate, (n,))
    inserts = 0
    for position in range(3 * n):
        if position >= n:
            window.evict()
        assert concat.count() == 0
        window.insert(LETTERS[position])
        spent = concat.count()
        assert spent <= log2(n)
        inserts += spent
        for last in range(1, len(window) + 1):
            assert window.query_last(last) == LETTERS[position + 1 - last : position + 1]
            assert concat.count() <= max(0, 2 * log2(n) - 1)
        window._check()
        concat.count()
    if algorithm is BInt:
        assert inserts <= 3 * n


@pytest.mark.parametrize("algorithm", [FlatFAT, BInt])
@pytest.mark.parametrize("begin", range(10))
def test_growing_combines_nothing_wherever_the_window_begins(
    algorithm: type[FlatFAT[str] | BInt[str]], begin: int, concat: Concatenation
) -> None:
    window = algorithm(concat.aggregate, (4,))
    for position in range(begin):
        window.insert(LETTERS[position])
        window.evict()
    for position in range(begin, begin + 4):
        window.insert(LETTERS[position])
    concat.count()
    window._resize(8)
    assert concat.count() == 0
    assert window.capacity == 8
    for position in range(begin + 4, begin + 40):
        window.insert(LETTERS[position])
        window._check()
        assert window.query() == LETTERS[begin : position + 1]


RUNS = st.lists(st.tuples(st.integers(0, 21), st.integers(0, 21), st.booleans()), max_size=12)
"""How many to insert, how many to evict, whether to ask: long runs are the teeth of a saw, equal ones are slides of m."""


@pytest.mark.parametrize("algorithm", [FlatFAT, BInt, FifoReactiveAggregator, ReactiveAggregator])
@given(runs=RUNS, room=st.sampled_from([(), (1,), (3,), (4,), (20,)]))
@settings(max_examples=60, deadline=None)
def test_first_in_first_out_scripts(
    algorithm: type[Algorithm[str]], runs: list[tuple[int, int, bool]], room: tuple[int, ...]
) -> None:
    window = algorithm(Concatenation().aggregate, room)
    begin = end = 0
    for inserts, evictions, asks in runs:
        for _ in range(inserts):
            window.insert(LETTERS[end])
            end += 1
            window._check()
        for _ in range(min(evictions, end - begin)):
            window.evict()
            begin += 1
            window._check()
        assert len(window) == end - begin
        if asks and begin < end:
            assert window.query() == LETTERS[begin:end]
            window._check()
            if isinstance(window, SharedAlgorithm):
                assert [window.query_last(last) for last in range(1, end - begin + 1)] == [
                    LETTERS[end - last : end] for last in range(1, end - begin + 1)
                ]


def test_checks_find_a_wrong_node(concat: Concatenation) -> None:
    windows: list[FlatFAT[str] | BInt[str] | FifoReactiveAggregator[str]] = [
        FlatFAT(concat.aggregate),
        BInt(concat.aggregate),
        FifoReactiveAggregator(concat.aggregate),
        ReactiveAggregator(concat.aggregate),
    ]
    for window in windows:
        for letter in "abcdefgh":
            window.insert(letter)
        assert window.query() == reduce(str.__add__, "abcdefgh")
        window._check()
        window.tree[3] = "hgfe"
        with pytest.raises(AssertionError):
            window._check()
