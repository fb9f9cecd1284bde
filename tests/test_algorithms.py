from __future__ import annotations

from typing import Any

import pytest
from cases import PAIRS, SHARED_PAIRS, SKETCHES
from hypothesis import given, settings
from hypothesis import strategies as st

from sash.aggregates.base import Aggregate
from sash.algorithms import Algorithm, SharedAlgorithm
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
            check(window, aggregate)
            if held and asked_at_each_step:
                assert agrees(aggregate, held, window.query())
                check(window, aggregate)
        if held:
            assert agrees(aggregate, held, window.query())
            check(window, aggregate)


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
        check(window, aggregate)
        if data.draw(st.booleans()):
            for length in ranges:
                newest = held[-length:]
                assert agrees(aggregate, newest, window.query_last(len(newest)))
                check(window, aggregate)


def check(window: Algorithm[Any], aggregate: Aggregate[Any]) -> None:
    """Assert the invariants, which compare partials: sketches have no equality."""
    if aggregate.name not in SKETCHES:
        window._check()


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
