from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sash.slices.borders import latest_so_far
from sash.windows.base import as_it_stands
from sash.windows.numpy_forms import numpy_form


@pytest.mark.parametrize("scale", [1, 2**57])  # with and without room for a distance between keys
@given(slices=st.lists(st.tuples(st.integers(0, 4), st.integers(-9, 9))))
def test_numpy_finds_the_latest_time_so_far(scale: int, slices: list[tuple[int, int]]) -> None:
    keys, times = (np.array([one[part] for one in sorted(slices, key=lambda one: one[0])]) for part in (0, 1))
    times = times.astype(np.int64) * scale
    expected = latest_so_far(times, keys, as_it_stands)
    assert latest_so_far(times, keys, numpy_form).tolist() == expected.tolist()
