"""Keys in lanes: each key has the results that it has alone."""

from __future__ import annotations

from functools import cache
from itertools import pairwise, product
from math import nan
from typing import Any

import numpy as np
import pytest
from helpers.pairwise import some
from hypothesis import given, settings
from hypothesis import strategies as st

from sash import agg
from sash.algorithms import TwoStacks
from sash.kernels import Kernel, loops
from sash.kernels.lanes import deal_to_lanes
from sash.kernels.whole_column import column_kernel

AGGREGATES = {"max": agg.max("x"), "sum": agg.sum("x"), "stddev": agg.stddev("x")}
LENGTHS = st.lists(st.sampled_from([1, 2, 7, 8, 8, 8, 9, 9, 10, 40]), min_size=1, max_size=20)


@cache
def kernel_of(name: str, kind: str, length: int) -> Kernel:
    return column_kernel(TwoStacks, [AGGREGATES[name]], (kind,), loops.slide_rows, nullable=False, length=length)


@given(lengths=LENGTHS, lanes=st.integers(1, 4))
def test_every_key_is_processed_and_no_lane_leaves_its_own_keys(lengths: list[int], lanes: int) -> None:
    firsts = np.cumsum([0, *lengths])
    calls, alone = deal_to_lanes(firsts, lanes)
    first_to_key = {int(first): key for key, first in enumerate(firsts[:-1])}
    written = np.full(firsts[-1], -1)
    for steps, starts in calls:
        for start in starts:
            written[start : start + steps] = first_to_key[start]  # what a lane writes, in the order of calls
    for key in alone:
        written[firsts[key] : firsts[key + 1]] = key
    assert written.tolist() == np.repeat(np.arange(len(lengths)), lengths).tolist()


@pytest.mark.parametrize(("name", "kind"), some(product(AGGREGATES, ["float64", "int64"]), 3))
@settings(max_examples=40)
@given(lengths=LENGTHS, length=st.sampled_from([1, 3, 8, 50]), data=st.data())
def test_keys_in_lanes_have_the_results_that_they_have_alone(
    name: str, kind: str, lengths: list[int], length: int, data: st.DataObject
) -> None:
    firsts = np.cumsum([0, *lengths])
    rows = int(firsts[-1])
    values = np.array(data.draw(st.lists(st.integers(-9, 9), min_size=rows, max_size=rows)), kind)
    kernel = kernel_of(name, kind, length)
    [together] = kernel.slide_keys((values,), firsts, length)
    alone: list[Any] = []
    for first, end in pairwise(firsts.tolist()):
        [own] = kernel.slide_rows((values[first:end],), length)
        alone += [value if ok else nan for value, ok in zip(own.values.tolist(), own.valid.tolist(), strict=True)]
    found = [value if ok else nan for value, ok in zip(together.values.tolist(), together.valid.tolist(), strict=True)]
    assert found == pytest.approx(alone, rel=1e-12, abs=1e-12, nan_ok=True)


def test_a_window_of_two_keys_raises_nothing() -> None:
    """A lane whose key is shorter goes on into the next key. A sum that does not fit 64 bits there is nobody's."""
    large = 2**62
    values = np.array([1] * 7 + [large] + [large] + [1] * 8 + [1] * 31, np.int64)
    firsts = np.array([0, 8, 17, 25, 32, 40, 48])
    kernel = kernel_of("sum", "int64", 3)
    [found] = kernel.slide_keys((values,), firsts, 3)
    for first, end in pairwise(firsts.tolist()):
        [own] = kernel.slide_rows((values[first:end],), 3)
        assert found.values[first:end].tolist() == own.values.tolist()
