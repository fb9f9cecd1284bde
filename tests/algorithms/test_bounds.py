"""The numbers of combines and partials that the papers state, counted."""

from __future__ import annotations

import math
import random
from typing import Any

import pytest
from helpers.cases import Counter, partials_held

from sash import agg
from sash.algorithms import (
    DABA,
    BInt,
    FlatFAT,
    FlatFIT,
    Recalculate,
    SharedAlgorithm,
    SlickDequeInvertible,
    SlickDequeSelective,
    SlideSideInvertible,
    SlideSideNonInvertible,
    SubtractOnEvict,
    TwoStacks,
)
from sash.algorithms.base import Algorithm
from sash.kernels.read import read_algorithm


def values(count: int) -> list[int]:
    generator = random.Random(7)
    return [generator.randrange(1000) for _ in range(count)]


def slide(window: Algorithm[Any], counter: Counter, length: int, stream: list[int]) -> list[int]:
    """The combines of each slide of one row, once the window is full."""
    calls = []
    for number, value in enumerate(stream):
        if number >= length:
            window.evict()
        window.insert(value)
        window.query()
        if number >= length:
            calls.append(counter.take())
        else:
            counter.take()
    return calls


@pytest.mark.parametrize("length", [1, 2, 3, 8, 50, 128])
@pytest.mark.parametrize(
    ("algorithm", "chosen", "amortised", "worst"),
    [
        (Recalculate, agg.max(), lambda n: n - 1, lambda n: n - 1),
        (SubtractOnEvict, agg.sum(), lambda _: 2, lambda _: 2),
        (TwoStacks, agg.max(), lambda _: 3, lambda n: max(n, 2)),
        (DABA, agg.max(), lambda _: 6, lambda _: 6),
        (FlatFIT, agg.max(), lambda _: 3, lambda n: max(n - 1, 2)),
        (SlickDequeInvertible, agg.sum(), lambda _: 2, lambda _: 2),
        (SlickDequeSelective, agg.max(), lambda _: 2, lambda n: n),
        (SlideSideInvertible, agg.sum(), lambda _: 3, lambda n: max(n, 2)),
        (SlideSideNonInvertible, agg.max(), lambda _: 3, lambda n: max(n, 2)),
        (FlatFAT, agg.max(), lambda n: 3 * math.log2(2 * n), lambda n: 3 * math.log2(2 * n)),
        (BInt, agg.max(), lambda n: 1 + 2 * math.log2(2 * n), lambda n: 3 * math.log2(2 * n)),
    ],
)
def test_one_range(algorithm: Any, chosen: Any, amortised: Any, worst: Any, length: int) -> None:
    counter = Counter(chosen)
    calls = slide(algorithm(counter.aggregate, (length,)), counter, length, values(12 * length + 100))
    assert max(calls) <= worst(length)
    assert sum(calls) <= amortised(length) * len(calls) + worst(length)


@pytest.mark.parametrize("length", [16, 1 << 10, 1 << 14])
def test_no_operation_of_daba_does_more_than_a_constant_number_of_combines(length: int) -> None:
    counter = Counter(agg.max())
    window = DABA(counter.aggregate)
    generator = random.Random(1)
    most = {"insert": 0, "evict": 0, "query": 0}
    for step in range(3 * length):
        filling = (step // length) % 2 == 0 or len(window) == 0
        if filling or generator.random() < 0.4:
            window.insert(step % 97)
            most["insert"] = max(most["insert"], counter.take())
        else:
            window.evict()
            most["evict"] = max(most["evict"], counter.take())
        if len(window):
            window.query()
            most["query"] = max(most["query"], counter.take())
    assert most == {"insert": 3, "evict": 2, "query": 1}


def slide_ranges(window: SharedAlgorithm[Any], counter: Counter, ranges: list[int], stream: list[int]) -> list[int]:
    widest = max(ranges)
    calls = []
    for number, value in enumerate(stream):
        if number >= widest:
            window.evict()
        window.insert(value)
        for length in sorted(ranges, reverse=True):
            window.query_last(min(length, number + 1))
        spent = counter.take()
        if number >= widest:
            calls.append(spent)
    return calls


RANGES = [3, 10, 17, 32, 64]


@pytest.mark.parametrize(
    ("algorithm", "chosen", "amortised", "worst"),
    [
        (SlickDequeInvertible, agg.sum(), lambda q, _: 2 * q, lambda q, _: 2 * q),
        (SlickDequeSelective, agg.max(), lambda _, __: 2, lambda _, n: n),
        (SlideSideInvertible, agg.sum(), lambda q, _: q + 2, lambda q, n: q + n),
        (SlideSideNonInvertible, agg.max(), lambda q, _: q + 4, lambda q, n: q + n),
        (SlideSideNonInvertible, agg.last(), lambda q, n: q + 1 + n / min(RANGES), lambda q, n: q + n),
        (SlideSideNonInvertible, agg.sum(), lambda q, n: q + 1 + n / min(RANGES), lambda q, n: q + n),
        (FlatFAT, agg.max(), lambda q, n: (2 * q + 1) * math.log2(n), lambda q, n: (2 * q + 1) * math.log2(n)),
        (BInt, agg.max(), lambda q, n: (2 * q + 1) * math.log2(n), lambda q, n: (2 * q + 1) * math.log2(n)),
    ],
)
def test_several_ranges(algorithm: Any, chosen: Any, amortised: Any, worst: Any) -> None:
    counter = Counter(chosen)
    calls = slide_ranges(algorithm(counter.aggregate, tuple(RANGES)), counter, RANGES, values(3000))
    assert max(calls) <= worst(len(RANGES), max(RANGES))
    assert sum(calls) <= amortised(len(RANGES), max(RANGES)) * len(calls)


@pytest.mark.parametrize("length", [2, 5, 16, 33])
def test_flatfit_needs_one_combine_less_than_there_are_ranges_if_all_are_asked(length: int) -> None:
    counter = Counter(agg.max())
    ranges = list(range(1, length + 1))
    calls = slide_ranges(FlatFIT(counter.aggregate, tuple(ranges)), counter, ranges, values(8 * length))
    assert set(calls) == {length - 1}


@pytest.mark.parametrize("length", [16, 64, 128])
def test_flatfat_and_b_int_need_at_most_n_log_n_for_all_ranges(length: int) -> None:
    for algorithm in (FlatFAT, BInt):
        counter = Counter(agg.max())
        ranges = list(range(1, length + 1))
        calls = slide_ranges(algorithm(counter.aggregate, tuple(ranges)), counter, ranges, values(2 * length))
        assert sum(calls) / len(calls) <= length * math.log2(length)


@pytest.mark.parametrize("length", [1, 5, 16, 50])
@pytest.mark.parametrize(
    ("algorithm", "chosen", "space"),
    [
        (Recalculate, agg.max(), lambda n: n),
        (SubtractOnEvict, agg.sum(), lambda n: n + 1),
        (TwoStacks, agg.max(), lambda n: 2 * n + 1),
        (DABA, agg.max(), lambda n: n + 2),
        (FlatFAT, agg.max(), lambda n: 2 ** (math.ceil(math.log2(n)) + 1)),
        (BInt, agg.max(), lambda n: 2 ** (math.ceil(math.log2(n)) + 1)),
        (FlatFIT, agg.max(), lambda n: n),
        (SlickDequeInvertible, agg.sum(), lambda n: n + 1),
        (SlickDequeSelective, agg.max(), lambda n: n),
        (SlideSideInvertible, agg.sum(), lambda n: 3 * n + 1),
        (SlideSideNonInvertible, agg.max(), lambda n: n + 1),
    ],
)
def test_space_in_partials(algorithm: Any, chosen: Any, space: Any, length: int) -> None:
    window = algorithm(chosen, (length,))
    for number, value in enumerate(values(6 * length)):
        if number >= length:
            window.evict()
        window.insert(value)
        window.query()
        assert partials_held(window) <= space(length)


@pytest.mark.parametrize(
    ("algorithm", "chosen", "space"),
    [
        (SlickDequeInvertible, agg.sum(), lambda q, n: n + q),
        (SlickDequeSelective, agg.max(), lambda _, n: n),
        (SlideSideInvertible, agg.sum(), lambda _, n: 3 * n + 1),
        (SlideSideNonInvertible, agg.max(), lambda _, n: n + 1),
        (FlatFAT, agg.max(), lambda _, n: 2 * n),
        (BInt, agg.max(), lambda _, n: 2 * n),
        (FlatFIT, agg.max(), lambda _, n: n),
    ],
)
def test_space_in_partials_for_several_ranges(algorithm: Any, chosen: Any, space: Any) -> None:
    window = algorithm(chosen, tuple(RANGES))
    for number, value in enumerate(values(500)):
        if number >= max(RANGES):
            window.evict()
        window.insert(value)
        for length in sorted(RANGES, reverse=True):
            window.query_last(min(length, number + 1))
        assert partials_held(window) <= space(len(RANGES), max(RANGES))


@pytest.mark.parametrize("ranges", [(20,), (1, 64), (3, 64), (20, 64), (40, 64)])
def test_flatfit_keeps_a_partial_and_a_pointer_for_each_row_and_no_stack(ranges: tuple[int, ...]) -> None:
    window = FlatFIT(agg.max(), ranges)
    widest = max(ranges)
    for number, value in enumerate(values(800)):
        if number >= widest:
            window.evict()
        window.insert(value)
        for length in reversed(ranges):
            window.query_last(min(length, number + 1))
        integers = sum(len(getattr(window, name)) for name in read_algorithm(FlatFIT).attributes("Column[int]"))
        assert partials_held(window) == integers == len(window)  # 2n: the paper's stack has up to n/2 more
