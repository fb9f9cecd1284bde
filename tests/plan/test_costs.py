"""The table of measured costs, and what is read between and beyond its rows."""

from __future__ import annotations

import subprocess
import sys
from importlib.resources import files

import pytest
from helpers.cases import affine

from sash import agg, catalogue
from sash.plan import costs
from sash.plan.costs import cost_of, law_class, read_costs

INTEGERS = agg.sum().of_kind("int")


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


def test_costs_between_and_beyond_what_was_measured() -> None:
    two, five, twenty = (cost_of("slickdeque", agg.max(), ranges) for ranges in (2, 5, 20))
    measured = {
        line.use: line.cost
        for line in read_costs()
        if (line.aggregate, line.ranges, line.algorithm) == ("max", 5, "slickdeque")
    }
    assert set(measured) == set(costs.USES)
    assert five == pytest.approx(sum(measured.values()) / len(measured))
    assert cost_of("slickdeque", agg.max(), 3) == pytest.approx(two + (five - two) / 3)
    assert cost_of("slickdeque", agg.max(), 35) == pytest.approx(2 * twenty - five)
    assert cost_of("two_stacks", agg.max(), 7) == 7


def test_an_aggregate_that_was_not_measured_costs_what_its_laws_cost() -> None:
    assert cost_of("slickdeque", agg.arg_min(), 5) == cost_of("slickdeque", agg.max(), 5)
    assert cost_of("slideside", agg.count(), 5) == cost_of("slideside", INTEGERS, 5)
    measured = [
        line.cost for line in read_costs() if (line.laws, line.ranges, line.algorithm) == ("associative", 2, "flatfat")
    ]
    assert len(measured) > len(costs.USES)
    assert cost_of("flatfat", affine, 2) == pytest.approx(sum(measured) / len(measured))
    assert min(measured) < cost_of("flatfat", agg.stddev(), 2) < max(measured)
    assert law_class(agg.sum().of_kind("float")) == "associative"


def test_what_was_not_measured_is_said() -> None:
    with pytest.raises(LookupError, match=r"fiba was not measured for selective aggregates: run make costs[.]"):
        cost_of("fiba", agg.max())
