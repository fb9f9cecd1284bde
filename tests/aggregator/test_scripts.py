"""Random scripts of an Aggregator beside its naive twin: rows one by one, columns of objects, and eviction of any row."""

from __future__ import annotations

import random
from collections.abc import Callable
from math import inf, nan
from typing import Any

import pytest
from helpers.cases import AGGREGATES, SKETCHES, SOAK
from helpers.naive_aggregator import NaiveAggregator

import sash
from sash import agg
from sash.aggregates.base import Aggregate
from sash.algorithms import ALGORITHMS
from sash.algorithms.base import alike, fits

SEEDS = range(200 if SOAK else 4)
VALUES: dict[str, Callable[[random.Random], Any]] = {
    "integers": lambda chooser: chooser.randint(-4, 9),
    "floats": lambda chooser: chooser.choice([chooser.random(), 0.1, 1e9 + chooser.random()]),
    "few": lambda chooser: chooser.choice([0.1, 0.1, 0.3]),
    "special": lambda chooser: chooser.choice([1.5, nan, inf, -inf, 0.0]),
    "large": lambda chooser: 2**53 + chooser.randint(0, 3),
}
ANY_ROW = {name: one for name, one in AGGREGATES.items() if name != "affine" and not name.endswith("_of_integers")}
"""Aggregates of integers and floats. The others take integers only."""
LISTS: dict[str, Aggregate[Any]] = {
    "concat": agg.concat("x"),
    "collect": agg.collect("x"),
    "collect_distinct": agg.collect_distinct("x"),
    "first_n": agg.first_n("x", 2),
    "last_n": agg.last_n("x", 2),
    "top_k": agg.top_k("x", 2),
    "max": agg.max("x"),
    "mode": agg.mode("x"),
    "count_distinct": agg.count_distinct("x"),
    "per_value": agg.per_value("x"),
    "rank": agg.rank("x"),
}
"""Aggregates of text: columns of it are interpreted, so that nothing compiles here."""
IN_ORDER = list(dict.fromkeys(one.about.name for one in ALGORITHMS if not one.takes_times))


def pairs() -> list[tuple[str, str]]:
    """The names of algorithms and of aggregates of text that fit them."""
    found = [
        (one.about.name, name)
        for one in ALGORITHMS
        if one.about.name in IN_ORDER
        for name in LISTS
        if fits(one.about, LISTS[name])
    ]
    return list(dict.fromkeys(found))


def row_of(chooser: random.Random, aggregate: Aggregate[Any], kind: str) -> tuple[Any, ...]:
    return tuple(None if chooser.random() < 0.15 else VALUES[kind](chooser) for _ in range(max(1, aggregate.inputs)))


@pytest.mark.parametrize("name", ANY_ROW)
@pytest.mark.parametrize("kind", VALUES)
def test_any_row_leaves_windows_of_every_aggregate(name: str, kind: str) -> None:
    """Every `evict(at=…)`, with ranges and without, leaves what recomputing the rows that are left gives."""
    aggregate = ANY_ROW[name]
    for seed in SEEDS:
        chooser = random.Random(f"{name} {kind} {seed}")
        ranges = chooser.choice([None, [1], [3], [8], [17]])
        mine, naive = sash.Aggregator(aggregate, "reactive_aggregator", ranges), NaiveAggregator(aggregate, ranges)
        for _ in range(chooser.randint(1, 40)):
            step = chooser.random()
            if step < 0.6 or not len(naive):
                row = row_of(chooser, aggregate, kind)
                mine.insert(*(row if aggregate.inputs else ()))
                naive.insert(row if aggregate.inputs > 1 else row[0])
            elif step < 0.7:
                mine.evict()
                naive.evict()
            else:
                at = chooser.choice(list(naive.rows))
                mine.evict(at=at)
                naive.evict(at)
            assert len(mine) == len(naive)
            if name not in SKETCHES:  # these are equal for equal rows, but not in any order of merges
                assert alike(mine.query(), naive.query(), 1e-6), (mine.query(), naive.query(), naive.rows)


@pytest.mark.parametrize(("algorithm", "name"), pairs())
def test_scripts_of_columns_and_single_rows(algorithm: str, name: str) -> None:
    """Slides over columns, single inserts, evictions and queries may follow each other in any order."""
    aggregate = LISTS[name]
    for seed in SEEDS:
        chooser = random.Random(f"{algorithm} {name} {seed}")
        mine, naive = sash.Aggregator(aggregate, algorithm), NaiveAggregator(aggregate)
        for _ in range(12):
            step, length = chooser.random(), chooser.randint(1, 5)
            rows = [chooser.choice(["a", "b", "c", None]) for _ in range(chooser.randint(1, 4))]
            if step < 0.3:
                assert mine.slide([*rows], length).to_pylist() == as_arrow(naive.slide(rows, [length])[length])
            elif step < 0.5:
                mine.insert_many([*rows])
                for row in rows:
                    naive.insert(row)
            elif step < 0.8 or not len(naive):
                mine.insert(rows[0])
                naive.insert(rows[0])
            else:
                mine.evict()
                naive.evict()
            assert len(mine) == len(naive)
            assert mine.query() == naive.query()


def as_arrow(results: list[Any]) -> list[Any]:
    """Return results as Arrow's lists have them: maps are pairs."""
    return [list(one.items()) if isinstance(one, dict) else one for one in results]


@pytest.mark.parametrize(
    ("aggregate", "column", "row", "expected"),
    [
        (agg.concat("x"), ["a", "b", "c", "d"], "e", "bcde"),
        (agg.collect("x"), [1, 2, 3, 4], 5, [2, 3, 4, 5]),
        (agg.quantile("x", [0.0, 1.0]), [1.0, 2.0, 3.0, 4.0], 5.0, [2.0, 5.0]),
    ],
)
def test_a_row_after_a_column_lengthens_a_window_of_slickdeque(
    aggregate: Aggregate[Any], column: list[Any], row: Any, expected: Any
) -> None:
    window = sash.Aggregator(aggregate, algorithm="slickdeque")
    window.slide(column, 3)
    window.insert(row)
    assert (window.query(), len(window)) == (expected, 4)


def test_a_window_for_several_ranges_names_them_when_it_is_too_long() -> None:
    window = sash.Aggregator(agg.concat("x"), algorithm="slickdeque")
    assert window.slide(["a", "b", "c"], [2, 3])[3].to_pylist() == ["a", "ab", "abc"]
    window.insert("d")
    with pytest.raises(ValueError, match=r"slickdeque stores the newest 3 rows at most, not 4\. Evict rows"):
        window.query()
    window.evict()
    assert window.query() == "bcd"


def test_a_window_of_slickdeque_refuses_ranges_that_it_was_not_made_for() -> None:
    window = sash.Aggregator(agg.sum("x"), algorithm="slickdeque")
    assert window.slide([1, 2, 4, 8], 3).to_pylist() == [1, 3, 7, 14]
    with pytest.raises(ValueError, match=r"Pass ranges=\[2, 3\] to a new Aggregator"):
        window.slide([16, 32], [2, 3])
    assert window.slide([16, 32], 3).to_pylist() == [28, 56]


def test_row_numbers_go_on_when_a_window_was_empty() -> None:
    window = sash.Aggregator(agg.concat("letter"), "reactive_aggregator")
    window.insert_many(["a", "b"])
    window.evict()
    window.evict(at=1)
    window.insert_many(["c", "d"])
    with pytest.raises(IndexError, match=r"evict\(at=0\).*has had 4 rows so far"):
        window.evict(at=0)
    window.evict(at=2)
    assert window.query() == "d"


def test_row_numbers_count_the_rows_of_columns() -> None:
    window = sash.Aggregator(agg.sum("x"), "reactive_aggregator")
    window.slide([1, 2, 4, 8], 2)
    window.evict()
    window.evict()
    window.insert_many([None, "text"])  # an empty window takes any form: this one is of objects
    window.evict(at=5)
    assert len(window) == 1


@pytest.mark.parametrize("row", ["text", 5, 2.5])
def test_a_window_of_nulls_takes_rows_of_any_type(row: Any) -> None:
    window = sash.Aggregator(agg.max("x"))
    window.insert_many([None, None])
    window.insert(row)
    assert (window.query(), len(window)) == (row, 3)
    window = sash.Aggregator(agg.max("x"), "reactive_aggregator")
    window.insert_many([None, None])
    window.insert(None)
    window.insert_many(["a", None])
    window.evict(at=2)
    assert (window.query(), len(window)) == ("a", 4)
