"""The table of measured costs, and what is read between and beyond its rows."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from importlib.resources import files

import pytest
from helpers.cases import affine

from sash import agg, catalogue
from sash.plan import choose
from sash.plan.choose import Cost, cost_of, read_costs


def test_the_table_of_costs_is_part_of_the_package() -> None:
    text = (files("sash.plan") / "costs.csv").read_text(encoding="utf-8")
    assert text.startswith("# Written by benchmarks/costs.py (make costs).")
    table = read_costs()
    assert len(table) == len(text.splitlines()) - 2
    assert {line.algorithm for line in table} <= {about.name for about in catalogue()}
    assert {line.laws for line in table} == {"selective", "invertible", "associative"}
    assert {line.use for line in table} == set(choose.USES)
    assert all(line.cost > 0 and 0 < line.shortest <= line.longest for line in table)
    assert all((line.ranges == 1) == (line.shortest == line.longest) for line in table)
    assert all(line.cost == 1 for line in table if line.algorithm == "two_stacks")


def test_costs_are_read_when_something_is_chosen_and_not_before() -> None:
    code = "import sash; from sash.plan.choose import read_costs; print(read_costs.cache_info().currsize)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["0"]


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A table by hand."""
    table = [
        Cost("selective", "max", "whole", 1, 10, 10, "slideside", 2.0),
        Cost("selective", "max", "kept", 1, 10, 10, "slideside", 8.0),
        Cost("selective", "max", "kept", 1, 1_000, 1_000, "slideside", 32.0),
        Cost("selective", "max", "kept", 2, 10, 1_000, "slickdeque", 1.0),
        Cost("selective", "max", "kept", 2, 500, 1_000, "slickdeque", 3.0),
        Cost("selective", "max", "kept", 20, 50, 1_000, "slickdeque", 9.0),
        Cost("associative", "stddev", "kept", 2, 5, 10, "flatfat", 5.0),
        Cost("associative", "sum", "kept", 2, 5, 10, "flatfat", 20.0),
    ]
    monkeypatch.setattr(choose, "read_costs", lambda: tuple(table))
    choose._cost_of.cache_clear()
    yield
    choose._cost_of.cache_clear()


@pytest.mark.usefixtures("measured")
def test_costs_of_one_range() -> None:
    assert cost_of("slideside", agg.max(), (10,), "whole") == pytest.approx(2)
    assert cost_of("slideside", agg.max(), (10,), "kept") == pytest.approx(8)
    assert cost_of("slideside", agg.max(), (10,)) == pytest.approx(4)  # both uses: costs differ by factors
    assert cost_of("slideside", agg.max(), (100,), "kept") == pytest.approx(16)  # half way, in factors
    assert cost_of("slideside", agg.max(), (1_000,), "whole") == pytest.approx(2)  # measured at another length only
    assert cost_of("slideside", agg.max(), (), "kept") == pytest.approx(16)  # of any length


@pytest.mark.usefixtures("measured")
def test_costs_of_several_ranges_are_those_of_the_nearest() -> None:
    assert cost_of("slickdeque", agg.max(), (10, 1_000)) == pytest.approx(1)
    assert cost_of("slickdeque", agg.max(), (500, 1_000)) == pytest.approx(3)
    assert 1 < cost_of("slickdeque", agg.max(), (12, 1_000)) < 1.2
    assert 2.5 < cost_of("slickdeque", agg.max(), (450, 1_000)) < 3.5
    assert 6 < cost_of("slickdeque", agg.max(), tuple(range(50, 1_101, 50))) < 9


@pytest.mark.usefixtures("measured")
def test_an_aggregate_that_was_not_measured_costs_what_its_laws_cost() -> None:
    assert cost_of("slickdeque", agg.arg_min(), (10, 1_000)) == pytest.approx(1)
    assert cost_of("flatfat", agg.stddev(), (5, 10)) == pytest.approx(5)
    assert cost_of("flatfat", affine, (5, 10)) == pytest.approx(10)  # the mean of all associative ones
    assert cost_of("flatfat", agg.sum().of_kind("float"), (5, 10)) == pytest.approx(20)  # floats are not subtracted


def test_what_was_not_measured_is_said() -> None:
    with pytest.raises(LookupError, match=r"fiba was not measured for selective aggregates: run make costs[.]"):
        cost_of("fiba", agg.max())
