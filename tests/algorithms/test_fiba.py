"""FiBA against a sorted list of (time, letter), at every step, and the number of its combines against its bounds."""

from __future__ import annotations

import math
import random
from bisect import bisect_right
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from operator import itemgetter
from typing import Any

import pytest
from helpers.pairwise import FULL
from hypothesis import given, settings
from hypothesis import strategies as st

from sash.aggregates.base import Aggregate
from sash.algorithms.fiba import FiBA

CONCAT = Aggregate[str](name="concat", lift=str, combine=lambda older, newer: older + newer)
MAX = Aggregate[str](name="max", lift=str, combine=max)
FEW, MANY = 2**12, 2**13

times = st.integers(0, 12)
steps = st.one_of(
    st.tuples(st.just("insert"), times),
    st.tuples(st.just("insert"), times),
    st.tuples(st.just("bulk"), st.lists(times, max_size=30)),
    st.tuples(st.just("append"), st.integers(0, 2)),
    st.tuples(st.just("prepend"), st.integers(0, 2)),
    st.tuples(st.just("evict"), st.none()),
    st.tuples(st.just("cut"), times),
    st.tuples(st.just("cut after"), st.integers(0, 40)),
)


class Naive:
    """The same window as a sorted list."""

    def __init__(self) -> None:
        self.elements: list[tuple[Any, str]] = []

    def insert(self, letter: str, time: Any) -> None:
        self.elements.insert(bisect_right(self.elements, time, key=itemgetter(0)), (time, letter))

    def evict(self, before: Any = None) -> None:
        self.elements = self.elements[1:] if before is None else [e for e in self.elements if e[0] >= before]

    def between(self, start: Any, end: Any) -> str:
        return "".join(letter for time, letter in self.elements if start <= time < end)


class Pair:
    """FiBA under concatenation and under max beside the naive window, compared after every step."""

    def __init__(self) -> None:
        self.concat, self.max, self.naive = FiBA(CONCAT), FiBA(MAX), Naive()
        self.arrived = 0

    def insert(self, *times: Any) -> None:
        for time in times:
            letter = chr(ord("Ā") + self.arrived)  # no two alike, so that a swapped element shows
            self.arrived += 1
            for window in (self.concat, self.max, self.naive):
                window.insert(letter, time)
        self.compare()

    def insert_many(self, *times: Any) -> None:
        letters = [chr(ord("Ā") + self.arrived + number) for number in range(len(times))]
        self.arrived += len(times)
        for window in (self.concat, self.max):
            window.insert_many(zip(times, letters, strict=True))
        for letter, time in zip(letters, times, strict=True):
            self.naive.insert(letter, time)
        self.compare()

    def evict(self, before: Any = None) -> None:
        for window in (self.concat, self.max, self.naive):
            window.evict(before)
        self.compare()

    def compare(self) -> None:
        elements = self.naive.elements
        for window in (self.concat, self.max):
            window._check()
            assert len(window) == len(elements)
            if elements:
                assert (window.oldest, window.newest) == (elements[0][0], elements[-1][0])
        if elements:
            letters = "".join(letter for _, letter in elements)
            assert self.concat.query() == letters
            assert self.max.query() == max(letters)

    def compare_between(self, start: Any, end: Any) -> None:
        expected = self.naive.between(start, end)
        if expected:
            assert self.concat.query_between(start, end) == expected
            assert self.max.query_between(start, end) == max(expected)
        else:
            with pytest.raises(LookupError, match=r"no element with a time in \["):
                self.concat.query_between(start, end)

    def play(self, script: Iterable[tuple[str, Any]]) -> None:
        for step, number in script:
            elements = self.naive.elements
            if step == "insert" or (not elements and step not in ("cut", "bulk")):
                self.insert(number or 0)
            elif step == "bulk":
                self.insert_many(*number)
            elif step == "append":
                self.insert(elements[-1][0] + number)
            elif step == "prepend":
                self.insert(elements[0][0] - number)
            elif step == "evict":
                self.evict()
            elif step == "cut":
                self.evict(number)
            else:
                self.evict(elements[number % len(elements)][0] + 1)


class Counted:
    """A FiBA of sums that counts its combines."""

    def __init__(self, times: Iterable[Any] = ()) -> None:
        self.combines = 0
        self.window = FiBA(Aggregate[int](name="sum", lift=int, combine=self.add))
        for time in times:
            self.window.insert(1, time)
        self.combines = 0

    def add(self, older: int, newer: int) -> int:
        self.combines += 1
        return older + newer

    def spent(self) -> int:
        combines, self.combines = self.combines, 0
        return combines


class Moment:
    """A time that counts how often it is compared: what a search costs."""

    compared = 0

    def __init__(self, time: float) -> None:
        self.time = time

    def __lt__(self, other: Moment) -> bool:
        Moment.compared += 1
        return self.time < other.time


def arrival(order: str, count: int) -> list[int]:
    """Return the times 0 to count - 1 in an order of arrival."""
    in_order = list(range(count))
    if order == "random":
        random.Random(count).shuffle(in_order)
    return in_order[::-1] if order == "reverse" else in_order


orders = pytest.mark.parametrize("order", ["in order", "reverse", "random"])


@settings(max_examples=200 if FULL else 60, deadline=None)
@given(st.lists(steps, max_size=60), times, times)
def test_equals_a_sorted_list(script: list[tuple[str, Any]], start: int, end: int) -> None:
    pair = Pair()
    pair.play(script)
    pair.compare_between(start, end)


@settings(max_examples=30 if FULL else 10, deadline=None)
@given(st.lists(st.integers(0, 40), min_size=30, max_size=90), st.data())
def test_equals_a_sorted_list_when_deep(arrivals: list[int], data: st.DataObject) -> None:
    pair = Pair()
    for time in arrivals:
        pair.insert(time)
    while pair.naive.elements:
        pair.evict(data.draw(st.one_of(st.none(), st.integers(pair.concat.oldest, pair.concat.newest + 1))))
        pair.insert(data.draw(st.integers(0, 40)))
        pair.evict()


@settings(max_examples=30 if FULL else 10, deadline=None)
@given(st.lists(times, max_size=30))
def test_every_interval(arrivals: list[int]) -> None:
    pair = Pair()
    pair.insert(*arrivals)
    for start in range(-1, 14):
        for end in range(-1, 14):
            pair.compare_between(start, end)


@orders
@pytest.mark.parametrize("size", [0, 1, 2, 3, 4, 7, 16, 40])
def test_every_cut(order: str, size: int) -> None:
    for before in range(-1, size + 2):
        pair = Pair()
        pair.insert(*arrival(order, size))
        pair.evict(before)
        pair.insert(before, before - 1, size + 1)  # still a working window
        pair.evict()


@orders
def test_evicts_to_the_last_and_starts_again(order: str) -> None:
    pair = Pair()
    for _ in range(2):
        for time in arrival(order, 60):
            pair.insert(time)
        while pair.naive.elements:
            pair.evict()


def test_equal_times_are_separate_and_in_order_of_arrival() -> None:
    window = FiBA(CONCAT)
    for letter in "abcdefghij":
        window.insert(letter, 5)
    window.insert("<", 4)
    window.insert(">", 6)
    window._check()
    assert len(window) == 12
    assert window.query() == "<abcdefghij>"
    assert window.query_between(5, 6) == "abcdefghij"
    window.evict(before=5)
    window.evict()
    assert window.query() == "bcdefghij>"


def test_without_times_is_first_in_first_out() -> None:
    window = FiBA(CONCAT)
    for letter in "abcdef":
        window.insert(letter)
    window.evict()
    assert (window.oldest, window.newest, window.query()) == (1, 5, "bcdef")
    window.insert("x", 2.5)
    assert window.query() == "bcxdef"


def test_times_may_be_datetimes() -> None:
    pair = Pair()
    noon = datetime(2024, 2, 29, 12, tzinfo=UTC)
    moments = [noon + timedelta(minutes=minute) for minute in arrival("random", 20)]
    pair.insert(*moments)
    pair.compare_between(noon + timedelta(minutes=3), noon + timedelta(minutes=17))
    pair.evict(noon + timedelta(minutes=9))


@pytest.mark.parametrize(("start", "end"), [(3, 3), (7, 3), (10, 20), (-5, 0)])
def test_refuses_an_interval_without_elements(start: int, end: int) -> None:
    window = FiBA(CONCAT)
    with pytest.raises(LookupError, match="Query an interval that holds one"):
        window.query_between(start, end)
    for letter in "abcdefghij":
        window.insert(letter)
    with pytest.raises(LookupError, match="Query an interval that holds one"):
        window.query_between(start, end)


@pytest.mark.parametrize("size", [1, 100, FEW])
def test_in_order_takes_12_combines_a_slide(size: int) -> None:
    counted = Counted(range(size))
    slides = 2000
    for _ in range(slides):
        counted.window.insert(1)
        counted.window.evict()
        counted.window.query()
    assert counted.spent() <= 12 * slides


@pytest.mark.parametrize("size", [3, 50, 1000])
def test_inserting_and_evicting_at_one_place_does_not_thrash(size: int) -> None:
    for order in ("in order", "reverse"):
        counted = Counted(arrival(order, size))
        for run in (1, 2, 5):
            for _ in range(300):
                for _ in range(run):
                    counted.window.insert(1, -1)
                for _ in range(run):
                    counted.window.evict()
            assert counted.spent() <= 16 * 300 * run


@orders
def test_query_takes_2_combines(order: str) -> None:
    counted = Counted()
    for size, time in enumerate(arrival(order, 200), start=1):
        counted.window.insert(1, time)
        counted.spent()
        assert counted.window.query() == size
        assert counted.spent() <= 2


@orders
@pytest.mark.parametrize("end", ["newest", "oldest"])
def test_insert_takes_9_log_d_combines(order: str, end: str) -> None:
    counted = Counted(arrival(order, FEW))
    window, inserts = counted.window, 100
    for distance in (2**exponent for exponent in range(11)):
        for _ in range(inserts):  # at the distance and at the end in turn: either may pay for the other's splits
            if end == "newest":
                window.insert(1, window.newest - distance + 0.5)
                window.insert(1, window.newest + 1)
            else:
                window.insert(1, window.oldest + distance - 0.5)
                window.insert(1, window.oldest - 1)
        assert counted.spent() <= (9 * (1 + math.log2(distance)) + 9) * inserts


@orders
def test_searches_from_the_nearer_end(order: str) -> None:
    window = Counted(map(Moment, arrival(order, FEW))).window
    for distance in (2**exponent for exponent in range(11)):
        for time in (FEW - distance - 0.5, distance - 0.5):
            Moment.compared = 0
            window.insert(1, Moment(time))
            assert Moment.compared <= 6 * (1 + math.log2(distance)) + 2
    Moment.compared = 0
    window.evict(before=Moment(1))
    assert Moment.compared <= 8


@orders
@pytest.mark.parametrize("size", [0, 1, 5, 60])
@pytest.mark.parametrize("many", [0, 1, 2, 7, 200])
def test_every_bulk(order: str, size: int, many: int) -> None:
    chooser = random.Random(f"{order} {size} {many}")
    for lowest, highest in ((-1, size), (size - 5, size + 5), (-9, 0), (size, size + 300)):
        pair = Pair()
        pair.insert(*arrival(order, size))
        pair.insert_many(*(chooser.randint(lowest, highest) for _ in range(many)))
        pair.insert_many(*(chooser.randint(lowest, highest) for _ in range(many)))
        pair.insert(lowest, highest)
        pair.evict(lowest + 3)


@orders
def test_bulk_inserts_take_few_combines(order: str) -> None:
    """As the paper says: log d for the way to the rows, and for each of m rows 1 + log(d/m)."""
    for distance in (2**exponent for exponent in range(4, 12)):
        for many in (one for one in (1, 8, 64, 512) if one <= distance):
            counted = Counted(arrival(order, FEW))
            newest = counted.window.newest
            times = [newest - distance * number / many + 0.5 for number in range(many)]
            counted.window.insert_many((time, 1) for time in times)
            bound = 12 * (math.log2(distance) + many * (1 + math.log2(distance / many)))
            assert counted.spent() <= bound
            assert len(counted.window) == FEW + many


def test_a_bulk_in_order_costs_less_than_its_rows() -> None:
    counted, alone = Counted(range(FEW)), Counted(range(FEW))
    counted.window.insert_many((FEW + number, 1) for number in range(1000))
    for number in range(1000):
        alone.window.insert(1, FEW + number)
    assert counted.spent() < alone.spent() / 2


@orders
def test_bulk_evict_takes_6_log_n_combines(order: str) -> None:
    counted = Counted(arrival(order, MANY))
    before = 0
    for evicted in (1, 2, 3, 10, 100, 1000, MANY // 2, 2000, 900, 75, 5):
        before += evicted
        counted.window.evict(before=before)
        assert counted.spent() <= 6 * math.log2(MANY)
        assert len(counted.window) == MANY - before


@orders
def test_bulk_evicts_take_7_log_m_combines(order: str) -> None:
    counted = Counted(arrival(order, FEW))
    before = 0
    for evicted in (1, 2, 4, 8, 16, 32, 64, 128):
        bulks = 512 // evicted
        for _ in range(bulks):
            before += evicted
            counted.window.evict(before=before)
        assert counted.spent() <= 7 * (1 + math.log2(evicted)) * bulks


@orders
def test_query_between_takes_6_log_n_combines(order: str) -> None:
    counted = Counted(arrival(order, FEW))
    for start in range(0, FEW, 197):
        for end in range(start + 1, FEW + 1, 191):
            assert counted.window.query_between(start, end) == end - start
            assert counted.spent() <= 6 * math.log2(FEW)
