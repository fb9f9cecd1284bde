"""An Aggregator has the results of a query over the same rows, also for windows that have no result: null is never NaN."""

from __future__ import annotations

from math import inf, nan
from typing import Any

import pyarrow as pa
import pytest
from helpers.cases import ARGUMENTS

import sash
from sash import agg, window
from sash.aggregates import BUILT_IN
from sash.aggregates.base import Aggregate
from sash.algorithms.base import alike

ROWS = 3
COLUMNS: dict[str, list[Any]] = {
    "equal": [2.5] * 6,
    "single": [None, 3.5, None, None, None, None],
    "nan": [1.0, nan, 2.0, nan, nan, 0.5],
    "infinite": [1.0, inf, 2.0, 3.0, -inf, inf],
    "zero": [0.0, -0.0, 0.0, -0.0, 0.0, 0.0],
    "null": [None] * 6,
    "mixed": [1.0, None, 2.0, 2.0, None, 7.0, None, 3.0],
    "integers": [3, 3, None, 3, 4, None, 5],
    "booleans": [True, None, False, True, True, False],
}
OTHER = [5.0, 1.0, 2.0, 2.0, 8.0, None, 3.0, 4.0]
"""The second column of an aggregate of two."""
ONE_BY_ONE = ("auto", "recalculate", "reactive_aggregator", "fiba")
NAMES = [name for name in BUILT_IN if name != "per_value"]
MOMENTS = ("variance", "var_pop", "stddev", "stddev_pop", "skewness", "kurtosis")


def columns_of(values: list[Any], inputs: int) -> list[list[Any]]:
    return [values, OTHER[: len(values)]][: max(1, inputs)]


def of_query(aggregate: Aggregate[Any], columns: list[list[Any]], **options: Any) -> list[Any]:
    rows = pa.table(dict(zip("xy", map(pa.array, columns), strict=False)))
    found: list[Any] = sash.Query({"r": aggregate}, window.rows(ROWS)).run(rows, **options)["r"].to_pylist()
    return found


def one_by_one(aggregate: Aggregate[Any], columns: list[list[Any]], algorithm: str, **options: Any) -> list[Any]:
    held, results = sash.Aggregator(aggregate, algorithm, **options), []
    for number, row in enumerate(zip(*columns, strict=True)):
        held.insert(*(row if aggregate.inputs else ()), **({"time": number} if algorithm == "fiba" else {}))
        if len(held) > ROWS:
            held.evict()
        results.append(held.query())
    return results


def expect(found: list[Any], expected: list[Any]) -> None:
    assert [one is None for one in found] == [one is None for one in expected], (found, expected)
    for mine, theirs in zip(found, expected, strict=True):
        is_number = isinstance(theirs, float | int)
        assert alike(*map(float, (mine, theirs))) if is_number else alike(mine, theirs), (found, expected)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("swapped", [False, True])
def test_rows_one_by_one_have_the_results_of_a_query(name: str, swapped: bool) -> None:
    unbound = BUILT_IN[name](**ARGUMENTS.get(name, {}))
    if swapped and unbound.inputs < 2:
        return
    names = ["x", "y"][: unbound.inputs][:: -1 if swapped else 1]
    aggregate = BUILT_IN[name](*names, **ARGUMENTS.get(name, {}))
    for values in COLUMNS.values():
        columns = columns_of(values, unbound.inputs)
        expected = of_query(aggregate, columns)
        given = columns[::-1] if swapped else columns
        for algorithm in ONE_BY_ONE:
            expect(one_by_one(aggregate, given, algorithm), expected)
        expect(one_by_one(aggregate, given, "auto", ranges=[2, ROWS]), expected)


@pytest.mark.parametrize("name", MOMENTS)
def test_integers_beyond_2_53_are_exact_row_by_row(name: str) -> None:
    values = [2**53 + 1, 2**53, 2**53 + 1, 2**62 + 3, 2**62, 2**62 + 3, 2**62]
    aggregate = BUILT_IN[name]("x")
    expected = of_query(aggregate, [values])
    for algorithm in ONE_BY_ONE:
        expect(one_by_one(aggregate, [values], algorithm), expected)


@pytest.mark.parametrize(
    ("aggregate", "columns"),
    [
        (agg.slope("x", "y"), [[1.0, 2.0, 4.0, None, 3.0, 5.0, 5.0], [7.0, 7.0, 7.0, 1.0, 2.0, 2.0, 3.0]]),
        (agg.rank("x"), [[1.0, None, 3.0, 2.0, 2.0, None, None]]),
    ],
)
@pytest.mark.full  # these compile for long; test_whole_columns.py has other columns in pieces, and frozen
def test_columns_have_the_results_of_a_query(aggregate: Aggregate[Any], columns: list[list[Any]]) -> None:
    """Slides over whole columns and over pieces, and a window that is frozen."""
    expected = of_query(aggregate, columns)
    assert None in expected[2:]
    expect(of_query(aggregate, columns), expected)
    arrays = [pa.array(column, pa.float64()) for column in columns]

    def some(begin: int, end: int) -> Any:
        cut = tuple(array[begin:end] for array in arrays)
        return cut if len(cut) > 1 else cut[0]

    size = len(columns[0])
    expect(sash.Aggregator(aggregate).slide(some(0, size), ROWS).to_pylist(), expected)
    held = sash.Aggregator(aggregate)
    pieces = [held.slide(some(a, b), ROWS).to_pylist() for a, b in ((0, 2), (2, 3), (3, size))]
    expect([one for piece in pieces for one in piece], expected)
    expect([held.query(), sash.Aggregator.thaw(aggregate, held.freeze()).query()], expected[-1:] * 2)


def test_bounds_and_several_ranges_have_the_results_of_a_query() -> None:
    aggregate = agg.slope("x", "y")
    columns = [[1.0, 2.0, 4.0, 3.0, 5.0, 5.0], [7.0, 7.0, 7.0, 2.0, 2.0, 2.0]]
    expected = of_query(aggregate, columns)
    assert expected[1:3] == [None, None]
    bounds = [max(0, row + 1 - ROWS) for row in range(6)], [row + 1 for row in range(6)]
    expect(sash.Aggregator(aggregate).slide(tuple(columns), bounds=bounds).to_pylist(), expected)
    expect(sash.Aggregator(aggregate, "flatfat").slide(tuple(columns), [2, ROWS])[ROWS].to_pylist(), expected)
    text = sash.Aggregator(agg.rank("x")).slide(["b", None, "a", None], bounds=([0, 0, 0, 0], [1, 2, 3, 4]))
    assert text.to_pylist() == [1.0, None, 1.0, None]


def test_results_of_an_interval_of_time_are_null_not_nan() -> None:
    held = sash.Aggregator(agg.slope("y", "x"), "fiba")
    for time, (y, x) in enumerate([(1.0, 5.0), (2.0, 5.0), (4.0, 6.0)]):
        held.insert(y, x, time=time)
    assert held.query(start=0, end=2) is None
    assert held.query(start=1, end=3) == 2.0
    ranks = sash.Aggregator(agg.rank("x"), "fiba")
    for time, value in ((2, None), (1, 7), (0, 3)):
        ranks.insert(value, time=time)
    assert (ranks.query(), ranks.query(start=0, end=2)) == (None, 2.0)
