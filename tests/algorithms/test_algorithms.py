from __future__ import annotations

import ast
import gc
import weakref
from operator import itemgetter
from typing import Any

import pytest
from helpers.cases import SOAK, fitting
from helpers.pairwise import FULL
from hypothesis import given, settings
from hypothesis import strategies as st

from sash.aggregates.base import Aggregate, with_fields
from sash.algorithms import ALGORITHMS, Algorithm, FiBA, ReactiveAggregator, SharedAlgorithm
from sash.algorithms.base import alike
from sash.algorithms.sorted_block import SortedBlock
from sash.kernels.read import read_algorithm
from sash.slices.open_slice import OpenSlice
from sash.testing import recompute
from sash.testing.strategies import Script, scripts, steps

SHARED = [algorithm for algorithm in ALGORITHMS if issubclass(algorithm, SharedAlgorithm)]

# What is drawn is played with every aggregate that fits: drawing it takes longer than all that one window does. For the
# same reason the numbers of a stream are drawn as bytes, all at once.


def in_bytes(numbers: int, most_rows: int, least_rows: int = 0) -> st.SearchStrategy[list[tuple[int, ...]]]:
    """So many numbers from 0 to 255 for each row, and any number of rows equally likely."""
    sizes = st.integers(least_rows, most_rows).map(lambda rows: numbers * rows)
    drawn = sizes.flatmap(lambda size: st.binary(min_size=size, max_size=size))
    return drawn.map(lambda drawn: list(zip(*[iter(drawn)] * numbers, strict=True)))


def row_for(aggregate: Aggregate[Any], *numbers: int) -> Any:
    """A row as `sash.testing.strategies.rows` draws them: small integers, so that ties are many and sums are exact."""
    row = tuple(number % 14 - 4 for number in numbers)
    return row if aggregate.inputs > 1 else row[0]


def expect(name: str, aggregate: Aggregate[Any], held: list[Any], partial: Any) -> None:
    """The window's partial gives what the oracle recomputes from the rows (too few rows give no result)."""
    if len(held) >= aggregate.result.at_least:
        lowered = with_fields(aggregate, finish=None)  # queries finish results
        result, expected = aggregate.lower(partial), recompute(lowered, held)
        assert alike(as_tuple(result), as_tuple(expected)), f"{name} of {held} is {expected}, not {result}"


def as_tuple(result: Any) -> Any:
    return tuple(result) if isinstance(result, list) else result


def lifted(aggregate: Aggregate[Any], row: Any) -> Any:
    return aggregate.lift(*(row if aggregate.inputs > 1 else (row,) * aggregate.inputs))


def telling(chosen: dict[str, Aggregate[Any]]) -> str:
    """The aggregate whose windows are checked after every step, the others' more rarely: checks take the longest."""
    return "concat" if "concat" in chosen else next(iter(chosen))


@pytest.mark.parametrize("algorithm", ALGORITHMS, ids=lambda algorithm: algorithm.__name__)
@settings(max_examples=40 if SOAK else 12 if FULL else 6)
@given(st.booleans(), in_bytes(2, least_rows=72, most_rows=72), scripts(most_rows=7))
def test_every_step_agrees_with_the_oracle(
    algorithm: type[Algorithm[Any]], asked_at_each_step: bool, numbers: list[tuple[int, ...]], script: Script
) -> None:
    chosen = fitting(algorithm)
    for name, aggregate in chosen.items():
        window = algorithm(aggregate)
        held: list[Any] = []
        stream = (row_for(aggregate, *pair) for pair in numbers)
        for phase in script:
            for step in steps([phase], len(held)):
                if step == "insert":
                    held.append(next(stream))
                    window.insert(lifted(aggregate, held[-1]))
                else:
                    held.pop(0)
                    window.evict()
                assert len(window) == len(held)
                if name == telling(chosen):
                    window._check()
                if held and asked_at_each_step:
                    expect(name, aggregate, held, window.query())
                    window._check()
            if held:
                expect(name, aggregate, held, window.query())
                window._check()


@pytest.mark.parametrize("algorithm", SHARED, ids=lambda algorithm: algorithm.__name__)
@settings(max_examples=20 if FULL else 8)
@given(st.sets(st.integers(1, 9), min_size=1, max_size=4), in_bytes(3, least_rows=1, most_rows=20))
def test_every_range_agrees_with_the_oracle(
    algorithm: type[SharedAlgorithm[Any]], lengths: set[int], stream: list[tuple[int, ...]]
) -> None:
    ranges = tuple(sorted(lengths, reverse=True))
    chosen = fitting(algorithm)
    for name, aggregate in chosen.items():
        window = algorithm(aggregate, ranges)
        held: list[Any] = []
        for one, other, asked in stream:
            if len(held) == max(ranges):
                held.pop(0)
                window.evict()
            held.append(row_for(aggregate, one, other))
            window.insert(lifted(aggregate, held[-1]))
            if name == telling(chosen):
                window._check()
            if asked % 2 == 0:
                for length in ranges:
                    newest = held[-length:]
                    expect(name, aggregate, newest, window.query_last(len(newest)))
                    window._check()


@settings(max_examples=20 if FULL else 12)
@given(in_bytes(5, most_rows=24))
def test_any_element_can_be_evicted(stream: list[tuple[int, ...]]) -> None:
    chosen = fitting(ReactiveAggregator)
    for name, aggregate in chosen.items():
        window = ReactiveAggregator(aggregate)
        held: dict[int, Any] = {}
        for number, (one, other, leaves, which, asked) in enumerate(stream):
            held[number] = row_for(aggregate, one, other)
            window.insert(lifted(aggregate, held[number]))
            if leaves % 2 == 0:
                leaving = list(held)[which % len(held)]
                del held[leaving]
                window.evict_at(leaving)
            if name == telling(chosen):
                window._check()
            assert len(window) == len(held)
            if held and asked % 2 == 0:
                expect(name, aggregate, list(held.values()), window.query())
                window._check()


@settings(max_examples=20 if FULL else 12)
@given(in_bytes(7, most_rows=20))
def test_rows_may_come_in_any_order(stream: list[tuple[int, ...]]) -> None:
    chosen = fitting(FiBA)
    for name, aggregate in chosen.items():
        window = FiBA(aggregate)
        held: list[tuple[int, Any]] = []
        for one, other, *others in stream:
            time, leaves, before, *between = (number % 13 for number in others)
            row = row_for(aggregate, one, other)
            held.append((time, row))
            held.sort(key=itemgetter(0))
            window.insert(lifted(aggregate, row), time)
            if leaves < 2:
                held = [element for element in held if element[0] >= before]
                window.evict(before)
            if name == telling(chosen):
                window._check()
            assert len(window) == len(held)
            if held:
                expect(name, aggregate, [row for _, row in held], window.query())
            start, end = min(between), max(between) + 1
            inside = [row for time, row in held if start <= time < end]
            if inside:
                expect(name, aggregate, inside, window.query_between(start, end))
        window._check()


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
    if len(made) > 4 * 16:  # it takes a second where tests have loaded much
        gc.collect()
    assert len(made) <= 4 * 16


@pytest.mark.parametrize("algorithm", ALGORITHMS, ids=lambda algorithm: algorithm.__name__)
def test_forgets_what_left_the_window(algorithm: type[Algorithm[Any]]) -> None:
    for name, aggregate in fitting(algorithm).items():
        window = algorithm(aggregate)
        for number in range(200):
            window.insert(lifted(aggregate, row_for(aggregate, 5, 5)))
            if number >= 5:
                window.evict()
            window.query()
        columns = [state for state in vars(window).values() if isinstance(state, dict | list)]
        assert max(map(len, columns), default=0) <= 2 * 16, name


def calls_of(algorithm: type[Algorithm[Any]]) -> set[str]:
    """The functions and methods that an algorithm calls, beside its check of invariants."""
    methods = [method for name, method in read_algorithm(algorithm).methods.items() if not name.startswith("_check")]
    calls = [node for method in methods for node in ast.walk(method.node) if isinstance(node, ast.Call)]
    return {ast.unparse(call.func) for call in calls}


@pytest.mark.parametrize("algorithm", [*ALGORITHMS, SortedBlock, OpenSlice], ids=lambda algorithm: algorithm.__name__)
def test_capabilities_are_what_the_source_does(algorithm: type[Algorithm[Any]]) -> None:
    calls = calls_of(algorithm)
    compares = bool(calls & {"same", "is_newer", "is_above", "same_key"})
    assert algorithm.branches_on_data == compares or algorithm is SortedBlock  # which compares words of bits
    assert algorithm.about.needs_inverse == ("self.inverse" in calls)
    assert algorithm.keeps_values == hasattr(algorithm, "result")
    assert algorithm.one_aggregate == (algorithm.keeps_values or algorithm.about.needs == "selective")
    assert algorithm.answers_ranges == hasattr(algorithm, "query_last") == (algorithm.about.ranges == "many")
    assert algorithm.answers_any_length == (algorithm.answers_ranges and not algorithm.takes_nulls)
    assert algorithm.takes_times == (algorithm.about.order == "any")
    companion = algorithm.sorted_in_advance
    assert companion is None or companion.about.needs == algorithm.about.needs
