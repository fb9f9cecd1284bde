"""Rows one by one into compiled windows: each event is one call of machine code once there were some."""

from __future__ import annotations

import random
from math import inf, nan
from typing import Any

import numpy as np
import pytest
from helpers.cases import AGGREGATES, SOAK
from helpers.naive_aggregator import NaiveAggregator
from helpers.pairwise import some

import sash
from sash import agg
from sash.aggregates.base import Aggregate
from sash.aggregator import event_window
from sash.algorithms import ALGORITHMS, Algorithm
from sash.algorithms.base import alike

SEEDS = range(100 if SOAK else 5)
CHOSEN = ["max", "sum", "count", "arg_max", "median", "stddev", "last"]
COLUMNS: dict[str, Any] = {
    "float64": lambda chooser: chooser.choice([chooser.random(), 0.1, -0.0, 1e9, nan, inf, -inf]),
    "int64": lambda chooser: chooser.randint(-4, 9),
}
COMPILED_ELSEWHERE = {"float64": CHOSEN, "int64": ["max", "sum", "count"]}


def compiles(algorithm: type[Algorithm[Any]], aggregate: Aggregate[Any]) -> bool:
    """Return whether the algorithm is compiled for an aggregate, and gives exact results of floats."""
    needs = algorithm.about.needs
    return (not needs or needs in aggregate.laws) and algorithm.keeps_values >= aggregate.laws.need_values


FITTING = list(
    dict.fromkeys(
        (one.about.name, name)
        for one in ALGORITHMS
        if not one.takes_times
        for name in CHOSEN
        if compiles(one, AGGREGATES[name])
    )
)


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let machine code run the first event already."""
    monkeypatch.setattr(event_window, "FEW_EVENTS", 0)


def empty_columns(aggregate: Aggregate[Any], dtype: str) -> Any:
    columns = tuple(np.empty(0, dtype) for _ in range(max(1, aggregate.inputs)))
    return columns if len(columns) > 1 else columns[0]


@pytest.mark.parametrize(
    ("algorithm", "name", "dtype"),
    [("auto", name, dtype) for dtype, names in COMPILED_ELSEWHERE.items() for name in names]
    + [(*pair, "float64") for pair in some(FITTING, 6)],
)
@pytest.mark.usefixtures("at_once")
def test_scripts_of_single_events(algorithm: str, name: str, dtype: str) -> None:
    """Events, nulls and columns may follow each other in any order."""
    aggregate = AGGREGATES[name]
    for seed in SEEDS:
        chooser = random.Random(f"{algorithm} {name} {dtype} {seed}")
        ranges = chooser.choice([None, [1], [4], [20]])
        mine, naive = sash.Aggregator(aggregate, algorithm, ranges), NaiveAggregator(aggregate, ranges)
        mine.insert_many(empty_columns(aggregate, dtype))
        for _ in range(60):
            step = chooser.random()
            row = [None if chooser.random() < 0.1 else COLUMNS[dtype](chooser) for _ in range(max(1, aggregate.inputs))]
            if step < 0.6 or not len(naive):
                mine.insert(*row[: aggregate.inputs])
                naive.insert(tuple(row) if aggregate.inputs > 1 else row[0])
            elif step < 0.9:
                mine.evict()
                naive.evict()
            else:
                columns = [np.array([0 if value is None else value] * 3, dtype) for value in row]
                mine.insert_many(tuple(columns) if len(columns) > 1 else columns[0])
                for values in zip(*(column.tolist() for column in columns), strict=True):
                    naive.insert(values if aggregate.inputs > 1 else values[0])
            assert len(mine) == len(naive)
            assert alike(mine.query(), naive.query()), (mine.query(), naive.query(), naive.rows)
        assert mine.explain().endswith("compiled")


def test_the_answers_stay_the_same_when_machine_code_takes_over() -> None:
    window = sash.Aggregator(agg.max("x"))
    window.insert_many(np.empty(0))
    values = [chooser.random() for chooser in [random.Random(7)] for _ in range(3 * event_window.FEW_EVENTS)]
    for row, value in enumerate(values):
        window.insert(value)
        if len(window) > 50:
            window.evict()
        result = window.query()
        assert type(result) is float
        assert result == max(values[max(0, row - 49) : row + 1])


@pytest.mark.usefixtures("at_once")
def test_a_value_that_does_not_fit_changes_nothing() -> None:
    window = sash.Aggregator(agg.sum("x"))
    window.insert_many(np.array([1, 2]))
    for value in ("text", 2**63, -(2**63) - 1, 2.5, 2**70):
        with pytest.raises(TypeError, match="does not fit into a window of int64"):
            window.insert(value)
    with pytest.raises(ValueError, match="takes rows in order"):
        window.insert(1, time=3)
    window.insert(np.int64(4))
    window.insert(-(2**63) + 8)
    assert (window.query(), len(window)) == (-(2**63) + 15, 4)


@pytest.mark.usefixtures("at_once")
def test_integers_fit_into_windows_of_floats_if_they_are_exact() -> None:
    window = sash.Aggregator(agg.max("x"))
    window.insert_many(np.array([1.5]))
    window.insert(2)
    window.insert(2**53)
    assert repr(window.query()) == "9007199254740992.0"
    with pytest.raises(TypeError, match="does not fit"):
        window.insert(2**53 + 1)
    assert len(window) == 3


@pytest.mark.usefixtures("at_once")
def test_every_value_of_a_row_with_a_null_is_checked() -> None:
    window = sash.Aggregator(agg.arg_max("x", "y"))
    window.insert_many((np.array([1.5]), np.array([2.5])))
    window.insert(None, 3.5)
    with pytest.raises(TypeError, match="does not fit"):
        window.insert(None, "text")
    assert (window.query(), len(window)) == (2.5, 2)


@pytest.mark.usefixtures("at_once")
def test_an_error_in_machine_code_leaves_a_window_that_refuses() -> None:
    window = sash.Aggregator(agg.sum("x"))
    window.insert_many(np.array([2**62]))
    window.insert(2**62)
    with pytest.raises(OverflowError, match=r"sum\(x\): The sum of a window needs more than 64 bits"):
        window.query()
    for use in (window.query, window.evict, lambda: window.insert(1), lambda: window.insert_many([1])):
        with pytest.raises(RuntimeError, match="left this window incomplete"):
            use()


@pytest.mark.usefixtures("at_once")
def test_an_empty_window_evicts_nothing() -> None:
    window = sash.Aggregator(agg.max("x"))
    window.insert_many(np.empty(0))
    window.insert(3.0)
    window.evict()
    assert (window.query(), len(window)) == (None, 0)
    with pytest.raises(IndexError, match="the window is empty"):
        window.evict()
    with pytest.raises(ValueError, match='Use algorithm="fiba"'):
        window.evict(before=3)
    window.insert(4.0)
    assert window.query() == 4.0


@pytest.mark.usefixtures("at_once")
def test_single_events_can_be_frozen() -> None:
    window = sash.Aggregator(agg.max("x"))
    window.insert_many(np.empty(0))
    for value in range(100):
        window.insert(float(-value))
    window.evict()
    thawed = sash.Aggregator.thaw(agg.max("x"), window.freeze())
    thawed.evict()
    assert (window.query(), thawed.query(), len(window), len(thawed)) == (-1.0, -2.0, 99, 98)
