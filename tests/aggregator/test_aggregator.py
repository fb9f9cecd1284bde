from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from helpers.cases import AGGREGATES
from hypothesis import given, settings
from hypothesis import strategies as st

import sash
from sash import agg
from sash.algorithms import ALGORITHMS, SharedAlgorithm
from sash.algorithms.base import alike, fits
from sash.testing import recompute
from sash.testing.strategies import rows

NAMES = list(dict.fromkeys(algorithm.about.name for algorithm in ALGORITHMS))
SHARED = list(dict.fromkeys(a.about.name for a in ALGORITHMS if issubclass(a, SharedAlgorithm)))
WITH_NULLS = ["concat", "max", "sum", "variance", "count", "median", "collect", "arg_max"]


def fitting(names: list[str]) -> list[tuple[str, str]]:
    """Algorithms and aggregates that go together, and the chosen algorithm for each aggregate."""
    forms = [algorithm.about for algorithm in ALGORITHMS if algorithm.about.name in names]
    fit = [(about.name, chosen) for about in forms for chosen in WITH_NULLS if fits(about, AGGREGATES[chosen])]
    return [("auto", chosen) for chosen in WITH_NULLS] + list(dict.fromkeys(fit))


def insert(window: sash.Aggregator, row: Any) -> None:
    window.insert(*row) if isinstance(row, tuple) else window.insert(row)


@pytest.mark.parametrize(("name", "chosen"), fitting(NAMES))
@settings(max_examples=10)
@given(data=st.data())
def test_nulls_are_rows_without_a_value(name: str, chosen: str, data: st.DataObject) -> None:
    aggregate = AGGREGATES[chosen]
    window = sash.Aggregator(aggregate, algorithm=name)
    held: list[Any] = []
    for row in data.draw(st.lists(rows(aggregate, nulls=True), max_size=25)):
        held.append(row)
        insert(window, row)
        if data.draw(st.integers(0, 2)) == 0:
            held.pop(0)
            window.evict()
        assert len(window) == len(held)
        assert alike(window.query(), recompute(aggregate, held))


@pytest.mark.parametrize(("name", "chosen"), fitting(SHARED))
@settings(max_examples=10)
@given(data=st.data())
def test_ranges_count_rows_with_nulls(name: str, chosen: str, data: st.DataObject) -> None:
    aggregate = AGGREGATES[chosen]
    ranges = data.draw(st.lists(st.integers(1, 6), min_size=2, max_size=3, unique=True))
    window = sash.Aggregator(aggregate, algorithm=name, ranges=ranges)
    held: list[Any] = []
    for row in data.draw(st.lists(rows(aggregate, nulls=True), max_size=20)):
        held.append(row)
        insert(window, row)
        for length in ranges:
            assert alike(window.query(last=length), recompute(aggregate, held[-length:]))
    assert len(window) == min(len(held), max(ranges))


def test_any_length_can_be_asked_of_a_shared_algorithm() -> None:
    window = sash.Aggregator(agg.concat(), algorithm="flatfat")
    for letter in "abcdefghij":
        window.insert(letter)
    assert [window.query(last=length) for length in (1, 4, 99)] == ["j", "ghij", "abcdefghij"]


@pytest.mark.parametrize("name", SHARED)
def test_a_length_that_was_not_announced_is_answered_or_refused(name: str) -> None:
    window = sash.Aggregator(agg.sum().of_kind("int"), algorithm=name)
    for value in (1, 2, 3):
        window.insert(value)
    if name == "slickdeque":
        with pytest.raises(ValueError, match=r"pass ranges=\[2\]"):
            window.query(last=2)
    else:
        assert window.query(last=2) == 5


@pytest.mark.parametrize("name", ["auto", "slideside"])
def test_floats_are_not_subtracted_where_there_is_another_way(name: str) -> None:
    for total in (agg.sum(), agg.sum().of_kind("float")):
        window = sash.Aggregator(total, algorithm=name, ranges=[2, 4])
        for value in (1.0, 1e90, 1.0, 2.0):
            window.insert(value)
        assert window.query(last=2) == 3.0


KEEPERS: dict[str, Any] = {
    "order_statistics_tree": agg.median,
    "occurrence_table": agg.count_distinct,
    "occurrence_tournament": agg.mode,
}
"""Those that keep values, with an aggregate that they answer."""


class Incomparable:
    """Shares its hash with 50 and fails when it is compared with anything else."""

    def __eq__(self, other: object) -> bool:
        if other is self:
            return True
        raise TypeError

    def __hash__(self) -> int:
        return hash(50)

    def __gt__(self, other: object) -> bool:
        raise TypeError


@pytest.mark.parametrize("name", [name for name in NAMES if name != "subtract_on_evict"])
def test_a_window_whose_combine_failed_never_answers_again(name: str) -> None:
    window = sash.Aggregator(KEEPERS.get(name, agg.max)(), algorithm=name)

    def insert_and_ask(value: Any) -> None:
        window.insert(value)
        window.query()

    insert_and_ask(50)
    insert_and_ask(50)
    with pytest.raises(TypeError):
        insert_and_ask(Incomparable())
    for use in (window.query, window.evict, lambda: window.insert(1)):
        with pytest.raises(RuntimeError, match=r"left this window incomplete\. Make a new Aggregator"):
            use()


@pytest.mark.parametrize(
    ("chosen", "values", "expected"),
    [
        (agg.sum(), [np.int8(100)] * 3, 300),
        (agg.sum(), [np.True_] * 3, 3),
        (agg.mean(), [np.True_] * 3, 1.0),
        (agg.sum_of_squares(), [np.uint8(16)], 256),
        (agg.spread(), [np.int8(-100), np.int8(100)], 200),
    ],
)
def test_numbers_of_numpy_do_not_wrap(chosen: Any, values: list[Any], expected: Any) -> None:
    window = sash.Aggregator(chosen)
    for value in values:
        window.insert(value)
    assert window.query() == expected


def test_arrays_can_be_partials() -> None:
    vector = sash.aggregate("vector", lift=lambda x: np.array([x, 1.0]), combine=lambda older, newer: older + newer)
    window = sash.Aggregator(vector, algorithm="slideside", ranges=[2, 3])
    for value in (1, 2, 3, 4):
        window.insert(value)
    assert window.query(last=2).tolist() == [7.0, 2.0]
    sash.testing.check_laws(vector, [1, 2, 3])


@pytest.mark.parametrize("name", ["two_stacks", "slickdeque", "auto"])
def test_of_equal_values_the_first_in_order_is_kept(name: str) -> None:
    window = sash.Aggregator(agg.first(), algorithm=name, ranges=[3] if name == "two_stacks" else [2, 3])
    for value in (Decimal("1.0"), Decimal("1.00"), Decimal("1.000")):
        window.insert(value)
    assert str(window.query(last=3)) == "1.0"


def test_an_inverse_of_ones_own_is_not_taken_for_exact() -> None:
    total = sash.aggregate(
        "total", lift=float, combine=lambda older, newer: older + newer, inverse=lambda whole, older: whole - older
    )
    window = sash.Aggregator(total)
    for value in (1e90, 1, 2):
        window.insert(value)
    window.evict()
    assert window.query() == 3.0


def test_times_without_numbers_must_be_given() -> None:
    window = sash.Aggregator(agg.max(), algorithm="fiba")
    window.insert(1, time="noon")
    with pytest.raises(ValueError, match="Pass a time for every row"):
        window.insert(2)


def test_a_time_that_has_no_order_is_refused() -> None:
    window = sash.Aggregator(agg.max(), algorithm="fiba")
    with pytest.raises(ValueError, match="cannot be ordered"):
        window.insert(1, time=float("nan"))


def test_out_of_order_rows() -> None:
    window = sash.Aggregator(agg.mean(), algorithm="fiba")
    assert window.query() is None
    for value, time in ((1, 10), (None, 20), (5, 5), (3, 30)):
        window.insert(value, time=time)
    assert window.query() == 3
    assert window.query(start=10, end=30) == 1
    assert window.query(start=20, end=30) is None
    assert window.query(start=11, end=12) is None
    window.evict(before=10)
    assert (window.query(), len(window)) == (2, 3)
    window.evict()
    assert window.query() == 3


def test_an_empty_window_gives_null_and_a_count_gives_zero() -> None:
    assert sash.Aggregator(agg.max()).query() is None
    assert sash.Aggregator(agg.count()).query() == 0
    assert sash.Aggregator(agg.variance()).query() is None


def test_auto_never_subtracts_floats() -> None:
    assert sash.Aggregator(agg.sum().of_kind("float")).algorithm.about.name == "two_stacks"
    assert sash.Aggregator(agg.sum().of_kind("int")).algorithm.about.name == "subtract_on_evict"


def test_a_huge_value_leaves_no_trace() -> None:
    window = sash.Aggregator(agg.sum(), ranges=[2])
    results = []
    for value in (1.0, 1e90, 1.0, 2.0):
        window.insert(value)
        results.append(window.query())
    assert results[-1] == 3.0


@pytest.mark.parametrize(
    ("make", "error", "sentence"),
    [
        (
            lambda: sash.Aggregator(agg.max(), "subtract_on_evict"),
            ValueError,
            "max has no inverse, so subtract_on_evict cannot evict it. Use two_stacks",
        ),
        (lambda: sash.Aggregator(agg.mean(), "order_statistics_tree"), ValueError, "mean is not read by rank"),
        (
            lambda: sash.Aggregator(agg.variance(), "slickdeque"),
            ValueError,
            "combine of variance does not return one of its arguments",
        ),
        (
            lambda: sash.Aggregator(agg.max(), "three_stacks"),
            ValueError,
            'no algorithm "three_stacks". Did you mean',
        ),
        (lambda: sash.Aggregator(agg.max(), "daba", ranges=[2, 3]), ValueError, "daba answers one range"),
        (lambda: sash.Aggregator(agg.max(), "fiba", ranges=[3]), ValueError, "fiba answers intervals of time"),
        (lambda: sash.Aggregator(agg.max), TypeError, 'Pass one, as in sash.Aggregator(agg.max("load"))'),  # type: ignore[arg-type]
        (lambda: sash.Aggregator(agg.max(), ranges=3), TypeError, "as in ranges=[3]"),  # type: ignore[arg-type]
        (lambda: sash.Aggregator(agg.max(), "flatfat").query(last=2.5), ValueError, "last must be an integer"),  # type: ignore[arg-type]
        (lambda: sash.Aggregator(agg.max(), "fiba").query(start=3), ValueError, "query needs both start= and end="),
        (lambda: sash.Aggregator(agg.max(), ranges=[0]), ValueError, "0 is not a number of rows"),
        (lambda: sash.Aggregator(agg.max(), ranges=[2.5]), ValueError, "2.5 is not a number of rows"),  # type: ignore[list-item]
        (lambda: sash.Aggregator(agg.max()).evict(), IndexError, "the window is empty"),
        (lambda: sash.Aggregator(agg.max()).insert(1, 2), TypeError, "max needs 1 value"),
        (lambda: sash.Aggregator(agg.max()).insert(1, time=3), ValueError, 'use algorithm="fiba"'),
        (lambda: sash.Aggregator(agg.max()).evict(before=3), ValueError, 'Use algorithm="fiba"'),
        (lambda: sash.Aggregator(agg.max()).query(start=1, end=3), ValueError, 'Use algorithm="fiba"'),
        (lambda: sash.Aggregator(agg.max()).query(last=3), ValueError, "pass ranges=[3]"),
        (lambda: sash.Aggregator(agg.max(), ranges=[3, 5]).query(last=4), ValueError, "ranges 3, 5; add 4"),
        (lambda: sash.Aggregator(agg.max(), "flatfat").query(last=0), ValueError, "an integer of at least 1"),
        (lambda: sash.Aggregator(agg.max(), "fiba").query(last=1), ValueError, "fiba answers intervals of time"),
        (lambda: agg.max("a")("a", "b"), TypeError, "max needs 1 column"),
        (lambda: sash.aggregate("odd", lift=lambda *x: x, combine=max), TypeError, "inputs="),
    ],
)
def test_mistakes_are_answered_with_a_sentence(make: Any, error: type[Exception], sentence: str) -> None:
    with pytest.raises(error) as caught:
        make()
    assert sentence in str(caught.value)


def test_a_failing_lift_changes_nothing() -> None:
    window = sash.Aggregator(sash.aggregate("inverse_sum", lift=lambda x: 1 / x, combine=lambda a, b: a + b))
    window.insert(2)
    with pytest.raises(ZeroDivisionError):
        window.insert(0)
    assert (window.query(), len(window)) == (0.5, 1)


def test_repr_shows_what_it_is() -> None:
    assert repr(sash.Aggregator(agg.max("load"))) == "<Aggregator max(load) by two_stacks, 0 rows>"


# -- eviction of any row -----------------------------------------------------------------------------------------------


@given(data=st.data())
def test_any_row_can_be_evicted(data: st.DataObject) -> None:
    """Concatenation shows any row that is lost, doubled or out of order; nulls count as rows."""
    aggregator = sash.Aggregator(agg.concat("letter"), "reactive_aggregator")
    held: dict[int, str | None] = {}
    for number in range(data.draw(st.integers(1, 40))):
        letter = data.draw(st.sampled_from(["a", "b", "c", None]))
        aggregator.insert(letter)
        held[number] = letter
        for _ in range(data.draw(st.integers(0, 2))):
            by_position = data.draw(st.booleans())
            if held and by_position:
                at = data.draw(st.sampled_from(sorted(held)))
                aggregator.evict(at=at)
                del held[at]
            elif held:
                aggregator.evict()
                del held[min(held)]
        letters = [letter for letter in held.values() if letter is not None]
        assert aggregator.query() == ("".join(letters) or None)
        assert len(aggregator) == len(held)


def test_a_limit_evicts_the_oldest_row_that_is_left() -> None:
    aggregator = sash.Aggregator(agg.concat("letter"), "reactive_aggregator", ranges=[3])
    for letter in "abc":
        aggregator.insert(letter)
    aggregator.evict(at=0)
    for letter in "de":
        aggregator.insert(letter)
    assert (aggregator.query(), len(aggregator)) == ("cde", 3)


def test_eviction_of_any_row_is_refused_in_a_sentence() -> None:
    fifo = sash.Aggregator(agg.max("x"), "two_stacks")
    fifo.insert(1)
    for name in ("two_stacks", "reactive_aggregator_fifo", "fiba"):
        aggregator = sash.Aggregator(agg.max("x"), name)
        aggregator.insert(1, **({"time": 3} if name == "fiba" else {}))
        with pytest.raises(ValueError, match=rf'{name} .*evict\(at=…\) needs algorithm="reactive_aggregator"'):
            aggregator.evict(at=0)
    aggregator = sash.Aggregator(agg.max("x"), "reactive_aggregator")
    for value in (5, 9, 7):
        aggregator.insert(value)
    aggregator.evict(at=1)
    for gone in (1, 3, -1):
        with pytest.raises(IndexError, match=f"at={gone}.*not in the window"):
            aggregator.evict(at=gone)
    with pytest.raises(TypeError, match=r"at='b'.*number of a row"):
        aggregator.evict(at="b")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="before= or at=, not both"):
        aggregator.evict(at=0, before=3)
    assert (aggregator.query(), len(aggregator)) == (7, 2)
    column = sash.Aggregator(agg.max("x"), "reactive_aggregator")
    column.insert_many([1, 2])
    with pytest.raises(ValueError, match=r"filled by columns.*Insert rows one by one"):
        column.evict(at=0)
