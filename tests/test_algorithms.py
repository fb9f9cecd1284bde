from __future__ import annotations

import gc
import weakref
from operator import itemgetter
from typing import Any

import pytest
from cases import PAIRS, SHARED_PAIRS, pairs
from hypothesis import given, settings
from hypothesis import strategies as st

from sash.aggregates.base import Aggregate
from sash.algorithms import ALGORITHMS, Algorithm, FiBA, ReactiveAggregator, SharedAlgorithm
from sash.algorithms.base import alike
from sash.testing import recompute
from sash.testing.strategies import rows, scripts, steps

Script = list[tuple[str, int]]


def agrees(aggregate: Aggregate[Any], held: list[Any], partial: Any) -> bool:
    """Whether the window's partial gives what the oracle recomputes from the rows (too few rows give no result)."""
    if len(held) < aggregate.at_least:
        return True
    return alike(as_tuple(aggregate.lower(partial)), as_tuple(recompute(aggregate, held)))


def as_tuple(result: Any) -> Any:
    return tuple(result) if isinstance(result, list) else result


def lifted(aggregate: Aggregate[Any], row: Any) -> Any:
    return aggregate.lift(*(row if aggregate.inputs > 1 else (row,) * aggregate.inputs))


@pytest.mark.parametrize(("algorithm", "aggregate"), PAIRS)
@settings(max_examples=20)
@given(data=st.data())
def test_every_step_agrees_with_the_oracle(
    algorithm: type[Algorithm[Any]], aggregate: Aggregate[Any], data: st.DataObject
) -> None:
    window = algorithm(aggregate)
    held: list[Any] = []
    asked_at_each_step = data.draw(st.booleans())
    stream = iter(data.draw(st.lists(rows(aggregate), min_size=72, max_size=72)))
    for phase in data.draw(scripts(most_rows=7)):
        for step in steps([phase], len(held)):
            if step == "insert":
                held.append(next(stream))
                window.insert(lifted(aggregate, held[-1]))
            else:
                held.pop(0)
                window.evict()
            assert len(window) == len(held)
            window._check()
            if held and asked_at_each_step:
                assert agrees(aggregate, held, window.query())
                window._check()
        if held:
            assert agrees(aggregate, held, window.query())
            window._check()


@pytest.mark.parametrize(("algorithm", "aggregate"), SHARED_PAIRS)
@settings(max_examples=20)
@given(data=st.data())
def test_every_range_agrees_with_the_oracle(
    algorithm: type[SharedAlgorithm[Any]], aggregate: Aggregate[Any], data: st.DataObject
) -> None:
    ranges = tuple(sorted(data.draw(st.sets(st.integers(1, 9), min_size=1, max_size=4)), reverse=True))
    window = algorithm(aggregate, ranges)
    held: list[Any] = []
    for row in data.draw(st.lists(rows(aggregate), min_size=1, max_size=30)):
        if len(held) == max(ranges):
            held.pop(0)
            window.evict()
        held.append(row)
        window.insert(lifted(aggregate, row))
        window._check()
        if data.draw(st.booleans()):
            for length in ranges:
                newest = held[-length:]
                assert agrees(aggregate, newest, window.query_last(len(newest)))
                window._check()


@pytest.mark.parametrize(("algorithm", "aggregate"), pairs([ReactiveAggregator]))
@settings(max_examples=20)
@given(data=st.data())
def test_any_element_can_be_evicted(
    algorithm: type[ReactiveAggregator[Any]], aggregate: Aggregate[Any], data: st.DataObject
) -> None:
    window = algorithm(aggregate)
    held: dict[int, Any] = {}
    for number, row in enumerate(data.draw(st.lists(rows(aggregate), max_size=40))):
        held[number] = row
        window.insert(lifted(aggregate, row))
        if data.draw(st.integers(0, 5)) < 3:
            leaving = data.draw(st.sampled_from(sorted(held)))
            del held[leaving]
            window.evict_at(leaving)
        window._check()
        assert len(window) == len(held)
        asked = data.draw(st.booleans())
        if held and asked:
            assert agrees(aggregate, list(held.values()), window.query())
            window._check()


@pytest.mark.parametrize(("algorithm", "aggregate"), pairs([FiBA]))
@settings(max_examples=20)
@given(data=st.data())
def test_rows_may_come_in_any_order(algorithm: type[FiBA[Any]], aggregate: Aggregate[Any], data: st.DataObject) -> None:
    window = algorithm(aggregate)
    held: list[tuple[int, Any]] = []
    for row in data.draw(st.lists(rows(aggregate), max_size=30)):
        time = data.draw(st.integers(0, 12))
        held.append((time, row))
        held.sort(key=itemgetter(0))
        window.insert(lifted(aggregate, row), time)
        if data.draw(st.integers(0, 7)) == 0:
            before = data.draw(st.integers(0, 12))
            held = [element for element in held if element[0] >= before]
            window.evict(before)
        window._check()
        assert len(window) == len(held)
        if held:
            assert agrees(aggregate, [row for _, row in held], window.query())
        start, end = sorted(data.draw(st.tuples(st.integers(0, 12), st.integers(0, 13))))
        inside = [row for time, row in held if start <= time < end]
        if inside:
            assert agrees(aggregate, inside, window.query_between(start, end))


class Token:
    """A partial that can be counted while it is alive."""


@pytest.mark.parametrize(
    "algorithm", [algorithm for algorithm in ALGORITHMS if not algorithm.about.needs], ids=lambda a: a.__name__
)
def test_lets_go_of_partials(algorithm: type[Algorithm[Any]]) -> None:
    made: weakref.WeakSet[Token] = weakref.WeakSet()

    def make(*_: object) -> Token:
        made.add(token := Token())
        return token

    window = algorithm(Aggregate(name="token", lift=make, combine=make))
    for number in range(300):
        window.insert(make())
        if number >= 8:
            window.evict()
        window.query()
    gc.collect()
    assert len(made) <= 4 * 16


@pytest.mark.parametrize(("algorithm", "aggregate"), PAIRS)
def test_forgets_what_left_the_window(algorithm: type[Algorithm[Any]], aggregate: Aggregate[Any]) -> None:
    window = algorithm(aggregate)
    row = (1,) * aggregate.inputs if aggregate.inputs > 1 else 1
    for number in range(200):
        window.insert(lifted(aggregate, row))
        if number >= 5:
            window.evict()
        window.query()
    columns = [state for state in vars(window).values() if isinstance(state, dict | list)]
    assert max(map(len, columns), default=0) <= 2 * 16
