"""Columns of rows with times, out of order: `slide` and `insert_many` of FiBA, compiled and interpreted."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from helpers.cases import SOAK
from helpers.pairwise import FULL

import sash
from sash import agg
from sash.aggregates.base import Aggregate
from sash.algorithms.base import alike
from sash.testing import recompute

COMPILED: dict[str, Aggregate[Any]] = {"max": agg.max("x")}
if FULL:  # a kernel of FiBA takes long to compile
    COMPILED |= {"sum": agg.sum("x"), "stddev": agg.stddev("x")}
INTERPRETED: dict[str, Aggregate[Any]] = {
    "collect": agg.collect("x"),
    "median": agg.median("x"),
    "first": agg.first("x"),
    "rank": agg.rank("x"),
}
SEEDS = range(60 if SOAK else 8)


class Naive:
    """All rows of the window in order of time, then of arrival."""

    def __init__(self, aggregate: Aggregate[Any]) -> None:
        self.aggregate = aggregate
        self.rows: list[tuple[int, Any]] = []

    def insert(self, value: Any, time: int) -> None:
        self.rows = sorted([*self.rows, (time, value)], key=lambda row: row[0])

    def slide(self, values: list[Any], times: list[int], length: int) -> list[Any]:
        results = []
        for value, time in zip(values, times, strict=True):
            self.insert(value, time)
            newest = self.rows[-1][0]
            self.rows = [row for row in self.rows if row[0] > newest - length]
            results.append(self.query())
        return results

    def query(self) -> Any:
        if self.rows and self.aggregate.result.of_newest and self.rows[-1][1] is None:
            return None
        return recompute(self.aggregate, [value for _, value in self.rows])


def late(chooser: random.Random, rows: int, start: int = 0) -> list[int]:
    """Return times of rows in order of arrival, some of them late and some equal."""
    return [start + row - chooser.choice([0, 0, chooser.randint(0, 12), chooser.randint(0, 60)]) for row in range(rows)]


@pytest.mark.parametrize("name", COMPILED | INTERPRETED)
def test_slides_over_late_rows(name: str) -> None:
    """Columns, single rows, bulks and evictions may follow each other in any order."""
    aggregate = (COMPILED | INTERPRETED)[name]
    for seed in SEEDS:
        chooser = random.Random(f"{name} {seed}")
        mine, naive, start = sash.Aggregator(aggregate, "fiba"), Naive(aggregate), 0
        length = chooser.choice([1, 5, 30, 400])
        for _ in range(6):
            rows = chooser.randint(0, 70)
            times = late(chooser, rows, start)
            values = [None if chooser.random() < 0.1 else chooser.choice([chooser.random(), 0.5]) for _ in times]
            step = chooser.random()
            if step < 0.6:
                found = mine.slide(pa.array(values, pa.float64()), range=length, times=times).to_pylist()
                expected = naive.slide(values, times, length)
                assert len(found) == len(expected)
                assert all(map(alike, found, expected)), (found, expected)
            elif step < 0.75:
                mine.insert_many(values, times=times)
                for value, time in zip(values, times, strict=True):
                    naive.insert(value, time)
            elif step < 0.9 and values:
                mine.insert(values[0], time=times[0])
                naive.insert(values[0], times[0])
            else:
                mine.evict(before=start - 9)
                naive.rows = [row for row in naive.rows if row[0] >= start - 9]
            start += rows
            assert len(mine) == len(naive.rows)
            if step > 0.3:  # the query makes a window of the rows that a compiled slide has left
                assert alike(mine.query(), naive.query())


def test_a_long_column_needs_a_larger_tree() -> None:
    chooser = np.random.default_rng(5)
    rows = 20_000
    values = chooser.normal(size=rows)
    times = np.argsort(np.arange(rows) + chooser.uniform(0, 1_000, rows)).astype(np.int64)
    window = sash.Aggregator(agg.max("x"), "fiba")
    found = window.slide(values, range=15_000, times=times).to_numpy()
    assert window.explain() == "max(x) by fiba, compiled"
    for row in range(0, rows, 997):
        so_far = times[: row + 1]
        assert found[row] == values[: row + 1][so_far > so_far.max() - 15_000].max()
    in_pieces = sash.Aggregator(agg.max("x"), "fiba")
    pieces = [
        in_pieces.slide(values[begin : begin + 3_000], range=15_000, times=times[begin : begin + 3_000])
        for begin in range(0, rows, 3_000)
    ]
    assert np.array_equal(np.concatenate(pieces), found)
    assert len(window) == len(in_pieces) == int((times > times.max() - 15_000).sum())
    assert window.query() == in_pieces.query() == found[-1]
    assert window.explain().startswith("max(x) by fiba, interpreted: rows with times are compiled only while")


def test_an_overflow_names_the_row() -> None:
    window = sash.Aggregator(agg.sum("x"), "fiba")
    with pytest.raises(OverflowError, match=r"sum\(x\), row 1: The sum of a window needs more than 64 bits"):
        window.slide([2**62, 2**62, 1], range=9, times=[5, 3, 6])
    assert window.slide([1, 2], range=9, times=[2, 1]).to_pylist() == [1, 3]


@pytest.mark.parametrize(
    ("run", "error", "sentence"),
    [
        (
            lambda: sash.Aggregator(agg.max("x")).slide([1], 2, times=[1]),
            ValueError,
            "takes rows in order. Leave times out",
        ),
        (lambda: sash.Aggregator(agg.max("x")).insert_many([1], times=[1]), ValueError, "takes rows in order"),
        (
            lambda: sash.Aggregator(agg.max("x"), "fiba").slide([1], 2),
            ValueError,
            "fiba takes rows with times. Pass times=",
        ),
        (lambda: sash.Aggregator(agg.max("x"), "fiba").insert_many([1]), ValueError, "fiba takes rows with times"),
        (lambda: sash.Aggregator(agg.max("x"), "fiba").slide([1], times=[1]), ValueError, "Pass range="),
        (lambda: sash.Aggregator(agg.max("x"), "fiba").slide([1], 0, times=[1]), ValueError, "0 is not a number"),
        (lambda: sash.Aggregator(agg.max("x"), "fiba").slide([1], 2, times=[1.5]), TypeError, "slide needs integers"),
        (lambda: sash.Aggregator(agg.max("x"), "fiba").slide([1], 2, times=[None]), TypeError, "slide needs integers"),
        (
            lambda: sash.Aggregator(agg.max("x"), "fiba").slide([1, 2], 2, times=[1]),
            ValueError,
            "1 times, 0 of them null, for 2",
        ),
        (lambda: sash.Aggregator(agg.max("x"), "fiba").slide([1], 2, times=[2**62]), ValueError, "Use a coarser unit"),
        (
            lambda: sash.Aggregator(agg.max("x"), "fiba").insert_many([1, 2], times=[float("nan"), 1.0]),
            ValueError,
            "cannot be ordered",
        ),
    ],
)
def test_mistakes_are_answered_with_a_sentence(run: Any, error: type[Exception], sentence: str) -> None:
    with pytest.raises(error) as caught:
        run()
    assert sentence in str(caught.value)


def test_columns_of_another_type_are_refused() -> None:
    window = sash.Aggregator(agg.max("x"), "fiba")
    window.slide([1.5, 2.5], range=5, times=[1, 2])
    with pytest.raises(TypeError, match="holds rows of double, but the new rows are int64"):
        window.slide([1], range=5, times=[3])
    assert window.slide([0.5], range=5, times=[3]).to_pylist() == [2.5]


def test_such_a_window_cannot_be_frozen() -> None:
    window = sash.Aggregator(agg.max("x"), "fiba")
    window.slide([1.5, 2.5], range=5, times=[1, 2])
    with pytest.raises(TypeError, match="it holds rows with times"):
        window.freeze()
