"""The worked examples of the papers, by hand. FlatFAT's are in test_flatfat.py."""

from __future__ import annotations

from helpers.cases import Counter

from sash import agg
from sash.algorithms import FlatFIT, Recalculate, SlideSideInvertible

TUPLES = [2, 4, 0, 3, 7, 6, 1, 8, 9, 5]
"""FlatFIT, examples 2 and 3: the order in which tuples enter."""

FIRST_ANSWERS = [2, 4, 4, 4, 7, 7, 7, 8, 9, 9]
SECOND_ANSWERS = [2, 4, 4, 3, 7, 7, 6, 8, 9, 9]


def prefilled(counter: Counter) -> FlatFIT[float]:
    """Step 0 of figure 7: a window of five initial values."""
    window = FlatFIT(counter.aggregate, (5,))
    for _ in range(5):
        window.insert(float("-inf"))
    return window


def test_flatfit_example_2_takes_21_comparisons_where_naive_takes_40() -> None:
    counter = Counter(agg.max())
    window = prefilled(counter)
    answers, calls = [], []
    for value in TUPLES:
        window.evict()
        window.insert(value)
        answers.append(window.query())
        calls.append(counter.take())
    assert answers == FIRST_ANSWERS
    assert calls == [4, 1, 2, 2, 2, 1, 4, 1, 2, 2]
    assert sum(calls) == 21

    naive_counter = Counter(agg.max())
    naive = Recalculate(naive_counter.aggregate)
    for _ in range(5):
        naive.insert(float("-inf"))
    for value in TUPLES:
        naive.evict()
        naive.insert(value)
        naive.query()
    assert naive_counter.calls == 40


def test_flatfit_example_2_leaves_the_arrays_of_figure_7() -> None:
    counter = Counter(agg.max())
    window = prefilled(counter)
    seen = []
    for value in TUPLES[:7]:
        window.evict()
        window.insert(value)
        window.query()
        # Index i of the paper's circular arrays is position p with p ≡ i + 4 mod 5, as step 1 writes index 4.
        live = range(window.begin + 1, window.end)
        seen.append({(p - 1) % 5: (window.partials[p], (window.pointers[p] - 1) % 5) for p in live})
    reset = {4: (2, 0), 1: (2, 0), 2: (2, 0), 3: (2, 0)}
    assert seen[0] == reset
    assert seen[1] == {**{i: reset[i] for i in (2, 3, 4)}, 0: (4, 1)}
    assert seen[2] == {**{i: reset[i] for i in (3, 4)}, 0: (4, 2), 1: (0, 2)}
    assert seen[6][4] == (6, 1)


def test_flatfit_example_3_answers_the_second_query_in_6_comparisons_where_naive_takes_10() -> None:
    counter = Counter(agg.max())
    window = prefilled(counter)
    first, second = 0, 0
    for value, one, two in zip(TUPLES, FIRST_ANSWERS, SECOND_ANSWERS, strict=True):
        window.evict()
        window.insert(value)
        assert window.query_last(5) == one
        first += counter.take()
        assert window.query_last(2) == two
        second += counter.take()
    assert (first, second) == (21, 6)

    naive_counter = Counter(agg.max())
    naive = Recalculate(naive_counter.aggregate)
    naive.insert(float("-inf"))
    for value, two in zip(TUPLES, SECOND_ANSWERS, strict=True):
        naive.insert(value)
        assert naive.query_last(2) == two
    assert naive_counter.calls == 10


def test_slideside_figure_2() -> None:
    window = SlideSideInvertible(agg.sum(), (3, 4))
    for value in (3, 4, 2):  # t0
        window.insert(value)
    assert list(window.prefixes.values()) == [3, 7, 9]
    window.insert(8)  # t1
    assert list(window.prefixes.values()) == [3, 7, 9, 17]
    assert (window.query_last(3), window.query_last(4)) == (14, 17)
    window.evict()
    window.insert(5)  # t2, the suffix scan, and t3
    assert window.suffixes == {3: 8, 2: 10, 1: 14}
    assert window.prefixes == {4: 5}
    assert (window.query_last(3), window.query_last(4)) == (15, 19)
