from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sash.slices.cuts import latest_so_far


@pytest.mark.parametrize("scale", [1, 2**57])  # with and without room for a distance between keys
@given(slices=st.lists(st.tuples(st.integers(0, 4), st.integers(-9, 9))))
def test_the_latest_time_so_far_of_each_key(scale: int, slices: list[tuple[int, int]]) -> None:
    slices = sorted(slices, key=lambda one: one[0])
    keys, times = (np.array([one[part] for one in slices], np.int64) for part in (0, 1))
    expected = [max(time for other, time in slices[: n + 1] if other == key) for n, (key, _) in enumerate(slices)]
    assert latest_so_far(times * scale, keys).tolist() == [time * scale for time in expected]
