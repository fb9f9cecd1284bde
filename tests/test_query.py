"""Every aggregate × every algorithm that fits × windows × slicings ≡ the oracle."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest
from helpers.cases import AGGREGATES
from helpers.pairwise import FULL, some
from helpers.queries import Named, Row, assert_agrees
from hypothesis import given, settings

from sash import window
from sash.aggregates.base import Aggregate
from sash.algorithms import ALGORITHMS
from sash.algorithms.base import fits
from sash.testing.strategies import streams
from sash.windows import Window

CASES: list[tuple[Window, str]] = [
    (window.rows(4), "auto"),
    (window.time(6, closed="both"), "auto"),
    (window.delta("v", 4), "auto"),
    *((window.time(9, slide=6, offset=1), slicing) for slicing in ("auto", "none", "panes", "pairs", "cutty")),
    (window.cumulative(8, 2), "cutty"),
    (window.rows(5, slide=2), "cutty"),
    (window.session(3), "pairs"),
]
KEEPERS = {"order_statistics_tree", "occurrence_table", "occurrence_tournament"}
"""They keep values, of which slices have none."""
NAMES = list(dict.fromkeys(each.about.name for each in ALGORITHMS))


def bound(chosen: Aggregate[Any]) -> Aggregate[Any]:
    return chosen(*("x", "y")[: chosen.inputs])


def fitting(algorithm: str) -> Named:
    """Every aggregate that fits a form of the algorithm."""
    forms = [each.about for each in ALGORITHMS if each.about.name == algorithm]
    return {name: bound(one) for name, one in AGGREGATES.items() if any(fits(form, one) for form in forms)}


@pytest.mark.parametrize(("algorithm", "case"), some(product(NAMES, CASES), 4), ids=str)
@settings(max_examples=2)
@given(rows=streams(least_rows=12))
def test_every_aggregate_by_every_algorithm_agrees_with_the_oracle(
    algorithm: str, case: tuple[Window, str], rows: list[Row]
) -> None:
    windows, slicing = case
    if algorithm in KEEPERS and slicing != "none":
        slicing = "auto"
    assert_agrees(rows, fitting(algorithm), windows, algorithm=algorithm, slicing=slicing)


@pytest.mark.parametrize(("windows", "slicing"), CASES, ids=str)
@settings(max_examples=5 if FULL else 2)
@given(rows=streams(least_rows=6))
def test_every_aggregate_by_the_chosen_algorithm_agrees_with_the_oracle(
    windows: Window, slicing: str, rows: list[Row]
) -> None:
    assert_agrees(rows, {name: bound(one) for name, one in AGGREGATES.items()}, windows, slicing=slicing)
