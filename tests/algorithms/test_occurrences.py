"""count_distinct and mode by the occurrences of values: interpreted, compiled, and by the oracle."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator
from decimal import Decimal
from math import inf, nan
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from helpers.pairwise import FULL, some
from hypothesis import given, settings
from hypothesis import strategies as st

from sash import Aggregator, agg
from sash.aggregates.base import Aggregate
from sash.algorithms import OccurrenceTable, OccurrenceTournament
from sash.algorithms.occurrence_table import PositionTable, mix
from sash.kernels import Kernel, loops
from sash.kernels.kernel_arrays import ResultColumn
from sash.plan.choose import choose_algorithm
from sash.testing import recompute
from sash.testing.strategies import scripts, steps

BOTH: list[Any] = [
    pytest.param(OccurrenceTable, agg.count_distinct(), id="count_distinct"),
    pytest.param(OccurrenceTournament, agg.mode(), id="mode"),
]
COLLIDING = [number << 40 for number in range(-9, 9)]
VALUES = st.one_of(
    st.sampled_from([0, 1, 2]),
    st.sampled_from(COLLIDING),
    st.sampled_from([0.0, -0.0, 1.0, True, False, inf, nan, Decimal("NaN"), Decimal(1)]),
    st.sampled_from(["ant", "bee", (1, 2), (1.0, 2)]),
    st.integers(),
)


def shown(result: Any) -> str:
    """Tells -0.0 from 0.0, 1 from True, and finds NaN equal to NaN."""
    return repr(result)


@pytest.mark.parametrize(("algorithm", "aggregate"), BOTH)
@settings(max_examples=100 if FULL else 50, deadline=None)
@given(
    script=scripts(most_rows=20),
    values=st.lists(VALUES, min_size=40, max_size=40).map(lambda values: values * 4),  # drawing more takes the longest
    room=st.sampled_from([(), (1,)]),
)
def test_every_step_agrees_with_the_oracle_whatever_the_values(
    algorithm: Any, aggregate: Aggregate[Any], script: Any, values: list[Any], room: tuple[int, ...]
) -> None:
    window: PositionTable[Any] = algorithm(aggregate, room)
    begin = end = 0
    for step in steps(script):
        if step == "insert":
            window.insert(aggregate.lift(values[end]))
            end += 1
        else:
            window.evict()
            begin += 1
        window._check()
        if begin < end:
            assert shown(aggregate.lower(window.query())) == shown(recompute(aggregate, values[begin:end]))


def floats(rows: int, generator: np.random.Generator) -> npt.NDArray[Any]:
    return generator.choice([nan, 0.0, -0.0, 1.0, inf, -inf, 5e-324, -nan], rows)


STREAMS: dict[str, Callable[[int, np.random.Generator], npt.NDArray[Any]]] = {
    "one value": lambda rows, _: np.full(rows, 3),
    "all different": lambda rows, _: np.arange(rows),
    "few values": lambda rows, generator: generator.integers(0, 3, rows),
    "many values": lambda rows, generator: generator.integers(-15, 15, rows),
    "runs": lambda rows, _: np.arange(rows) // 5 % 4,
    "same low bits": lambda rows, generator: generator.integers(-20, 20, rows) << 26,
    "floats": floats,
}
TYPES = ["bool", "int32", "int64", "float32", "float64"]
ROWS = 150


def moving_bounds(generator: np.random.Generator) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """Bounds with steps, stops, empty windows and gaps between windows."""
    ends = np.minimum(np.cumsum(generator.integers(0, 4, 90)), ROWS)
    begins = np.maximum.accumulate(np.clip(ends - generator.integers(-2, 25, 90), 0, ROWS))
    return begins, np.maximum(begins, ends)


def columns(kind: str, generator: np.random.Generator) -> Iterator[npt.NDArray[Any]]:
    for name, stream in STREAMS.items():
        if name != "floats" or kind.startswith("float"):
            yield stream(ROWS, generator).astype(kind)


@pytest.mark.parametrize("kind", some(TYPES, 2))
@pytest.mark.parametrize(("algorithm", "aggregate"), BOTH)
def test_compiled_interpreted_and_oracle_are_the_same(algorithm: Any, aggregate: Aggregate[Any], kind: str) -> None:
    kernel = Kernel(algorithm, aggregate, (kind,), loops.slide_rows)
    assert kernel.results[0] == (kind if aggregate.laws.modal else "int64")
    ends = np.arange(1, ROWS + 1)
    for column in columns(kind, np.random.default_rng(2)):
        for length in (1, 2, 7, 16, 33):
            begins = np.maximum(ends - length, 0)
            oracle = expected(aggregate, column, begins, ends)
            assert interpreted(algorithm, aggregate, column, begins, ends) == oracle
            assert compiled(kernel.slide_rows((column,), length)) == oracle


@pytest.mark.parametrize("kind", some(["float64", "int64"], 2))
@pytest.mark.parametrize(("algorithm", "aggregate"), BOTH)
def test_moving_bounds_make_no_difference(algorithm: Any, aggregate: Aggregate[Any], kind: str) -> None:
    kernel = Kernel(algorithm, aggregate, (kind,), loops.slide_between)
    generator = np.random.default_rng(3)
    for column in columns(kind, generator):
        for _ in range(5):
            begins, ends = moving_bounds(generator)
            oracle = expected(aggregate, column, begins, ends)
            assert interpreted(algorithm, aggregate, column, begins, ends) == oracle
            assert compiled(kernel.slide_between((column,), begins, ends)) == oracle


def expected(aggregate: Aggregate[Any], column: Any, begins: Any, ends: Any) -> list[str]:
    rows = column.tolist()
    held = (rows[begin:end] for begin, end in zip(begins, ends, strict=True))
    return [shown(recompute(aggregate, window)) for window in held]


def interpreted(algorithm: Any, aggregate: Aggregate[Any], column: Any, begins: Any, ends: Any) -> list[str]:
    rows = column.tolist()
    results: list[Any] = [aggregate.result.empty] * len(ends)
    loops.slide_between(
        algorithm(aggregate),
        len(ends),
        begins.tolist(),
        ends.tolist(),
        1,
        lambda _: True,
        lambda row: aggregate.lift(rows[row]),
        lambda row, _, partial: results.__setitem__(row, aggregate.lower(partial)),
    )
    return [shown(result) for result in results]


def compiled(answers: list[ResultColumn]) -> list[str]:
    results, valid = answers[0].values.tolist(), answers[0].valid.tolist()
    return [shown(result if is_valid else None) for result, is_valid in zip(results, valid, strict=True)]


class CountedReads(list[int]):
    """A list that counts how often it is read."""

    reads = 0

    def __getitem__(self, index: Any) -> Any:
        self.reads += 1
        return super().__getitem__(index)


ADVERSARIES: dict[str, Callable[[int], Any]] = {
    "in a row": lambda number: number,
    "the same low bits": lambda number: number << 32,
    "the same but for the highest bits": lambda number: number << 52,
    "floats in a row": float,
    "strings": str,
}


@pytest.mark.parametrize("adversary", ADVERSARIES)
@pytest.mark.parametrize(("algorithm", "aggregate"), BOTH)
def test_places_are_found_in_constant_time(algorithm: Any, aggregate: Aggregate[Any], adversary: str) -> None:
    length = 1 << 9
    window = algorithm(aggregate, (length,))
    window.table = CountedReads(window.table)
    for number in range(4 * length):
        if number >= length:
            window.evict()
        window.insert(aggregate.lift(ADVERSARIES[adversary](number)))
    assert window.table.reads <= 12 * 4 * length  # about 2 reads a step, and a slide has 3 or 4 of them


@pytest.mark.parametrize("length", [16, 1 << 8, 1 << 12])
@pytest.mark.parametrize("different", [1, 2, 50, 10**9])
def test_no_slide_of_the_tournament_reads_more_than_logarithmically_many_nodes(length: int, different: int) -> None:
    usual = agg.mode()
    window = OccurrenceTournament(usual, (length,))
    nodes = CountedReads(window.tree)
    window.tree = nodes
    generator = random.Random(4)
    for number in range(3 * length):
        nodes.reads = 0
        if number >= length:
            window.evict()
        window.insert(usual.lift(generator.randrange(different)))
        window.query()
        assert nodes.reads <= 12 * math.log2(length) + 12


@pytest.mark.parametrize(("algorithm", "aggregate"), BOTH)
def test_a_window_grows_and_drains(algorithm: Any, aggregate: Aggregate[Any]) -> None:
    window: PositionTable[Any] = algorithm(aggregate)
    values = [number * number % 97 for number in range(300)]
    for value in values:
        window.insert(aggregate.lift(value))
    window._check()
    for begin in range(300):
        assert aggregate.lower(window.query()) == recompute(aggregate, values[begin:])
        window.evict()
        if begin % 50 == 0:
            window._check()
    assert len(window) == 0
    window.insert(aggregate.lift(5))
    window._check()


def test_the_mode_of_several_is_the_one_whose_first_row_in_the_window_is_the_oldest() -> None:
    window = Aggregator(agg.mode(), ranges=[5])
    found = []
    for value in "abbaacca":
        window.insert(value)
        found.append(window.query())
    assert found == ["a", "a", "b", "a", "a", "b", "a", "a"]  # bbaac: b and a twice; baacc: a; aacca: a


def test_values_keep_the_form_of_their_first_row() -> None:
    window = Aggregator(agg.mode(), ranges=[3])
    for value in (True, 1, 1.0):
        window.insert(value)
    assert shown(window.query()) == "True"
    window.insert(2)
    assert shown(window.query()) == "1"


def test_nans_in_a_tuple_are_told_apart_as_mappings_do() -> None:
    one, other = (nan,), (float("nan"),)
    window = Aggregator(agg.count_distinct())
    for value in (one, other, one):
        window.insert(value)
    assert window.query() == recompute(agg.count_distinct(), [one, other, one]) == 2


@pytest.mark.parametrize("aggregate", [agg.count_distinct(), agg.mode()], ids=lambda chosen: chosen.name)
def test_what_has_no_hash_is_refused_and_the_window_goes_on(aggregate: Aggregate[Any]) -> None:
    window = Aggregator(aggregate)
    window.insert(1)
    with pytest.raises(TypeError, match="unhashable"):
        window.insert([1])
    window.insert(None)
    assert (window.query(), len(window)) == (1, 2)


def test_they_are_chosen_for_one_range_and_refused_for_other_aggregates() -> None:
    assert choose_algorithm(agg.count_distinct()).algorithm == "occurrence_table"
    assert choose_algorithm(agg.mode()).algorithm == "occurrence_tournament"
    assert choose_algorithm(agg.mode(), ranges=(2, 3)).algorithm == "recalculate"
    with pytest.raises(ValueError, match=r"^mode is not the number of different values .*\. Use two_stacks, or leave"):
        Aggregator(agg.mode(), algorithm="occurrence_table")
    with pytest.raises(ValueError, match=r"^max is not the most frequent value .*\. Use two_stacks, or leave"):
        Aggregator(agg.max(), algorithm="occurrence_tournament")


@pytest.mark.parametrize(("algorithm", "aggregate"), BOTH)
def test_a_kernel_is_answered_as_lower_reads_it(algorithm: Any, aggregate: Aggregate[Any]) -> None:
    window = algorithm(aggregate)
    for value in (5, 3, 8, 3, 9, 5, 5):
        window.insert(aggregate.lift(value))
        assert window.result() == aggregate.lower(window.query())


def bits_of(number: float) -> int:
    return int(np.float64(number).view(np.int64))


BITS: dict[str, Callable[[int], int]] = {
    "integers in a row": lambda number: number,
    "negative integers": lambda number: -number,
    "the same low bits": lambda number: number << 32,
    "the same but for the highest bits": lambda number: (number - 256) << 54,
    "powers of two": lambda number: bits_of(2.0 ** (number - 256)),
    "floats in a row": bits_of,
    "tenths": lambda number: bits_of(number / 10),
}


@pytest.mark.parametrize("name", BITS)
def test_few_values_share_a_home_whatever_their_bits(name: str) -> None:
    homes = {mix(BITS[name](number)) & (4 * 512 - 1) for number in range(512)}
    assert len(homes) > 0.84 * 512  # at random it would be 0.885


def test_the_bits_are_mixed_alike_interpreted_and_compiled() -> None:
    from helpers.compiled import compiled_for_python  # noqa: PLC0415 — imports Numba

    compiled_mix = compiled_for_python(mix)
    for bits in (0, 1, -1, 2**63 - 1, -(2**63), 12345 << 40):
        assert compiled_mix(np.int64(bits).astype(np.uint64)) == mix(bits)
        assert 0 <= mix(bits) < 2**63


@pytest.mark.parametrize(("algorithm", "aggregate"), BOTH)
def test_checks_find_a_place_that_cannot_be_found(algorithm: Any, aggregate: Aggregate[Any]) -> None:
    window = algorithm(aggregate)
    for value in range(8):
        window.insert(aggregate.lift(value))
    taken, free = (
        next(place for place in range(32) if (window.table[place] < 0) is is_free) for is_free in (False, True)
    )
    window.table[taken], window.table[free] = window.table[free], window.table[taken]
    with pytest.raises(AssertionError):
        window._check()
