"""The table of measured costs, and what is read between and beyond its rows."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from importlib.resources import files

import pytest
from helpers.cases import affine

from sash import agg, catalogue
from sash.plan import costs
from sash.plan.costs import Cost, cost_of, read_costs


def test_the_table_of_costs_is_part_of_the_package() -> None:
    text = (files("sash.plan") / "costs.csv").read_text(encoding="utf-8")
    assert text.startswith("# Written by benchmarks/costs.py (make costs).")
    table = read_costs()
    assert len(table) == len(text.splitlines()) - 2
    assert {line.algorithm for line in table} <= {about.name for about in catalogue()}
    assert {line.laws for line in table} == {"selective", "invertible", "associative"}
    assert {line.use for line in table} == set(costs.USES)
    assert all(0 < line.least <= line.cost <= line.most for line in table)
    assert all(line.cost == 1 for line in table if line.algorithm == "two_stacks")


def test_costs_are_read_when_something_is_chosen_and_not_before() -> None:
    code = "import sash, sys; from sash.plan.costs import read_costs; print(read_costs.cache_info().currsize, 'csv' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["0", "False"]


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A table by hand, of two uses."""

    def lines(aggregate: str, laws: str, algorithm: str, by_ranges: dict[int, tuple[float, float]]) -> list[Cost]:
        return [
            Cost(laws, aggregate, use, ranges, algorithm, cost, cost, cost)
            for ranges, both in by_ranges.items()
            for use, cost in zip(costs.USES, both, strict=True)
        ]

    table = [
        *lines("max", "selective", "slickdeque", {2: (1, 3), 5: (4, 6), 20: (10, 10)}),
        *lines("max", "selective", "two_stacks", {1: (1, 1)}),
        *lines("sum", "invertible", "slideside", {2: (7, 9), 5: (8, 12)}),
        *lines("stddev", "associative", "flatfat", {2: (4, 6), 5: (9, 9)}),
        *lines("mean", "associative", "flatfat", {2: (8, 10), 5: (9, 9)}),
    ]
    monkeypatch.setattr(costs, "read_costs", lambda: tuple(table))
    costs._points.cache_clear()
    yield
    costs._points.cache_clear()


@pytest.mark.usefixtures("measured")
@pytest.mark.parametrize(("ranges", "cost"), [(2, 2), (5, 5), (20, 10), (3, 3), (11, 7), (23, 11), (35, 15)])
def test_costs_at_between_and_beyond_what_was_measured(ranges: int, cost: float) -> None:
    assert cost_of("slickdeque", agg.max(), ranges) == pytest.approx(cost)


@pytest.mark.usefixtures("measured")
def test_an_algorithm_for_one_range_takes_a_pass_for_each() -> None:
    assert cost_of("two_stacks", agg.max(), 7) == 7


@pytest.mark.usefixtures("measured")
def test_an_aggregate_that_was_not_measured_costs_what_its_laws_cost() -> None:
    assert cost_of("slickdeque", agg.arg_min(), 5) == 5
    assert cost_of("slideside", agg.count(), 5) == 10
    assert cost_of("flatfat", agg.stddev(), 2) == 5
    assert cost_of("flatfat", affine, 2) == 7  # the mean of all associative ones
    assert cost_of("flatfat", agg.sum().of_kind("float"), 2) == 7  # floats are not subtracted


def test_what_was_not_measured_is_said() -> None:
    with pytest.raises(LookupError, match=r"fiba was not measured for selective aggregates: run make costs[.]"):
        cost_of("fiba", agg.max())
