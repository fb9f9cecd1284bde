"""The order statistics tree: scripts against a sorted list, its balance, and what it refuses."""

from __future__ import annotations

import math
import random
from bisect import insort
from typing import Any, Protocol

import pytest
from helpers.concatenation import Concatenation
from hypothesis import given, settings
from hypothesis import strategies as st

from sash import agg
from sash.aggregates.base import Aggregate
from sash.aggregates.parts import Laws, Ranking
from sash.algorithms.order_statistics_tree import OrderStatisticsTree


@pytest.fixture
def concat() -> Concatenation:
    return Concatenation()


RUNS = st.lists(st.tuples(st.integers(0, 21), st.integers(0, 21), st.booleans()), max_size=12)
"""How many to insert, how many to evict, whether to ask: long runs are the teeth of a saw, equal ones are slides of m."""


class Readable(Protocol):
    """What `lower` of a ranked aggregate reads."""

    def __len__(self) -> int: ...

    def select(self, rank: int) -> Any: ...


class OneValue:
    """The partial of one row."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __len__(self) -> int:
        return 1

    def select(self, rank: int) -> Any:
        assert rank == 0
        return self.value


def refuse(*_: Readable) -> Readable:
    message = "an order statistics tree combines nothing"
    raise AssertionError(message)


RANKED: Aggregate[Readable] = Aggregate(
    name="ranked",
    lift=OneValue,
    combine=refuse,
    laws=Laws(ranked=Ranking(rank=float, between=lambda below, _, __: below)),
)


def shown(values: list[Any]) -> list[Any]:
    """NaN as text, since it differs from itself."""
    return ["NaN" if value != value else value for value in values]  # noqa: PLR0124 — only NaN differs from itself


def by_rank(value: Any) -> tuple[bool, Any]:
    return (value != value, 0 if value != value else value)  # noqa: PLR0124 — only NaN differs from itself


@given(
    runs=RUNS,
    values=st.lists(st.sampled_from([*range(12), -math.inf, math.inf, math.nan, -0.0]), min_size=63, max_size=63),
    room=st.sampled_from([(), (1,), (20,)]),
)
@settings(max_examples=60, deadline=None)
def test_order_statistics_scripts(
    runs: list[tuple[int, int, bool]], values: list[float], room: tuple[int, ...]
) -> None:
    window = OrderStatisticsTree(RANKED, room)
    values = values * 4
    begin = end = 0
    for inserts, evictions, _ in runs:
        for _ in range(inserts):
            window.insert(OneValue(values[end]))
            end += 1
            window._check()
        for _ in range(min(evictions, end - begin)):
            window.evict()
            begin += 1
            window._check()
        view = window.query()
        assert len(view) == end - begin
        selected = [view.select(rank) for rank in range(len(view))]
        assert shown(selected) == shown(sorted(values[begin:end], key=by_rank))


@pytest.mark.parametrize("order", ["up", "down", "random", "zigzag"])
def test_the_search_tree_stays_balanced(order: str) -> None:
    size = 1 << 10
    chance = random.Random(1)
    values = list(range(3 * size))
    if order == "down":
        values.reverse()
    elif order == "random":
        chance.shuffle(values)
    elif order == "zigzag":
        values = [value if value % 2 else -value for value in values]
    window = OrderStatisticsTree(RANKED, (size,))
    expected: list[int] = []
    for i, value in enumerate(values):
        if i >= size:
            window.evict()
            expected.remove(values[i - size])
        window.insert(OneValue(value))
        insort(expected, value)
        assert window.height[window.root] <= 1.4405 * math.log2(len(window) + 2)
        if i % 97 == 0:
            assert [window.select(rank) for rank in range(0, len(window), 31)] == expected[::31]
    assert len(window.keys) == size + 1  # nodes are used again


def test_equal_values_share_a_node() -> None:
    window = OrderStatisticsTree(RANKED)
    for value in (2, math.nan, 2, math.nan, 1, 2):
        window.insert(OneValue(value))
    window._check()
    assert sum(multiplicity > 0 for multiplicity in window.multiplicity) == 3
    assert shown([window.select(rank) for rank in range(6)]) == [1, 2, 2, 2, "NaN", "NaN"]


def test_strings_have_ranks_too() -> None:
    window = OrderStatisticsTree(RANKED)
    for word in ["the", "quick", "brown", "fox", "jumps"]:
        window.insert(OneValue(word))
    assert window.select(2) == "jumps"
    with pytest.raises(IndexError, match="Rank 5 is not in the window"):
        window.select(5)


def test_only_ranked_aggregates_are_taken(concat: Concatenation) -> None:
    with pytest.raises(ValueError, match="not read by rank"):
        OrderStatisticsTree(concat.aggregate)


@pytest.mark.parametrize("ranked", [agg.median(), agg.quantile(q=0.8), agg.nth_smallest(i=2)], ids=lambda a: a.name)
def test_the_tree_answers_a_kernel_as_lower_reads_it(ranked: Aggregate[Any]) -> None:
    window = OrderStatisticsTree(ranked)
    for value in (5, 3, 8, 3, 9, 7, 1):
        window.insert(ranked.lift(value))
        if len(window) >= ranked.result.at_least:
            assert window.result() == ranked.lower(window.query())
