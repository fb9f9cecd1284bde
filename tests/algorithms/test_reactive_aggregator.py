"""The Reactive Aggregator: figure 5 of the paper, resize and compact, and scripts that evict any element."""

from __future__ import annotations

import random

import pytest
from helpers.concatenation import LETTERS, Concatenation, log2, update_bound
from hypothesis import given, settings
from hypothesis import strategies as st

from sash.algorithms.reactive_aggregator import FifoReactiveAggregator, ReactiveAggregator


@pytest.fixture
def concat() -> Concatenation:
    return Concatenation()


def test_figure_5_six_events(concat: Concatenation) -> None:
    window = ReactiveAggregator(concat.aggregate, (4,))

    def slots() -> str:
        leaves = range(window.capacity, 2 * window.capacity)
        return "".join(window.tree[leaf] if window.filled[leaf] else "⊥" for leaf in leaves)

    def front_and_back() -> tuple[int, int]:
        """Where the paper draws F and B; its slots count from 1."""
        return window.begin % window.capacity + 1, (window.back - 1) % window.capacity + 1

    for event, contents, physical, pointers in (
        ("4", "4", "4⊥⊥⊥", (1, 1)),
        ("7", "47", "47⊥⊥", (1, 2)),
        ("3", "473", "473⊥", (1, 3)),
        ("2", "4732", "4732", (1, 4)),
        ("leaves", "732", "⊥732", (2, 4)),
        ("9", "7329", "9732", (2, 1)),
    ):
        if event == "leaves":
            window.evict()
        else:
            window.insert(event)
        assert (slots(), front_and_back()) == (physical, pointers)
        assert window.query() == contents
        window._check()
    assert window.tree[1] == "9732"  # why an inverted buffer needs suffix(F) ⊕ prefix(B)


def test_a_full_buffer_of_three_quarters_is_compacted(concat: Concatenation) -> None:
    window = ReactiveAggregator(concat.aggregate, (8,))
    for letter in "abcdefgh":
        window.insert(letter)
    window.evict_at(2)
    window.evict_at(5)
    window._check()
    assert len(window) == 6
    window.insert("i")
    assert window.capacity == 8
    window._check()
    assert window.query() == "abdeghi"
    window.evict_at(3)  # d, which compacting moved
    assert window.query() == "abeghi"
    window._check()


def test_a_full_buffer_above_three_quarters_is_doubled(concat: Concatenation) -> None:
    window = ReactiveAggregator(concat.aggregate, (8,))
    for letter in "abcdefgh":
        window.insert(letter)
    window.evict_at(2)
    window.insert("i")
    assert window.capacity == 16
    assert window.end - window.begin == len(window) == 8
    window._check()
    assert window.query() == "abdefghi"


@pytest.mark.parametrize("algorithm", [FifoReactiveAggregator, ReactiveAggregator])
def test_the_buffer_is_halved_below_a_quarter(
    algorithm: type[FifoReactiveAggregator[str]], concat: Concatenation
) -> None:
    window = algorithm(concat.aggregate)
    for letter in LETTERS[:17]:
        window.insert(letter)
    assert window.capacity == 32
    while len(window) > 8:
        window.evict()
    assert window.capacity == 32  # exactly a quarter
    window.evict()
    assert window.capacity == 16
    assert concat.count() == 0  # what a resize moved waits for the next query
    assert window.query() == LETTERS[10:17]
    assert concat.count() <= 6 + 2 * log2(16) - 1
    window._check()
    while len(window) > 0:
        window.evict()
    assert window.capacity == window.smallest == 8


def test_resize_leaves_three_eighths_to_half_and_no_holes(concat: Concatenation) -> None:
    chance = random.Random(5)
    window = ReactiveAggregator(concat.aggregate)
    alive: list[int] = []
    filling = True
    for _ in range(3000):
        filling = filling if 3 < len(alive) < 200 else len(alive) <= 3
        capacity = window.capacity
        if filling or not alive:
            alive.append(window.end)
            window.insert("x")
            just_added = 1
        else:
            window.evict_at(alive.pop(chance.randrange(len(alive))))
            just_added = 0
        if window.capacity != capacity:
            before = len(alive) - just_added
            assert before <= window.capacity // 2
            assert before + 1 >= 3 * window.capacity // 8
            assert window.back - window.begin == len(window)
    assert len(window) == len(alive)


def test_evict_at_refuses_what_is_not_in_the_window(concat: Concatenation) -> None:
    window = ReactiveAggregator(concat.aggregate)
    for letter in "abc":
        window.insert(letter)
    window.evict_at(1)
    for position in (-1, 1, 3):
        with pytest.raises(ValueError, match=f"Position {position} is not in the window"):
            window.evict_at(position)
    assert window.query() == "ac"


@pytest.mark.parametrize("algorithm", [FifoReactiveAggregator, ReactiveAggregator])
@pytest.mark.parametrize("n", [8, 16, 32, 64])
def test_a_batch_of_m_changes_is_one_update(
    algorithm: type[FifoReactiveAggregator[str]], n: int, concat: Concatenation
) -> None:
    for slide in range(1, n + 1):
        window = algorithm(concat.aggregate, (n,))
        for position in range(n - 3):
            window.insert(LETTERS[position])
        assert concat.count() == 0
        window.query()
        concat.count()
        for _ in range(12):
            places = set()
            for _ in range(slide):
                places |= {window.begin % n, window.end % n}
                window.evict()
                window.insert(LETTERS[window.end])
            assert concat.count() == 0
            window._update()
            assert concat.count() <= update_bound(n, len(places))
            assert window.query() == LETTERS[window.begin : window.end]
            assert concat.count() <= 2 * log2(n) - 1
        assert window.capacity == n


@pytest.mark.parametrize("n", [8, 16, 32, 64])
def test_a_batch_of_m_evictions_anywhere_is_one_update(n: int, concat: Concatenation) -> None:
    chance = random.Random(n)
    for m in range(1, n):
        window = ReactiveAggregator(concat.aggregate, (n,))
        for letter in LETTERS[:n]:
            window.insert(letter)
        window.query()
        concat.count()
        gone = set(chance.sample(range(n), m))
        for position in gone:
            window.evict_at(position)
        assert window.query() == "".join(LETTERS[i] for i in range(n) if i not in gone)
        assert concat.count() <= update_bound(n, m)


@given(
    steps=st.lists(st.one_of(st.just("insert"), st.just("ask"), st.just("oldest"), st.integers(0, 1000)), max_size=90),
    room=st.sampled_from([(), (1,), (4,), (16,)]),
    filled=st.integers(0, 40),
)
@settings(max_examples=300, deadline=None)
def test_scripts_that_evict_anything(steps: list[str | int], room: tuple[int, ...], filled: int) -> None:
    window = ReactiveAggregator(Concatenation().aggregate, room)
    alive: list[int] = []
    for step in ["insert"] * filled + steps:
        if step == "insert":
            alive.append(window.end)
            window.insert(LETTERS[window.end])
        elif alive and step == "ask":
            assert window.query() == "".join(LETTERS[position] for position in alive)
        elif alive and step == "oldest":
            window.evict()
            alive.pop(0)
        elif alive and isinstance(step, int):
            window.evict_at(alive.pop(step % len(alive)))
        window._check()
        assert len(window) == len(alive)
