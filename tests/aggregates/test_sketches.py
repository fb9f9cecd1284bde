"""Sketches: how close they are, and what they take for the same value."""

from __future__ import annotations

import random
import subprocess
import sys
from collections import Counter
from datetime import date
from functools import reduce

import numpy as np
import pytest
from helpers.references import NAN, from_halves, from_left, lifted

import sash.aggregates as agg
from sash.aggregates import BUILT_IN


def test_approx_count_distinct_is_close_and_does_not_depend_on_the_order() -> None:
    kinds = agg.approx_count_distinct()
    values = [index % 3000 for index in range(4000)]
    shuffled = random.Random(1).sample(values, len(values))
    results = {from_left(kinds, values), from_halves(kinds, values), from_halves(kinds, shuffled)}
    assert len(results) == 1
    assert results.pop() == pytest.approx(3000, rel=0.05)


@pytest.mark.parametrize("q", [0.0, 0.01, 0.5, 0.99, 1.0])
def test_approx_quantile_has_a_close_rank(q: float) -> None:
    values = random.Random(1).sample(range(2000), 2000)
    assert from_halves(agg.approx_quantile(q=q), values) / 2000 == pytest.approx(q, abs=0.04)


def test_frequency_is_never_too_low_and_hardly_too_high() -> None:
    source = random.Random(1)
    values = [int(source.expovariate(0.01)) for _ in range(2000)]
    counts = Counter(values)
    whole = reduce(agg.frequency(item=0).combine, lifted(agg.frequency(item=0), values))
    errors = [agg.frequency(item=item).lower(whole) - count for item, count in counts.items()]
    assert min(errors) >= 0
    assert sum(error > 20 for error in errors) <= 0.01 * len(errors)


def test_may_contain_has_no_false_negatives_and_false_positives_only_above_4096() -> None:
    whole = reduce(agg.may_contain(item=0).combine, lifted(agg.may_contain(item=0), range(4000)))
    assert all(agg.may_contain(item=item).lower(whole) for item in range(0, 4000, 7))
    assert not any(agg.may_contain(item=item).lower(whole) for item in range(4000, 5000, 7))
    more = reduce(agg.may_contain(item=0).combine, lifted(agg.may_contain(item=0), range(4000, 6000)), whole)
    assert all(agg.may_contain(item=item).lower(more) for item in range(0, 6000, 7))
    assert not all(agg.may_contain(item=item).lower(more) for item in range(6000, 7000, 7))


def test_sketches_take_equal_numbers_for_the_same_value() -> None:
    numbers = [1, 1.0, True, np.int64(1), np.float64(1.0)]
    assert from_left(agg.approx_count_distinct(), [*numbers, 0.0, -0.0, NAN, float("nan"), 2**70]) == 4
    assert from_left(agg.frequency(item=1.0), numbers) == 5
    assert from_left(agg.may_contain(item=1), [1.0])
    with pytest.raises(TypeError, match=r"Sketches take numbers and strings, but .* is a date"):
        from_left(agg.may_contain(item=0), [date(2026, 1, 1)])


@pytest.mark.parametrize("name", ["frequency", "may_contain"])
def test_an_item_must_be_named(name: str) -> None:
    with pytest.raises(TypeError, match=f"{name} needs the item to look for, as in"):
        BUILT_IN[name]("x")


def test_datasketches_is_imported_by_the_first_value() -> None:
    script = """
import sys, sash.aggregates as agg
kinds = agg.approx_count_distinct()
assert not {"datasketches", "_datasketches", "numba"} & set(sys.modules)
kinds.lift(1)
assert "datasketches" in sys.modules
"""
    subprocess.run([sys.executable, "-c", script], check=True)
