"""The tree algorithms: worked examples of the papers, their bounds, and scripts against recomputation."""

from __future__ import annotations

import math
import random
from bisect import insort
from functools import reduce
from typing import Any, Protocol

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sash import agg
from sash.aggregates.base import Aggregate
from sash.algorithms.b_int import BInt
from sash.algorithms.base import Algorithm, SharedAlgorithm
from sash.algorithms.flatfat import FlatFAT
from sash.algorithms.order_statistics_tree import OrderStatisticsTree
from sash.algorithms.reactive_aggregator import FifoReactiveAggregator, ReactiveAggregator

POWERS_OF_TWO = [1, 2, 4, 8, 16, 32, 64]
LETTERS = "".join(map(chr, range(0x4E00, 0x4E00 + 4000)))
"""Enough different letters that each element of a script has its own."""


class Concatenation:
    """Concatenates and remembers what it was called with: any swapped, lost or doubled element shows."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, str]] = []
        self.aggregate: Aggregate[str] = Aggregate(name="concat", lift=str, combine=self._combine)

    def _combine(self, older: str, newer: str) -> str:
        assert isinstance(older, str)
        assert isinstance(newer, str)
        self.calls.append((older, newer))
        return older + newer

    def count(self) -> int:
        """Return how many calls there were since the last time this was asked."""
        calls, self.calls = self.calls, []
        return len(calls)


@pytest.fixture
def concat() -> Concatenation:
    return Concatenation()


def update_bound(capacity: int, changes: int) -> int:
    """Theorem 4.2 (ii)."""
    return changes * (1 + math.ceil(math.log2(capacity / changes))) if changes else 0


def log2(capacity: int) -> int:
    return capacity.bit_length() - 1


# -- FlatFAT: figures 3 and 4, theorem 4.2 -----------------------------------------------------------------------------


def test_figure_3_new_of_eight_leaves_makes_seven_combines(concat: Concatenation) -> None:
    fat = FlatFAT.new(concat.aggregate, "12345678")
    assert concat.count() == 7
    a, b, c, d, e, f, g = (fat.tree[node] for node in (4, 5, 6, 7, 2, 3, 1))
    assert (a, b, c, d) == ("12", "34", "56", "78")
    assert (e, f, g) == ("1234", "5678", "12345678")


def test_figure_4_update_of_four_leaves_recomputes_exactly_a_b_d_e_f_g(concat: Concatenation) -> None:
    fat = FlatFAT.new(concat.aggregate, "12345678")
    concat.count()
    fat.update([0, 1, 3, 6], "ABDG")  # a[1], a[2], a[4], a[7] of the paper, which counts from 1
    level_1, level_2, level_3 = concat.calls[:3], concat.calls[3:5], concat.calls[5:]
    assert sorted(level_1) == [("3", "D"), ("A", "B"), ("G", "8")]  # b, a, d
    assert sorted(level_2) == [("56", "G8"), ("AB", "3D")]  # f, e
    assert level_3 == [("AB3D", "56G8")]  # g
    assert fat.tree[6] == "56"  # c is left alone
    assert concat.count() == 6


def test_prefix_7_is_e_c_and_the_seventh_leaf(concat: Concatenation) -> None:
    fat = FlatFAT.new(concat.aggregate, "12345678")
    concat.count()
    assert fat.prefix(6) == "1234567"
    assert concat.calls == [("56", "7"), ("1234", "567")]


@pytest.mark.parametrize("n", POWERS_OF_TWO)
def test_theorem_4_2_i_new(n: int, concat: Concatenation) -> None:
    fat = FlatFAT.new(concat.aggregate, LETTERS[:n])
    assert fat.capacity == n
    assert concat.count() == n - 1
    assert fat.aggregate() == LETTERS[:n]
    assert concat.count() == 0
    fat._check()


@pytest.mark.parametrize("n", POWERS_OF_TWO)
def test_theorem_4_2_ii_update(n: int, concat: Concatenation) -> None:
    chance = random.Random(n)
    leaves = list(LETTERS[:n])
    fat = FlatFAT.new(concat.aggregate, leaves)
    for m in range(1, n + 1):
        evenly_spread = [n * i // m for i in range(m)]
        for places in (evenly_spread, chance.sample(range(n), m), chance.sample(range(n), m)):
            partials = chance.sample(LETTERS, m)
            concat.count()
            fat.update(places, partials)
            assert concat.count() <= update_bound(n, m)
            for place, partial in zip(places, partials, strict=True):
                leaves[place] = partial
            assert fat.aggregate() == "".join(leaves)
    fat._check()


@pytest.mark.parametrize("n", POWERS_OF_TWO)
def test_theorem_4_2_iii_prefix_and_suffix(n: int, concat: Concatenation) -> None:
    fat = FlatFAT.new(concat.aggregate, LETTERS[:n])
    concat.count()
    for place in range(n):
        assert fat.prefix(place) == LETTERS[: place + 1]
        assert concat.count() <= log2(n)
        assert fat.suffix(place) == LETTERS[place:n]
        assert concat.count() <= log2(n)


@pytest.mark.parametrize("filled", range(1, 9))
def test_a_tree_that_is_not_full_skips_the_empty_leaves(filled: int, concat: Concatenation) -> None:
    made = FlatFAT.new(concat.aggregate, LETTERS[:filled])
    grown: FlatFAT[str] = FlatFAT(concat.aggregate)
    for letter in LETTERS[:filled]:
        grown.insert(letter)
    for fat in (made, grown):
        fat._check()
        assert fat.aggregate() == LETTERS[:filled]
        for place in range(filled):
            assert fat.prefix(place) == LETTERS[: place + 1]
            assert fat.suffix(place) == LETTERS[place:filled]


@pytest.mark.parametrize("asked_after", [1, 2, 3, 5, 8, 11])
def test_the_array_is_up_to_date_when_it_is_asked_after_any_number_of_inserts(
    asked_after: int, concat: Concatenation
) -> None:
    fat: FlatFAT[str] = FlatFAT(concat.aggregate, (8,))
    slots = [""] * 8
    for position in range(30):
        if position >= 8:
            fat.evict()
        fat.insert(LETTERS[position])
        slots[position % 8] = LETTERS[position]
        if position % asked_after == 0:
            concat.count()
            assert fat.aggregate() == "".join(slots)
            assert concat.count() <= log2(8)
            assert fat.aggregate() == "".join(slots)
            assert concat.count() == 0
            for place in range(min(position + 1, 8)):
                assert fat.prefix(place) == "".join(slots[: place + 1])
                assert fat.suffix(place) == "".join(slots[place:])


# -- several ranges: FlatFAT and B-Int ---------------------------------------------------------------------------------


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


def test_flatfat_reads_the_fewest_nodes(concat: Concatenation) -> None:
    fat = FlatFAT.new(concat.aggregate, LETTERS[:16])
    concat.count()
    for last, nodes in ((16, 1), (8, 1), (12, 2), (15, 4), (5, 2), (1, 1)):
        assert fat.query_last(last) == LETTERS[16 - last : 16]
        assert concat.count() == nodes - 1


def test_b_int_figure_5_decomposes_49_to_66(concat: Concatenation) -> None:
    window = BInt(concat.aggregate, (20,))
    for position in range(67):
        if position >= 20:
            window.evict()
        window.insert(LETTERS[position])
    assert (window.begin, window.end) == (47, 67)
    concat.count()
    assert window.query_between(49, 67) == LETTERS[49:67]
    pieces = [concat.calls[0][0], *(newer for _, newer in concat.calls)]
    bounds = [(LETTERS.index(piece[0]), LETTERS.index(piece[-1])) for piece in pieces]
    assert bounds == [(49, 49), (50, 51), (52, 55), (56, 63), (64, 65), (66, 66)]


def test_b_int_answers_every_interval_inside_the_shared_window(concat: Concatenation) -> None:
    window = BInt(concat.aggregate)
    for position in range(90):
        window.insert(LETTERS[position])
        if position >= 37:
            window.evict()
    for start in range(window.begin, window.end):
        for stop in range(start + 1, window.end + 1):
            concat.count()
            assert window.query_between(start, stop) == LETTERS[start:stop]
            assert concat.count() <= max(0, 2 * math.log2(stop - start) - 1)


def test_b_int_completes_only_the_intervals_that_end_with_the_new_position(concat: Concatenation) -> None:
    window = BInt(concat.aggregate, (8,))
    spent = []
    for letter in "abcdefgh":
        window.insert(letter)
        spent.append(concat.count())
    assert spent == [0, 1, 0, 2, 0, 1, 0, 3]


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


# -- Reactive Aggregator: figure 5, resize and compact -----------------------------------------------------------------


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


# -- scripts against recomputation -------------------------------------------------------------------------------------

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


# -- order statistics tree ---------------------------------------------------------------------------------------------


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
    name="ranked", lift=OneValue, combine=refuse, rank=float, between=lambda below, _, __: below
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


@pytest.mark.parametrize("ranked", [agg.median(), agg.quantile(q=0.8), agg.nth_smallest(i=2)], ids=lambda a: a.name)
def test_the_tree_answers_a_kernel_as_lower_reads_it(ranked: Aggregate[Any]) -> None:
    window = OrderStatisticsTree(ranked)
    for value in (5, 3, 8, 3, 9, 7, 1):
        window.insert(ranked.lift(value))
        if len(window) >= ranked.at_least:
            assert window.result() == ranked.lower(window.query())
